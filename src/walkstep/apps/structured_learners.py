"""How models over a space learn: by likelihood, exactly or from samples, or by walking on the metric."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from walkstep.inference.structured_answers import has_exact_answers
from walkstep.learning.steps import step_rule
from walkstep.learning.structured_map import MapEpoch, MapProblem, map_by_steps, map_exactly, map_from_samples
from walkstep.learning.train import Trainer
from walkstep.learning.walk import LEARNERS, learner_row
from walkstep.worlds.space import Space
from walkstep.worlds.space_worlds import space_world

BY_LIKELIHOOD = ("map", "sampled-map", "sampled-map-sgd")
"""Learners that maximise a posterior: exactly, from samples by L-BFGS, and from samples by stochastic steps."""

_EPOCHS = {"map": 100, "sampled-map": 30, "sampled-map-sgd": 60}
_EPOCHS_OF_WALKS = 30
_LEAST_STEPS = 1000  # of stochastic ones, where rows are few
_RATE = 0.05


def check_learner(learner: str) -> None:
    """An error for a learner that is not known.

    Examples
    --------
    >>> check_learner("sampled-map"), check_learner("samplerank")
    (None, None)
    """
    if learner in ("auto", *BY_LIKELIHOOD):
        return
    try:
        learner_row(learner)
    except ValueError as error:
        known = ", ".join(["auto", *BY_LIKELIHOOD, *LEARNERS])
        raise ValueError(f"learner {learner!r} is not known; choose one of {known}, or cd-k") from error


def suiting_learner(learner: str, space: Space) -> str:
    """The learner to use: for ``auto``, likelihood itself where the space can be summed over, else samples of it."""
    if learner == "auto":
        return "map" if has_exact_answers(space) else "sampled-map"
    if learner == "map" and not has_exact_answers(space):
        raise ValueError(
            f"learner 'map' sums over all structures, and this {type(space).__name__} space is too large for "
            "that; choose 'sampled-map'"
        )
    return learner


def is_by_likelihood(learner: str) -> bool:
    """Whether a learner trains probabilities that can be believed."""
    return learner in BY_LIKELIHOOD or learner == "auto"


def n_epochs_of(estimator: Any, space: Space, n_rows: int) -> int:
    """How many iterations training takes at most."""
    if estimator.n_epochs is not None:
        return estimator.n_epochs
    learner = suiting_learner(estimator.learner, space)
    n_epochs = _EPOCHS.get(learner, _EPOCHS_OF_WALKS)
    if learner == "sampled-map-sgd":
        n_epochs = max(n_epochs, _LEAST_STEPS * estimator.batch_size // n_rows)
    return n_epochs


def epochs_of_training(
    estimator: Any,
    problem: MapProblem,
    n_epochs: int,
    rng: np.random.Generator,
    *,
    start: Any = None,
) -> Iterator[MapEpoch]:
    """Train, an iteration at a time.

    Parameters
    ----------
    estimator : LabelRanker or HierarchyClassifier
        Whose settings are read.
    problem : MapProblem
    n_epochs : int
    rng : Generator
    start : float array, optional
        Where the weights begin; by default at zero.
    """
    learner = suiting_learner(estimator.learner, problem.space)
    if learner == "map":
        return map_exactly(problem, start=start, max_iter=n_epochs)
    rate = _RATE if estimator.rate is None else estimator.rate
    sampling = {"n_samples": estimator.n_samples, "moves": estimator.moves, "start": start, "rng": rng}
    if learner == "sampled-map":
        return map_from_samples(problem, n_epochs=n_epochs, **sampling)
    if learner == "sampled-map-sgd":
        return map_by_steps(problem, n_epochs=n_epochs, rate=rate, batch_size=estimator.batch_size, **sampling)
    return _walk(estimator, problem, n_epochs, rng)


def _walk(estimator: Any, problem: MapProblem, n_epochs: int, rng: np.random.Generator) -> Iterator[MapEpoch]:
    """SampleRank and its rivals, on how many statistics agree with the truth."""
    truth, space = problem.truth, problem.space
    row = learner_row(estimator.learner)
    if row.truth and len(truth.open_rows):
        raise ValueError(
            f"learner {estimator.learner!r} compares with the truth, which row {truth.open_rows[0]} tells only in "
            "part; choose 'samplerank' or one that goes by likelihood"
        )
    held = {"true_statistics": truth.statistics, "moves": estimator.moves}
    world = space_world(space, space.draw(truth.n_rows, rng), rows=problem.rows, **held)
    goal = space_world(space, truth.starts, rows=problem.rows, **held) if row.truth or row.restart else None
    trainer = Trainer(
        world,
        learner=row,
        rule=step_rule(estimator.step, rate=estimator.rate),
        sampler="metropolis",
        n_sweeps=2.0,
        weights=np.zeros(len(problem.precision)),
        goal=goal,
        n_documents=truth.n_rows,
        rng=rng,
    )
    n_steps = 0
    for number in range(1, n_epochs + 1):
        epoch = trainer.epoch()
        n_steps += epoch.tally.steps
        yield MapEpoch(number, problem.model(trainer.weights), epoch.violations, n_steps, number == n_epochs)
