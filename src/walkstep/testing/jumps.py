"""A check of jumps through partitions: that the ratios they return are those of the jumps they make."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features.comparators import exact
from walkstep.features.encodings import encode
from walkstep.inference.metropolis import own_arrays
from walkstep.inference.partition_search import keeps
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.references import refer
from walkstep.worlds.base import enter, propose
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.own_jumps import OwnJump
from walkstep.worlds.partition import PartitionWorld, at_assignment, partition_world
from walkstep.worlds.randomness import Seed, as_generator, stream

_N_BESIDE = 2  # mentions before the document that is entered, and after it
_MOST_MENTIONS = 6
_N_ERRORS = 5.0
_ROUNDING = 1e-12


class JumpChecks(NamedTuple):
    """What `check_jump` has looked at."""

    n_partitions: int
    n_pairs: int  # of partitions, between which jumps were seen
    n_parts: int  # of partitions, between which there is no way; 1 where there is one between all
    finest: float  # an error of a log ratio that is larger than this would have been seen, in half of the pairs


class _Seen(NamedTuple):
    """The jumps seen from each partition (rows) to each other, ``n`` from each.

    Under some scores, a jump is taken with probability a = min(1, exp(change of score + ratio)). There are two sets of
    scores, the one the negative of the other: a ratio that is wrong one way only shows where that way goes down.
    """

    n: int
    hits: NDArray[np.float64]
    odds: NDArray[np.float64]  # the sum of exp(ratio): as many hits are expected back
    taken: NDArray[np.float64]  # (2, ...) the sum of a
    squares: NDArray[np.float64]  # (2, ...) the sum of a ** 2
    squares_back: NDArray[np.float64]  # (2, ...) what that should be from there to here, if the ratios are right


def check_jump(
    jump: Any,
    *,
    n_mentions: int = 5,
    world: PartitionWorld | None = None,
    document: int = 0,
    constraints: LinkConstraints | None = None,
    n_jumps: int = 20_000,
    reaches_all: bool = True,
    rng: Seed = 0,
) -> JumpChecks:
    """Check a proposer of partition worlds on all partitions of a small document.

    From every partition jumps are drawn, and taken as Metropolis-Hastings would under random scores of all
    partitions. Between any two of them as much must flow there as flows back, in equilibrium, within five standard
    errors: ratios may differ from jump to jump, and need only be right together. Jumps stay in their document, depend
    on the random numbers they are handed alone, and come from every partition to every other.

    What cannot be checked: errors that are too small for the number of jumps. Look at ``finest``, and raise
    ``n_jumps``.

    Parameters
    ----------
    jump : OwnJump or any other proposer of partition worlds
        From `walkstep.worlds.as_jump`, for one of your own.
    n_mentions : int
        In the document, at most 6. Two other mentions come before it and two after it, each pair a document of its
        own: with five, the document has mentions 2 to 6 of 9.
    world : PartitionWorld, optional
        For a jump that looks at more than who is with whom; by default nothing is known of mentions.
    document : int
        The one of that world to enter.
    constraints : LinkConstraints, optional
        In place of the world's: what must stay together, or apart. Partitions that break them are left out.
    n_jumps : int
        From each partition.
    reaches_all : bool
        Whether there must be a way from every partition to every other. A jump that is one of several need not have.
    rng : int or Generator

    Examples
    --------
    >>> from walkstep.worlds import uniform_mention
    >>> check_jump(uniform_mention(), n_mentions=3)[:3]
    (5, 9, 1)
    """
    generator = as_generator(rng)
    if world is None:
        world, document = _bare_world(n_mentions), 1
    name = jump.function.py_func.__name__ if isinstance(jump, OwnJump) else type(jump).__name__
    checker = _Checker(f"jump {name}", world, jump, document, constraints)
    seen = checker.look(n_jumps, generator)
    finest = checker.check_balance(seen)
    n_parts = checker.n_parts(seen)
    assert n_parts == 1 or not reaches_all, checker.unreached(seen, n_parts)
    n_pairs = int((np.triu(seen.hits + seen.hits.T, 1) > 0).sum())
    return JumpChecks(len(checker.partitions), n_pairs, n_parts, finest)


def all_partitions(n: int) -> NDArray[np.int64]:
    """All partitions of n mentions, each cluster named by its first.

    Examples
    --------
    >>> all_partitions(3).tolist()
    [[0, 0, 0], [0, 0, 2], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    found = [[0]]
    for m in range(1, n):
        found = [[*rest, name] for rest in found for name in [*sorted(set(rest)), m]]
    return np.array(found)


def _bare_world(n_mentions: int) -> PartitionWorld:
    """Mentions that are all alike, in the middle one of three documents."""
    ends = np.cumsum([0, _N_BESIDE, n_mentions, _N_BESIDE])
    encoded = encode(pl.DataFrame({"name": ["it"] * int(ends[-1])}), [exact("name")])
    model = ground_partition([Affinity()], {"name": int(encoded.comparisons.n_levels[0])}).model
    return partition_world(model, encoded.comparisons, n_mentions=int(ends[-1]), document_ptr=ends)


class _Checker:
    """Draws jumps from all partitions of a document."""

    def __init__(self, name: str, world: PartitionWorld, jump: Any, document: int, constraints: Any) -> None:
        self.name, self.document = name, document
        self.first, self.last = (int(m) for m in world.document_ptr[document : document + 2])
        n = self.last - self.first
        if not 2 <= n <= _MOST_MENTIONS:
            raise ValueError(f"the document has {n} mentions; give one of 2 to {_MOST_MENTIONS}: all is listed")
        held = world.constraints if constraints is None else constraints
        self._world = world._replace(proposer=jump, constraints=held)
        around = np.arange(len(world.truth))
        self.partitions = []
        for partition in all_partitions(n):
            whole = around.copy()
            whole[self.first : self.last] = self.first + partition
            if (held.obeyed_by(whole) == whole).all() and keeps(held, whole):
                self.partitions.append(whole)
        self._number = {self._key(whole[None])[0]: s for s, whole in enumerate(self.partitions)}
        self._scores = np.zeros((2, len(self.partitions)))

    def _key(self, slots: NDArray[np.integer]) -> NDArray[np.int64]:
        """A number for the partition of each row, whatever its clusters are called."""
        inside = slots[:, self.first : self.last]
        first = (inside[:, :, None] == inside[:, None, :]).argmax(axis=2)  # of each cluster, the first mention
        return first @ (inside.shape[1] ** np.arange(inside.shape[1]))

    def _draw(self, partition: NDArray[np.int64], n: int, words: NDArray[np.uint64]) -> tuple[NDArray, NDArray]:
        """The clusters that jumps lead to, and their log ratios."""
        slots, ratios = np.zeros((n, len(partition)), np.int32), np.zeros(n)
        world = at_assignment(own_arrays(self._world), partition)
        try:
            _draw_jumps(world, self.document, words.copy(), slots, ratios)
        except ValueError as error:
            raise AssertionError(f"{self.name}, from {self._told(partition)}: {error}") from error
        mention = np.arange(len(partition))
        is_inside = (mention >= self.first) & (mention < self.last)
        stays = np.where(is_inside, is_inside[slots], slots == world.clusters.cluster_of)
        assert stays.all(), (
            f"{self.name}, from {self._told(partition)}: mention {np.argwhere(~stays)[0, 1]} goes to another document, "
            f"or is not of the one entered; move mentions {self.first} to {self.last - 1}, among themselves"
        )
        return slots, ratios

    def look(self, n: int, generator: np.random.Generator) -> _Seen:
        """Draw jumps from every partition."""
        size = len(self.partitions)
        drawn = generator.normal(size=size)
        self._scores = np.stack([drawn, -drawn])
        seen = _Seen(n, *np.zeros((2, size, size)), *np.zeros((3, 2, size, size)))
        for s, partition in enumerate(self.partitions):
            words = stream(generator)
            slots, ratios = self._draw(partition, n, words)
            if s == 0:
                again = self._draw(partition, n, words)
                assert all((one == two).all() for one, two in zip(again, (slots, ratios), strict=True)), (
                    f"{self.name}, from {self._told(partition)}: the same random numbers do not give the same jumps; "
                    "draw from the rng that is handed in alone"
                )
            keys, at = np.unique(self._key(slots), return_inverse=True)
            to = np.array([self._number.get(key, -1) for key in keys])[at]
            to, ratios = to[to >= 0], ratios[to >= 0]  # what constraints forbid is never accepted
            seen.hits[s] = np.bincount(to, minlength=size)
            seen.odds[s] = np.bincount(to, np.exp(ratios), minlength=size)
            for k, score in enumerate(self._scores):
                change = score[to] - score[s]
                taken = np.exp(np.minimum(change + ratios, 0.0))
                squares_back = np.exp(ratios + 2.0 * np.minimum(-change - ratios, 0.0))
                for sums, amount in ((seen.taken, taken), (seen.squares, taken**2), (seen.squares_back, squares_back)):
                    sums[k, s] = np.bincount(to, amount, minlength=size)
        return seen

    def check_balance(self, seen: _Seen) -> float:
        """What flows there must flow back, in equilibrium; returns the median over pairs of what goes unseen."""
        weight = np.exp(self._scores - self._scores.max(axis=1, keepdims=True))[:, :, None]
        weight /= weight.sum(axis=1, keepdims=True)
        share = seen.taken / seen.n
        flow = weight * share
        # Few hits tell little of their own variance; the way back says how many there should be.
        squares = np.maximum(seen.squares, seen.squares_back.swapaxes(1, 2)) / seen.n
        variance = weight**2 * np.maximum(squares - share**2, 0.0) / seen.n
        error = np.sqrt(variance + variance.swapaxes(1, 2))
        gap = np.abs(flow - flow.swapaxes(1, 2))
        is_wrong = gap > _N_ERRORS * error + _ROUNDING
        if is_wrong.any():
            n_errors = np.where(is_wrong, gap / np.maximum(error, _ROUNDING), 0.0)
            k, s, t = (int(at) for at in np.unravel_index(int(n_errors.argmax()), n_errors.shape))
            if self._fault(seen, t, s) > self._fault(seen, s, t):
                s, t = t, s
            raise AssertionError(self._unbalanced(seen, flow[k], n_errors[k, s, t], s, t))
        two_ways = np.triu(np.minimum(flow, flow.swapaxes(1, 2)), 1) > 0.0
        return float(np.median(_N_ERRORS * error[two_ways] / flow[two_ways])) if two_ways.any() else np.inf

    def _ratios(self, seen: _Seen, s: int, t: int) -> tuple[float, float]:
        """The log ratio of jumps from one partition to another by what was seen, and by what they say."""
        with np.errstate(divide="ignore"):
            there, back, odds = np.log([seen.hits[s, t], seen.hits[t, s], seen.odds[s, t]])
        return float(back - there), float(odds - there)

    def _fault(self, seen: _Seen, s: int, t: int) -> float:
        """How far the two are apart; below 0 where no jump goes that way."""
        if seen.hits[s, t] == 0:
            return -1.0
        shown, said = self._ratios(seen, s, t)
        return 0.0 if shown == said else abs(shown - said)

    def _unbalanced(self, seen: _Seen, flow: NDArray[np.float64], n_errors: float, s: int, t: int) -> str:
        """What is wrong between two partitions."""
        there, back = int(seen.hits[s, t]), int(seen.hits[t, s])
        shown, said = self._ratios(seen, s, t)
        return (
            f"{self.name}, from {self._told(self.partitions[s])} to {self._told(self.partitions[t])}: detailed balance "
            f"fails: in equilibrium {flow[s, t]:.3g} flow there and {flow[t, s]:.3g} back, {n_errors:.0f} standard "
            f"errors apart; of {seen.n} jumps from either, {there} go there and {back} back, which makes a log ratio "
            f"of {shown:.3g}, and the jump says {said:.3g}; return log q(back) - log q(there), and -inf where there "
            "is no way back"
        )

    def _parts(self, seen: _Seen) -> tuple[int, NDArray[np.int32]]:
        edges = scipy.sparse.csr_array(seen.taken.sum(axis=0) > 0.0)
        return scipy.sparse.csgraph.connected_components(edges, directed=True, connection="strong")

    def n_parts(self, seen: _Seen) -> int:
        """How many parts partitions fall into, with no way there and back between them."""
        return int(self._parts(seen)[0])

    def unreached(self, seen: _Seen, n_parts: int) -> str:
        """Two partitions between which there is no way."""
        part = self._parts(seen)[1]
        other = int(np.flatnonzero(part != part[0])[0])
        return (
            f"{self.name} never comes from {self._told(self.partitions[0])} to {self._told(self.partitions[other])} "
            f"and back: there are {n_parts} parts without a way between them; propose other jumps too, or pass "
            "reaches_all=False if others are made beside these"
        )

    def _told(self, partition: NDArray[np.int64]) -> str:
        """A partition of the document as lists."""
        inside = partition[self.first : self.last]
        groups = [(self.first + np.flatnonzero(inside == name)).tolist() for name in np.unique(inside)]
        return " ".join(map(str, groups))


@compiled(allocates=False)
def _draw_jumps(world, document, rng, slots, ratios):
    """The slot of each mention after every jump, none of which is made."""
    here = refer(world)
    enter(here, document)
    held = here.clusters
    for i in range(len(ratios)):
        move, ratios[i] = propose(here, rng)
        for m in range(slots.shape[1]):
            slot, position = held.cluster_of[m], held.position[m]
            slots[i, m] = slot
            if move.n > 0 and slot == move.source and position >= held.size[slot] - move.n:
                slots[i, m] = move.target
            elif move.n > 0 and slot == move.target and position >= held.size[slot] - move.n_back:
                slots[i, m] = move.source
