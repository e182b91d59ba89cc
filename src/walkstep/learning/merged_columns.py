"""Features that always come together, as one: half of a tagger's weights are such copies of others.

Weights that start alike, see the same factors and pay the same penalty stay alike. Let m of them, each w, become one
weight u = sqrt(m) w, which counts sqrt(m) times in scores. Then the scores are the same, and so are sum(w²) = u² and
all inner products that L-BFGS takes: it makes the very same steps, on fewer weights.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.learning._kernels.column_keys import column_keys
from walkstep.model.graph import Graph, Kind


class MergedColumns(NamedTuple):
    """A graph with fewer weights, and what they stand for.

    The graph takes weights ``scale * u`` where the first one took ``(u / scale)[source]``.
    """

    graph: Graph
    source: NDArray[np.int64]  # (weights of the first graph,) which merged weight stands for each
    scale: NDArray[np.float64]  # (weights of the merged graph,) square roots of how many each stands for


def merge_columns(graph: Graph) -> MergedColumns:
    """Make one column of all those that have the same entries in the same rows of sparse features.

    Examples
    --------
    >>> from walkstep.features.rows import rows_from_dense
    >>> from walkstep.model import Factors, ground
    >>> rows = rows_from_dense([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    >>> graph, layout = ground([2, 2], [Factors("site", [[0], [1]], features=rows)])
    >>> merged = merge_columns(graph)
    >>> merged.source.tolist()
    [0, 1, 2, 3, 0, 1]
    >>> merged.scale.round(3).tolist()
    [1.414, 1.414, 1.0, 1.0, 1.0]
    """
    is_sparse = np.isin(graph.group_kind, (Kind.BINARY, Kind.REAL))
    is_learned = graph.group_kind != Kind.FIXED
    group_ptr = np.searchsorted(graph.factor_group, np.arange(len(graph.group_kind) + 1))
    starts = [np.unique(graph.factor_weight[a:b]) for a, b in pairwise(group_ptr)]
    sparse = {int(s) for g in np.flatnonzero(is_sparse) for s in starts[g]}
    others = {int(s) for g in np.flatnonzero(is_learned & ~is_sparse) for s in starts[g]}
    if sparse & others:  # dense features share these weights, and their columns are not looked at
        is_sparse[:] = False
    first_of, number_of, n_alike = _classes(graph, int(graph.group_columns[is_sparse].max(initial=0)))

    # The last weight stands for all those that no factor reads.
    new_start, scales, n_merged = {}, [], 0
    blocks: list[tuple[int, int, int, int]] = []
    columns, bias = graph.group_columns.copy(), graph.group_bias.copy()
    for g in np.flatnonzero(is_learned):
        n_biases = int(graph.group_bias[g] >= 0)
        if is_sparse[g]:
            # Classes are in order of their first columns, so that those of a group come first.
            columns[g] = np.searchsorted(first_of, graph.group_columns[g])
        if n_biases:
            bias[g] = columns[g]
        for start in starts[g].tolist():
            if start in new_start:
                continue
            new_start[start] = n_merged
            blocks.append((start, n_merged, int(g), n_biases))
            own = np.sqrt(n_alike[: columns[g]]) if is_sparse[g] else np.ones(columns[g])
            own = np.repeat(np.append(own, np.ones(n_biases)), graph.group_cells[g])
            scales.append(own)
            n_merged += len(own)
    source = np.full(graph.n_weights, n_merged, np.int64)
    for start, new, g, n_biases in blocks:
        cells = int(graph.group_cells[g])
        rows = number_of[: graph.group_columns[g]] if is_sparse[g] else np.arange(columns[g])
        rows = np.append(rows, np.full(n_biases, columns[g]))
        places = new + rows[:, None] * cells + np.arange(cells)
        source[start : start + places.size] = places.ravel()
    return MergedColumns(
        _rewritten(graph, group_ptr, is_learned, new_start, columns, bias, first_of, number_of, n_merged + 1),
        source,
        np.concatenate([*scales, np.ones(1)]),
    )


def _classes(graph: Graph, n_columns: int):
    """The first column of each class of like ones, the class of each column, and how many a class has."""
    value_bits = graph.row_value.view(np.uint64)
    if n_columns == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    first_key, second_key = column_keys(graph.row_ptr, graph.row_index, value_bits, n_columns)
    order = np.argsort(first_key, kind="stable")
    is_new = np.ones(n_columns, bool)
    is_new[1:] = (np.diff(first_key[order]) != 0) | (np.diff(second_key[order]) != 0)
    first_of = order[is_new]  # the sort is stable, so it is the smallest
    class_of = np.empty(n_columns, np.int64)
    class_of[order] = np.cumsum(is_new) - 1
    by_first = np.argsort(first_of)
    rank = np.empty_like(by_first)
    rank[by_first] = np.arange(len(by_first))
    number_of = rank[class_of]
    return first_of[by_first], number_of, np.bincount(number_of)


def _rewritten(graph, group_ptr, is_learned, new_start, columns, bias, first_of, number_of, n_weights) -> Graph:
    """The graph with the first column of each class alone, and weights where they now lie."""
    factor_weight = graph.factor_weight.copy()
    old = np.array(sorted(new_start), np.int64)
    new = np.array([new_start[start] for start in old.tolist()], np.int64)
    for g in np.flatnonzero(is_learned):
        own = factor_weight[group_ptr[g] : group_ptr[g + 1]]
        own[:] = new[np.searchsorted(old, own)]
    row_ptr, row_index, row_value = graph.row_ptr, graph.row_index, graph.row_value
    if len(first_of):
        number = number_of[row_index]
        is_kept = first_of[number] == row_index
        row_ptr = np.concatenate([[0], np.cumsum(is_kept)])[row_ptr]
        row_index = number[is_kept].astype(np.int32)
        row_value = row_value[is_kept] if len(row_value) else row_value
    made = graph._replace(
        factor_weight=factor_weight,
        group_columns=columns,
        group_bias=bias,
        row_ptr=row_ptr,
        row_index=row_index,
        row_value=row_value,
        n_weights=n_weights,
    )
    for array in made[:-1]:
        array.flags.writeable = False
    return made
