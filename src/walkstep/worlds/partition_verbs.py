"""The verbs of partition worlds: every move priced by what it changes, pairs by pairs and cluster by cluster."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.references import refer
from walkstep.separate import separate
from walkstep.worlds.cluster_contents import look_ahead, statistics_ahead, statistics_now
from walkstep.worlds.cluster_statistics import value_changes
from walkstep.worlds.clusters import bring_to, member, place
from walkstep.worlds.jumps import note_tried, settle_jump, suggest_jump
from walkstep.worlds.link_constraints import forbids as verdict_on
from walkstep.worlds.pair_levels import look
from walkstep.worlds.pair_scores import score_of_pair
from walkstep.worlds.pair_statistics import add_pair
from walkstep.worlds.partition_signals import begin, gain, record, shortfall
from walkstep.worlds.sparse import add
from walkstep.worlds.transfers import Transfer, mover, n_staying


@separate
def enter(world, document):
    """Turn to one document; returns how many mentions it has."""
    world.window[0] = world.document_ptr[document]
    world.window[1] = world.document_ptr[document + 1]
    world.window[2] = document
    begin(world.signal, world)
    return world.window[1] - world.window[0]


@separate
def propose(world, rng):
    """A move of the world's proposer, and its log ratio."""
    world.clock[0] += 1
    move, ratio = suggest_jump(world.proposer, world, rng)
    return move, settle_jump(world.proposer, world, move, ratio)


@separate
def draft(world, rng):
    """A move of the world's proposer, and as much of its log ratio as is known before it is priced."""
    world.clock[0] += 1
    return suggest_jump(world.proposer, world, rng)


def settle(world, move, ratio):
    """The whole log ratio of that move."""
    return settle_jump(world.proposer, world, move, ratio)


# --- factors: pairs broken, then pairs made, then templates of the source and of the target, then values that spread


@compiled(inline=True)
def _n_pairs(world, move):
    """How many pairs a move breaks and makes: all who move with all who stay, in either cluster."""
    rest, n_other = n_staying(world, move)
    return np.int64(move.n + move.n_back) * (rest + n_other)


def n_factors(world, move):
    """Pairs, templates of either cluster, and columns whose values spread."""
    if move.n == 0:
        return np.int64(0)
    return _n_pairs(world, move) + 2 * len(world.model.kind) + len(world.model.spread_column)


def n_leaving(world, move):
    """The pairs that a move breaks."""
    rest, n_other = n_staying(world, move)
    return np.int64(move.n) * rest + np.int64(move.n_back) * n_other


