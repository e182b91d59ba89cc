"""Which side of a split a mention goes to: that of the one of two anchors it is more alike, by a coin that leans."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.worlds.clusters import member
from walkstep.worlds.pair_levels import look
from walkstep.worlds.pair_scores import pair_score
from walkstep.worlds.transfers import representative, same_atom


@compiled(inline=True)
def likeness(proposer, world, i, j):
    """How much two mentions are alike, by the guiding weights or else by their levels; remembered in a walk."""
    pairs = world.pairs
    place = look(pairs, i, j)
    if place >= len(pairs.likeness):
        return _likeness_at(proposer, world, place)
    known = pairs.likeness[place]
    if known == 0.0:
        known = _likeness_at(proposer, world, place)
        pairs.likeness[place] = known
    return known


@compiled(part=True, allocates=False)
def _likeness_at(proposer, world, place):
    """The same, of the pair whose levels lie at a place."""
    pairs = world.pairs
    if len(proposer.guide) > 0:
        return pair_score(world.model, pairs, place, proposer.guide)
    total = 0.0
    for c in range(len(pairs.comparisons.n_levels)):
        total += pairs.levels[place, c] / max(1, pairs.comparisons.n_levels[c] - 1)
    return total


@compiled(part=True, allocates=False)
def to_first(proposer, world, m, one, two):
    """The probability that a mention goes to the side of ``one`` in a split between ``one`` and ``two``."""
    if proposer.is_even:
        return 0.5
    x = likeness(proposer, world, m, one) - likeness(proposer, world, m, two)
    return min(0.99, max(0.01, 1.0 / (1.0 + np.exp(-x))))


@compiled(part=True, allocates=False)
def log_sides(proposer, world, slot, one, two, is_first):
    """The log probability that a split sends the members of a cluster to the side of ``one`` (or of ``two``)."""
    total = 0.0
    if proposer.is_even and len(world.constraints.atom_of) == 0:  # all but the one that has its side
        return (world.clusters.size[slot] - 1) * np.log(0.5)
    for k in range(world.clusters.size[slot]):
        m = np.int64(member(world.clusters, slot, k))
        if m != representative(world, m) or same_atom(world, m, one) or same_atom(world, m, two):
            continue
        p = to_first(proposer, world, m, one, two)
        total += np.log(p if is_first else 1.0 - p)
    return total


@compiled(inline=True)
def coin(seed, m):
    """A number in [0, 1) for a mention, from a random word: the same in whatever order members lie (SplitMix64)."""
    z = seed + np.uint64(m) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
