"""Tags by passing messages: training for the inference that answers, and the answers (Stoyanov and Eisner, 2012).

What the scheme forbids is part of the graph, in training as in answers, so that weights are trained for what is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from walkstep.apps.progress import EpochProgress
from walkstep.apps.tag_decoding import TagDecoder
from walkstep.apps.tag_training import TagTraining, TagTruth
from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import split_tag
from walkstep.evaluation.calibration import best_temperature
from walkstep.inference.graph_batch import graph_batch
from walkstep.inference.viterbi import viterbi
from walkstep.learning.message_learning import MessageEpoch, MessageLearner
from walkstep.messages.answers import log_beliefs
from walkstep.messages.objectives import Inference
from walkstep.model.domains import UNKNOWN

_LEAST = -1e4  # a log belief that is as good as none


@dataclass(frozen=True)
class TypeF1:
    """One minus the F-measure of tokens of a type, whichever place in a span they have: I- is as good as B-.

    Parameters
    ----------
    types : tuple of int
        The type of each tag, numbered from 1; 0 outside of spans.

    Examples
    --------
    >>> loss = TypeF1((0, 1, 1))  # O, B-PER, I-PER
    >>> certain = jnp.eye(3)[jnp.array([[0], [2], [2]])].transpose(2, 0, 1)
    >>> round(float(loss(certain, jnp.array([[0], [1], [0]]), jnp.ones((3, 1)))), 4)
    0.3333
    """

    types: tuple[int, ...]

    def __call__(self, decoded: Array, truth: Array, weight: Array) -> Array:
        """Of distributions over tags (K, V, B); the F-measure of expected counts."""
        n_types = max(self.types)
        member = jnp.asarray(np.arange(1, n_types + 1)[:, None] == np.array(self.types), decoded.dtype)
        found = jnp.einsum("tk,kvb->tvb", member, decoded) * weight
        wanted = member[:, truth] * (truth != UNKNOWN) * weight
        hits = (found * (wanted > 0.0)).sum()
        below = found.sum() + wanted.sum()
        return 1.0 - jnp.where(below > 0.0, 2.0 * hits / jnp.where(below > 0.0, below, 1.0), 1.0)


@lru_cache(maxsize=64)
def _type_f1(types: tuple[int, ...]) -> TypeF1:
    """One object for equal types, so that what was compiled for it serves again."""
    return TypeF1(types)


def tag_loss(loss: str | Callable[..., Any], classes: list[str], scheme: str) -> str | Callable[..., Any]:
    """The loss that a name means for these tags: F-measure counts types, not where in a span a tag stands.

    Parameters
    ----------
    loss : str or callable
    classes : list of str
        The tags as the model knows them.
    scheme : str
        How they are written.

    Examples
    --------
    >>> tag_loss("f1", ["O", "B-PER", "I-PER", "B-LOC"], "bio")
    TypeF1(types=(0, 2, 2, 1))
    """
    if loss != "f1":
        return loss
    kinds = ["" if tag == "O" else tag if scheme == "raw" else split_tag(tag)[1] or "" for tag in classes]
    number = {kind: n for n, kind in enumerate(sorted(set(kinds) - {""}), start=1)}
    return _type_f1(tuple(number.get(kind, 0) for kind in kinds)) if number else "accuracy"


class TagBeliefs:
    """Sentences made ready to be tagged by messages, whatever the weights.

    Parameters
    ----------
    decoder : TagDecoder
    corpus : Sequences
    inference : Inference
        By which tags are found; chances are those of sum-product.
    """

    def __init__(self, decoder: TagDecoder, corpus: Sequences, inference: Inference):
        self._decoder, self._corpus, self._inference = decoder, corpus, inference
        self._batch = tag_batch(decoder, corpus)

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int32]:
        """The tag that is believed in most, token by token; where such tags break a rule of the scheme, those with the
        largest sum of log beliefs that keep it.
        """
        believed = self._beliefs(weights, self._inference)
        if self._decoder.constraints is None:
            return believed.argmax(axis=1).astype(np.int32)
        plan = self._decoder.tokens_alone(self._corpus)
        return viterbi(plan, np.maximum(believed, _LEAST).ravel(), constraints=self._decoder.constraints).values

    def chances(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How probable each tag of each token is, by sum-product (n_tokens, n_tags)."""
        return np.exp(self._beliefs(weights, replace(self._inference, kind="sum-product")))

    def temperature(self, weights: NDArray[np.float64], truth: NDArray[np.integer]) -> float:
        """By what to divide weights so that chances fit the truth, which is -1 where it is not known."""
        known = np.flatnonzero(truth >= 0)

        def unlikeliness(temperature: float) -> float:
            chances = self.chances(weights / temperature)[known, truth[known]]
            return -float(np.log(np.maximum(chances, 1e-12)).mean())

        return best_temperature(unlikeliness) if len(known) else 1.0

    def _beliefs(self, weights: NDArray[np.float64], inference: Inference) -> NDArray[np.float64]:
        """(n_tokens, n_tags), normalised in double precision."""
        found = np.asarray(log_beliefs(self._batch, weights, inference), np.float64)
        found = found.transpose(2, 1, 0).reshape(self._corpus.n_tokens, -1)
        return found - np.logaddexp.reduce(found, axis=1)[:, None]


def tag_batch(decoder: TagDecoder, corpus: Sequences, truth: NDArray[np.integer] | None = None) -> Any:
    """The graph of a corpus with the rules of its scheme, as a batch; -1 where the truth is not known."""
    graph = decoder.ruled_graph(corpus)
    return graph_batch(graph, truth, document_ptr=corpus.sentence_ptr[corpus.document_ptr])


def train_by_messages(
    learner: MessageLearner,
    decoder: TagDecoder,
    data: TagTruth,
    score: Callable[[NDArray[np.float64]], float] | None,
    verbose: int,
) -> TagTraining:
    """Train a tagger, watched and interrupted as other ways of training are.

    Parameters
    ----------
    learner : MessageLearner
    decoder : TagDecoder
        Of the grounding that the data were grounded with.
    data : TagTruth
    score : callable, optional
        What weights are worth on development data: the best epoch's are kept.
    verbose : int
        0 is silent.
    """
    batch = tag_batch(decoder, data.corpus, data.truth)
    n_first = learner.n_first_epochs if learner.learner == "risk" else 0
    n_wanted = n_first + learner.n_epochs
    with EpochProgress(n_wanted, verbose) as progress:

        def show(epoch: MessageEpoch) -> None:
            speed = data.corpus.n_tokens / max(epoch.seconds, 1e-9)
            judged = "" if epoch.dev is None else f", dev F1 {1.0 - epoch.dev:.4f}"
            progress.show(epoch.number, f"objective {epoch.objective:.4f}, {speed:,.0f} tokens/s{judged}")

        dev = None if score is None else lambda weights: 1.0 - score(weights)
        learned = learner.learn(batch, dev=dev, show=show)
        if learned.interrupted:
            progress.show(len(learned.epochs), "interrupted: keeping what was learned so far")
    scores = [1.0 - epoch.dev for epoch in learned.epochs if epoch.dev is not None]
    best_epoch = int(np.argmax(scores)) + 1 if scores else len(learned.epochs)
    return TagTraining(learned.weights, list(learned.epochs), scores, best_epoch, learned.interrupted, n_wanted)
