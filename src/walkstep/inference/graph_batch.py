"""Grounded graphs as batches to learn from, or to answer, by messages."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.wired_graph import wire
from walkstep.messages.batch import UNKNOWN, Batch, batch_of
from walkstep.model.graph import Graph


def graph_batch(
    graph: Graph,
    truth: ArrayLike | None = None,
    *,
    document_ptr: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> Batch:
    """A grounded graph, with what is known of it, as a batch.

    Parameters
    ----------
    graph : Graph
    truth : int array (n_variables,), optional
        -1 where it is not known: such variables are summed out.
    document_ptr : int array (n_documents + 1,), optional
        Ranges of variables that no factor joins.
    weight : float array (n_variables,), optional
        How much each variable counts in the loss.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, _ = ground([2] * 6, [Factors("edge", [[0, 1], [1, 2], [3, 4], [4, 5]])])
    >>> graph_batch(graph, [0, 1, 1, 0, 0, 1], document_ptr=[0, 3, 6]).truth.tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    ptr = np.array([0, graph.n_variables]) if document_ptr is None else np.asarray(document_ptr, np.int64)
    document = _document_of_variables(graph, ptr)
    _check_features(graph)
    given = None if truth is None else _checked_truth(graph, np.asarray(truth))
    counts = None if weight is None else _checked_weight(graph, np.asarray(weight))
    made = wire(graph, ptr)
    return batch_of(
        made.wired,
        made.tables,
        made.schedule,
        truth=None if given is None else made.by_copy(given),
        weight=None if counts is None else made.by_copy(counts),
        document=document,
    )


def _document_of_variables(graph: Graph, ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    if ptr.ndim != 1 or len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != graph.n_variables or (np.diff(ptr) < 0).any():
        raise ValueError(
            f"document_ptr is {np.array2string(ptr, threshold=8)}; give rising numbers from 0 to the number of "
            f"variables, {graph.n_variables}"
        )
    document = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    joined = document[graph.factor_variables]
    first = np.repeat(joined[graph.factor_ptr[:-1]], np.diff(graph.factor_ptr))
    if len(bad := np.flatnonzero(joined != first)):
        factor = int(np.searchsorted(graph.factor_ptr, bad[0], side="right")) - 1
        scope = graph.factor_variables[graph.factor_ptr[factor] : graph.factor_ptr[factor + 1]]
        raise ValueError(
            f"factor {factor} joins variables {scope.tolist()}, of documents {first[bad[0]]} and {joined[bad[0]]}; "
            "make them one document"
        )
    return document


def _check_features(graph: Graph) -> None:
    """Dense ones are looked at when factors are made."""
    if len(bad := np.flatnonzero(~np.isfinite(graph.row_value))):
        row = int(np.searchsorted(graph.row_ptr, bad[0], side="right")) - 1
        raise ValueError(
            f"feature {graph.row_index[bad[0]]} of sparse row {row} is {graph.row_value[bad[0]]}; "
            "fill or drop what is not a finite number"
        )


def _checked_truth(graph: Graph, truth: NDArray) -> NDArray:
    if truth.shape != (graph.n_variables,):
        raise ValueError(f"truth has shape {truth.shape}; give ({graph.n_variables},), a value for each variable")
    if len(bad := np.flatnonzero(~((truth >= UNKNOWN) & (truth < graph.n_values) & (truth == np.floor(truth))))):
        v = bad[0]
        raise ValueError(
            f"the truth of variable {v} is {truth[v]}; its values are 0 to {graph.n_values[v] - 1}, and {UNKNOWN} "
            "says that it is not known"
        )
    return truth


def _checked_weight(graph: Graph, weight: NDArray) -> NDArray:
    if weight.shape != (graph.n_variables,):
        raise ValueError(f"weight has shape {weight.shape}; give ({graph.n_variables},), a number for each variable")
    if len(bad := np.flatnonzero(~((weight >= 0.0) & np.isfinite(weight)))):
        raise ValueError(
            f"the weight of variable {bad[0]} is {weight[bad[0]]}; give 0 or more, and 0 for what does not count"
        )
    return weight
