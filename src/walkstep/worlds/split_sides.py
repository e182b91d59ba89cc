"""How a cluster is split: every way alike, or by restricted Gibbs sampling between two of its members.

The latter is that of Jain and Neal (2004): two members part, the others start on a random side, and choose again and
again; the scan that counts begins at such a launch state, which has the same probability on the way there and back.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.worlds.clusters import member
from walkstep.worlds.pair_levels import look
from walkstep.worlds.pair_scores import pair_score
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.transfers import representative

FARTHEST = 30.0
"""No logarithm of odds counts beyond, one way or the other."""


@compiled(inline=True)
def log_even(n_parts):
    """The log probability of one split of so many parts, where all are equally likely."""
    n = n_parts - 1.0
    return -(n * np.log(2.0) + np.log1p(-(0.5**n)))


@compiled(inline=True)
def draw_even(world, side, slot, rng):
    """Sides of a split, all equally likely; the member that lies first stays."""
    held = world.clusters
    n_moved = 0
    while n_moved == 0:
        n_seen = 0
        for k in range(held.size[slot]):
            m = member(held, slot, k)
            if representative(world, m) == m:
                side[m] = 0 if n_seen == 0 else below(rng, 2)
                n_moved += side[m]
                n_seen += 1


@compiled(inline=True)
def _pull_of(world, side, guide, m, atom, slot):
    """How much more the members of a cluster draw a mention to side 1 than to side 0."""
    held = world.clusters
    total = 0.0
    for k in range(held.size[slot]):
        j = member(held, slot, k)
        other = representative(world, j)
        if other != atom:
            score = pair_score(world.model, world.pairs, look(world.pairs, m, j), guide)
            total += score if side[other] == 1 else -score
    return total


@compiled(part=True, allocates=False)
def _pull(world, side, guide, atom, one, two):
    """How much more a mention, with those it must stay with, is drawn to side 1 than to side 0."""
    constraints = world.constraints
    first, n = np.int64(0), np.int64(1)
    if len(constraints.atom_of) > 0:
        first = np.int64(constraints.atom_ptr[constraints.atom_of[atom]])
        n = np.int64(constraints.atom_ptr[constraints.atom_of[atom] + 1]) - first
    total = 0.0
    for e in range(n):
        m = atom if len(constraints.atom_of) == 0 else np.int64(constraints.atom_members[first + e])
        total += _pull_of(world, side, guide, m, atom, one)
        if one != two:
            total += _pull_of(world, side, guide, m, atom, two)
    return max(-FARTHEST, min(FARTHEST, total))


@compiled(part=True, allocates=False)
def scan(world, side, guide, anchors, one, two, is_drawn, rng):
    """One scan over the sides of the members of one cluster or two; returns its log probability.

    Sides are drawn or, on the way back, those that the members are on: 1 in the first cluster.
    """
    log_q = 0.0
    for m in range(world.window[0], world.window[1]):
        cluster = world.clusters.cluster_of[m]
        if (cluster != one and cluster != two) or m == anchors[0] or m == anchors[1] or representative(world, m) != m:
            continue
        x = _pull(world, side, guide, np.int64(m), one, two)
        if is_drawn:
            side[m] = uniform(rng) < 1.0 / (1.0 + np.exp(-x))
        else:
            side[m] = cluster == one
        log_q -= np.log1p(np.exp(-x if side[m] == 1 else x))
    return log_q


@compiled(part=True, allocates=False)
def launch(world, side, guide, n_scans, anchors, one, two, rng):
    """Sides to start from: the first anchor's is 1, the second's 0, those of others coins after some scans."""
    for m in range(world.window[0], world.window[1]):
        cluster = world.clusters.cluster_of[m]
        if cluster == one or cluster == two:
            side[m] = below(rng, 2)
    side[anchors[0]] = 1
    side[anchors[1]] = 0
    for _ in range(n_scans):
        scan(world, side, guide, anchors, one, two, True, rng)


@compiled(inline=True)
def atom_at(world, slot, k):
    """The k-th member of a cluster that stands for those it must stay with."""
    held = world.clusters
    if len(world.constraints.atom_of) == 0:
        return member(held, slot, k)
    for at in range(held.size[slot]):
        m = member(held, slot, at)
        if representative(world, m) == m:
            if k == 0:
                return m
            k -= 1
    return np.int64(-1)
