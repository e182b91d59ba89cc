import numpy as np
import polars as pl
import pytest

from walkstep.features.comparators import exact
from walkstep.features.encodings import encode
from walkstep.inference.pair_posterior import partitions, sample_partitions
from walkstep.inference.partition_update import add_mentions, carry_on, joined_by
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.worlds.partition import at_assignment, partition_world
from walkstep.worlds.partition_proposers import block_guided
from worlds.naive_partition import Toy, blocks_of

pytestmark = pytest.mark.xdist_group("partition")

KEYS = ["a", "b", "a", "c", "b", "c", "a", "b", "d"]  # the last three are new
WEIGHTS = [0.0, -2.0, 2.0]  # missing, different, equal


def world_of(keys, assignment):
    encoded = encode(pl.DataFrame({"key": keys}), [exact("key")])
    model = ground_partition([Affinity()], {"exact(key)": 3}).model
    blocks = blocks_of(len(keys), [list(range(len(keys)))])
    return partition_world(model, encoded.comparisons, assignment=assignment, proposer=block_guided(blocks))


def test_new_mentions_find_their_entities():
    world = world_of(KEYS, [0, 1, 0, 3, 1, 3, 6, 7, 8])
    found = add_mentions(world, WEIGHTS, 6, rng=0)
    assert found.assignment.tolist() == [0, 1, 0, 3, 1, 3, 0, 1, 8]
    assert found.converged


def test_what_new_mentions_do_not_join_stays_as_it_was():
    keys = [*KEYS[:6], "a"]
    world = world_of(keys, [0, 1, 0, 3, 4, 4, 6])  # wrong at b and c, which the new a has nothing to do with
    assert add_mentions(world, WEIGHTS, 6, rng=0).assignment.tolist() == [0, 1, 0, 3, 4, 4, 0]


def test_an_entity_that_a_new_mention_joins_is_revisited():
    world = world_of([*KEYS[:6], "a"], [0, 0, 0, 3, 4, 3, 6])  # the b among the a leaves
    answers = [add_mentions(world, WEIGHTS, 6, rng=seed).assignment.tolist() for seed in range(20)]
    assert answers.count([0, 1, 0, 3, 1, 3, 0]) >= 15  # it may not meet the other b in time


def test_samples_are_carried_on_where_new_mentions_came():
    before = partitions([[0, 1, 0, 3, 1, 3]] * 30 + [[0, 1, 2, 3, 4, 3]] * 30)
    world = world_of(KEYS, [0, 1, 0, 3, 1, 3, 0, 1, 8])
    samples = carry_on(world, WEIGHTS, before, rng=0)
    assert samples.draws.shape == (60, 9)
    assert np.array_equal(samples.draws[:, 3], samples.draws[:, 5])  # nobody came to the c
    together = (samples.draws[:, 0] == samples.draws[:, 6]).mean()
    assert together > 0.5


@pytest.mark.statistical
def test_carried_on_long_enough_samples_are_those_of_the_model(monkeypatch):
    monkeypatch.setattr("walkstep.inference.partition_update._MOVES_TO_CARRY_ON", 400)
    toy = Toy(5)
    blocks = blocks_of(5, [[0, 1, 2, 3, 4]])
    weights = 0.3 * toy.weights
    world = partition_world(toy.model, toy.comparisons, n_mentions=5, proposer=block_guided(blocks))
    n = 2000
    fresh = sample_partitions(world, weights, n_samples=n, thin=300, rng=1).draws
    whole = at_assignment(world, [0, 0, 0, 0, 0])  # all are joined, so that all are moved
    carried = carry_on(whole, weights, partitions(np.zeros((n, 4), int)), rng=2).draws
    for i in range(5):
        for j in range(i):
            p, q = (fresh[:, i] == fresh[:, j]).mean(), (carried[:, i] == carried[:, j]).mean()
            assert abs(p - q) < 5 * np.sqrt((p * (1 - p) + q * (1 - q)) / n + 1e-9)


def test_those_who_are_joined_are_found():
    assert joined_by([0, 1, 0, 3], 4).tolist() == []
    assert joined_by([0, 1, 0, 3], 0).tolist() == [0, 1, 2, 3]
