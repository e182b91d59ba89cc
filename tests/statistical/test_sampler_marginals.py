"""Marginals of every sampler within five Monte Carlo standard errors of enumeration, at fixed seeds."""

import numpy as np
import pytest

from lean_proposers import forgetful_proposer, lean_pair_proposer
from random_graphs import random_binary_graph, random_graph
from walkstep.inference import (
    effective_sample_size,
    enumerate_worlds,
    gibbs,
    metropolis,
    monte_carlo_error,
    run_chains,
    split_r_hat,
)
from walkstep.worlds import as_proposer

pytestmark = pytest.mark.statistical


def distance_in_errors(sampler, graph, weights, temperature=1.0, n_steps=4000):
    """The worst marginal's distance from enumeration, in standard errors."""
    start = np.ones(graph.n_variables, int)
    samples = run_chains(sampler, [start] * 4, 4, n_steps, rng=11, burn_in=100)
    exact = enumerate_worlds(graph, weights, temperature=temperature).marginals()
    is_value = samples.draws[..., None] == np.arange(exact.shape[1])
    np.testing.assert_allclose(samples.marginals(), is_value.mean(axis=(0, 1)))
    # A value so rare that it may not have been drawn has no error of its own: that of one draw in all.
    error = np.maximum(monte_carlo_error(is_value), 1 / (4 * n_steps))
    assert (split_r_hat(samples.draws) < 1.02).all()
    assert (effective_sample_size(samples.draws) > 400).all()
    return float((np.abs(samples.marginals() - exact) / error).max())


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_gibbs_on_any_graph(seed, scan):
    graph, weights = random_graph(seed)
    assert distance_in_errors(gibbs(graph, weights, scan=scan), graph, weights) < 5


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scan", ["systematic", "random", "chromatic"])
def test_gibbs_on_binary_pairwise_graphs(tied, scan, temperature):
    graph, weights = random_binary_graph(8, tied=tied)
    sampler = gibbs(graph, weights * 0.5, scan=scan, temperature=temperature)
    assert distance_in_errors(sampler, graph, weights * 0.5, temperature) < 5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_metropolis_with_uniform_flips(seed):
    graph, weights = random_graph(seed)
    sampler = metropolis(graph, weights, n_moves=30, temperature=1.5)
    assert distance_in_errors(sampler, graph, weights, 1.5) < 5


@pytest.mark.parametrize("seed", [0, 1])
def test_metropolis_with_an_asymmetric_proposer_of_pairs(seed):
    graph, weights = random_graph(seed)
    sampler = metropolis(graph, weights, proposer=as_proposer(lean_pair_proposer), n_moves=60)
    assert distance_in_errors(sampler, graph, weights, n_steps=1000) < 5


def test_a_proposer_that_forgets_its_ratio_is_caught():
    graph, weights = random_graph(1)
    sampler = metropolis(graph, weights, proposer=as_proposer(forgetful_proposer), n_moves=60)
    assert distance_in_errors(sampler, graph, weights, n_steps=1000) > 10
