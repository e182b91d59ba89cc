"""Answers about a space by listing all of it, in plain NumPy: the slow twin of everything that draws."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.worlds.space import Space


class ExactSpace(NamedTuple):
    """Every structure of a space, with what it weighs."""

    values: NDArray[np.int32]  # (n_structures, size)
    statistics: NDArray[np.float64]  # (n_structures, n_statistics)
    log_weights: NDArray[np.float64]  # (n_structures,) the scores

    @property
    def log_partition(self) -> float:
        """ln Z, the log of the sum of all structures' weights."""
        top = self.log_weights.max()
        return float(top + np.log(np.exp(self.log_weights - top).sum()))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(n_structures,)"""
        return np.exp(self.log_weights - self.log_partition)

    def expected_statistics(self) -> NDArray[np.float64]:
        """E[psi(y)], the gradient of ln Z: (n_statistics,)."""
        return self.probabilities @ self.statistics

    def best(self) -> tuple[NDArray[np.int32], float]:
        """The structure of the highest score, and that score."""
        at = int(self.log_weights.argmax())
        return self.values[at], float(self.log_weights[at])


def enumerate_space(space: Space, scores: ArrayLike) -> ExactSpace:
    """Score every structure of a small space.

    Parameters
    ----------
    space : Space
    scores : float array (n_statistics,)

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> exact = enumerate_space(Permutations(3), np.zeros(3))
    >>> round(float(np.exp(exact.log_partition)), 6), exact.expected_statistics().tolist()
    (6.0, [0.0, 0.0, 0.0])
    """
    values = space.all_structures()
    statistics = space.statistics(values)
    return ExactSpace(values, statistics, statistics @ np.asarray(scores, np.float64))
