"""The likelihood of chains and its gradient, against enumeration, finite differences and exact marginals."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.features.rows import SparseRows
from walkstep.inference import Constraints, forest, marginals
from walkstep.learning._kernels.chain_likelihood import chains_loss
from walkstep.learning.chain_likelihood import ChainLikelihood
from walkstep.model import Factors, ground
from walkstep.model.graph import Kind

EXAMPLES = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("bare", "binary", "real", "dense", "fixed")


# --- random graphs, and the slow twin ------------------------------------------------------------------------


def random_factors(rng, name, scopes, shape, kind):
    """Factors of one kind, over many scopes."""
    n = len(scopes)
    if kind == "fixed":
        return Factors(name, scopes, fixed=rng.normal(size=shape))
    if kind == "bare":
        return Factors(name, scopes)
    bias = bool(rng.integers(2))
    dense = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.6)
    if kind == "dense":
        return Factors(name, scopes, features=dense, bias=bias)
    ptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int64)
    value = dense[dense != 0] if kind == "real" else np.zeros(0)
    return Factors(name, scopes, features=SparseRows(ptr, np.nonzero(dense)[1].astype(np.int32), value, 4), bias=bias)


def random_chains(seed, lengths, K, unary=KINDS, pair=("bare",)):
    """Sentences one after the other, with factors of the given kinds on tokens and on neighbours."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(ptr[-1])
    right = np.setdiff1d(np.arange(n), ptr)
    groups = [random_factors(rng, f"unary-{kind}", np.arange(n)[:, None], (K,), kind) for kind in unary]
    if len(right):
        ahead = np.stack([right - 1, right], axis=1)
        for p, kind in enumerate(pair):
            scopes = ahead if p % 2 == 0 else ahead[:, ::-1]  # every other template is written backwards
            groups.append(random_factors(rng, f"pair-{p}", scopes, (K, K), kind))
    graph, layout = ground(np.full(n, K), groups)
    truth = np.where(rng.random(n) < 0.7, rng.integers(0, K, n), -1)
    return graph, rng.normal(size=layout.size), truth, ptr


