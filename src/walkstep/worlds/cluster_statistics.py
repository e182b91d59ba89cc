"""Statistics of whole clusters, from what is counted of them: levels over their pairs, distinct values, size."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.model.partition_templates import (
    DISTINCT,
    DISTINCT_SHARE,
    MAX,
    MEAN,
    MOST,
    N_BINS,
    N_DISTINCT,
    N_SIZES,
    SHARE,
    SIZE,
    PartitionModel,
)
from walkstep.worlds.clusters import member
from walkstep.worlds.transfers import mover, n_staying

# Where a value was seen: among those who stay in the source, who stay in the target, who come back; or all is said.
_REST, _OTHER, _COMES, _DONE = 1, 2, 4, 8


def n_statistics(model: PartitionModel) -> int:
    """The most statistics that one cluster has."""
    widths = np.diff(model.counted_ptr)
    return sum(int(widths[s]) if kind == SHARE else 1 for kind, s in zip(model.kind, model.source, strict=True))


@compiled(inline=True)
def _aggregate(kind, counts, first, n_levels):
    """The level that any, all or most pairs reach, or the bin of the mean; -1 where every pair lacks a value."""
    n = 0
    for level in range(1, n_levels):
        n += counts[first + level]
    if n == 0:
        return -1
    if kind == MEAN:
        total = 0.0
        for level in range(1, n_levels):
            total += (level - 1) * counts[first + level]
        mean = total / n / max(1, n_levels - 2)
        return min(N_BINS - 1, int(mean * N_BINS))
    wanted = 1  # MIN: the first pair from below; MAX: the last; MOST: the one in the middle, the lower of two
    if kind == MAX:
        wanted = n
    elif kind == MOST:
        wanted = (n + 1) // 2
    seen = 0
    for level in range(1, n_levels):
        seen += counts[first + level]
        if seen >= wanted:
            return level
    return n_levels - 1


@compiled(inline=True)
def _distinct_bin(n):
    """0, 1, 2, 3, 4, 5 to 6, 7 to 9, 10 and more."""
    if n <= 4:
        return n
    if n <= 6:
        return 5
    return 6 if n <= 9 else N_DISTINCT - 1


@compiled(part=True, allocates=False)
def cluster_statistics(world, n, counts, distinct, present, first_template, last_template):
    """Write the statistics of a cluster of ``n`` mentions to the world's scratch; returns how many."""
    model = world.model
    size = 0
    for t in range(first_template, last_template):
        kind, s, offset = model.kind[t], model.source[t], model.offset[t]
        amount = 1.0
        if model.scale[t] == 1:
            amount = np.float64(n)
        elif model.scale[t] == 2:
            amount = 0.5 * n * (n - 1)
        if kind == SIZE:
            index = min(N_SIZES - 1, int(2.0 * np.log2(n)))
        elif n < 2:
            continue
        elif kind == DISTINCT:
            index = _distinct_bin(distinct[s])
        elif kind == DISTINCT_SHARE:
            if present[s] == 0:
                continue
            index = min(N_BINS - 1, int(N_BINS * (distinct[s] - 1) / max(1, present[s] - 1)))
        else:
            first = model.counted_ptr[s]
            n_levels = model.counted_ptr[s + 1] - first
            if kind == SHARE:
                for level in range(n_levels):
                    if counts[first + level] > 0:
                        world.statistic[size] = offset + level
                        world.amount[size] = amount * counts[first + level] / (0.5 * n * (n - 1))
                        size += 1
                continue
            index = _aggregate(kind, counts, first, n_levels)
            if index < 0:
                continue
        world.statistic[size] = offset + index
        world.amount[size] = amount
        size += 1
    return size


@compiled(inline=True)
def new_turn(world):
    """A number above all marks, and whose lowest bits are free."""
    base = world.clock[2]
    world.clock[2] = base + _DONE
    return base


@compiled(inline=True)
def _see(world, at, bit, base):
    """Note where a value was seen, one bit for each place."""
    world.mark[at] = (world.mark[at] if world.mark[at] > base else base) | bit


@compiled(part=True, allocates=False)
def value_changes(world, move, f, is_made):
    """How a move changes where the values of column ``f`` lie.

    Returns how many more values lie in the source, in the target, and in several clusters; where the move
    ``is_made``, that is written down.
    """
    clusters, columns = world.clusters, world.model.columns
    rest, n_other = n_staying(world, move)
    base = new_turn(world)
    first = world.holders_ptr[f]
    for k in range(rest):
        v = columns[f, member(clusters, move.source, k)]
        if v >= 0:
            _see(world, first + v, _REST, base)
    for k in range(clusters.size[move.target]):
        v = columns[f, member(clusters, move.target, k)]
        if v >= 0:
            _see(world, first + v, _OTHER if k < n_other else _COMES, base)
    more_in_source = more_in_target = n_split = 0
    for k in range(move.n + move.n_back):
        v = columns[f, mover(world, move, k)[0]]
        at = first + v
        if v < 0 or world.mark[at] == base + _DONE:
            continue
        seen = world.mark[at] - base if world.mark[at] > base else 0
        world.mark[at] = base + _DONE
        # Those who go are asked first: what is not done when those who come back are asked, nobody takes along.
        goes, comes = k < move.n, seen & _COMES != 0
        stays, is_there = seen & _REST != 0, seen & _OTHER != 0
        in_source = (stays or comes) - np.int64(stays or goes)
        in_target = (is_there or goes) - np.int64(is_there or comes)
        held = world.holders[at]
        after = held + in_source + in_target
        more_in_source += in_source
        more_in_target += in_target
        n_split += (after > 1) - (held > 1)
        if is_made:
            world.holders[at] = after
    return more_in_source, more_in_target, n_split
