"""Jumps of whole entities: two become one, or one becomes two."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_mate
from walkstep.worlds.clusters import member
from walkstep.worlds.likeness_sides import coin, to_first
from walkstep.worlds.randomness import next_word
from walkstep.worlds.transfers import Transfer, bring_side, free_slot, representative, same_atom, stay
from walkstep.worlds.unsettled import MERGE, leave


@separate
def merge_or_split(proposer, world, one, rng):
    """Merge the entities of two block mates, or split the one they share.

    The two are drawn whatever the partition is, so their probability cancels; a merge has one way, a split
    as many as there are sides to choose (as in Jain and Neal, 2004, with sides drawn by likeness).
    """
    two = draw_mate(proposer, one, rng)
    if two < 0 or same_atom(world, one, two):
        return stay()
    return merge_or_split_two(proposer, world, one, two, rng)


@compiled(part=True, allocates=False)
def merge_or_split_two(proposer, world, one, two, rng):
    """The same for two mentions that are given."""
    clusters = world.clusters
    source, target = np.int64(clusters.cluster_of[one]), np.int64(clusters.cluster_of[two])
    size = np.int64(clusters.size[source])
    if source != target:
        if size * clusters.size[target] > proposer.max_pairs:
            return stay()
        leave(proposer, MERGE, one, two)
        return Transfer(source, target, size, np.int64(0)), 0.0
    if size - 1 > proposer.max_pairs:  # the least that any split breaks
        return stay()
    there = 0.0
    seed = next_word(rng)
    for k in range(size):
        m = np.int64(member(clusters, source, k))
        if m != representative(world, m):
            continue
        if same_atom(world, m, one):
            proposer.side[m] = 1
        elif same_atom(world, m, two):
            proposer.side[m] = 0
        else:
            p = to_first(proposer, world, m, one, two)
            proposer.side[m] = coin(seed, m) < p
            there += np.log(p if proposer.side[m] == 1 else 1.0 - p)
    n = bring_side(world, proposer.side, source)
    if n * (size - n) > proposer.max_pairs:
        return stay()
    return Transfer(source, free_slot(world), n, np.int64(0)), -there
