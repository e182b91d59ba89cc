"""Rows of features, each with a ranking of labels: the data of label ranking."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from walkstep.data.rankings import Rankings


@dataclass(frozen=True)
class RankedRows:
    """Feature rows and what is known of each one's ranking of labels.

    Parameters
    ----------
    X : float64 array (n_rows, n_features)
        The features; NaN where one is missing.
    rankings : Rankings or None
        ``None`` if rankings are unknown.
    feature_names : tuple of str (n_features,)
        One name a column of ``X``.
    categories : mapping of str to tuple of str
        The values of each column that was no number; ``X`` has a 0/1 column ``column=value`` for each.

    Examples
    --------
    >>> rows = RankedRows(np.ones((1, 2)), Rankings(np.array([[1.0, 0.0]]), ("a", "b")), ("size", "age"))
    >>> rows.n_rows, rows.n_features, rows.rankings.texts()
    (1, 2, ['b>a'])
    """

    X: NDArray[np.float64]
    rankings: Rankings | None
    feature_names: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has shape {self.X.shape} but there are {len(self.feature_names)} feature_names; "
                "give one name a column"
            )
        if self.rankings is not None and self.rankings.n_rows != len(self.X):
            raise ValueError(f"X has {len(self.X)} rows but there are {self.rankings.n_rows} rankings; give one a row")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """How many columns of features there are."""
        return len(self.feature_names)
