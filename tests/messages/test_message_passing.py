"""Messages in JAX against enumeration and against a slow twin in plain NumPy, at any structure and arity."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

from walkstep.messages.message_passing import (
    Scores,
    beliefs,
    is_binary,
    log_partition,
    no_messages,
    pass_inwards_and_back,
    pass_messages,
    score_of,
    settle,
    wiring,
)
from walkstep.messages.tree_schedule import tree_schedule


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


class World:
    """A small graph in plain NumPy: factors one by one, every world in turn."""

    def __init__(self, n_values, factors, n_copies, rng, forbid=0.0):
        self.n_values, self.factors, self.n_copies = n_values, factors, n_copies
        self.own = [rng.normal(size=(k, n_copies)) for k in n_values]
        self.tables = [rng.normal(size=(*(n_values[v] for v in scope), n_copies)) for scope in factors]
        for table in self.tables:  # some joint values are impossible, but never those of all zeros
            is_forbidden = rng.random(table.shape) < forbid
            is_forbidden[(0,) * (table.ndim - 1)] = False
            table[is_forbidden] = -np.inf

    def jax(self):
        classes = {}
        for f, scope in enumerate(self.factors):
            classes.setdefault(tuple(self.n_values[v] for v in scope), []).append(f)
        wired = wiring(self.n_values, [np.array([self.factors[f] for f in of]).T for of in classes.values()])
        own = np.zeros((max(self.n_values), len(self.n_values), self.n_copies))
        for v, score in enumerate(self.own):
            own[: len(score), v] = score
        tables = tuple(jnp.asarray(np.stack([self.tables[f] for f in of], axis=-2)) for of in classes.values())
        return wired, Scores(jnp.asarray(own), tables)

    def scores(self):
        """Every world (W, V) and its score in each copy (W, B)."""
        worlds = np.array(list(product(*map(range, self.n_values))))
        total = sum(score[worlds[:, v]] for v, score in enumerate(self.own))
        for scope, table in zip(self.factors, self.tables, strict=True):
            total = total + table[tuple(worlds[:, v] for v in scope)]
        return worlds, total

    def marginals(self, reduce):
        worlds, total = self.scores()
        found = np.full((max(self.n_values), len(self.n_values), self.n_copies), -np.inf)
        for v, k in enumerate(self.n_values):
            for value in range(k):
                found[value, v] = reduce(total[worlds[:, v] == value], axis=0)
        return found

    def flooded(self, n_rounds, damping, reduce):
        """Loopy belief propagation, edge by edge: beliefs after so many rounds."""
        edges = [(f, i, v) for f, scope in enumerate(self.factors) for i, v in enumerate(scope)]
        message = {(f, i): np.zeros((self.n_values[v], self.n_copies)) for f, i, v in edges}

        def heard(v):
            return self.own[v] + sum((message[f, i] for f, i, other in edges if other == v), start=0.0)

        for _ in range(n_rounds):
            told = {(f, i): heard(v) - message[f, i] for f, i, v in edges}
            fresh = {}
            for f, i, _v in edges:
                total = self.tables[f]
                arity = len(self.factors[f])
                for j in range(arity):
                    if j != i:
                        shape = [1] * arity + [self.n_copies]
                        shape[j] = -1
                        total = total + told[f, j].reshape(shape)
                out = reduce(total, axis=tuple(j for j in range(arity) if j != i))
                out = out - out.max(axis=0)
                fresh[f, i] = (1 - damping) * out + damping * message[f, i]
            message = fresh
        return [heard(v) for v in range(len(self.n_values))]


def log_sum_exp(x, axis):
    top = x.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis=axis)


def normalised(log_weights):
    return np.exp(log_weights - log_sum_exp(log_weights, 0))


@st.composite
def forests(draw):
    """Trees of factors of two or three variables, some variables alone."""
    n = draw(st.integers(1, 6))
    n_values = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    factors, free = [], list(range(1, n))
    joined = [0]
    while free and draw(st.booleans()):
        hub = draw(st.sampled_from(joined))
        new = [free.pop() for _ in range(min(len(free), draw(st.integers(1, 2))))]
        factors.append(tuple(draw(st.permutations([hub, *new]))))
        joined += new
    return World(n_values, factors, draw(st.integers(1, 2)), np.random.default_rng(draw(st.integers(0, 99))), 0.2)


@settings(max_examples=12, deadline=None)
@given(forests())
def test_two_passes_over_a_forest_are_exact(world):
    wired, scores = world.jax()
    schedule = tree_schedule(len(world.n_values), tuple(map(np.asarray, wired.scopes)))
    assert schedule is not None
    _, total = world.scores()

    @jax.jit
    def answers(scores):
        messages = pass_inwards_and_back(wired, scores, schedule).messages
        best = pass_inwards_and_back(wired, scores, schedule, is_max=True).messages
        return beliefs(wired, scores, messages), log_partition(wired, scores, messages), beliefs(wired, scores, best)

    found, log_z, top = map(np.asarray, answers(scores))
    np.testing.assert_allclose(normalised(found), normalised(world.marginals(log_sum_exp)), atol=1e-10)
    np.testing.assert_allclose(log_z, log_sum_exp(total, 0), atol=1e-10)
    exact = world.marginals(np.max)
    difference = np.where(np.isfinite(exact), (top - top.max(axis=0)) - (exact - exact.max(axis=0)), 0.0)
    np.testing.assert_allclose(difference, 0.0, atol=1e-9)


MIXED = [2, 3, 2, 3], [(0, 1), (1, 2), (2, 0), (0, 3), (3, 2, 1)]
BINARY = [2, 2, 2, 2], [(0, 1), (1, 2), (2, 0), (0, 3)]


@pytest.mark.parametrize("structure", [MIXED, BINARY], ids=["mixed", "binary"])
@pytest.mark.parametrize(
    ("is_wide", "damping", "is_max"), [(False, 0.0, False), (True, 0.3, False), (False, 0.3, False), (False, 0.3, True)]
)
@pytest.mark.parametrize("is_general", [False, True])
def test_flooding_a_graph_with_cycles_equals_its_slow_twin(structure, is_wide, damping, is_max, is_general):
    world = World(*structure, 2, np.random.default_rng(7), forbid=0.1)
    wired, scores = world.jax()
    assert is_binary(scores) == (structure == BINARY)

    @jax.jit
    def flooded(scores):
        how = {"damping": damping, "is_max": is_max, "is_wide": is_wide, "is_general": is_general}
        passed = pass_messages(wired, scores, n_rounds=4, **how)
        return passed, beliefs(wired, scores, passed.messages)

    passed, found = flooded(scores)
    found = np.asarray(found)
    expected = world.flooded(4, damping, np.max if is_max else log_sum_exp)
    for v, score in enumerate(expected):
        mine = found[: len(score), v]
        np.testing.assert_allclose(normalised(mine), normalised(score), atol=1e-10)
    assert passed.n_rounds == 4
    assert passed.change.shape == (2,)


def test_messages_that_settle_say_so_and_can_be_taken_up_again():
    world = World([2, 2, 2], [(0, 1), (1, 2), (2, 0)], 1, np.random.default_rng(0))
    wired, scores = world.jax()
    passed = settle(wired, scores, max_rounds=200, tolerance=1e-10)
    assert passed.change.max() <= 1e-10
    assert 1 < passed.n_rounds < 200
    again = settle(wired, scores, max_rounds=200, tolerance=1e-10, start=passed.messages)
    assert again.n_rounds == 1
    short = settle(wired, scores, max_rounds=2, tolerance=1e-10)
    assert short.n_rounds == 2
    assert short.change.max() > 1e-10


def test_tables_that_factors_or_copies_share_are_written_once():
    rng = np.random.default_rng(3)
    world = World([2, 2, 2], [(0, 1), (1, 2)], 3, rng)
    shared = rng.normal(size=(2, 2, 1))
    world.tables = [np.broadcast_to(shared, (2, 2, 3))] * 2
    wired, scores = world.jax()
    alone = scores._replace(tables=(jnp.asarray(shared)[..., None, :],))
    full, thin = (pass_messages(wired, one, n_rounds=3) for one in (scores, alone))
    np.testing.assert_allclose(beliefs(wired, scores, full.messages), beliefs(wired, alone, thin.messages))
    values = rng.integers(0, 2, (3, 3))
    np.testing.assert_allclose(score_of(wired, alone, values), score_of(wired, scores, values))


def test_the_score_of_a_world_is_that_of_its_factors():
    world = World([2, 3, 2], [(1, 0), (0, 2, 1), (1, 2)], 2, np.random.default_rng(5))
    wired, scores = world.jax()
    worlds, total = world.scores()
    for values, expected in zip(worlds, total, strict=True):
        both = np.stack([values, values], axis=1)
        np.testing.assert_allclose(score_of(wired, scores, both), expected)


@pytest.mark.parametrize("how", ["inwards and back", "flooding", "wide"])
def test_gradients_and_products_with_the_hessian_are_those_of_finite_differences(how):
    rng = np.random.default_rng(2)
    world = World([2] * 4, [(0, 1), (1, 2), (2, 3)] + [(3, 0)] * (how != "inwards and back"), 2, rng)
    wired, scores = world.jax()
    schedule = tree_schedule(4, tuple(map(np.asarray, wired.scopes)))
    assert (schedule is None) == (how != "inwards and back")
    flat, unflatten = ravel_pytree(scores)

    @jax.jit
    def risk(flat):
        given = unflatten(flat)
        if schedule is not None:
            passed = pass_inwards_and_back(wired, given, schedule)
        else:
            passed = pass_messages(wired, given, n_rounds=3, damping=0.2, is_wide=how == "wide")
        return (jax.nn.softmax(beliefs(wired, given, passed.messages), axis=0)[0] ** 2).sum()

    slope = jax.jit(jax.grad(risk))
    along = jnp.asarray(rng.normal(size=flat.shape))
    step = 1e-5
    difference = (risk(flat + step * along) - risk(flat - step * along)) / (2 * step)
    np.testing.assert_allclose(slope(flat) @ along, difference, atol=1e-6)
    product = jax.jit(lambda flat: jax.jvp(slope, (flat,), (along,))[1])(flat)
    np.testing.assert_allclose(
        product, (slope(flat + step * along) - slope(flat - step * along)) / (2 * step), atol=1e-6
    )


def test_with_settled_messages_held_the_slope_of_the_log_partition_is_what_is_expected():
    world = World([2, 3, 2], [(0, 1), (1, 2)], 1, np.random.default_rng(4))
    wired, scores = world.jax()
    passed = settle(wired, scores, max_rounds=20, tolerance=1e-12)
    slope = jax.jit(jax.grad(lambda given: log_partition(wired, given, passed.messages).sum()))(scores)
    np.testing.assert_allclose(slope.own, normalised(world.marginals(log_sum_exp)), atol=1e-10)
    for table in slope.tables:
        np.testing.assert_allclose(table.sum(axis=(0, 1)), 1.0, atol=1e-10)


def test_a_graph_without_factors_believes_what_variables_say_themselves():
    wired, scores = World([2, 3], [], 2, np.random.default_rng(0)).jax()
    assert no_messages(wired, scores) == ()
    passed = pass_messages(wired, scores, n_rounds=3)
    np.testing.assert_allclose(passed.change, 0.0)
    found = np.asarray(beliefs(wired, scores, passed.messages))[:2, 0]
    np.testing.assert_allclose(normalised(found), normalised(np.asarray(scores.own[:2, 0])))
