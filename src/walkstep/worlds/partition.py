"""Partition worlds: mentions in clusters, scored by the pairs that are together and by what whole clusters hold."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.features.comparisons import Comparisons
from walkstep.model.partition_templates import PartitionModel
from walkstep.references import LARGE, refer
from walkstep.separate import separate
from walkstep.worlds.base import register
from walkstep.worlds.cluster_statistics import cluster_statistics, n_statistics, value_changes
from walkstep.worlds.clusters import Clusters, bring_to, clusters, first_mentions, member, place
from walkstep.worlds.link_constraints import LinkConstraints, forbids, free_of_constraints
from walkstep.worlds.pair_levels import PairLevels, look, pair_levels
from walkstep.worlds.partition_proposers import (
    Transfer,
    TransferProposer,
    block_order,
    check_blocks_within,
    n_mates,
    score_of_pair,
    suggest_transfer,
    uniform_mention,
)
from walkstep.worlds.partition_signals import PartitionSignal, begin, gain, pair_accuracy, record, shortfall
from walkstep.worlds.sparse import add, dot, sparse_vector


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
    proposer: TransferProposer  # where the moves come from

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
    proposer: TransferProposer | None = None,
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
        What `uniform_mention` (the default) or `block_guided` gives.
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
    check_blocks_within(mover, ptr)
    if n_places is None:
        most = (1 << 28) // (8 + len(comparisons.n_levels))
        n_places = min(max(512 * n, 1 << 10), 1 << (most.bit_length() - 1))
    world = PartitionWorld(
        clusters(start, ptr),
        pair_levels(comparisons, n_places, block_order(mover, n), n_mates(mover, n)),
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


def transfer(world: PartitionWorld, mentions: ArrayLike, target: int | None = None) -> Transfer:
    """The move that takes mentions of one cluster to slot ``target``, or to an empty one."""
    moved = np.atleast_1d(np.asarray(mentions, dtype=np.int64))
    source = int(world.clusters.cluster_of[moved[0]])
    if (world.clusters.cluster_of[moved] != source).any():
        raise ValueError(f"mentions {moved.tolist()} are not all in one cluster")
    _bring_all(world.clusters, moved)
    d = int(np.searchsorted(world.document_ptr, moved[0], side="right") - 1)
    if target is None:
        target = int(world.clusters.order[world.document_ptr[d] + world.clusters.n_used[d]])
    world.clock[0] += 1
    world.window[:] = world.document_ptr[d], world.document_ptr[d + 1], d
    return Transfer(source, int(target), len(moved))


@compiled
def _bring_all(clusters, mentions):
    """Let mentions be the last members of their cluster."""
    size = clusters.size[clusters.cluster_of[mentions[0]]]
    for k in range(len(mentions)):
        bring_to(clusters, mentions[k], size - 1 - k)


# --- what clusters hold


@compiled(inline=True)
def _count_pair(world, at, row, sign):
    """Count a pair's levels in or out of a row of ``ahead_counts``."""
    model = world.model
    for g in range(len(model.counted)):
        world.ahead_counts[row, model.counted_ptr[g] + world.pairs.levels[at, model.counted[g]]] += sign


@separate
def _look_ahead(world, move):
    """Count what source and target will hold after the move, unless that is known already."""
    if world.clock[1] == world.clock[0]:
        return
    world.clock[1] = world.clock[0]
    model, held = world.model, world.clusters
    source, target, n = move.source, move.target, move.n
    rest, n_target = held.size[source] - n, held.size[target]
    n_levels = world.ahead_counts.shape[1]
    if n_levels > 0:
        for h in range(n_levels):
            whole = world.level_counts[source, h]
            world.ahead_counts[0, h] = 0 if rest == 0 else whole
            world.ahead_counts[1, h] = world.level_counts[target, h] + whole * (rest == 0)
        for k in range(rest, rest + n):
            m = member(held, source, k)
            for i in range(rest):
                _count_pair(world, look(world.pairs, m, member(held, source, i)), 0, -1)
            for i in range(n_target):
                _count_pair(world, look(world.pairs, m, member(held, target, i)), 1, 1)
            if rest > 0:
                for i in range(rest, k):
                    at = look(world.pairs, m, member(held, source, i))
                    _count_pair(world, at, 0, -1)
                    _count_pair(world, at, 1, 1)
    for f in range(len(model.n_values)):
        n_left, n_new, _ = value_changes(world, move, f, False)
        n_known = 0
        for k in range(rest, rest + n):
            n_known += model.columns[f, member(held, source, k)] >= 0
        world.ahead_values[0, 0, f] = world.distinct[source, f] - n_left
        world.ahead_values[1, 0, f] = world.distinct[target, f] + n_new
        world.ahead_values[0, 1, f] = world.present[source, f] - n_known
        world.ahead_values[1, 1, f] = world.present[target, f] + n_known


