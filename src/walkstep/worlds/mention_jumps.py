"""Jumps of a single mention: to any entity, to that of a mate, or to the one that draws it most."""

import numpy as np

from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_block, draw_mate
from walkstep.worlds.likeness_sides import likeness
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.transfers import Transfer, free_slot, gather, same_atom, stay
from walkstep.worlds.unsettled import MATE, leave


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
    if rest > 0:  # alone or not, ways out and in are equal
        leave(proposer, MATE, mention, mate)
    return Transfer(source, target, n, np.int64(0)), 0.0


@separate
def to_drawn_entity(proposer, world, mention, rng):
    """To the entity of some of its mates, or to be alone: each as likely as its mates there draw the mention.

    All mates of one block are looked at, or as many as there is room for. Which ones these are does not depend on the
    partition, nor does how much each of them draws the mention: the chance of the way back is that of the entity
    left, among the same ones. Where pairs are all that counts, it is a Gibbs step.
    """
    b = draw_block(proposer, mention, rng)
    if b < 0:
        return stay()
    clusters = world.clusters
    start = proposer.block_ptr[b]
    n_block = proposer.block_ptr[b + 1] - start
    n_looked = min(n_block, np.int64(len(proposer.drawn)))
    at = below(rng, n_block) if n_looked < n_block else np.int64(0)
    proposer.n_looked[0] = n_looked
    source = np.int64(clusters.cluster_of[mention])
    n_reached = np.int64(0)
    for _ in range(n_looked):
        mate = np.int64(proposer.block_members[start + at])
        at = at + 1 if at + 1 < n_block else np.int64(0)
        if same_atom(world, mention, mate):
            continue
        slot = np.int64(clusters.cluster_of[mate])
        place = np.int64(proposer.place[slot])
        if place < 0:
            place = n_reached
            proposer.place[slot] = place
            proposer.reached[place] = slot
            proposer.drawn[place] = 0.0
            n_reached += 1
        proposer.drawn[place] += likeness(proposer, world, mention, mate)
    from_source = np.int64(proposer.place[source])
    most = 0.0  # what draws it to be alone
    for k in range(n_reached):
        proposer.place[proposer.reached[k]] = -1
        most = max(most, proposer.drawn[k])
    total = np.exp(-most)
    for k in range(n_reached):
        total += np.exp(proposer.drawn[k] - most)
    point = uniform(rng) * total - np.exp(-most)
    chosen = np.int64(-1)
    while point >= 0.0 and chosen + 1 < n_reached:
        chosen += 1
        point -= np.exp(proposer.drawn[chosen] - most)
    n = np.int64(gather(world, mention))
    is_alone = n == clusters.size[source]
    if (chosen < 0 and is_alone) or (chosen >= 0 and chosen == from_source):
        return stay()
    if not is_alone and from_source < 0:  # none of those looked at is there, to lead back
        return stay()
    back = 0.0 if is_alone else proposer.drawn[from_source]
    if chosen < 0:
        return Transfer(source, free_slot(world), n, np.int64(0)), back
    return Transfer(source, np.int64(proposer.reached[chosen]), n, np.int64(0)), back - proposer.drawn[chosen]
