"""Gradients of every loss through every inference and decoder, and their Hessian-vector products, by differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from document_graphs import PLAIN, documents, plain, quick_jit
from walkstep.messages.losses import LOSSES, as_loss
from walkstep.messages.message_passing import score_of
from walkstep.messages.objectives import Dials, Inference, Objective
from walkstep.model.score import score, statistics


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


def own_loss(decoded, truth, weight):
    """A loss such as a user writes."""
    right = jnp.take_along_axis(decoded, jnp.maximum(truth, 0)[None], axis=0)[0]
    return (weight * jnp.sqrt(1.01 - right)).sum() / weight.sum()


EVERY = (*LOSSES.values(), as_loss(own_loss))


def every_loss(decoded, batch):
    return jnp.stack([loss(decoded, batch) for loss in EVERY])


def difference(function, at, along, step=1e-4):
    """The derivative along a direction, to the fourth order."""
    near = function(at + step * along) - function(at - step * along)
    far = function(at + 2 * step * along) - function(at - 2 * step * along)
    return (8.0 * near - far) / (12.0 * step)


CASES = [(name, "sum-product") for name in PLAIN] + [(name, "max-product") for name in PLAIN if name != "forest copies"]


@pytest.mark.parametrize(
    ("name", "kind"), [*CASES, pytest.param("forest copies", "max-product", marks=pytest.mark.slow)]
)
def test_gradients_and_products_with_the_hessian_are_those_of_finite_differences(name, kind):
    given = plain(name, latent="union" in name)
    batch, weights = given.batch, jnp.asarray(given.weights)
    assert (batch.schedule is None) == ("loopy" in name)
    assert (batch.n_copies > 1) == ("copies" in name)
    inference = Inference(kind, n_rounds=3, damping=0.1)

    def risks(weights, temperature, decode_temperature):
        made = Objective("risk", inference, every_loss, decode_temperature)(weights, batch, Dials(temperature, 0.8))
        return made, made

    @quick_jit  # once, for values, gradients and products
    def answers(weights, along, *temperatures):
        slope = jax.jacrev(lambda w: risks(w, *temperatures), has_aux=True)
        (slope, value), (product, _) = jax.jvp(slope, (weights,), (along,))
        return value, slope, product

    rng = np.random.default_rng(0)
    for temperature in (1.0, 0.4) if kind == "sum-product" else (1.0,):
        for decode_temperature in (1.0, 0.1):
            along = jnp.asarray(rng.normal(size=weights.shape))

            def answer(weights, part):
                return np.asarray(answers(weights, along, temperature, decode_temperature)[part])  # noqa: B023

            slope = answer(weights, 1)
            assert slope.shape == (len(EVERY), len(weights))
            for j, unit in enumerate(np.eye(len(weights))):
                expected = difference(lambda w: answer(w, 0), weights, unit)
                np.testing.assert_allclose(slope[:, j], expected, rtol=1e-6, atol=1e-6)
            expected = difference(lambda w: answer(w, 1), weights, along)
            np.testing.assert_allclose(answer(weights, 2), expected, rtol=1e-6, atol=1e-6)
            assert np.abs(slope).max(axis=1).min() > 1e-6


@pytest.mark.parametrize("sizes", [[4, 1, 3], [3, 3]])
def test_the_scores_of_every_kind_of_factor_and_their_gradients_are_those_of_the_graph(sizes):
    given = documents(5, sizes, cycles=True)
    batch = given.batch
    scored = quick_jit(jax.value_and_grad(lambda w: score_of(batch.wired, batch.tables.scores(w), batch.truth).sum()))
    value, slope = scored(jnp.asarray(given.weights))
    np.testing.assert_allclose(value, score(given.graph, given.weights, given.truth), atol=1e-10)
    np.testing.assert_allclose(slope, statistics(given.graph, given.truth), atol=1e-10)
