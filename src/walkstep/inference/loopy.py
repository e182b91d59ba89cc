"""Answers where the graph has cycles, near a world that is good already."""

import numpy as np
from numpy.typing import NDArray

from walkstep.inference.annealing import anneal, geometric
from walkstep.inference.base import run
from walkstep.inference.gibbs import gibbs
from walkstep.model.graph import Graph
from walkstep.worlds.randomness import Seed


def best_near(
    graph: Graph, weights: NDArray[np.float64], start: NDArray[np.int32], *, n_sweeps: int = 30, rng: Seed = None
) -> NDArray[np.int32]:
    """The best world of a cool, short annealing from ``start``, which is never made worse.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, _ = ground([2, 2, 2], [Factors("same", [[0, 1], [1, 2], [2, 0]])])
    >>> best_near(graph, np.array([2.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1], np.int32), rng=0)
    array([0, 0, 0], dtype=int32)
    """
    found = anneal(gibbs(graph, weights), start, n_sweeps, rng=rng, schedule=geometric(0.5, 0.05))
    return np.asarray(found.values, dtype=np.int32)


def sampled_marginals(
    graph: Graph,
    weights: NDArray[np.float64],
    start: NDArray[np.int32],
    *,
    burn_in: int = 20,
    n_sweeps: int = 200,
    rng: Seed = None,
) -> NDArray[np.float64]:
    """How often each variable takes each value along a Gibbs walk from ``start``: (variable, value)."""
    return run(gibbs(graph, weights), start, n_sweeps, rng=rng, burn_in=burn_in, keep=False).marginals()
