"""Factors: what a template becomes on data, as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from walkstep.features.rows import SparseRows


@dataclass(frozen=True)
class Factors:
    """All the factors that one template makes.

    A factor joins the variables of its scope; its statistic is its features times the indicator of the
    joint value of its scope, and its score the inner product with the weights (Eq. 1 of the SampleRank paper).

    Parameters
    ----------
    name : str
        Name of the weight block; factors of the same name share weights.
    scopes : int array (n_factors, arity)
        The variables each factor joins.
    features : SparseRows or float array (n_rows, n_columns), optional
        Observed features, a row each; sparse binary, sparse real or dense. Without them a factor
        has its bias alone.
    rows : int array (n_factors,), optional
        The row of ``features`` each factor reads; by default factor ``f`` reads row ``f``.
    bias : bool, optional
        Whether a feature that is always on is added; by default only where there are no features.
    sets : int array (n_factors,), optional
        Which set of parameters each factor uses; by default they all share one.
    n_sets : int
        How many sets there are.
    fixed : float array, optional
        A table over the joint values of the scope that is added as it is and never learned;
        ``-inf`` forbids. Such factors have neither features nor weights.

    Examples
    --------
    >>> transition = Factors("transition", [[0, 1], [1, 2]])
    >>> transition.n_factors, transition.arity, transition.has_bias
    (2, 2, True)
    """

    name: str
    scopes: NDArray[np.integer]
    features: SparseRows | NDArray[np.floating] | None = None
    rows: NDArray[np.integer] | None = None
    bias: bool | None = None
    sets: NDArray[np.integer] | None = None
    n_sets: int = 1
    fixed: NDArray[np.floating] | None = None

    def __post_init__(self):
        scopes = np.asarray(self.scopes)
        if scopes.ndim != 2 or scopes.shape[1] == 0:
            raise ValueError(
                f"factors {self.name!r} have scopes of shape {scopes.shape}; give (n_factors, arity) with arity >= 1"
            )
        object.__setattr__(self, "scopes", np.ascontiguousarray(scopes, dtype=np.int32))
        if self.fixed is not None and (self.features is not None or self.sets is not None):
            raise ValueError(f"factors {self.name!r} have a fixed table; leave features and sets out")
        for what in ("rows", "sets"):
            array = getattr(self, what)
            if array is not None and np.shape(array) != (len(scopes),):
                raise ValueError(
                    f"factors {self.name!r}: {what} has shape {np.shape(array)}; give one entry for each of "
                    f"the {len(scopes)} factors"
                )
        self._check_features()
        if self.sets is not None and len(scopes) and not 0 <= np.min(self.sets) <= np.max(self.sets) < self.n_sets:
            raise ValueError(f"factors {self.name!r} use parameter sets outside 0..{self.n_sets - 1}; raise n_sets")

    def _check_features(self):
        if self.features is None:
            return
        if not isinstance(self.features, SparseRows):
            dense = np.ascontiguousarray(self.features, dtype=np.float64)
            if dense.ndim != 2:
                raise ValueError(
                    f"factors {self.name!r}: dense features have shape {dense.shape}; give (n_rows, n_columns)"
                )
            if not np.isfinite(dense).all():
                row, column = np.argwhere(~np.isfinite(dense))[0]
                raise ValueError(
                    f"factors {self.name!r}: feature {column} of row {row} is {dense[row, column]}; "
                    "fill or drop what is not a finite number"
                )
            object.__setattr__(self, "features", dense)
        n_rows = self.n_feature_rows
        rows = np.arange(len(self.scopes)) if self.rows is None else np.asarray(self.rows)
        if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
            raise ValueError(
                f"factors {self.name!r} read feature rows up to {rows.max()} but there are {n_rows}; "
                "give a row of features for each factor, or say with rows= which one it reads"
            )

    @property
    def n_factors(self) -> int:
        """How many factors there are."""
        return len(self.scopes)

    @property
    def arity(self) -> int:
        """How many variables a factor joins."""
        return self.scopes.shape[1]

    @property
    def has_bias(self) -> bool:
        """Whether a feature that is always on is added."""
        return (self.features is None and self.fixed is None) if self.bias is None else self.bias

    @property
    def n_columns(self) -> int:
        """Observed features, the bias not counted."""
        if self.features is None:
            return 0
        return self.features.n_columns if isinstance(self.features, SparseRows) else self.features.shape[1]

    @property
    def n_feature_rows(self) -> int:
        """Rows of the feature matrix."""
        if self.features is None:
            return 0
        return len(self.features.ptr) - 1 if isinstance(self.features, SparseRows) else len(self.features)
