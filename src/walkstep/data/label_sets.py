"""Rows of features, each with a set of labels: the data of multi-label classification."""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelledRows:
    """Feature rows and the set of labels that each row bears.

    Parameters
    ----------
    X : float64 array or CSR matrix (n_rows, n_features)
        The features; sparse where the file they come from is sparse.
    Y : int8 array (n_rows, n_labels) or None
        1 where the row bears the label, else 0; ``None`` if labels are unknown.
    feature_names : tuple of str (n_features,)
        One name a column of ``X``.
    label_names : tuple of str (n_labels,)
        One name a column of ``Y``; empty if ``Y`` is ``None``.

    Examples
    --------
    >>> rows = LabelledRows(np.ones((2, 1)), np.array([[0, 1], [1, 1]], np.int8), ("size",), ("red", "round"))
    >>> rows.n_rows, rows.n_labels, rows.label_set(0)
    (2, 2, ('round',))
    """

    X: "NDArray[np.float64] | scipy.sparse.csr_matrix"
    Y: NDArray[np.int8] | None
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]

    def __post_init__(self) -> None:
        n_rows, n_features = self.X.shape  # pyright: ignore[reportGeneralTypeIssues]
        if len(self.feature_names) != n_features:
            raise ValueError(
                f"X has {n_features} columns but there are {len(self.feature_names)} feature_names; "
                "give one name a column"
            )
        expected = None if self.Y is None else (n_rows, len(self.label_names))
        if self.Y is None and self.label_names:
            raise ValueError(f"Y is None but label_names are {self.label_names}; give both or neither")
        if self.Y is not None and self.Y.shape != expected:
            raise ValueError(f"Y has shape {self.Y.shape}, expected (rows, label names) = {expected}")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])  # pyright: ignore[reportOptionalSubscript]

    @property
    def n_features(self) -> int:
        """How many columns of features there are."""
        return len(self.feature_names)

    @property
    def n_labels(self) -> int:
        """How many labels a row may bear."""
        return len(self.label_names)

    def label_set(self, row: int) -> tuple[str, ...]:
        """The names of the labels that a row bears."""
        if self.Y is None:
            raise ValueError(f"row {row} has no label set: Y is None; read the file with labels=...")
        return tuple(self.label_names[k] for k in np.flatnonzero(self.Y[row]))
