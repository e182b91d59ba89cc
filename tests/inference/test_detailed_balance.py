"""Samplers proved from their transition matrices: no luck involved."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lean_proposers import forgetful_proposer, lean_proposer
from random_graphs import random_binary_graph, random_graph
from walkstep.compiled import compiled
from walkstep.inference import enumerate_worlds, potentials
from walkstep.inference.exact import gibbs_matrices, metropolis_matrix
from walkstep.inference.gibbs import plan
from walkstep.learning.walk import score_of_move
from walkstep.worlds import Flip, as_proposer, label_world, sparse_vector, stream
from walkstep.worlds.base import propose


def check_detailed_balance(matrix, target):
    flow = target[:, None] * matrix
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)


def site_kernels(graph, weights, scan, temperature):
    """The matrices of single draws, and the walk whose own probabilities they are made of."""
    walk = plan(potentials(graph, weights), np.full(graph.n_variables, -1, np.int32), scan)
    return gibbs_matrices(graph, lambda values: walk.chances(walk.init(values), temperature)), walk


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([0.7, 1.0]))
def test_gibbs_keeps_detailed_balance_at_every_site_and_is_stationary_over_a_sweep(seed, temperature):
    graph, weights = random_graph(seed, n_variables=3)
    target = enumerate_worlds(graph, weights, temperature=temperature).probabilities
    possible = np.flatnonzero(target > 0)
    kernels, walk = site_kernels(graph, weights, "systematic", temperature)
    kernels, target = kernels[:, possible][:, :, possible], target[possible]
    for kernel in kernels:
        check_detailed_balance(kernel, target)
    check_detailed_balance(kernels.mean(axis=0), target)  # random scan
    sweep = np.linalg.multi_dot([np.eye(len(target)), *(kernels[v] for v in walk.order)])
    np.testing.assert_allclose(target @ sweep, target, atol=1e-12)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), tied=st.booleans(), scan=st.sampled_from(["systematic", "random"]))
def test_binary_gibbs_keeps_detailed_balance(seed, tied, scan):
    graph, weights = random_binary_graph(seed, n_variables=4, tied=tied)
    target = enumerate_worlds(graph, weights).probabilities
    kernels, _ = site_kernels(graph, weights, scan, 1.0)
    for kernel in kernels:
        check_detailed_balance(kernel, target)


def test_a_systematic_sweep_is_stationary_but_not_reversible():
    graph, weights = random_graph(1, n_variables=3)
    target = enumerate_worlds(graph, weights).probabilities
    kernels, walk = site_kernels(graph, weights, "systematic", 1.0)
    sweep = np.linalg.multi_dot([kernels[v] for v in walk.order])
    with pytest.raises(AssertionError):
        check_detailed_balance(sweep, target)


# --- Metropolis-Hastings --------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([0.7, 1.0]))
def test_metropolis_with_uniform_flips_keeps_detailed_balance(seed, temperature):
    graph, weights = random_graph(seed, n_variables=3)
    phi = sparse_vector(len(weights))

    def proposals(values):
        world = label_world(graph, values=values)
        for site in range(graph.n_variables):
            for value in set(range(graph.n_values[site])) - {int(values[site])}:
                new = values.copy()
                new[site] = value
                change = score_of_move(world, Flip(site, value), weights, phi)
                yield new, 1 / graph.n_variables / (graph.n_values[site] - 1), change / temperature

    target = enumerate_worlds(graph, weights, temperature=temperature).probabilities
    possible = np.flatnonzero(target > 0)
    matrix = metropolis_matrix(graph, proposals)[np.ix_(possible, possible)]
    check_detailed_balance(matrix, target[possible])


@compiled(allocates=False)
def propose_many(world, rng, sites, values, ratios):
    for i in range(len(ratios)):
        move, ratio = propose(world, rng)
        sites[i], values[i], ratios[i] = move.sites[0], move.values[0], ratio


@cache
def proposer_named(name):
    return as_proposer({"lean": lean_proposer, "forgetful": forgetful_proposer}[name])


def matrix_of_proposer(graph, weights, name):
    """The matrix of Metropolis-Hastings with a user's proposer, its ratios taken from the compiled function."""
    phi = sparse_vector(len(weights))

    def proposals(values):
        world = label_world(graph, values=values, proposer=proposer_named(name))
        sites, new_values, ratios = np.zeros(400, np.int64), np.zeros(400, np.int64), np.zeros(400)
        propose_many(world, stream(0), sites, new_values, ratios)
        ratio_of = dict(zip(zip(sites.tolist(), new_values.tolist(), strict=True), ratios, strict=True))
        for site in range(graph.n_variables):
            n = int(graph.n_values[site])
            for value in range(n):
                new = values.copy()
                new[site] = value
                change = score_of_move(world, Flip(site, value), weights, phi)
                chance = (value + 1) / (n * (n + 1) / 2) / graph.n_variables
                yield new, chance, change + ratio_of[site, value]

    return metropolis_matrix(graph, proposals)


def test_metropolis_with_an_asymmetric_proposer_keeps_detailed_balance():
    graph, weights = random_graph(1, n_variables=3)
    target = enumerate_worlds(graph, weights).probabilities
    check_detailed_balance(matrix_of_proposer(graph, weights, "lean"), target)


def test_a_wrong_ratio_is_caught():
    graph, weights = random_graph(1, n_variables=3)
    target = enumerate_worlds(graph, weights).probabilities
    with pytest.raises(AssertionError):
        check_detailed_balance(matrix_of_proposer(graph, weights, "forgetful"), target)
