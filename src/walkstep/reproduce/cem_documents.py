"""Thirty documents of 20 to 115 mentions from GUM and LitBank, for the experiments of Rohanimanesh et al. (2009).

The paper drew as many, of as many mentions, from ACE 2004, which is licensed. Documents of GUM and LitBank are longer,
so each is a passage from the beginning of one, cut at the end of a sentence.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.coreference_resolver import default_templates
from walkstep.data.mentions import MentionDocuments
from walkstep.data.passages import cut_passages
from walkstep.evaluation.clusters import b_cubed as b_cubed_score
from walkstep.features.mention_features import EncodedMentions, MentionFeatures
from walkstep.model.partition_templates import ground_partition
from walkstep.reproduce.coreference_sets import read_books, read_gum
from walkstep.worlds.partition import PartitionWorld, partition_world
from walkstep.worlds.partition_signals import b_cubed
from walkstep.worlds.split_merge import split_merge

FEWEST, MOST = 20, 115
"""Mentions of a document."""
GOAL = 0.95
"""The share of the true score that a walk has to reach: B-cubed F1, 1 at the truth."""
_N_OF_EACH = 15


class Document(NamedTuple):
    """A passage, encoded."""

    corpus: str
    encoded: EncodedMentions
    n_levels: dict[str, int]
    truth: NDArray[np.int64]

    def world(self, assignment: NDArray[np.integer] | None = None) -> PartitionWorld:
        """A world over it, whose jumps are splits and merges, all equally likely at first; by default all apart."""
        grounded = ground_partition(default_templates(), self.n_levels, self.encoded.columns)
        ptr = self.encoded.document_ptr
        return partition_world(
            grounded.model,
            self.encoded.comparisons,
            self.truth,
            assignment=assignment,
            signal=b_cubed(self.truth, ptr),
            proposer=split_merge(grounded.model, ptr),
        )


def thirty_documents(seed: int, n_of_each: int = _N_OF_EACH) -> list[Document]:
    """As many of each corpus, drawn from its training file.

    Those that are as good as solved with every mention alone are passed over.
    """
    return [*_drawn("GUM", read_gum, seed, n_of_each), *_drawn("LitBank", read_books, seed, n_of_each)]


def _drawn(corpus: str, read: Callable[[], MentionDocuments], seed: int, n: int) -> list[Document]:
    rng = np.random.default_rng(seed)
    whole = read()
    features = MentionFeatures.fit(whole)
    found: list[Document] = []
    for d in rng.permutation(len(whole)).tolist():
        goal = int(rng.integers(FEWEST, MOST + 1))
        passage, _ = cut_passages(whole.select(np.array([d])), goal, 1)
        truth = np.unique(passage.entity, return_inverse=True)[1].astype(np.int64)
        alone = b_cubed_score(np.arange(len(truth)), truth).f1
        if FEWEST <= len(truth) <= MOST and alone < GOAL:
            found.append(Document(corpus, features.encode(passage), features.n_levels, truth))
        if len(found) == n:
            break
    return found
