"""ARFF files, dense and sparse, with Mulan's layout of label attributes."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers._columns import (
    NEGATIVE,
    POSITIVE,
    Labels,
    as_labels,
    check_binary,
    check_finite,
    choose_labels,
)
from walkstep.data.readers._files import read_lines

_NAME = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)"""
_ATTRIBUTE = re.compile(rf"@attribute\s+{_NAME}\s*(.*)$", re.IGNORECASE)
_CELL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
_NUMERIC = frozenset({"numeric", "real", "integer"})


class _Attribute(NamedTuple):
    """One declared attribute: its values, or none if it is a number."""

    name: str
    values: tuple[str, ...]
    is_tree: bool = False  # the values are paths in a tree of classes

    @property
    def is_binary(self) -> bool:
        """Whether the values are exactly a no and a yes."""
        lower = {value.lower() for value in self.values}
        return len(lower) == 2 and len(lower & POSITIVE) == 1 and len(lower & NEGATIVE) == 1


def read_arff(path: str | os.PathLike, *, labels: Labels = None, allow_missing: bool = False) -> LabelledRows:
    """Read feature rows with label sets from an ARFF file.

    Numbers stay numbers, and so do nominal attributes whose values are numbers. Other nominal attributes
    become 0/1 columns named ``attribute=value``: one for the second of two values, one for each of several.

    Parameters
    ----------
    path : path
        A file ``.arff`` or ``.arff.gz``, dense or sparse.
    labels : int, sequence of str, path, str, or None
        Which attributes are labels: how many at the end; their names, in the order wanted; a file that lists
        them (one a line, or Mulan's XML); or how their names begin. With ``None``, ``labels.txt`` or
        Mulan's XML beside the file says so, else they are the run of {0,1} attributes at the end. Labels
        from a list in a file keep the order they have in the ARFF file. 0 means that there are none.
    allow_missing : bool
        Whether a feature may be missing (``?``); it is then NaN.

    Returns
    -------
    LabelledRows
        ``X`` is a CSR matrix for sparse files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.arff")
    ...     _ = path.write_text('''@relation tiny
    ... @attribute size numeric
    ... @attribute red {0,1}
    ... @attribute round {0,1}
    ... @data
    ... 1.5,0,1
    ... 2.5,1,1
    ... ''')
    ...     rows = read_arff(path)
    >>> rows.X.tolist(), rows.Y.tolist(), rows.label_names
    ([[1.5], [2.5]], [[0, 1], [1, 1]], ('red', 'round'))
    """
    lines = read_lines(path)
    attributes, first = _header(path, lines)
    for attribute in attributes:
        if attribute.is_tree:
            raise ValueError(f"{path}: attribute {attribute.name!r} is hierarchical; read it by read_hierarchical")
    rows, numbers = _rows(path, lines, first)
    is_binary = np.array([attribute.is_binary for attribute in attributes])
    chosen = choose_labels(path, [attribute.name for attribute in attributes], is_binary, labels)
    if rows[0].startswith("{"):
        X, Y, feature_names = _sparse(path, attributes, rows, numbers, chosen, allow_missing)
    else:
        X, Y, feature_names = _dense(path, attributes, rows, numbers, chosen, allow_missing)
    check_finite(path, X, feature_names, numbers, allow_nan=allow_missing)
    names = tuple(attributes[c].name for c in chosen)
    for k, name in enumerate(names):
        check_binary(path, name, Y[:, k], numbers)
    return LabelledRows(X, as_labels(Y) if names else None, tuple(feature_names), names)


def _rows(path: str | os.PathLike, lines: Sequence[str], first: int) -> tuple[list[str], list[int]]:
    """The lines of data, without comments, and the number of each."""
    numbers, rows = [], []
    for i in range(first, len(lines)):
        row = lines[i].strip()
        if row and not row.startswith("%"):
            numbers.append(i + 1)
            rows.append(row)
    if not rows:
        raise ValueError(f"{path} has no rows after @data; give a file with at least one")
    return rows, numbers


