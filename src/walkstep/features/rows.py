"""Sparse rows: what every layer above takes features as."""

from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import ArrayLike, NDArray


class SparseRows(NamedTuple):
    """A matrix of features, row after row; within a row the indices are distinct, in any order.

    Parameters
    ----------
    ptr : int64 array (n_rows + 1,)
        Row ``r`` holds entries ``ptr[r]:ptr[r + 1]``.
    index : int32 array (n_entries,)
        The column of each entry.
    value : float64 array (n_entries,) or (0,)
        The number in each entry; empty where all of them are 1.
    n_columns : int
        How many columns there are.

    Examples
    --------
    >>> rows = rows_from_dense([[0.0, 2.0], [1.0, 0.0]])
    >>> rows.n_rows, rows.index, rows.value
    (2, array([1, 0], dtype=int32), array([2., 1.]))
    """

    ptr: NDArray[np.int64]
    index: NDArray[np.int32]  # pyright: ignore[reportIncompatibleMethodOverride]
    value: NDArray[np.float64]
    n_columns: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.ptr) - 1

    @property
    def is_binary(self) -> bool:
        """Whether every entry is 1, its number not stored."""
        return len(self.value) == 0

    def row(self, r: int) -> NDArray[np.int32]:
        """The columns that row ``r`` has entries in."""
        return self.index[self.ptr[r] : self.ptr[r + 1]]

    def to_scipy(self) -> "scipy.sparse.csr_array":
        """The same matrix for SciPy and scikit-learn."""
        value = np.ones(len(self.index)) if self.is_binary else self.value
        return scipy.sparse.csr_array((value, self.index, self.ptr), shape=(self.n_rows, self.n_columns))


def rows_from_scipy(matrix: "scipy.sparse.sparray | scipy.sparse.spmatrix", *, binary: bool = False) -> SparseRows:
    """Rows of a SciPy matrix, checked: every entry finite, no entry twice.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array (n_rows, n_columns)
        In any of SciPy's formats.
    binary : bool
        Say that every entry is 1; the numbers are then dropped.

    Examples
    --------
    >>> rows_from_scipy(scipy.sparse.csr_array([[0, 3], [4, 0]])).value
    array([3., 4.])
    """
    csr = scipy.sparse.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    n_columns = int(csr.shape[1])  # pyright: ignore[reportOptionalSubscript]
    if n_columns > np.iinfo(np.int32).max:
        raise ValueError(f"the matrix has {n_columns} columns; at most {np.iinfo(np.int32).max} can be indexed")
    value = np.asarray(csr.data, np.float64)
    ptr = np.asarray(csr.indptr, np.int64)
    index = np.asarray(csr.indices, np.int32)
    bad = np.flatnonzero(~np.isfinite(value))
    if len(bad):
        row = int(np.searchsorted(ptr, bad[0], side="right")) - 1
        raise _not_finite(row, int(index[bad[0]]), float(value[bad[0]]))
    return SparseRows(ptr, index, np.zeros(0) if binary else value, n_columns)


def rows_from_dense(matrix: ArrayLike) -> SparseRows:
    """Rows of a plain two-dimensional array, zeros left out.

    Examples
    --------
    >>> rows_from_dense([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    ValueError: row 0, column 1 holds nan; fill in or leave out what is missing before building features
    """
    dense = np.asarray(matrix, np.float64)
    if dense.ndim != 2:
        raise ValueError(f"features have shape {dense.shape}; give two dimensions, rows and columns")
    bad = np.argwhere(~np.isfinite(dense))
    if len(bad):
        row, column = bad[0].tolist()
        raise _not_finite(row, column, float(dense[row, column]))
    return rows_from_scipy(scipy.sparse.csr_array(dense))


def check_rows(rows: SparseRows) -> SparseRows:
    """The same rows, after checking that pointers, indices and numbers hold together.

    Examples
    --------
    >>> check_rows(SparseRows(np.array([0, 2]), np.array([1, 1], np.int32), np.zeros(0), 3))
    Traceback (most recent call last):
    ...
    ValueError: row 0 has column 1 twice; add such entries up first
    """
    ptr, index, value, n_columns = rows
    if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != len(index):
        raise ValueError(f"ptr ends in {ptr[-1:]} but there are {len(index)} entries; it must run from 0 to that")
    shrinking = np.flatnonzero(np.diff(ptr) < 0)
    if len(shrinking):
        raise ValueError(f"ptr falls after row {shrinking[0]}; it must never fall")
    if len(value) not in (0, len(index)):
        raise ValueError(f"there are {len(index)} entries but {len(value)} values; give one each, or none at all")
    row_of_entry = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    outside = np.flatnonzero((index < 0) | (index >= n_columns))
    if len(outside):
        k = outside[0]
        raise ValueError(f"row {row_of_entry[k]} names column {index[k]}; there are {n_columns}, counted from 0")
    bad = np.flatnonzero(~np.isfinite(value))
    if len(bad):
        raise _not_finite(int(row_of_entry[bad[0]]), int(index[bad[0]]), float(value[bad[0]]))
    order = np.lexsort((index, row_of_entry))
    same = (np.diff(row_of_entry[order]) == 0) & (np.diff(index[order]) == 0)
    if same.any():
        k = order[np.flatnonzero(same)[0]]
        raise ValueError(f"row {row_of_entry[k]} has column {index[k]} twice; add such entries up first")
    return rows


def _not_finite(row: int, column: int, value: float) -> ValueError:
    """The complaint about a number that is missing or endless."""
    return ValueError(
        f"row {row}, column {column} holds {value}; fill in or leave out what is missing before building features"
    )
