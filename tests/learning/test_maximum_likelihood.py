"""Maximum likelihood with merged columns, against the same without merging and against SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from random_graphs import random_graph
from walkstep.features.rows import SparseRows
from walkstep.lbfgs import lbfgs
from walkstep.learning.chain_likelihood import ChainLikelihood
from walkstep.learning.maximum_likelihood import maximum_likelihood
from walkstep.learning.merged_columns import merge_columns
from walkstep.model import Factors, ground
from walkstep.model.score import score

EXAMPLES = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def rows_with_copies(rng, n_rows, n_columns, is_binary):
    """Sparse rows of which many columns are alike, in an order of their own in each row."""
    few = rng.random((n_rows, max(1, n_columns // 3))) < 0.5
    which = rng.integers(0, few.shape[1], n_columns)
    amount = rng.normal(size=few.shape)
    entries = [rng.permutation(np.flatnonzero(few[r, which])) for r in range(n_rows)]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in entries])]).astype(np.int64)
    value = np.concatenate([amount[r, which[row]] for r, row in enumerate(entries)])
    return SparseRows(ptr, np.concatenate(entries).astype(np.int32), np.zeros(0) if is_binary else value, n_columns)


def chains_with_copies(seed, lengths=(5, 1, 4), K=3, is_binary=True):
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(ptr[-1])
    right = np.setdiff1d(np.arange(n), ptr)
    pairs = np.stack([right - 1, right], axis=1)
    rows, fewer = (rows_with_copies(rng, n, columns, is_binary) for columns in (12, 5))
    groups = [
        Factors("emission", np.arange(n)[:, None], features=rows, bias=True),
        Factors("halves", np.arange(n)[:, None], features=fewer, sets=rng.integers(0, 2, n), n_sets=2),
        Factors("dense", np.arange(n)[:, None], features=rng.normal(size=(n, 2))),
        Factors("transition", pairs),
    ]
    graph, layout = ground(np.full(n, K), groups)
    return graph, layout, rng.integers(0, K, n), rng


@EXAMPLES
@given(SEEDS, st.booleans())
def test_merged_weights_score_every_world_alike(seed, is_binary):
    graph, _, truth, rng = chains_with_copies(seed, is_binary=is_binary)
    merged = merge_columns(graph)
    assert merged.graph.n_weights < graph.n_weights
    point = rng.normal(size=merged.graph.n_weights)
    weights = (point / merged.scale)[merged.source]
    assert score(merged.graph, merged.scale * point, truth) == pytest.approx(score(graph, weights, truth))
    # Lengths are kept, but for the last weight, which stands for those that no factor reads.
    assert point[:-1] @ point[:-1] == pytest.approx(weights @ weights)


@EXAMPLES
@given(st.integers(0, 10_000))
def test_any_graph_may_be_merged(seed):
    graph, _ = random_graph(seed)
    merged = merge_columns(graph)
    rng = np.random.default_rng(seed)
    point, world = rng.normal(size=merged.graph.n_weights), np.ones(graph.n_variables, np.int32)
    weights = (point / merged.scale)[merged.source]
    assert score(merged.graph, merged.scale * point, world) == pytest.approx(score(graph, weights, world))


def test_columns_that_share_weights_with_dense_ones_are_left_alone():
    rows = SparseRows(np.array([0, 2]), np.array([0, 1], np.int32), np.zeros(0), 2)
    graph, _ = ground(
        [2, 2], [Factors("site", [[0]], features=rows), Factors("site", [[1]], features=np.array([[1.0, 2.0]]))]
    )
    assert merge_columns(graph).source.tolist() == [0, 1, 2, 3]


def test_merging_changes_no_step_of_the_search():
    graph, _, truth, _ = chains_with_copies(0)
    likelihood = ChainLikelihood(graph, truth)

    def objective(weights):
        loss, gradient = likelihood(weights)
        return loss + 0.5 * weights @ weights, gradient + weights

    plain = list(lbfgs(objective, np.zeros(graph.n_weights), max_iter=12, tolerance=0.0))
    merged = list(maximum_likelihood(graph, truth, l2=1.0, max_iter=12, tolerance=0.0))
    for one, other in zip(plain, merged, strict=True):
        assert one.loss == pytest.approx(other.iteration.loss, rel=1e-9)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-7)


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_it_finds_what_scipy_finds_without_merging(l1):
    graph, _, truth, _ = chains_with_copies(1)
    likelihood, n = ChainLikelihood(graph, truth), graph.n_weights

    def split(halves):
        weights = halves[:n] - halves[n:]
        loss, gradient = likelihood(weights)
        gradient += 0.5 * weights
        return loss + 0.25 * weights @ weights + l1 * halves.sum(), np.concatenate([gradient, -gradient]) + l1

    *_, found = maximum_likelihood(graph, truth, l2=0.5, l1=l1, max_iter=1000, tolerance=1e-9)
    options = {"maxiter": 10_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    bounds = [(0, None)] * (2 * n)
    wanted = minimize(split, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    assert found.iteration.is_last
    assert found.iteration.loss == pytest.approx(wanted.fun, rel=1e-7)
    np.testing.assert_allclose(found.weights, wanted.x[:n] - wanted.x[n:], atol=1e-3)
    assert (found.weights == 0.0).any() == (l1 > 0.0)


@pytest.mark.parametrize(("name", "value"), [("l2", -1.0), ("l1", np.nan)])
def test_impossible_penalties_are_refused(name, value):
    graph, _, truth, _ = chains_with_copies(0)
    with pytest.raises(ValueError, match=f"{name} is {value}; give 0 or more"):
        next(maximum_likelihood(graph, truth, **{name: value}))
