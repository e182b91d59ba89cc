"""Scores and statistics of whole worlds, in plain NumPy: the slow twin of every fast path."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.model.graph import Graph, Kind


def cell_of(graph: Graph, f: int, values: NDArray[np.integer]) -> int:
    """The joint value of factor ``f``'s scope, as one number."""
    scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
    strides = graph.group_stride[graph.factor_group[f], : len(scope)]
    return int((values[scope] * strides).sum())


def features_of(graph: Graph, f: int) -> Iterator[tuple[int, float]]:
    """The features of factor ``f``, its bias among them, as (row of weights, value)."""
    g = graph.factor_group[f]
    kind, row = graph.group_kind[g], graph.factor_row[f]
    if graph.group_bias[g] >= 0:
        yield int(graph.group_bias[g]), 1.0
    if kind in (Kind.BINARY, Kind.REAL):
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            yield int(graph.row_index[p]), float(graph.row_value[p]) if kind == Kind.REAL else 1.0
    elif kind == Kind.DENSE:
        for column in range(graph.group_columns[g]):
            yield column, float(graph.dense_value[row + column])


def statistics(graph: Graph, values: ArrayLike) -> NDArray[np.float64]:
    """The sufficient statistics phi(y) of a whole world, as a dense vector.

    Examples
    --------
    >>> from walkstep.model.factors import Factors
    >>> from walkstep.model.graph import ground
    >>> graph, _ = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> statistics(graph, [1, 0])
    array([0., 0., 1., 0.])
    """
    values = np.asarray(values)
    phi = np.zeros(graph.n_weights)
    for f in range(graph.n_factors):
        g = graph.factor_group[f]
        if graph.group_kind[g] == Kind.FIXED:
            continue
        cell = cell_of(graph, f, values)
        for row, value in features_of(graph, f):
            phi[graph.factor_weight[f] + row * graph.group_cells[g] + cell] += value
    return phi


def score(graph: Graph, weights: NDArray[np.float64], values: ArrayLike) -> float:
    """The unnormalised log weight of a whole world: theta' phi(y), plus what fixed factors say."""
    values = np.asarray(values)
    total = float(weights @ statistics(graph, values))
    for f in range(graph.n_factors):
        if graph.group_kind[graph.factor_group[f]] == Kind.FIXED:
            total += float(graph.fixed_value[graph.factor_weight[f] + cell_of(graph, f, values)])
    return total
