"""Calibration: whether what is called 80 % sure is right 80 % of the time."""

from collections.abc import Callable

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import ArrayLike


def best_temperature(loss: Callable[[float], float], low: float = 0.01, high: float = 3.0) -> float:
    """The temperature at which probabilities fit held-out answers best (Guo et al., 2017).

    Parameters
    ----------
    loss : callable
        Mean negative log probability of the true answers, if scores are divided by the temperature.
    low, high : float
        Where to look; the search is on a logarithmic scale.

    Examples
    --------
    >>> round(best_temperature(lambda t: (np.log(t) - np.log(0.2)) ** 2), 2)
    0.2
    """
    found = scipy.optimize.minimize_scalar(
        lambda log: loss(float(np.exp(log))),
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 0.02},
    )
    return float(np.exp(found.x))


def expected_calibration_error(confidence: ArrayLike, is_right: ArrayLike, n_bins: int = 10) -> float:
    """How far confidence and accuracy are apart, on average over bins of equal width.

    Examples
    --------
    >>> round(expected_calibration_error([0.75] * 4, [True, True, False, False]), 6)
    0.25
    """
    confidence, is_right = np.asarray(confidence, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    if confidence.shape != is_right.shape or confidence.ndim != 1:
        raise ValueError(
            f"confidence has shape {confidence.shape} and is_right {is_right.shape}; give two lists of the same length"
        )
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    gap = np.bincount(bins, confidence - is_right, minlength=n_bins)
    return float(np.abs(gap).sum() / max(1, len(confidence)))
