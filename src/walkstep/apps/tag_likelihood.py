"""Training a tagger by exact maximum likelihood: a conditional random field, as CRFsuite trains it.

What the scheme forbids is learned from the data and enforced in answers alone. Sums over legal taggings only, which
`maximum_likelihood` also offers, did no better on CoNLL-2003.
"""

from collections.abc import Iterator
from typing import Any

from walkstep.apps.tag_training import TagEpoch, TagTruth, Way
from walkstep.learning.maximum_likelihood import maximum_likelihood


def _epochs(tagger: Any, data: TagTruth, n_epochs: int, l2: float) -> Iterator[TagEpoch]:
    """Iterations of L-BFGS."""
    n_tokens = data.corpus.n_tokens
    for estimate in maximum_likelihood(
        data.graph,
        data.truth,
        l2=l2,
        l1=tagger.l1,
        max_iter=n_epochs,
        sentence_ptr=data.corpus.sentence_ptr,
        n_threads=tagger.n_threads,
    ):
        found = estimate.iteration
        text = f"loss {found.loss:,.1f}, slope {found.slope:.2g}, {n_tokens / max(found.seconds, 1e-9):,.0f} tokens/s"
        yield TagEpoch(found, text, lambda estimate=estimate: estimate.weights, found.is_last)


LIKELIHOOD = Way(_epochs, n_epochs=100, l2=1.0, dev_every=5, is_calibrated=True)
