"""Jumps of several mentions at once, from one entity to another that is there already."""

import numpy as np

from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_mate
from walkstep.worlds.clusters import member
from walkstep.worlds.likeness_sides import coin, to_first
from walkstep.worlds.randomness import next_word
from walkstep.worlds.transfers import Transfer, bring_side, representative, same_atom, stay
from walkstep.worlds.unsettled import SEVERAL, leave


@separate
def move_several(proposer, world, mention, rng):
    """From the entity of one mate to that of another, with those who are drawn to the second more than to the first.

    A merge and a split in one, without the world in between that few walks would pass through. Two mates are drawn
    whatever the partition is; with one of them the mention must be, and not with the other, to which it goes. Each
    of the others goes along as in a split between the two. On the way back the same three have turned about: those
    who came along are drawn to the first mate again, and the second one's own are not. The mates, not the mention, are
    the anchors: an entity is then as sure to keep its own as they are like its mate.
    """
    clusters = world.clusters
    one, two = draw_mate(proposer, mention, rng), draw_mate(proposer, mention, rng)
    if one < 0 or same_atom(world, mention, one) or same_atom(world, mention, two):
        return stay()
    if clusters.cluster_of[one] != clusters.cluster_of[mention]:
        one, two = two, one
    source, target = np.int64(clusters.cluster_of[one]), np.int64(clusters.cluster_of[two])
    if clusters.cluster_of[mention] != source or source == target:
        return stay()
    size, n_target = np.int64(clusters.size[source]), np.int64(clusters.size[target])
    if size - 1 + n_target > proposer.max_pairs:  # the least that any such move breaks and makes
        return stay()
    there = back = 0.0
    seed = next_word(rng)
    for k in range(size):
        m = np.int64(member(clusters, source, k))
        if m != representative(world, m):
            continue
        if same_atom(world, m, mention):
            proposer.side[m] = 1
        elif same_atom(world, m, one):
            proposer.side[m] = 0
        else:
            p = to_first(proposer, world, m, one, two)
            proposer.side[m] = coin(seed, m) >= p
            if proposer.side[m] == 1:
                there += np.log(1.0 - p)
                back += np.log(p)
            else:
                there += np.log(p)
    n = bring_side(world, proposer.side, source)
    if n * (size - n + n_target) > proposer.max_pairs:
        return stay()
    leave(proposer, SEVERAL, one, two)
    return Transfer(source, target, n, np.int64(0)), back - there
