"""Moves priced by what they change, against whole worlds counted from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_graphs import random_graph, random_world
from walkstep.compiled import compiled
from walkstep.model import Factors, ground
from walkstep.model.score import score, statistics
from walkstep.worlds import (
    Flip,
    Hamming,
    Relabel,
    as_metric,
    as_signal,
    label_world,
    span_f1,
    sparse_vector,
    token_f1,
)
from walkstep.worlds.base import commit, delta, difference, enter, factor, n_factors, signal
from walkstep.worlds.sparse import clear

seeds = st.integers(0, 10**6)
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@compiled(allocates=False)
def priced(world, move, weights, phi, by_factor):
    """The difference at once and factor by factor, how many factors there are, and the change of score."""
    clear(phi)
    difference(world, move, phi)
    n = n_factors(world, move)
    for k in range(n):
        factor(world, move, k, by_factor)
    return n, delta(world, move, weights, phi)


@compiled(allocates=False)
def gain_and_commit(world, move):
    gain = signal(world, move)
    commit(world, move)
    return gain


@compiled(allocates=False)
def enter_document(world, document):
    return enter(world, document)


def relabel(sites, values):
    """A move of several sites, in arrays with room to spare."""
    n = len(sites)
    move = Relabel(np.zeros(8, np.int64), np.zeros(8, np.int32), np.array([n]))
    move.sites[:n], move.values[:n] = sites, values
    return move


def dense(phi, n):
    out = np.zeros(n)
    for index, value in phi.to_dict().items():
        out[index] = value
    return out


def check_price(graph, weights, values, move, sites, new):
    after = values.copy()
    after[sites] = new
    n = graph.n_weights
    phi, by_factor = sparse_vector(n), sparse_vector(n)
    world = label_world(graph, values=values)
    n_touched, change = priced(world, move, weights, phi, by_factor)
    expected = statistics(graph, after) - statistics(graph, values)
    np.testing.assert_allclose(dense(phi, n), expected, atol=1e-12)
    np.testing.assert_allclose(dense(by_factor, n), expected, atol=1e-12)
    assert n_touched == sum(np.diff(graph.variable_ptr)[list(sites)])
    before, now = score(graph, weights, values), score(graph, weights, after)
    if np.isfinite(before):
        assert change == pytest.approx(now - before, abs=1e-9)
    np.testing.assert_array_equal(world.values, values)  # asking changes nothing


@given(seed=seeds)
def test_a_flip_changes_what_the_statistics_say(seed):
    rng = np.random.default_rng(seed)
    graph, weights = random_graph(seed, 5)
    values = random_world(graph, rng)
    site = int(rng.integers(5))
    value = int(rng.integers(graph.n_values[site]))
    check_price(graph, weights, values, Flip(site, value), [site], [value])


@given(seed=seeds, n_sites=st.integers(1, 5))
def test_a_move_of_several_sites_counts_every_factor_once(seed, n_sites):
    rng = np.random.default_rng(seed)
    graph, weights = random_graph(seed, 5)
    values = random_world(graph, rng)
    sites = rng.permutation(5)[:n_sites]
    new = rng.integers(0, graph.n_values[sites])
    check_price(graph, weights, values, relabel(sites, new), sites, new)


# --- signals --------------------------------------------------------------------------------------------------


def spans(labels, truth):
    """CoNLL's spans of one sentence, those with an unknown true value left out."""
    found, start, kind = [], None, None
    for i, label in enumerate([*labels, "O"]):
        prefix, _, name = label.partition("-")
        if start is not None and (prefix in ("O", "B") or name != kind):
            if all(t >= 0 for t in truth[start:i]):
                found.append((start, i, kind))
            start = None
        if prefix != "O" and start is None:
            start, kind = i, name
    return set(found)


def f1(right, predicted, true):
    return 1.0 if predicted + true == 0 else 2 * right / (predicted + true)


def slow_hamming(values, truth, sentences):
    return float(((values == truth) & (truth >= 0)).sum())


def slow_token_f1(values, truth, sentences):
    known = truth >= 0
    right = ((values == truth) & (values != 0) & known).sum()
    return f1(right, ((values != 0) & known).sum(), ((truth != 0) & known).sum())


def slow_span_f1(values, truth, sentences):
    right = predicted = true = 0
    for first, last in sentences:
        own = truth[first:last]
        here = spans([LABELS[v] for v in values[first:last]], own)
        there = spans(["O" if t < 0 else LABELS[t] for t in own], own)
        right, predicted, true = right + len(here & there), predicted + len(here), true + len(there)
    return f1(right, predicted, true)


def own_difference(values, truth, site, value, first, last):
    return 2.0 * (value == truth[site]) - 2.0 * (values[site] == truth[site])


def own_metric(values, truth):
    total = 0.0
    for i in range(len(values)):
        if truth[i] >= 0 and values[i] == truth[i]:
            total += 1.0
    return total * total


def slow_square(values, truth, sentences):
    return slow_hamming(values, truth, sentences) ** 2


SENTENCES = [(0, 5), (5, 6), (6, 12)]
PTR = [0, 5, 6, 12]


def check_signal(make, slow, seed, n_moves=12, *, unknown=True):
    rng = np.random.default_rng(seed)
    n = 12
    graph, _ = ground(np.full(n, len(LABELS)), [Factors("bias", np.arange(n)[:, None])])
    truth = rng.integers(0, len(LABELS), n)
    if unknown:
        truth[rng.random(n) < 0.15] = -1
    values = rng.integers(0, len(LABELS), n)
    metric = make(truth)
    world = label_world(graph, truth, values=values, signal=metric)
    enter_document(world, 0)
    for _ in range(n_moves):
        # The truth is silent where it is unknown, so only moves among known sites are worth something.
        known = np.flatnonzero(truth >= 0)
        sites = rng.permutation(known)[: rng.integers(1, 4)]
        new = rng.integers(0, len(LABELS), len(sites))
        before = slow(world.values, truth, SENTENCES)
        move = relabel(sites, new)
        gain = gain_and_commit(world, move)
        after = slow(world.values, truth, SENTENCES)
        np.testing.assert_array_equal(world.values[sites], new)
        assert gain == pytest.approx(after - before, abs=1e-12)


@settings(max_examples=25)
@given(seed=seeds)
def test_hamming_by_difference(seed):
    check_signal(lambda truth: Hamming(), slow_hamming, seed)


@settings(max_examples=25)
@given(seed=seeds)
def test_token_f1_by_difference(seed):
    check_signal(lambda truth: token_f1(0), slow_token_f1, seed)


@settings(max_examples=60)
@given(seed=seeds, unknown=st.booleans())
def test_span_f1_by_difference(seed, unknown):
    check_signal(lambda truth: span_f1(LABELS, truth, PTR), slow_span_f1, seed, unknown=unknown)


@pytest.mark.parametrize("seed", range(3))
def test_a_users_difference(seed):
    own = as_signal(own_difference)
    check_signal(lambda truth: own, lambda v, t, s: 2 * slow_hamming(v, t, s), seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("compile_it", [True, False])
def test_a_users_metric_of_whole_documents(seed, compile_it):
    own = as_metric(own_metric, compile=compile_it)
    check_signal(lambda truth: own, slow_square, seed)


def test_a_signal_that_does_not_compile_is_named():
    def wrong(values, truth):
        return object()

    with pytest.raises(TypeError, match="metric 'wrong' does not compile"):
        as_metric(wrong)
