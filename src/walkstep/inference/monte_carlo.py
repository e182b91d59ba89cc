"""Monte Carlo MCMC: moves priced by a sample of the factors they touch (Singh, Wick and McCallum, 2012).

A choice on the walk, for every world: a share of the factors, or as many as it takes until a confidence interval
is narrow; and a schedule that looks coarsely at first and exactly at the end.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.transitions import TRANSITIONS, accepts
from walkstep.worlds.base import delta, difference, factor, factor_score, forbids, n_factors, propose
from walkstep.worlds.labels import LabelWorld
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.proposers import max_sites
from walkstep.worlds.randomness import below

Z = 1.96
"""The paper's z of Eq. 9: a confidence of 95 %."""


class MonteCarlo(NamedTuple):
    """Metropolis-Hastings with a sampled score; see `monte_carlo_transition`."""

    temperature: NDArray[np.float64]  # (1,)
    share: NDArray[np.float64]  # (1,) of the factors; 1 looks at all of them
    width: NDArray[np.float64]  # (1,) of the confidence interval; below 0 where the share rules
    examined: NDArray[np.int64]  # (1,) factors looked at so far
    order: NDArray[np.int32]  # scratch: factors in the order of drawing, otherwise 0, 1, 2, ...
    swapped: NDArray[np.int32]  # scratch: the exchanges that made it
    drawn: NDArray[np.int64]  # (2,) how many were drawn for the last move, and out of how many


def monte_carlo_transition(
    max_factors: int, temperature: float = 1.0, *, share: float = 1.0, width: float | None = None
) -> MonteCarlo:
    """Price moves by a sample of their factors.

    Parameters
    ----------
    max_factors : int
        The most factors that one move touches.
    temperature : float
    share : float
        This share of a move's factors is drawn, without replacement, and at least one (section 3.2).
    width : float, optional
        Instead of a share: draw factors until the 95 % confidence interval of their mean is at most this wide
        (section 3.3). A variance takes two factors, so at least two are drawn.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}; give the share of factors to look at, above 0 and at most 1")
    if width is not None and not width >= 0.0:
        raise ValueError(f"width is {width}; give the width of a confidence interval, 0 or more")
    if width is not None and share != 1.0:
        raise ValueError(f"share is {share} and width {width}; give one of the two")
    return MonteCarlo(
        np.array([temperature], dtype=np.float64),
        np.array([share], dtype=np.float64),
        np.array([-1.0 if width is None else width]),
        np.zeros(1, np.int64),
        np.arange(max_factors, dtype=np.int32),
        np.zeros(max_factors, np.int32),
        np.zeros(2, np.int64),
    )


def max_factors(world: Any) -> int:
    """The most factors that one move of a world touches."""
    if isinstance(world, LabelWorld):
        return int(np.diff(world.graph.variable_ptr).max(initial=1)) * max_sites(world.proposer)
    if isinstance(world, PartitionWorld):
        largest = max(world.proposer.max_pairs, _largest_atom(world) * len(world.truth))
        return largest + 2 * len(world.model.kind) + len(world.model.spread_column)
    raise ValueError(f"how many factors a move of {type(world).__name__} touches is not known; pass max_factors=")


def _largest_atom(world: PartitionWorld) -> int:
    """The most mentions that move as one."""
    return int(np.diff(world.constraints.atom_ptr).max(initial=1))


@compiled(inline=True)
def _draw_factor(transition, k, n, rng):
    """The k-th factor of a draw without replacement out of ``n``: one step of a Fisher-Yates shuffle."""
    order = transition.order
    at = k + below(rng, n - k)
    chosen = order[at]
    order[at] = order[k]
    order[k] = chosen
    transition.swapped[k] = at
    transition.drawn[0] = k + 1
    return chosen


@compiled(inline=True)
def _put_back(transition):
    """Undo the last shuffle, so that factors stand in their own order again."""
    order = transition.order
    for k in range(transition.drawn[0] - 1, -1, -1):
        at = transition.swapped[k]
        kept = order[at]
        order[at] = order[k]
        order[k] = kept
    transition.drawn[0] = 0


@compiled(allocates=False)
def estimate(transition, world, move, weights, phi, rng):
    """|F| E_S[f] over a sample S of the factors F that a move touches (Eq. 7); the sample is remembered."""
    _put_back(transition)
    n = n_factors(world, move)
    transition.drawn[1] = n
    if n == 0:  # nothing speaks for the move or against it
        return 0.0
    width = transition.width[0]
    wanted = n
    if width < 0.0:
        wanted = max(1, int(transition.share[0] * n + 0.5))
    if wanted >= n and width <= 0.0:
        transition.examined[0] += n
        return delta(world, move, weights, phi)
    if n > len(transition.order):
        raise ValueError("a move touches more factors than the transition has room for; raise max_factors")
    total = squares = 0.0
    size = 0
    while size < wanted:
        f = factor_score(world, move, np.int64(_draw_factor(transition, size, n, rng)), weights, phi)
        total += f
        squares += f * f
        size += 1
        if width >= 0.0 and size >= 2:
            # Eq. 8 and 9, with the finite population correction: all factors seen, nothing is in doubt.
            variance = max(0.0, (squares - total * total / size) / (size - 1))
            if 2.0 * Z * np.sqrt(variance / size * (n - size) / (n - 1)) <= width:
                break
    transition.examined[0] += size
    return total / size * n


@compiled(inline=True)
def _attempt_monte_carlo(transition, world, weights, scale, phi, rng):
    move, ratio = propose(world, rng)
    if forbids(world, move):
        _put_back(transition)
        return move, -np.inf, False
    change = scale * estimate(transition, world, move, weights, phi, rng)
    return move, change, accepts(change, ratio, transition.temperature[0], rng)


@compiled(inline=True)
def _gradient_monte_carlo(transition, world, move, phi):
    """The gradient from the same sample: |F| E_S of the factors' statistics."""
    size = transition.drawn[0]
    if size == 0:
        difference(world, move, phi)
        return
    for k in range(size):
        factor(world, move, np.int64(transition.order[k]), phi)
    scale = transition.drawn[1] / size
    for e in range(phi.size[0]):
        phi.value[e] *= scale


TRANSITIONS[MonteCarlo] = (_attempt_monte_carlo, _gradient_monte_carlo)
