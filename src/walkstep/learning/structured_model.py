"""A conditional exponential family over a space: scores that are linear in rows, and what is known of the truth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.worlds.space import Space

HOLD = 60.0
"""The score that holds a statistic to what is known of it: structures that do otherwise are less likely by e^-60."""


class StructuredModel(NamedTuple):
    """What each statistic scores in a row: those that see rows by their columns, and each by itself."""

    coefficients: NDArray[np.float64]  # (n_seen, n_columns)
    intercepts: NDArray[np.float64]  # (n_statistics,)

    def scores(self, rows: Any) -> NDArray[np.float64]:
        """The scores of all statistics in each row: (n_rows, n_statistics)."""
        found = np.tile(self.intercepts, (rows.shape[0], 1))
        found[:, : len(self.coefficients)] += np.asarray(rows @ self.coefficients.T)
        return found

    @property
    def weights(self) -> NDArray[np.float64]:
        """All of it in one vector, as worlds of rows read it."""
        return np.concatenate([self.coefficients.ravel(), self.intercepts])

    @classmethod
    def of_weights(cls, weights: NDArray[np.float64], space: Space, n_columns: int) -> "StructuredModel":
        """The model that a vector stands for."""
        n = space.n_seen * n_columns
        return cls(weights[:n].reshape(space.n_seen, n_columns), weights[n:])


class StructuredTruth(NamedTuple):
    """What is known of the true structure of each row; in open rows only some of it."""

    statistics: NDArray[np.float64]  # (n_rows, n_statistics) psi of the true structures; where it is open, halfway
    starts: NDArray[np.int32]  # (n_rows, size) the true structures; where they are open, one that agrees
    open_rows: NDArray[np.int64]  # which rows are not wholly known
    held: NDArray[np.float64]  # (n_open, n_statistics) 1 and -1 where a statistic is known to be high or low, 0 if not

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.statistics)

    def of(self, rows: NDArray[np.int64]) -> "StructuredTruth":
        """What is known of some rows, in their order."""
        place = np.full(self.n_rows, -1)
        place[self.open_rows] = np.arange(len(self.open_rows))
        at = place[rows]
        return StructuredTruth(
            self.statistics[rows], self.starts[rows], np.flatnonzero(at >= 0), self.held[at[at >= 0]]
        )


def known_truth(space: Space, values: NDArray[np.int32]) -> StructuredTruth:
    """The truth where it is known throughout."""
    nothing = np.zeros(0, np.int64), np.zeros((0, space.n_statistics))
    return StructuredTruth(space.statistics(values), space.check(values), *nothing)
