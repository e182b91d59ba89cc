"""Monte Carlo MCMC: moves priced by a sample of the factors they touch (Singh, Wick and McCallum, 2012).

A choice on the walk, for every world: a share of the factors, or as many as it takes until a confidence interval
is narrow; and a schedule that looks coarsely at first and exactly at the end.

A move that takes a mention from one entity to another touches factors of two kinds: those of what it leaves, and those
of what it goes to. Drawn from all of them alike, as in the paper, a small sample often has none of one kind: a mention
that fits ill where it is then goes wherever it is told to, without a look at the place, and the walk comes to rest
far from any good partition. So factors are drawn from each side by itself (a stratified sample), which costs no more
and is as free of bias; ``by_side=False`` draws as the paper does.

Late in a walk nearly every move is turned down, and for one reason: a mention does not belong where it would go. A
single factor says so, and ``screen=True`` looks no further then, as delayed acceptance does (Christen and Fox, 2005).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.transitions import TRANSITIONS, accepts, accepts_draft
from walkstep.worlds.base import delta, difference, draft, factor, factor_score, forbids, n_factors, n_leaving
from walkstep.worlds.jumps import may_swap
from walkstep.worlds.labels import LabelWorld
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.proposers import max_sites
from walkstep.worlds.randomness import below

Z = 1.96
"""The paper's z of Eq. 9: a confidence of 95 %."""
_ROUNDING = 1e-9  # a tenth of thirty factors are three


class MonteCarlo(NamedTuple):
    """Metropolis-Hastings with a sampled score; see `monte_carlo_transition`."""

    temperature: NDArray[np.float64]  # (1,)
    share: NDArray[np.float64]  # (1,) of the factors; 1 looks at all of them
    width: NDArray[np.float64]  # (1,) of the confidence interval; below 0 where the share rules
    examined: NDArray[np.int64]  # (1,) factors looked at so far
    by_side: NDArray[np.bool_]  # (1,) whether what a move leaves and where it goes are drawn from separately
    screens: NDArray[np.bool_]  # (1,) whether one factor of where a move goes may turn it down
    order: NDArray[np.int32]  # scratch: factors, each side in the order of drawing, otherwise 0, 1, 2, ...
    swapped: NDArray[np.int32]  # (2, n) scratch: the exchanges that made it
    drawn: NDArray[np.int64]  # (2, 2) how many were drawn for the last move from either side, and out of how many


