"""A graph from a model in UAI format."""

from collections.abc import Mapping

import numpy as np

from walkstep.data.readers.uai import UaiModel
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground


def uai_graph(model: UaiModel, evidence: Mapping[int, int] | None = None) -> Graph:
    """Ground a model whose tables are all given, with what is observed held by further factors.

    Factors of no variables, which scale all worlds alike, become a share of the first variable's.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> graph = uai_graph(UaiModel(np.array([2, 2], np.int32), [(0, 1)], [table]), {1: 1})
    >>> graph.n_factors, graph.n_weights
    (2, 0)
    """
    groups = []
    for f, (scope, table) in enumerate(zip(model.scopes, model.tables, strict=True)):
        with np.errstate(divide="ignore"):
            scores = np.log(table)
        if not scope:
            scope, scores = (0,), np.full(int(model.n_values[0]), float(scores))
        groups.append(Factors(f"factor {f}", np.array([scope]), fixed=scores))
    for v, value in (evidence or {}).items():
        scores = np.full(int(model.n_values[v]), -np.inf)
        scores[value] = 0.0
        groups.append(Factors(f"variable {v} is {value}", np.array([[v]]), fixed=scores))
    return ground(model.n_values, groups)[0]