def _header(path: str | os.PathLike, lines: Sequence[str]) -> tuple[list[_Attribute], int]:
    """The declared attributes, and the index of the first line after ``@data``."""
    attributes: list[_Attribute] = []
    seen: set[str] = set()
    for i, line in enumerate(lines):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            if not attributes:
                raise ValueError(f"{path}, line {i + 1}: @data comes before any @attribute; declare the columns")
            return attributes, i + 1
        if keyword == "@attribute":
            attribute = _attribute(path, i + 1, line)
            if attribute.name in seen:
                raise ValueError(f"{path}, line {i + 1}: attribute {attribute.name!r} is declared twice; rename one")
            seen.add(attribute.name)
            attributes.append(attribute)
        elif keyword != "@relation":
            raise ValueError(
                f"{path}, line {i + 1}: {line[:60]!r} is no ARFF declaration; expected @relation, @attribute or @data"
            )
    raise ValueError(f"{path} has no @data line; give a complete ARFF file")


def _attribute(path: str | os.PathLike, number: int, line: str) -> _Attribute:
    """One ``@attribute`` line."""
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"{path}, line {number}: {line[:60]!r} declares no attribute; write @attribute NAME TYPE")
    name, kind = _unquoted(match[1]), match[2].strip()
    if kind.startswith("{") and "}" in kind:
        return _Attribute(name, tuple(_unquoted(cell) for cell in _cells(kind[1 : kind.rindex("}")])))
    kind = kind.split("%")[0].strip()
    if kind.lower() in _NUMERIC:
        return _Attribute(name, ())
    words = kind.split(None, 1)
    if len(words) == 2 and words[0].lower() == "hierarchical":
        return _Attribute(name, tuple(_unquoted(cell) for cell in _cells(words[1])), is_tree=True)
    raise ValueError(
        f"{path}, line {number}: attribute {name!r} is {kind[:30]!r}; "
        "only numeric, real, integer and {...} attributes are read: remove or recode it"
    )


