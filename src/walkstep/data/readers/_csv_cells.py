"""Cells of a CSV table with a header, and columns of numbers among them, some of which may be missing."""

import csv
import os
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.data.readers._files import decode, read_bytes
from walkstep.data.readers.table import _check_header

MISSING = frozenset({"", "?", "NA"})


class CsvCells(NamedTuple):
    """A table's columns of texts, without the space around them."""

    path: str | os.PathLike
    columns: dict[str, list[str]]  # by name, in the order of the file
    lines: list[int]  # where each row ends in the file


def read_cells(path: str | os.PathLike, *, delimiter: str = ",") -> CsvCells:
    """Read a CSV table whose first row names the columns: UTF-8, plain or ``.gz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.csv")
    ...     _ = path.write_text("size,ranking\\n1.5, b>a\\n?,a>b\\n")
    ...     cells = read_cells(path)
    >>> cells.columns, cells.lines
    ({'size': ['1.5', '?'], 'ranking': ['b>a', 'a>b']}, [2, 3])
    """
    reader = csv.reader(StringIO(decode(path, read_bytes(path)), newline=""), delimiter=delimiter)
    rows, lines = [], []
    names: list[str] | None = None
    try:
        for cells in reader:
            if not cells or cells == [""]:
                continue
            cells = [cell.strip() for cell in cells]
            if names is None:
                names = cells
                continue
            if len(cells) != len(names):
                raise ValueError(
                    f"{path}, line {reader.line_num}: {len(cells)} cell(s), expected {len(names)} as in the header; "
                    "complete the line"
                )
            rows.append(cells)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; correct the quotes there") from error
    if names is None or not rows:
        raise ValueError(f"{path} has no rows below its header; give a header row and at least one more")
    _check_header(path, names)
    return CsvCells(path, {name: [row[c] for row in rows] for c, name in enumerate(names)}, lines)


def is_number_column(cells: Sequence[str]) -> bool:
    """Whether every cell is a number or missing.

    Examples
    --------
    >>> is_number_column(["1", "?", "2e3"]), is_number_column(["1", "2:two"])
    (True, False)
    """
    return first_word(cells) is None


def first_word(cells: Sequence[str]) -> int | None:
    """Where the first cell stands that is neither a number nor missing; None if there is none."""
    for row, cell in enumerate(cells):
        try:
            float(cell)
        except ValueError:
            if cell not in MISSING:
                return row
    return None


def number_column(table: CsvCells, name: str, remedy: str) -> NDArray[np.float64]:
    """A column as numbers, NaN where a cell is missing; an error that names the first cell that is no number."""
    cells = table.columns[name]
    row = first_word(cells)
    if row is not None:
        raise ValueError(
            f"{table.path}, line {table.lines[row]}: column {name!r} holds {cells[row]!r}, which is not a number; "
            f"{remedy}"
        )
    return np.array([np.nan if cell in MISSING else float(cell) for cell in cells])