def monte_carlo_transition(
    max_factors: int,
    temperature: float = 1.0,
    *,
    share: float = 1.0,
    width: float | None = None,
    by_side: bool = True,
    screen: bool = False,
) -> MonteCarlo:
    """Price moves by a sample of their factors.

    Parameters
    ----------
    max_factors : int
        The most factors that one move touches.
    temperature : float
    share : float
        At most this share of a move's factors is drawn, without replacement, but at least one (section 3.2), and
        at least one of either side where there are two.
    width : float, optional
        Instead of a share: draw factors until the 95 % confidence interval of their mean is at most this wide
        (section 3.3). A variance takes two factors, so at least two are drawn.
    by_side : bool
        Whether factors of what a move leaves and of where it goes are drawn separately, in proportion to their
        numbers. With F factors of which the sides have F1 and F2, the change of score is then estimated as
        F1 E_S1[f] + F2 E_S2[f], otherwise as F E_S[f] (Eq. 7); neither has a bias. The interval is that of Eq. 8 and
        9 either way: over a sample by sides it is wider than need be.
    screen : bool
        Whether the first factor f of where a move goes, one of F2, turns it down with probability
        1 - min(1, exp(F2 f / T)) before others are looked at. What passes is priced as ever, by all of its factors
        where the share is 1. The walk then hardly goes from one place that does not fit to another, other than by way
        of being alone: it climbs with fewer factors, and is no sampler of the model any more.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}; give the share of factors to look at, above 0 and at most 1")
    if width is not None and not width >= 0.0:
        raise ValueError(f"width is {width}; give the width of a confidence interval, 0 or more")
    if width is not None and share != 1.0:
        raise ValueError(f"share is {share} and width {width}; give one of the two")
    if screen and not by_side:
        raise ValueError("screen=True looks first at where a move goes, which by_side=False does not tell apart")
    return MonteCarlo(
        np.array([temperature], dtype=np.float64),
        np.array([share], dtype=np.float64),
        np.array([-1.0 if width is None else width]),
        np.zeros(1, np.int64),
        np.array([by_side], dtype=np.bool_),
        np.array([screen], dtype=np.bool_),
        np.arange(max_factors, dtype=np.int32),
        np.zeros((2, max_factors), np.int32),
        np.zeros((2, 2), np.int64),
    )


def max_factors(world: Any) -> int:
    """The most factors that one move of a world touches."""
    if isinstance(world, LabelWorld):
        return int(np.diff(world.graph.variable_ptr).max(initial=1)) * max_sites(world.proposer)
    if isinstance(world, PartitionWorld):
        n_moved = _largest_atom(world) * (2 if may_swap(world.proposer) else 1)
        largest = max(world.proposer.max_pairs, n_moved * len(world.truth))
        return largest + 2 * len(world.model.kind) + len(world.model.spread_column)
    raise ValueError(f"how many factors a move of {type(world).__name__} touches is not known; pass max_factors=")


def _largest_atom(world: PartitionWorld) -> int:
    """The most mentions that move as one."""
    return int(np.diff(world.constraints.atom_ptr).max(initial=1))


@compiled(inline=True)
def _draw_factor(transition, side, first, n, rng):
    """One more factor of a side that has ``n`` of them from ``first`` on: a step of a Fisher-Yates shuffle."""
    order, drawn = transition.order, transition.drawn
    k = drawn[0, 0] + drawn[1, 0]
    to = first + drawn[side, 0]
    at = to + below(rng, n - drawn[side, 0])
    chosen = order[at]
    order[at] = order[to]
    order[to] = chosen
    transition.swapped[0, k] = at
    transition.swapped[1, k] = to
    drawn[side, 0] += 1
    return np.int64(chosen)


@compiled(inline=True)
def _put_back(transition):
    """Undo the last shuffle, so that factors stand in their own order again."""
    order, drawn = transition.order, transition.drawn
    for k in range(drawn[0, 0] + drawn[1, 0] - 1, -1, -1):
        at, to = transition.swapped[0, k], transition.swapped[1, k]
        kept = order[at]
        order[at] = order[to]
        order[to] = kept
    drawn[0, 0] = drawn[1, 0] = 0


@compiled(inline=True)
def _check_room(transition, n):
    if n > len(transition.order):
        raise ValueError("a move touches more factors than the transition has room for; raise max_factors")


@compiled(inline=True)
def estimate(transition, world, move, weights, phi, rng):
    """The change of score, by a sample of the factors that a move touches (Eq. 7); the sample is remembered.

    Minus infinity where the first of them turns the move down.
    """
    _put_back(transition)
    n = n_factors(world, move)
    if n == 0:  # nothing speaks for the move or against it
        return 0.0
    n_left = np.int64(n_leaving(world, move)) if transition.by_side[0] else np.int64(0)
    n_other = n - n_left
    transition.drawn[0, 1], transition.drawn[1, 1] = n_left, n_other
    width = transition.width[0]
    wanted = n
    if width < 0.0:
        wanted = max((n_left > 0) + (n_other > 0), int(transition.share[0] * n + _ROUNDING))
    is_exact = wanted >= n and width <= 0.0
    is_screened = transition.screens[0] and n_other > 0 and n > 1
    if not is_exact or is_screened:
        _check_room(transition, n)
    total_left = total_other = squares = 0.0
    size_left = size_other = 0
    if is_screened:
        total_other = factor_score(world, move, _draw_factor(transition, 1, n_left, n_other, rng), weights, phi)
        size_other = 1
        squares = total_other * total_other
        if not accepts(n_other * total_other, 0.0, transition.temperature[0], rng):
            transition.examined[0] += 1
            return -np.inf
    if is_exact:
        transition.examined[0] += n
        return delta(world, move, weights, phi)
    while size_left + size_other < wanted:
        # One of each side, then from the one of which the smaller part is seen: neither can run out before the other.
        if n_left > 0 and (n_other == 0 or size_left * n_other < size_other * n_left):
            f = factor_score(world, move, _draw_factor(transition, 0, 0, n_left, rng), weights, phi)
            total_left += f
            size_left += 1
        else:
            f = factor_score(world, move, _draw_factor(transition, 1, n_left, n_other, rng), weights, phi)
            total_other += f
            size_other += 1
        squares += f * f
        size = size_left + size_other
        if width >= 0.0 and size >= 2:
            # Eq. 8 and 9, with the finite population correction: all factors seen, nothing is in doubt.
            total = total_left + total_other
            variance = max(0.0, (squares - total * total / size) / (size - 1))
            if 2.0 * Z * np.sqrt(variance / size * (n - size) / (n - 1)) <= width:
                break
    transition.examined[0] += size_left + size_other
    return total_left / max(size_left, 1) * n_left + total_other / max(size_other, 1) * n_other


@compiled(inline=True)
def _attempt_monte_carlo(transition, world, weights, scale, phi, rng):
    move, ratio = draft(world, rng)
    if forbids(world, move):
        _put_back(transition)
        return move, -np.inf, False
    change = scale * estimate(transition, world, move, weights, phi, rng)
    return move, change, accepts_draft(world, move, change, ratio, transition.temperature[0], rng)


@compiled(inline=True)
def _gradient_monte_carlo(transition, world, move, phi):
    """The gradient from the same sample: the factors' statistics, each side's times |F| / |S|."""
    drawn = transition.drawn
    if drawn[0, 0] + drawn[1, 0] == 0:
        difference(world, move, phi)
        return
    for side in range(2):
        if drawn[side, 0] == 0:
            continue
        scale = drawn[side, 1] / drawn[side, 0]
        first = 0 if side == 0 else drawn[0, 1]
        # What is there from the first side already is scaled back and forth: a sparse vector has one scale.
        for e in range(phi.size[0]):
            phi.value[e] /= scale
        for k in range(drawn[side, 0]):
            factor(world, move, np.int64(transition.order[first + k]), phi)
        for e in range(phi.size[0]):
            phi.value[e] *= scale


TRANSITIONS[MonteCarlo] = (_attempt_monte_carlo, _gradient_monte_carlo)
