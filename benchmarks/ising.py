"""The Ising torus all Gibbs samplers are measured on, and the exact answer they must agree with."""

import numpy as np
from scipy.special import ellipk

BETA = 0.3


def bond_sum(spins: np.ndarray) -> float:
    """Mean over sites of s·(right neighbour) + s·(lower neighbour), for spins ±1 of shape (side, side)."""
    spins = spins.astype(np.int64)
    return float((spins * np.roll(spins, -1, 0) + spins * np.roll(spins, -1, 1)).mean())


def exact_bond_sum(beta: float = BETA) -> float:
    """Onsager's expectation of ``bond_sum`` on an infinite lattice with coupling ``beta``."""
    modulus = 2 * np.sinh(2 * beta) / np.cosh(2 * beta) ** 2
    bracket = 1 + 2 / np.pi * (2 * np.tanh(2 * beta) ** 2 - 1) * ellipk(modulus**2)
    return float(bracket / np.tanh(2 * beta))


def check_bond_sum(value: float, side: int, beta: float = BETA) -> None:
    """Refuse the speed of a sampler that samples something else.

    One state of a torus scatters by sqrt(d bond_sum / d beta) / side around the exact value; five
    times that is allowed. Holds for ``beta`` well below the critical 0.44.
    """
    exact = exact_bond_sum(beta)
    slope = (exact_bond_sum(beta + 1e-4) - exact_bond_sum(beta - 1e-4)) / 2e-4
    allowed = 5 * np.sqrt(slope) / side
    if not abs(value - exact) <= allowed:
        raise ValueError(f"bond sum {value:.4f} is not {exact:.4f} ± {allowed:.4f}: not a sample of this model")
