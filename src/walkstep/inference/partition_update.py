"""Mentions added to a partition that was found before: the new ones find their place, and what they join is revisited.

The work is in proportion to the new mentions and the entities they come to, not to all there are.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.annealing import Outcome, Schedule, geometric
from walkstep.inference.pair_posterior import Partitions
from walkstep.inference.partition_search import Found, default_moves, focus_on, partition_sampler
from walkstep.worlds.partition import PartitionWorld, at_assignment, partition_score
from walkstep.worlds.randomness import Seed, stream

_N_BLOCKS = 8  # of moves: few, since each takes milliseconds whatever it does
_MOVES_TO_REVISIT = 3  # in each of two blocks, for each mention of an entity that new ones have joined
_MOVES_TO_SETTLE = 20  # in a greedy block, for each new mention and each that was put out
_MOST_GREEDY = 100
_MOVES_TO_CARRY_ON = 4  # in every sample, for each new mention, half of them of those it has joined


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

    First only they are moved, as a search would; then they, those they have joined and those they have put out, in few
    moves; then the new and the put out, greedily, until nothing gains. Ctrl-C ends it early, with where it stands.
    """
    new = np.arange(n_before, len(world.truth), dtype=np.int32)
    placing = focus_on(world, new)
    n_moves = default_moves(placing) if n_moves is None else n_moves
    first = partition_sampler(placing, weights, n_moves=max(1, n_moves // _N_BLOCKS), screen=True)
    words = stream(rng)
    state = first.init()
    temperatures, outcome = geometric(0.5, 0.01), Outcome.NOT_CONVERGED
    moves = factors = 0
    try:
        for t in range(_N_BLOCKS):
            progress = t / (_N_BLOCKS - 1)
            share = 1.0 if shares is None else float(shares(progress))
            state, info = first.step(words, state, temperatures(progress), share)
            moves, factors = moves + info.n_moves, factors + (info.n_factors or 0)
        near = focus_on(world, np.union1d(joined_by(state.values, n_before), _moved(world, state, n_before)))
        revisit = partition_sampler(near, weights, n_moves=_MOVES_TO_REVISIT * len(near.proposer.focus), screen=True)
        state = _facing(state, near)
        for temperature in (0.1, 0.01):
            state, info = revisit.step(words, state, temperature)
            moves, factors = moves + info.n_moves, factors + (info.n_factors or 0)
        settling = focus_on(world, np.union1d(new, _moved(world, state, n_before)))
        greedy = partition_sampler(settling, weights, n_moves=_MOVES_TO_SETTLE * len(settling.proposer.focus))
        state = _facing(state, settling)
        for _ in range(_MOST_GREEDY):
            before = greedy.score(state)
            state, info = greedy.step(words, state, 0.0)
            moves, factors = moves + info.n_moves, factors + (info.n_factors or 0)
            if greedy.score(state) <= before + 1e-9 * (1.0 + abs(before)):
                outcome = Outcome.CONVERGED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    score = partition_score(state.world, weights) if outcome is Outcome.INTERRUPTED else first.score(state)
    return Found(np.array(state.values), score, moves, factors, outcome, state.world.pairs)


def _moved(world: PartitionWorld, state: Any, n_before: int) -> NDArray[np.int64]:
    """The old mentions that a merge or a split has moved too: clusters are named by their first, and theirs changed."""
    return np.flatnonzero(state.values[:n_before] != world.values[:n_before])


def _facing(state: Any, world: PartitionWorld) -> Any:
    """The same state, whose moves come from the proposer of another world."""
    return state._replace(world=state.world._replace(proposer=world.proposer))


def carry_on(
    world: PartitionWorld, weights: ArrayLike, before: Partitions, *, temperature: float = 1.0, rng: Seed = None
) -> Partitions:
    """Samples of a partition to which mentions were added, each carried on from one drawn before they came.

    In every sample a new mention begins with those it is with where the world stands; then the new ones and those
    they have joined there are moved. Scores are not counted.

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
    new, near = np.arange(n_before, len(answer)), joined_by(answer, n_before)
    # Half of the moves are of new ones: they are few, and have the most to find.
    focus = np.concatenate([near, np.repeat(new, -(-len(near) // len(new)))]).astype(np.int32)
    focus.flags.writeable = False
    sampler = partition_sampler(
        world._replace(proposer=world.proposer._replace(focus=focus)),
        weights,
        n_moves=_MOVES_TO_CARRY_ON * len(new),
        temperature=temperature,
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
