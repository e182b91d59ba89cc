"""The best partition: a walk through partitions that cools down, block by block, and ends greedily."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.annealing import Outcome, Schedule, constant, geometric
from walkstep.inference.base import Sampler
from walkstep.inference.gibbs import check_temperature
from walkstep.inference.jump_learning import JumpLearning, JumpTally, learn_jumps, tallies
from walkstep.inference.metropolis import MetropolisInfo, metropolis
from walkstep.worlds.adaptive_jumps import AdaptiveJumps
from walkstep.worlds.jumps import mates_of, with_focus
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.pair_levels import PairLevels
from walkstep.worlds.partition import PartitionWorld, partition_score
from walkstep.worlds.partition_proposers import n_drawn_from
from walkstep.worlds.randomness import Seed, stream


class _Effort(NamedTuple):
    """How many moves a search makes for each mention that may move."""

    per_mention: float
    per_mate: float  # for each other among whom a mate is drawn
    greedy: float  # in a greedy block, at least, so that "nothing gains" means something
    n_blocks: int


_ANY = _Effort(60.0, 0.5, 5.0, 50)  # on Cora 50 moves for each mention find the same score as 400
_ADAPTIVE = _Effort(3.0, 0.0, 0.5, 20)  # each is chosen among many, and learned from after a block


def _effort(world: PartitionWorld) -> _Effort:
    return _ADAPTIVE if isinstance(world.proposer, AdaptiveJumps) else _ANY


def _n_movable(world: PartitionWorld) -> int:
    """How many mentions may be drawn to move."""
    return len(world.proposer.focus) or len(world.truth)


class Found(NamedTuple):
    """What a search for the best partition has found."""

    assignment: NDArray[np.int32]  # (M,) the entity of each mention, named by its first one
    score: float
    n_moves: int  # moves proposed
    n_factors: int  # factors looked at
    outcome: Outcome
    pairs: PairLevels  # all that was compared, so that a walk from here does not compare it again
    jumps: tuple[JumpTally, ...] = ()  # what became of jumps, kind by kind; of those that learn

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it early."""
        return self.outcome is Outcome.INTERRUPTED

    @property
    def converged(self) -> bool:
        """Whether a whole block of moves raised the score no more."""
        return self.outcome is Outcome.CONVERGED


def coarse_to_fine(start: float = 0.1, exact_from: float = 0.7) -> Schedule:
    """Shares of factors to look at: few at first, more by the same factor every block, and all of them at the end.

    Parameters
    ----------
    start : float
        The share of the first block.
    exact_from : float
        Where in the search, from 0 to 1, every factor is looked at.

    Examples
    --------
    >>> schedule = coarse_to_fine(0.01, exact_from=0.5)
    >>> [round(schedule(progress), 6) for progress in (0.0, 0.25, 0.5, 1.0)]
    [0.01, 0.1, 1.0, 1.0]
    """
    if not 0.0 < start <= 1.0:
        raise ValueError(f"start is {start}; give the share of factors to look at first, above 0 and at most 1")
    if not 0.0 < exact_from <= 1.0:
        raise ValueError(f"exact_from is {exact_from}; give a point of the search, above 0 and at most 1")
    return lambda progress: float(start ** (1.0 - min(1.0, progress / exact_from)))


def partition_sampler(
    world: PartitionWorld,
    weights: ArrayLike,
    *,
    n_moves: int,
    temperature: float = 1.0,
    share: float | None = None,
    screen: bool = False,
) -> Sampler:
    """`metropolis` through all documents of a world: a step makes ``n_moves`` moves, dealt out by their mentions."""
    ptr = world.document_ptr
    sizes = np.diff(ptr)
    documents = np.flatnonzero(sizes > 1)
    if len(world.proposer.focus) and len(sizes) > 1:
        raise ValueError(f"the proposer has a focus, but the world has {len(sizes)} documents; leave one of them out")
    # A state fits every sampler over its world, so each length of block has one of its own.
    blocks = np.maximum(1, np.ceil(n_moves * sizes[documents] / max(1, int(sizes[documents].sum())))).astype(np.int64)
    samplers = {
        n: metropolis(world, weights, temperature=temperature, document=0, n_moves=n, share=share, screen=screen)
        for n in [1, *np.unique(blocks).tolist()]
    }

    def step(rng, state, temperature=temperature, share=1.0 if share is None else share):
        made = accepted = looked = 0
        for d, n in zip(documents.tolist(), blocks.tolist(), strict=True):
            state.world.window[:] = ptr[d], ptr[d + 1], d
            state, info = samplers[n].step(rng, state, temperature, share)
            made, accepted, looked = made + n, accepted + info.n_accepted, looked + (info.n_factors or 0)
        return state, MetropolisInfo(made, accepted, temperature, looked)

    return samplers[1]._replace(step=step)


