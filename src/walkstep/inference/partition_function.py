"""The partition function of a model over a space, with a guarantee or an error that is seen (Vembu et al., 2009).

PARTITION: with 0 = beta_0 < beta_1 < ... < beta_l = 1, ln Z is ln of how many structures there are plus the logs of the
ratios Z(beta_i) / Z(beta_i-1), and each ratio is a mean over samples at one of the two temperatures.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.bridge import bridge
from walkstep.inference.coupling import (
    N_PILOT,
    TooCostly,
    checked_scores,
    coupling_cost,
    run_coupled,
    score_uniform_draws,
)
from walkstep.inference.structured_answers import expectations
from walkstep.worlds.randomness import Seed, as_generator, stream
from walkstep.worlds.space import Space

METHODS = ("telescoping", "bridge", "annealed", "exact")


class PartitionEstimate(NamedTuple):
    """ln Z, how far off it may be, and what it took."""

    estimate: float  # ln Z
    bound: float  # the estimate of Z is within (1 - bound) Z and (1 + bound) Z ...
    delta: float  # ... but for a chance of delta
    is_guaranteed: bool  # whether that is proved; otherwise it rests on the error seen
    standard_error: float  # of ln Z, as seen
    n_samples: int  # of all that were drawn, those that only showed the way too
    n_steps: int  # structures looked at on the way to those samples, and to see what they cost
    betas: NDArray[np.float64]  # the cooling schedule, from 0 to 1

    def __str__(self) -> str:
        how = "guaranteed" if self.is_guaranteed else "by the error seen"
        return (
            f"ln Z = {self.estimate:.4f} (Z within {self.bound:.2%} with probability {1 - self.delta:.0%}, {how}; "
            f"{self.n_samples:,} samples, {self.n_steps:,} steps)"
        )


class SamplePlan(NamedTuple):
    """How many samples the guarantee takes, and where."""

    betas: NDArray[np.float64]  # (n_levels + 1,) from 0 to 1
    n_samples: int  # at each of the levels above 0

    @property
    def n_levels(self) -> int:
        """l, how many ratios are estimated."""
        return len(self.betas) - 1


def scores_of(space: Space, weights: ArrayLike, x: ArrayLike | None = None) -> NDArray[np.float64]:
    """The score of each statistic: the weights themselves, or the weights of a row times the row.

    Parameters
    ----------
    space : Space
    weights : float array (n_statistics,), or (n_statistics, n_columns) with ``x``
    x : float array (n_columns,), optional

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> scores_of(Hypercube(2), [[1.0, 0.0], [0.0, 2.0]], [0.5, 0.5])
    array([0.5, 1. ])
    """
    table = np.asarray(weights, np.float64)
    if x is None:
        return checked_scores(space, table)
    row = np.asarray(x, np.float64)
    if row.ndim != 1 or table.shape != (space.n_statistics, len(row)):
        raise ValueError(
            f"weights have shape {table.shape} and x {row.shape}; "
            f"give ({space.n_statistics}, n_columns) and (n_columns,)"
        )
    return checked_scores(space, table @ row)


def cooling_schedule(reach: float, p: int = 3) -> NDArray[np.float64]:
    """The paper's: l = p ceil(R |theta|) steps of 1 / (p R |theta|), the last one to 1.

    Parameters
    ----------
    reach : float
        R |theta|.
    p : int
        At least 3.

    Examples
    --------
    >>> cooling_schedule(1.0).round(3)
    array([0.   , 0.333, 0.667, 1.   ])
    """
    if p < 3:
        raise ValueError(f"p is {p}; the paper's schedule takes 3 or more")
    if reach == 0.0:
        return np.array([0.0, 1.0])
    n_levels = p * math.ceil(reach)
    betas = np.minimum(np.arange(n_levels + 1) / (p * reach), 1.0)
    betas[-1] = 1.0
    return betas


def sample_plan(reach: float, epsilon: float, delta: float, p: int = 3) -> SamplePlan:
    """How many samples suffice that the telescoping product is within (1 ± epsilon) Z but for a chance of delta.

    Along the schedule scores differ from 0 by at most 1/p a step, so that f_i lies between exp(-1/p) and exp(1/p), and
    its variance over its squared mean is at most sinh²(1/p) (Bhatia and Davis, 2000). The mean of S samples at each of
    l levels then gives a product with a relative variance of at most (1 + sinh²(1/p) / S)^l - 1 <= exp(l sinh²(1/p) /
    S) - 1, and Chebyshev's inequality says how often that is off by more than epsilon / (1 + epsilon), which makes its
    reciprocal off by at most epsilon.

    Examples
    --------
    >>> plan = sample_plan(4.0, epsilon=0.1, delta=0.25)
    >>> plan.n_levels, plan.n_samples
    (12, 671)
    """
    _check_precision(epsilon, delta)
    betas = cooling_schedule(reach, p)
    if reach == 0.0:
        return SamplePlan(betas, 1)
    allowed = epsilon / (1.0 + epsilon)
    spread = (len(betas) - 1) * math.sinh(1.0 / p) ** 2
    return SamplePlan(betas, math.ceil(spread / math.log1p(delta * allowed**2)))


def log_partition(
    space: Space,
    weights: ArrayLike,
    x: ArrayLike | None = None,
    *,
    epsilon: float = 0.05,
    delta: float = 0.25,
    method: Literal["telescoping", "bridge", "annealed", "exact"] = "telescoping",
    p: int = 3,
    max_steps: float = 1e9,
    rng: Seed = None,
    **settings: Any,
) -> PartitionEstimate:
    """ln Z of a model over a space.

    Parameters
    ----------
    space : Space
    weights : float array (n_statistics,), or (n_statistics, n_columns) with ``x``
    x : float array (n_columns,), optional
        A row of features; without it the weights are the scores of the statistics.
    epsilon, delta : float
        The estimate of Z is to be off by more than this share of Z with at most that probability; the paper's
        approximation scheme (Definition 3.1) has a delta of 1/4.
    method : {"telescoping", "bridge", "annealed", "exact"}
        ``telescoping`` is the paper's, and proved: its schedule, as many samples as `sample_plan` says, each exact by
        coupling from the past. ``bridge`` and ``annealed`` are for practice: chains that cool down along a schedule of
        their own, until the error they show is small enough (Bennett, 1976; Neal, 2001). ``exact`` lists the space, or
        sums over it where there is a short way.
    p : int
        Of the paper's schedule.
    max_steps : float
        What would take more is not begun.
    rng : seed
    **settings
        Of `BridgeSettings`, for ``bridge`` and ``annealed``.

    Returns
    -------
    PartitionEstimate

    Raises
    ------
    TooCostly
        Where ``max_steps`` are not enough for the guarantee.

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> found = log_partition(Permutations(4), np.full(6, 0.5), epsilon=0.1, rng=0)
    >>> exact = log_partition(Permutations(4), np.full(6, 0.5), method="exact")
    >>> bool(abs(np.expm1(found.estimate - exact.estimate)) < 0.1), found.is_guaranteed
    (True, True)
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    _check_precision(epsilon, delta)
    if settings and method not in ("bridge", "annealed"):
        raise ValueError(f"{', '.join(settings)} is for method='bridge' or 'annealed', not {method!r}; leave it out")
    scores = scores_of(space, weights, x)
    if method == "exact":
        value = float(expectations(space, scores[None]).log_partition[0])
        return PartitionEstimate(value, 0.0, 0.0, True, 0.0, 0, 0, np.array([0.0, 1.0]))
    if method == "telescoping":
        return _telescoping(space, scores, epsilon, delta, p, max_steps, rng)
    made = bridge(
        space,
        scores,
        epsilon=epsilon,
        delta=delta,
        max_steps=max_steps,
        is_annealed=method == "annealed",
        rng=rng,
        **settings,
    )
    bound = math.expm1(made.quantile * made.standard_error)
    value = space.log_count + made.log_ratio
    return PartitionEstimate(value, bound, delta, False, made.standard_error, made.n_samples, made.n_steps, made.betas)


