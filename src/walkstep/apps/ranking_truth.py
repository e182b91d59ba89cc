"""What rankings with ties and gaps say of every two labels, for training."""

import numpy as np
from numpy.typing import NDArray

from walkstep.learning.structured_model import StructuredTruth
from walkstep.worlds.permutation import Permutations


def ranking_truth(space: Permutations, places: NDArray[np.float64]) -> StructuredTruth:
    """Truth of rankings.

    Parameters
    ----------
    space : Permutations
    places : float array (n_rows, n_labels)
        The place of each label; equal ones are tied, NaN is not ranked.

    Examples
    --------
    >>> truth = ranking_truth(Permutations(3), np.array([[0.0, 1.0, 2.0], [1.0, 0.0, np.nan]]))
    >>> truth.open_rows.tolist(), truth.statistics.tolist(), truth.held.tolist()
    ([1], [[0.5, 0.5, 0.5], [-0.5, 0.0, 0.0]], [[-1.0, 0.0, 0.0]])
    """
    gap = places[:, space.second] - places[:, space.first]
    sign = np.where(np.isnan(gap), 0.0, np.sign(gap))
    open_rows = np.flatnonzero((sign == 0.0).any(axis=1))
    # An order that agrees: by place, those that are not ranked last.
    order = np.argsort(np.where(np.isnan(places), np.inf, places), axis=1, kind="stable")
    starts = np.empty(places.shape, np.int32)
    np.put_along_axis(starts, order, np.arange(space.size, dtype=np.int32)[None], axis=1)
    return StructuredTruth(0.5 * sign, starts, open_rows, sign[open_rows])
