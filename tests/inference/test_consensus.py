"""The partition of the least expected loss, against all partitions and plain counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.inference import consensus as consensus_file
from walkstep.inference.consensus import b_cubed_loss, consensus, expected_loss, pairwise_loss
from walkstep.inference.pair_posterior import partitions

pytestmark = pytest.mark.xdist_group("partition")


def labels(n, most=4):
    return st.lists(st.integers(0, most), min_size=n, max_size=n)


def tables(n, most=4):
    return st.lists(labels(n, most), min_size=1, max_size=6)


def every_partition(n):
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(max(row) + 2)]
    return rows


@given(labels(6), labels(6))
def test_losses_match_their_definitions(one, two):
    n = len(one)
    apart = sum((one[i] == one[j]) != (two[i] == two[j]) for i in range(n) for j in range(i))
    assert pairwise_loss(one, two) == apart
    shared = [sum(one[i] == one[j] and two[i] == two[j] for j in range(n)) for i in range(n)]
    precision = np.mean([shared[i] / one.count(one[i]) for i in range(n)])
    recall = np.mean([shared[i] / two.count(two[i]) for i in range(n)])
    assert b_cubed_loss(one, two) == pytest.approx(1.0 - 2.0 * precision * recall / (precision + recall), abs=1e-12)


@given(tables(5))
def test_consensus_is_the_best_of_all_52_partitions(table):
    samples = partitions(table)
    rows = every_partition(5)
    assert len(rows) == 52
    found = consensus(samples)
    assert found.expected_loss == pytest.approx(min(expected_loss(samples, row) for row in rows))
    assert expected_loss(samples, found.assignment) == pytest.approx(found.expected_loss)


@given(tables(5))
def test_climbing_alone_comes_close_to_the_best(table):
    samples = partitions(table)
    least = min(expected_loss(samples, row) for row in every_partition(5))
    kept = consensus_file.LARGEST_EXACT
    try:
        consensus_file.LARGEST_EXACT = 0
        found = consensus(samples)
    finally:
        consensus_file.LARGEST_EXACT = kept
    assert found.expected_loss <= least + 0.5 + 1e-9


@given(tables(14, 3), st.sampled_from(["pairwise", "b_cubed"]), labels(14))
def test_consensus_is_never_worse_than_samples_and_candidates(table, loss, candidate):
    samples = partitions(table)
    found = consensus(samples, [candidate], loss=loss)
    of_samples = min(expected_loss(samples, draw, loss) for draw in samples.draws)
    assert found.best_of_samples == pytest.approx(of_samples)
    assert found.expected_loss <= min(of_samples, expected_loss(samples, candidate, loss)) + 1e-12
    assert expected_loss(samples, found.assignment, loss) == pytest.approx(found.expected_loss)
    assert found.assignment.tolist() == partitions([found.assignment]).draws[0].tolist()


def test_noise_that_no_sample_is_free_of_is_averaged_away():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(12), 10)
    draws = np.tile(truth, (30, 1))
    astray = rng.random(draws.shape) < 0.15
    draws[astray] = rng.integers(0, 12, astray.sum())
    samples = partitions(draws)
    found = consensus(samples)
    assert pairwise_loss(found.assignment, truth) == 0.0
    assert found.expected_loss < found.best_of_samples


def test_whole_clusters_are_merged_where_no_single_group_would_move():
    left, right = np.triu_indices(4, 1)
    is_near = left // 2 == right // 2
    graph = consensus_file._Graph(np.ones(4), left, right, np.where(is_near, 0.9, 0.55))
    label = consensus_file._climb(graph, np.array([0, 0, 1, 1]), 100)
    assert len(np.unique(label)) == 1
    assert consensus_file._cost(graph, label) == pytest.approx((1.0 - 2.0 * graph.probability).sum())


def test_bad_input_is_named():
    samples = partitions([[0, 0, 1]])
    with pytest.raises(ValueError, match="'muc'"):
        consensus(samples, loss="muc")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="candidate 1"):
        consensus(samples, [[0, 0, 0], [0, 0]])