def _count(world: PartitionWorld) -> None:
    """Count what every cluster holds, where some template asks for it; a call alone takes milliseconds."""
    if world.ahead_counts.shape[1] or len(world.model.n_values):
        _count_all(world)


@compiled(allocates=False)
def _count_all(whole):
    """Count what every cluster holds, from nothing."""
    world = refer(whole)
    model, held = world.model, world.clusters
    n_levels, n_columns = world.ahead_counts.shape[1], len(model.n_values)
    for slot in range(len(held.size)):
        n = held.size[slot]
        if n == 0:
            continue
        if n_levels > 0:
            for h in range(n_levels):
                world.ahead_counts[0, h] = 0
            for i in range(n):
                for j in range(i):
                    _count_pair(world, look(world.pairs, member(held, slot, i), member(held, slot, j)), 0, 1)
            for h in range(n_levels):
                world.level_counts[slot, h] = world.ahead_counts[0, h]
        for f in range(n_columns):
            for i in range(n):
                v = model.columns[f, member(held, slot, i)]
                if v < 0:
                    continue
                world.present[slot, f] += 1
                at = world.holders_ptr[f] + v
                if world.mark[at] != slot:
                    world.mark[at] = slot
                    world.distinct[slot, f] += 1
                    world.holders[at] += 1
    for at in range(len(world.mark)):
        world.mark[at] = -1


@compiled(inline=True)
def _statistics_now(world, slot, first, last):
    """Statistics of a cluster as it is, by some templates, in the world's scratch; returns how many."""
    n = np.int64(world.clusters.size[slot])
    if n == 0:
        return 0
    return cluster_statistics(
        world, n, world.level_counts[slot], world.distinct[slot], world.present[slot], first, last
    )


@compiled(inline=True)
def _statistics_ahead(world, move, side, first, last):
    """Statistics of the source (side 0) or target (side 1) after the move."""
    held = world.clusters
    n = np.int64(held.size[move.source] - move.n if side == 0 else held.size[move.target] + move.n)
    if n == 0:
        return 0
    ahead = world.ahead_values
    return cluster_statistics(world, n, world.ahead_counts[side], ahead[side, 0], ahead[side, 1], first, last)


# --- verbs


@separate
def _enter(world, document):
    world.window[0] = world.document_ptr[document]
    world.window[1] = world.document_ptr[document + 1]
    world.window[2] = document
    begin(world.signal, world)
    return world.window[1] - world.window[0]


@separate
def _propose(world, rng):
    world.clock[0] += 1
    return suggest_transfer(world.proposer, world, rng)


def _n_factors(world, move):
    if move.n == 0:
        return np.int64(0)
    rest = world.clusters.size[move.source] - move.n
    n_pairs = np.int64(move.n) * (rest + world.clusters.size[move.target])
    return n_pairs + 2 * len(world.model.kind) + len(world.model.spread_column)


def _n_leaving(world, move):
    return np.int64(move.n) * (world.clusters.size[move.source] - move.n)


