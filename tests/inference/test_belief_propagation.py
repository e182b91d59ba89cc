"""Belief propagation on grounded graphs, against enumeration; structures that repeat; errors and outcomes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from random_graphs import random_binary_graph, random_graph
from walkstep.inference.beliefs import Settled, belief_propagation
from walkstep.inference.exact import enumerate_worlds
from walkstep.inference.forest import forest
from walkstep.inference.marginals import marginals
from walkstep.inference.wired_graph import wire
from walkstep.messages.message_passing import score_of
from walkstep.model import Factors, ground


def scores_of_all(graph, weights, exact):
    with jax.enable_x64(True):
        made = wire(graph)

        @jax.jit
        def score(values):
            return score_of(made.wired, made.tables.scores(jnp.asarray(weights)), values)

        return np.array([score(made.by_copy(values))[0] for values in exact.worlds])


@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_factor_scores_as_it_does_for_walks(seed):
    graph, weights = random_graph(seed)
    exact = enumerate_worlds(graph, weights)
    np.testing.assert_allclose(scores_of_all(graph, weights, exact), exact.log_weights)


@pytest.mark.parametrize("tied", [True, False])
def test_two_factors_on_one_pair_are_added(tied):
    graph, weights = random_binary_graph(1, n_variables=5, tied=tied)
    exact = enumerate_worlds(graph, weights)
    np.testing.assert_allclose(scores_of_all(graph, weights, exact), exact.log_weights)


def chains(n_chains, length, n_values, rng):
    """Chains with features at each variable, of equal structure."""
    n = n_chains * length
    left = np.concatenate([np.arange(length - 1) + c * length for c in range(n_chains)])
    groups = [
        Factors("emission", np.arange(n)[:, None], features=rng.normal(size=(n, 3))),
        Factors("transition", np.stack([left, left + 1], axis=1)),
    ]
    graph, layout = ground(np.full(n, n_values), groups)
    return graph, rng.normal(size=layout.size), np.arange(n_chains + 1) * length


def test_chains_are_exact_and_equal_forward_backward():
    graph, weights, ptr = chains(3, 5, 4, np.random.default_rng(0))
    expected = marginals(forest(graph), weights)
    for made in (wire(graph), wire(graph, ptr)):
        found = belief_propagation(made, weights)
        assert found.outcome is Settled.EXACT
        np.testing.assert_allclose(found.marginals, expected.probabilities, atol=1e-10)
        np.testing.assert_allclose(found.log_partition, expected.log_partition, atol=1e-10)


def test_documents_alike_are_copies_of_one_structure_and_share_tables():
    graph, weights, ptr = chains(3, 4, 2, np.random.default_rng(1))
    made = wire(graph, ptr)
    assert made.n_copies == 3
    with jax.enable_x64(True):
        scores = made.tables.scores(jnp.asarray(weights))
    assert scores.own.shape == (2, 4, 3)
    assert [table.shape for table in scores.tables] == [(2, 2, 1, 1)]
    assert wire(graph, [0, 5, 12]).n_copies == 1
    uneven, _ = ground([2] * 4, [Factors("edge", [[0, 1]])])
    assert wire(uneven, [0, 2, 4]).n_copies == 1


def test_a_ring_settles_near_the_truth_and_a_start_is_taken_up():
    graph, _ = ground([2] * 4, [Factors("edge", [[0, 1], [1, 2], [2, 3], [3, 0]]), Factors("bias", [[0]])])
    weights = np.array([0.5, 0.0, 0.0, 0.5, 0.0, 1.0])
    exact = enumerate_worlds(graph, weights)
    found = belief_propagation(graph, weights)
    assert found.outcome is Settled.CONVERGED
    assert found.converged
    np.testing.assert_allclose(found.marginals, exact.marginals(), atol=0.02)
    assert found.log_partition == pytest.approx(exact.log_partition, abs=0.02)
    assert belief_propagation(graph, weights, start=found).n_rounds <= 2


def test_messages_that_do_not_settle_say_what_to_do():
    graph, _ = ground([2] * 3, [Factors("edge", [[0, 1], [1, 2], [2, 0]]), Factors("bias", [[0]])])
    weights = np.array([-4.0, 0.0, 0.0, -4.0, 0.0, 0.1])
    found = belief_propagation(graph, weights, max_rounds=20)
    assert found.outcome is Settled.NOT_CONVERGED
    assert not found.converged
    assert "raise damping" in found.outcome.value
    assert found.change > 1e-6
    assert np.isfinite(found.marginals).all()


def test_max_product_finds_the_best_world_of_a_tree_and_low_temperatures_come_near():
    graph, weights, _ = chains(1, 5, 3, np.random.default_rng(2))
    best, _ = enumerate_worlds(graph, weights).best()
    found = belief_propagation(graph, weights, kind="max-product")
    np.testing.assert_array_equal(found.values, best)
    assert found.log_partition is None
    cold = belief_propagation(graph, weights, temperature=1e-4)
    np.testing.assert_allclose(cold.marginals, found.marginals, atol=1e-6)
    warm = belief_propagation(graph, weights, temperature=2.0)
    np.testing.assert_allclose(warm.marginals, enumerate_worlds(graph, weights / 2.0).marginals(), atol=1e-10)


def test_what_is_forbidden_has_no_probability():
    never = [[0.0, -np.inf], [0.0, 1.0]]
    graph, _ = ground([2, 2], [Factors("never", [[0, 1]], fixed=never)])
    found = belief_propagation(graph, [])
    np.testing.assert_allclose(found.marginals, enumerate_worlds(graph, np.zeros(0)).marginals(), atol=1e-12)


def test_a_graph_where_nothing_is_possible_is_refused():
    no = [[-np.inf, 0.0], [-np.inf, -np.inf]]
    graph, _ = ground([2, 2], [Factors("pair", [[0, 1]], fixed=no), Factors("one", [[0]], fixed=[-np.inf, 0.0])])
    with pytest.raises(ValueError, match="no assignment has a finite score"):
        belief_propagation(graph, [])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "mean-field"}, "kind is 'mean-field'; choose 'sum-product' or 'max-product'"),
        ({"temperature": 0.0}, "temperature is 0.0; give a number above 0"),
        ({"damping": 1.0}, "damping is 1.0; give a number from 0 to below 1"),
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"weights": [np.nan] * 4}, "weight 0 is nan; weights must be finite numbers"),
        ({"weights": [1.0]}, r"weights have shape \(1,\); this graph takes \(4,\)"),
    ],
)
def test_settings_that_mean_nothing_are_named(settings, message):
    graph, _ = ground([2, 2], [Factors("edge", [[0, 1]])])
    for given in (graph, wire(graph)):
        with pytest.raises(ValueError, match=message):
            belief_propagation(given, **{"weights": np.zeros(4), **settings})
