import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.learning.steps import step_rule, tick, update, weight_state
from walkstep.worlds.sparse import add, clear, sparse_vector


@compiled
def one_update(state, rule, phi, gap, margin):
    tick(state, rule.shrink)
    update(state, rule, phi, gap, margin)


def apply(state, rule, gradient, margin):
    phi = sparse_vector(len(gradient))
    for index in np.flatnonzero(gradient):
        add(phi, index, gradient[index])
    one_update(state, rule, phi, float(state.weights @ gradient), margin)


GRADIENTS = st.lists(
    st.lists(st.integers(-3, 3), min_size=5, max_size=5).map(lambda row: np.array(row, float)),
    min_size=1,
    max_size=12,
)


def slow_twin(name, rate, gradients, margin, l2):
    """The same rules, on dense vectors, with the average kept the long way round."""
    weights, squares, variances = np.zeros(5), np.zeros(5), np.ones(5)
    total = np.zeros(5)
    for gradient in gradients:
        total += weights
        weights = weights * (1 - l2)
        gap = weights @ gradient
        if name == "perceptron":
            weights = weights + gradient
        elif name == "constant":
            weights = weights + rate * gradient
        elif name == "mira" and gradient.any():
            weights = weights + min(rate, max(0.0, margin - gap) / (gradient @ gradient)) * gradient
        elif name == "adagrad":
            squares += gradient**2
            step = np.divide(rate, np.sqrt(squares), out=np.zeros(5), where=squares > 0)
            weights = weights + step * gradient
        elif name == "arow" and gradient.any():
            beta = 1 / (gradient**2 @ variances + rate)
            weights = weights + max(0.0, margin - gap) * beta * variances * gradient
            variances = variances - beta * (variances * gradient) ** 2
    return weights, total


@pytest.mark.parametrize("l2", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("name", ["perceptron", "constant", "mira", "adagrad", "arow"])
@given(gradients=GRADIENTS)
def test_step_rules_match_their_formulas_and_average_exactly(name, l2, gradients):
    rule = step_rule(name, rate=1.0 if name == "perceptron" else 0.3, l2=l2)
    state = weight_state(np.zeros(5), rule)
    for gradient in gradients:
        # The kernel scores with the weights as they are after shrinking.
        phi = sparse_vector(5)
        for index in np.flatnonzero(gradient):
            add(phi, index, gradient[index])
        gap = float((1 - l2) * state.weights @ gradient)
        one_update(state, rule, phi, gap, 1.0)
        clear(phi)
    weights, total = slow_twin(name, 0.3, gradients, 1.0, l2)
    np.testing.assert_allclose(state.weights, weights, atol=1e-9)
    np.testing.assert_allclose(state.total, total, atol=1e-9)


def test_mira_meets_the_margin_exactly_where_its_cap_allows():
    rule = step_rule("mira", rate=100.0)
    state = weight_state(np.array([0.5, -1.0, 0.0]), rule)
    gradient = np.array([1.0, 2.0, -1.0])
    apply(state, rule, gradient, margin=3.0)
    assert state.weights @ gradient == pytest.approx(3.0)


def test_shrinking_for_long_keeps_numbers_in_range():
    rule = step_rule("constant", rate=1.0, l2=0.5)
    state = weight_state(np.ones(3), rule)
    for _ in range(200):
        apply(state, rule, np.array([1.0, 0.0, 0.0]), margin=1.0)
    assert state.weights[0] == pytest.approx(2.0)
    assert state.weights[1] < 1e-50
    assert np.isfinite(state.total).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "mirra"}, "'mirra' is not known"),
        ({"rate": 0.0}, "positive"),
        ({"rate": float("nan")}, "positive"),
        ({"l2": 1.0}, "below 1"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        step_rule(**settings)
