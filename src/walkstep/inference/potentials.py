"""Potentials: a graph whose weights are held fixed, every factor as a table of scores."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.model.graph import Graph, Kind
from walkstep.worlds.scores import add_scores


class Potentials(NamedTuple):
    """The score of every factor at every joint value of its scope.

    Factor ``f`` scores ``table[table_ptr[f] + c]`` at joint value ``c``. Factors without features of
    their own share one table, so that a million equal factors cost one.
    """

    graph: Graph
    table: NDArray[np.float64]
    table_ptr: NDArray[np.int64]  # (F,)


def potentials(graph: Graph, weights: NDArray[np.float64]) -> Potentials:
    """Score every factor once, for inference that visits it many times.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> held = potentials(graph, np.array([1.0, 0.0, 0.0, 1.0]))
    >>> held.table, held.table_ptr
    (array([1., 0., 0., 1.]), array([0, 0]))
    """
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (graph.n_weights,):
        raise ValueError(f"weights have shape {weights.shape}; this graph takes ({graph.n_weights},)")
    bad = np.flatnonzero(~np.isfinite(weights))
    if len(bad):
        raise ValueError(f"weight {bad[0]} is {weights[bad[0]]}; weights must be finite numbers")
    table_ptr = np.empty(graph.n_factors, np.int64)
    pieces, size = [], 0
    group_ptr = np.searchsorted(graph.factor_group, np.arange(len(graph.group_kind) + 1))
    for g, kind in enumerate(graph.group_kind):
        first, last = group_ptr[g], group_ptr[g + 1]
        cells = int(graph.group_cells[g])
        if kind in (Kind.BARE, Kind.FIXED):
            offset = graph.factor_weight[first:last]
            # One table for each set of parameters; almost always there is a single one.
            starts, which = (offset[:1], 0) if (offset == offset[:1]).all() else np.unique(offset, return_inverse=True)
            source = graph.fixed_value if kind == Kind.FIXED else weights
            tables = source[starts[:, None] + np.arange(cells)]
            if kind == Kind.BARE and graph.group_bias[g] < 0:
                tables = np.zeros_like(tables)
            table_ptr[first:last] = size + which * cells
        else:
            tables = np.empty((last - first, cells))
            _fill_tables(graph, weights, first, tables)
            table_ptr[first:last] = size + np.arange(last - first) * cells
        pieces.append(tables.ravel())
        size += tables.size
    return Potentials(graph, np.concatenate(pieces) if pieces else np.zeros(0), table_ptr)


@compiled(allocates=False)
def _fill_tables(graph, weights, first, tables):
    """The table of each factor of one group."""
    tables[:] = 0.0
    for f in range(len(tables)):
        add_scores(graph, first + f, 0, 1, tables.shape[1], weights, tables[f])


def total_score(held: Potentials, values: NDArray[np.integer]) -> float:
    """The unnormalised log weight of a whole world.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> total_score(potentials(graph, np.array([1.0, 0.0, 0.0, 2.0])), np.array([0, 0, 1]))
    1.0
    """
    return _sum_of_scores(held, np.ascontiguousarray(values, dtype=np.int32))


@compiled(allocates=False)
def _sum_of_scores(held, values):
    """What all factors say."""
    graph = held.graph
    total = 0.0
    for f in range(len(held.table_ptr)):
        g = graph.factor_group[f]
        first = graph.factor_ptr[f]
        at = held.table_ptr[f]
        for e in range(first, graph.factor_ptr[f + 1]):
            at += values[graph.factor_variables[e]] * graph.group_stride[g, e - first]
        total += held.table[at]
    return total


def frozen_graph(held: Potentials) -> Graph:
    """The same graph with every factor a fixed table: worlds over it are scored without weights or features."""
    kind = np.full_like(held.graph.group_kind, Kind.FIXED)
    table, table_ptr = held.table.view(), held.table_ptr.view()
    for array in (kind, table, table_ptr):
        array.flags.writeable = False
    return held.graph._replace(group_kind=kind, factor_weight=table_ptr, fixed_value=table, n_weights=0)
