"""Answers by enumeration, in plain NumPy: the slow twin of every sampler, for small graphs."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.model.graph import Graph, Kind
from walkstep.model.score import features_of, statistics

MAX_WORLDS = 1_000_000


class Exact(NamedTuple):
    """Every world of a graph, with what it weighs."""

    graph: Graph
    worlds: NDArray[np.int32]  # (world, variable)
    log_weights: NDArray[np.float64]  # (world,) score / temperature

    @property
    def log_partition(self) -> float:
        """The log of the sum of all worlds' weights."""
        top = self.log_weights.max()
        return float(top + np.log(np.exp(self.log_weights - top).sum()))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(world,)"""
        return np.exp(self.log_weights - self.log_partition)

    def marginals(self) -> NDArray[np.float64]:
        """The probability of each value of each variable: (variable, value)."""
        p = self.probabilities
        out = np.zeros((self.graph.n_variables, int(self.graph.n_values.max(initial=1))))
        for v in range(self.graph.n_variables):
            np.add.at(out[v], self.worlds[:, v], p)
        return out

    def best(self) -> tuple[NDArray[np.int32], float]:
        """The world of the highest score, and its log weight."""
        at = int(self.log_weights.argmax())
        return self.worlds[at], float(self.log_weights[at])

    def expected_statistics(self) -> NDArray[np.float64]:
        """E[phi(y)], the gradient of the log partition function: (n_weights,)."""
        total = np.zeros(self.graph.n_weights)
        for values, p in zip(self.worlds, self.probabilities, strict=True):
            if p > 0.0:
                total += p * statistics(self.graph, values)
        return total


def all_worlds(n_values: ArrayLike) -> NDArray[np.int32]:
    """Every combination of values, the last variable fastest: (world, variable).

    Examples
    --------
    >>> all_worlds([2, 2]).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    sizes = [int(n) for n in np.asarray(n_values)]
    count = 1
    for n in sizes:
        count *= n
    if count > MAX_WORLDS:
        raise ValueError(
            f"there are {count:.3g} worlds, more than the {MAX_WORLDS:,} that enumeration allows; "
            "sample with gibbs or metropolis instead"
        )
    return np.indices(sizes, dtype=np.int32).reshape(len(sizes), count).T


def enumerate_worlds(graph: Graph, weights: ArrayLike, *, temperature: float = 1.0) -> Exact:
    """Score every world of a small graph.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> exact = enumerate_worlds(graph, np.log([3.0, 1.0, 1.0, 3.0]))
    >>> round(float(np.exp(exact.log_partition)), 6), exact.marginals()[0].round(3).tolist()
    (8.0, [0.5, 0.5])
    """
    weights = np.asarray(weights, dtype=np.float64)
    worlds = all_worlds(graph.n_values)
    log_weights = np.zeros(len(worlds))
    for f in range(graph.n_factors):
        g = graph.factor_group[f]
        scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
        cells = worlds[:, scope] @ graph.group_stride[g, : len(scope)]
        n, start = graph.group_cells[g], graph.factor_weight[f]
        if graph.group_kind[g] == Kind.FIXED:
            table = graph.fixed_value[start : start + n]
        else:
            table = np.zeros(n)
            for row, value in features_of(graph, f):
                table += value * weights[start + row * n : start + (row + 1) * n]
        log_weights += table[cells]
    return Exact(graph, worlds, log_weights / temperature)


def gibbs_matrices(graph: Graph, chances: Callable[[NDArray[np.int32]], NDArray[np.float64]]) -> NDArray:
    """The transition matrix of drawing each variable given the others: (variable, world, world).

    Random scan is their mean, a systematic scan their product in order of visit.

    Parameters
    ----------
    graph : Graph
    chances : callable
        ``(values) -> (n_variables, n_values)``: the probabilities a sampler draws each variable with.
    """
    worlds = all_worlds(graph.n_values)
    strides = _strides(graph.n_values)
    matrices = np.zeros((graph.n_variables, len(worlds), len(worlds)))
    for i, values in enumerate(worlds):
        p = chances(values)
        for v in range(graph.n_variables):
            for k in range(graph.n_values[v]):
                matrices[v, i, i + (k - values[v]) * strides[v]] = p[v, k]
    return matrices


def metropolis_matrix(
    graph: Graph,
    proposals: Callable[[NDArray[np.int32]], Iterable[tuple[NDArray[np.int32], float, float]]],
) -> NDArray[np.float64]:
    """The transition matrix of Metropolis-Hastings: (world, world).

    Parameters
    ----------
    graph : Graph
    proposals : callable
        ``(values) -> (new values, probability of proposing them, log odds of accepting)`` for every move there is.
    """
    worlds = all_worlds(graph.n_values)
    strides = _strides(graph.n_values)
    matrix = np.zeros((len(worlds), len(worlds)))
    for i, values in enumerate(worlds):
        for new, q, log_odds in proposals(values):
            accepted = q * min(1.0, float(np.exp(min(log_odds, 0.0))))
            matrix[i, int(new @ strides)] += accepted
            matrix[i, i] += q - accepted
    return matrix


def _strides(n_values: NDArray[np.int32]) -> NDArray[np.int64]:
    """How far apart in `all_worlds` two worlds are that differ by one in one variable."""
    sizes = n_values.astype(np.int64)
    return np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])
