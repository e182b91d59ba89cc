"""Families of distributions for the cross-entropy method: how samples are drawn, and fitted to the best of them.

Equation 2 of Rohanimanesh, Wick and McCallum (2009) asks for the parameters under which the elite is most likely. For
natural exponential families that is the elite's mean; `LogDensity` solves it by L-BFGS for any other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from walkstep.lbfgs import lbfgs

Gradient = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_ROUNDING = 1e-9  # probabilities are given in decimals, and smoothed


class Family(Protocol):
    """What a parametrised sampler says of itself.

    Parameters are one float array of any shape. Samples are an array, a list, or anything else that a number indexes
    for one sample and an int array for several.
    """

    def draw(self, parameters: NDArray[np.float64], n: int, rng: np.random.Generator, /) -> Any:
        """``n`` samples."""
        ...

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64], /) -> NDArray[np.float64]:
        """New parameters, under which ``sum(share * log J(sample))`` is largest (Eq. 2).

        ``parameters`` are the present ones. ``share`` is 1 for a sample that counts in full, and less for one that
        is tied with others.
        """
        ...


@dataclass(frozen=True)
class Bernoulli:
    """Sites that are 1 or 0 independently; parameters are the probabilities of 1, in an array of any shape.

    Examples
    --------
    >>> Bernoulli().draw(np.array([0.0, 1.0]), 3, np.random.default_rng(0))
    array([[0, 1],
           [0, 1],
           [0, 1]])
    >>> Bernoulli().fit(np.array([0.5, 0.5]), np.array([[0, 1], [1, 1]]), np.array([1.0, 3.0]))
    array([0.75, 1.  ])
    """

    def draw(self, parameters: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """``n`` samples (n, ...) of 0 and 1."""
        _check_probabilities(parameters)
        return (rng.random((n, *parameters.shape)) < parameters).astype(np.int64)

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often each site is 1."""
        return _mean(samples, share)


@dataclass(frozen=True)
class Categorical:
    """Sites that take one of several values independently; parameters are the values' probabilities.

    Their last axis is the value: (n_sites, n_values), or (n_values,) for one site, a sample of which is a number.

    Examples
    --------
    >>> Categorical().draw(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), 2, np.random.default_rng(0))
    array([[2, 0],
           [2, 0]])
    >>> Categorical().fit(np.full(3, 1 / 3), np.array([0, 2, 2, 2]), np.ones(4))
    array([0.25, 0.  , 0.75])
    """

    def draw(self, parameters: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """``n`` samples (n, ...) of values 0, 1, ..."""
        if parameters.ndim == 0:
            raise ValueError("parameters are a single number; give the probability of every value, (..., n_values)")
        _check_probabilities(parameters)
        totals = parameters.sum(axis=-1)
        if not np.allclose(totals, 1.0, atol=_ROUNDING):
            worst = float(totals.flat[np.argmax(np.abs(totals - 1.0))])
            raise ValueError(f"the probabilities of a site's values add up to {worst:g}; divide them by their sum")
        # Scaled so that the last bounds are 1 to the bit: values of probability 0 are never drawn.
        bounds = np.cumsum(parameters, axis=-1)
        bounds = bounds[..., :-1] / bounds[..., -1:]
        return (rng.random((n, *totals.shape, 1)) >= bounds).sum(axis=-1)

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often each site has each value."""
        return np.stack([_mean(samples == value, share) for value in range(parameters.shape[-1])], axis=-1)


@dataclass(frozen=True)
class Gaussian:
    """Independent normal numbers; parameters are (2, ...): the means, and the standard deviations.

    Parameters
    ----------
    floor : float
        No standard deviation is fitted below this.

    Examples
    --------
    >>> Gaussian().draw(np.array([[3.0, -1.0], [0.0, 0.0]]), 1, np.random.default_rng(0))
    array([[ 3., -1.]])
    >>> Gaussian(floor=0.1).fit(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2))
    array([[2. , 5. ],
           [1. , 0.1]])
    """

    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor < np.inf:
            raise ValueError(f"floor is {self.floor}; give the least standard deviation, 0 or more")

    def draw(self, parameters: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """``n`` samples (n, ...)."""
        if parameters.ndim == 0 or len(parameters) != 2:
            raise ValueError(f"parameters have shape {parameters.shape}; stack means and standard deviations: (2, ...)")
        mean, deviation = parameters
        if (deviation < 0.0).any():
            raise ValueError(f"a standard deviation is {deviation.min():g}; give 0 or more")
        return mean + deviation * rng.standard_normal((n, *mean.shape))

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean and standard deviation of the samples."""
        mean = _mean(samples, share)
        return np.stack([mean, np.maximum(np.sqrt(_mean((samples - mean) ** 2, share)), self.floor)])


