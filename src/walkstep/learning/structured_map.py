"""Maximum a posteriori estimation of a model over a space (section 1 of Vembu et al., 2009), exactly or from samples.

With a normal prior on the weights, what is minimised is

    |theta|² / (2 sigma²) + sum over rows of (ln Z(theta | x_i) - phi(x_i, y_i) . theta).

The paper writes the mean of the first terms beside the sum of the second; both are sums here, as Bayes' rule has it.
Rows whose truth is known in part count by the log of the sum over all structures that agree with what is known. What
each statistic scores by itself has a prior of its own, ten times as wide, so that it is hardly drawn to zero.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.inference.structured_answers import expectations
from walkstep.lbfgs import lbfgs
from walkstep.learning.sampled_expectations import SampledExpectations
from walkstep.learning.structured_model import HOLD, StructuredModel, StructuredTruth
from walkstep.worlds.randomness import Seed, as_generator
from walkstep.worlds.space import Space

INTERCEPT_WIDTH = 10.0
"""How much wider the prior is of what a statistic scores by itself."""

_LEAST_EFFECTIVE = 0.5  # the mean share of samples that is as good as independent, below which they are drawn anew
_FARTHEST = 3.0  # and the mean change of structures' scores above which they are
_BATCH, _FEW_SAMPLES = 64, 5  # rows of a stochastic step, and samples of each
_LEAST_BATCHES, _APPROACH_RATE = 20, 0.1  # on the way from afar: steps of a pass at least, and how long the first is
_BETA = 0.9, 0.999  # of Adam: how long means of gradients and of their squares remember


class MapEpoch(NamedTuple):
    """How estimation stands after an iteration."""

    number: int  # counted from 1
    model: StructuredModel
    objective: float  # what is minimised, over the number of rows; from samples it is not known, and its slope is here
    n_steps: int  # steps of chains so far
    is_last: bool


class MapProblem:
    """Rows, what is known of their structures, and the prior.

    Parameters
    ----------
    space : Space
    rows : float array or sparse matrix (n_rows, n_columns)
    truth : StructuredTruth
    sigma : float
        The prior's standard deviation.
    """

    def __init__(self, space: Space, rows: Any, truth: StructuredTruth, sigma: float):
        if not 0.0 < sigma < np.inf:
            raise ValueError(f"sigma is {sigma}; give a positive number")
        if rows.shape[0] != truth.n_rows:
            raise ValueError(f"there are {rows.shape[0]} rows, and the truth of {truth.n_rows}; give one for each")
        self.space, self.rows, self.truth = space, rows, truth
        self.n_rows, self.n_columns = rows.shape
        n_coefficients = space.n_seen * self.n_columns
        self.precision = np.full(n_coefficients + space.n_statistics, 1.0 / sigma**2)
        self.precision[n_coefficients:] /= INTERCEPT_WIDTH**2

    def model(self, weights: NDArray[np.float64]) -> StructuredModel:
        """The model that a vector of weights stands for."""
        return StructuredModel.of_weights(weights, self.space, self.n_columns)

    def gradient(
        self, excess: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """The slope of the objective over the number of rows, from what each row expects beyond its truth.

        Parameters
        ----------
        excess : float array (n_rows, n_statistics)
            Expected statistics less true ones, of some rows or of all.
        weights : float array
        rows : int array, optional
            Which; they then stand for all.
        """
        seen = self.rows if rows is None else self.rows[rows]
        along = np.asarray(seen.T @ excess[:, : self.space.n_seen]).T
        found = np.concatenate([along.ravel(), excess.sum(axis=0)]) / len(excess)
        return found + self.precision * weights / self.n_rows

    def penalty(self, weights: NDArray[np.float64]) -> float:
        """What the prior costs, over the number of rows."""
        return 0.5 * float(self.precision @ (weights * weights)) / self.n_rows

    def held_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of open rows (n_open, n_statistics), with what is known held by force."""
        return scores[self.truth.open_rows] + HOLD * self.truth.held

    def exact(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The objective over the number of rows, and its slope, where the space can be summed over."""
        scores = self.model(weights).scores(self.rows)
        log_z, expected = expectations(self.space, scores)
        truth, open_rows = self.truth, self.truth.open_rows
        fit = (scores * truth.statistics).sum(axis=1)
        true = truth.statistics
        if len(open_rows):
            log_agreeing, agreeing = expectations(self.space, self.held_scores(scores))
            true = true.copy()
            true[open_rows] = agreeing
            # What holds the known statistics is as much for every structure that agrees.
            fit[open_rows] = log_agreeing - HOLD * (truth.held * agreeing).sum(axis=1)
        loss = float((log_z - fit).mean()) + self.penalty(weights)
        return loss, self.gradient(expected - true, weights)


def map_exactly(
    problem: MapProblem, *, start: NDArray[np.float64] | None = None, max_iter: int = 100, tolerance: float = 1e-6
) -> Iterator[MapEpoch]:
    """L-BFGS on the objective itself.

    Parameters
    ----------
    problem : MapProblem
        Of a space that has exact answers.
    start : float array, optional
        Where the weights begin; by default at zero.
    max_iter, tolerance
        Of `lbfgs`.
    """
    begin = np.zeros(len(problem.precision)) if start is None else start
    for iterate in lbfgs(problem.exact, begin, max_iter=max_iter, tolerance=tolerance):
        model = problem.model(iterate.weights)
        yield MapEpoch(iterate.number, model, iterate.loss, 0, iterate.is_last or iterate.number == max_iter)


def map_from_samples(
    problem: MapProblem,
    *,
    start: NDArray[np.float64] | None = None,
    n_epochs: int = 30,
    n_samples: int = 20,
    n_moves: int | None = None,
    moves: str = "auto",
    rng: Seed = None,
) -> Iterator[MapEpoch]:
    """Stochastic steps, then L-BFGS on samples: each epoch draws anew and descends as far as those tell.

    From afar samples tell of short steps only; so the first half of the epochs are passes of `map_by_steps`. The
    weights of a later epoch are the mean of those that the last half of the later ones ended with.

    Parameters
    ----------
    problem : MapProblem
    start : float array, optional
    n_epochs : int
        Passes over the rows, and draws of samples.
    n_samples, n_moves, moves
        See `SampledExpectations`.
    rng : seed
    """
    generator = as_generator(rng)
    weights = np.zeros(len(problem.precision)) if start is None else np.array(start)
    n_passes, n_steps = n_epochs // 2, 0
    if n_passes:
        size = min(max(problem.n_rows // _LEAST_BATCHES, 1), _BATCH)
        chains = {"n_samples": min(n_samples, _FEW_SAMPLES), "n_moves": n_moves, "moves": moves}
        settings = {"rate": _APPROACH_RATE, "batch_size": size, "start": weights, "rng": generator, **chains}
        for epoch in map_by_steps(problem, n_epochs=n_passes, **settings):
            yield epoch._replace(is_last=False)
            weights, n_steps = epoch.model.weights, epoch.n_steps
    free, held = _chains(problem, n_samples, n_moves, moves, generator)
    ended: list[NDArray[np.float64]] = []
    for number in range(n_passes + 1, n_epochs + 1):
        scores = problem.model(weights).scores(problem.rows)
        free.draw(scores)
        if held is not None:
            held.draw(problem.held_scores(scores))
        surrogate = _Surrogate(problem, free, held)
        for iterate in lbfgs(surrogate, weights, max_iter=10):
            step = iterate.weights - weights
            if not surrogate.tells(iterate.weights):
                # Too far: go as far that way as the samples still tell.
                while not surrogate.tells(weights + step):
                    step *= 0.5
                weights = weights + step
                break
            weights = iterate.weights
        ended.append(weights)
        mean = np.mean(ended[len(ended) // 2 :], axis=0)
        n_done = n_steps + free.n_steps + (0 if held is None else held.n_steps)
        slope = float(np.linalg.norm(surrogate(weights)[1]))
        yield MapEpoch(number, problem.model(mean), slope, n_done, number == n_epochs)


def map_by_steps(
    problem: MapProblem,
    *,
    start: NDArray[np.float64] | None = None,
    n_epochs: int = 60,
    rate: float = 0.05,
    batch_size: int = _BATCH,
    n_samples: int = _FEW_SAMPLES,
    n_moves: int | None = None,
    moves: str = "auto",
    rng: Seed = None,
) -> Iterator[MapEpoch]:
    """Stochastic gradient steps (Adam's), each from a few samples of a few rows; chains persist from step to step.

    The weights are averaged over the steps of the second half.

    Parameters
    ----------
    problem : MapProblem
    start : float array, optional
    n_epochs : int
        Passes over the rows.
    rate : float
        Of the first step; it falls to a tenth.
    batch_size : int
    n_samples, n_moves, moves
        See `SampledExpectations`.
    rng : seed
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; give at least 1")
    if not rate > 0.0:
        raise ValueError(f"rate is {rate}; give a positive number")
    generator = as_generator(rng)
    weights = np.zeros(len(problem.precision)) if start is None else np.array(start)
    free, held = _chains(problem, n_samples, n_moves, moves, generator)
    place = np.full(problem.n_rows, -1)
    place[problem.truth.open_rows] = np.arange(len(problem.truth.open_rows))
    mean, square, total, n_total, t = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights), 0, 0
    for number in range(1, n_epochs + 1):
        order = generator.permutation(problem.n_rows)
        for first in range(0, problem.n_rows, batch_size):
            batch = np.sort(order[first : first + batch_size])
            scores = problem.model(weights).scores(problem.rows[batch])
            free.draw(scores, batch)
            true = problem.truth.statistics[batch]
            open_ = place[batch] >= 0
            if held is not None and open_.any():
                at = place[batch[open_]]
                forced = scores[open_] + HOLD * problem.truth.held[at]
                held.draw(forced, at)
                true[open_] = held.under(forced, at).statistics
            slope = problem.gradient(free.under(scores, batch).statistics - true, weights, batch)
            t += 1
            mean += (1.0 - _BETA[0]) * (slope - mean)
            square += (1.0 - _BETA[1]) * (slope * slope - square)
            length = rate * 0.1 ** (number / n_epochs) * np.sqrt(1.0 - _BETA[1] ** t) / (1.0 - _BETA[0] ** t)
            weights = weights - length * mean / (np.sqrt(square) + 1e-8)
            if 2 * number > n_epochs:
                total += weights
                n_total += 1
        n_steps = free.n_steps + (0 if held is None else held.n_steps)
        model = problem.model(total / n_total if n_total else weights)
        yield MapEpoch(number, model, float(np.linalg.norm(mean)), n_steps, number == n_epochs)


def _chains(
    problem: MapProblem, n_samples: int, n_moves: int | None, moves: str, rng: np.random.Generator
) -> tuple[SampledExpectations, SampledExpectations | None]:
    """Chains of all rows; and of open ones, held to what is known.

    All begin at the truth: from structures drawn uniformly it is a long way to those of a model that fits, longer the
    larger they are, and weights that do not wait for chains to arrive run away.
    """
    truth, settings = problem.truth, {"n_samples": n_samples, "n_moves": n_moves, "moves": moves}
    free = SampledExpectations(problem.space, truth.n_rows, starts=truth.starts, rng=rng, **settings)
    if len(truth.open_rows) == 0:
        return free, None
    known = truth.starts[truth.open_rows]
    return free, SampledExpectations(problem.space, len(known), starts=known, rng=rng, **settings)


class _Surrogate:
    """The objective as samples tell it, but for a constant, and its slope.

    What is known of a row counts as one more sample of it: its true structure or, where that is open, the mean of the
    structures that agree. Where a model is sure of itself all samples may be one and the same, and no weights would
    seem too far away; with the truth among them there is always something to lose, and always a least loss.
    """

    def __init__(self, problem: MapProblem, free: SampledExpectations, held: SampledExpectations | None):
        self._problem, self._free, self._held = problem, free, held

    def __call__(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, excess, _ = self._told(weights)
        # The truth among the samples takes so much off every row's slope where they were drawn.
        share = (self._free.n_samples + 1) / self._free.n_samples
        value = share * float(loss.mean()) + self._problem.penalty(weights)
        return value, self._problem.gradient(share * excess, weights)

    def tells(self, weights: NDArray[np.float64]) -> bool:
        """Whether samples still tell what these weights would do.

        Enough of a row's samples are as good as independent, on average; and the scores of structures are much what
        they were, by the standard deviation of their change, each statistic being half off its middle either way. Where
        a model is sure of itself its samples are all alike, whatever the weights, and know of no other structure.
        """
        change = self._problem.model(weights).scores(self._problem.rows) - self._free.scores
        if 0.5 * float(np.linalg.norm(change, axis=1).mean()) > _FARTHEST:
            return False
        return float(self._told(weights)[2].mean()) >= _LEAST_EFFECTIVE

    def _told(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of each row: the loss, expected statistics beyond true ones, and how much of its samples still counts."""
        problem, truth, n = self._problem, self._problem.truth, self._free.n_samples
        scores = problem.model(weights).scores(problem.rows)
        free = self._free.under(scores)
        true, fit = truth.statistics, ((scores - self._free.scores) * truth.statistics).sum(axis=1)
        kept = np.ones(len(scores))
        if self._held is not None:
            agreeing = self._held.under(problem.held_scores(scores))
            true = true.copy()
            true[truth.open_rows], fit[truth.open_rows] = agreeing.statistics, agreeing.log_ratio
            kept[truth.open_rows] = agreeing.effective
        log_z = np.logaddexp(np.log(n) + free.log_ratio, fit) - np.log(n + 1)
        share = np.exp(fit - log_z) / (n + 1)  # of the truth
        squares = (1.0 - share) ** 2 / (n * free.effective) + share**2
        excess = (1.0 - share)[:, None] * (free.statistics - true)
        return log_z - fit, excess, np.minimum(kept, 1.0 / ((n + 1) * squares))
