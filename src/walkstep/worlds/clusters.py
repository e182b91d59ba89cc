"""A partition of mentions as flat arrays: whom each mention is with, and the members of each cluster.

A mention moves in constant time, and the k-th member of a cluster is one look away: members lie side by side
in a pool, in stretches whose capacity is a power of two. A cluster that outgrows its stretch moves to a larger
one; stretches left behind are used again, and when the pool is full it is packed anew.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled

_N_CLASSES = 32  # stretches hold 2**0 to 2**31 members


class Clusters(NamedTuple):
    """M mentions in D documents; each document has as many slots for clusters as it has mentions."""

    cluster_of: NDArray[np.int32]  # (M,) the slot of each mention's cluster
    position: NDArray[np.int32]  # (M,) where it lies among the members
    size: NDArray[np.int32]  # (M,) members in each slot, 0 where it is free
    first: NDArray[np.int64]  # (M,) where the slot's stretch begins
    capacity: NDArray[np.int8]  # (M,) its class: the stretch holds 2**class
    pool: NDArray[np.int32]  # (2, P) one row is in use, the other is for packing
    order: NDArray[np.int32]  # (M,) slots of each document, those in use before the free ones
    rank: NDArray[np.int32]  # (M,) where each slot lies in that order
    n_used: NDArray[np.int64]  # (D,) clusters in each document
    heap: NDArray[np.int64]  # the row in use, its end, and the first free stretch of each class


def clusters(assignment: ArrayLike, document_ptr: ArrayLike | None = None) -> Clusters:
    """Clusters of mentions that carry the same number; numbers are local to their document.

    Parameters
    ----------
    assignment : int array (n_mentions,)
    document_ptr : int array (n_documents + 1,), optional
        Documents as ranges of mentions.

    Examples
    --------
    >>> partition = clusters([7, 7, 2])
    >>> members(partition, 0), members(partition, 2)
    ([0, 1], [2])
    """
    given = np.asarray(assignment)
    n = len(given)
    ptr = np.array([0, n] if document_ptr is None else document_ptr, dtype=np.int64)
    document = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    # The slot of a cluster is its first mention: a name that no other cluster can have.
    by_cluster = np.lexsort((given, document))
    is_first = np.ones(n, bool)
    is_first[1:] = (given[by_cluster[1:]] != given[by_cluster[:-1]]) | (
        document[by_cluster[1:]] != document[by_cluster[:-1]]
    )
    heads = by_cluster[is_first]
    slot = np.empty(n, np.int32)
    slot[by_cluster] = np.repeat(heads, np.diff(np.append(np.flatnonzero(is_first), n)))
    made = Clusters(
        slot,
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int64),
        np.zeros(n, np.int8),
        np.zeros((2, 4 * n + 8), np.int32),
        np.arange(n, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        np.zeros(len(ptr) - 1, np.int64),
        np.full(2 + _N_CLASSES, -1, np.int64),
    )
    _fill(made, ptr)
    return made


def first_mentions(cluster_of: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each cluster named by the first of its mentions.

    Examples
    --------
    >>> first_mentions(np.array([2, 0, 2], np.int32))
    array([0, 1, 0], dtype=int32)
    """
    first = np.empty_like(cluster_of)
    backward = np.arange(len(cluster_of) - 1, -1, -1, dtype=cluster_of.dtype)
    first[cluster_of[backward]] = backward  # written last, the first mention stays
    return first[cluster_of]


def members(partition: Clusters, mention: int) -> list[int]:
    """The mentions that are with this one, itself included, in rising order."""
    slot = partition.cluster_of[mention]
    start, row = partition.first[slot], partition.heap[0]
    return sorted(partition.pool[row, start : start + partition.size[slot]].tolist())


@compiled
def _fill(clusters, document_ptr):
    """Lay the members of every cluster out from ``cluster_of`` alone."""
    for slot in range(len(clusters.size)):
        clusters.size[slot] = 0
    for m in range(len(clusters.cluster_of)):
        clusters.size[clusters.cluster_of[m]] += 1
    for k in range(len(clusters.heap)):
        clusters.heap[k] = -1
    clusters.heap[0] = 0
    end = 0
    for d in range(len(document_ptr) - 1):
        used = 0
        for slot in range(document_ptr[d], document_ptr[d + 1]):
            if clusters.size[slot] > 0:
                clusters.first[slot] = end
                clusters.capacity[slot] = _class_for(clusters.size[slot])
                end += np.int64(1) << np.int64(clusters.capacity[slot])
                _exchange_slots(clusters, slot, document_ptr[d] + used)
                used += 1
        clusters.n_used[d] = used
    clusters.heap[1] = end
    for slot in range(len(clusters.size)):
        clusters.size[slot] = 0
    for m in range(len(clusters.cluster_of)):
        slot = clusters.cluster_of[m]
        clusters.position[m] = clusters.size[slot]
        clusters.pool[0, clusters.first[slot] + clusters.size[slot]] = m
        clusters.size[slot] += 1


