"""Proposers that lean to high values, one of which forgets to say so: a right sampler and a wrong one to tell apart."""

import math

from walkstep.compiled import compiled
from walkstep.worlds import below, uniform


@compiled(inline=True)
def lean_value(n, rng):
    """One of n values, drawn with chances 1 : 2 : 3 ..."""
    u = uniform(rng) * (n * (n + 1) / 2)
    value = 0
    while u >= value + 1:
        u -= value + 1
        value += 1
    return value


def lean_proposer(values, n_values, first, last, sites, new_values, size, rng):
    """A new value for a random variable, whatever it is now."""
    site = first + below(rng, last - first)
    value = lean_value(n_values[site], rng)
    sites[0], new_values[0], size[0] = site, value, 1
    return math.log((values[site] + 1) / (value + 1))


def lean_pair_proposer(values, n_values, first, last, sites, new_values, size, rng):
    """New values for two variables at once."""
    ratio = 0.0
    a = first + below(rng, last - first)
    b = first + (a - first + 1) % (last - first)
    size[0] = 0
    for site in (a, b):
        value = lean_value(n_values[site], rng)
        sites[size[0]], new_values[size[0]] = site, value
        size[0] += 1
        ratio += math.log((values[site] + 1) / (value + 1))
    return ratio


def forgetful_proposer(values, n_values, first, last, sites, new_values, size, rng):
    """The moves of `lean_proposer` with the ratio left out."""
    site = first + below(rng, last - first)
    sites[0], new_values[0], size[0] = site, lean_value(n_values[site], rng), 1
    return 0.0
