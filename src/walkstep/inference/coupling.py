"""Exact samples by coupling from the past, for any space that can be drawn uniformly (section 5 of Vembu et al., 2009).

The chain META proposes a structure drawn uniformly and takes it with probability min(1, p(z) / p(y)). If all its
copies, one from every structure, are handed the same proposal z and the same uniform number u, they all take z where u
<= exp(score(z) - highest score): from there on they are one. That happens at each step with probability at least
exp(-2BR), B being the length of the scores and R that of the statistics, so that it takes at most exp(2BR) steps on
average.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import Seed, as_generator, stream, uniform
from walkstep.worlds.space import Space

N_PILOT = 2000
"""Structures that are drawn to see what a sample is going to cost."""


class CouplingCost(NamedTuple):
    """How many steps of the chain one exact sample takes, on average."""

    log_paper_bound: float  # 2BR: log of what Theorem 5.1 says at most
    log_bound: float  # the same by the range of scores, which the space may know better
    estimate: float  # by structures drawn uniformly; inf where none of them is ever taken by all copies

    @property
    def likely(self) -> float:
        """What to expect: the estimate, or the bound where that is less."""
        return min(self.estimate, math.exp(min(self.log_bound, 700.0)))

    def __str__(self) -> str:
        return (
            f"about {self.likely:.3g} steps a sample (at most {_power(self.log_bound)} by the range of scores, "
            f"{_power(self.log_paper_bound)} by Theorem 5.1)"
        )


class ExactDraws(NamedTuple):
    """Independent samples from the model itself."""

    values: NDArray[np.int32]  # (n, size)
    scores: NDArray[np.float64]  # (n,)
    n_steps: int  # steps of the chain, all samples together; the look at what they cost is not among them


class TooCostly(ValueError):  # noqa: N818 - it reads as what is the matter
    """What was asked for would take longer than anybody waits."""


def mixing_time(reach: float, epsilon: float) -> float:
    """After how many steps META is within ``epsilon`` of the model, in total variation (Theorem 5.1).

    Parameters
    ----------
    reach : float
        2BR, or any bound on how much two structures' scores differ.
    epsilon : float

    Returns
    -------
    float
        A whole number, or infinity where it does not fit one.

    Examples
    --------
    >>> mixing_time(2.0, 0.01), mixing_time(0.0, 0.01)
    (32.0, 1.0)
    """
    if not 0.0 < epsilon < 1.0:
        raise ValueError(f"epsilon is {epsilon}; give a number between 0 and 1")
    if reach < 0.0:
        raise ValueError(f"reach is {reach}; give 0 or more")
    stays_apart = -math.expm1(-reach)  # 1 - exp(-2BR)
    if stays_apart == 0.0:
        return 1.0
    rate = -math.log(stays_apart) if reach < 30.0 else math.exp(-min(reach, 700.0))
    return float(math.ceil(-math.log(epsilon) / rate)) if reach < 700.0 else math.inf


def coupling_cost(space: Space, scores: ArrayLike, *, rng: Seed = 0) -> CouplingCost:
    """What an exact sample would cost, before any is made.

    Parameters
    ----------
    space : Space
    scores : float array (n_statistics,)
    rng : seed
        For a look at a few structures.

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> print(coupling_cost(Hypercube(3), [0.5, -0.5, 0.0]))
    about 1.56 steps a sample (at most 2.72 by the range of scores, 11.6 by Theorem 5.1)
    """
    theta = checked_scores(space, scores)
    low, high = space.score_range(theta)
    paper = 2.0 * space.radius * float(np.linalg.norm(theta))
    found = np.empty(N_PILOT)
    score_uniform_draws(space, theta, found, stream(rng))
    taken = float(np.exp(found - high).mean())
    return CouplingCost(paper, high - low, 1.0 / taken if taken > 0.0 else math.inf)


def coupling_from_the_past(
    space: Space,
    scores: ArrayLike,
    n: int = 1,
    *,
    rng: Seed = None,
    max_steps: float = 1e9,
    report: Callable[[CouplingCost], None] | None = None,
) -> ExactDraws:
    """Independent samples that are distributed exactly as the model says.

    Coupling from the past, read once (Wilson, 2000): between two steps at which all copies of the chain become one
    there are as many others as between the last such step and now; so where the chain is just before such a step is an
    exact sample, and the next one starts from that step alone.

    Parameters
    ----------
    space : Space
    scores : float array (n_statistics,)
    n : int
        How many samples.
    rng : seed
    max_steps : float
        More steps than that, all samples together, are not begun, and not exceeded.
    report : callable, optional
        Called with the expected cost before the first step.

    Raises
    ------
    TooCostly
        Where it is to be expected that ``max_steps`` do not suffice.

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> draws = coupling_from_the_past(Permutations(3), [4.0, 4.0, 4.0], 1000, rng=0)
    >>> bool((draws.values == [0, 1, 2]).all(axis=1).mean() > 0.9)
    True
    """
    if n < 1:
        raise ValueError(f"n is {n}; give at least 1")
    theta = checked_scores(space, scores)
    generator = as_generator(rng)
    cost = coupling_cost(space, theta, rng=generator)
    if report is not None:
        report(cost)
    if not cost.likely * n <= max_steps:
        raise TooCostly(
            f"{n:,} exact samples take {cost}; that is more than max_steps={max_steps:.3g}. Raise max_steps, "
            "or be content with a chain: metropolis(space_world(space), scores)"
        )
    values, found = np.empty((n, space.size), np.int32), np.empty(n)
    top = space.score_range(theta)[1]
    n_steps = run_coupled(space, theta, top, stream(generator), max_steps, values, found)
    return ExactDraws(values, found, n_steps)


def run_coupled(
    space: Space,
    scores: NDArray[np.float64],
    top: float,
    words: NDArray[np.uint64],
    max_steps: float,
    values: NDArray[np.int32],
    found: NDArray[np.float64],
) -> int:
    """Fill arrays with exact samples and their scores; how many steps it took."""
    now, fresh = np.empty((2, space.size), np.int32)
    counted = np.empty(space.n_statistics)
    n_done, n_steps = _coupled(
        space.structure, scores, top, words, np.int64(min(max_steps, 2**62)), now, fresh, counted, values, found
    )
    if n_done < len(found):
        raise TooCostly(
            f"after {n_steps:,} steps {n_done:,} of {len(found):,} exact samples are there; raise max_steps, "
            "or be content with a chain: metropolis(space_world(space), scores)"
        )
    return int(n_steps)


def checked_scores(space: Space, scores: ArrayLike) -> NDArray[np.float64]:
    """Scores as an array, one for each statistic."""
    theta = np.ascontiguousarray(scores, np.float64)
    if theta.shape != (space.n_statistics,):
        raise ValueError(
            f"scores have shape {theta.shape}; {type(space).__name__} has {space.n_statistics} statistics, "
            "give one for each"
        )
    if not np.isfinite(theta).all():
        at = int(np.flatnonzero(~np.isfinite(theta))[0])
        raise ValueError(f"the score of statistic {at} is {theta[at]}; give finite numbers")
    return theta


def score_uniform_draws(
    space: Space, scores: NDArray[np.float64], found: NDArray[np.float64], words: NDArray[np.uint64]
) -> None:
    """Fill an array with the scores of structures that are drawn uniformly."""
    _score_draws(space.structure, scores, words, np.empty(space.size, np.int32), np.empty(space.n_statistics), found)


def _power(log: float) -> str:
    """exp of a number, which may be beyond all floats."""
    return f"{math.exp(log):.3g}" if log < 700.0 else f"1e{log / math.log(10.0):.0f}"


@compiled(inline=True)
def score_of(structure, values, scores, counted):
    """The score of a structure; ``counted`` is scratch."""
    structure.statistics(structure.ints, structure.floats, values, counted)
    total = 0.0
    for k in range(len(scores)):
        total += scores[k] * counted[k]
    return total


@compiled(allocates=False)
def _score_draws(structure, scores, rng, fresh, counted, found):
    for k in range(len(found)):
        structure.draw(structure.ints, structure.floats, fresh, rng)
        found[k] = score_of(structure, fresh, scores, counted)


@compiled(allocates=False)
def _coupled(structure, scores, top, rng, max_steps, now, fresh, counted, values, found):
    """The chain META, and where it is whenever all its copies are about to become one."""
    n_done = -1  # the first such step only says where to start: until then the score is the highest, and none less is
    n_steps = np.int64(0)
    score = top
    while n_done < len(found) and n_steps < max_steps:
        n_steps += 1
        structure.draw(structure.ints, structure.floats, fresh, rng)
        new = score_of(structure, fresh, scores, counted)
        log_u = np.log(uniform(rng))
        if not log_u < new - score:
            continue
        if log_u < new - top:
            if n_done >= 0:
                for i in range(len(now)):
                    values[n_done, i] = now[i]
                found[n_done] = score
            n_done += 1
            if n_done == len(found):
                break
        score = new
        for i in range(len(now)):
            now[i] = fresh[i]
    return max(n_done, 0), n_steps
