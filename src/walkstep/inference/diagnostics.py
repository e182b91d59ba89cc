"""How far to trust chains: R-hat, effective sample size, Monte Carlo standard error.

After Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021). Draws come as (chain, draw, ...): every further
axis is worked on at once.
"""

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import ArrayLike, NDArray


def split_r_hat(draws: ArrayLike) -> NDArray[np.float64]:
    """How much chains differ among each other, over how much each varies within itself.

    The larger of rank-normalised split R-hat and that of the distances from the median; below 1.01 is good.

    Parameters
    ----------
    draws : array (n_chains, n_draws, ...)
        At least four draws a chain.

    Returns
    -------
    r_hat : float array (...)
        1 where all draws are the same, infinite where each chain is stuck at a value of its own.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
    >>> bool(split_r_hat(draws) < 1.01), bool(split_r_hat(draws + np.arange(4)[:, None]) > 1.5)
    (True, True)
    """
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def effective_sample_size(draws: ArrayLike) -> NDArray[np.float64]:
    """How many independent draws would tell as much about the bulk of the distribution.

    Rank-normalised, split, with Geyer's initial monotone sequence.

    Parameters
    ----------
    draws : array (n_chains, n_draws, ...)

    Returns
    -------
    n_effective : float array (...)
        The number of draws where all of them are the same.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
    >>> bool(3000 < effective_sample_size(draws) < 5000)
    True
    """
    return _effective(_normal_scores(_split(draws)))


def monte_carlo_error(draws: ArrayLike) -> NDArray[np.float64]:
    """Standard error of the mean of all draws.

    Parameters
    ----------
    draws : array (n_chains, n_draws, ...)

    Returns
    -------
    error : float array (...)
        Standard deviation over the root of the effective sample size of the draws themselves.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 2500))
    >>> bool(abs(monte_carlo_error(draws) - 0.01) < 0.001)
    True
    """
    halves = _split(draws)
    return halves.std(axis=(0, 1), ddof=1) / np.sqrt(_effective(halves))


def _split(draws: ArrayLike) -> NDArray[np.float64]:
    """Each chain as two, its halves; the middle draw of an odd number is left out."""
    draws = np.asarray(draws)
    if draws.ndim < 2 or draws.shape[0] < 1 or draws.shape[1] < 4:
        raise ValueError(f"draws have shape {draws.shape}; give (n_chains, n_draws, ...) with at least 4 draws a chain")
    draws = draws.astype(np.float64)
    if not np.isfinite(draws).all():
        raise ValueError("draws hold NaN or infinite numbers; leave such draws out")
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace draws by the normal quantiles of their ranks."""
    n = draws.shape[0] * draws.shape[1]
    ranks = scipy.stats.rankdata(draws.reshape(n, *draws.shape[2:]), axis=0)
    return scipy.special.ndtri((ranks - 0.375) / (n + 0.25)).reshape(draws.shape)


def _r_hat(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = n * draws.mean(axis=1).var(axis=0, ddof=1)
    stuck = within <= 1e-24
    total = (n - 1) / n * within + between / n
    ratio = np.sqrt(total / np.where(stuck, 1.0, within))
    return np.where(stuck, np.where(between <= 1e-20, 1.0, np.inf), ratio)


def _autocovariance(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each chain at each lag, over n: (chain, lag, ...)."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    size = scipy.fft.next_fast_len(2 * n, real=True)
    power = np.abs(scipy.fft.rfft(centred, size, axis=1)) ** 2  # pyright: ignore[reportArgumentType, reportCallIssue]
    return np.asarray(scipy.fft.irfft(power, size, axis=1))[:, :n] / n


def _effective(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Effective sample size by Geyer's initial monotone sequence, all trailing axes at once."""
    n_chains, n = draws.shape[:2]
    covariance = _autocovariance(draws)
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    total = within * (n - 1) / n + draws.mean(axis=1).var(axis=0, ddof=1)
    same = total <= 1e-24
    rho = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / np.where(same, 1.0, total)
    rho[0] = 1.0
    n_pairs = n // 2
    pairs = rho[0 : 2 * n_pairs : 2] + rho[1 : 2 * n_pairs : 2]
    # Sums of neighbouring lags are positive and fall in theory; the first negative one ends what is signal.
    positive = np.cumprod(pairs > 0.0, axis=0).astype(bool)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    tau = -1.0 + 2.0 * falling.sum(axis=0)
    n_draws = n_chains * n
    # Draws that repel each other tell more than independent ones, but not without bound.
    tau = np.maximum(tau, 1.0 / np.log10(n_draws))
    return np.where(same, float(n_draws), n_draws / tau)
