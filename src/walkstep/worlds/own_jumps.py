"""A user's own jump through partitions: a compiled function says who moves, and to whom.

It is called through its address, so that one compiled walk serves every such function. What it sees of a partition
cannot be written to, and what it answers is looked at before anything moves.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from walkstep.compiled import compiled, pointer
from walkstep.separate import separate
from walkstep.worlds.clusters import bring_to
from walkstep.worlds.transfers import Transfer, free_slot, stay


class Partition(NamedTuple):
    """A partition as a jump sees it: M mentions of all documents, n clusters in the one that is entered."""

    cluster_of: NDArray[np.int32]  # (M,) the number of each mention's cluster, with which two can be compared
    clusters: NDArray[np.int32]  # (n,) the numbers of the document's clusters, in no order
    size: NDArray[np.int32]  # (M,) how many mentions each cluster has, by its number
    atom_of: NDArray[np.int32]  # (M,) mentions of the same number must stay together; empty where none must
    begin: NDArray[np.int64]  # (M,) where the members of each cluster lie in ``pool``; see `members_of`
    pool: NDArray[np.int32]


class OwnJump(NamedTuple):
    """Propose what a user's function says; see `as_jump`."""

    function: Any
    moved: NDArray[np.int64]  # scratch: who moves
    max_pairs: int
    focus: NDArray[np.int32]  # empty: the function alone says who moves


_NUMBERS = types.Array(types.int32, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)
JUMP = types.Tuple((types.int64, types.int64, types.float64))(
    types.NamedTuple((_NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _PLACES, _NUMBERS), Partition),
    types.int64,
    types.int64,
    types.int64[::1],
    types.uint64[::1],
)


def as_jump(function, *, max_moved: int = 256, max_pairs: int = 1 << 14) -> OwnJump:
    """Let a user's function propose the moves of a partition world.

    Parameters
    ----------
    function : callable
        ``(partition, first, last, moved, rng) -> (n, to, log_q_ratio)``. It sees a `Partition`, of which it may change
        mentions ``first <= m < last``. It writes those that move to ``moved`` and returns how many they are, a mention
        whose cluster they go to (-1: a new cluster), and log q(back) - log q(there). They are of one cluster; those
        among them that are with ``to`` already come back in exchange. An ``n`` of 0 leaves all as it is. Randomness
        comes from `walkstep.worlds.uniform` and `walkstep.worlds.below`, the members of a cluster from `members_of`.
    max_moved : int
        The most mentions that it writes, which is the length of ``moved``.
    max_pairs : int
        The most pairs that a jump breaks or makes, for walks that look at a sample of factors.

    Notes
    -----
    Where constraints hold mentions together, whoever moves takes along those who must stay with it, as in all jumps.
    The ratio has to be that of the move as it is made then: `walkstep.testing.check_jump` tells, given the constraints.

    Examples
    --------
    >>> from walkstep.worlds import below
    >>> def leave(partition, first, last, moved, rng):
    ...     moved[0] = first + below(rng, last - first)
    ...     return 1, -1, -np.inf  # there is no way back in
    >>> as_jump(leave).moved.shape
    (256,)
    """
    if max_moved < 1:
        raise ValueError(f"max_moved is {max_moved}; give at least 1")
    arguments = "(partition, first, last, moved, rng) -> (n, to, log_q_ratio)"
    made = pointer(function, JUMP, "jump", arguments)
    return OwnJump(made, np.zeros(max_moved, np.int64), int(max_pairs), np.zeros(0, np.int32))


@compiled
def members_of(partition, cluster):
    """The mentions of a cluster, given its number, in no order.

    Examples
    --------
    >>> numbers = [np.array(x, np.int32) for x in ([0, 0, 2], [0, 2], [2, 0, 1], [])]
    >>> members_of(Partition(*numbers, np.array([0, 0, 2]), np.array([1, 0, 2], np.int32)), 0)
    array([1, 0], dtype=int32)
    """
    begin = partition.begin[cluster]
    return partition.pool[begin : begin + partition.size[cluster]]


def _frozen(typingctx, array):
    """The same array, of a type that cannot be written to."""
    return array.copy(readonly=True)(array), lambda context, builder, signature, args: args[0]


frozen: Any = intrinsic(_frozen)


@compiled(inline=True)
def _seen(world):
    """What a function is shown."""
    held, first = world.clusters, world.window[0]
    return Partition(
        frozen(held.cluster_of),
        frozen(held.order[first : first + held.n_used[world.window[2]]]),
        frozen(held.size),
        frozen(world.constraints.atom_of),
        frozen(held.first),
        frozen(held.pool[held.heap[0]]),
    )


@compiled(inline=True)
def _check(world, moved, n, to, log_ratio):
    """An error unless a function's answer makes sense."""
    first, last = world.window[0], world.window[1]
    if n < 0 or n > len(moved):
        raise ValueError("the jump moved more mentions than max_moved, or fewer than none; see as_jump")
    for k in range(n):
        if moved[k] < first or moved[k] >= last:
            raise ValueError("the jump moved a mention outside of the document entered; keep to first <= m < last")
    if to != -1 and (to < first or to >= last):
        raise ValueError("the jump goes to a mention outside of the document entered; -1 means a new cluster")
    if not log_ratio < np.inf:
        raise ValueError("the log ratio of the jump is infinite or no number; where there is no way back it is -inf")


@compiled(inline=True)
def _source(world, moved, n, target):
    """The one cluster that mentions leave for another; -1 where all are there already."""
    source = np.int64(-1)
    for k in range(n):
        cluster = np.int64(world.clusters.cluster_of[moved[k]])
        if cluster != target:
            if source >= 0 and cluster != source:
                raise ValueError("the jump moved mentions of several clusters; move those of one at a time")
            source = cluster
    return source


@compiled(inline=True)
def _gather_all(world, moved, n, slot):
    """Bring those who move to the end of their cluster, with all that must stay with them; how many they are."""
    held, constraints = world.clusters, world.constraints
    size, n_there = np.int64(held.size[slot]), np.int64(0)
    for k in range(n):
        m = moved[k]
        if held.cluster_of[m] != slot or held.position[m] >= size - n_there:  # not of them, or there already
            continue
        if len(constraints.atom_of) == 0:
            n_there += 1
            bring_to(held, m, size - n_there)
            continue
        atom = constraints.atom_of[m]
        for e in range(constraints.atom_ptr[atom], constraints.atom_ptr[atom + 1]):
            n_there += 1
            bring_to(held, np.int64(constraints.atom_members[e]), size - n_there)
    return n_there


@separate
def suggest_own(jump, world, rng):
    """A transfer, and log q(back) - log q(there)."""
    held = world.clusters
    if len(jump.focus) > 0:
        raise ValueError("a jump of your own chooses who moves by itself; leave focus out")
    if world.window[1] - world.window[0] < 2:
        return stay()
    n, to, log_ratio = jump.function(_seen(world), world.window[0], world.window[1], jump.moved, rng)
    _check(world, jump.moved, n, to, log_ratio)
    target = np.int64(held.cluster_of[to]) if to >= 0 else free_slot(world)
    source = _source(world, jump.moved, n, target)
    if source < 0:
        return stay()
    n_going, n_back = _gather_all(world, jump.moved, n, source), np.int64(0)
    n_target = np.int64(0)
    if to >= 0:
        n_back = _gather_all(world, jump.moved, n, target)
        n_target = np.int64(held.size[target])
    if n_going == held.size[source] and n_back == n_target:  # only names of clusters would change
        return stay()
    return Transfer(source, target, n_going, n_back), log_ratio
