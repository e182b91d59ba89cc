"""Subtrees of a rooted tree that have its root: branches of a hierarchy, closed under parent."""

from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import below, next_word, uniform
from walkstep.worlds.space import Space, first_wrong
from walkstep.worlds.structure import Structure, structure


class Subtrees(Space):
    """The subtrees of a rooted tree that have its root: a value of 1 for each node that is in.

    The statistics are the nodes that are in, which see the row. With ``branching`` two more follow for each node that
    has children, the same for all rows: that it is in and none of its children is (it *stops* there), and how many
    children more than one are in (it *forks*).

    Parameters
    ----------
    parent : int array (n_nodes,)
        The parent of each node, which comes before it; that of the root, node 0, is -1. Every branch is contiguous.
    branching : bool

    Examples
    --------
    >>> space = Subtrees([-1, 0, 1, 0])
    >>> space.count(), space.all_structures().tolist()
    (6, [[1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]])
    """

    def __init__(self, parent: ArrayLike, *, branching: bool = False):
        self.parent = np.asarray(parent, np.int64)
        n = len(self.parent)
        if n == 0 or self.parent[0] != -1:
            raise ValueError("the first node is the root, whose parent is -1")
        wrong = np.flatnonzero((self.parent[1:] < 0) | (self.parent[1:] >= np.arange(1, n)))
        if len(wrong):
            node = int(wrong[0]) + 1
            raise ValueError(
                f"the parent of node {node} is {self.parent[node]}; let every parent come before its children"
            )
        self.branch_end = _branch_ends(self.parent)
        wrong = np.flatnonzero(self.branch_end[self.parent[1:]] < self.branch_end[1:])
        if len(wrong):
            raise ValueError(
                f"the branch that node {wrong[0] + 1} is in is not contiguous; number the nodes in preorder"
            )
        self.branching = branching
        self.inner = np.unique(self.parent[1:])  # nodes that have children
        self.size = self.n_seen = n
        self.n_statistics = n + 2 * len(self.inner) * branching
        self.importance = np.concatenate([[0.0], np.ones(n - 1), np.zeros(self.n_statistics - n)])
        n_children = np.bincount(self.parent[1:], minlength=n)[self.inner]
        self.radius = float(np.sqrt(n + branching * (np.maximum(n_children - 1, 1) ** 2).sum()))

    def count(self) -> int:
        """A node in, each of its children is out, or in with any subtree of its own: a product of sums."""
        below_node: list[list[int]] = [[] for _ in range(self.size)]
        counts = [1] * self.size
        for node in range(self.size - 1, -1, -1):
            counts[node] = prod(below_node[node])
            if node:
                below_node[self.parent[node]].append(1 + counts[node])
        return counts[0]

    @cached_property
    def log_counts(self) -> NDArray[np.float64]:
        """Log of how many subtrees each node is the root of; sums of logs, so that nothing overflows."""
        logs = np.zeros(self.size)
        for node in range(self.size - 1, 0, -1):
            logs[self.parent[node]] += np.logaddexp(0.0, logs[node])
        return logs

    @property
    def log_count(self) -> float:
        """Log of how many subtrees there are."""
        return float(self.log_counts[0])

    def all_structures(self) -> NDArray[np.int32]:
        """Every subtree, in lexical order."""
        self._check_enumerable()
        found = np.ones((1, 1), np.int32)
        for node in range(1, self.size):
            may_be_in = found[:, self.parent[node]] == 1
            without = np.concatenate([found, np.zeros((len(found), 1), np.int32)], axis=1)
            with_it = np.concatenate([found[may_be_in], np.ones((may_be_in.sum(), 1), np.int32)], axis=1)
            found = np.concatenate([without, with_it])
        return found[np.lexsort(found.T[::-1])]

    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """Nodes that are in; with branching, where they stop and how often they fork."""
        chosen = np.asarray(values, np.float64)
        if not self.branching:
            return chosen
        n_in = np.zeros(chosen.shape)
        for node in range(1, self.size):
            n_in[..., self.parent[node]] += chosen[..., node]
        is_in, n_in = chosen[..., self.inner], n_in[..., self.inner]
        return np.concatenate([chosen, is_in * (n_in == 0), np.maximum(n_in - 1.0, 0.0)], axis=-1)

    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Subtrees, each a row of 0 and 1 in which no node is without its parent."""
        chosen = self._check_shape(values)
        is_right = ((chosen == 0) | (chosen == 1)).all(axis=1) & (chosen[:, 0] == 1)
        is_right &= (chosen[:, 1:] <= chosen[:, self.parent[1:]]).all(axis=1)
        first_wrong("subtree with the root", chosen, is_right, "give 1 for the root, and for the parent of each node")
        return chosen

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """What the worst and the best subtree score, if no node minds how many of its children are in."""
        n = self.size
        high = _best_score(self.parent, scores[:n])
        low = -_best_score(self.parent, -scores[:n])
        if self.branching:
            n_children = np.bincount(self.parent[1:], minlength=n)[self.inner]
            stop, fork = scores[n : n + len(self.inner)], scores[n + len(self.inner) :] * (n_children - 1)
            high += float(np.maximum(np.maximum(stop, fork), 0.0).sum())
            low += float(np.minimum(np.minimum(stop, fork), 0.0).sum())
        return low, high

    def _compile(self) -> Structure:
        """The space in compiled code: each node's parent and children, and how likely it is to be out."""
        n = self.size
        kind = np.full(n, -1)
        kind[self.inner] = np.arange(len(self.inner))
        order = 1 + np.argsort(self.parent[1:], kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(self.parent[1:], minlength=n))])
        head = [n, len(self.inner) if self.branching else 0]
        high, low = _thresholds(self.parent)
        choice = np.maximum(self.parent, 0) << 16 | high
        ints = np.concatenate([head, self.parent, kind, ptr, order, choice, low]).astype(np.int64)
        return structure(_draw, _statistics, _graft, _difference, ints)


