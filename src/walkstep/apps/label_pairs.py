"""Which pairs of labels a model joins."""

import numpy as np
from numpy.typing import NDArray

Pairwise = bool | int | str


def label_pairs(truth: NDArray[np.integer], pairwise: Pairwise = True) -> NDArray[np.int64]:
    """The pairs of labels that are joined, the lower number first: (2, n_pairs).

    Parameters
    ----------
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    pairwise : bool, "seen" or int
        All pairs or none; those that a row bears together; or so many of those that say most about each other, be it
        that they go together or that they exclude each other (by their mutual information).

    Examples
    --------
    >>> truth = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]])
    >>> label_pairs(truth).tolist()
    [[0, 0, 1], [1, 2, 2]]
    >>> label_pairs(truth, "seen").tolist()
    [[0], [1]]
    >>> label_pairs(truth, 1).tolist()
    [[1], [2]]
    """
    n_labels = truth.shape[1]
    first, second = np.triu_indices(n_labels, 1)
    if isinstance(pairwise, bool | np.bool_):
        kept = np.full(len(first), bool(pairwise))
    elif isinstance(pairwise, str):
        if pairwise != "seen":
            raise ValueError(f"pairwise is {pairwise!r}; give True, False, 'seen', or how many pairs are joined")
        is_on = (truth == 1).astype(np.float64)
        kept = (is_on.T @ is_on)[first, second] > 0.0
    else:
        if pairwise < 0:
            raise ValueError(f"pairwise is {pairwise}; give True, False, 'seen', or how many pairs are joined")
        most = np.argsort(-_mutual_information(truth)[first, second], kind="stable")[:pairwise]
        kept = np.zeros(len(first), bool)
        kept[most] = True
    return np.stack([first[kept], second[kept]]).astype(np.int64)


def _mutual_information(truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """Of every two labels, over the rows where both are known: (n_labels, n_labels)."""
    value = [(truth == v).astype(np.float64) for v in (0, 1)]
    joint = np.array([[a.T @ b for b in value] for a in value])  # (2, 2, n_labels, n_labels)
    joint /= np.maximum(joint.sum(axis=(0, 1)), 1.0)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0.0)
    return (joint * np.log(ratio)).sum(axis=(0, 1))
