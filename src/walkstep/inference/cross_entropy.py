"""The cross-entropy method: a family of distributions moved, round by round, to where its best samples lie.

CEM-Optimize (Algorithm 2) of Rohanimanesh, Wick and McCallum (2009), after De Boer, Kroese, Mannor and Rubinstein
(2005). Whatever can be drawn from a parametrised distribution can be searched: `Family` says what that takes.
"""

import copy
import math
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.families import Family
from walkstep.worlds.randomness import Seed, as_generator

_ROUNDING = 1e-9  # seven hundredths of a hundred samples are seven
_STILL = 1e-6  # parameters that move by less, or by less than this share of their size, stand still


class Ending(Enum):
    """How the cross-entropy method ended; the text says what to do about it."""

    CONVERGED = "the level has stopped rising"
    COLLAPSED = "the family draws one thing only; if better is to be had, raise n_samples or lower smoothing"
    FLAT = "all samples performed alike; start wider, or give a performance that tells samples apart"
    NOT_CONVERGED = "the level was still rising; allow more iterations"
    INTERRUPTED = "stopped by Ctrl-C; this is the best until then"


class CrossEntropy(NamedTuple):
    """What the cross-entropy method has found."""

    parameters: NDArray[np.float64]  # of the family, after the last iteration
    best: Any  # the best sample of all; None where Ctrl-C came before there was one
    value: float  # its performance
    levels: NDArray[np.float64]  # (n_iterations,) gamma: what the worst of the elite achieved
    n_samples: int  # drawn in all
    outcome: Ending

    @property
    def converged(self) -> bool:
        """Whether more iterations would bring nothing new."""
        return self.outcome in (Ending.CONVERGED, Ending.COLLAPSED)


class CrossEntropyInfo(NamedTuple):
    """What happened in one iteration."""

    level: float  # gamma
    value: float  # of the best sample so far
    n_elite: int  # samples that the family was fitted to, those tied at the level included


def cross_entropy(
    family: Family,
    performance: Callable[[Any], ArrayLike],
    start: ArrayLike,
    *,
    n_samples: int = 100,
    elite: float = 0.1,
    smoothing: float = 0.7,
    n_iterations: int = 50,
    patience: int = 5,
    tolerance: float = 1e-6,
    rng: Seed = None,
    callback: Callable[[int, NDArray[np.float64], CrossEntropyInfo], object] | None = None,
) -> CrossEntropy:
    """Look for the sample of the highest performance, and for the distribution that draws such samples.

    Every iteration draws samples, takes the level gamma that the best of them reach, fits the family to these by Eq. 2,
    and goes part of the way there: ``smoothing * fitted + (1 - smoothing) * present``.

    Of samples tied at the level, more may be there than the elite has room for: they share the room that is left.
    Where that level is the lowest performance of all, being at it is no distinction: the family is fitted to those
    above, and goes only as far as they fill the elite; where there are none it stays as it is.

    Parameters
    ----------
    family : Family
        `Bernoulli`, `Categorical`, `Gaussian`, `LogDensity`, or an object of your own with ``draw`` and ``fit``.
    performance : callable
        ``samples -> float array (n_samples,)``, to be made large: a model's score or the true metric. -inf forbids.
    start : float array
        The parameters to begin with, in the shape that the family takes.
    n_samples : int
        Drawn in each iteration.
    elite : float
        The share of them that the family is fitted to.
    smoothing : float
        How far to go to the fitted parameters: above 0, and 1 for all the way.
    n_iterations : int
        At most so many.
    patience : int
        The search ends when for so many iterations the level has not risen, nor the number of samples above it.
    tolerance : float
        Levels that differ by no more than this are one.
    rng : int or numpy Generator
    callback : callable, optional
        ``(iterations made, parameters, info)``, called after every iteration.

    Examples
    --------
    >>> from walkstep.inference import Bernoulli
    >>> wanted = np.array([1, 0, 0, 1, 1, 0])
    >>> found = cross_entropy(Bernoulli(), lambda x: (x == wanted).sum(axis=1), np.full(6, 0.5), rng=0)
    >>> found.best, found.value, found.outcome.name
    (array([1, 0, 0, 1, 1, 0]), 6.0, 'CONVERGED')
    >>> found.parameters.round(1), found.levels
    (array([1., 0., 0., 1., 1., 0.]), array([5., 6., 6., 6., 6., 6., 6.]))
    """
    _check_settings(n_samples, elite, smoothing, n_iterations, patience, tolerance)
    parameters = np.array(start, dtype=np.float64)
    if not np.isfinite(parameters).all():
        raise ValueError(f"start is {start}; give finite parameters")
    generator = as_generator(rng)
    n_kept = math.ceil(elite * n_samples - _ROUNDING)
    best, value, drawn, outcome = None, -math.inf, 0, Ending.NOT_CONVERGED
    levels: list[float] = []
    highest, most_above, n_still, has_learned = -math.inf, -1, 0, False
    try:
        while len(levels) < n_iterations:
            samples = family.draw(parameters, n_samples, generator)
            performances = _performances(performance, samples, n_samples)
            drawn += n_samples
            first = int(np.argmax(performances))
            if best is None or performances[first] > value:
                best, value = copy.copy(samples[first]), float(performances[first])
            level = float(np.partition(performances, n_samples - n_kept)[n_samples - n_kept])
            levels.append(level)
            chosen, share = _elite(performances, level, n_kept)
            has_collapsed = False
            if len(chosen):
                fitted = _fitted(family, parameters, _take(samples, chosen), share)
                moved = parameters + smoothing * min(share.sum() / n_kept, 1.0) * (fitted - parameters)
                has_collapsed = np.allclose(moved, parameters, rtol=_STILL, atol=_STILL)
                parameters, has_learned = moved, True
            if callback is not None:
                callback(len(levels), parameters.copy(), CrossEntropyInfo(level, value, len(chosen)))
            n_above = int((performances > level).sum())
            if level > highest + tolerance:
                highest, most_above, n_still = level, n_above, 0
            elif level >= highest - tolerance and n_above > most_above:
                most_above, n_still = n_above, 0
            else:
                n_still += 1
            if has_collapsed or n_still == patience:
                outcome = Ending.COLLAPSED if has_collapsed else Ending.CONVERGED if has_learned else Ending.FLAT
                break
    except KeyboardInterrupt:
        outcome = Ending.INTERRUPTED
    return CrossEntropy(parameters, best, value, np.array(levels), drawn, outcome)


