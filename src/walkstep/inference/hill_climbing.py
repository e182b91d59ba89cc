"""The best world by hill climbing: every variable takes its best value until none has a better one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.inference.annealing import BestWorld, Outcome
from walkstep.inference.gibbs import as_evidence, check_values
from walkstep.inference.potentials import frozen_graph, potentials, total_score
from walkstep.model.graph import Graph
from walkstep.worlds.labels import conditional, label_world
from walkstep.worlds.randomness import Seed, as_generator


def hill_climbing(
    graph: Graph,
    weights: ArrayLike,
    *,
    start: ArrayLike | None = None,
    clamp: ArrayLike | Mapping[int, int] | None = None,
    n_restarts: int = 0,
    max_sweeps: int = 1000,
    rng: Seed = None,
) -> BestWorld:
    """Look for the world of the highest score by iterated conditional modes (Besag, 1986).

    Parameters
    ----------
    graph : Graph
    weights : float array (n_weights,)
    start : int array (n_variables,), optional
        Where the first climb begins; by default at 0.
    clamp : int array (n_variables,) or mapping from variable to value, optional
        Evidence, as `gibbs` takes it.
    n_restarts : int
        Further climbs, from worlds drawn uniformly; the best one counts.
    max_sweeps : int
        At most so many sweeps in one climb.
    rng : int or numpy Generator
        Where restarts come from; needed only for those.

    Returns
    -------
    BestWorld
        ``n_steps`` counts sweeps, the last one of each climb changing nothing.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> hill_climbing(graph, np.array([1.0, 0.0, 0.0, 2.0]), n_restarts=5, rng=0).values
    array([1, 1, 1], dtype=int32)
    """
    if n_restarts < 0 or max_sweeps < 1:
        raise ValueError(f"n_restarts is {n_restarts} and max_sweeps {max_sweeps}; give at least 0 and at least 1")
    held = potentials(graph, np.asarray(weights, dtype=np.float64))
    evidence = as_evidence(graph, clamp)
    first = np.zeros(graph.n_variables, np.int32) if start is None else check_values(graph, start)
    free = np.flatnonzero(evidence < 0)
    frozen = frozen_graph(held)
    generator = as_generator(rng)
    best: BestWorld | None = None
    n_sweeps = 0
    try:
        for climb in range(n_restarts + 1):
            values: NDArray[Any] = first if climb == 0 else generator.integers(0, graph.n_values)
            world = label_world(frozen, values=np.where(evidence >= 0, evidence, values))
            made = _climb(world, np.zeros(0), free, max_sweeps, np.zeros(int(graph.n_values.max(initial=1))))
            n_sweeps += abs(made)
            score = total_score(held, world.values)
            if best is None or score > best.score:
                outcome = Outcome.CONVERGED if made > 0 else Outcome.NOT_CONVERGED
                best = BestWorld(world.values, score, outcome, 0)
    except KeyboardInterrupt:
        values = np.where(evidence >= 0, evidence, first).astype(np.int32)
        best = best or BestWorld(values, total_score(held, values), Outcome.INTERRUPTED, 0)
        best = best._replace(outcome=Outcome.INTERRUPTED)
    assert best is not None
    return best._replace(n_steps=n_sweeps)


@compiled(allocates=False)
def _climb(world, weights, sites, max_sweeps, scores):
    """Sweep until nothing changes; how many sweeps that took, negative where it was not enough."""
    for sweep in range(max_sweeps):
        changed = False
        for site in sites:
            conditional(world, site, weights, scores)
            best = np.int64(world.values[site])
            for k in range(world.graph.n_values[site]):
                if scores[k] > scores[best]:
                    best = k
            if best != world.values[site]:
                world.values[site] = best
                changed = True
        if not changed:
            return sweep + 1
    return -max_sweeps
