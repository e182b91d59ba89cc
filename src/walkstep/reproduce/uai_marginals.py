"""Models of the UAI 2014 competition: marginals by belief propagation and by Gibbs, and log Z, against the answers.

The error of marginals is the largest difference of a variable's probabilities, averaged over variables. Belief
propagation is damped by a half. Gibbs samples from a possible world: the likeliest values by themselves where they
are one, otherwise one that annealing finds with what is forbidden merely dear. Where that fails, there is no figure.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.catalogue import CATALOGUE, find
from walkstep.data.readers.uai import read_uai, read_uai_evidence, read_uai_marginals, read_uai_partition
from walkstep.inference import (
    anneal,
    belief_propagation,
    geometric,
    gibbs,
    potentials,
    total_score,
)
from walkstep.inference import (
    run as run_sampler,
)
from walkstep.model.graph import Graph
from walkstep.model.uai import uai_graph

NAME = "uai-marginals"
_DEAR = -50.0  # what is forbidden scores while a possible world is looked for
_N_SWEEPS = 20_000


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Answer every model.

    Parameters
    ----------
    seed : int
        Of Gibbs sampling.
    quick : bool
        Two models and few sweeps: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    folder = find("uai2014")
    models = [file.removesuffix(".uai") for file in CATALOGUE["uai2014"].files if file.endswith(".uai")]
    rows: list[dict[str, Any]] = []
    n_answered = 0
    for name in models[:2] if quick else models:
        path = folder / f"{name}.uai"
        model = read_uai(path)
        graph = uai_graph(model, read_uai_evidence(f"{path}.evid", model.n_values))
        exact, log10_z = read_uai_marginals(f"{path}.MAR"), read_uai_partition(f"{path}.PR")
        found = belief_propagation(graph, [], damping=0.5, max_rounds=1000)
        n_answered += 1
        assert found.log_partition is not None
        ours = found.log_partition / np.log(10.0)
        sampled = _sampled(graph, found.values, 200 if quick else _N_SWEEPS, seed)
        rows += [
            {"row": name, "metric": "error of BP", "paper": None, "ours": _error(found.marginals, exact)},
            {"row": name, "metric": "rounds of BP", "paper": None, "ours": found.n_rounds, "note": found.outcome.name},
            {"row": name, "metric": "log10 Z", "paper": log10_z, "ours": ours},
        ]
        if sampled is not None:
            rows.append({"row": name, "metric": "error of Gibbs", "paper": None, "ours": _error(sampled, exact)})
        errors = f"{_error(found.marginals, exact):.4f} by BP ({found.outcome.name.lower()})"
        say(f"{name}: {errors}, {'none' if sampled is None else f'{_error(sampled, exact):.4f}'} by Gibbs")
    bars = [{"id": "uai", "ours": n_answered}]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def _error(found: NDArray[np.float64], exact: list[NDArray[np.float64]]) -> float:
    """The largest difference of each variable's probabilities, on average."""
    return float(np.mean([np.abs(row[: len(p)] - p).max() for row, p in zip(found, exact, strict=True)]))


def _sampled(graph: Graph, likely: NDArray[np.int32], n_sweeps: int, seed: int) -> NDArray[np.float64] | None:
    """How often values occur along a Gibbs walk, or None where no possible world is found to begin with."""
    weights = np.zeros(0)
    held = potentials(graph, weights)
    start = likely
    if not np.isfinite(total_score(held, start)):
        soft = gibbs(_softened(graph), weights)
        start = np.asarray(anneal(soft, likely, 2000, rng=seed, schedule=geometric(2.0, 0.1)).values)
    if not np.isfinite(total_score(held, start)):
        return None
    walk = run_sampler(gibbs(graph, weights), start, n_sweeps, rng=seed, burn_in=n_sweeps // 10, keep=False)
    return walk.marginals()


def _softened(graph: Graph) -> Graph:
    """The same graph, what is forbidden merely dear."""
    dear = np.maximum(graph.fixed_value, _DEAR)
    dear.flags.writeable = False
    return graph._replace(fixed_value=dear)
