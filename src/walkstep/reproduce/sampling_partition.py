"""Z by sampling against Z by enumeration: how often estimates are within (1 ± epsilon) Z, and what they take.

Definition 3.1 of the paper (Vembu, Gaertner and Boley, 2009) asks for three quarters of the runs. Its own estimator is
the telescoping product of section 3, with as many exact samples at each level as Chebyshev's inequality asks for
(`sample_plan`). Beside it stand the practical ones, which look at their own error: bridges as they come, which here
stand on exact samples too, bridges of chains, and annealed importance sampling.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from walkstep.inference.partition_function import log_partition
from walkstep.reproduce.drawn_spaces import DrawnSpace, drawn_spaces

NAME = "sampling-partition"
REACH = 8.0  # R |theta|
EPSILONS = (0.1, 0.02)
DELTA = 0.25
N_RUNS = 200
SHARE, SAVING = "within epsilon", "times fewer samples"

GUARANTEED, PRACTICAL = "telescoping", "bridge"
METHODS: dict[str, dict[str, Any]] = {
    GUARANTEED: {"method": "telescoping"},
    PRACTICAL: {"method": "bridge"},
    "bridge of chains": {"method": "bridge", "draws": "chain"},
    "annealed": {"method": "annealed"},
}


class Runs(NamedTuple):
    """What became of the runs of a method."""

    share: float  # of estimates within (1 ± epsilon) Z
    n_samples: float  # of a run, on average
    n_steps: float


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Estimate Z of every space by every method, many times.

    Parameters
    ----------
    seed : int
        Of the models' scores, and of the runs.
    quick : bool
        Ten runs, and the coarser epsilon alone: figures for no table.
    progress : callable, optional
        Called with a line of text for each space, epsilon and method.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. Bars are the least share of runs within epsilon, of the guaranteed and of
        the practical estimator, over all spaces and epsilons; and the least factor by which the latter takes fewer
        samples. All samples of a run count, those too that only show it the way.
    """
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    shares: list[float] = []
    savings: list[float] = []
    for name, model in drawn_spaces(seed, REACH).items():
        for epsilon in EPSILONS[:1] if quick else EPSILONS:
            made: dict[str, Runs] = {}
            for method, settings in METHODS.items():
                made[method] = runs(model, epsilon, settings, 10 if quick else N_RUNS, seed)
                if progress is not None:
                    progress(f"{name}, epsilon {epsilon:g}, {method}: {made[method].share:.1%} within")
            for method, (share, n_samples, n_steps) in made.items():
                row = f"{name}, epsilon {epsilon:g}, {method}"
                note = f"{n_samples:,.0f} samples, {n_steps:,.0f} steps"
                rows.append({"row": row, "metric": SHARE, "paper": 1.0 - DELTA, "ours": share, "note": note})
                if method != GUARANTEED:
                    fewer = made[GUARANTEED].n_samples / n_samples
                    note = f"{made[GUARANTEED].n_steps / n_steps:.1f} times fewer steps"
                    rows.append({"row": row, "metric": SAVING, "paper": None, "ours": round(fewer, 1), "note": note})
            shares += [made[GUARANTEED].share, made[PRACTICAL].share]
            savings.append(made[GUARANTEED].n_samples / made[PRACTICAL].n_samples)
    bars = [{"id": "partition-share", "ours": min(shares)}, {"id": "partition-saving", "ours": round(min(savings), 1)}]
    return {"name": NAME, "seed": seed, "seconds": round(time.perf_counter() - began, 1), "rows": rows, "bars": bars}


def runs(model: DrawnSpace, epsilon: float, settings: dict[str, Any], n_runs: int, seed: int) -> Runs:
    """Estimate Z many times, each time with other random numbers.

    Parameters
    ----------
    model : DrawnSpace
    epsilon : float
    settings : dict
        Of `log_partition`: the method, and what it takes.
    n_runs, seed : int
    """
    made = [
        log_partition(model.space, model.scores, epsilon=epsilon, delta=DELTA, max_steps=1e10, rng=rng, **settings)
        for rng in np.random.default_rng(seed).spawn(n_runs)
    ]
    errors = np.expm1([one.estimate - model.exact.log_partition for one in made])
    within = float((np.abs(errors) <= epsilon).mean())
    return Runs(within, *(float(np.mean([getattr(one, name) for one in made])) for name in ("n_samples", "n_steps")))
