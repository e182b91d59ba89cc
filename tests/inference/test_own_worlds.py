"""A world that is not Walkstep's, walked by Metropolis-Hastings."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.caching import NullCache

from random_graphs import random_graph
from walkstep.compiled import loop_for
from walkstep.inference import metropolis, run
from walkstep.inference.metropolis import _walk
from walkstep.worlds import as_proposer, below, label_world, register
from walkstep.worlds.sparse import add


class Ladder(NamedTuple):
    """One number; statistic n is being at rung n."""

    values: np.ndarray  # (1,)
    n_rungs: int


class Step(NamedTuple):
    """To another rung."""

    rung: int


def step_to_any(world, rng):
    return Step(below(rng, world.n_rungs)), 0.0


def one_factor(world, move):
    return 1


def change(world, move, k, phi):
    add(phi, move.rung, 1.0)
    add(phi, world.values[0], -1.0)


def go(world, move):
    world.values[0] = move.rung


register(Ladder, propose=step_to_any, n_factors=one_factor, factor=change, commit=go)


@pytest.fixture(scope="module")
def ladder():
    return Ladder(np.zeros(1, np.int64), 4)


def test_a_users_world_is_sampled(ladder):
    weights = np.log([1.0, 2.0, 3.0, 4.0])
    samples = run(metropolis(ladder, weights, n_moves=20), None, 5000, rng=0)
    share = np.bincount(samples.draws.ravel(), minlength=4) / samples.draws.size
    np.testing.assert_allclose(share, [0.1, 0.2, 0.3, 0.4], atol=5 * 0.5 / np.sqrt(5000))
    assert ladder.values[0] == 0  # the walk has a copy of its own
    expected = weights[samples.draws[0, :, 0]] - weights[0]
    np.testing.assert_allclose(samples.scores[0], expected, atol=1e-9)


def test_loops_over_a_users_world_are_not_kept_on_disk(ladder):
    graph, _ = random_graph(0)
    own = loop_for(_walk, label_world(graph))
    users = loop_for(_walk, ladder)
    assert own is _walk
    assert users is loop_for(_walk, ladder)  # compiled once in a process
    assert isinstance(users._cache, NullCache)


def test_what_is_missing_is_named(ladder):
    class Stranger(NamedTuple):
        values: np.ndarray

    with pytest.raises(TypeError, match="Stranger is not a registered world"):
        metropolis(Stranger(np.zeros(1)), np.zeros(1))
    with pytest.raises(ValueError, match="Ladder proposes by its own verb"):
        metropolis(ladder, np.zeros(4), proposer=object())
    with pytest.raises(ValueError, match="n_moves is 0"):
        metropolis(ladder, np.zeros(4), n_moves=0)


def outside(values, n_values, first, last, sites, new_values, size, rng):
    sites[0], new_values[0], size[0] = last, 0, 1
    return 0.0


def test_a_proposer_that_leaves_the_document_is_stopped():
    graph, weights = random_graph(0)
    with pytest.raises(ValueError, match="outside of the document"):
        run(metropolis(graph, weights, proposer=as_proposer(outside)), None, 1, rng=0)


def test_a_proposer_that_does_not_compile_is_named():
    def wrong(values):
        return 0.0

    with pytest.raises(TypeError, match="proposer 'wrong' does not compile"):
        as_proposer(wrong)