@compiled(inline=True)
def _pair(world, move, k):
    """The k-th pair that a move breaks or makes: the one that moves, the one that does not, and -1 or +1."""
    held, source, target = world.clusters, move.source, move.target
    rest, n_other = n_staying(world, move)
    if k < move.n * rest:
        return member(held, source, rest + k // rest), member(held, source, k % rest), -1.0
    k -= move.n * rest
    if k < move.n_back * n_other:
        return member(held, target, n_other + k // n_other), member(held, target, k % n_other), -1.0
    k -= move.n_back * n_other
    if k < move.n * n_other:
        return member(held, source, rest + k // n_other), member(held, target, k % n_other), 1.0
    k -= move.n * n_other
    return member(held, target, n_other + k // rest), member(held, source, k % rest), 1.0


@separate
def factor(world, move, k, phi):
    """Add what a move changes of the k-th factor's statistics."""
    n_pairs = _n_pairs(world, move)
    if k < n_pairs:
        m, i, sign = _pair(world, move, k)
        add_pair(world.model, world.pairs, look(world.pairs, m, i), sign, phi)
        return
    k -= n_pairs
    n_templates = len(world.model.kind)
    if k >= 2 * n_templates:
        _add_spread(world, move, k - 2 * n_templates, phi)
    else:
        look_ahead(world, move)
        _add_side(world, move, k % 2, k // 2, k // 2 + 1, phi)


@separate
def factor_score(world, move, k, weights, phi):
    """The score of that."""
    n_pairs = _n_pairs(world, move)
    if k < n_pairs:
        m, i, sign = _pair(world, move, k)
        return sign * score_of_pair(world.model, world.pairs, m, i, weights)
    k -= n_pairs
    n_templates = len(world.model.kind)
    if k >= 2 * n_templates:
        s = k - 2 * n_templates
        n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
        return weights[world.model.spread_offset[s]] * n_split
    look_ahead(world, move)
    return _score_side(world, move, k % 2, k // 2, k // 2 + 1, weights)


@compiled(inline=True)
def _add_side(world, move, side, first, last, phi):
    """Add what a move changes of the source's or target's statistics, by some templates."""
    n = statistics_ahead(world, move, side, first, last)
    for s in range(n):
        add(phi, world.statistic[s], world.amount[s])
    n = statistics_now(world, move.source if side == 0 else move.target, first, last)
    for s in range(n):
        add(phi, world.statistic[s], -world.amount[s])


@compiled(inline=True)
def _score_side(world, move, side, first, last, weights):
    """The score of that."""
    total = 0.0
    n = statistics_ahead(world, move, side, first, last)
    for s in range(n):
        total += world.amount[s] * weights[world.statistic[s]]
    n = statistics_now(world, move.source if side == 0 else move.target, first, last)
    for s in range(n):
        total -= world.amount[s] * weights[world.statistic[s]]
    return total


@compiled(inline=True)
def _add_spread(world, move, s, phi):
    """Add what a move changes of the values that lie in several clusters."""
    n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
    if n_split != 0:
        add(phi, np.int64(world.model.spread_offset[s]), np.float64(n_split))


# --- all factors at once


@separate
def difference(world, move, phi):
    """Add phi after the move minus before."""
    if move.n == 0:
        return
    held = world.clusters
    for k in range(move.n + move.n_back):
        m, left, n_left, joined, n_joined = mover(world, move, k)
        for i in range(n_left):
            add_pair(world.model, world.pairs, look(world.pairs, m, member(held, left, i)), -1.0, phi)
        for i in range(n_joined):
            add_pair(world.model, world.pairs, look(world.pairs, m, member(held, joined, i)), 1.0, phi)
    if len(world.model.kind) + len(world.model.spread_column) > 0:
        _difference_of_clusters(world, move, phi)


@separate
def delta(world, move, weights, phi):
    """The score after the move minus before; without bound where constraints forbid or mend."""
    if move.n == 0:
        return 0.0
    verdict = verdict_on(world, move)
    if verdict > 0:
        return -np.inf
    held, model = world.clusters, world.model
    total = 0.0
    for k in range(move.n + move.n_back):
        m, left, n_left, joined, n_joined = mover(world, move, k)
        for i in range(n_left):
            total -= score_of_pair(model, world.pairs, m, member(held, left, i), weights)
        for i in range(n_joined):
            total += score_of_pair(model, world.pairs, m, member(held, joined, i), weights)
    if len(model.kind) + len(model.spread_column) > 0:
        total += _delta_of_clusters(world, move, weights)
    return np.inf if verdict < 0 else total


@compiled(inline=True)
def _difference_of_clusters(world, move, phi):
    """What a move changes of the statistics of whole clusters."""
    look_ahead(world, move)
    for side in range(2):
        _add_side(world, move, side, 0, len(world.model.kind), phi)
    for s in range(len(world.model.spread_column)):
        _add_spread(world, move, s, phi)


@compiled(inline=True)
def _delta_of_clusters(world, move, weights):
    """What a move changes of the scores of whole clusters."""
    look_ahead(world, move)
    total = 0.0
    for side in range(2):
        total += _score_side(world, move, side, 0, len(world.model.kind), weights)
    for s in range(len(world.model.spread_column)):
        n_split = value_changes(world, move, np.int64(world.model.spread_column[s]), False)[2]
        total += weights[world.model.spread_offset[s]] * n_split
    return total


def forbids(world, move):
    """Whether the move breaks a constraint."""
    return move.n > 0 and verdict_on(world, move) > 0


@separate
def signal(world, move):
    """The metric after the move minus before."""
    return gain(world.signal, world, move) if move.n > 0 else 0.0


def is_silent(world, move):
    """Never: the goal of a partition stays where it is."""
    return False


# --- making moves


def note(world, move, change, accepted):
    """Tell the proposer what became of its jump."""
    note_tried(world.proposer, world, move, change, accepted)


def commit(world, move):
    """Make the move, unless it is none."""
    if move.n > 0:
        _make(world, move)


@compiled(inline=True)
def _write_down(world, m):
    """Note in the journal that a mention moves, where there is one."""
    if len(world.journal) > 0:
        at = world.n_journal[0]
        if at == len(world.journal):
            raise ValueError("more mentions moved than the world's journal holds; make it longer")
        world.journal[at] = m
        world.n_journal[0] = at + 1


@separate
def _make(world, move):
    """Make a move, with all that is counted."""
    model, held = world.model, world.clusters
    source, target = move.source, move.target
    record(world.signal, world, move)
    if len(model.counted) + len(model.n_values) > 0:
        look_ahead(world, move)
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
    n_source, n_target = held.size[source], held.size[target]
    for k in range(move.n + move.n_back):
        # Those who come back still lie where they did, behind those who stay and before those who have come.
        is_going = k < move.n
        m = member(held, source, n_source - 1 - k) if is_going else member(held, target, n_target - 1 - k + move.n)
        _write_down(world, m)
        place(held, m, target if is_going else source, world.window[2], world.window[0])
    world.clock[0] += 1


@separate
def restart(world, goal):
    """Go back to the goal: what the journal tells of goes home, one by one."""
    for k in range(world.n_journal[0]):
        m = np.int64(world.journal[k])
        source, target = np.int64(world.clusters.cluster_of[m]), np.int64(goal.clusters.cluster_of[m])
        if source != target:
            bring_to(world.clusters, m, world.clusters.size[source] - 1)
            world.clock[0] += 1
            kept = world.n_journal[0]
            world.n_journal[0] = 0  # going home is not written down: the journal is being read
            first = world.journal[0]
            _make(world, Transfer(source, target, np.int64(1), np.int64(0)))
            world.journal[0] = first
            world.n_journal[0] = kept
    world.n_journal[0] = 0


# --- whole partitions


@compiled(inline=True)
def _add_clusters(world, sign, phi):
    """Add the statistics of all clusters of the document entered to phi."""
    first = world.window[0]
    held = world.clusters
    for at in range(first, first + held.n_used[world.window[2]]):
        slot = np.int64(held.order[at])
        for i in range(held.size[slot]):
            for j in range(i):
                add_pair(
                    world.model, world.pairs, look(world.pairs, member(held, slot, i), member(held, slot, j)), sign, phi
                )
        n = statistics_now(world, slot, 0, len(world.model.kind))
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
def retrace(world, goal, phi):
    """Add phi of the goal minus phi of the world; returns the gap in metric."""
    _add_clusters(goal, 1.0, phi)
    _add_clusters(world, -1.0, phi)
    _add_spreads(goal, 1.0, phi)
    _add_spreads(world, -1.0, phi)
    return shortfall(world.signal, world)


@compiled(allocates=False)
def add_all(whole, phi):
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
