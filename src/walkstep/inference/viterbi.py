"""The best world of a forest, exactly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference._kernels.viterbi import viterbi_chains, viterbi_forest
from walkstep.inference.forest import (
    Constraints,
    Forest,
    checked_arguments,
    forest,
    largest_sizes,
    not_finite,
    raise_if_failed,
)
from walkstep.model.graph import Graph, Kind


class Best(NamedTuple):
    """The best world."""

    values: NDArray[np.int32]  # (V,)
    score: float


def viterbi(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
) -> Best:
    """The world of the highest score, exactly.

    Parameters
    ----------
    graph : Graph or Forest
        Plan once with `forest` what is decoded more than once.
    weights : float array (n_weights,)
    constraints : Constraints, optional
        For chains only; other graphs forbid by fixed factors of ``-inf``.
    clamp : int array (n_variables,), optional
        Values to hold, -1 where a variable is free.

    Returns
    -------
    values : int32 array (n_variables,)
    score : float

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> viterbi(graph, np.array([0.0, 2.0, 1.0, 0.0]))
    Best(values=array([0, 1, 0], dtype=int32), score=3.0)
    """
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = checked_arguments(plan, weights, constraints, clamp)
    values, scores = np.empty(plan.graph.n_variables, np.int32), np.empty(plan.n_trees)
    largest, cells = largest_sizes(plan)
    if plan.is_uniform:
        longest = int(np.diff(plan.tree_ptr).max())
        start, transition, end = limits
        table = transition_table(plan, weights, largest)
        if np.isnan(table).any() or (table == np.inf).any():
            raise not_finite(weights)
        if len(transition):
            table += transition.reshape(table.shape)
        own, alpha = np.empty(largest), np.empty((longest, largest))
        outcome = viterbi_chains(plan, weights, held, start, table, end, own, alpha, values, scores)
    else:
        belief, back = np.empty(plan.value_ptr[-1]), np.empty(plan.message_ptr[-1], np.int32)
        best, arg, table = np.empty(largest), np.empty(largest, np.int64), np.empty(cells)
        outcome = viterbi_forest(plan, weights, held, *limits, belief, back, best, arg, table, values, scores)
    raise_if_failed(outcome, plan, weights)
    return Best(values, float(scores.sum()))


def transition_table(plan: Forest, weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The table that all cliques of a uniform chain share."""
    graph, table = plan.graph, np.zeros((n, n))
    for m in range(plan.member_ptr[1]):
        f = plan.member_factor[m]
        g = graph.factor_group[f]
        is_fixed = graph.group_kind[g] == Kind.FIXED
        if is_fixed or graph.group_bias[g] >= 0:
            at = graph.factor_weight[f]
            own = (graph.fixed_value if is_fixed else weights)[at : at + n * n].reshape(n, n)
            table += own if plan.is_aligned[m] else own.T
    return table
