"""Hierarchies on the command line: trees and rows read, answered and judged by a classifier."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from walkstep.cli.feature_columns import check_column, columns_of_model, ending
from walkstep.cli.resolver_settings import named

if TYPE_CHECKING:
    from walkstep.data.hierarchical_rows import HierarchicalRows
    from walkstep.data.trees import Tree
    from walkstep.evaluation.hierarchies import HierarchyScores

CLASSES = "classes"
"""The column of classes, unless the user says otherwise."""


def read_tree(path: Path) -> "Tree":
    """A tree of classes from a file: CSV of edges, with columns parent and child, or JSON of nested objects."""
    from walkstep.data.trees import tree_from

    readers = {".csv": _edges, ".json": _nested}
    if ending(path) not in readers:
        raise ValueError(
            f"{path} ends in {ending(path)!r}, which is no format of trees; give .csv with columns parent and child, "
            "or .json with nested objects"
        )
    with named(path):
        try:
            tree = tree_from(readers[ending(path)](path))
        except TypeError as error:
            raise ValueError(str(error)) from error
        _check_joint(tree)
    return tree


def read_classified(path: Path, column: str | None, option: str, tree: "Tree | None") -> "HierarchicalRows":
    """The rows of a file and their classes.

    Parameters
    ----------
    path : Path
    column : str, optional
        That of the classes in a CSV table.
    option : str
        The one that names it.
    tree : Tree, optional
        If not given, it is that of an ARFF file, or of paths such as ``6/2/0`` in a CSV table.
    """
    from walkstep.data.readers import read_hierarchical

    is_table = ending(path) == ".csv"
    if column is not None and not is_table:
        raise ValueError(
            f"{option} names a column of a CSV table, but {path} is none, and tells classes in its last attribute; "
            "leave it out"
        )
    try:
        rows = read_hierarchical(path, column or CLASSES, tree=tree)
    except ValueError:
        if is_table:
            check_column(path, column or CLASSES, "classes", option)
        raise
    if rows.values is None:
        raise ValueError(f"{path} tells the classes of no row; give rows whose classes are known")
    if is_table and tree is None and not any("/" in name for name in rows.tree.names):
        raise ValueError(
            f"the tree of the classes in {path} is not known: none of them is a path such as 6/2/0; name its file with "
            "--tree"
        )
    return rows


def predict_hierarchies(model: Path, data: Path, *, marginals: bool) -> tuple[list[str], list[list[str]]]:
    """A table with the most specific classes of each row, or with how probable each class is."""
    from walkstep.apps.hierarchy_classifier import HierarchyClassifier
    from walkstep.data.readers import read_hierarchical
    from walkstep.data.subtrees import subtrees_as_given

    classifier = HierarchyClassifier.load(model)
    tree = classifier.tree_
    rows = read_hierarchical(data, None, tree=tree)
    X = columns_of_model(classifier, data, rows.X, rows.feature_names)
    if marginals:
        chances = classifier.predict_proba(X)[:, not tree.has_own_root :]
        return list(tree.labels), [[f"{p:.4f}" for p in row] for row in chances.tolist()]
    with named(model):
        _check_joint(tree)
    return [CLASSES], [[text] for text in subtrees_as_given(classifier.predict_subtrees(X), tree, "texts")]


def evaluate_hierarchies(model: Path, data: Path, truth: str | None) -> "HierarchyScores":
    """How well the classes of a file are predicted."""
    from walkstep.apps.hierarchy_classifier import HierarchyClassifier
    from walkstep.data.subtrees import subtrees_as_given

    classifier = HierarchyClassifier.load(model)
    rows = read_classified(data, truth, "--truth", classifier.tree_)
    assert rows.values is not None
    X = columns_of_model(classifier, data, rows.X, rows.feature_names)
    with named(data):
        return classifier.evaluate(X, subtrees_as_given(rows.values, rows.tree, "matrix"))


def _edges(path: Path) -> list[tuple[str, str]]:
    """The pairs (parent, child) of a CSV table."""
    from walkstep.data.readers._csv_cells import read_cells

    columns = read_cells(path).columns
    if not {"parent", "child"} <= columns.keys():
        raise ValueError(f"{path} has the columns {list(columns)[:12]}; name two of them parent and child")
    return list(zip(columns["parent"], columns["child"], strict=True))


def _nested(path: Path) -> Any:
    """What a JSON file holds."""
    from walkstep.data.readers._files import decode, read_bytes

    text = decode(path, read_bytes(path))
    try:
        return json.loads(text, object_pairs_hook=_children)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON: {error}; write it like {{'animal': {{'dog': {{}}}}}}") from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply; give the tree as .csv with columns parent and child") from error


def _children(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, in which no name may stand twice."""
    children = dict(pairs)
    if len(children) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two nodes are named {name!r}; give each node a name of its own")
    return children


def _check_joint(tree: "Tree") -> None:
    """Refuse names that cannot be told apart in a text of several."""
    from walkstep.data.subtrees import JOINT

    wrong = next((name for name in tree.labels if JOINT in name or name != name.strip()), None)
    if wrong is not None:
        raise ValueError(
            f"class {wrong!r} cannot stand in a text, where {JOINT!r} joins classes and space around them does not "
            "count; rename it"
        )
