"""Classes of a tree that rows bear, and the forms in which users hold them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.given_rows import GivenRows, given_rows, is_missing, row_number
from walkstep.data.name_hints import hint
from walkstep.data.trees import Tree

Form = Literal["sets", "texts", "matrix"]
JOINT = "@"  # between the classes of a row


def read_subtrees(given: Any, tree: Tree) -> tuple[NDArray[np.int8], Form]:
    """Classes of rows in any form as 0/1 (n_rows, n_nodes), and which form it is; `subtrees_as_given` goes back.

    Ancestors of what is given are added, and the root.

    Parameters
    ----------
    given : sequence, matrix or dataframe
        One of these, with a row each:

        - "sets": collections of names of nodes.
        - "texts": names joined by ``@``. An empty text, or None, names none.
        - "matrix": 0 and 1, with a column for each label of the tree: in their order, or by name in a dataframe.
    tree : Tree

    Examples
    --------
    >>> from walkstep.data.trees import tree_from_paths
    >>> tree = tree_from_paths(["a/b", "c"])
    >>> read_subtrees(["a/b@c", ""], tree)
    (array([[1, 1, 1, 1],
           [1, 0, 0, 0]], dtype=int8), 'texts')
    >>> read_subtrees([{"c"}, {"a/b"}], tree)[1], read_subtrees([[0, 1, 0]], tree)[1]
    ('sets', 'matrix')
    """
    found = given_rows("classes", given)
    if found.matrix is not None:
        return _of_matrix(found, tree), "matrix"
    if any(isinstance(row, str) for row in found.rows):
        return subtrees_of_texts(found.rows, tree), "texts"
    for row, names in enumerate(found.rows):
        if isinstance(names, Mapping) or not isinstance(names, Iterable):
            raise TypeError(f"row {row}: {names!r} is no set of classes; give names in a set or list, or joined by '@'")
    return tree.indicators(found.rows), "sets"


def subtrees_of_texts(texts: Sequence[Any], tree: Tree, where: Callable[[int], str] = row_number) -> NDArray[np.int8]:
    """Classes of texts as 0/1 (n_rows, n_nodes), closed; ``where`` says how errors call a row.

    Examples
    --------
    >>> from walkstep.data.trees import tree_from_paths
    >>> subtrees_of_texts(["a", "a/B"], tree_from_paths(["a/b", "c"]), lambda row: f"line {row + 2}")
    Traceback (most recent call last):
    ...
    ValueError: line 3: 'a/B' is no node of the tree; near it: 'a/b'
    """
    values = np.zeros((len(texts), tree.n_nodes), np.int8)
    for row, text in enumerate(texts):
        if is_missing(text):
            continue
        if not isinstance(text, str):
            raise TypeError(f"{where(row)}: {text!r} is no text, but other rows are; write classes like 'a@b'")
        names = [name.strip() for name in text.split(JOINT)] if text.strip() else []
        try:
            values[row, [tree.find(name) for name in names]] = 1
        except ValueError as error:
            raise ValueError(f"{where(row)}: {error}") from None
    return tree.closed(values)


def subtrees_as_given(values: ArrayLike, tree: Tree, form: Form) -> Any:
    """Predicted classes in the form that `read_subtrees` found.

    Parameters
    ----------
    values : 0/1 array (n_rows, n_nodes)
        Closed: with a node, all its ancestors.
    tree : Tree
    form : {"sets", "texts", "matrix"}

    Returns
    -------
    list of tuples of str, object array of str (n_rows,), or int64 array (n_rows, n_labels)
        Sets hold all classes, in the tree's order; texts the most specific ones, joined by ``@``.

    Examples
    --------
    >>> from walkstep.data.trees import tree_from_paths
    >>> tree = tree_from_paths(["a/b", "c"])
    >>> subtrees_as_given([[1, 1, 1, 0]], tree, "sets"), subtrees_as_given([[1, 1, 1, 0]], tree, "texts")
    ([('a', 'a/b')], array(['a/b'], dtype=object))
    >>> subtrees_as_given([[1, 1, 1, 0]], tree, "matrix")
    array([[1, 1, 0]])
    """
    if form == "sets":
        return tree.label_sets(values)
    if form == "texts":
        sets = tree.label_sets(values, most_specific=True)
        return np.array([JOINT.join(names) for names in sets], dtype=object)
    if form == "matrix":
        return np.asarray(values)[:, not tree.has_own_root :].astype(np.int64)
    raise ValueError(f"form is {form!r}; give sets, texts or matrix")


def _of_matrix(found: GivenRows, tree: Tree) -> NDArray[np.int8]:
    """A matrix with a column for each label, checked, put in the tree's order, and closed."""
    matrix, names = found.matrix, found.names
    assert matrix is not None
    labels = tree.labels
    if names is None and matrix.shape[1] != len(labels):
        raise ValueError(
            f"the classes have {matrix.shape[1]} columns, but the tree has {len(labels)} labels; "
            "give a column for each label of tree.labels, or sets of names"
        )
    if names is not None:
        unknown = sorted(set(names) - set(labels))
        if unknown:
            raise ValueError(f"column {unknown[0]!r} is no node of the tree; {hint(unknown[0], labels)}")
        column = {name: k for k, name in enumerate(names)}
        missing = [label for label in labels if label not in column]
        if missing:
            raise ValueError(f"the classes have no column {missing[0]!r}; give a column for each label of tree.labels")
        matrix = matrix[:, [column[label] for label in labels]]
    wrong = np.argwhere((matrix != 0) & (matrix != 1))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"row {row}: class {labels[column]!r} is {matrix[row, column]:g}; give 0 or 1")
    values = np.zeros((len(matrix), tree.n_nodes), np.int8)
    values[:, not tree.has_own_root :] = matrix
    return tree.closed(values)