def default_moves(world: PartitionWorld) -> int:
    """How many moves a search makes unless told: more for more mentions and more mates, fewer where jumps learn."""
    effort = _effort(world)
    n_others = n_drawn_from(mates_of(world.proposer), len(world.truth)) if effort.per_mate else 0.0
    return int(_n_movable(world) * (effort.per_mention + effort.per_mate * n_others))


def focus_on(world: PartitionWorld, mentions: ArrayLike) -> PartitionWorld:
    """The same world, where only some mentions (and, in merges and splits, those with them) are moved."""
    focus = np.unique(np.asarray(mentions, dtype=np.int32))
    if len(focus) == 0 or focus[0] < 0 or focus[-1] >= len(world.truth):
        raise ValueError(
            f"focus names {len(focus)} mentions from {focus.min(initial=0)} to {focus.max(initial=0)}; "
            f"give at least one, from 0 to {len(world.truth) - 1}"
        )
    focus.flags.writeable = False
    return world._replace(proposer=with_focus(world.proposer, focus))


def search(
    world: PartitionWorld,
    weights: ArrayLike,
    *,
    n_moves: int | None = None,
    temperatures: Schedule | None = None,
    shares: Schedule | None = None,
    screen: bool = False,
    n_blocks: int | None = None,
    max_greedy: int = 100,
    rng: Seed = None,
    focus: ArrayLike | None = None,
    learning: JumpLearning | None = None,
    callback: Callable[[int, Any, MetropolisInfo], Any] | None = None,
) -> Found:
    """Look for the partition of the highest score, from the one where the world stands.

    Parameters
    ----------
    world : PartitionWorld
        It stays as it is; the search has its own copy.
    weights : float array (n_weights,)
    n_moves : int, optional
        Moves before the greedy end; by default 60 for each mention that may move, and one more for every two
        others among whom its mate is drawn. Of `adaptive` jumps, each of which is chosen among many, 3.
    temperatures : callable, optional
        ``(progress) -> temperature``, asked with 0 at the first block and 1 at the last; by default ``geometric``
        from 0.5 to 0.01. Weights of another scale want others; far hotter ones melt large entities, which then do
        not come together again.
    shares : callable, optional
        ``(progress) -> share`` of the factors to look at (Monte Carlo MCMC), such as `coarse_to_fine`; by default
        all.
    screen : bool
        Whether one factor of where a move goes may turn it down; see `monte_carlo_transition`.
        Where comparing is what costs, a search takes a fraction of the time.
    n_blocks : int, optional
        Blocks of moves; temperature and share change between them. By default 50, or 20 of adaptive jumps.
    max_greedy : int
        At most so many blocks at temperature 0 follow, until one gains nothing.
    rng : int or numpy Generator
    focus : int array, optional
        The mentions to move, in place of all.
    learning : JumpLearning, optional
        How jumps learn after every block, where the world's are `adaptive`.
    callback : callable, optional
        ``(blocks made, state, info)``, called after every block.

    Returns
    -------
    Found
        The best partition seen where all factors are looked at. Ctrl-C ends the search early, with the best one
        until then. A partition that breaks a constraint is never better than one that keeps them.
    """
    if n_moves is not None and n_moves < 1:
        raise ValueError(f"n_moves is {n_moves}; give at least 1")
    effort = _effort(world)
    n_blocks = effort.n_blocks if n_blocks is None else n_blocks
    if n_blocks < 1 or max_greedy < 0:
        raise ValueError(f"n_blocks is {n_blocks} and max_greedy {max_greedy}; give at least 1 and at least 0")
    temperatures = geometric(0.5, 0.01) if temperatures is None else temperatures
    shares = constant(1.0) if shares is None else shares
    learning = JumpLearning() if learning is None else learning
    if focus is not None:
        world = focus_on(world, focus)
    n_moves = default_moves(world) if n_moves is None else n_moves
    sampler = partition_sampler(world, weights, n_moves=max(1, n_moves // n_blocks), screen=screen)
    n_greedy = max(1, n_moves // n_blocks, int(effort.greedy * _n_movable(world)))
    greedy = partition_sampler(world, weights, n_moves=n_greedy, screen=screen)
    words = stream(rng)
    state = sampler.init()
    best = _Best(world.constraints)
    best.look(sampler.values(state), sampler.score(state))
    outcome = Outcome.NOT_CONVERGED
    moves = factors = 0
    try:
        for t in range(n_blocks + max_greedy):
            progress = t / max(n_blocks - 1, 1)
            temperature = float(temperatures(progress)) if t < n_blocks else 0.0
            share = float(shares(progress)) if t < n_blocks else 1.0
            check_temperature(temperature)
            if not 0.0 < share <= 1.0:
                raise ValueError(f"the schedule of shares gives {share} at {progress:g}; give above 0 and at most 1")
            is_greedy = t >= n_blocks
            before = sampler.score(state) if is_greedy else -np.inf
            state, info = (greedy if is_greedy else sampler).step(words, state, temperature, share)
            moves, factors = moves + info.n_moves, factors + (info.n_factors or 0)
            if share == 1.0:  # a score from nothing after every coarse block would cost more than the block
                best.look(sampler.values(state), sampler.score(state))
            jumps = state.world.proposer
            if isinstance(jumps, AdaptiveJumps) and learning.is_due(jumps):
                learn_jumps(state.world, learning, temperature=temperature)
            if callback is not None:
                callback(t + 1, state, info)
            if is_greedy and sampler.score(state) <= before + 1e-9 * (1.0 + abs(before)):
                outcome = Outcome.CONVERGED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
        best.look(sampler.values(state), partition_score(state.world, weights))
    jumps = state.world.proposer
    made = tuple(tallies(jumps)) if isinstance(jumps, AdaptiveJumps) else ()
    return Found(best.assignment, best.score, moves, factors, outcome, state.world.pairs, made)


class _Best:
    """The best partition so far; one that keeps all constraints is better than one that does not."""

    def __init__(self, constraints: LinkConstraints):
        self._constraints = constraints
        self.assignment = np.zeros(0, np.int32)
        self.score = -np.inf
        self._is_allowed = False

    def look(self, assignment: NDArray[np.integer], score: float) -> None:
        """Keep a partition if it is better."""
        if len(self.assignment) and score <= self.score and self._is_allowed:
            return
        # Walks never break a constraint, so once one was kept all later ones keep them.
        is_allowed = self._is_allowed or keeps(self._constraints, assignment)
        if is_allowed > self._is_allowed or not len(self.assignment) or score > self.score:
            self.assignment = np.array(assignment, dtype=np.int32)
            self.score, self._is_allowed = float(score), is_allowed


def keeps(constraints: LinkConstraints, assignment: ArrayLike) -> bool:
    """Whether a partition breaks none of the constraints on what must stay apart.

    Examples
    --------
    >>> from walkstep.worlds.link_constraints import link_constraints
    >>> held = link_constraints(3, apart=[[0, 2]])
    >>> keeps(held, [0, 0, 1]), keeps(held, [0, 1, 0])
    (True, False)
    """
    values = np.asarray(assignment)
    if len(constraints.apart):
        ends = np.repeat(np.arange(len(values)), np.diff(constraints.apart_ptr))
        if (values[ends] == values[constraints.apart]).any():
            return False
    if len(constraints.source):
        known = np.flatnonzero(constraints.source >= 0)
        pairs = np.stack([values[known], constraints.source[known]])
        return np.unique(pairs, axis=1).shape[1] == len(known)
    return True
