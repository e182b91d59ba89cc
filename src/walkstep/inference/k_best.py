"""The k best worlds of every tree of a forest, exactly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference._kernels.k_best import k_best_forest
from walkstep.inference.forest import Constraints, Forest, checked_arguments, forest, largest_sizes, raise_if_failed
from walkstep.model.domains import UNKNOWN
from walkstep.model.graph import Graph


class KBest(NamedTuple):
    """The k best worlds of every tree.

    Row ``r`` of ``values`` holds the r-th best world of each tree, which for a single tree is that of the graph.
    Trees with fewer than k worlds have -1 and ``-inf`` in the rows that are left.
    """

    values: NDArray[np.int32]  # (k, V)
    scores: NDArray[np.float64]  # (k, T)
    counts: NDArray[np.int64]  # (T,) how many worlds were found


def k_best(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    k: int,
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
) -> KBest:
    """The k best worlds of every tree (sentence), best first.

    Parameters
    ----------
    graph : Graph or Forest
    weights : float array (n_weights,)
    k : int
        How many worlds to find.
    constraints, clamp : optional
        As for `viterbi`.

    Returns
    -------
    KBest

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> found = k_best(graph, np.array([0.0, 3.0, 1.0, 2.0]), 3)
    >>> found.values.tolist(), found.scores.ravel()
    ([[0, 1], [1, 1], [1, 0]], array([3., 2., 1.]))
    """
    if k < 1:
        raise ValueError(f"k is {k}; ask for at least 1 world")
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = checked_arguments(plan, weights, constraints, clamp)
    n, n_values = plan.graph.n_variables, int(plan.value_ptr[-1])
    largest, cells = largest_sizes(plan)
    messages = int(np.diff(plan.message_ptr[plan.tree_clique_ptr]).max(initial=0)) * k
    scope = int(np.diff(plan.clique_ptr).max(initial=1))
    values = np.full((k, n), UNKNOWN, np.int32)
    scores, counts = np.full((k, plan.n_trees), -np.inf), np.zeros(plan.n_trees, np.int64)
    outcome = k_best_forest(
        plan,
        weights,
        held,
        *limits,
        k,
        np.empty(n_values),
        np.empty(cells),
        _Lists(np.empty(n_values * k), np.empty(n_values, np.int32)),
        _Messages(
            np.empty(messages, np.int64),
            np.empty((scope, messages), np.int32),
            np.empty(messages, np.int32),
            np.empty(messages, np.int32),
        ),
        _Scratch(
            np.empty(k),
            np.empty((scope, k), np.int32),
            np.empty(k),
            np.empty(k, np.int32),
            np.empty(k, np.int32),
            np.empty(largest * k),
            np.empty(largest, np.int32),
            np.empty(n, np.int32),
        ),
        values,
        scores,
        counts,
    )
    raise_if_failed(outcome, plan, weights)
    return KBest(values, scores, counts)


class _Lists(NamedTuple):
    """For every value of every variable, the best scores of what lies below it."""

    score: NDArray[np.float64]
    size: NDArray[np.int32]


class _Messages(NamedTuple):
    """Where the entries of those lists came from, clique by clique."""

    row: NDArray[np.int64]  # the joint value below the clique
    ranks: NDArray[np.int32]  # (slot, entry) the rank in the list of each variable there
    before: NDArray[np.int32]  # the rank in the top's list before the message was added
    rank: NDArray[np.int32]  # the rank in the message


class _Scratch(NamedTuple):
    """Memory of one step."""

    score: NDArray[np.float64]
    ranks: NDArray[np.int32]
    other: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    sent: NDArray[np.float64]
    size: NDArray[np.int32]
    rank_of: NDArray[np.int32]
