"""The probability of every value in a forest, exactly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference._kernels.marginals import marginals_forest
from walkstep.inference.forest import Constraints, Forest, checked_arguments, forest, largest_sizes, raise_if_failed
from walkstep.model.graph import Graph


class Marginals(NamedTuple):
    """How probable each value is, and the logarithm of the partition function."""

    probabilities: NDArray[np.float64]  # (V, K) where all domains are equal, otherwise flat: variable v's are
    value_ptr: NDArray[np.int64]  # (V+1,) probabilities[value_ptr[v]:value_ptr[v+1]]
    log_partition: float
    log_partition_of_tree: NDArray[np.float64]  # (T,)
    # Joint probabilities of cliques where asked for: (C, K, K) for chains, otherwise flat, clique c's
    # at table_ptr[c]:table_ptr[c+1] of the Forest.
    joints: NDArray[np.float64] | None


def marginals(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
    joints: bool = False,
) -> Marginals:
    """The probability of every value of every variable, exactly (forward-backward on any forest).

    Parameters
    ----------
    graph : Graph or Forest
    weights : float array (n_weights,)
    constraints, clamp : optional
        As for `viterbi`; the probabilities are those given what they say.
    joints : bool
        Whether to return the joint probabilities of cliques (neighbours, on a chain) too.

    Returns
    -------
    Marginals

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> found = marginals(graph, np.log([1.0, 2.0, 3.0, 4.0]))
    >>> found.probabilities.round(3)
    array([[0.3, 0.7],
           [0.4, 0.6]])
    >>> round(float(np.exp(found.log_partition)), 6)
    10.0
    """
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = checked_arguments(plan, weights, constraints, clamp)
    n_values = int(plan.value_ptr[-1])
    largest, _ = largest_sizes(plan)
    tables = plan.table_ptr if joints else np.diff(plan.table_ptr[plan.tree_clique_ptr])
    table = np.empty(int(tables.max(initial=0)))
    probabilities, log_partition = np.zeros(n_values), np.empty(plan.n_trees)
    outcome = marginals_forest(
        plan,
        weights,
        held,
        *limits,
        joints,
        np.empty(n_values),
        np.empty(largest),
        np.empty(largest),
        table,
        probabilities,
        log_partition,
    )
    raise_if_failed(outcome, plan, weights)
    sizes = plan.graph.n_values
    if len(sizes) and (sizes == sizes[0]).all():
        probabilities = probabilities.reshape(len(sizes), -1)
    if plan.is_chain:
        table = table.reshape(-1, largest, largest)
    return Marginals(
        probabilities, plan.value_ptr, float(log_partition.sum()), log_partition, table if joints else None
    )