def _branch_ends(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """One past the last node of each node's branch, if branches are contiguous."""
    size = np.ones(len(parent), np.int64)
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    return np.arange(len(parent)) + size


def _thresholds(parent: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How likely each node is to be out if its parent is in, in units of 2**-64: the upper 16 bits, and the lower 48.

    Of the ways to go on through a node's branch, one leaves the node out, and as many take it in as there are subtrees
    that have it as their root (section 6 of the paper). These counts are whole numbers; what is beyond 2**64 counts as
    that much. So each chance is within 2**-64 of what it should be, and a draw from n nodes as a whole, in total
    variation, within n times that.
    """
    counts = [1] * len(parent)
    for node in range(len(parent) - 1, 0, -1):
        above = parent[node]
        counts[above] = min(counts[above] * (1 + counts[node]), 1 << 64)
    share = np.array([((1 << 64) + (1 + count) // 2) // (1 + count) for count in counts], np.uint64)
    return (share >> np.uint64(48)).astype(np.int64), (share & np.uint64((1 << 48) - 1)).astype(np.int64)


def _best_score(parent: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The highest sum of scores over the nodes of a subtree with the root."""
    gains = np.array(scores, dtype=np.float64)
    for node in range(len(parent) - 1, 0, -1):
        gains[parent[node]] += max(gains[node], 0.0)
    return float(gains[0])


# Where things stand in ``ints``: n, how many nodes count as inner ones, then n each of parents and inner numbers, n + 1
# pointers, n - 1 children; then for draws n parents with the upper bits of chances, and n lower bits.


@compiled(inline=True)
def _parent_of(ints, node):
    return ints[2 + node]


@compiled(inline=True)
def _inner_of(ints, node):
    return ints[2 + ints[0] + node]


@compiled(inline=True)
def _n_children(ints, node):
    at = 2 + 2 * ints[0] + node
    return ints[at + 1] - ints[at]


@compiled(inline=True)
def _child_of(ints, node, k):
    n = ints[0]
    return ints[3 + 3 * n + ints[2 + 2 * n + node] + k]


@compiled(inline=True)
def _n_chosen(ints, values, node):
    """How many children of a node are in."""
    n_in = 0
    for k in range(_n_children(ints, node)):
        n_in += values[_child_of(ints, node, k)]
    return n_in


@compiled(inline=True)
def _choose(ints, values, node, at, bits, rng):
    """Write whether a node is in: if its parent is, and 64 random bits are not below its threshold.

    Sixteen of them nearly always tell; the others are drawn where they do not. To pass over the branch of a node that
    is out would be a jump that the processor cannot foresee, and such a jump costs more than what it saves: nodes whose
    parent is out are asked like all others.
    """
    choice = np.uint64(ints[at + node])
    gap = np.int64(bits - (choice & np.uint64(0xFFFF)))
    if gap == 0:
        gap = np.int64((next_word(rng) >> np.uint64(16)) - np.uint64(ints[at + np.uint64(ints[0]) + node]))
    values[node] = ~(gap >> 63) & values[choice >> np.uint64(16)]


@compiled(allocates=False)
def _draw(ints, floats, values, rng):
    # Whole numbers without a sign: an index that might be below 0 is looked at twice.
    n, four, node = np.uint64(ints[0]), np.uint64(4), np.uint64(1)
    at = np.uint64(2) + four * n
    values[0] = 1
    while node + four <= n:
        word = next_word(rng)
        for k in range(4):
            _choose(ints, values, node + np.uint64(k), at, word & np.uint64(0xFFFF), rng)
            word >>= np.uint64(16)
        node += four
    word = next_word(rng)
    while node < n:
        _choose(ints, values, node, at, word & np.uint64(0xFFFF), rng)
        word >>= np.uint64(16)
        node += np.uint64(1)


@compiled(allocates=False)
def _statistics(ints, floats, values, out):
    n, n_inner = ints[0], ints[1]
    for node in range(n):
        out[node] = values[node]
    for k in range(2 * n_inner):
        out[n + k] = 0.0
    if n_inner > 0:
        for node in range(n):
            inner = _inner_of(ints, node)
            if values[node] == 1 and inner >= 0:
                n_in = _n_chosen(ints, values, node)
                out[n + inner] = n_in == 0
                out[n + n_inner + inner] = max(n_in - 1, 0)


@compiled(inline=True)
def _descend(ints, values, rng):
    """A node that is in, by going down the chosen ones: at each it stops half of the time, and where none is chosen."""
    node = np.int64(0)
    while True:
        n_in = _n_chosen(ints, values, node)
        if n_in == 0 or uniform(rng) < 0.5:
            return node
        node = _chosen_child(ints, values, node, below(rng, n_in))


@compiled(inline=True)
def _chosen_child(ints, values, node, k):
    """The k-th child that is in."""
    for c in range(_n_children(ints, node)):
        child = _child_of(ints, node, c)
        if values[child] == 1:
            if k == 0:
                return child
            k -= 1
    return np.int64(-1)


@compiled(inline=True)
def _cut(ints, values, node, sites, new_values, size):
    """Take out what hangs below a node and the node; log of how likely `_grow` is to put it back, -inf if it forks."""
    log_chance = 0.0
    while True:
        sites[size[0]], new_values[size[0]] = node, 0
        size[0] += 1
        n_children = _n_children(ints, node)
        if n_children == 0:
            return log_chance
        log_chance -= np.log(2.0)
        n_in = _n_chosen(ints, values, node)
        if n_in == 0:
            return log_chance
        if n_in > 1:
            return -np.inf
        log_chance -= np.log(n_children)
        node = _chosen_child(ints, values, node, 0)


@compiled(inline=True)
def _grow(ints, node, sites, new_values, size, rng):
    """Put in a node and a path below it, which stops at each node half of the time; log of how likely it was."""
    log_chance = 0.0
    while True:
        sites[size[0]], new_values[size[0]] = node, 1
        size[0] += 1
        n_children = _n_children(ints, node)
        if n_children == 0:
            return log_chance
        log_chance -= np.log(2.0)
        if uniform(rng) < 0.5:
            return log_chance
        log_chance -= np.log(n_children)
        node = _child_of(ints, node, below(rng, n_children))


@compiled(allocates=False)
def _graft(ints, floats, values, sites, new_values, size, rng):
    """Below a node that is in, put a path in or take one out, or put one in the place of another."""
    size[0] = 0
    node = _descend(ints, values, rng)
    n_children, n_in = _n_children(ints, node), _n_chosen(ints, values, node)
    if n_children == 0:
        return 0.0
    if uniform(rng) < 0.5:
        if n_in == 0 or n_in == n_children:
            return 0.0
        # How many children are in stays the same, and with it how likely all ways down to here are.
        out = _chosen_child(ints, values, node, below(rng, n_in))
        new = _child_of(ints, node, below(rng, n_children))
        if values[new] == 1:
            return 0.0
        back = _cut(ints, values, out, sites, new_values, size)
        if back == -np.inf:
            size[0] = 0
            return 0.0
        return back - _grow(ints, new, sites, new_values, size, rng)
    child = _child_of(ints, node, below(rng, n_children))
    # Without children in, the way down always stops here, else half of the time.
    if values[child] == 1:
        back = _cut(ints, values, child, sites, new_values, size)
        if back == -np.inf:
            size[0] = 0
            return 0.0
        return back + (np.log(2.0) if n_in == 1 else 0.0)
    return -_grow(ints, child, sites, new_values, size, rng) - (np.log(2.0) if n_in == 0 else 0.0)


@compiled(inline=True)
def _note_branching(ints, node, before, after, index, amount, found):
    """What it does to stops and forks that a node which is in has so many children in, before and after."""
    n, n_inner = ints[0], ints[1]
    inner = _inner_of(ints, node)
    if inner >= 0:
        stops = np.int64(after == 0) - np.int64(before == 0)
        forks = max(after - 1, 0) - max(before - 1, 0)
        if stops != 0:
            index[found], amount[found] = n + inner, stops
            found += 1
        if forks != 0:
            index[found], amount[found] = n + n_inner + inner, forks
            found += 1
    return found


@compiled(allocates=False)
def _difference(ints, floats, values, sites, new_values, size, index, amount):
    n, n_inner = ints[0], ints[1]
    found = 0
    for e in range(size[0]):
        index[found], amount[found] = sites[e], 2.0 * new_values[e] - 1.0
        found += 1
    if n_inner == 0 or size[0] == 0:
        return found
    # Sites are one path or two, each from its top; what is above them is in, before and after.
    top = _parent_of(ints, sites[0])
    n_in = _n_chosen(ints, values, top)
    after = n_in
    for e in range(size[0]):
        node = sites[e]
        if _parent_of(ints, node) == top:
            after += 2 * new_values[e] - 1
        inner = _inner_of(ints, node)
        if inner >= 0:
            # Along a path each node but the last has one child in: it neither stops nor forks.
            is_last = e + 1 == size[0] or _parent_of(ints, sites[e + 1]) != node
            if is_last:
                index[found], amount[found] = n + inner, 2.0 * new_values[e] - 1.0
                found += 1
    return _note_branching(ints, top, n_in, after, index, amount, found)
