"""Jumps of a single mention: to any entity, or to that of a mate."""

import numpy as np

from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_mate, pull_of_members
from walkstep.worlds.randomness import below
from walkstep.worlds.transfers import Transfer, free_slot, gather, same_atom, stay


@separate
def to_any_entity(world, mention, rng):
    """To any entity, all equally likely; to its own means out of it."""
    clusters = world.clusters
    n_entities = clusters.n_used[world.window[2]]
    source = np.int64(clusters.cluster_of[mention])
    target = np.int64(clusters.order[world.window[0] + below(rng, n_entities)])
    n = np.int64(gather(world, mention))
    is_alone = n == clusters.size[source]
    if target == source:
        if is_alone:
            return stay()
        # Out there are n_entities to choose from, and one more on the way back.
        return Transfer(source, free_slot(world), n, np.int64(0)), np.log(n_entities / (n_entities + 1.0))
    if is_alone:
        return Transfer(source, target, n, np.int64(0)), np.log(n_entities / (n_entities - 1.0))
    return Transfer(source, target, n, np.int64(0)), 0.0


@separate
def to_entity_of_mate(proposer, world, mention, rng):
    """To the entity of a mate; where that is its own, out of it."""
    clusters = world.clusters
    mate = draw_mate(proposer, mention, rng)
    if mate < 0 or same_atom(world, mention, mate):
        return stay()
    source, target = np.int64(clusters.cluster_of[mention]), np.int64(clusters.cluster_of[mate])
    n = np.int64(gather(world, mention))
    rest = clusters.size[source] - n
    if source == target:
        return Transfer(source, free_slot(world), n, np.int64(0)), 0.0
    if rest == 0:
        return Transfer(source, target, n, np.int64(0)), 0.0
    # There by any mate in the target, back by any mate among those left; alone or not, ways out and in are equal.
    there = pull_of_members(proposer, world, mention, target, 0, np.int64(clusters.size[target]))
    back = pull_of_members(proposer, world, mention, source, 0, rest)
    if back == 0.0:
        return stay()
    return Transfer(source, target, n, np.int64(0)), np.log(back / there)
