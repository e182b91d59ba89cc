"""Rows of answers as users hold them: a matrix of numbers, a dataframe, or a sequence of anything else."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class GivenRows(NamedTuple):
    """What was given: a matrix where every cell is a number, else one thing a row."""

    names: tuple[str, ...] | None  # of the columns, if a dataframe was given
    matrix: NDArray[np.float64] | None  # (n_rows, n_columns), NaN where a cell is missing
    rows: list[Any]  # empty if there is a matrix


def given_rows(what: str, given: Any) -> GivenRows:
    """Look at what holds a row for each example, and take it for a matrix or for a list.

    Parameters
    ----------
    what : str
        What the rows are, for error messages.
    given : array, sparse matrix, dataframe, or iterable
        A dataframe of one column that holds no numbers is a list of its cells.

    Examples
    --------
    >>> given_rows("rankings", [[1, 2], [2, None]]).matrix.tolist()
    [[1.0, 2.0], [2.0, nan]]
    >>> given_rows("rankings", np.array(["a>b", "b>a"])).rows
    ['a>b', 'b>a']
    """
    frame = frame_cells(given)
    names: tuple[str, ...] | None
    cells: Any
    names, cells = (None, given) if frame is None else frame
    if hasattr(cells, "toarray"):
        cells = cells.toarray()
    if isinstance(cells, str | bytes | Mapping) or not isinstance(cells, Iterable):
        raise TypeError(f"the {what} are {_short(cells)}; give a sequence with one thing for each row, or a matrix")
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        if cells.ndim != 2:
            raise ValueError(f"the {what} have shape {cells.shape}; give a matrix (n_rows, n_labels)")
        matrix, rows = cells.astype(np.float64), []
    else:
        rows = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        matrix = _matrix(what, rows)
        if matrix is None and names is not None and len(names) == 1:
            rows = [row[0] for row in rows]
    if (len(rows) if matrix is None else len(matrix)) == 0:
        raise ValueError(f"the {what} have no rows; give at least one")
    return GivenRows(names, None, rows) if matrix is None else GivenRows(names, matrix, [])


def frame_cells(given: Any) -> tuple[tuple[str, ...], NDArray[Any]] | None:
    """The columns' names and the cells of a dataframe (of pandas, Polars, PyArrow, ...); None if it is none.

    Examples
    --------
    >>> import polars as pl
    >>> frame_cells(pl.DataFrame({"a": [1, 2], "b": [3, None]}))[0]
    ('a', 'b')
    """
    if hasattr(given, "collect") and hasattr(given, "collect_schema"):
        given = given.collect()
    if isinstance(given, Mapping) or not hasattr(given, "columns"):
        return None
    if not hasattr(given, "to_numpy"):
        if not hasattr(given, "__arrow_c_stream__"):
            return None
        import polars as pl  # slow to load, and few tables come this way

        given = pl.DataFrame(given)
    names = tuple(map(str, given.columns))
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"two columns of the table are named {repeated[0]!r}; rename one of them")
    return names, np.asarray(given.to_numpy())


def is_missing(value: object) -> bool:
    """Whether a cell says that nothing is known: None, NaN, or pandas' NA.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def row_number(row: int) -> str:
    """How errors call a row that comes from no file."""
    return f"row {row}"


def _matrix(what: str, rows: list[Any]) -> NDArray[np.float64] | None:
    """Rows of numbers as a matrix; None if a cell is something else, or there are no cells."""
    if any(isinstance(row, str | bytes | Mapping | set | frozenset) or not isinstance(row, Iterable) for row in rows):
        return None
    table = [list(row) for row in rows]
    if not any(table) or not all(isinstance(c, Real | np.bool_) or is_missing(c) for row in table for c in row):
        return None
    for r, row in enumerate(table):
        if len(row) != len(table[0]):
            raise ValueError(
                f"row {r} of the {what} has {len(row)} numbers, but row 0 has {len(table[0])}; give a matrix with "
                "a number for each label, or name labels by strings"
            )
    return np.array([[np.nan if is_missing(c) else c for c in row] for row in table], np.float64)


def _short(value: object) -> str:
    """A value for a message, not too long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
