"""Decoders against brute force over all answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.inference.exact import all_worlds
from walkstep.messages import decoders
from walkstep.messages.decoders import best_f1, most_probable, soften


def expected_f1(answer, chances, outside=0):
    """By enumeration of all truths, variables being independent."""
    truths = all_worlds([chances.shape[1]] * len(chances))
    p = np.prod(chances[np.arange(len(chances)), truths], axis=1)
    hits = ((truths == answer) & (truths != outside)).sum(axis=1)
    both = (truths != outside).sum(axis=1) + (answer != outside).sum()
    return float(p @ np.where(both > 0, 2.0 * hits / np.maximum(both, 1), 1.0))


@st.composite
def distributions(draw):
    n_variables, n_values = draw(st.sampled_from([(1, 2), (5, 2), (3, 3), (4, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    return rng.dirichlet(np.full(n_values, draw(st.sampled_from([0.3, 1.0, 5.0]))), n_variables)


@settings(max_examples=60)
@given(distributions(), st.integers(0, 1))
def test_the_answer_for_f1_is_the_best_of_all_answers(chances, outside):
    best = max(expected_f1(one, chances, outside) for one in all_worlds([chances.shape[1]] * len(chances)))
    assert expected_f1(best_f1(chances, outside=outside), chances, outside) == pytest.approx(best, abs=1e-12)


def test_of_very_many_variables_counts_are_what_is_expected_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([2.0, 1.0, 1.0], 200)
    exact = best_f1(chances)
    monkeypatch.setattr(decoders, "_MOST_EXACT", 0)
    assert (best_f1(chances) != exact).mean() <= 0.01
    small = chances[:6]
    hits, wanted = small.copy(), (1.0 - small[:, 0]).sum()

    def ratio(answer):
        found = answer > 0
        return 2.0 * hits[found, answer[found]].sum() / (found.sum() + wanted)

    best = max(ratio(one) for one in all_worlds([3] * 6))
    assert ratio(best_f1(small)) == pytest.approx(best)


def test_where_hardly_anything_is_expected_nothing_is_the_answer():
    assert best_f1(np.tile([0.99, 0.01], (3, 1))).tolist() == [0, 0, 0]
    assert best_f1(np.zeros((0, 2))).tolist() == []
    assert best_f1(np.array([[0.0, 1.0]])).tolist() == [1]


def test_the_soft_decoder_goes_from_the_beliefs_to_the_most_probable_value():
    rng = np.random.default_rng(1)
    chances = rng.dirichlet([1.0, 1.0, 1.0], (4, 2)).transpose(2, 0, 1)
    with jax.enable_x64(True):
        beliefs = jnp.log(chances)
        np.testing.assert_allclose(soften(beliefs, 1.0), chances, atol=1e-12)
        powered = chances ** (1.0 / 0.3)
        np.testing.assert_allclose(soften(beliefs, 0.3), powered / powered.sum(axis=0), atol=1e-12)
        best = np.asarray(most_probable(beliefs))
        np.testing.assert_array_equal(best, chances.argmax(axis=0))
        np.testing.assert_allclose(np.take_along_axis(soften(beliefs, 1e-4), best[None], axis=0), 1.0, atol=1e-6)
        forbidden = jnp.array([0.0, -1e6, -1.0])[:, None, None]
        assert np.isfinite(soften(forbidden, 0.01)).all()
