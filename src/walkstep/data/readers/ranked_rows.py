"""CSV tables of feature rows with a column of rankings such as ``c>a>b``."""

import os
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from walkstep.data.ranked_rows import RankedRows
from walkstep.data.rankings import rankings_of_texts
from walkstep.data.readers._columns import check_finite
from walkstep.data.readers._csv_cells import MISSING, CsvCells, is_number_column, number_column, read_cells

_RANKING = "ranking"


def read_ranked_rows(
    path: str | os.PathLike,
    ranking: str | None = _RANKING,
    *,
    label_names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> RankedRows:
    """Read feature rows with rankings from a CSV table.

    A column with a cell that is no number becomes one 0/1 column ``column=value`` for each of its values. A missing
    cell (empty, ``?`` or ``NA``) is NaN among numbers, and all zeros among such values.

    Parameters
    ----------
    path : path
        A UTF-8 file whose first row names the columns, plain or ``.gz``.
    ranking : str or None
        The column of rankings: labels joined by ``>``, the best first, and by ``=`` where they are tied; an empty
        cell says nothing. None reads no rankings: a column ``ranking`` that is no feature is then left out.
    label_names : sequence of str, optional
        All labels, in the order wanted; if not given, those found, sorted.
    categories : mapping of str to sequence of str, optional
        The columns that are no numbers and their values, as a model was trained on; other values become all zeros.

    Returns
    -------
    RankedRows
        With the categories found, or those given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.csv")
    ...     _ = path.write_text("size,town,ranking\\n1.5,Rome,b>a\\n?,Oslo,a>b\\n")
    ...     rows = read_ranked_rows(path)
    >>> rows.feature_names, rows.X.tolist(), rows.rankings.texts()
    (('size', 'town=Oslo', 'town=Rome'), [[1.5, 0.0, 1.0], [nan, 1.0, 0.0]], ['b>a', 'a>b'])
    """
    table = read_cells(path)
    columns = table.columns
    rankings = None
    if ranking is not None:
        if ranking not in columns:
            raise ValueError(
                f"{path} has no column {ranking!r} of rankings; its last columns are {list(columns)[-5:]}; "
                "name it with ranking=, or pass ranking=None if rankings are not known"
            )
        try:
            rankings = rankings_of_texts(columns.pop(ranking), label_names, lambda row: f"line {table.lines[row]}")
        except ValueError as error:
            raise ValueError(f"{path}, {error}") from None
    elif _RANKING in columns and not is_number_column(columns[_RANKING]):
        columns.pop(_RANKING)
    if not columns:
        raise ValueError(f"{path} has no column of features; give at least one")
    values_of = _categories(table) if categories is None else {name: tuple(v) for name, v in categories.items()}
    X, names = _features(table, values_of)
    check_finite(path, X, names, table.lines, allow_nan=True)
    return RankedRows(X, rankings, names, values_of)


def _categories(table: CsvCells) -> dict[str, tuple[str, ...]]:
    """The columns that are no numbers, and the values of each, sorted."""
    return {
        name: tuple(sorted(set(cells) - MISSING))
        for name, cells in table.columns.items()
        if not is_number_column(cells)
    }


def _features(
    table: CsvCells, categories: Mapping[str, tuple[str, ...]]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The columns of features and their names."""
    missing = [name for name in categories if name not in table.columns]
    if missing:
        raise ValueError(
            f"{table.path} has no column {missing[0]!r}, which categories asks for; "
            f"its columns are {list(table.columns)[:12]}"
        )
    blocks, names = [], []
    for name, cells in table.columns.items():
        if name in categories:
            values = np.array(categories[name], dtype=object)
            blocks.append(np.array(cells, dtype=object)[:, None] == values)
            names += [f"{name}={value}" for value in values]
        else:
            blocks.append(number_column(table, name, "correct it, or name the column in categories")[:, None])
            names.append(name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{table.path} has two columns of features called {twice!r}; rename one of them")
    return np.concatenate(blocks, axis=1, dtype=np.float64), tuple(names)
