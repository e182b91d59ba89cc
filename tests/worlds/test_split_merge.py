"""Splits and merges chosen by what clusters hold: odds, probabilities there and back, detailed balance."""

import numpy as np
import pytest

from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import partition_world
from walkstep.worlds.randomness import stream
from walkstep.worlds.split_merge import split_merge
from worlds.naive_partition import Toy, partitions
from worlds.naive_split_merge import Twin
from worlds.test_partition import drawn

KERNELS = {
    "uniform": ({}, None),
    "weighted": ({"weighted": True, "share_split": 0.3}, None),
    "weighted with an atom": ({"weighted": True}, [[1, 3]]),
    "guided": ({"guided": True, "n_scans": 1}, None),
    "guided without scans": ({"guided": True, "n_scans": 0}, None),
    "weighted and guided": ({"weighted": True, "guided": True, "n_scans": 0}, None),
    "guided with an atom": ({"guided": True, "n_scans": 1}, [[0, 2]]),
}


def jumps_of(toy, *, weighted=False, guided=False, **settings):
    rng = np.random.default_rng(7)
    if weighted:
        for name in ("split_weights", "merge_weights"):
            settings[name] = rng.normal(scale=0.4, size=toy.model.n_weights + 1)
    if guided:
        settings["guide"] = 0.3 * toy.weights
    return split_merge(toy.model, [0, toy.n], **settings)


@pytest.mark.parametrize("name", KERNELS)
def test_splits_and_merges_keep_detailed_balance_over_all_partitions_of_five(name):
    """The matrix is exact, from the twin; what is compiled draws the same moves, with the same ratios."""
    settings, together = KERNELS[name]
    toy, n_draws = Toy(5, seed=3), 2000
    jumps = jumps_of(toy, **settings)
    held = link_constraints(5, together=together)
    twin = Twin(toy, jumps, None if together is None else held.atom_of.tolist())
    states = [y for y in partitions(5) if together is None or all(y[i] == y[j] for i, j in together)]
    score = np.array([0.3 * toy.score(y) for y in states])
    matrix = np.zeros((len(states), len(states)))
    rng = stream(5)
    for s, y in enumerate(states):
        expected = {}
        total = 0.0
        for after, chance, ratio in twin.paths(y):
            t = states.index(after)
            matrix[s, t] += chance * min(1.0, np.exp(score[t] - score[s] + ratio))
            key = after, round(float(ratio), 6)
            expected[key] = expected.get(key, 0.0) + chance
            total += chance
        assert total == pytest.approx(1.0, abs=1e-12)
        world = partition_world(toy.model, toy.comparisons, assignment=y, constraints=held, proposer=jumps)
        found = drawn(world, n_draws, rng)
        close = {key: _nearest(key, expected) for key in found}
        counts = {}
        for key, count in found.items():
            assert close[key] is not None, (y, key)
            counts[close[key]] = counts.get(close[key], 0) + count
        for key, chance in expected.items():
            error = np.sqrt(n_draws * chance * (1 - chance)) + 1.0
            assert abs(counts.get(key, 0) - n_draws * chance) < 5 * error, (y, key)
    target = np.exp(score - score.max())
    flow = (target / target.sum())[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    assert (np.linalg.matrix_power(matrix + np.eye(len(states)), len(states)) > 0).all()


def _nearest(key, expected):
    """The key of the twin that is the same but for rounding of the ratio."""
    return next((other for other in expected if other[0] == key[0] and abs(other[1] - key[1]) < 3e-6), None)
