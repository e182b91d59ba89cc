"""Label sets as users give them, checked: a matrix of 0 and 1 with gaps, or a single label of two classes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from walkstep.model.domains import UNKNOWN


class LabelSetTruth(NamedTuple):
    """Which labels rows bear, and what the labels are called."""

    values: NDArray[np.int32]  # (n_rows, n_labels) 0, 1 and unknown
    names: tuple[str, ...]
    classes: NDArray[Any]  # the labels' numbers, or the two classes of a single one
    is_single: bool


def read_truth(Y: Any, label_names: Sequence[str] | None = None) -> LabelSetTruth:
    """Label sets as users give them.

    Parameters
    ----------
    Y : array, sparse matrix or dataframe
        A matrix as `read_indicators` takes it, or one dimension as `read_classes` does.
    label_names : sequence of str, optional
        Names of the labels; by default the columns of a dataframe, or numbers.

    Examples
    --------
    >>> read_truth([[1, 0], [0, -1]]).names, read_truth(["no", "yes"]).classes.tolist()
    (('label0', 'label1'), ['no', 'yes'])
    """
    columns = getattr(Y, "columns", None)
    dense = Y.toarray() if issparse(Y) else np.asarray(Y)
    is_single = dense.ndim == 1
    if is_single:
        classes, values = read_classes(dense)
    else:
        values = read_indicators(dense)
        classes = np.arange(values.shape[1])
    n_labels = values.shape[1]
    names = label_names
    if names is None:
        names = list(columns) if columns is not None else [f"label{k}" for k in range(n_labels)]
    if len(names) != n_labels:
        raise ValueError(f"there are {n_labels} labels but {len(names)} label_names; give one name each")
    names = tuple(map(str, names))
    silent = np.flatnonzero((values == UNKNOWN).all(axis=0))
    if len(silent):
        raise ValueError(
            f"label {names[silent[0]]!r} (column {silent[0]}) is unknown in every row; "
            "drop the column, or tell it in some rows"
        )
    return LabelSetTruth(values, names, classes, is_single)


def read_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """A single label told by two classes of any kind: the classes, and 0 or 1 for each row (n_rows, 1)."""
    y = column_or_1d(y)
    if y.dtype.kind == "f":
        check_array(y, ensure_2d=False, input_name="y")
    check_classification_targets(y)
    if type_of_target(y, input_name="y") != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}. "
            "Give a matrix of 0 and 1, one column a label."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        codes = codes + 1
    return classes, codes.reshape(-1, 1).astype(np.int32)


def read_indicators(Y: Any) -> NDArray[np.int32]:
    """A matrix of 0, 1 and unknown (-1 or NaN), checked."""
    checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan", "input_name": "Y"}
    Y = check_array(Y, **checks)
    if Y.dtype.kind not in "biuf":
        try:
            Y = Y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Y holds {Y.dtype} values; give 0 and 1, and -1 or NaN where the truth is unknown"
            ) from None
    is_unknown = np.isnan(Y) | (Y == UNKNOWN) if Y.dtype.kind == "f" else Y == UNKNOWN
    wrong = np.argwhere(~is_unknown & (Y != 0) & (Y != 1))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(
            f"Unknown label type: Y[{row}, {column}] is {Y[row, column]}; give 1 where a row bears a label, 0 where it "
            "does not, and -1 or NaN where the truth is unknown"
        )
    if is_unknown.any() and not (Y == 0).any():
        raise ValueError(
            "Y holds -1 (or NaN) and 1 but no 0; -1 says that the truth is unknown: write 0 where a row does not "
            "bear a label"
        )
    return np.where(is_unknown, UNKNOWN, np.where(Y == 1, 1, 0)).astype(np.int32)
