"""What all readers of rows share: which columns are labels, and checks that name a cell."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.data.readers._files import decode, read_bytes, read_lines

Labels = int | str | os.PathLike | Sequence[str] | None

POSITIVE = frozenset({"1", "1.0", "true", "yes"})
NEGATIVE = frozenset({"0", "0.0", "false", "no"})


def choose_labels(
    path: str | os.PathLike, names: Sequence[str], is_binary: NDArray[np.bool_], labels: Labels
) -> list[int]:
    """Positions of the label columns of a file, among all its columns.

    Parameters
    ----------
    path : path
        The file, for error messages and to look for a list of labels beside it.
    names : sequence of str
        All columns of the file, in order.
    is_binary : bool array (n_columns,)
        Which columns hold 0 and 1 only.
    labels : int, path, str, sequence of str, or None
        How many columns at the end are labels; or a file that lists them; or how their names begin; or
        their names; or ``None``: a list beside the file, else the binary columns at the end.
    """
    if isinstance(labels, bool):
        raise TypeError(f"labels is {labels}; give a count, names, a prefix, or a file that lists the labels")
    if isinstance(labels, int | np.integer):
        if not 0 <= labels < len(names):
            raise ValueError(
                f"labels={labels} but {path} has {len(names)} columns; "
                "give how many columns at the end are labels, and leave a feature"
            )
        return list(range(len(names) - int(labels), len(names)))
    if isinstance(labels, str | os.PathLike):
        if Path(labels).is_file():
            return sorted(_positions(path, names, label_list(labels)))
        return _by_prefix(path, names, labels)
    if labels is not None:
        return _positions(path, names, list(labels))
    beside = list_beside(path)
    if beside is not None:
        listed = label_list(beside)
        # A file of new rows, without labels, may lie beside the same list.
        return sorted(_positions(path, names, listed)) if set(listed) & set(names) else []
    n_features = len(names) - int(np.argmin(np.append(is_binary[::-1], False)))
    if n_features == 0:
        raise ValueError(
            f"every column of {path} is binary, so labels cannot be told from features; "
            "pass labels= with how many columns at the end are labels, or with their names"
        )
    return list(range(n_features, len(names)))


def list_beside(path: str | os.PathLike) -> Path | None:
    """The list of labels in the same folder as a file: labels.txt, or Mulan's XML of the same name."""
    path = Path(path)
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    short = re.sub(r"[-_](train|test|valid|dev)$", "", stem, flags=re.IGNORECASE)
    for name in ("labels.txt", f"{stem}.xml", f"{short}.xml"):
        if path.with_name(name).is_file():
            return path.with_name(name)
    return None


def label_list(path: str | os.PathLike) -> list[str]:
    """The labels that a file lists: one a line, or as Mulan's XML."""
    if Path(path).suffix.lower() == ".xml":
        text = decode(path, read_bytes(path))
        try:
            root = ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            raise ValueError(f"{path} is not well-formed XML: {error}; give one label a line in a .txt file") from error
        found = [e.get("name", "").strip() for e in root.iter() if e.tag.rpartition("}")[2] == "label"]
    else:
        found = [line.strip() for line in read_lines(path)]
    found = [name for name in found if name]
    if not found:
        raise ValueError(f"{path} lists no label; give one label a line, or Mulan's <label name=...> elements")
    return found


def check_binary(path: str | os.PathLike, name: str, values: NDArray[np.float64], lines: Sequence[int]) -> None:
    """An error that names file, line and label, unless all of a label's values are 0 or 1."""
    wrong = np.flatnonzero((values != 0) & (values != 1))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{path}, line {lines[row]}: label {name!r} is {values[row]:g}, expected 0 or 1; "
            "correct it, or choose the label columns with labels="
        )


def check_finite(
    path: str | os.PathLike,
    X: "NDArray[np.float64] | scipy.sparse.csr_matrix",
    names: Sequence[str],
    lines: Sequence[int],
    *,
    allow_nan: bool = False,
) -> None:
    """An error that names file, line, row and column of the first feature that is not finite."""
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not bad.any():
        return
    at = int(np.flatnonzero(bad)[0])
    if not isinstance(X, np.ndarray):
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = divmod(at, X.shape[1])
    raise ValueError(
        f"{path}, line {lines[row]} (row {row}), column {names[column]!r}: the value is {values[at]}; "
        "fill it in, or leave the row out"
    )


def as_labels(values: NDArray[np.float64]) -> NDArray[np.int8]:
    """A block of checked 0/1 numbers as a label matrix."""
    return np.ascontiguousarray(values).astype(np.int8)


def _positions(path: str | os.PathLike, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where named columns stand."""
    position = {name: i for i, name in enumerate(names)}
    missing = [name for name in wanted if name not in position]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}, which labels asks for; its last columns are {list(names[-5:])}"
        )
    if len(set(wanted)) != len(wanted):
        raise ValueError(f"labels names a column of {path} twice: {list(wanted)}; name each one once")
    return [position[name] for name in wanted]


def _by_prefix(path: str | os.PathLike, names: Sequence[str], prefix: str | os.PathLike) -> list[int]:
    """Columns whose names begin alike."""
    found = [i for i, name in enumerate(names) if name.startswith(str(prefix))]
    if not found:
        raise ValueError(
            f"labels={str(prefix)!r} is neither a file nor how a column of {path} begins; "
            f"its last columns are {list(names[-5:])}"
        )
    return found
