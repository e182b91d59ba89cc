"""What entities are called when records are added: as before, wherever that can be said."""

import numpy as np
from numpy.typing import NDArray


def as_places(assignment: NDArray[np.int64]) -> NDArray[np.int64]:
    """Entities named by their first record, whatever ids they had.

    Examples
    --------
    >>> as_places(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(assignment, return_index=True, return_inverse=True)
    return first[inverse]


def kept_names(before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """New entities under their old ids where most of their old records had them; others get fresh ones.

    Parameters
    ----------
    before : int array (n_before,)
        The ids of the old records' entities.
    after : int array (n_records,)
        The entities found, by any names; the old records come first.

    Examples
    --------
    >>> kept_names(np.array([7, 3, 7]), np.array([0, 1, 0, 1, 4]))
    array([7, 3, 7, 3, 8])
    """
    pairs, counts = np.unique(np.stack([after[: len(before)], before], axis=1), axis=0, return_counts=True)
    taken: set[int] = set()
    names: dict[int, int] = {}
    for new, old in pairs[np.argsort(-counts, kind="stable")].tolist():
        if new not in names and old not in taken:
            names[new] = old
            taken.add(old)
    fresh = int(max(before.max(initial=-1), len(after) - 1)) + 1
    values, inverse = np.unique(after, return_inverse=True)
    for new in values.tolist():
        if new not in names:
            names[new] = fresh
            fresh += 1
    return np.array([names[new] for new in values.tolist()], np.int64)[inverse]
