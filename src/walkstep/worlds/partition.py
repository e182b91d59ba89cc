"""Partition worlds: mentions in clusters, scored by the pairs that are together and by what whole clusters hold."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.features.comparisons import Comparisons
from walkstep.model.partition_templates import PartitionModel
from walkstep.references import LARGE
from walkstep.worlds import partition_verbs as verbs
from walkstep.worlds.base import register
from walkstep.worlds.cluster_contents import count_all
from walkstep.worlds.cluster_statistics import n_statistics
from walkstep.worlds.clusters import Clusters, bring_to, clusters, first_mentions
from walkstep.worlds.jumps import Jumps, mates_of
from walkstep.worlds.link_constraints import LinkConstraints, free_of_constraints
from walkstep.worlds.pair_levels import PairLevels, pair_levels
from walkstep.worlds.partition_proposers import (
    block_order,
    check_blocks_within,
    n_mates,
    uniform_mention,
)
from walkstep.worlds.partition_signals import PartitionSignal, pair_accuracy
from walkstep.worlds.sparse import dot, sparse_vector
from walkstep.worlds.transfers import Transfer


class PartitionWorld(NamedTuple):
    """A partition of mentions, with what each cluster holds and the truth it is measured against.

    H is the number of levels that are counted over pairs, F the number of columns whose values are.
    """

    clusters: Clusters
    pairs: PairLevels
    model: PartitionModel
    constraints: LinkConstraints
    truth: NDArray[np.int32]  # (M,) the true entity, -1 where nothing is known
    document_ptr: NDArray[np.int64]  # (D+1,) document d holds mentions document_ptr[d]:document_ptr[d+1]
    level_counts: NDArray[np.int32]  # (M, H) how many pairs of each cluster have each counted level
    distinct: NDArray[np.int32]  # (M, F) distinct values in each cluster
    present: NDArray[np.int32]  # (M, F) mentions of each cluster that have a value
    holders: NDArray[np.int32]  # clusters that hold each value of each column, column after column
    holders_ptr: NDArray[np.int64]  # (F+1,)
    window: NDArray[np.int64]  # (3,) first and last mention of the document entered, and its number
    journal: NDArray[np.int64]  # mentions moved since the last restart; empty where walks never restart
    n_journal: NDArray[np.int64]  # (1,)
    clock: NDArray[np.int64]  # (3,) moves proposed, the one that ``ahead`` tells of, and the last mark
    ahead_counts: NDArray[np.int32]  # (2, H) level counts of source and target after the move
    ahead_values: NDArray[np.int32]  # (2, 2, F) distinct and present there
    mark: NDArray[np.int64]  # scratch: when each value was last seen
    overlap: NDArray[np.int64]  # scratch: one number for each true entity
    statistic: NDArray[np.int64]  # scratch: indices of one cluster's statistics
    amount: NDArray[np.float64]  # and their values
    signal: PartitionSignal  # the metric, by difference
    proposer: Jumps  # where the moves come from

    @property
    def values(self) -> NDArray[np.int32]:
        """The cluster of each mention, named by its first one: the same for equal partitions."""
        return first_mentions(self.clusters.cluster_of)


def partition_world(
    model: PartitionModel,
    comparisons: Comparisons,
    truth: ArrayLike | None = None,
    *,
    assignment: ArrayLike | None = None,
    n_mentions: int | None = None,
    document_ptr: ArrayLike | None = None,
    constraints: LinkConstraints | None = None,
    signal: PartitionSignal | None = None,
    proposer: Jumps | None = None,
    n_places: int | None = None,
) -> PartitionWorld:
    """A world of partitions.

    Parameters
    ----------
    model : PartitionModel
        Templates, from `ground_partition`.
    comparisons : Comparisons
        How pairs of mentions are compared.
    truth : int array (n_mentions,), optional
        The true entity of each mention, -1 where it is not known.
    assignment : int array (n_mentions,), optional
        Where the walk starts: mentions with the same number are together. By default every mention is alone.
    n_mentions : int, optional
        Needed only where neither truth nor assignment is given.
    document_ptr : int array (n_documents + 1,), optional
        Documents as ranges of mentions; clusters do not reach beyond them.
    constraints : Constraints, optional
        What must stay together or apart.
    signal : optional
        The metric, one of `walkstep.worlds.partition_signals`; by default pairwise accuracy.
    proposer : optional
        What `uniform_mention` (the default), `block_guided`, `split_merge` or `as_jump` gives.
    n_places : int, optional
        How many pairs are remembered; by default 512 for each mention, as far as 256 MiB hold them.
    """
    given = next((np.asarray(x) for x in (assignment, truth) if x is not None), None)
    if given is None and n_mentions is None:
        raise ValueError("nothing says how many mentions there are; pass n_mentions")
    n = len(given) if given is not None else int(n_mentions or 0)
    true = np.full(n, -1, np.int32) if truth is None else np.array(truth, dtype=np.int32)
    start = np.arange(n) if assignment is None else np.asarray(assignment)
    for name, array in (("truth", true), ("assignment", start)):
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape}; give one number for each of the {n} mentions")
    ptr = np.array([0, n] if document_ptr is None else document_ptr, dtype=np.int64)
    if len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError(f"document_ptr must rise from 0 to the number of mentions, {n}")
    held = free_of_constraints(n) if constraints is None else constraints
    start = held.obeyed_by(start)
    n_levels, n_columns = int(model.counted_ptr[-1]), len(model.n_values)
    holders_ptr = np.concatenate([[0], np.cumsum(model.n_values)]).astype(np.int64)
    mover = uniform_mention() if proposer is None else proposer
    reach = mates_of(mover)
    check_blocks_within(reach, ptr)
    if n_places is None:
        most = (1 << 28) // (8 + len(comparisons.n_levels))
        n_places = min(max(512 * n, 1 << 10), 1 << (most.bit_length() - 1))
    world = PartitionWorld(
        clusters(start, ptr),
        pair_levels(comparisons, n_places, block_order(reach, n), n_mates(reach, n)),
        model,
        held,
        true,
        ptr,
        np.zeros((n, n_levels), np.int32),
        np.zeros((n, n_columns), np.int32),
        np.zeros((n, n_columns), np.int32),
        np.zeros(int(holders_ptr[-1]), np.int32),
        holders_ptr,
        np.array([0, ptr[1], 0], np.int64),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        np.array([0, -1, 0], np.int64),
        np.zeros((2, n_levels), np.int32),
        np.zeros((2, 2, n_columns), np.int32),
        np.full(int(holders_ptr[-1]), -1, np.int64),
        np.zeros(int(true.max(initial=-1)) + 1, np.int64),
        np.zeros(n_statistics(model), np.int64),
        np.zeros(n_statistics(model)),
        pair_accuracy() if signal is None else signal,
        mover,
    )
    _count(world)
    return world


def at_assignment(world: PartitionWorld, assignment: ArrayLike) -> PartitionWorld:
    """The same world, with its own partition: mentions of the same number are together."""
    start = world.constraints.obeyed_by(np.asarray(assignment))
    made = world._replace(
        clusters=clusters(start, world.document_ptr),
        level_counts=np.zeros_like(world.level_counts),
        distinct=np.zeros_like(world.distinct),
        present=np.zeros_like(world.present),
        holders=np.zeros_like(world.holders),
        window=world.window.copy(),
        n_journal=np.zeros(1, np.int64),
        clock=np.array([0, -1, 0], np.int64),
        mark=np.full_like(world.mark, -1),  # what a walk has left there would be taken for a slot
    )
    made = made._replace(signal=world.signal._replace(counts=world.signal.counts.copy()))
    _count(made)
    return made


def at_truth(world: PartitionWorld) -> PartitionWorld:
    """The world at its truth; mentions whose truth is unknown are alone."""
    n = len(world.truth)
    return at_assignment(world, np.where(world.truth >= 0, world.truth, n + np.arange(n)))


def transfer(
    world: PartitionWorld, mentions: ArrayLike, target: int | None = None, back: ArrayLike | None = None
) -> Transfer:
    """The move that takes mentions of one cluster to slot ``target``, or to an empty one, and brings others ``back``.

    Parameters
    ----------
    world : PartitionWorld
        The mentions that move come to lie at the end of their clusters; whom they are with stays.
    mentions : int or int array
        Of one cluster.
    target : int, optional
    back : int or int array, optional
        Members of the target, which go to the cluster that the mentions leave.
    """
    moved = np.atleast_1d(np.asarray(mentions, dtype=np.int64))
    source = _cluster_of_all(world, moved)
    d = int(np.searchsorted(world.document_ptr, moved[0], side="right") - 1)
    if target is None:
        target = int(world.clusters.order[world.document_ptr[d] + world.clusters.n_used[d]])
    coming = np.zeros(0, np.int64) if back is None else np.atleast_1d(np.asarray(back, dtype=np.int64))
    if len(coming) and _cluster_of_all(world, coming) != target:
        raise ValueError(f"mentions {coming.tolist()} are not in slot {target}, so they cannot come back from there")
    for group in (moved, coming):
        _bring_all(world.clusters, group)
    world.clock[0] += 1
    world.window[:] = world.document_ptr[d], world.document_ptr[d + 1], d
    return Transfer(source, int(target), len(moved), len(coming))


def _cluster_of_all(world: PartitionWorld, mentions: NDArray[np.int64]) -> int:
    """The slot that all of them are in."""
    slot = int(world.clusters.cluster_of[mentions[0]])
    if (world.clusters.cluster_of[mentions] != slot).any():
        raise ValueError(f"mentions {mentions.tolist()} are not all in one cluster")
    return slot


@compiled
def _bring_all(clusters, mentions):
    """Let mentions be the last members of their cluster."""
    for k in range(len(mentions)):
        bring_to(clusters, mentions[k], clusters.size[clusters.cluster_of[mentions[k]]] - 1 - k)


def _count(world: PartitionWorld) -> None:
    """Count what every cluster holds, where some template asks for it; a call alone takes milliseconds."""
    if world.ahead_counts.shape[1] or len(world.model.n_values):
        count_all(world)


LARGE.add(PartitionWorld)
register(
    PartitionWorld,
    enter=verbs.enter,
    propose=verbs.propose,
    draft=verbs.draft,
    settle=verbs.settle,
    n_factors=verbs.n_factors,
    n_leaving=verbs.n_leaving,
    factor=verbs.factor,
    factor_score=verbs.factor_score,
    difference=verbs.difference,
    delta=verbs.delta,
    forbids=verbs.forbids,
    signal=verbs.signal,
    is_silent=verbs.is_silent,
    note=verbs.note,
    commit=verbs.commit,
    retrace=verbs.retrace,
    restart=verbs.restart,
)


def partition_score(world: PartitionWorld, weights: ArrayLike) -> float:
    """The score of the whole partition, from nothing."""
    theta = np.ascontiguousarray(weights, dtype=np.float64)
    phi = sparse_vector(len(theta))
    verbs.add_all(world, phi)
    return dot(phi, theta)


def partition_statistics(world: PartitionWorld) -> NDArray[np.float64]:
    """phi of the whole partition: how often each statistic holds, (n_weights,)."""
    phi = sparse_vector(world.model.n_weights)
    verbs.add_all(world, phi)
    dense = np.zeros(world.model.n_weights)
    n = int(phi.size[0])
    dense[phi.index[:n]] = phi.value[:n]
    return dense
