"""Mates: mentions that share a block, one drawn for another, and how probable that was."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.worlds.clusters import member
from walkstep.worlds.randomness import below, uniform


@compiled(inline=True)
def draw_block(proposer, mention, rng):
    """A block of a mention, or -1 where it has none."""
    first, last = proposer.record_ptr[mention], proposer.record_ptr[mention + 1]
    if first == last:
        return np.int64(-1)
    at = first
    if last - first > 1:
        point = uniform(rng) * proposer.record_reach[last - 1]
        while at < last - 1 and proposer.record_reach[at] <= point:
            at += 1
    return np.int64(proposer.record_blocks[at])


@compiled(inline=True)
def draw_mate(proposer, mention, rng):
    """Another mention of one of its blocks, or -1 where it has no block."""
    b = draw_block(proposer, mention, rng)
    if b < 0:
        return np.int64(-1)
    start = proposer.block_ptr[b]
    n = proposer.block_ptr[b + 1] - start
    while True:
        other = proposer.block_members[start + below(rng, n)]
        if other != mention:
            return np.int64(other)


@compiled(inline=True)
def _pull(proposer, mention, other):
    """The probability that ``other`` is drawn as a mate of ``mention``, where mentions lie in several blocks."""
    first, last_i = proposer.record_ptr[mention], proposer.record_ptr[mention + 1]
    j, last_j = proposer.record_ptr[other], proposer.record_ptr[other + 1]
    reach = proposer.record_reach
    total = 0.0
    i = first
    while i < last_i and j < last_j:
        a, b = proposer.record_blocks[i], proposer.record_blocks[j]
        if a == b:
            weight = reach[i] - (reach[i - 1] if i > first else 0.0)
            total += weight / (proposer.block_ptr[a + 1] - proposer.block_ptr[a] - 1)
            i += 1
            j += 1
        elif a < b:
            i += 1
        else:
            j += 1
    return total / reach[last_i - 1]


@compiled(inline=True)
def pull_of_members(proposer, world, mention, slot, first, last):
    """The probability that a mate of ``mention`` is drawn from the members first..last of a cluster."""
    total = 0.0
    if len(proposer.block_of) > 0:
        b = proposer.block_of[mention]
        n_mates = 0
        for k in range(first, last):
            n_mates += proposer.block_of[member(world.clusters, slot, k)] == b
        return n_mates / (proposer.block_ptr[b + 1] - proposer.block_ptr[b] - 1)
    for k in range(first, last):
        total += _pull(proposer, mention, member(world.clusters, slot, k))
    return total
