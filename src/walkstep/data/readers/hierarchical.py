"""Feature rows with classes of a tree: ARFF files in the layout of Clus, and CSV tables."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from walkstep.data.hierarchical_rows import HierarchicalRows
from walkstep.data.readers._columns import check_finite
from walkstep.data.readers._csv_cells import is_number_column, number_column, read_cells
from walkstep.data.readers._files import read_lines
from walkstep.data.readers.arff import _cells, _dense, _header, _rows, _short, _unquoted
from walkstep.data.subtrees import JOINT, subtrees_of_texts
from walkstep.data.trees import Tree, tree_from_paths

_CLASSES = "classes"


def read_hierarchical(
    path: str | os.PathLike, classes: str | None = _CLASSES, *, tree: Tree | None = None
) -> HierarchicalRows:
    """Read feature rows with classes of a tree from an ARFF file or a CSV table.

    A class is the path to it, such as ``6/2/0``; a row's classes are joined by ``@``. A row bears their beginnings
    too: ``6`` and ``6/2``. A missing feature (``?``; in CSV also an empty cell or ``NA``) is NaN.

    Parameters
    ----------
    path : path
        A file ``.arff`` whose last attribute is ``hierarchical`` and lists the classes, or a UTF-8 file ``.csv``
        whose first row names the columns; each may be packed as ``.gz``. In ARFF files, nominal features become
        columns as `read_arff` says; in CSV tables all features are numbers.
    classes : str or None
        Which column of a CSV table holds classes. None reads no classes, of an ARFF file either; a column ``classes``
        that is no feature is then left out.
    tree : Tree, optional
        The classes, as a model was trained on. If not given, those that the ARFF file lists, in its order, or those
        in the CSV table, sorted; with their beginnings.

    Returns
    -------
    HierarchicalRows
        ``values`` is None if classes are not read, or are ``?`` in every row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.arff")
    ...     _ = path.write_text('''@relation tiny
    ... @attribute size numeric
    ... @attribute class hierarchical 1,1/2,3
    ... @data
    ... 1.5,1/2
    ... ?,1@3
    ... ''')
    ...     rows = read_hierarchical(path)
    >>> rows.tree.labels, rows.X.tolist(), rows.tree.label_sets(rows.values)
    (('1', '1/2', '3'), [[1.5], [nan]], [('1', '1/2'), ('1', '3')])
    """
    ending = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    if ending == ".arff":
        return _read_arff(path, classes is not None, tree)
    if ending == ".csv":
        return _read_csv(path, classes, tree)
    raise ValueError(
        f"{path} ends in {ending!r}, which is no known format; give .arff or .csv, or one of these with .gz"
    )


def _read_arff(path: str | os.PathLike, has_classes: bool, tree: Tree | None) -> HierarchicalRows:
    """A file whose last attribute lists the paths of classes."""
    lines = read_lines(path)
    attributes, first = _header(path, lines)
    *features, target = attributes
    if not target.is_tree or any(attribute.is_tree for attribute in features):
        raise ValueError(
            f"{path}: the last attribute is {target.name!r}; let it be the only one of type hierarchical, with the "
            "paths of all classes"
        )
    if not features:
        raise ValueError(f"{path} has no attribute of features; give at least one")
    rows, numbers = _rows(path, lines, first)
    cells, texts = [], []
    for row, number in zip(rows, numbers, strict=True):
        if row.startswith("{"):
            raise ValueError(f"{path}, line {number}: {_short(row)} is a sparse row; write a value for each attribute")
        n_values = len(_cells(row)) if "'" in row or '"' in row else row.count(",") + 1
        if n_values != len(attributes):
            raise ValueError(
                f"{path}, line {number}: {_short(row)} has {n_values} value(s), expected {len(attributes)}, "
                "one for each attribute; correct the line"
            )
        left, _, right = row.rpartition(",")
        cells.append(left)
        texts.append(_unquoted(right))
    X, _, names = _dense(path, features, cells, numbers, (), True)
    if tree is None:
        try:
            tree = tree_from_paths(target.values)
        except ValueError as error:
            raise ValueError(f"{path}, attribute {target.name!r}: {error}") from None
    return _as_rows(path, X, names, numbers, texts if has_classes else None, tree)


def _read_csv(path: str | os.PathLike, classes: str | None, tree: Tree | None) -> HierarchicalRows:
    """A table with a column of classes."""
    table = read_cells(path)
    columns = table.columns
    texts = None
    if classes is not None:
        if classes not in columns:
            raise ValueError(
                f"{path} has no column {classes!r} of classes; its last columns are {list(columns)[-5:]}; "
                "name it with classes=, or pass classes=None if classes are not known"
            )
        texts = columns.pop(classes)
    elif _CLASSES in columns and not is_number_column(columns[_CLASSES]):
        columns.pop(_CLASSES)
    if not columns:
        raise ValueError(f"{path} has no column of features; give at least one")
    X = np.stack([number_column(table, name, "recode or remove the column") for name in columns], axis=1)
    if tree is None:
        tree = _tree_of_texts(path, texts, table.lines)
    return _as_rows(path, X, list(columns), table.lines, texts, tree)


def _tree_of_texts(path: str | os.PathLike, texts: Sequence[str] | None, lines: Sequence[int]) -> Tree:
    """The tree of all classes in a column."""
    if texts is None:
        raise ValueError(f"{path} is read without classes, so that their tree is not known; pass tree=")
    found: dict[str, int] = {}
    for row, text in enumerate(texts):
        for name in text.split(JOINT) if text and text != "?" else []:
            found.setdefault(name.strip(), row)
    if not found:
        raise ValueError(f"{path} has no class in any row; pass tree= if classes are not known")
    for name, row in found.items():
        if not all(part.strip() for part in name.split("/")):
            raise ValueError(f"{path}, line {lines[row]}: a level of class {name!r} has no name; write it like 6/2/0")
    return tree_from_paths(sorted(found, key=lambda name: name.split("/")))


def _as_rows(
    path: str | os.PathLike,
    X: NDArray[np.float64],
    names: Sequence[str],
    numbers: Sequence[int],
    texts: Sequence[str] | None,
    tree: Tree,
) -> HierarchicalRows:
    """Checked features, and classes where they are known."""
    check_finite(path, X, names, numbers, allow_nan=True)
    values = None
    if texts is not None and not all(text == "?" for text in texts):
        if "?" in texts:
            raise ValueError(
                f"{path}, line {numbers[texts.index('?')]}: the classes are missing, but other rows have some; "
                "fill them in, or leave the row out"
            )
        try:
            values = subtrees_of_texts(texts, tree, lambda row: f"{path}, line {numbers[row]}")
        except ValueError as error:
            raise ValueError(f"{error}; correct it, or add it to the tree") from None
    return HierarchicalRows(X, values, tree, tuple(names))
