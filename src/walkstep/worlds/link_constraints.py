"""Hard constraints on partitions: what must stay together, what must stay apart, at most one mention of a source."""

from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.clusters import member
from walkstep.worlds.transfers import mover


class LinkConstraints(NamedTuple):
    """Factors that score minus infinity; arrays are empty where nothing is held.

    Mentions that must stay together form an atom, and move as one.
    """

    atom_of: NDArray[np.int32]  # (M,) or empty
    atom_ptr: NDArray[np.int64]
    atom_members: NDArray[np.int32]
    apart_ptr: NDArray[np.int64]  # (M+1,) or empty: mention m stays apart from apart[apart_ptr[m]:apart_ptr[m+1]]
    apart: NDArray[np.int32]
    source: NDArray[np.int32]  # (M,) or empty: no two mentions of one source together; -1 has no source

    def obeyed_by(self, assignment: NDArray[Any]) -> NDArray[Any]:
        """The assignment, with what must stay together put together."""
        if len(self.atom_of) == 0:
            return assignment
        heads = self.atom_members[self.atom_ptr[:-1]]
        return np.asarray(assignment)[heads[self.atom_of]]


def free_of_constraints(n_mentions: int) -> LinkConstraints:
    """No constraints at all."""
    return link_constraints(n_mentions)


def link_constraints(
    n_mentions: int,
    *,
    together: ArrayLike | None = None,
    apart: ArrayLike | None = None,
    source: ArrayLike | None = None,
) -> LinkConstraints:
    """Hold mentions together or apart.

    Parameters
    ----------
    n_mentions : int
    together, apart : int array (n, 2), optional
        Pairs of mentions that must, or must not, be in one cluster.
    source : int array (n_mentions,), optional
        Two mentions of the same source are never together; -1 has no source.

    Examples
    --------
    >>> held = link_constraints(4, together=[[0, 1], [1, 3]])
    >>> held.obeyed_by(np.arange(4))
    array([0, 0, 2, 0])
    """
    atom_of, atom_ptr, atom_members = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32)
    joined = _pairs(together, "together", n_mentions)
    if len(joined):
        links = scipy.sparse.coo_array(
            (np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(n_mentions, n_mentions)
        )
        n_atoms, label = scipy.sparse.csgraph.connected_components(links, directed=False)
        atom_of = label.astype(np.int32)
        atom_members = np.argsort(label, kind="stable").astype(np.int32)
        atom_ptr = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=n_atoms))]).astype(np.int64)
    kept_apart = _pairs(apart, "apart", n_mentions)
    source_of = np.zeros(0, np.int32) if source is None else np.asarray(source, dtype=np.int32)
    if source is not None and source_of.shape != (n_mentions,):
        raise ValueError(f"source has shape {source_of.shape}; give one for each of the {n_mentions} mentions")
    if len(atom_of) and len(kept_apart):
        clash = np.flatnonzero(atom_of[kept_apart[:, 0]] == atom_of[kept_apart[:, 1]])
        if len(clash):
            a, b = kept_apart[clash[0]]
            raise ValueError(f"mentions {a} and {b} must stay apart, but others tie them together; drop one of the two")
    if len(atom_of) and len(source_of):
        known = np.flatnonzero(source_of >= 0)
        keys = atom_of[known].astype(np.int64) << 32 | source_of[known]
        values, first, counts = np.unique(keys, return_index=True, return_counts=True)
        if len(values) and counts.max() > 1:
            m = known[first[np.argmax(counts)]]
            raise ValueError(f"mention {m} must stay together with another of its own source; drop one of the two")
    apart_ptr, mates = np.zeros(0, np.int64), np.zeros(0, np.int32)
    if len(kept_apart):
        ends = np.concatenate([kept_apart[:, 0], kept_apart[:, 1]])
        others = np.concatenate([kept_apart[:, 1], kept_apart[:, 0]])
        apart_ptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_mentions))]).astype(np.int64)
        mates = others[np.argsort(ends, kind="stable")].astype(np.int32)
    held = LinkConstraints(atom_of, atom_ptr, atom_members, apart_ptr, mates, source_of)
    for array in held:
        array.flags.writeable = False
    return held


def _pairs(pairs: ArrayLike | None, name: str, n_mentions: int) -> NDArray[np.int64]:
    """Pairs of two different mentions that exist."""
    if pairs is None:
        return np.zeros((0, 2), np.int64)
    given = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    bad = np.flatnonzero((given < 0).any(axis=1) | (given >= n_mentions).any(axis=1) | (given[:, 0] == given[:, 1]))
    if len(bad):
        raise ValueError(
            f"{name} names the pair {given[bad[0]].tolist()}; give two different mentions from 0 to {n_mentions - 1}"
        )
    return given


@compiled(inline=True)
def forbids(world, move):
    """Above 0 where a move breaks a constraint, below where it only mends broken ones, else 0."""
    held, clusters = world.constraints, world.clusters
    if len(held.apart) == 0 and len(held.source) == 0:
        return 0
    broken = mended = 0
    for k in range(move.n + move.n_back):
        m, left, n_left, joined, n_joined = mover(world, move, k)
        if len(held.apart) > 0:
            for e in range(held.apart_ptr[m], held.apart_ptr[m + 1]):
                other = held.apart[e]
                slot, position = clusters.cluster_of[other], clusters.position[other]
                broken += slot == joined and position < n_joined
                mended += slot == left and position < n_left
        if len(held.source) > 0 and held.source[m] >= 0:
            for i in range(n_joined):
                broken += held.source[member(clusters, joined, i)] == held.source[m]
            for i in range(n_left):
                mended += held.source[member(clusters, left, i)] == held.source[m]
    if broken > 0:
        return 1
    return -1 if mended > 0 else 0
