"""Exact answers for rows of scores, where a space has a short way: ln Z, expected statistics, the best structure."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from walkstep.inference.ranking_lattice import MAX_LABELS, best_rankings, sum_rankings
from walkstep.inference.tree_sums import best_subtrees, sum_subtrees
from walkstep.worlds.hypercube import Hypercube
from walkstep.worlds.permutation import Permutations
from walkstep.worlds.space import Space
from walkstep.worlds.subtree import Subtrees

MAX_LISTED = 1 << 14
"""Spaces of up to so many structures are listed: as many as the sets of fourteen labels."""

_CELLS_AT_ONCE = 1 << 22


class Expectations(NamedTuple):
    """What a model expects of each row."""

    log_partition: NDArray[np.float64]  # (n_rows,)
    statistics: NDArray[np.float64]  # (n_rows, n_statistics) E[psi]


def has_exact_answers(space: Space) -> bool:
    """Whether `expectations` and `best_structures` are exact, and quick, for a space.

    Examples
    --------
    >>> from walkstep.worlds import Cycles, Permutations, Subtrees
    >>> has_exact_answers(Permutations(10)), has_exact_answers(Permutations(20)), has_exact_answers(Cycles(20))
    (True, False, False)
    """
    if isinstance(space, Subtrees) or _is_free(space):
        return True
    if isinstance(space, Permutations) and space.size <= MAX_LABELS and (space.given < 0).all():
        return True
    return _listed(space) is not None


def expectations(space: Space, scores: NDArray[np.float64]) -> Expectations:
    """ln Z and expected statistics for each row of scores, exactly.

    Parameters
    ----------
    space : Space
    scores : float array (n_rows, n_statistics)

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> found = expectations(Hypercube(2), np.array([[0.0, 0.0]]))
    >>> round(float(np.exp(found.log_partition[0])), 6), found.statistics.tolist()
    (4.0, [[0.5, 0.5]])
    """
    if isinstance(space, Subtrees):
        return Expectations(*sum_subtrees(space, scores))
    if _is_free(space):
        return Expectations(np.logaddexp(0.0, scores).sum(axis=1), expit(scores))
    if isinstance(space, Permutations) and space.size <= MAX_LABELS and (space.given < 0).all():
        return Expectations(*sum_rankings(scores, space.size))
    statistics = _listed_or_error(space)[1]
    found = Expectations(np.zeros(len(scores)), np.zeros(scores.shape))
    for rows in _portions(len(scores), len(statistics)):
        table = scores[rows] @ statistics.T
        found.log_partition[rows] = logsumexp(table, axis=1)
        found.statistics[rows] = softmax(table, axis=1) @ statistics
    return found


def best_structures(space: Space, scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """The structure of the highest score for each row of scores, exactly: (n_rows, size).

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> best_structures(Permutations(3), np.array([[1.0, 1.0, 1.0]]))
    array([[0, 1, 2]], dtype=int32)
    """
    if isinstance(space, Subtrees):
        return best_subtrees(space, scores)
    if _is_free(space):
        return (scores > 0.0).astype(np.int32)
    if isinstance(space, Permutations) and space.size <= MAX_LABELS and (space.given < 0).all():
        return best_rankings(scores, space.size)
    structures, statistics = _listed_or_error(space)
    found = np.zeros((len(scores), space.size), np.int32)
    for rows in _portions(len(scores), len(structures)):
        found[rows] = structures[(scores[rows] @ statistics.T).argmax(axis=1)]
    return found


def _is_free(space: Space) -> bool:
    """Whether labels are on or off each by itself."""
    return isinstance(space, Hypercube) and space.n_statistics == space.size


@lru_cache(maxsize=8)
def _listed(space: Space) -> tuple[NDArray[np.int32], NDArray[np.float64]] | None:
    """All structures and their statistics, where all can be listed for every row."""
    try:
        if space.count() > MAX_LISTED:
            return None
        structures = space.all_structures()
    except ValueError:  # nobody has counted, or listed, a user's space
        return None
    return structures, space.statistics(structures)


def _listed_or_error(space: Space) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    listed = _listed(space)
    if listed is None:
        raise ValueError(
            f"this {type(space).__name__} space is too large for exact answers (more than {MAX_LISTED:,} structures, "
            "or not listed); draw from it instead"
        )
    return listed


def _portions(n_rows: int, n_structures: int) -> list[slice]:
    """Slices of rows whose table of scores stays small."""
    size = max(1, _CELLS_AT_ONCE // n_structures)
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
