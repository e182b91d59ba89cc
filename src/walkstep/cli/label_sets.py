"""Feature rows on the command line: which columns are labels, and rows that fit a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers import read_libsvm, read_rows
from walkstep.data.readers._columns import label_list

if TYPE_CHECKING:
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier


def read_labelled(path: Path, given: str | None) -> LabelledRows:
    """Training rows, their labels chosen as ``--labels`` says: a count, names, how names begin, or a file."""
    rows = read_rows(path, labels=_labels(path, given))
    if rows.Y is None:
        raise ValueError(f"{path} has no labels; say with --labels how many columns at the end are labels, or which")
    return rows


def read_truth(classifier: "MultiLabelClassifier", path: Path) -> tuple[Any, Any]:
    """Rows to compare with, as (X, Y): all labels of the model must be there."""
    names = list(classifier.label_names_)
    if _is_libsvm(path):
        rows = read_libsvm(path, labels=names, n_features=_width(classifier, path))
    else:
        rows = read_rows(path, labels=names)
    _check_width(classifier, path, rows.n_features)
    return rows.X, rows.Y


def read_unlabelled(classifier: "MultiLabelClassifier", path: Path) -> Any:
    """Rows to predict; where they come with labels, these are left out."""
    if _is_libsvm(path):
        return read_libsvm(path, n_features=_width(classifier, path)).X
    rows = read_rows(path, labels=0)
    labels = set(classifier.label_names_)
    kept = np.array([name not in labels for name in rows.feature_names])
    _check_width(classifier, path, int(kept.sum()))
    return rows.X if kept.all() else rows.X[:, np.flatnonzero(kept)]


def _labels(path: Path, given: str | None) -> Any:
    if given is None:
        return None
    if given.isdecimal():
        return int(given)
    if "," in given:
        return [name.strip() for name in given.split(",")]
    if _is_libsvm(path):
        return label_list(given) if Path(given).is_file() else [given]
    return given


def _is_libsvm(path: Path) -> bool:
    """Whether a file is sparse rows without names of columns."""
    return path.name.lower().removesuffix(".gz").endswith((".libsvm", ".svm", ".txt"))


def _width(classifier: "MultiLabelClassifier", path: Path) -> int:
    """As many columns as the model was trained with, unless the file needs more."""
    _check_width(classifier, path, max(classifier.n_features_in_, read_libsvm(path).n_features))
    return classifier.n_features_in_


def _check_width(classifier: "MultiLabelClassifier", path: Path, n_features: int) -> None:
    if n_features != classifier.n_features_in_:
        raise ValueError(
            f"{path} has {n_features} features, but the model was trained with {classifier.n_features_in_}; "
            "give rows with the same columns in the same order"
        )
