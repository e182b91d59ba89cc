"""Expected statistics of a model over a space, with a guarantee (section 4 of Vembu et al., 2009).

MOMENT: the gradient of ln Z is the mean of psi(y), and a sample's mean along a direction z is off by epsilon or more
with a probability of at most 2 exp(-epsilon² S / (2 R² G²)), if no psi(y) is longer than R and z no longer than G
(Hoeffding).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.coupling import coupling_from_the_past
from walkstep.inference.partition_function import scores_of
from walkstep.worlds.randomness import Seed
from walkstep.worlds.space import Space


class MomentEstimate(NamedTuple):
    """The mean statistics of exact samples, and how far off they may be."""

    statistics: NDArray[np.float64]  # (n_statistics,) d(theta | x)
    along: float | None  # the mean along the direction that was asked for
    bound: float  # that mean, or each statistic where no direction was given, is off by at most this ...
    delta: float  # ... but for a chance of delta
    n_samples: int
    n_steps: int


def hoeffding_samples(reach: float, epsilon: float, delta: float, n_means: int = 1) -> int:
    """How many samples suffice for means of numbers between -reach and reach, RG in the paper.

    Parameters
    ----------
    reach : float
    epsilon, delta : float
        No mean is to be off by epsilon or more, but for a chance of delta.
    n_means : int
        How many means at once.

    Examples
    --------
    >>> hoeffding_samples(1.0, 0.1, 0.05)
    738
    """
    if not epsilon > 0.0:
        raise ValueError(f"epsilon is {epsilon}; give a positive number")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is {delta}; give a number between 0 and 1")
    return max(1, math.ceil(2.0 * reach**2 * math.log(2.0 * n_means / delta) / epsilon**2))


def expected_statistics(
    space: Space,
    weights: ArrayLike,
    x: ArrayLike | None = None,
    *,
    direction: ArrayLike | None = None,
    epsilon: float = 0.1,
    delta: float = 0.05,
    max_steps: float = 1e9,
    rng: Seed = None,
) -> MomentEstimate:
    """Expected statistics from exact samples, so many that Hoeffding's bound holds.

    Parameters
    ----------
    space : Space
    weights, x
        As for `log_partition`.
    direction : float array (n_statistics,), optional
        z: the mean along it is to be good to epsilon; without it, that of every statistic.
    epsilon, delta : float
    max_steps : float
        What would take more steps of the chain is refused.
    rng : seed

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> found = expected_statistics(Hypercube(2), [0.0, 1.0], epsilon=0.05, rng=0)
    >>> found.n_samples, (abs(found.statistics - [0.5, 0.731]) < 0.05).tolist()
    (877, [True, True])
    """
    scores = scores_of(space, weights, x)
    if direction is None:
        # Each statistic is a direction of length one; what bounds it may be less than R.
        ranges = [space.score_range(row) for row in np.eye(space.n_statistics)]
        n_means, z = space.n_statistics, None
    else:
        z = np.asarray(direction, np.float64)
        if z.shape != (space.n_statistics,):
            raise ValueError(
                f"direction has shape {z.shape}; give one number for each of {space.n_statistics} statistics"
            )
        ranges, n_means = [space.score_range(z)], 1
    # Hoeffding's inequality is about how wide the range is, wherever it lies; by Cauchy and Schwarz it is at most 2RG.
    length = 1.0 if z is None else float(np.linalg.norm(z))
    reach = min(max(0.5 * (high - low) for low, high in ranges), space.radius * length)
    n = hoeffding_samples(reach, epsilon, delta, n_means)
    draws = coupling_from_the_past(space, scores, n, rng=rng, max_steps=max_steps)
    mean = space.statistics(draws.values).mean(axis=0)
    return MomentEstimate(mean, None if z is None else float(mean @ z), epsilon, delta, n, draws.n_steps)
