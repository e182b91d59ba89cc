"""Figure 2 of Singh, Wick and McCallum (2012): error of marginals against factors examined, on star models.

A model is one binary variable with 100 unary factors. We read section 4.1 so: a factor scores both labels, the
positive one by a draw from N(0.5, 1) and the negative one by a draw from N(-0.5, 1) (the two curves of Figure 1b), and
what is sampled, averaged and given a confidence interval is its change of score, the score of one label minus
that of the other. A step is Gibbs sampling: the variable becomes positive with probability 1 / (1 + exp(-D)), where
D is |F| times the mean change of the factors looked at (Eq. 7). The error is the distance between the share of
positive samples so far and the exact probability.

Taken literally, the changes of 100 factors add up to about 100, and every marginal is 1 to many decimals: one exact
sample has no error at all, and widths of 0.1 or less ask for nearly all factors, but for chance at the first few. The
axes of Figure 2, errors up to 0.45 and a million factors, tell of something else. They fit where a factor counts for
a hundredth, so that a model is the mean of its factors: marginals lie about 0.73, a single sample errs by 0.4, and
widths from 0.1 to 0.001 ask for two factors up to nearly all. That is our guess, made with the figure in
sight; so the models are run both ways, as "mean" and, to the letter, as "sum".
"""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.monte_carlo import MonteCarlo, estimate, monte_carlo_transition
from walkstep.model.factors import Factors
from walkstep.model.graph import ground
from walkstep.worlds.base import commit
from walkstep.worlds.labels import label_world
from walkstep.worlds.moves import Flip
from walkstep.worlds.randomness import stream, uniform
from walkstep.worlds.sparse import sparse_vector

NAME = "montecarlo-figure2"
N_FACTORS = 100
SETTINGS = [("p", share) for share in (1.0, 0.75, 0.5, 0.2, 0.1)]
SETTINGS += [("i", width) for width in (0.1, 0.05, 0.01, 0.005, 0.001)]
TOLERANCE = 0.02  # the error at which running times are compared

_READINGS = {"mean": 1.0 / N_FACTORS, "sum": 1.0}
_SHOWN = (100, 1_000, 10_000, 100_000, 1_000_000)
_PER_DECADE = 10


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Mean error of the marginals, with its standard error, after 100 to a million factors.

    Parameters
    ----------
    seed : int
    quick : bool
        Ten models instead of a hundred, and a hundredth of the factors.
    progress : callable, optional
        Called with a line of text for each setting.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    shown = _SHOWN[:3] if quick else _SHOWN
    marks = marks_up_to(shown[-1])
    rng = np.random.default_rng(seed)
    models = rng.normal([-0.5, 0.5], 1.0, size=(10 if quick else 100, N_FACTORS, 2))
    rows: list[dict[str, Any]] = []
    baseline: float | None = None
    for (reading, scale), (letter, value) in product(_READINGS.items(), SETTINGS):
        setting = {"share": value} if letter == "p" else {"width": value}
        errors = np.array([errors_of(scale * scores, marks, rng=rng, **setting) for scores in models])
        mean, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        if (letter, value) == SETTINGS[0]:
            baseline = factors_to_reach(TOLERANCE, marks, mean)
        row = f"{reading}, {letter} = {value:g}"
        for mark in shown:
            at = int(np.searchsorted(marks, mark))
            note = f"± {spread[at]:.4f}"
            rows.append(
                {
                    "row": row,
                    "metric": f"error at {mark:,} factors",
                    "paper": None,
                    "ours": float(mean[at]),
                    "note": note,
                }
            )
        if reading == "mean":  # a sum is found by the first sample
            rows.append(_speedup(row, baseline, factors_to_reach(TOLERANCE, marks, mean)))
        say(f"{row}: error {mean[-1]:.4f} ± {spread[-1]:.4f} after {marks[-1]:,} factors")
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": []}


def _speedup(row: str, baseline: float | None, needed: float | None) -> dict[str, Any]:
    """How many times fewer factors than p = 1 a setting takes to the tolerance."""
    faster = baseline / needed if baseline and needed else None
    note = f"{needed:,.0f} factors" if needed else "not reached"
    return {"row": row, "metric": f"speed-up to error {TOLERANCE:g}", "paper": None, "ours": faster, "note": note}


def marks_up_to(most: int) -> NDArray[np.int64]:
    """Numbers of factors at which the error is taken, from 100 on, ten to a decade."""
    n_decades = round(np.log10(most / N_FACTORS))
    return np.round(N_FACTORS * 10.0 ** (np.arange(n_decades * _PER_DECADE + 1) / _PER_DECADE)).astype(np.int64)


def exact_marginal(scores: NDArray[np.float64]) -> float:
    """The probability of the positive label, from the scores of both labels by all factors, (n_factors, 2)."""
    return float(1.0 / (1.0 + np.exp(scores[:, 0].sum() - scores[:, 1].sum())))


def errors_of(
    scores: NDArray[np.float64],
    marks: NDArray[np.int64],
    *,
    rng: np.random.Generator,
    share: float = 1.0,
    width: float | None = None,
) -> NDArray[np.float64]:
    """The error of the running marginal of one model when so many factors have been examined.

    Parameters
    ----------
    scores : float array (n_factors, 2)
        Of the negative and the positive label, by each factor.
    marks : int array
        Rising, each enough for one sample.
    rng : Generator
    share, width : float, optional
        As `monte_carlo_transition` takes them.
    """
    n = len(scores)
    at = np.zeros((n, 1), np.int64)
    graph, _ = ground([2], [Factors("mention", at, sets=np.arange(n), n_sets=n)])
    world = label_world(graph, values=[rng.integers(2)])
    shares = np.zeros(len(marks))
    transition: MonteCarlo = monte_carlo_transition(n, share=share, width=width)
    weights = np.ascontiguousarray(scores, dtype=np.float64).ravel()
    _sample(world, transition, weights, sparse_vector(2 * n), stream(rng), marks, shares)
    return np.abs(shares - exact_marginal(scores))


def factors_to_reach(tolerance: float, marks: NDArray[np.int64], error: NDArray[np.float64]) -> float | None:
    """How many factors it takes until the error stays within a tolerance; None where it never does.

    Examples
    --------
    >>> factors_to_reach(0.1, np.array([100, 1000, 10000]), np.array([0.4, 0.2, 0.05]))
    10000.0
    """
    beyond = np.flatnonzero(error > tolerance)
    first = beyond[-1] + 1 if len(beyond) else 0
    return float(marks[first]) if first < len(marks) else None


@compiled(allocates=False)
def _sample(world, transition, weights, phi, rng, marks, shares):
    """Gibbs sampling by estimated scores; ``shares`` of positive samples are those that each mark allows to draw."""
    positive = n = 0
    at = 0
    while at < len(marks):
        value = np.int64(world.values[0])
        move = Flip(np.int64(0), 1 - value)
        change = estimate(transition, world, move, weights, phi, rng)
        # This sample would go beyond the mark: what was drawn before is what counts there.
        while at < len(marks) and transition.examined[0] > marks[at]:
            shares[at] = positive / n
            at += 1
        if uniform(rng) < 1.0 / (1.0 + np.exp(-change)):
            commit(world, move)
        positive += world.values[0]
        n += 1
