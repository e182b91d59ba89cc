import itertools

import numpy as np
import pytest

from walkstep.evaluation.significance import bootstrap_interval, f1_of_counts, permutation_test


def counts(n_documents, share, seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(1, 20, n_documents)
    return np.stack([rng.binomial(true, share), true, true], axis=1)


def exact_p_value(one, other):
    """All swaps of a few documents, one by one."""
    actual = abs(f1_of_counts(one.sum(axis=0)) - f1_of_counts(other.sum(axis=0)))
    as_large = []
    for swap in itertools.product([False, True], repeat=len(one)):
        mask = np.array(swap)[:, None]
        a, b = np.where(mask, other, one).sum(axis=0), np.where(mask, one, other).sum(axis=0)
        as_large.append(abs(f1_of_counts(a) - f1_of_counts(b)) >= actual - 1e-12)
    return np.mean(as_large)


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(4))
def test_the_permutation_test_matches_all_swaps(seed):
    one, other = counts(8, 0.8, seed), counts(8, 0.6, seed)
    exact = exact_p_value(one, other)
    estimate = permutation_test(one, other, n_permutations=20_000, seed=seed).p_value
    assert abs(estimate - exact) <= 5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4


def test_equal_systems_do_not_differ():
    one = counts(30, 0.7, 0)
    result = permutation_test(one, one, n_permutations=100)
    assert (result.difference, result.p_value) == (0.0, 1.0)


def test_the_order_of_systems_turns_the_difference_only():
    one, other = counts(30, 0.8, 0), counts(30, 0.6, 0)
    there, back = permutation_test(one, other, seed=2), permutation_test(other, one, seed=2)
    assert there.difference == -back.difference
    assert there.p_value == pytest.approx(back.p_value)


@pytest.mark.statistical
def test_the_bootstrap_interval_is_as_wide_as_the_standard_error_says():
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 400)
    table = np.stack([right, np.ones(400)], axis=1)
    interval = bootstrap_interval(table, lambda totals: totals[0] / totals[1], n_resamples=4000)
    error = right.std() / 20
    assert interval.score == right.mean()
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert interval.low < interval.score < interval.high


def test_the_same_seed_gives_the_same_answer_in_any_batches(monkeypatch):
    one, other = counts(20, 0.8, 0), counts(20, 0.7, 1)
    other[:, 1:] = one[:, 1:]
    whole = bootstrap_interval(one, seed=3, n_resamples=50), permutation_test(one, other, n_permutations=50)
    monkeypatch.setattr("walkstep.evaluation.significance._CELLS_AT_ONCE", 100)
    parts = bootstrap_interval(one, seed=3, n_resamples=50), permutation_test(one, other, n_permutations=50)
    assert whole == parts


def test_an_interval_prints_its_level():
    assert "90% interval" in str(bootstrap_interval(counts(10, 0.5, 0), level=0.9, n_resamples=10))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([1, 2, 3]), r"counts has shape \(3,\)"),
        (lambda: bootstrap_interval(np.zeros((0, 3))), r"counts has shape \(0, 3\)"),
        (lambda: bootstrap_interval([[1, 1, np.nan]]), r"counts\[0, 2\] is nan"),
        (lambda: bootstrap_interval([[1, 1, 1]], level=95), "level is 95"),
        (lambda: bootstrap_interval([[1, 1, 1]], n_resamples=0), "n_resamples is 0"),
        (lambda: bootstrap_interval([[1, 1, 1]], lambda totals: np.nan), "metric gave nan for totals"),
        (
            lambda: permutation_test([[1, 1, 1]], [[1, 1]]),
            r"first has shape \(1, 3\) but second has \(1, 2\)",
        ),
        (lambda: permutation_test([[1, 1, 1]], [[1, 1, 1]], n_permutations=0), "n_permutations is 0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
