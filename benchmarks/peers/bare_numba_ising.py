"""A bare Numba loop over an Ising torus: what a careful person writes by hand for this one model."""

import numba
import numpy as np

from benchmarks.ising import BETA, bond_sum, check_bond_sum
from benchmarks.measure import repeat


@numba.njit
def sweep(spins, n_sweeps, p_up, rng):
    """Gibbs in raster order; ``p_up[k]`` is the chance of +1 where k of the four neighbours are up."""
    height, width = spins.shape
    for _ in range(n_sweeps):
        for i in range(height):
            above = spins[i - 1 if i > 0 else height - 1]
            below = spins[i + 1 if i + 1 < height else 0]
            row = spins[i]
            for j in range(width):
                left = row[j - 1 if j > 0 else width - 1]
                right = row[j + 1 if j + 1 < width else 0]
                n_up = (above[j] + below[j] + left + right + 4) >> 1
                row[j] = 1 if rng.random() < p_up[n_up] else -1


def updates_per_second(
    side: int, n_sweeps: int = 20, n_repeats: int = 5, n_warm_up: int = 20, beta: float = BETA, seed: int = 0
) -> dict:
    """Spin updates per CPU-second on a ``side`` × ``side`` torus, compilation not counted."""
    rng = np.random.default_rng(seed)
    spins = (2 * rng.integers(0, 2, (side, side)) - 1).astype(np.int8)
    p_up = 1 / (1 + np.exp(-2 * beta * np.arange(-4, 5, 2)))
    sweep(spins, n_warm_up, p_up, rng)
    timings = repeat(lambda: sweep(spins, n_sweeps, p_up, rng), n_repeats)
    check_bond_sum(bond_sum(spins), side, beta)
    work = n_sweeps * side * side
    return {
        "updates_per_second": work / timings.best,
        "updates_per_second_median": work / timings.median,
        "bond_sum": bond_sum(spins),
    }
