"""Pairs together, within five Monte Carlo standard errors of all partitions enumerated, at a fixed seed."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from walkstep.inference import metropolis, monte_carlo_error, run_chains
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import partition_world
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from worlds.naive_partition import Toy, blocks_of, partitions

pytestmark = [pytest.mark.statistical, pytest.mark.xdist_group("partition")]

N = 5
PAIRS = np.array(list(combinations(range(N), 2)))
BLOCKS = blocks_of(N, [[0, 1, 2], [1, 2, 3, 4], [0, 4]])
PROPOSERS = {
    "uniform": uniform_mention(),
    "block": block_guided(BLOCKS, share_merge=0.0),
    "merge": block_guided(BLOCKS, share_merge=1.0),
    "mixed": block_guided(BLOCKS, share_merge=0.3, share_uniform=0.3),
    "swap": block_guided(BLOCKS, share_merge=0.1, share_swap=0.6),
    "several": block_guided(BLOCKS, share_merge=0.1, share_several=0.6),
}


@cache
def toy():
    return Toy(N)


def exact_marginals(scale, temperature=1.0, held=None):
    """The probability that each pair is together, by enumeration."""
    states = np.array([y for y in partitions(N) if held is None or held(y)])
    scores = np.array([scale * toy().score(y) for y in states]) / temperature
    target = np.exp(scores - scores.max())
    return (target / target.sum()) @ (states[:, PAIRS[:, 0]] == states[:, PAIRS[:, 1]])


def distance_in_errors(exact, proposer, scale, temperature=1.0, constraints=None):
    """The worst pair's distance, in standard errors."""
    world = partition_world(toy().model, toy().comparisons, n_mentions=N, proposer=proposer, constraints=constraints)
    sampler = metropolis(world, scale * toy().weights, n_moves=100, temperature=temperature)
    samples = run_chains(sampler, [None] * 4, 4, 250, rng=7, burn_in=10)
    together = samples.draws[..., PAIRS[:, 0]] == samples.draws[..., PAIRS[:, 1]]
    error = np.maximum(monte_carlo_error(together[..., None])[:, 0], 1 / 1000)
    return float((np.abs(together.mean(axis=(0, 1)) - exact) / error).max())


@pytest.mark.parametrize("kind", PROPOSERS)
def test_walks_find_the_marginals_of_all_partitions(kind):
    assert len(partitions(N)) == 52
    assert distance_in_errors(exact_marginals(0.3), PROPOSERS[kind], 0.3) < 5


def test_temperature_flattens_the_target():
    exact = exact_marginals(0.5, 3.0)
    assert distance_in_errors(exact, PROPOSERS["mixed"], 0.5, 3.0) < 5


@pytest.mark.parametrize("kind", PROPOSERS)
def test_constraints_leave_the_rest_of_the_target_as_it_is(kind):
    held = link_constraints(N, together=[[0, 2]], apart=[[2, 3]])
    exact = exact_marginals(0.3, held=lambda y: y[0] == y[2] != y[3])
    assert distance_in_errors(exact, PROPOSERS[kind], 0.3, constraints=held) < 5


def test_another_target_is_told_apart():
    assert distance_in_errors(exact_marginals(0.0), PROPOSERS["uniform"], 0.3) > 8
