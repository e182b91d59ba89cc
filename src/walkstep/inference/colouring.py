"""Colours: variables that share no factor may change at the same time."""

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.model.graph import Graph


def colours(graph: Graph, is_free: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
    """Give every variable a colour such that no factor joins two free ones of the same colour.

    Parameters
    ----------
    graph : Graph
    is_free : bool array (n_variables,), optional
        Variables that change; the others get colour -1 and constrain nobody.

    Returns
    -------
    colour : int32 array (n_variables,)
        The first colour that no neighbour has yet, in order of variables.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, _ = ground([2, 2, 2, 2], [Factors("edge", [[0, 1], [1, 2], [2, 3], [3, 0]])])
    >>> colours(graph)
    array([0, 1, 0, 1], dtype=int32)
    """
    free = np.ones(graph.n_variables, bool) if is_free is None else np.ascontiguousarray(is_free)
    return _first_fit(graph, free)


@compiled
def _first_fit(graph, is_free):
    """Greedy colouring."""
    n = len(is_free)
    colour = np.full(n, -1, np.int32)
    taken_by = np.full(n + 1, -1, np.int64)  # the last variable that found this colour taken
    for v in range(n):
        if not is_free[v]:
            continue
        for edge in range(graph.variable_ptr[v], graph.variable_ptr[v + 1]):
            f = graph.factor_of_edge[edge]
            for e in range(graph.factor_ptr[f], graph.factor_ptr[f + 1]):
                c = colour[graph.factor_variables[e]]
                if c >= 0:
                    taken_by[c] = v
        c = 0
        while taken_by[c] == v:
            c += 1
        colour[v] = c
    return colour