def _dense(
    path: str | os.PathLike,
    attributes: Sequence[_Attribute],
    rows: Sequence[str],
    numbers: Sequence[int],
    chosen: Sequence[int],
    allow_missing: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Features and labels of a dense file: in bulk, and cell by cell where that fails."""
    columns: list[NDArray[np.float64]] | None = None
    if all(_is_number(value) for attribute in attributes for value in attribute.values):
        try:
            table = np.loadtxt(rows, delimiter=",", comments=None, ndmin=2)
        except ValueError:
            table = None
        if table is not None and table.shape[1] == len(attributes):
            columns = list(table.T)
            for attribute, column in zip(attributes, columns, strict=True):
                if attribute.values:
                    _check_declared(path, attribute, column, numbers)
    coded = columns is None
    if columns is None:
        columns = _cell_by_cell(path, attributes, rows, numbers, set(chosen), allow_missing)
    blocks, feature_names = [], []
    is_label = set(chosen)
    for c, attribute in enumerate(attributes):
        if c not in is_label:
            block, names = _feature_columns(attribute, columns[c], coded)
            blocks += block
            feature_names += names
    X = np.ascontiguousarray(np.stack(blocks, axis=1)) if blocks else np.zeros((len(rows), 0))
    found = [_label_column(attributes[c], columns[c], coded) for c in chosen]
    return X, np.stack(found, axis=1) if found else np.zeros((len(rows), 0)), feature_names


def _check_declared(
    path: str | os.PathLike, attribute: _Attribute, column: NDArray[np.float64], numbers: Sequence[int]
) -> None:
    """An error if a nominal attribute has a value that it does not declare."""
    wrong = np.flatnonzero(~np.isin(column, [float(value) for value in attribute.values]))
    if len(wrong):
        row = int(wrong[0])
        raise _undeclared(path, numbers[row], attribute, f"{column[row]:g}")


def _undeclared(path: str | os.PathLike, number: int, attribute: _Attribute, value: str) -> ValueError:
    expected = ", ".join(attribute.values[:8]) + (", ..." if len(attribute.values) > 8 else "")
    return ValueError(
        f"{path}, line {number}, column {attribute.name!r}: {value!r} is none of the declared values "
        f"{{{expected}}}; correct it, or declare it"
    )


def _cell_by_cell(
    path: str | os.PathLike,
    attributes: Sequence[_Attribute],
    rows: Sequence[str],
    numbers: Sequence[int],
    is_label: set[int],
    allow_missing: bool,
) -> list[NDArray[np.float64]]:
    """One array a column: numbers, or positions among the declared values."""
    position = [{value: float(i) for i, value in enumerate(attribute.values)} for attribute in attributes]
    table = np.empty((len(rows), len(attributes)))
    for r, row in enumerate(rows):
        cells = _cells(row) if "'" in row or '"' in row else row.split(",")
        if len(cells) != len(attributes):
            raise ValueError(
                f"{path}, line {numbers[r]}: {_short(row)} has {len(cells)} value(s), "
                f"expected {len(attributes)}, one for each attribute; complete the line"
            )
        for c, cell in enumerate(cells):
            table[r, c] = _code(path, numbers[r], attributes[c], position[c], cell, allow_missing and c not in is_label)
    return list(table.T)


def _code(
    path: str | os.PathLike,
    number: int,
    attribute: _Attribute,
    position: dict[str, float],
    cell: str,
    allow_missing: bool,
) -> float:
    """A cell as a number, or as a position among the declared values."""
    cell = cell.strip()
    if cell == "?":
        if allow_missing:
            return float("nan")
        raise ValueError(
            f"{path}, line {number}, column {attribute.name!r}: the value is missing ('?'); "
            "fill it in, or pass allow_missing=True if it is a feature"
        )
    cell = _unquoted(cell)
    if position:
        try:
            return position[cell]
        except KeyError:
            raise _undeclared(path, number, attribute, cell) from None
    try:
        return float(cell)
    except ValueError:
        raise ValueError(
            f"{path}, line {number}, column {attribute.name!r}: {cell!r} is not a number; correct it"
        ) from None


def _feature_columns(
    attribute: _Attribute, column: NDArray[np.float64], coded: bool
) -> tuple[list[NDArray[np.float64]], list[str]]:
    """The feature columns that one attribute becomes, and their names."""
    if not attribute.values or not coded:
        return [column], [attribute.name]
    if all(_is_number(value) for value in attribute.values):
        return [_decoded(column, [float(value) for value in attribute.values])], [attribute.name]
    values = list(enumerate(attribute.values))
    if len(values) == 2:
        values = values[1:]
    missing = np.isnan(column)
    return (
        [np.where(missing, np.nan, column == i) for i, _ in values],
        [f"{attribute.name}={value}" for _, value in values],
    )


def _label_column(attribute: _Attribute, column: NDArray[np.float64], coded: bool) -> NDArray[np.float64]:
    """A label's column as 0 and 1, where its attribute can be read so."""
    if not attribute.values or not coded:
        return column
    return _decoded(column, _label_values(attribute))


def _label_values(attribute: _Attribute) -> list[float]:
    """What each declared value of a label means: 1, 0, or neither (NaN)."""
    return [
        1.0 if value.lower() in POSITIVE else 0.0 if value.lower() in NEGATIVE else float("nan")
        for value in attribute.values
    ]


def _decoded(column: NDArray[np.float64], values: Sequence[float]) -> NDArray[np.float64]:
    """Positions among declared values replaced by those values; missing ones stay missing."""
    missing = np.isnan(column)
    decoded = np.asarray(values)[np.where(missing, 0, column).astype(np.int64)]
    decoded[missing] = np.nan
    return decoded


def _sparse(
    path: str | os.PathLike,
    attributes: Sequence[_Attribute],
    rows: Sequence[str],
    numbers: Sequence[int],
    chosen: Sequence[int],
    allow_missing: bool,
) -> "tuple[scipy.sparse.csr_matrix, NDArray[np.float64], list[str]]":
    """Features and labels of a sparse file, whose rows are ``{position value, ...}``."""
    label_of = {c: k for k, c in enumerate(chosen)}
    features = [c for c in range(len(attributes)) if c not in label_of]
    feature_of = {c: f for f, c in enumerate(features)}
    position = [{value: float(i) for i, value in enumerate(attribute.values)} for attribute in attributes]
    meaning: list[list[float] | None] = []
    for c, attribute in enumerate(attributes):
        if c in label_of:
            values = _label_values(attribute) if attribute.values else None
        elif attribute.values and all(_is_number(value) for value in attribute.values):
            values = [float(value) for value in attribute.values]
        elif attribute.values:
            raise ValueError(
                f"{path} is sparse, and attribute {attribute.name!r} has values that are not numbers "
                f"({', '.join(attribute.values[:4])}, ...); recode it as numbers"
            )
        else:
            values = None
        # The trap of the format: what a sparse row leaves out is the first declared value, whatever it is.
        if c not in label_of and values and values[0] != 0:
            raise ValueError(
                f"{path} is sparse, and attribute {attribute.name!r} is {values[0]:g} where a row leaves it "
                "out, its first declared value; declare 0 first, or write dense rows"
            )
        meaning.append(values)
    Y = np.zeros((len(rows), len(chosen)))
    for c, k in label_of.items():
        if (values := meaning[c]) is not None:
            Y[:, k] = values[0]
    row_of_entry, column_of_entry, entries = [], [], []
    for r, row in enumerate(rows):
        if not (row.startswith("{") and row.endswith("}")):
            raise ValueError(
                f"{path}, line {numbers[r]}: {_short(row)} is not a sparse row, but earlier ones are; "
                "write {position value, ...}"
            )
        filled = set()
        for cell in _cells(row[1:-1]) if row[1:-1].strip() else []:
            at, _, text = cell.strip().partition(" ")
            if not at.isdecimal() or not text.strip() or int(at) >= len(attributes) or int(at) in filled:
                raise ValueError(
                    f"{path}, line {numbers[r]}: {_short(cell)} is not a position from 0 to "
                    f"{len(attributes) - 1}, new in its row, and a value; correct it"
                )
            c = int(at)
            filled.add(c)
            code = _code(path, numbers[r], attributes[c], position[c], text, allow_missing and c not in label_of)
            values = meaning[c]
            value = code if values is None or np.isnan(code) else values[int(code)]
            if c in label_of:
                Y[r, label_of[c]] = value
            else:
                row_of_entry.append(r)
                column_of_entry.append(feature_of[c])
                entries.append(value)
    X = scipy.sparse.csr_matrix(
        (entries, (row_of_entry, column_of_entry)), shape=(len(rows), len(features)), dtype=np.float64
    )
    X.sum_duplicates()
    return X, Y, [attributes[c].name for c in features]


def _cells(row: str) -> list[str]:
    """The cells of a row in which quotes may hide commas."""
    if "'" not in row and '"' not in row:
        return [cell.strip() for cell in row.split(",")]
    cells, at = [], 0
    while at <= len(row):
        match = _CELL.match(row, at)
        if match is None:
            return [cell.strip() for cell in row.split(",")]
        cells.append(match[1])
        if match.end() == len(row) and not match[0].endswith(","):
            break
        at = match.end()
    return cells


def _unquoted(cell: str) -> str:
    """A cell without the quotes around it."""
    cell = cell.strip()
    if len(cell) >= 2 and cell[0] == cell[-1] and cell[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell


def _is_number(value: str) -> bool:
    """Whether a declared value reads as a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    """The start of a long line, quoted."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
