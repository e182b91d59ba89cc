"""Numbskull 0.1.1 (a Numba rewrite of DimmWitted) on an Ising torus, through its public interface.

It is of 2017 and runs unchanged on NumPy 2 (where ``np.bool`` is a name again) and today's Numba; its
loop is its own. Each bond is an ``EQUAL`` factor, worth +1 or −1, so its one weight is the coupling.
"""

import numba
import numpy as np
from numbskull import NumbSkull
from numbskull.inference import FACTORS
from numbskull.numbskulltypes import Factor, FactorToVar, Variable, Weight

from benchmarks.ising import BETA, bond_sum, check_bond_sum
from benchmarks.measure import cpu_timer, repeat


@numba.njit
def _seed_numba(seed):
    np.random.seed(seed)  # noqa: NPY002 - Numbskull draws from Numba's global generator


def updates_per_second(
    side: int, n_sweeps: int = 2, n_repeats: int = 5, n_warm_up: int = 20, beta: float = BETA, seed: int = 0
) -> dict:
    """Spin updates per CPU-second on a ``side`` × ``side`` torus, loading and compilation not counted."""
    _seed_numba(seed)
    with cpu_timer() as build:
        graph = _torus(side, beta, np.random.default_rng(seed))
    graph.inference(n_warm_up, 1)
    timings = repeat(lambda: graph.inference(0, n_sweeps), n_repeats)
    spins = 2 * graph.var_value[0].reshape(side, side) - 1
    check_bond_sum(bond_sum(spins), side, beta)
    work = n_sweeps * side * side
    return {
        "updates_per_second": work / timings.best,
        "updates_per_second_median": work / timings.median,
        "build_seconds": build.seconds,
        "bond_sum": bond_sum(spins),
    }


def _torus(side, beta, rng):
    n_sites = side * side
    site = np.arange(n_sites).reshape(side, side)
    here = np.concatenate([site.ravel(), site.ravel()])
    there = np.concatenate([np.roll(site, -1, 1).ravel(), np.roll(site, -1, 0).ravel()])

    weight = np.zeros(1, Weight)
    weight["isFixed"] = True
    weight["initialValue"] = beta
    variable = np.zeros(n_sites, Variable)
    variable["cardinality"] = 2
    variable["initialValue"] = rng.integers(0, 2, n_sites)
    factor = np.zeros(len(here), Factor)
    factor["factorFunction"] = FACTORS["EQUAL"]
    factor["featureValue"] = 1.0
    factor["arity"] = 2
    factor["ftv_offset"] = 2 * np.arange(len(here))
    scope = np.zeros(2 * len(here), FactorToVar)
    scope["vid"] = np.stack([here, there], axis=1).ravel()

    skull = NumbSkull(quiet=True, nthreads=1)
    skull.loadFactorGraph(weight, variable, factor, scope, np.zeros(n_sites, np.bool_), len(scope))
    return skull.getFactorGraph()
