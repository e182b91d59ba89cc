"""What jumps between partitions are chosen by: features of a cluster, and of two clusters together.

They are the model's own statistics, under weights of the jump's own. Pairs count by their mean, and factors of whole
clusters once, so that features of small and of large clusters can be compared; one more feature says how many pairs
there are.

A group is a cluster, by its slot, or one of two that are not there yet: `FIRST` and `SECOND`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.model.partition_templates import PartitionModel
from walkstep.worlds.cluster_statistics import cluster_statistics, new_turn
from walkstep.worlds.clusters import member
from walkstep.worlds.pair_levels import look
from walkstep.worlds.pair_statistics import add_pair
from walkstep.worlds.sparse import add
from walkstep.worlds.transfers import representative

FIRST, SECOND = np.int64(-1), np.int64(-2)
N_OWN = 1
"""Features that come after those of the model: the logarithm of the number of pairs."""


class Groups(NamedTuple):
    """Two groups of mentions that are not clusters of the world, and scratch; S is the largest document's size."""

    members: NDArray[np.int64]  # (2, S)
    size: NDArray[np.int64]  # (2,)
    counts: NDArray[np.int32]  # (3, H) how many of their pairs have each level, and of two groups together
    values: NDArray[np.int32]  # (2, F) distinct values, and mentions that have one


def groups(model: PartitionModel, document_ptr: ArrayLike) -> Groups:
    """Room for two groups."""
    largest = int(np.diff(np.asarray(document_ptr)).max(initial=1))
    return Groups(
        np.zeros((2, largest), np.int64),
        np.zeros(2, np.int64),
        np.zeros((3, int(model.counted_ptr[-1])), np.int32),
        np.zeros((2, len(model.n_values)), np.int32),
    )


@compiled(inline=True)
def size_of(world, held, group):
    """How many mentions a group has."""
    return np.int64(world.clusters.size[group]) if group >= 0 else held.size[-1 - group]


@compiled(inline=True)
def nth(world, held, group, k):
    """The k-th of them."""
    return member(world.clusters, group, k) if group >= 0 else held.members[-1 - group, k]


@compiled(inline=True)
def _level_count(world, held, group, h):
    return world.level_counts[group, h] if group >= 0 else held.counts[-1 - group, h]


@compiled(inline=True)
def n_atoms(world, held, group):
    """How many parts a group can fall into."""
    n = size_of(world, held, group)
    if len(world.constraints.atom_of) == 0:
        return n
    found = np.int64(0)
    for k in range(n):
        m = nth(world, held, group, k)
        found += representative(world, m) == m
    return found


@compiled(inline=True)
def _count_levels(model, pairs, at, counts):
    for g in range(len(model.counted)):
        counts[model.counted_ptr[g] + pairs.levels[at, model.counted[g]]] += 1


@compiled(part=True, allocates=False)
def count_group(world, held, group):
    """Count the levels of all pairs of a group that is no cluster."""
    counts = held.counts[-1 - group]
    for h in range(len(counts)):
        counts[h] = 0
    if len(counts) > 0:
        for i in range(held.size[-1 - group]):
            for j in range(i):
                at = look(world.pairs, nth(world, held, group, i), nth(world, held, group, j))
                _count_levels(world.model, world.pairs, at, counts)


@compiled(inline=True)
def _see_values(world, held, group, f, turn):
    """Count the values of a group in a column that were not seen in this turn."""
    first = world.holders_ptr[f]
    for k in range(size_of(world, held, group)):
        v = world.model.columns[f, nth(world, held, group, k)]
        if v >= 0:
            held.values[1, f] += 1
            if world.mark[first + v] != turn:
                world.mark[first + v] = turn
                held.values[0, f] += 1


@compiled(part=True, allocates=False)
def _add_whole(world, held, one, two, phi):
    """Add what groups say as a whole, levels counted already, each factor once; of a single one where both are it."""
    model = world.model
    n = size_of(world, held, one) + (0 if one == two else size_of(world, held, two))
    for f in range(len(model.n_values)):
        held.values[0, f] = 0
        held.values[1, f] = 0
        turn = new_turn(world) + 1
        _see_values(world, held, one, f, turn)
        if one != two:
            _see_values(world, held, two, f, turn)
    for t in range(len(model.kind)):
        scale = 1.0
        if model.scale[t] == 1:
            scale = 1.0 / n
        elif model.scale[t] == 2:
            scale = 2.0 / max(1, n * (n - 1))
        n_found = cluster_statistics(world, n, held.counts[2], held.values[0], held.values[1], t, t + 1)
        for s in range(n_found):
            add(phi, world.statistic[s], scale * world.amount[s])


@compiled(part=True, allocates=False)
def add_one(world, held, group, phi):
    """Add the features of a group of two mentions or more."""
    n = size_of(world, held, group)
    share = 2.0 / (n * (n - 1.0))
    for i in range(n):
        for j in range(i):
            at = look(world.pairs, nth(world, held, group, i), nth(world, held, group, j))
            add_pair(world.model, world.pairs, at, share, phi)
    for h in range(held.counts.shape[1]):
        held.counts[2, h] = _level_count(world, held, group, h)
    _add_whole(world, held, group, group, phi)
    add(phi, world.model.n_weights, -np.log(share))


@compiled(part=True, allocates=False)
def add_two(world, held, one, two, phi):
    """Add the features of two groups: the pairs between them, and what both would hold together."""
    n_one, n_two = size_of(world, held, one), size_of(world, held, two)
    share = 1.0 / (n_one * n_two)
    for h in range(held.counts.shape[1]):
        held.counts[2, h] = _level_count(world, held, one, h) + _level_count(world, held, two, h)
    for i in range(n_one):
        m = nth(world, held, one, i)
        for j in range(n_two):
            at = look(world.pairs, m, nth(world, held, two, j))
            add_pair(world.model, world.pairs, at, share, phi)
            _count_levels(world.model, world.pairs, at, held.counts[2])
    _add_whole(world, held, one, two, phi)
    add(phi, world.model.n_weights, -np.log(share))