def telescoping_cost(space: Space, scores: NDArray[np.float64], plan: SamplePlan, *, rng: Seed = 0) -> float:
    """How many steps the plan is going to take, as a look at some structures says; never more than the bounds allow."""
    found = np.empty(N_PILOT)
    score_uniform_draws(space, scores, found, stream(rng))
    low, high = space.score_range(scores)
    taken = np.exp(plan.betas[1:, None] * (found - high)).mean(axis=1)
    most = np.exp(np.minimum(plan.betas[1:] * (high - low), 700.0))
    with np.errstate(divide="ignore"):
        return float(plan.n_samples * np.minimum(1.0 / taken, most).sum())


def _telescoping(
    space: Space, scores: NDArray[np.float64], epsilon: float, delta: float, p: int, max_steps: float, rng: Seed
) -> PartitionEstimate:
    """The paper's: f_i(y) = exp((beta_i-1 - beta_i) score(y)) has the mean Z(beta_i-1) / Z(beta_i) at beta_i."""
    plan = sample_plan(space.radius * float(np.linalg.norm(scores)), epsilon, delta, p)
    generator = as_generator(rng)
    cost = telescoping_cost(space, scores, plan, rng=generator)
    if not cost <= max_steps:
        raise TooCostly(
            f"the guarantee takes {plan.n_levels} levels of {plan.n_samples:,} exact samples, in all {cost:.3g} steps "
            f"({coupling_cost(space, scores)} at the last level), more than max_steps={max_steps:.3g}; raise "
            "max_steps or epsilon, or pass method='bridge', which looks at its own error instead"
        )
    words, high = stream(generator), space.score_range(scores)[1]
    values, found = np.empty((plan.n_samples, space.size), np.int32), np.empty(plan.n_samples)
    log_product, variance, n_steps = 0.0, 0.0, N_PILOT
    for before, beta in zip(plan.betas[:-1], plan.betas[1:], strict=True):
        left = 4.0 * max_steps - n_steps  # the cost is a mean, after all
        n_steps += run_coupled(space, beta * scores, beta * high, words, left, values, found)
        f = np.exp((before - beta) * (found / beta))
        log_product += math.log(f.mean())
        variance += float(f.var() / f.mean() ** 2) / len(f)
    n_samples = plan.n_levels * plan.n_samples
    value = space.log_count - log_product
    return PartitionEstimate(value, epsilon, delta, True, math.sqrt(variance), n_samples, n_steps, plan.betas)


def _check_precision(epsilon: float, delta: float) -> None:
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} is {value}; give a number between 0 and 1")