def _elite(
    performances: NDArray[np.float64], level: float, n_kept: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Which samples to fit, and how much each counts: 1 above the level, and what room is left among those at it."""
    above, at = performances > level, performances == level
    n_above = int(above.sum())
    if level == performances.min():
        return np.flatnonzero(above), np.ones(n_above)
    share = above + at * ((n_kept - n_above) / at.sum())
    chosen = np.flatnonzero(share)
    return chosen, share[chosen]


def _take(samples: Any, chosen: NDArray[np.intp]) -> Any:
    return [samples[i] for i in chosen] if isinstance(samples, list) else samples[chosen]


def _performances(performance: Callable[[Any], ArrayLike], samples: Any, n: int) -> NDArray[np.float64]:
    """What samples achieve, checked."""
    values = np.asarray(performance(samples), dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"performance gives shape {values.shape} for {n} samples; give one number for each")
    wrong = np.flatnonzero(np.isnan(values) | (values == np.inf))
    if len(wrong):
        raise ValueError(
            f"the performance of sample {wrong[0]} is {values[wrong[0]]}; give finite numbers, or -inf for samples "
            "that are forbidden"
        )
    return values


def _fitted(
    family: Family, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the family makes of an elite, checked."""
    fitted = np.asarray(family.fit(parameters.copy(), samples, share), dtype=np.float64)
    if fitted.shape != parameters.shape:
        raise ValueError(
            f"{type(family).__name__}.fit gives parameters of shape {fitted.shape} for {parameters.shape}; keep the "
            "shape of start"
        )
    if not np.isfinite(fitted).all():
        raise ValueError(
            f"{type(family).__name__}.fit gives parameters that are not finite for an elite of {len(share)}; "
            "hold them back where samples are few, as LogDensity does with l2"
        )
    return fitted


def _check_settings(n_samples, elite, smoothing, n_iterations, patience, tolerance) -> None:
    if n_samples < 2:
        raise ValueError(f"n_samples is {n_samples}; give at least 2, so that one can be better than another")
    if not 0.0 < elite <= 1.0:
        raise ValueError(f"elite is {elite}; give the share of samples to learn from, above 0 and at most 1")
    if not 0.0 < smoothing <= 1.0:
        raise ValueError(f"smoothing is {smoothing}; give a number above 0 and at most 1")
    if n_iterations < 1 or patience < 1:
        raise ValueError(f"n_iterations is {n_iterations} and patience {patience}; give at least 1")
    if not 0.0 <= tolerance < math.inf:
        raise ValueError(f"tolerance is {tolerance}; give 0 or more")
