"""The best world by annealing: any sampler, cooled by a schedule."""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.inference.base import Callback, Sampler
from walkstep.inference.gibbs import check_temperature
from walkstep.worlds.randomness import Seed, stream

Schedule = Callable[[float], float]


class Outcome(Enum):
    """How a search for the best world ended; the text says what to do about it."""

    CONVERGED = "no single change raised the score any more"
    NOT_CONVERGED = "the score was still rising; allow more steps"
    INTERRUPTED = "stopped by Ctrl-C; this is the best world until then"


class BestWorld(NamedTuple):
    """What a search for the best world has found."""

    values: NDArray[np.integer]
    score: float
    outcome: Outcome
    n_steps: int

    @property
    def converged(self) -> bool:
        """Whether no single change raised the score any more."""
        return self.outcome is Outcome.CONVERGED


def geometric(start: float = 4.0, end: float = 0.05) -> Schedule:
    """Temperature falls by the same factor every step.

    Examples
    --------
    >>> schedule = geometric(1.0, 0.01)
    >>> round(schedule(0.0), 6), round(schedule(0.5), 6), round(schedule(1.0), 6)
    (1.0, 0.1, 0.01)
    """
    if not 0.0 < end < np.inf or not 0.0 < start < np.inf:
        raise ValueError(f"a geometric schedule goes from {start} to {end}; give two finite numbers above 0")
    return lambda progress: float(start * (end / start) ** progress)


def linear(start: float = 4.0, end: float = 0.0) -> Schedule:
    """Temperature falls by the same amount every step.

    Examples
    --------
    >>> linear(2.0, 0.0)(0.25)
    1.5
    """
    check_temperature(start)
    check_temperature(end)
    return lambda progress: float(start + (end - start) * progress)


def constant(temperature: float) -> Schedule:
    """One temperature throughout.

    Examples
    --------
    >>> constant(0.3)(0.9)
    0.3
    """
    check_temperature(temperature)
    return lambda progress: float(temperature)


def anneal(
    sampler: Sampler,
    start: Any,
    n_steps: int,
    *,
    rng: Seed,
    schedule: Schedule | None = None,
    max_greedy: int = 100,
    callback: Callback | None = None,
) -> BestWorld:
    """Look for the world of the highest score: cool a sampler down, and keep the best world seen.

    Parameters
    ----------
    sampler : Sampler
        From `gibbs` or `metropolis`.
    start : int array (n_variables,), state, or None
        As `run` takes it.
    n_steps : int
        Steps of the schedule.
    rng : int or numpy Generator
    schedule : callable, optional
        ``(progress) -> temperature``, asked with 0 at the first step and 1 at the last: `geometric` (the default),
        `linear`, `constant` or your own.
    max_greedy : int
        At most so many steps at temperature 0 follow, until one gains nothing.
    callback : callable, optional
        ``(steps made, state, info)``, called after every step.

    Examples
    --------
    >>> from walkstep.inference import gibbs
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> best = anneal(gibbs(graph, np.array([1.0, 0.0, 0.0, 2.0])), [0, 1, 0], 20, rng=0)
    >>> best.values, best.score, best.converged
    (array([1, 1, 1], dtype=int32), 4.0, True)
    """
    if n_steps < 0 or max_greedy < 0:
        raise ValueError(f"n_steps is {n_steps} and max_greedy {max_greedy}; give 0 or more")
    schedule = geometric() if schedule is None else schedule
    words = stream(rng)
    state = start if isinstance(start, tuple) else sampler.init(start)
    values, score = np.array(sampler.values(state)), sampler.score(state)
    outcome = Outcome.NOT_CONVERGED
    done = 0
    try:
        for t in range(n_steps + max_greedy):
            temperature = 0.0
            if t < n_steps:
                temperature = float(schedule(t / max(n_steps - 1, 1)))
                check_temperature(temperature)
            before = sampler.score(state)
            state, info = sampler.step(words, state, temperature)
            done = t + 1
            now = sampler.score(state)
            if now > score:
                values, score = np.array(sampler.values(state)), now
            if callback is not None:
                callback(done, state, info)
            if t >= n_steps and now <= before:
                outcome = Outcome.CONVERGED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    return BestWorld(values, score, outcome, done)
