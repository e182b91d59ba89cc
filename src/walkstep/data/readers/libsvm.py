"""Multi-label LIBSVM files: ``label,label position:value position:value ...``"""

import os
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load at first use

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers._columns import check_finite
from walkstep.data.readers._files import read_lines


def read_libsvm(
    path: str | os.PathLike,
    *,
    labels: int | Sequence[str] | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> LabelledRows:
    """Read sparse feature rows with label sets from a LIBSVM file.

    A row without labels begins with its first feature. Text after ``#`` is a comment; blank lines are no
    rows. A first line of three whole numbers (rows, features, labels) is taken as a header.

    Parameters
    ----------
    path : path
        The file, plain or ``.gz``.
    labels : int, sequence of str, or None
        The columns of ``Y``: how many labels there are, named from 0; or their names, such as those of the
        training rows; or ``None``, all that occur in the file.
    n_features : int, optional
        How many columns ``X`` has; as many as the file needs if not given. Give the number of the training
        rows when reading others.
    zero_based : bool, optional
        Whether positions count from 0. If not given, they do where a 0 occurs or a header is present.

    Returns
    -------
    LabelledRows
        ``X`` is a CSR matrix; ``Y`` is ``None`` if no row bears a label and ``labels`` is not given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.libsvm")
    ...     _ = path.write_text("0,2 1:0.5 3:2\\n1 2:1\\n")
    ...     rows = read_libsvm(path)
    >>> rows.X.toarray().tolist(), rows.Y.tolist(), rows.label_names
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [[1, 0, 1], [0, 1, 0]], ('0', '1', '2'))
    """
    if isinstance(labels, str | bytes | os.PathLike):
        raise TypeError(f"labels is {labels!r}; for a LIBSVM file give a count or a list of names")
    numbers: list[int] = []
    label_sets: list[list[str]] = []
    n_entries: list[int] = []
    cells: list[str] = []
    header: tuple[int, int, int] | None = None
    for i, line in enumerate(read_lines(path)):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if i == 0 and len(words) == 3 and all(word.isdecimal() for word in words):
            header = (int(words[0]), int(words[1]), int(words[2]))
            continue
        if ":" in words[0]:
            label_sets.append([])
        else:
            label_sets.append([_label(name) for name in words.pop(0).split(",") if name])
        numbers.append(i + 1)
        n_entries.append(len(words))
        cells += words
    if not numbers:
        raise ValueError(f"{path} has no rows; give a file with lines such as '0,2 1:0.5 3:2'")
    indptr = np.concatenate([[0], np.cumsum(n_entries)])
    position, values = _entries(path, cells, indptr, numbers)
    if header is not None:
        n_features = header[1] if n_features is None else n_features
        labels = header[2] if labels is None else labels
        if header[0] != len(numbers):
            raise ValueError(f"{path} announces {header[0]} rows but has {len(numbers)}; fetch the file again")
    if zero_based is None:
        zero_based = header is not None or bool((position == 0).any())
    position = position - (0 if zero_based else 1)
    needed = int(position.max(initial=-1)) + 1
    _check_positions(path, position, indptr, numbers, zero_based)
    if n_features is not None and needed > n_features:
        raise ValueError(f"{path} needs {needed} features but n_features={n_features}; give at least {needed}")
    width = needed if n_features is None else n_features
    X = scipy.sparse.csr_matrix((values, position, indptr), shape=(len(numbers), width))
    X.sort_indices()
    feature_names = tuple(str(c if zero_based else c + 1) for c in range(width))
    check_finite(path, X, feature_names, numbers)
    Y, names = _label_matrix(path, label_sets, labels, numbers)
    return LabelledRows(X, Y, feature_names, names)


def _label(name: str) -> str:
    """A label's name; whole numbers in one way of writing."""
    try:
        return str(int(float(name))) if float(name) == int(float(name)) else name
    except (ValueError, OverflowError):
        return name


def _entries(
    path: str | os.PathLike, cells: list[str], indptr: np.ndarray, numbers: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and values of all entries: in bulk, and one by one to name a wrong one."""
    parts = ":".join(cells).split(":") if cells else []
    if len(parts) == 2 * len(cells):
        try:
            return np.array(parts[0::2], dtype=np.int64), np.array(parts[1::2], dtype=np.float64)
        except (ValueError, OverflowError):
            pass
    for e, cell in enumerate(cells):
        at, _, value = cell.partition(":")
        try:
            _ = int(at), float(value)
        except ValueError:
            row = int(np.searchsorted(indptr, e, side="right")) - 1
            raise ValueError(
                f"{path}, line {numbers[row]}: {cell!r} is not position:value; write e.g. '3:0.5'"
            ) from None
    raise ValueError(f"{path} holds a position too large for 64 bits; number features from 1")


def _check_positions(
    path: str | os.PathLike, position: np.ndarray, indptr: np.ndarray, numbers: list[int], zero_based: bool
) -> None:
    """An error for a position below the first, or twice in a row."""
    row_of_entry = np.repeat(np.arange(len(numbers)), np.diff(indptr))
    low = np.flatnonzero(position < 0)
    if len(low):
        shown = int(position[low[0]]) + (not zero_based)
        raise ValueError(
            f"{path}, line {numbers[row_of_entry[low[0]]]}: position {shown} is below "
            f"{0 if zero_based else 1}; correct it, or set zero_based"
        )
    order = np.lexsort((position, row_of_entry))
    twice = np.flatnonzero((np.diff(position[order]) == 0) & (np.diff(row_of_entry[order]) == 0))
    if len(twice):
        e = order[twice[0]]
        raise ValueError(
            f"{path}, line {numbers[row_of_entry[e]]}: position {int(position[e]) + (not zero_based)} "
            "stands twice; keep one of them"
        )


def _label_matrix(
    path: str | os.PathLike,
    label_sets: list[list[str]],
    labels: int | Sequence[str] | None,
    numbers: list[int],
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The 0/1 matrix of label sets, and the names of its columns."""
    occurring = {name for names in label_sets for name in names}
    if labels is None:
        if not occurring:
            return None, ()
        names = sorted(occurring, key=lambda name: (0, int(name), "") if _is_whole(name) else (1, 0, name))
    elif isinstance(labels, int | np.integer):
        names = [str(k) for k in range(int(labels))]
    else:
        names = [_label(name) for name in labels]
    column = {name: k for k, name in enumerate(names)}
    Y = np.zeros((len(label_sets), len(names)), dtype=np.int8)
    for r, borne in enumerate(label_sets):
        for name in borne:
            if name not in column:
                raise ValueError(
                    f"{path}, line {numbers[r]}: label {name!r} is none of the {len(names)} in labels; "
                    "add it, or leave labels out"
                )
            Y[r, column[name]] = 1
    return Y, tuple(names)


def _is_whole(name: str) -> bool:
    """Whether a label's name is a whole number."""
    return name.removeprefix("-").isdecimal()
