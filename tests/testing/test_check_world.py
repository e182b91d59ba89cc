from typing import NamedTuple

import numpy as np
import pytest

from random_graphs import random_graph, random_world
from walkstep.testing import check_world
from walkstep.worlds import as_proposer, below, label_world, register, token_f1, uniform
from walkstep.worlds.sparse import add

WEIGHTS = np.array([0.3, -0.5, 1.0, 0.1])


class Step(NamedTuple):
    rung: int


def any_rung(world, rng):
    return Step(below(rng, 4)), 0.0


def mostly_up(world, rng):
    return Step((world.values[0] + (1 if uniform(rng) < 0.8 else 3)) % 4), 0.0


def mostly_up_and_says_so(world, rng):
    if uniform(rng) < 0.8:
        return Step((world.values[0] + 1) % 4), np.log(0.2 / 0.8)
    return Step((world.values[0] + 3) % 4), np.log(0.8 / 0.2)


def only_up(world, rng):
    return Step((world.values[0] + 1) % 4), 0.0


def moving_ahead(world, rng):
    world.values[0] = below(rng, 4)
    return Step(below(rng, 4)), 0.0


def one(world, move):
    return 1


def rungs(world, move, k, phi):
    add(phi, move.rung, 1.0)
    add(phi, world.values[0], -1.0)


def rungs_above(world, move, phi):
    add(phi, (move.rung + 1) % 4, 1.0)
    add(phi, (world.values[0] + 1) % 4, -1.0)


def too_much(world, move, weights, phi):
    return weights[move.rung] - weights[world.values[0]] + 1.0


def go(world, move):
    world.values[0] = move.rung


def go_further(world, move):
    world.values[0] = (move.rung + 1) % 4


def same_way(world, move):
    return abs(float(move.rung - world.values[0]))


def on_rung(world):
    return np.eye(4)[world.values[0]]


def ladder(**verbs):
    """A world of its own kind, at rung 0."""

    class Ladder(NamedTuple):
        values: np.ndarray

    register(Ladder, **{"propose": any_rung, "n_factors": one, "factor": rungs, "commit": go, **verbs})
    return Ladder(np.zeros(1, np.int64))


@pytest.mark.parametrize("seed", range(3))
def test_label_worlds_pass(seed):
    graph, weights = random_graph(seed)
    values = np.ones(graph.n_variables, np.int32)
    truth = random_world(graph, np.random.default_rng(seed))
    world = label_world(graph, truth, values=values, signal=token_f1())
    checks = check_world(world, weights, n_moves=30)
    assert checks.n_moves == 30
    assert checks.n_undone > 0
    np.testing.assert_array_equal(world.values, values)


def two_at_once(values, n_values, first, last, sites, new_values, size, rng):
    size[0] = 2
    sites[0] = first + below(rng, last - first - 1)
    sites[1] = sites[0] + 1
    for k in range(2):
        new_values[k] = below(rng, n_values[sites[k]])
    return 0.0


@pytest.mark.slow
def test_users_proposers_over_labels_pass():
    graph, weights = random_graph(4)
    world = label_world(graph, values=np.ones(graph.n_variables), proposer=as_proposer(two_at_once))
    assert check_world(world, weights, n_moves=30).n_undone > 0


@pytest.mark.parametrize("propose", [any_rung, mostly_up_and_says_so])
def test_a_users_world_passes(propose):
    assert check_world(ladder(propose=propose), WEIGHTS, statistics=on_rung).n_undone >= 2


@pytest.mark.parametrize(
    ("verbs", "message"),
    [
        ({"propose": mostly_up}, "detailed balance fails: the log of the flow .* return log q"),
        ({"propose": only_up}, "the way back was not once among 2000 proposals"),
        ({"propose": moving_ahead}, "let no verb but commit change it"),
        ({"difference": rungs_above}, "factors added first to last change statistic .* make them agree"),
        ({"delta": too_much}, "delta is .* there and .* back; return after minus before"),
        ({"signal": same_way}, "signal is .* there and .* back; return after minus before"),
        ({"commit": go_further}, "difference changes statistic .* but whole worlds say"),
    ],
    ids=lambda thing: next(iter(thing)) if isinstance(thing, dict) else None,
)
def test_broken_worlds_fail(verbs, message):
    with pytest.raises(AssertionError, match=f"world Ladder.* {message}"):
        check_world(ladder(**verbs), WEIGHTS, n_moves=10, statistics=on_rung)


def test_what_is_missing_is_named():
    class Mute(NamedTuple):
        values: np.ndarray

    register(Mute, propose=any_rung, commit=go)
    with pytest.raises(AssertionError, match="world Mute does not answer 'n_factors'; register it"):
        check_world(Mute(np.zeros(1, np.int64)), WEIGHTS)
    graph, weights = random_graph(0)
    with pytest.raises(ValueError, match="weights have shape"):
        check_world(label_world(graph), weights[1:])
