"""Small spaces of every kind, that can be listed, for tests against enumeration."""

from functools import cache

import numpy as np

from walkstep.worlds import Cycles, Hypercube, Permutations, Subtrees, as_space, below

PARENT = [-1, 0, 1, 1, 0, 4, 4, 0]


def draw_step(values, rng):
    """Two of four dials differ by at most one."""
    while True:
        values[0] = below(rng, 4)
        values[1] = below(rng, 4)
        if abs(values[0] - values[1]) <= 1:
            return


def count_step(values, out):
    out[0] = values[0] * 0.5
    out[1] = values[0] == values[1]


def turn(values, sites, new_values, size, rng):
    site = below(rng, 2)
    value = below(rng, 4)
    size[0] = 0
    if abs(value - values[1 - site]) <= 1:
        sites[0], new_values[0], size[0] = site, value, 1
    return 0.0


def own_space(**settings):
    listed = [[a, b] for a in range(4) for b in range(4) if abs(a - b) <= 1]
    return as_space(
        draw_step, count_step, size=2, n_statistics=2, radius=2.0, all_structures=listed, **{"move": turn, **settings}
    )


_MAKERS = {
    "hypercube": lambda: Hypercube(4),
    "hypercube with pairs": lambda: Hypercube(4, [[0, 0, 2], [1, 2, 3]]),
    "permutations": lambda: Permutations(4),
    "partial rankings": lambda: Permutations(5, [0, 0, 1, -1, 1]),
    "subtrees": lambda: Subtrees(PARENT),
    "subtrees that branch": lambda: Subtrees(PARENT, branching=True),
    "cycles": lambda: Cycles(5),
    "own": own_space,
}


# Each is made once, so that what it compiles is there for all tests.
SPACES = {name: cache(make) for name, make in _MAKERS.items()}


def shares(values, structures):
    """How often each structure is among some; an error for one that is none of them."""
    number = {row.tobytes(): k for k, row in enumerate(structures)}
    return np.bincount([number[row.tobytes()] for row in np.asarray(values, np.int32)], minlength=len(structures))


def chi_square_p(counts, chances):
    """The p-value of counts under chances; structures that are expected less than five times count together."""
    from scipy.stats import chisquare

    expected = chances * counts.sum()
    rare = expected < 5.0
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] == 0.0:
            counts, expected = counts[:-1], expected[:-1]
    return chisquare(counts, expected * counts.sum() / expected.sum()).pvalue
