"""Label sets learned by walking: SampleRank and its rivals, averaged over the second half of the walk."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.label_pairs import label_pairs
from walkstep.apps.label_set_model import LabelSetModel, label_set_world
from walkstep.apps.progress import EpochProgress
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Epoch, Trainer
from walkstep.learning.walk import learner_row
from walkstep.worlds.labels import LabelWorld
from walkstep.worlds.signals import Hamming, as_metric, token_f1


class _Walked(NamedTuple):
    weights: NDArray[np.float64]
    epochs: list[Epoch]
    interrupted: bool


def learn_by_walking(
    classifier: Any,
    rows: Any,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    progress: EpochProgress | None = None,
) -> tuple[LabelSetModel, list[Epoch], bool]:
    """A model of label sets, how its epochs went, and whether they were interrupted from the keyboard.

    Parameters
    ----------
    classifier : MultiLabelClassifier
        Whose settings are read.
    rows : array or sparse matrix (n_rows, n_columns)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    rng : Generator
    progress : EpochProgress, optional
    """
    pairwise = classifier.pairwise
    world, layout = label_set_world(rows, truth, pairwise=pairwise, signal=_signal(classifier.signal))
    walked = _walk(classifier, world, rng, progress)
    model = LabelSetModel.folded(walked.weights, layout, label_pairs(truth, pairwise))
    return model, walked.epochs, walked.interrupted


def _signal(signal: Any) -> Any:
    """The metric to train on, from its name."""
    if callable(signal):
        return as_metric(signal)
    if signal == "hamming":
        return Hamming()
    if signal == "f1":
        # Twice, so that the first right label of a small set is worth about what Hamming says.
        return token_f1(0, scale=2.0)
    raise ValueError(f"signal is {signal!r}; choose 'hamming' or 'f1', or pass a function (values, truth)")


def _walk(classifier: Any, world: LabelWorld, rng: np.random.Generator, progress: EpochProgress | None) -> _Walked:
    """Weights from a learning walk; from the keyboard it can be cut short."""
    n_labels = int(world.document_ptr[1])
    trainer = Trainer(
        world,
        learner=classifier.learner,
        rule=step_rule(classifier.step, rate=classifier.rate, l2=classifier.l2),
        rival=classifier.rival,
        temperature=classifier.temperature,
        # A chain that goes home every k steps must get to make them before the next row's turn.
        n_sweeps=max(1, math.ceil(learner_row(classifier.learner).restart / n_labels)),
        n_threads=classifier.n_threads,
        rng=rng,
    )
    half = classifier.n_epochs // 2
    n_before, average_before, interrupted = 0, np.zeros(world.graph.n_weights), False
    try:
        for _ in range(classifier.n_epochs):
            epoch = trainer.epoch()
            if epoch.number == half:
                n_before, average_before = _n_steps(trainer), trainer.weights
            if progress is not None:
                text = f"{epoch.violations:.1%} of pairs corrected, {epoch.steps_per_second:,.0f} steps/s"
                progress.show(epoch.number, text)
    except KeyboardInterrupt:
        if not trainer.epochs:
            raise
        interrupted = True
        if progress is not None:
            progress.show(len(trainer.epochs), "interrupted: keeping what was learned so far")
    n_steps = _n_steps(trainer)
    if not classifier.average or n_steps == n_before:
        return _Walked(trainer.last_weights, trainer.epochs, interrupted)
    # What the first half adds to the average is where the walk came from, not where it is going.
    late = (n_steps * trainer.weights - n_before * average_before) / (n_steps - n_before)
    return _Walked(late, trainer.epochs, interrupted)


def _n_steps(trainer: Trainer) -> int:
    """Steps walked so far."""
    return sum(epoch.tally.steps for epoch in trainer.epochs)
