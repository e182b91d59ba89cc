import numpy as np
import pytest

from walkstep.evaluation.calibration import best_temperature, expected_calibration_error


def test_the_temperature_that_made_the_answers_is_found():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    is_on = rng.random(20_000) < 1 / (1 + np.exp(-scores / 0.3))

    def loss(temperature):
        return np.logaddexp(0, np.where(is_on, -scores, scores) / temperature).mean()

    assert best_temperature(loss) == pytest.approx(0.3, rel=0.1)


def test_perfect_and_wrong_confidence_are_told_apart():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 50_000)
    honest = rng.random(50_000) < confidence
    assert expected_calibration_error(confidence, honest) < 0.01
    assert expected_calibration_error(confidence, rng.random(50_000) < 0.5) > 0.2
    assert expected_calibration_error(np.ones(4), [True, True, False, False]) == 0.5


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"confidence has shape \(2,\) and is_right \(3,\)"):
        expected_calibration_error([0.1, 0.2], [True, False, True])
