"""What compiled code says of scores, against whole worlds scored in plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_graphs import random_graph, random_world
from walkstep.inference import enumerate_worlds, potentials, total_score
from walkstep.inference.gibbs import plan
from walkstep.inference.potentials import frozen_graph
from walkstep.learning.walk import score_of_move
from walkstep.model.score import score, statistics
from walkstep.worlds import Flip, label_world, sparse_vector

seeds = st.integers(0, 10**6)


@given(seed=seeds)
def test_total_score_matches_the_slow_twin(seed):
    graph, weights = random_graph(seed)
    values = random_world(graph, np.random.default_rng(seed))
    held = potentials(graph, weights)
    expected = score(graph, weights, values)
    assert total_score(held, values) == pytest.approx(expected, abs=1e-12)
    assert score(frozen_graph(held), np.zeros(0), values) == pytest.approx(expected, abs=1e-12)


@given(seed=seeds)
def test_the_delta_of_every_flip_is_the_difference_of_two_scores(seed):
    graph, weights = random_graph(seed)
    values = np.ones(graph.n_variables, np.int32)  # a possible world
    frozen = frozen_graph(potentials(graph, weights))
    before = score(graph, weights, values)
    for site in range(graph.n_variables):
        for value in range(graph.n_values[site]):
            after = values.copy()
            after[site] = value
            expected = pytest.approx(score(graph, weights, after) - before, abs=1e-12)
            move = Flip(site, value)
            with_weights = label_world(graph, values=values)
            assert score_of_move(with_weights, move, weights, sparse_vector(len(weights))) == expected
            with_tables = label_world(frozen, values=values)
            assert score_of_move(with_tables, move, np.zeros(0), sparse_vector(0)) == expected


@given(seed=seeds, temperature=st.sampled_from([0.5, 1.0, 3.0]))
def test_conditionals_are_those_of_the_joint_distribution(seed, temperature):
    graph, weights = random_graph(seed)
    exact = enumerate_worlds(graph, weights, temperature=temperature)
    walk = plan(potentials(graph, weights), np.full(graph.n_variables, -1, np.int32), "systematic")
    values = np.ones(graph.n_variables, np.int32)
    chances = walk.chances(walk.init(values), temperature)
    for v in range(graph.n_variables):
        others = np.delete(np.arange(graph.n_variables), v)
        same = (exact.worlds[:, others] == values[others]).all(axis=1)
        expected = exact.probabilities[same] / exact.probabilities[same].sum()
        np.testing.assert_allclose(chances[v, : graph.n_values[v]], expected, atol=1e-12)


@given(seed=seeds)
def test_enumeration_scores_worlds_and_statistics_like_the_slow_twin(seed):
    graph, weights = random_graph(seed, n_variables=3)
    exact = enumerate_worlds(graph, weights)
    slow = [score(graph, weights, values) for values in exact.worlds]
    np.testing.assert_allclose(exact.log_weights, slow, atol=1e-12)
    np.testing.assert_allclose(exact.marginals().sum(axis=1), 1.0)
    expected = sum(p * statistics(graph, values) for p, values in zip(exact.probabilities, exact.worlds, strict=True))
    np.testing.assert_allclose(exact.expected_statistics(), expected, atol=1e-12)


def test_expected_statistics_are_the_gradient_of_the_log_partition_function():
    graph, weights = random_graph(3)
    gradient = enumerate_worlds(graph, weights).expected_statistics()
    step = 1e-5
    for i in range(graph.n_weights):
        bump = step * (np.arange(graph.n_weights) == i)
        rise = (
            enumerate_worlds(graph, weights + bump).log_partition
            - enumerate_worlds(graph, weights - bump).log_partition
        )
        assert rise / (2 * step) == pytest.approx(gradient[i], abs=1e-8)


def test_enumeration_refuses_too_many_worlds_and_says_how_many():
    graph, weights = random_graph(0, n_variables=30, n_groups=1)
    with pytest.raises(ValueError, match=r"there are .* worlds.*gibbs"):
        enumerate_worlds(graph, weights)
