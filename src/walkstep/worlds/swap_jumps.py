"""Jumps that exchange: a mention takes a place in the entity of a mate, and whoever had it comes back instead."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_mate, pull_of_members
from walkstep.worlds.clusters import member
from walkstep.worlds.likeness_sides import coin
from walkstep.worlds.randomness import next_word
from walkstep.worlds.transfers import Transfer, gather, n_staying, stay


@separate
def swap(proposer, world, mention, rng):
    """To the entity of a mate; one of its members, any of them, comes back in exchange.

    Where an entity has room for one mention only, of a source or of a kind that clusters speak against having twice,
    who belongs there can come in no other way than by whoever is there going out. That may be the mate itself (two
    alike mentions, each in the other's place), or one that has nothing to do with the mention (the mate is why it
    goes, not whom it replaces): so the one who comes back is drawn from all members, the mate among them.

    Mention and the one who comes back are the same on the way back, which any mate in the mention's old place may
    give; both are drawn whatever else the partition is, but for the mate's entity and its size.
    """
    clusters = world.clusters
    mate = draw_mate(proposer, mention, rng)
    if mate < 0:
        return stay()
    source, target = np.int64(clusters.cluster_of[mention]), np.int64(clusters.cluster_of[mate])
    if source == target:
        return stay()
    n_target = np.int64(clusters.size[target])
    other = _any_member(world, target, n_target, next_word(rng))
    move = Transfer(source, target, np.int64(gather(world, mention)), np.int64(gather(world, other)))
    rest, n_other = n_staying(world, move)
    if rest == 0 and n_other == 0:  # two entities would exchange their names
        return stay()
    # The probability that the mate's entity is this one, and the member this one; of an atom any may be drawn, here
    # and there alike.
    there = pull_of_members(proposer, world, mention, target, 0, n_target) / n_target
    back = pull_of_members(proposer, world, mention, source, 0, rest)
    back += pull_of_members(proposer, world, mention, target, n_other, n_target)
    if back == 0.0:
        return stay()
    return move, np.log(back / (rest + move.n_back) / there)


@compiled(inline=True)
def _any_member(world, slot, n, seed):
    """A member of a cluster, each equally likely: the one with the least coin, in whatever order they lie."""
    chosen, least = np.int64(-1), 1.0
    for k in range(n):
        m = member(world.clusters, slot, k)
        u = coin(seed, m)
        if u < least:
            chosen, least = m, u
    return chosen
