"""Mentions added to a partition that was found before: the new ones find their place, and what they join is revisited.

The work is in proportion to the new mentions and the entities they come to, not to all there are.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.annealing import Schedule, geometric
from walkstep.inference.pair_posterior import Partitions
from walkstep.inference.partition_search import Found, focus_on, partition_sampler, search
from walkstep.worlds.partition import PartitionWorld, at_assignment
from walkstep.worlds.randomness import Seed, as_generator, stream

_MOVES_TO_REVISIT = 20  # for each mention of an entity that new ones have joined
_MOVES_TO_CARRY_ON = 3  # for each of them in every sample; those samples were far apart before


def joined_by(assignment: ArrayLike, n_before: int) -> NDArray[np.int32]:
    """The mentions from ``n_before`` on, and those that are with one of them.

    Examples
    --------
    >>> joined_by([0, 0, 2, 0, 4], 3)
    array([0, 1, 3, 4], dtype=int32)
    """
    given = np.asarray(assignment)
    return np.flatnonzero(np.isin(given, given[n_before:])).astype(np.int32)


def add_mentions(
    world: PartitionWorld,
    weights: ArrayLike,
    n_before: int,
    *,
    n_moves: int | None = None,
    shares: Schedule | None = None,
    rng: Seed = None,
) -> Found:
    """Find a place for the mentions from ``n_before`` on, from where the world stands.

    First only they are moved, with all that `search` does; then they, those they have joined and those they have put
    out, in few moves.
    """
    generator = as_generator(rng)
    new = np.arange(n_before, len(world.truth), dtype=np.int32)
    placed = search(world, weights, n_moves=n_moves, shares=shares, screen=True, rng=generator, focus=new)
    if placed.interrupted:
        return placed
    # A merge or a split may have moved old ones too; clusters are named by their first mention, so theirs has changed.
    moved = np.flatnonzero(placed.assignment[:n_before] != world.values[:n_before])
    near = np.union1d(joined_by(placed.assignment, n_before), moved)
    seen = search(
        at_assignment(world._replace(pairs=placed.pairs), placed.assignment),
        weights,
        n_moves=_MOVES_TO_REVISIT * len(near),
        temperatures=geometric(0.1, 0.01),
        n_blocks=5,
        rng=generator,
        focus=near,
    )
    moves, factors = placed.n_moves + seen.n_moves, placed.n_factors + seen.n_factors
    return seen._replace(n_moves=moves, n_factors=factors)


def carry_on(
    world: PartitionWorld, weights: ArrayLike, before: Partitions, *, temperature: float = 1.0, rng: Seed = None
) -> Partitions:
    """Samples of a partition to which mentions were added, each carried on from one drawn before they came.

    In every sample a new mention begins with those it is with where the world stands; then the new ones and those
    they have joined there are moved, a few times each. Scores are not counted.

    Parameters
    ----------
    world : PartitionWorld
        Where `add_mentions` has left off; the first mentions are those of ``before``.
    weights : float array (n_weights,)
    before : Partitions
        From `sample_partitions`.
    temperature : float
        Best that of ``before``.
    rng : int or numpy Generator
    """
    n_before, answer = before.draws.shape[1], world.values
    near = joined_by(answer, n_before)
    sampler = partition_sampler(
        focus_on(world, near), weights, n_moves=max(1, _MOVES_TO_CARRY_ON * len(near)), temperature=temperature
    )
    words = stream(rng)
    state = sampler.init()
    # Clusters are named by their first mention, an old one where there is any.
    host = answer[n_before:]
    draws, is_interrupted = [], False
    try:
        for draw in before.draws:
            start = np.concatenate([draw, np.where(host < n_before, draw[np.minimum(host, n_before - 1)], host)])
            state = state._replace(world=at_assignment(state.world, start))
            state.tally[0] = 0.0
            state, _ = sampler.step(words, state, temperature)
            draws.append(state.values)
    except KeyboardInterrupt:
        is_interrupted = True
    drawn = np.array(draws or [answer], dtype=np.int32)
    return Partitions(drawn, np.full(len(drawn), np.nan), temperature, is_interrupted)