@dataclass(frozen=True)
class LogDensity:
    """Any family whose log density has a gradient, fitted by L-BFGS.

    Parameters
    ----------
    draw : callable
        ``(parameters, n, rng) -> samples``.
    log_density : callable
        ``(parameters, samples) -> (values, gradient)``: log J of each sample, (n_samples,), and a function
        ``share -> gradient of sum(share * values)`` in the shape of the parameters.
    l2 : float
        ``l2 / 2 * sum((new - present) ** 2)`` is taken off the log density of the elite, the sum over its samples. It
        keeps a few samples from sending parameters to infinity, as they would where one of them is more likely the
        larger a parameter is; many samples outweigh it. Without it (0) the answer is that of Eq. 2.
    max_iter, tolerance : int, float
        When L-BFGS stops; see `walkstep.lbfgs.lbfgs`.

    Examples
    --------
    One of three things, drawn with probability proportional to exp(parameter times length):

    >>> lengths = np.array([1.0, 2.0, 4.0])
    >>> def chances(parameter):
    ...     weights = np.exp(parameter * lengths)
    ...     return weights / weights.sum()
    >>> def draw(parameter, n, rng):
    ...     return rng.choice(3, n, p=chances(parameter))
    >>> def log_density(parameter, samples):
    ...     p = chances(parameter)
    ...     return np.log(p)[samples], lambda share: share @ (lengths[samples] - p @ lengths)
    >>> family = LogDensity(draw, log_density, l2=0.1)
    >>> parameter = family.fit(np.array(0.0), np.array([2, 2, 1]), np.ones(3))
    >>> print(parameter.round(2), chances(parameter).round(2))
    0.65 [0.1  0.19 0.71]
    """

    draw: Callable[[NDArray[np.float64], int, np.random.Generator], Any]
    log_density: Callable[[NDArray[np.float64], Any], tuple[NDArray[np.float64], Gradient]]
    l2: float = 0.1
    max_iter: int = 100
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not 0.0 <= self.l2 < np.inf:
            raise ValueError(f"l2 is {self.l2}; give 0 or more")

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The parameters of Eq. 2, drawn towards the present ones by ``l2``."""
        present = np.asarray(parameters, dtype=np.float64)
        self._check(present, samples, share)

        def objective(flat):
            loss, gradient = self.loss(flat.reshape(present.shape), present, samples, share)
            return loss, gradient.ravel()

        *_, last = lbfgs(objective, present.ravel(), max_iter=self.max_iter, tolerance=self.tolerance)
        return last.weights.reshape(present.shape)

    def loss(
        self, parameters: NDArray[np.float64], present: NDArray[np.float64], samples: Any, share: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """What L-BFGS makes small, and its gradient: Eq. 2 turned round, with the penalty, for each sample."""
        values, gradient = self.log_density(parameters, samples)
        total, away = float(share.sum()), parameters - present
        loss = 0.5 * self.l2 * float((away**2).sum()) - float(share @ values)
        return loss / total, (self.l2 * away - gradient(share)) / total

    def _check(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> None:
        """Say what is wrong with a log density before the search does, which would only find no way down."""
        values, gradient = self.log_density(parameters, samples)
        if np.shape(values) != share.shape:
            raise ValueError(
                f"log_density gives values of shape {np.shape(values)} for {len(share)} samples; give one for each"
            )
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise ValueError(
                f"log_density is {values[wrong[0]]} for a sample drawn under the same parameters; "
                "draw and log_density must speak of one distribution"
            )
        slope = np.shape(gradient(share))
        if slope != parameters.shape:
            raise ValueError(
                f"log_density's gradient has shape {slope} and the parameters {parameters.shape}; "
                "give the gradient of sum(share * values)"
            )


def _mean(samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.tensordot(share, samples, axes=1) / share.sum()


def _check_probabilities(parameters: NDArray[np.float64]) -> None:
    if (parameters < -_ROUNDING).any() or (parameters > 1.0 + _ROUNDING).any():
        worst = float(parameters.flat[np.argmax(np.abs(parameters - 0.5))])
        raise ValueError(f"a probability is {worst:g}; give numbers from 0 to 1")