@compiled(inline=True)
def _class_for(size):
    """The smallest class whose stretches hold ``size`` members."""
    k = 0
    while (1 << k) < size:
        k += 1
    return k


@compiled(inline=True)
def member(clusters, slot, k):
    """The k-th member of a cluster."""
    return np.int64(clusters.pool[clusters.heap[0], clusters.first[slot] + k])


@compiled(inline=True)
def _exchange_slots(clusters, slot, place):
    """Let a slot stand at a place of its document's order."""
    other = clusters.order[place]
    was = clusters.rank[slot]
    clusters.order[place] = slot
    clusters.order[was] = other
    clusters.rank[slot] = place
    clusters.rank[other] = was


@compiled(inline=True)
def bring_to(clusters, mention, place):
    """Let a mention be the ``place``-th member of its cluster."""
    slot = clusters.cluster_of[mention]
    row, start = clusters.heap[0], clusters.first[slot]
    at = clusters.position[mention]
    other = clusters.pool[row, start + place]
    clusters.pool[row, start + at] = other
    clusters.pool[row, start + place] = mention
    clusters.position[other] = at
    clusters.position[mention] = place


@compiled(inline=True)
def _release(clusters, start, k):
    """Give a stretch of class ``k`` back: it is linked in front of the other free ones."""
    clusters.pool[clusters.heap[0], start] = clusters.heap[2 + k]
    clusters.heap[2 + k] = start


@compiled(part=True, allocates=False)
def _pack(clusters):
    """Lay all clusters out anew in the other row, each in the smallest stretch that holds it."""
    row = clusters.heap[0]
    end = np.int64(0)
    for slot in range(len(clusters.size)):
        n = clusters.size[slot]
        if n == 0:
            continue
        for k in range(n):
            clusters.pool[1 - row, end + k] = clusters.pool[row, clusters.first[slot] + k]
        clusters.first[slot] = end
        clusters.capacity[slot] = _class_for(n)
        end += np.int64(1) << np.int64(clusters.capacity[slot])
    clusters.heap[0] = 1 - row
    clusters.heap[1] = end
    for k in range(_N_CLASSES):
        clusters.heap[2 + k] = -1


@compiled(inline=True)
def _stretch(clusters, k):
    """A stretch of class ``k``, or -1 where the pool has to be packed first."""
    start = clusters.heap[2 + k]
    if start >= 0:
        clusters.heap[2 + k] = clusters.pool[clusters.heap[0], start]
        return start
    start = clusters.heap[1]
    if start + (np.int64(1) << k) > clusters.pool.shape[1]:
        return np.int64(-1)
    clusters.heap[1] = start + (np.int64(1) << k)
    return start


@compiled(inline=True)
def _grow(clusters, slot):
    """Make room for one more member."""
    k = np.int64(clusters.capacity[slot]) + 1
    start = _stretch(clusters, k)
    if start < 0:
        _pack(clusters)
        if clusters.size[slot] < (np.int64(1) << np.int64(clusters.capacity[slot])):
            return
        k = np.int64(clusters.capacity[slot]) + 1
        start = _stretch(clusters, k)
    row, old = clusters.heap[0], clusters.first[slot]
    for i in range(clusters.size[slot]):
        clusters.pool[row, start + i] = clusters.pool[row, old + i]
    _release(clusters, old, np.int64(clusters.capacity[slot]))
    clusters.first[slot] = start
    clusters.capacity[slot] = k


@compiled(part=True, allocates=False)
def place(clusters, mention, target, document, document_first):
    """Move one mention to the cluster in slot ``target``, which may be free."""
    source = clusters.cluster_of[mention]
    if source == target:
        return
    last = clusters.size[source] - 1
    bring_to(clusters, mention, last)
    clusters.size[source] = last
    if last == 0:
        _release(clusters, clusters.first[source], np.int64(clusters.capacity[source]))
        clusters.n_used[document] -= 1
        _exchange_slots(clusters, np.int64(source), document_first + clusters.n_used[document])
    n = clusters.size[target]
    if n == 0:
        start = _stretch(clusters, np.int64(0))
        if start < 0:
            _pack(clusters)
            start = _stretch(clusters, np.int64(0))
        clusters.first[target] = start
        clusters.capacity[target] = 0
        _exchange_slots(clusters, target, document_first + clusters.n_used[document])
        clusters.n_used[document] += 1
    elif n == np.int64(1) << np.int64(clusters.capacity[target]):
        _grow(clusters, target)
    clusters.pool[clusters.heap[0], clusters.first[target] + n] = mention
    clusters.size[target] = n + 1
    clusters.cluster_of[mention] = target
    clusters.position[mention] = n
