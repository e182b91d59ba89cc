"""Cyclic permutations of subsets: tours through some of the nodes, the paper's hard case (section 2)."""

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.space import Space, first_wrong
from walkstep.worlds.structure import Structure, structure

_MOST_NODES = 1 << 15  # a draw writes two of them to one word


class Cycles(Space):
    """Tours through at least ``min_length`` of ``n`` nodes: who comes after each node, itself where it is left out.

    The statistics are the edges that a tour takes, whatever its direction, one for every two nodes. To sum over all
    tours is to know whether a graph has a Hamiltonian cycle, so nobody computes that quickly (Theorem 2.1 of the
    paper).

    Parameters
    ----------
    n : int
        How many nodes, at most 32,768.
    min_length : int
        The fewest nodes of a tour, at least 3.

    Examples
    --------
    >>> space = Cycles(4)
    >>> space.count(), space.statistics([[1, 2, 0, 3]]).tolist()
    (14, [[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]])
    """

    def __init__(self, n: int, min_length: int = 3):
        if not 3 <= min_length <= n:
            raise ValueError(
                f"min_length is {min_length} and n {n}; a tour takes at least 3 nodes, and no more than there are"
            )
        if n > _MOST_NODES:
            raise ValueError(f"n is {n}; a tour is through at most {_MOST_NODES:,} nodes")
        self.size, self.min_length = n, min_length
        self.first, self.second = np.triu_indices(n, 1)
        self.n_statistics = self.n_seen = len(self.first)
        self.radius = float(np.sqrt(n))
        self.importance = np.ones(self.n_statistics)

    def count(self) -> int:
        """The tours of each length: so many subsets, each in so many cyclic orders."""
        return sum(comb(self.size, k) * factorial(k - 1) for k in range(self.min_length, self.size + 1))

    def all_structures(self) -> NDArray[np.int32]:
        """Every tour, the short ones first."""
        self._check_enumerable()
        found = []
        for k in range(self.min_length, self.size + 1):
            for subset in combinations(range(self.size), k):
                for rest in permutations(subset[1:]):
                    tour = (subset[0], *rest)
                    after = np.arange(self.size, dtype=np.int32)
                    after[list(tour)] = [*tour[1:], tour[0]]
                    found.append(after)
        return np.array(found)

    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """One for each edge that is taken."""
        after = np.asarray(values)
        taken = (after[..., self.first] == self.second) | (after[..., self.second] == self.first)
        return taken.astype(np.float64)

    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Tours, each a row of successors."""
        after = self._check_shape(values)
        nodes = np.arange(self.size)
        is_right = (np.sort(after, axis=1) == nodes).all(axis=1)
        safe = np.where(is_right[:, None], after, nodes)
        length = (safe != nodes).sum(axis=1)
        start = (safe != nodes).argmax(axis=1)
        at, rows, steps = start.copy(), np.arange(len(safe)), np.zeros(len(safe), np.int64)
        for step in range(1, self.size + 1):
            at = safe[rows, at]
            steps[(at == start) & (steps == 0)] = step
        is_right &= (steps == length) & (length >= self.min_length)
        what = (
            f"give the successor of each node, itself where it is left out, in one cycle of {self.min_length} or more"
        )
        first_wrong("tour", after, is_right, what)
        return after

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """Half of what the two worst and the two best edges of every node come to, if that is more than nothing."""
        table = np.zeros((self.size, self.size))
        table[self.first, self.second] = table[self.second, self.first] = scores
        edges = np.sort(table[~np.eye(self.size, dtype=bool)].reshape(self.size, -1), axis=1)
        low = 0.5 * float(np.minimum(edges[:, :2].sum(axis=1), 0.0).sum())
        high = 0.5 * float(np.maximum(edges[:, -2:].sum(axis=1), 0.0).sum())
        return low, high

    def _compile(self) -> Structure:
        """The space in compiled code; it knows how likely a tour is to be no longer than so many nodes."""
        total = self.count()
        sizes = range(self.min_length, self.size + 1)
        chance = [comb(self.size, k) * factorial(k - 1) / total for k in sizes]
        ints = np.array([self.size, self.min_length])
        return structure(_draw, _statistics, _detour, _difference, ints, np.cumsum(chance))


@compiled(allocates=False)
def _draw(ints, floats, values, rng):
    n, length = ints[0], ints[1]
    u = uniform(rng)
    while length < n and u >= floats[length - ints[1]]:
        length += 1
    # The first nodes of a shuffle, in its order; ``values`` holds the shuffle until the tour is written, from its end.
    for i in range(n):
        values[i] = i
    for i in range(length):
        j = i + below(rng, n - i)
        kept = values[i]
        values[i] = values[j]
        values[j] = kept
    _as_successors(values, length)


@compiled(inline=True)
def _as_successors(values, length):
    """From nodes in the order of a tour, then those that are left out, to the successor of each node.

    Done in place: what a node's successor is goes to the upper half of the word that stands where the node's number
    says.
    """
    lower, half = np.int32(0xFFFF), np.int32(16)
    first = values[0] & lower
    node = first
    for i in range(1, length):
        after = values[i] & lower
        values[node] |= after << half
        node = after
    values[node] |= first << half
    for i in range(length, len(values)):
        node = values[i] & lower
        values[node] |= node << half
    for i in range(len(values)):
        values[i] >>= half


@compiled(inline=True)
def _edge(n, one, other):
    """The number of an edge."""
    i, j = min(one, other), max(one, other)
    return i * n - i * (i + 1) // 2 + j - i - 1


@compiled(allocates=False)
def _statistics(ints, floats, values, out):
    n = ints[0]
    out[: n * (n - 1) // 2] = 0.0
    for node in range(n):
        if values[node] != node:
            out[_edge(n, node, np.int64(values[node]))] = 1.0


@compiled(allocates=False)
def _detour(ints, floats, values, sites, new_values, size, rng):
    """Take a node in after another one, leave one out, or let it change its place: each as likely as its way back."""
    n = ints[0]
    size[0] = 0
    node = below(rng, n)
    before = below(rng, n - 1)
    if before >= node:
        before += 1
    if values[before] == before:
        return 0.0
    after = np.int64(values[before])
    if values[node] == node:  # take it in
        _write(sites, new_values, size, before, node)
        _write(sites, new_values, size, node, after)
        return 0.0
    if after == node:  # leave it out
        length = 0
        for k in range(n):
            length += values[k] != k
        if length > ints[1]:
            _write(sites, new_values, size, before, np.int64(values[node]))
            _write(sites, new_values, size, node, node)
        return 0.0
    old = after  # it stands elsewhere: find where, going along the tour
    while values[old] != node:
        old = np.int64(values[old])
    _write(sites, new_values, size, old, np.int64(values[node]))
    _write(sites, new_values, size, before, node)
    _write(sites, new_values, size, node, after)
    return 0.0


@compiled(inline=True)
def _write(sites, new_values, size, site, value):
    sites[size[0]], new_values[size[0]] = site, value
    size[0] += 1


@compiled(allocates=False)
def _difference(ints, floats, values, sites, new_values, size, index, amount):
    n = ints[0]
    found = 0
    for e in range(size[0]):
        site = sites[e]
        if values[site] != site:
            found = _count(index, amount, found, _edge(n, site, np.int64(values[site])), -1.0)
    for e in range(size[0]):
        site = sites[e]
        if new_values[e] != site:
            found = _count(index, amount, found, _edge(n, site, np.int64(new_values[e])), 1.0)
    return found


@compiled(inline=True)
def _count(index, amount, found, edge, change):
    """Add to an entry, or begin one."""
    for e in range(found):
        if index[e] == edge:
            amount[e] += change
            return found
    index[found], amount[found] = edge, change
    return found + 1
