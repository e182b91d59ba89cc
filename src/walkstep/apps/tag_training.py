"""Training a tagger, whatever the learner: epochs that are watched, interrupted, and scored on development data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.progress import EpochProgress
from walkstep.data.sequences import Sequences
from walkstep.model.graph import Graph


class TagTruth(NamedTuple):
    """What a tagger is trained on."""

    graph: Graph
    truth: NDArray[np.int32]  # (n_tokens,) codes of `classes`, -1 where nobody knows
    corpus: Sequences
    classes: list[str]
    joins_sentences: bool  # it joins tokens of different sentences of a document


class TagEpoch(NamedTuple):
    """An epoch of training that has passed."""

    record: Any  # kept in `epochs_`
    text: str  # how it went, for those who watch
    weights: Callable[[], NDArray[np.float64]]  # made only when asked for
    is_last: bool = False  # the learner has converged


@dataclass(frozen=True)
class Way:
    """A way of training, and the settings that suit it where the user gives none.

    Parameters
    ----------
    epochs : callable
        ``(tagger, data, n_epochs, l2) -> iterator of TagEpoch``; it may end before ``n_epochs``. An interrupt from the
        keyboard passes through it, and what it yielded last is kept.
    n_epochs : int
    l2 : float
    dev_every : int
        After how many epochs development data are looked at.
    is_calibrated : bool
        Whether its scores say how sure they are, so that without development data they are taken as they are.
    """

    epochs: Callable[[Any, TagTruth, int, float], Iterator[TagEpoch]]
    n_epochs: int
    l2: float = 0.0
    dev_every: int = 1
    is_calibrated: bool = False

    def train(
        self, tagger: Any, data: TagTruth, score: Callable[[NDArray[np.float64]], float] | None = None
    ) -> "TagTraining":
        """Run epochs to their end, or until interrupted from the keyboard; before the first, an interrupt is passed on.

        Parameters
        ----------
        tagger : SequenceTagger
            Whose settings are read.
        data : TagTruth
        score : callable, optional
            What weights are worth on development data.
        """
        return _train(self, tagger, data, score)


class TagTraining(NamedTuple):
    """What came of training."""

    weights: NDArray[np.float64]  # of the epoch that is best on development data, or of the last
    records: list[Any]
    dev_scores: list[float]
    best_epoch: int
    interrupted: bool
    n_wanted: int  # epochs there were to be, at most


def _train(way: Way, tagger: Any, data: TagTruth, score: Callable[[NDArray[np.float64]], float] | None) -> TagTraining:
    n_epochs = way.n_epochs if tagger.n_epochs is None else tagger.n_epochs
    l2 = way.l2 if tagger.l2 is None else tagger.l2
    latest, best, best_epoch, interrupted = None, None, 0, False
    records, scores = [], []
    with EpochProgress(n_epochs, tagger.verbose) as progress:
        try:
            for latest in way.epochs(tagger, data, n_epochs, l2):
                records.append(latest.record)
                text = latest.text
                is_last = latest.is_last or len(records) == n_epochs
                if score is not None and (is_last or len(records) % way.dev_every == 0):
                    weights = latest.weights()
                    scores.append(score(weights))
                    text += f", dev F1 {scores[-1]:.4f}"
                    if scores[-1] == max(scores):
                        best, best_epoch = weights, len(records)
                progress.show(len(records), text)
        except KeyboardInterrupt:
            if latest is None:
                raise
            interrupted = True
            progress.show(len(records), "interrupted: keeping what was learned so far")
    assert latest is not None
    if best is None:
        best, best_epoch = latest.weights(), len(records)
    return TagTraining(best, records, scores, best_epoch, interrupted, n_epochs)
