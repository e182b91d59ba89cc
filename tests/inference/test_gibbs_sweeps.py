"""Sweeps of Gibbs sampling: special layouts agree with the general one, threads change nothing."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_graphs import random_binary_graph, random_graph, random_world
from walkstep.inference import enumerate_worlds, gibbs, potentials, run
from walkstep.inference.boltzmann import boltzmann, logistic
from walkstep.inference.colouring import colours
from walkstep.inference.gibbs import _Binary, _Labels, _RandomBinary, plan
from walkstep.model import Factors, ground
from walkstep.worlds import stream


def ring(n, *, tied, n_values=2):
    """Variables in a ring, all pairs alike or each with features of its own."""
    rng = np.random.default_rng(0)
    pairs = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    features = None if tied else rng.normal(size=(n, 2))
    graph, layout = ground(np.full(n, n_values), [Factors("pair", pairs, features=features)])
    return graph, rng.normal(size=layout.size)


def free(graph):
    return np.full(graph.n_variables, -1, np.int32)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    tied=st.booleans(),
    n_variables=st.integers(2, 12),
    temperature=st.sampled_from([0.3, 1.0]),
)
def test_binary_pairwise_graphs_draw_with_the_probabilities_of_the_general_path(seed, tied, n_variables, temperature):
    graph, weights = random_binary_graph(seed, n_variables, tied=tied)
    held = potentials(graph, weights)
    values = random_world(graph, np.random.default_rng(seed))
    general = _Labels(held, colours(graph), 1)
    expected = general.chances(general.init(values), temperature)
    machine = boltzmann(held)
    looked_up, added_up = (_Binary(machine, colours(graph), 1, max_types) for max_types in (1000, 0))
    assert looked_up.blocks.is_tied
    assert not added_up.blocks.is_tied
    for special in (looked_up, added_up, _RandomBinary(machine, free(graph))):
        chances = special.chances(special.init(values), temperature)
        np.testing.assert_allclose(chances, expected, rtol=1e-12, atol=1e-13)


def test_weights_that_are_tied_are_looked_up_and_others_added_up():
    for tied in (True, False):
        graph, weights = ring(300, tied=tied)
        assert plan(potentials(graph, weights), free(graph), "systematic").blocks.is_tied is tied


@pytest.mark.parametrize("tied", [True, False])
def test_the_numbers_drawn_are_those_the_probabilities_say(tied):
    graph, weights = random_binary_graph(5, 7, tied=tied)
    walk = _Binary(boltzmann(potentials(graph, weights)), colours(graph), 1, 1000 if tied else 0)
    rng, state = stream(1), walk.init(np.zeros(7, np.int32))
    hits = expected = 0.0
    site = int(walk.blocks.order[0])  # the first one drawn: given what stood there before the sweep
    n = 4000
    for _ in range(n):
        expected += walk.chances(state, 1.0)[site, 1]
        walk.sweep(state, 1.0, rng)
        hits += state.values[site]
    assert abs(hits - expected) < 5 * np.sqrt(n) / 2


def test_a_table_too_large_is_not_made():
    n = 20
    groups = [Factors("pair", [[0, v] for v in range(1, n)], sets=np.arange(n - 1), n_sets=n - 1)]
    graph, layout = ground(np.full(n, 2), groups)
    weights = np.random.default_rng(0).normal(size=layout.size)
    assert not plan(potentials(graph, weights), free(graph), "systematic").blocks.is_tied


def test_logistic_is_right_to_the_last_digits():
    x = np.concatenate([np.linspace(-30, 30, 4001), [-800.0, 800.0, 0.0]])
    p = np.array([logistic(float(each)) for each in x])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-x)), rtol=1e-13, atol=1e-300)


@given(seed=st.integers(0, 10**6))
def test_no_factor_joins_two_variables_of_a_colour(seed):
    graph, _ = random_graph(seed, n_variables=8)
    colour = colours(graph)
    for f in range(graph.n_factors):
        scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
        assert len(set(colour[scope])) == len(scope)


@pytest.mark.parametrize("make", ["tied", "untied", "labels"])
def test_chromatic_sweeps_do_not_depend_on_the_number_of_threads(make, monkeypatch):
    monkeypatch.setattr(sys.modules["walkstep.inference.gibbs"], "MIN_SHARED", 1)
    graph, weights = ring(600, tied=make == "tied", n_values=3 if make == "labels" else 2)
    start = random_world(graph, np.random.default_rng(1))
    one, two, three = (
        run(gibbs(graph, weights, scan="chromatic", n_threads=k), start, 20, rng=7).draws for k in (1, 2, 3)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)
    np.testing.assert_array_equal(one, run(gibbs(graph, weights), start, 20, rng=7).draws)


@pytest.mark.parametrize("scan", ["systematic", "random"])
@pytest.mark.parametrize("binary", [True, False])
def test_clamped_variables_stay_and_the_others_follow_the_evidence(scan, binary):
    graph, weights = random_binary_graph(2, 4, tied=True) if binary else random_graph(1, 4)
    sampler = gibbs(graph, weights, scan=scan, clamp={1: 1})
    samples = run(sampler, np.zeros(4, int), 4000, rng=0)
    assert (samples.draws[0, :, 1] == 1).all()
    exact = enumerate_worlds(graph, weights)
    given_evidence = exact.worlds[:, 1] == 1
    p = exact.probabilities[given_evidence] / exact.probabilities[given_evidence].sum()
    expected = p @ (exact.worlds[given_evidence] == 0)
    np.testing.assert_allclose(samples.marginals()[:, 0], expected, atol=0.06)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_temperature_zero_takes_the_best_value(binary, scan):
    graph, weights = random_binary_graph(2, 5, tied=False) if binary else random_graph(1, 5)
    scores = run(gibbs(graph, weights, temperature=0.0, scan=scan), None, 30, rng=0).scores[0]
    assert (np.diff(scores) >= -1e-9).all()


def test_hard_constraints_take_the_general_path():
    forbid = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    graph, _ = ground([2, 2], [Factors("same", [[0, 1]], fixed=forbid)])
    samples = run(gibbs(graph, np.zeros(0)), [1, 1], 50, rng=0)
    assert (samples.draws == 1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scan": "typewriter"}, "scan is 'typewriter'; choose"),
        ({"n_threads": 2}, "choose scan='chromatic'"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": np.nan}, "temperature is nan"),
        ({"clamp": {9: 0}}, "clamp names variable 9"),
        ({"clamp": {0: 5}}, "clamp holds variable 0 at 5"),
        ({"clamp": [0]}, "clamp has shape"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    graph, weights = random_binary_graph(0, 3, tied=True)
    with pytest.raises(ValueError, match=message):
        gibbs(graph, weights, **arguments)


def test_bad_starts_and_weights_are_named():
    graph, weights = random_binary_graph(0, 3, tied=True)
    with pytest.raises(ValueError, match="values of variable 1 is 7"):
        gibbs(graph, weights).init([0, 7, 0])
    with pytest.raises(ValueError, match="this graph takes"):
        gibbs(graph, weights[1:])
    with pytest.raises(ValueError, match="weight 0 is nan"):
        gibbs(graph, np.where(np.arange(len(weights)) == 0, np.nan, weights))


def test_a_graph_without_factors_is_sampled_uniformly():
    graph, _ = ground(np.full(2000, 2), [])
    assert abs(run(gibbs(graph, np.zeros(0)), None, 1, rng=0).draws.mean() - 0.5) < 0.06
