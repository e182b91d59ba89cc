"""What clusters hold, counted: levels of their pairs and distinct values, as they are and as a move would have them."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.references import refer
from walkstep.separate import separate
from walkstep.worlds.cluster_statistics import cluster_statistics, value_changes
from walkstep.worlds.clusters import member
from walkstep.worlds.pair_levels import look
from walkstep.worlds.transfers import mover, n_staying


@compiled(inline=True)
def _count_pair(world, at, row, sign):
    """Count a pair's levels in or out of a row of ``ahead_counts``."""
    model = world.model
    for g in range(len(model.counted)):
        world.ahead_counts[row, model.counted_ptr[g] + world.pairs.levels[at, model.counted[g]]] += sign


@separate
def look_ahead(world, move):
    """Count what source and target will hold after the move, unless that is known already."""
    if world.clock[1] == world.clock[0]:
        return
    world.clock[1] = world.clock[0]
    model, held = world.model, world.clusters
    source, target = move.source, move.target
    rest, n_other = n_staying(world, move)
    n_levels = world.ahead_counts.shape[1]
    if n_levels > 0:
        for h in range(n_levels):
            # Where all members of a cluster move, the pairs among them are counted already.
            of_source, of_target = world.level_counts[source, h], world.level_counts[target, h]
            world.ahead_counts[0, h] = of_source * (rest > 0) + of_target * (n_other == 0)
            world.ahead_counts[1, h] = of_target * (n_other > 0) + of_source * (rest == 0)
        for k in range(move.n + move.n_back):
            m, left, n_left, joined, n_joined = mover(world, move, k)
            side = np.int64(k >= move.n)  # 0 for one that leaves the source
            for i in range(n_left):
                _count_pair(world, look(world.pairs, m, member(held, left, i)), side, -1)
            for i in range(n_joined):
                _count_pair(world, look(world.pairs, m, member(held, joined, i)), 1 - side, 1)
            if n_left > 0:
                for i in range(n_left, n_left + k - side * move.n):
                    at = look(world.pairs, m, member(held, left, i))
                    _count_pair(world, at, side, -1)
                    _count_pair(world, at, 1 - side, 1)
    for f in range(len(model.n_values)):
        more_in_source, more_in_target, _ = value_changes(world, move, f, False)
        n_known = 0  # how many more mentions of the target have a value
        for k in range(move.n + move.n_back):
            if model.columns[f, mover(world, move, k)[0]] >= 0:
                n_known += 1 if k < move.n else -1
        world.ahead_values[0, 0, f] = world.distinct[source, f] + more_in_source
        world.ahead_values[1, 0, f] = world.distinct[target, f] + more_in_target
        world.ahead_values[0, 1, f] = world.present[source, f] - n_known
        world.ahead_values[1, 1, f] = world.present[target, f] + n_known


@compiled(allocates=False)
def count_all(whole):
    """Count what every cluster holds, from nothing."""
    world = refer(whole)
    model, held = world.model, world.clusters
    n_levels, n_columns = world.ahead_counts.shape[1], len(model.n_values)
    for slot in range(len(held.size)):
        n = held.size[slot]
        if n == 0:
            continue
        if n_levels > 0:
            for h in range(n_levels):
                world.ahead_counts[0, h] = 0
            for i in range(n):
                for j in range(i):
                    _count_pair(world, look(world.pairs, member(held, slot, i), member(held, slot, j)), 0, 1)
            for h in range(n_levels):
                world.level_counts[slot, h] = world.ahead_counts[0, h]
        for f in range(n_columns):
            for i in range(n):
                v = model.columns[f, member(held, slot, i)]
                if v < 0:
                    continue
                world.present[slot, f] += 1
                at = world.holders_ptr[f] + v
                if world.mark[at] != slot:
                    world.mark[at] = slot
                    world.distinct[slot, f] += 1
                    world.holders[at] += 1
    for at in range(len(world.mark)):
        world.mark[at] = -1


@compiled(inline=True)
def statistics_now(world, slot, first, last):
    """Statistics of a cluster as it is, by some templates, in the world's scratch; returns how many."""
    n = np.int64(world.clusters.size[slot])
    if n == 0:
        return 0
    return cluster_statistics(
        world, n, world.level_counts[slot], world.distinct[slot], world.present[slot], first, last
    )


@compiled(inline=True)
def statistics_ahead(world, move, side, first, last):
    """Statistics of the source (side 0) or target (side 1) after the move."""
    rest, n_other = n_staying(world, move)
    n = np.int64(rest + move.n_back if side == 0 else n_other + move.n)
    if n == 0:
        return 0
    ahead = world.ahead_values
    return cluster_statistics(world, n, world.ahead_counts[side], ahead[side, 0], ahead[side, 1], first, last)
