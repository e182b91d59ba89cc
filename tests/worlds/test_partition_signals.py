from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.evaluation import clusters as whole
from walkstep.references import refer
from walkstep.worlds.base import commit, enter, retrace, signal
from walkstep.worlds.partition import at_truth, partition_world, transfer
from walkstep.worlds.partition_proposers import Transfer
from walkstep.worlds.partition_signals import b_cubed, pair_accuracy, pair_f1, pair_labels
from walkstep.worlds.sparse import sparse_vector
from worlds.naive_partition import Toy, groups_of

pytestmark = pytest.mark.xdist_group("partition")

PTR = (0, 5, 12)
TRUTH = [0, 0, 1, -1, 1, 2, 2, 2, 3, 3, -1, 4]
LABELS = [(0, 1, True), (0, 4, False), (5, 8, True), (6, 7, False), (7, 11, True), (8, 11, False)]


@compiled(allocates=False)
def gain_of(world, move):
    return signal(refer(world), move)


@compiled(allocates=False)
def make(world, move):
    commit(refer(world), move)


@compiled(allocates=False)
def turn_to(world, document):
    enter(refer(world), document)


@compiled(allocates=False)
def gap_to(world, goal, phi):
    return retrace(refer(world), refer(goal), phi)


@cache
def toy():
    return Toy(12)


def world_of(signal, assignment, truth):
    return partition_world(
        toy().model, toy().comparisons, truth, assignment=assignment, document_ptr=PTR, signal=signal
    )


def naive_accuracy(values, truth, first, last):
    return sum(
        (values[i] == values[j]) == (truth[i] == truth[j])
        for i, j in combinations(range(first, last), 2)
        if truth[i] >= 0 and truth[j] >= 0
    )


def naive_labels(values, first, last):
    return sum((values[i] == values[j]) == same for i, j, same in LABELS if first <= i < last)


def naive_f1(values, truth, first, last):
    return whole.pairwise(values[first:last], np.array(truth[first:last])).f1


def naive_cubed(values, truth, first, last):
    return whole.b_cubed(values[first:last], np.array(truth[first:last])).f1


def labels(scale=1.0):
    left, right, same = zip(*LABELS, strict=True)
    return pair_labels(12, left, right, same, scale=scale)


SIGNALS = {
    "pair_accuracy": (lambda truth: pair_accuracy(scale=0.5), lambda v, t, a, b: 0.5 * naive_accuracy(v, t, a, b)),
    "pair_f1": (lambda truth: pair_f1(scale=2.0), lambda v, t, a, b: 2.0 * naive_f1(v, t, a, b)),
    "b_cubed": (lambda truth: b_cubed(truth, PTR, scale=3.0), lambda v, t, a, b: 3.0 * naive_cubed(v, t, a, b)),
    "pair_labels": (lambda truth: labels(2.0), lambda v, t, a, b: 2.0 * naive_labels(v, a, b)),
}


@settings(max_examples=25)
@pytest.mark.parametrize("name", SIGNALS)
@given(data=st.data())
def test_gains_are_differences_of_the_whole_metric(name, data):
    """Along a walk in one document: one or several mentions go, some may come back, some are of unknown truth."""
    make_signal, naive = SIGNALS[name]
    document = data.draw(st.integers(0, 1))
    first, last = PTR[document], PTR[document + 1]
    assignment = data.draw(st.lists(st.integers(0, 3), min_size=12, max_size=12))
    truth = data.draw(st.sampled_from([TRUTH, [0] * 12, list(range(12)), [-1] * 11 + [0]]))
    if name in ("pair_f1", "b_cubed") and max(truth[first:last]) < 0:
        return  # nothing is known, and the whole metric is not defined
    world = world_of(make_signal(truth), assignment, truth)
    turn_to(world, document)
    for _ in range(5):
        group = data.draw(st.sampled_from([g for g in groups_of(world.values) if first <= g[0] < last]))
        movers = data.draw(st.lists(st.sampled_from(group), min_size=1, unique=True))
        slots = {int(s) for s in world.clusters.cluster_of[first:last]} - {int(world.clusters.cluster_of[group[0]])}
        targets = sorted(slots) + [None] * (len(movers) < len(group))
        if not targets:
            continue
        before = naive(world.values, truth, first, last)
        target = data.draw(st.sampled_from(targets))
        there = np.flatnonzero(world.clusters.cluster_of == (-1 if target is None else target)).tolist()
        back = data.draw(st.lists(st.sampled_from(there), unique=True)) if there else []
        move = transfer(world, movers, target, back or None)
        gained = gain_of(world, move)
        make(world, move)
        assert gained == pytest.approx(naive(world.values, truth, first, last) - before, abs=1e-12)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("seed", range(3))
def test_the_shortfall_is_what_the_truth_gains(name, seed):
    make_signal, naive = SIGNALS[name]
    truth = [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    world = world_of(make_signal(truth), np.random.default_rng(seed).integers(0, 3, 12), truth)
    goal = at_truth(world)
    for document, (first, last) in enumerate([PTR[:2], PTR[1:]]):
        turn_to(world, document)
        turn_to(goal, document)
        short = gap_to(world, goal, sparse_vector(toy().model.n_weights))
        best = 2.0 * sum(first <= i < last for i, *_ in LABELS)  # labels that the truth need not agree with
        if name != "pair_labels":
            best = naive(goal.values, truth, first, last)
        assert short == pytest.approx(best - naive(world.values, truth, first, last))


def test_a_move_that_stays_gains_nothing():
    world = world_of(pair_f1(), [0] * 12, TRUTH)
    assert gain_of(world, Transfer(0, 0, 0)) == 0.0


def test_a_perfect_partition_falls_short_of_nothing():
    truth = [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    for make_signal, _ in list(SIGNALS.values())[:3]:
        world = at_truth(world_of(make_signal(truth), None, truth))
        turn_to(world, 1)
        assert gap_to(world, world, sparse_vector(toy().model.n_weights)) == pytest.approx(0.0)


def test_true_entities_are_counted_within_their_document():
    assert b_cubed([0, 0, 0, 0, 1], [0, 3, 5]).true_size.tolist() == [3, 3, 3, 1, 1]