@compiled(inline=True)
def _pair(world, move, k):
    """The k-th pair that a move breaks or makes: the one that moves, the one that does not, and -1 or +1."""
    held = world.clusters
    rest, n_target = held.size[move.source] - move.n, held.size[move.target]
    n_broken = np.int64(move.n) * rest
    if k < n_broken:
        return member(held, move.source, rest + k // rest), member(held, move.source, k % rest), -1.0
    k -= n_broken
    return member(held, move.source, rest + k // n_target), member(held, move.target, k % n_target), 1.0


@compiled(inline=True)
def _add_pair(world, at, sign, phi):
    """Add a pair's statistics to phi."""
    model, pairs = world.model, world.pairs
    for c in range(len(model.pair_offset)):
        if model.pair_offset[c] >= 0:
            add(phi, model.pair_offset[c] + pairs.levels[at, c], sign)
    for q in range(len(model.conjunction_offset)):
        index = model.conjunction_offset[q]
        for e in range(model.conjunction_ptr[q], model.conjunction_ptr[q + 1]):
            index += model.conjunction_stride[e] * pairs.levels[at, model.conjunction_of[e]]
        add(phi, index, sign)


@separate
def _factor(world, move, k, phi):
    held = world.clusters
    n_pairs = np.int64(move.n) * (held.size[move.source] - move.n + held.size[move.target])
    if k < n_pairs:
        m, i, sign = _pair(world, move, k)
        _add_pair(world, look(world.pairs, m, i), sign, phi)
        return
    k -= n_pairs
    n_templates = len(world.model.kind)
    if k >= 2 * n_templates:
        _add_spread(world, move, k - 2 * n_templates, phi)
    else:
        _look_ahead(world, move)
        _add_side(world, move, k % 2, k // 2, k // 2 + 1, phi)


@compiled(inline=True)
def _add_side(world, move, side, first, last, phi):
    """Add what a move changes of the source's or target's statistics, by some templates."""
    n = _statistics_ahead(world, move, side, first, last)
    for s in range(n):
        add(phi, world.statistic[s], world.amount[s])
    n = _statistics_now(world, move.source if side == 0 else move.target, first, last)
    for s in range(n):
        add(phi, world.statistic[s], -world.amount[s])


@compiled(inline=True)
def _score_side(world, move, side, first, last, weights):
    """The score of that."""
    total = 0.0
    n = _statistics_ahead(world, move, side, first, last)
    for s in range(n):
        total += world.amount[s] * weights[world.statistic[s]]
    n = _statistics_now(world, move.source if side == 0 else move.target, first, last)
    for s in range(n):
        total -= world.amount[s] * weights[world.statistic[s]]
    return total


@compiled(inline=True)
def _add_spread(world, move, s, phi):
    """Add what a move changes of the values that lie in several clusters."""
    n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
    if n_split != 0:
        add(phi, np.int64(world.model.spread_offset[s]), np.float64(n_split))


@separate
def _difference(world, move, phi):
    if move.n == 0:
        return
    held = world.clusters
    rest, n_target = held.size[move.source] - move.n, held.size[move.target]
    for k in range(rest, rest + move.n):
        m = member(held, move.source, k)
        for i in range(rest):
            _add_pair(world, look(world.pairs, m, member(held, move.source, i)), -1.0, phi)
        for i in range(n_target):
            _add_pair(world, look(world.pairs, m, member(held, move.target, i)), 1.0, phi)
    if len(world.model.kind) + len(world.model.spread_column) > 0:
        _difference_of_clusters(world, move, phi)


@compiled(inline=True)
def _difference_of_clusters(world, move, phi):
    """What a move changes of the statistics of whole clusters."""
    _look_ahead(world, move)
    for side in range(2):
        _add_side(world, move, side, 0, len(world.model.kind), phi)
    for s in range(len(world.model.spread_column)):
        _add_spread(world, move, s, phi)


@compiled(inline=True)
def _delta_of_clusters(world, move, weights):
    """What a move changes of the scores of whole clusters."""
    _look_ahead(world, move)
    total = 0.0
    for side in range(2):
        total += _score_side(world, move, side, 0, len(world.model.kind), weights)
    for s in range(len(world.model.spread_column)):
        n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
        total += weights[world.model.spread_offset[s]] * n_split
    return total


@separate
def _delta(world, move, weights, phi):
    if move.n == 0:
        return 0.0
    verdict = forbids(world, move)
    if verdict > 0:
        return -np.inf
    held, model = world.clusters, world.model
    total = 0.0
    rest, n_target = held.size[move.source] - move.n, held.size[move.target]
    for k in range(rest, rest + move.n):
        m = member(held, move.source, k)
        for i in range(rest):
            total -= score_of_pair(model, world.pairs, m, member(held, move.source, i), weights)
        for i in range(n_target):
            total += score_of_pair(model, world.pairs, m, member(held, move.target, i), weights)
    if len(model.kind) + len(model.spread_column) > 0:
        total += _delta_of_clusters(world, move, weights)
    return np.inf if verdict < 0 else total


@separate
def _factor_score(world, move, k, weights, phi):
    held = world.clusters
    n_pairs = np.int64(move.n) * (held.size[move.source] - move.n + held.size[move.target])
    if k < n_pairs:
        m, i, sign = _pair(world, move, k)
        return sign * score_of_pair(world.model, world.pairs, m, i, weights)
    k -= n_pairs
    n_templates = len(world.model.kind)
    if k >= 2 * n_templates:
        s = k - 2 * n_templates
        n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
        return weights[world.model.spread_offset[s]] * n_split
    _look_ahead(world, move)
    return _score_side(world, move, k % 2, k // 2, k // 2 + 1, weights)


def _forbids(world, move):
    return move.n > 0 and forbids(world, move) > 0


@separate
def _signal(world, move):
    return gain(world.signal, world, move) if move.n > 0 else 0.0


def _is_silent(world, move):
    return False


def _commit(world, move):
    if move.n > 0:
        _make(world, move)


@separate
def _make(world, move):
    """Make a transfer, with all that is counted."""
    model, held = world.model, world.clusters
    source, target, n = move.source, move.target, move.n
    record(world.signal, world, move)
    if len(model.counted) + len(model.n_values) > 0:
        _look_ahead(world, move)
        for f in range(len(model.n_values)):
            value_changes(world, move, f, True)
        for h in range(world.ahead_counts.shape[1]):
            world.level_counts[source, h] = world.ahead_counts[0, h]
            world.level_counts[target, h] = world.ahead_counts[1, h]
        for f in range(len(model.n_values)):
            world.distinct[source, f] = world.ahead_values[0, 0, f]
            world.distinct[target, f] = world.ahead_values[1, 0, f]
            world.present[source, f] = world.ahead_values[0, 1, f]
            world.present[target, f] = world.ahead_values[1, 1, f]
    size = held.size[source]
    for k in range(n):
        m = member(held, source, size - 1 - k)
        if len(world.journal) > 0:
            at = world.n_journal[0]
            if at == len(world.journal):
                raise ValueError("more mentions moved than the world's journal holds; make it longer")
            world.journal[at] = m
            world.n_journal[0] = at + 1
        place(held, m, target, world.window[2], world.window[0])
    world.clock[0] += 1


@compiled(inline=True)
def _add_clusters(world, sign, phi):
    """Add the statistics of all clusters of the document entered to phi."""
    first = world.window[0]
    held = world.clusters
    for at in range(first, first + held.n_used[world.window[2]]):
        slot = np.int64(held.order[at])
        for i in range(held.size[slot]):
            for j in range(i):
                _add_pair(world, look(world.pairs, member(held, slot, i), member(held, slot, j)), sign, phi)
        n = _statistics_now(world, slot, 0, len(world.model.kind))
        for s in range(n):
            add(phi, world.statistic[s], sign * world.amount[s])


@compiled(inline=True)
def _add_spreads(world, sign, phi):
    """Add how many values lie in several clusters, in all documents, to phi."""
    for s in range(len(world.model.spread_column)):
        f = world.model.spread_column[s]
        n_split = 0
        for at in range(world.holders_ptr[f], world.holders_ptr[f + 1]):
            n_split += world.holders[at] > 1
        add(phi, np.int64(world.model.spread_offset[s]), sign * n_split)


@separate
def _retrace(world, goal, phi):
    _add_clusters(goal, 1.0, phi)
    _add_clusters(world, -1.0, phi)
    _add_spreads(goal, 1.0, phi)
    _add_spreads(world, -1.0, phi)
    return shortfall(world.signal, world)


@separate
def _restart(world, goal):
    for k in range(world.n_journal[0]):
        m = np.int64(world.journal[k])
        source, target = np.int64(world.clusters.cluster_of[m]), np.int64(goal.clusters.cluster_of[m])
        if source != target:
            bring_to(world.clusters, m, world.clusters.size[source] - 1)
            world.clock[0] += 1
            kept = world.n_journal[0]
            world.n_journal[0] = 0  # going home is not written down: the journal is being read
            first = world.journal[0]
            _make(world, Transfer(source, target, np.int64(1)))
            world.journal[0] = first
            world.n_journal[0] = kept
    world.n_journal[0] = 0


LARGE.add(PartitionWorld)
register(
    PartitionWorld,
    enter=_enter,
    propose=_propose,
    n_factors=_n_factors,
    n_leaving=_n_leaving,
    factor=_factor,
    factor_score=_factor_score,
    difference=_difference,
    delta=_delta,
    forbids=_forbids,
    signal=_signal,
    is_silent=_is_silent,
    commit=_commit,
    retrace=_retrace,
    restart=_restart,
)


def partition_score(world: PartitionWorld, weights: ArrayLike) -> float:
    """The score of the whole partition, from nothing."""
    theta = np.ascontiguousarray(weights, dtype=np.float64)
    phi = sparse_vector(len(theta))
    _add_all(world, phi)
    return dot(phi, theta)


def partition_statistics(world: PartitionWorld) -> NDArray[np.float64]:
    """phi of the whole partition: how often each statistic holds, (n_weights,)."""
    phi = sparse_vector(world.model.n_weights)
    _add_all(world, phi)
    dense = np.zeros(world.model.n_weights)
    n = int(phi.size[0])
    dense[phi.index[:n]] = phi.value[:n]
    return dense


@compiled(allocates=False)
def _add_all(whole, phi):
    """Add the statistics of every document."""
    world = refer(whole)
    kept = world.window[2]
    for d in range(len(world.document_ptr) - 1):
        world.window[0] = world.document_ptr[d]
        world.window[1] = world.document_ptr[d + 1]
        world.window[2] = d
        _add_clusters(world, 1.0, phi)
    _add_spreads(world, 1.0, phi)
    world.window[0] = world.document_ptr[kept]
    world.window[1] = world.document_ptr[kept + 1]
    world.window[2] = kept
