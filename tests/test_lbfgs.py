"""L-BFGS and OWL-QN, against SciPy and against conditions that a minimum meets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from walkstep.lbfgs import lbfgs

EXAMPLES = settings(max_examples=15, deadline=None)


def logistic(seed, n_rows=30, n_weights=12, l2=1.0):
    """Penalised logistic regression on random rows."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n_rows, n_weights)), rng.choice([-1.0, 1.0], n_rows)

    def objective(weights):
        margin = y * (x @ weights)
        loss = float(np.logaddexp(0.0, -margin).sum() + 0.5 * l2 * weights @ weights)
        return loss, -(x.T @ (y / (1.0 + np.exp(margin)))) + l2 * weights

    return objective, n_weights


def last(iterates):
    *_, found = iterates
    return found


@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_it_finds_the_minimum_that_scipy_finds(seed, memory):
    objective, n = logistic(seed)
    found = last(lbfgs(objective, np.zeros(n), memory=memory, max_iter=500, tolerance=1e-9, period=10**6))
    wanted = minimize(objective, np.zeros(n), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    assert found.is_last
    assert found.loss == pytest.approx(wanted.fun, abs=1e-8)
    np.testing.assert_allclose(found.weights, wanted.x, atol=1e-4)


@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 20.0))
def test_absolute_penalties_find_the_minimum_of_split_weights(seed, l1):
    objective, n = logistic(seed)

    def split(halves):
        loss, gradient = objective(halves[:n] - halves[n:])
        return loss + l1 * halves.sum(), np.concatenate([gradient, -gradient]) + l1

    found = last(lbfgs(objective, np.zeros(n), l1=l1, max_iter=500, tolerance=1e-8, period=10**6))
    wanted = minimize(
        split, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2 * n, options={"ftol": 1e-15}
    )
    assert found.loss == pytest.approx(wanted.fun, rel=1e-6)
    # At a minimum no weight gains by moving: its slope is the penalty, or less where the weight is 0.
    _, gradient = objective(found.weights)
    is_zero = found.weights == 0.0
    assert (np.abs(gradient[is_zero]) <= l1 + 1e-4).all()
    np.testing.assert_allclose(gradient[~is_zero], -l1 * np.sign(found.weights[~is_zero]), atol=1e-3)


def test_weights_may_have_penalties_of_their_own():
    objective, n = logistic(0)
    found = last(lbfgs(objective, np.zeros(n), l1=np.where(np.arange(n) < 6, 1e4, 0.0), max_iter=500))
    assert not found.weights[:6].any()
    assert found.weights[6:].all()


def test_the_loss_never_rises_and_evaluations_are_counted():
    objective, n = logistic(1)
    calls = []
    iterates = list(lbfgs(lambda w: calls.append(1) or objective(w), np.zeros(n), max_iter=20, tolerance=0.0))
    losses = [one.loss for one in iterates]
    assert losses == sorted(losses, reverse=True)
    assert [one.number for one in iterates] == list(range(1, 21))
    assert iterates[-1].n_evaluations == len(calls)
    assert not iterates[-1].is_last


def test_a_start_at_the_minimum_ends_at_once():
    found = list(lbfgs(lambda w: (float(w @ w), 2.0 * w), np.zeros(3)))
    assert [(one.number, one.is_last) for one in found] == [(0, True)]


def test_a_function_without_a_way_down_ends_the_search():
    found = list(lbfgs(lambda w: (0.0, np.ones(2)), np.zeros(2), tolerance=0.0))
    assert len(found) == 1
    assert found[0].is_last
    np.testing.assert_array_equal(found[0].weights, np.zeros(2))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_impossible_penalties_are_refused(bad):
    with pytest.raises(ValueError, match=r"l1 is .*; give 0 or more"):
        next(lbfgs(lambda w: (0.0, w), np.zeros(2), l1=bad))
