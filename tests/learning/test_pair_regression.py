import numpy as np
import pytest
from scipy.optimize import minimize

from walkstep.learning.fellegi_sunter import PairWeights
from walkstep.learning.pair_regression import pair_regression

WEIGHTS = (np.array([0.0, -2.0, 0.0, 2.0]), np.array([0.0, -1.0, 1.0]), np.array([0.0, -1.5, 1.5]))
N_LEVELS = [4, 3, 3]


def _labelled(n_pairs, seed=0):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, N_LEVELS, (n_pairs, 3))
    score = PairWeights(WEIGHTS, -0.5).scores(levels)
    return levels, rng.random(n_pairs) < 1 / (1 + np.exp(-score))


def test_weights_of_a_logistic_model_are_recovered_from_many_pairs():
    levels, same = _labelled(40_000)
    found = pair_regression(levels, same, N_LEVELS, rate=10.0)
    for weight, true in zip(found.weights, WEIGHTS, strict=True):
        np.testing.assert_allclose(weight, true, atol=0.15)
    assert found.log_prior_odds == pytest.approx(-0.5, abs=0.15)


def test_it_minimises_the_penalised_loss_written_out():
    levels, same = _labelled(80)
    found = pair_regression(levels, same, N_LEVELS, groups=["a", "a", "b"])
    scale = np.repeat([np.sqrt(0.5), np.sqrt(0.5), 1.0], [3, 2, 2])

    def loss(parameters):
        free = parameters[:-1] * scale
        weights = tuple(np.concatenate([[0.0], part]) for part in np.split(free, [3, 5]))
        score = PairWeights(weights, parameters[-1]).scores(levels)
        return 0.3 * np.logaddexp(0, np.where(same, -score, score)).sum() + 0.5 * (parameters[:-1] ** 2).sum()

    best = minimize(loss, np.zeros(8), tol=1e-10).x
    np.testing.assert_allclose(np.concatenate([w[1:] for w in found.weights]), best[:-1] * scale, atol=2e-3)
    assert found.log_prior_odds == pytest.approx(best[-1], abs=2e-3)


def test_rising_weights_do_not_fall_and_stay_where_they_rise_anyway():
    levels, same = _labelled(40_000)
    free = pair_regression(levels, same, N_LEVELS, rate=1e4)
    rising = pair_regression(levels, same, N_LEVELS, rate=1e4, rising=[True] * 3)
    for one, other in zip(rising.weights, free.weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-2)
    upside_down = np.where(levels[:, [0]] > 0, 4 - levels[:, [0]], 0)
    found = pair_regression(upside_down, same, [4], rising=[True])
    assert found.weights[0][1] == pytest.approx(found.weights[0][3])
    for seed in range(20):
        few, of_few = _labelled(30, seed)
        found = pair_regression(few, of_few, N_LEVELS, rising=[True, True, False])
        assert all((np.diff(weight[1:]) >= 0.0).all() for weight in found.weights[:2])


def test_a_comparator_left_out_has_no_weight():
    levels, same = _labelled(200)
    found = pair_regression(levels, same, N_LEVELS, groups=["a", None, "b"])
    assert not found.weights[1].any()
    assert found.weights[2].any()


def test_missing_values_say_nothing_even_where_all_are_missing():
    found = pair_regression(np.zeros((4, 3), int), [True, False, False, False], N_LEVELS)
    assert not np.concatenate(found.weights).any()
    assert found.log_prior_odds == pytest.approx(np.log(1 / 3), abs=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": [1, 2]}, "levels has shape"),
        ({"levels": [[1, 4], [1, 1]]}, "level 4 at pair 0, comparator 1, which has 3 levels"),
        ({"same": [True]}, "same has shape"),
        ({"same": [True, True]}, "all 2 labelled pairs are matches"),
        ({"same": [False, False]}, "are non-matches; label some"),
        ({"groups": ["a"]}, "groups are"),
        ({"groups": [None, None]}, "not all of them None"),
        ({"rising": [True]}, "rising has 1 entries"),
        ({"rate": 0.0}, "rate is 0.0"),
    ],
)
def test_bad_labelled_pairs_are_named(change, message):
    given = {"levels": [[1, 2], [2, 1]], "same": [True, False], "n_levels": [3, 3], **change}
    with pytest.raises(ValueError, match=message):
        pair_regression(**given)
