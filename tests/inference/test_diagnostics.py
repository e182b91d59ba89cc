"""R-hat, effective sample size and standard error, against processes whose answers are known."""

import numpy as np
import pytest
from scipy.signal import lfilter

from walkstep.inference import effective_sample_size, monte_carlo_error, split_r_hat


def autoregressive(rho, n_chains, n_draws, n_variables, seed=0):
    """Stationary AR(1) of unit variance."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_chains, n_draws, n_variables)) * np.sqrt(1 - rho**2)
    noise[:, 0] /= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_process_is_known(rho):
    draws = autoregressive(rho, 4, 10_000, 20)
    expected = 40_000 * (1 - rho) / (1 + rho)
    assert effective_sample_size(draws).mean() == pytest.approx(expected, rel=0.05)
    error = np.sqrt((1 + rho) / (1 - rho) / 40_000)
    assert monte_carlo_error(draws).mean() == pytest.approx(error, rel=0.03)


def test_the_standard_error_is_the_scatter_of_means():
    draws = autoregressive(0.8, 2, 2000, 400)
    assert draws.mean(axis=(0, 1)).std() == pytest.approx(monte_carlo_error(draws).mean(), rel=0.1)


def test_r_hat_of_chains_of_one_distribution_is_one_and_of_others_more():
    draws = autoregressive(0.3, 4, 1000, 5)
    assert (split_r_hat(draws) < 1.01).all()
    assert (split_r_hat(draws + np.arange(4)[:, None, None]) > 1.5).all()
    assert (split_r_hat(draws * np.array([1, 1, 1, 4])[:, None, None]) > 1.05).all()  # the folded part
    assert (split_r_hat(draws + np.linspace(0, 3, 1000)[None, :, None]) > 1.1).all()  # the split part


def test_variables_are_worked_on_one_by_one():
    draws = autoregressive(0.5, 3, 500, 6).reshape(3, 500, 2, 3)
    for function in (split_r_hat, effective_sample_size, monte_carlo_error):
        whole = function(draws)
        assert whole.shape == (2, 3)
        assert whole[1, 2] == pytest.approx(float(function(draws[:, :, 1, 2])))


def test_draws_that_never_change_are_trusted_unless_chains_disagree():
    draws = np.zeros((4, 100))
    assert float(split_r_hat(draws)) == 1.0
    assert float(effective_sample_size(draws)) == 400.0
    assert float(monte_carlo_error(draws)) == 0.0
    assert np.isinf(split_r_hat(draws + np.arange(4)[:, None]))


def test_bad_draws_are_named():
    with pytest.raises(ValueError, match=r"draws have shape \(2, 3\)"):
        split_r_hat(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        effective_sample_size(np.full((2, 10), np.nan))
