"""How far two rankings of the same labels agree, row by row: pairs, Kendall's tau, Spearman's rho."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.rankings import Rankings, dense_places

Places = Rankings | ArrayLike


def kendall_taus(truth: Places, predicted: Places) -> NDArray[np.float64]:
    """Kendall's tau of each row: (pairs right − pairs wrong) / pairs that the truth orders.

    A pair that the prediction ties is neither right nor wrong. NaN where the truth orders no pair.

    Returns
    -------
    float64 array (n_rows,)

    Examples
    --------
    >>> kendall_taus([[0, 1, 2], [0, 0, np.nan]], [[0, 2, 1], [0, 1, 2]]).round(4)
    array([0.3333,    nan])
    """
    return ordered_pairs(*as_places(truth, predicted)).taus


def spearman_rhos(truth: Places, predicted: Places) -> NDArray[np.float64]:
    """Spearman's rho of each row: the correlation of true and predicted ranks, of labels that the truth ranks.

    Tied labels have the mean of their ranks; without ties it is 1 − 6 Σd² / (n(n² − 1)), d being differences of
    ranks. 0 where the prediction ties all; NaN where the truth orders no pair.

    Returns
    -------
    float64 array (n_rows,)

    Examples
    --------
    >>> spearman_rhos([[0, 1, 2], [0, 0, np.nan]], [[0, 2, 1], [0, 1, 2]])
    array([0.5, nan])
    """
    return rhos_of_places(*as_places(truth, predicted))


class OrderedPairs(NamedTuple):
    """Pairs of labels that the truth orders, and how many of them are right."""

    taus: NDArray[np.float64]  # (n_rows,)
    n_ordered: NDArray[np.int64]  # (n_rows,)
    n_right: NDArray[np.int64]  # (n_rows,)
    n_ordered_of_label: NDArray[np.int64]  # (n_labels,)
    n_right_of_label: NDArray[np.int64]  # (n_labels,)


def ordered_pairs(true: NDArray[np.float64], guessed: NDArray[np.float64]) -> OrderedPairs:
    """Count the pairs of labels that the truth orders, and those of them that are right."""
    n_rows, n_labels = true.shape
    of_row, of_label = np.zeros((3, n_rows), np.int64), np.zeros((2, n_labels), np.int64)
    for k in range(n_labels - 1):  # one label with all later ones at a time
        order = np.nan_to_num(np.sign(true[:, k + 1 :] - true[:, k : k + 1]))
        agreement = order * np.nan_to_num(np.sign(guessed[:, k + 1 :] - guessed[:, k : k + 1]))
        is_ordered, is_right = order != 0, agreement > 0
        of_row += np.stack([is_ordered.sum(axis=1), is_right.sum(axis=1), (agreement < 0).sum(axis=1)])
        for row, counted in enumerate((is_ordered, is_right)):
            of_label[row, k] += counted.sum()
            of_label[row, k + 1 :] += counted.sum(axis=0)
    n_ordered, n_right, n_wrong = of_row
    taus = np.full(n_rows, np.nan)
    np.divide(n_right - n_wrong, n_ordered, out=taus, where=n_ordered > 0)
    return OrderedPairs(taus, n_ordered, n_right, *of_label)


def rhos_of_places(true: NDArray[np.float64], guessed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's rho of places without gaps."""
    left, right = (_centred_ranks(places) for places in (true, np.where(np.isnan(true), np.nan, guessed)))
    is_ordered = (left != 0).any(axis=1)
    spread = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    rhos = np.where(is_ordered, 0.0, np.nan)
    np.divide((left * right).sum(axis=1), spread, out=rhos, where=is_ordered & (spread > 0))
    return rhos


def _centred_ranks(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of each label less the row's mean, tied labels sharing the mean of their ranks; 0 if not ranked."""
    n_rows, n_labels = places.shape
    dense = dense_places(places)
    is_ranked = ~np.isnan(dense)
    bucket = (np.nan_to_num(dense) + n_labels * np.arange(n_rows)[:, None]).astype(np.int64)
    size = np.bincount(bucket[is_ranked], minlength=n_rows * n_labels).reshape(n_rows, n_labels)
    rank_of_bucket = np.cumsum(size, axis=1) - (size - 1) / 2
    ranks = rank_of_bucket.ravel()[bucket]
    mean_rank = (is_ranked.sum(axis=1, keepdims=True) + 1) / 2
    return np.where(is_ranked, ranks - mean_rank, 0.0)


def as_places(truth: Places, predicted: Places) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both sides as dense places of one shape, each label that the truth ranks being ranked by the prediction."""
    if isinstance(truth, Rankings) and isinstance(predicted, Rankings) and truth.label_names != predicted.label_names:
        raise ValueError(
            f"truth ranks {truth.label_names} but predicted ranks {predicted.label_names}; "
            "give the same labels in the same order"
        )
    true, guessed = _dense("truth", truth), _dense("predicted", predicted)
    if true.shape != guessed.shape:
        raise ValueError(
            f"truth has shape {true.shape} but predicted has {guessed.shape}; give the same rows and labels in both"
        )
    wrong = np.argwhere(np.isnan(guessed) & ~np.isnan(true))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"predicted[{row}, {column}] is nan; predict a place for each label that the truth ranks")
    return true, guessed


def _dense(name: str, places: Places) -> NDArray[np.float64]:
    """Places as a checked matrix, numbered without gaps."""
    if isinstance(places, Rankings):
        return places.places
    matrix = np.asarray(places)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} holds {matrix.dtype} values; give the places of labels, or Rankings (see read_rankings)"
        )
    if matrix.ndim != 2:
        raise ValueError(f"{name} has shape {matrix.shape}; give a matrix (n_rows, n_labels)")
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0].tolist()
        raise ValueError(f"{name}[{row}, {column}] is {matrix[row, column]}; give a finite place, or NaN")
    return dense_places(matrix)
