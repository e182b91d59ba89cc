"""The move of partition worlds: members of one cluster go to another, and some of that one may come back.

A mention that moves, a merge (all members go), a split (some go to an empty cluster) and an exchange are the same
thing; one class for all of them, so that one compiled loop serves them all. Those who move lie at the end of their
cluster: `gather` brings them there.
"""

from typing import NamedTuple

import numpy as np

from walkstep.compiled import compiled
from walkstep.worlds.clusters import bring_to, member


class Transfer(NamedTuple):
    """The last ``n`` members of ``source`` go to ``target``, and the last ``n_back`` of ``target`` to ``source``.

    Those who go and those who come back are apart before and after. Compiled loops name all four numbers: to them a
    default would be a type of its own.

    Examples
    --------
    >>> Transfer(source=0, target=3, n=2)
    Transfer(source=0, target=3, n=2, n_back=0)
    """

    source: int | np.integer
    target: int | np.integer
    n: int | np.integer
    n_back: int | np.integer = 0


@compiled(inline=True)
def stay():
    """No move at all, and its log ratio."""
    return Transfer(np.int64(0), np.int64(0), np.int64(0), np.int64(0)), 0.0


@compiled(inline=True)
def n_staying(world, move):
    """How many members of the source, and how many of the target, stay where they are."""
    size = world.clusters.size
    return size[move.source] - move.n, size[move.target] - move.n_back


@compiled(inline=True)
def mover(world, move, k):
    """The k-th mention that moves, the cluster it leaves and how many stay there, the one it joins and how many do.

    Those who go come first, then those who come back; whoever stays lies in front of them. The pairs that a move
    breaks are those of movers with the ones who stay where they leave, and it makes those with the ones where they go.
    """
    held = world.clusters
    rest, n_other = n_staying(world, move)
    if k < move.n:
        return member(held, move.source, rest + k), move.source, rest, move.target, n_other
    return member(held, move.target, n_other + k - move.n), move.target, n_other, move.source, rest


@compiled(inline=True)
def same_atom(world, i, j):
    """Whether two mentions must stay together."""
    atom_of = world.constraints.atom_of
    return i == j or (len(atom_of) > 0 and atom_of[i] == atom_of[j])


@compiled(inline=True)
def representative(world, m):
    """The mention that decides for all that must stay together."""
    constraints = world.constraints
    if len(constraints.atom_of) == 0:
        return np.int64(m)
    return np.int64(constraints.atom_members[constraints.atom_ptr[constraints.atom_of[m]]])


@compiled(inline=True)
def gather(world, mention):
    """Bring a mention, with those that must stay with it, to the end of its cluster; returns how many they are."""
    clusters, constraints = world.clusters, world.constraints
    size = clusters.size[clusters.cluster_of[mention]]
    if len(constraints.atom_of) == 0:
        bring_to(clusters, mention, size - 1)
        return 1
    a = constraints.atom_of[mention]
    n = 0
    for e in range(constraints.atom_ptr[a], constraints.atom_ptr[a + 1]):
        n += 1
        bring_to(clusters, np.int64(constraints.atom_members[e]), size - n)
    return n


@compiled(inline=True)
def bring_side(world, side, slot):
    """Bring the members of a cluster whose side is 1 to its end; returns how many they are."""
    clusters = world.clusters
    size = np.int64(clusters.size[slot])
    end, k = size, np.int64(0)
    while k < end:
        m = member(clusters, slot, k)
        if side[representative(world, m)] == 1:
            end -= 1
            bring_to(clusters, m, end)
        else:
            k += 1
    return size - end


@compiled(inline=True)
def free_slot(world):
    """A free slot of the document entered, or -1 where every mention is alone."""
    first, d = world.window[0], world.window[2]
    place = first + world.clusters.n_used[d]
    return np.int64(world.clusters.order[place]) if place < world.window[1] else np.int64(-1)
