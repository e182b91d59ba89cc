"""CSV tables of feature rows with 0/1 columns for labels."""

import csv
import os
from collections.abc import Sequence
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers._columns import Labels, as_labels, check_binary, check_finite, choose_labels
from walkstep.data.readers._files import decode, read_bytes


def read_csv_rows(path: str | os.PathLike, labels: Labels = None, *, delimiter: str = ",") -> LabelledRows:
    """Read feature rows with label sets from a CSV table of numbers.

    Parameters
    ----------
    path : path
        A UTF-8 file whose first row names the columns, plain or ``.gz``.
    labels : sequence of str, str, int, path, or None
        Which columns are labels: their names; how their names begin; how many at the end; a file that lists
        them. With ``None``, a ``labels.txt`` beside the file says so, else they are the columns at the end
        that hold nothing but 0 and 1. 0 means that there are none.
    delimiter : str
        What separates cells.

    Returns
    -------
    LabelledRows
        ``Y`` is ``None`` if no column is a label.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.csv")
    ...     _ = path.write_text("size,is_red,is_round\\n1.5,0,1\\n2.5,1,1\\n")
    ...     rows = read_csv_rows(path, labels="is_")
    >>> rows.label_names, rows.Y.tolist()
    (('is_red', 'is_round'), [[0, 1], [1, 1]])
    """
    reader = csv.reader(StringIO(decode(path, read_bytes(path)), newline=""), delimiter=delimiter)
    rows, numbers = [], []
    names: list[str] | None = None
    try:
        for cells in reader:
            if not cells or cells == [""]:
                continue
            if names is None:
                names = [cell.strip() for cell in cells]
            else:
                rows.append(cells)
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; correct the quotes there") from error
    if names is None or not rows:
        raise ValueError(f"{path} has no rows below its header; give a header row and at least one more")
    _check_header(path, names)
    table = _numbers(path, names, rows, numbers)
    is_binary = ((table == 0) | (table == 1)).all(axis=0)
    chosen = choose_labels(path, names, is_binary, labels)
    features = [c for c in range(len(names)) if c not in set(chosen)]
    X = np.ascontiguousarray(table[:, features])
    feature_names = tuple(names[c] for c in features)
    label_names = tuple(names[c] for c in chosen)
    check_finite(path, X, feature_names, numbers)
    for c in chosen:
        check_binary(path, names[c], table[:, c], numbers)
    return LabelledRows(X, as_labels(table[:, chosen]) if chosen else None, feature_names, label_names)


def _check_header(path: str | os.PathLike, names: Sequence[str]) -> None:
    """An error for a header that is not one, or that names a column twice."""
    seen: set[str] = set()
    for c, name in enumerate(names):
        if not name or name in seen:
            raise ValueError(
                f"{path}, line 1: column {c + 1} is named {name!r}, which is "
                f"{'empty' if not name else 'taken'}; give every column its own name"
            )
        seen.add(name)
    try:
        [float(name) for name in names]
    except ValueError:
        return
    raise ValueError(f"{path}, line 1: {names[:4]} are numbers, not names of columns; add a header row")


def _numbers(
    path: str | os.PathLike, names: Sequence[str], rows: list[list[str]], numbers: Sequence[int]
) -> NDArray[np.float64]:
    """The table as numbers: in bulk, and cell by cell to name a wrong one."""
    for cells, number in zip(rows, numbers, strict=True):
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {number}: {len(cells)} cell(s), expected {len(names)} as in the header; "
                "complete the line"
            )
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        pass
    for cells, number in zip(rows, numbers, strict=True):
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except ValueError:
                problem = "is empty" if not cell.strip() else f"holds {cell!r}, which is not a number"
                raise ValueError(
                    f"{path}, line {number}: column {name!r} {problem}; recode or remove the column, "
                    "or fill the value in"
                ) from None
    raise AssertionError("a table that does not convert has a cell that does not convert")