def random_tree(seed, n_variables):
    """A tree that is no chain, over domains of 2 or 3 values, with factors of arity 1 to 3 and of every kind."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n_variables)
    scopes = [rng.permutation([v, int(rng.integers(v))]) for v in range(1, n_variables - 1)]
    if n_variables > 2:
        scopes.append(rng.permutation([n_variables - 1, *scopes[0]]) if n_variables == 3 else [n_variables - 1, 0])
    scopes += [[v] for v in range(n_variables)]
    groups = [
        random_factors(rng, f"f{i}", np.array([scope]), tuple(sizes[list(scope)]), KINDS[(seed + i) % 5])
        for i, scope in enumerate(scopes)
    ]
    graph, layout = ground(sizes, groups)
    truth = np.where(rng.random(n_variables) < 0.7, rng.integers(0, sizes), -1)
    return graph, rng.normal(size=layout.size), truth


def log_sum(scores):
    return scores.max() + np.log(np.exp(scores - scores.max()).sum())


def statistics(graph, world):
    """The features of a world, and what its fixed tables say, factor by factor."""
    phi, fixed = np.zeros(graph.n_weights), 0.0
    for f, g in enumerate(graph.factor_group):
        scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
        cell = int(world[scope] @ graph.group_stride[g, : len(scope)])
        at, cells, row = graph.factor_weight[f] + cell, graph.group_cells[g], graph.factor_row[f]
        kind = graph.group_kind[g]
        if kind == Kind.FIXED:
            fixed += graph.fixed_value[at]
            continue
        if graph.group_bias[g] >= 0:
            phi[at + graph.group_bias[g] * cells] += 1.0
        if kind in (Kind.BINARY, Kind.REAL):
            for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
                phi[at + graph.row_index[p] * cells] += graph.row_value[p] if kind == Kind.REAL else 1.0
        elif kind == Kind.DENSE:
            for column in range(graph.group_columns[g]):
                phi[at + column * cells] += graph.dense_value[row + column]
    return phi, fixed


def enumerated_loss(graph, truth, is_allowed=lambda world: True):
    """-log p(truth) by summing over all worlds, as a function of the weights."""
    worlds = np.array([world for world in product(*(range(n) for n in graph.n_values)) if is_allowed(np.array(world))])
    found = [statistics(graph, world) for world in worlds]
    phi, fixed = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    agrees = (worlds[:, truth >= 0] == truth[truth >= 0]).all(axis=1)

    def loss(weights):
        scores = phi @ weights + fixed
        return log_sum(scores) - log_sum(scores[agrees])

    return loss


def finite_differences(function, weights, step=1e-5):
    slopes = np.empty_like(weights)
    for i in range(len(weights)):
        shift = np.zeros_like(weights)
        shift[i] = step
        slopes[i] = (function(weights + shift) - function(weights - shift)) / (2.0 * step)
    return slopes


def check(graph, weights, truth, loss, gradient, **settings):
    twin = enumerated_loss(graph, truth, **settings)
    assert loss == pytest.approx(twin(weights), abs=1e-9)
    np.testing.assert_allclose(gradient, finite_differences(twin, weights), atol=1e-6)


# --- chains and trees ----------------------------------------------------------------------------------------


@EXAMPLES
@given(SEEDS, st.lists(st.integers(1, 3), min_size=1, max_size=2), st.integers(2, 3), st.sampled_from(KINDS))
def test_uniform_chains_match_enumeration_and_finite_differences(seed, lengths, K, kind):
    graph, weights, truth, ptr = random_chains(seed, lengths, K, (kind, "bare"), ("bare", "fixed", "bare"))
    plan = forest(graph, sentence_ptr=ptr)
    assert plan.is_uniform == (max(lengths) > 1)
    check(graph, weights, truth, *ChainLikelihood(plan, truth)(weights))


@EXAMPLES
@given(SEEDS, st.sampled_from(KINDS))
def test_chains_whose_transitions_see_features_match_too(seed, kind):
    graph, weights, truth, _ = random_chains(seed, [3, 1], 2, ("binary",), ("bare", kind))
    check(graph, weights, truth, *ChainLikelihood(graph, truth)(weights))


@EXAMPLES
@given(SEEDS, st.integers(1, 5))
def test_trees_of_any_shape_match_too(seed, n_variables):
    graph, weights, truth = random_tree(seed, n_variables)
    check(graph, weights, truth, *ChainLikelihood(graph, truth)(weights))


@EXAMPLES
@given(SEEDS)
def test_both_ways_to_compute_it_agree(seed):
    graph, weights, truth, ptr = random_chains(seed, [1, 7, 20, 2], 5, pair=("bare", "bare"))
    likelihood = ChainLikelihood(forest(graph, sentence_ptr=ptr), truth)
    loss, gradient = likelihood(weights)
    slow_loss, slow_gradient = likelihood._by_logarithms(weights)
    assert loss == pytest.approx(slow_loss, rel=1e-12)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-11)


def test_the_gradient_of_bare_sites_is_what_marginals_say():
    graph, weights, _, _ = random_chains(0, [6], 3, ("bare",))
    truth = np.array([0, 1, 2, 2, 1, 0])
    _, gradient = ChainLikelihood(graph, truth)(weights)
    found = marginals(graph, weights, joints=True)
    np.testing.assert_allclose(gradient[:3], found.probabilities.sum(axis=0) - np.bincount(truth), atol=1e-12)
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (truth[:-1], truth[1:]), 1.0)
    np.testing.assert_allclose(gradient[3:].reshape(3, 3), found.joints.sum(axis=0) - pairs, atol=1e-12)


def test_constraints_leave_only_legal_worlds():
    graph, weights, _, _ = random_chains(1, [4], 3, ("binary", "bare"))
    start, end = np.array([True, True, False]), np.array([True, False, True])
    legal = np.array([[True, True, False], [True, False, True], [True, True, True]])
    constraints = Constraints(start, legal, end)

    def is_allowed(world):
        return start[world[0]] and end[world[-1]] and legal[world[:-1], world[1:]].all()

    for truth in ([0, 1, 2, 0], [-1, 1, -1, -1]):
        loss, gradient = ChainLikelihood(graph, truth, constraints=constraints)(weights)
        check(graph, weights, np.array(truth), loss, gradient, is_allowed=is_allowed)


def test_what_nobody_knows_costs_and_teaches_nothing():
    graph, weights, _, _ = random_chains(0, [3, 4], 3)
    loss, gradient = ChainLikelihood(graph, np.full(7, -1))(weights)
    assert loss == 0.0
    assert not gradient.any()


def test_threads_change_nothing_but_rounding():
    graph, weights, truth, _ = random_chains(3, np.arange(1, 30), 4)
    one, two = ChainLikelihood(graph, truth), ChainLikelihood(graph, truth, n_threads=3)
    assert two(weights)[0] == pytest.approx(one(weights)[0], rel=1e-12)
    np.testing.assert_allclose(two(weights)[1], one(weights)[1], atol=1e-10)
    np.testing.assert_array_equal(two(weights)[1], two(weights)[1])


# --- numbers that probabilities cannot hold ------------------------------------------------------------------


@pytest.mark.parametrize("size", [30.0, 300.0, 3000.0])
@pytest.mark.parametrize("block", ["unary-bare", "pair-0"])
def test_scores_far_apart_are_summed_as_logarithms(size, block):
    graph, weights, truth, _ = random_chains(5, [40], 4, ("bare", "binary"))
    where = slice(0, 4) if block == "unary-bare" else slice(-16, None)
    weights[where] *= size
    likelihood = ChainLikelihood(graph, truth)
    loss, gradient = likelihood(weights)
    slow_loss, slow_gradient = likelihood._by_logarithms(weights)
    assert loss == pytest.approx(slow_loss, rel=1e-11)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-9)


def test_a_path_that_is_forced_far_below_the_others_is_not_lost():
    # The only legal path stays in value 1, which every token but the last speaks against.
    n, K = 60, 2
    table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    sites = np.arange(n)[:, None]
    last = np.zeros((n, 1))
    last[-1] = 1.0
    graph, _ = ground(
        np.full(n, K),
        [
            Factors("site", sites),
            Factors("last", sites, features=last),
            Factors("stay", np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), fixed=table),
        ],
    )
    weights = np.array([0.0, -15.0, 0.0, 1000.0])
    loss, gradient = ChainLikelihood(graph, np.ones(n, int))(weights)
    assert loss == pytest.approx(np.log1p(np.exp(900.0 - 1000.0)), abs=1e-12)
    assert np.isfinite(gradient).all()
    weights[3] = 15.0 * n
    loss, gradient = ChainLikelihood(graph, np.ones(n, int))(weights)
    assert loss == pytest.approx(np.log(2.0))
    np.testing.assert_allclose(gradient, [n / 2, -n / 2, 0.5, -0.5])


def test_long_chains_neither_overflow_nor_slow_down():
    graph, weights, truth, _ = random_chains(0, [50_000], 3, ("binary",))
    likelihood = ChainLikelihood(graph, np.maximum(truth, 0))
    loss, gradient = likelihood(3.0 * weights)
    slow_loss, slow_gradient = likelihood._by_logarithms(3.0 * weights)
    assert loss == pytest.approx(slow_loss, rel=1e-10)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-6)


def test_one_compilation_serves_all_chains():
    graph, weights, truth, _ = random_chains(0, [3, 2], 2)
    ChainLikelihood(graph, truth)(weights)
    n_compiled = len(chains_loss.signatures)
    weights.flags.writeable = False
    ChainLikelihood(graph, truth.astype(np.int32), n_threads=2)(weights)
    assert len(chains_loss.signatures) == n_compiled


# --- bad input -----------------------------------------------------------------------------------------------


def test_wrong_arguments_are_named_with_the_way_out():
    graph, weights, truth, _ = random_chains(0, [2, 3], 2, ("bare",))
    with pytest.raises(ValueError, match="n_threads is 0; give 1 or more"):
        ChainLikelihood(graph, truth, n_threads=0)
    with pytest.raises(ValueError, match=r"clamp has shape \(2,\)"):
        ChainLikelihood(graph, [0, 1])
    with pytest.raises(ValueError, match=r"weights have shape \(3,\); this graph takes \(6,\)"):
        ChainLikelihood(graph, truth)(np.zeros(3))
    loop, _ = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2], [2, 0]])])
    with pytest.raises(ValueError, match="is on a cycle"):
        ChainLikelihood(loop, [0, 0, 0])
    for at in (0, 5):
        bad = weights.copy()
        bad[at] = np.nan
        with pytest.raises(ValueError, match=rf"weights\[{at}\] is nan"):
            ChainLikelihood(graph, truth)(bad)


def test_a_truth_that_is_forbidden_is_named():
    table = np.array([[0.0, -np.inf], [0.0, 0.0]])
    graph, _ = ground([2, 2, 2], [Factors("site", [[0], [1], [2]]), Factors("t", [[1, 2]], fixed=table)])
    for truth in ([0, 0, 1], [-1, 0, 1]):
        with pytest.raises(ValueError, match=r"sentence 1 \(variables 1 to 2\) has no world that is allowed"):
            ChainLikelihood(graph, truth)(np.zeros(2))
