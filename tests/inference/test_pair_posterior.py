"""Sampled partitions and the probabilities of pairs, against enumeration and plain counting."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.comparators import exact, jaccard, number
from walkstep.features.encodings import encode
from walkstep.inference import pair_posterior
from walkstep.inference.pair_posterior import (
    entity_confidence,
    fit_temperature,
    group_pairs,
    groups_of,
    pair_probabilities,
    partitions,
    sample_partitions,
    together,
)
from walkstep.model.partition_templates import Affinity, Aggregate, Size, ground_partition
from walkstep.worlds.partition import at_assignment, partition_score, partition_world
from walkstep.worlds.partition_proposers import block_guided

pytestmark = pytest.mark.xdist_group("partition")

N = 5
FRAME = pl.DataFrame({"a": ["x", "y", "x", None, "y"], "b": ["p q", "q r", "p q", "p r s", None], "y": [1, 2, 1, 3, 2]})
ENCODED = encode(FRAME, [exact("a"), jaccard("b"), number("y")])
GROUNDED = ground_partition(
    [Affinity(), Aggregate("jaccard(b)", "mean"), Size()], {c.name: c.n_levels for c in ENCODED.comparators}
)
BLOCKS = SimpleNamespace(
    block_ptr=[0, N], block_members=list(range(N)), record_ptr=list(range(N + 1)), record_blocks=[0] * N
)
WEIGHTS = np.random.default_rng(0).normal(size=GROUNDED.layout.size)

tables = st.integers(1, 6).flatmap(
    lambda s: st.integers(1, 9).flatmap(
        lambda m: st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=s, max_size=s)
    )
)


def world(truth=None):
    return partition_world(
        GROUNDED.model,
        ENCODED.comparisons,
        truth,
        assignment=np.arange(N),
        proposer=block_guided(BLOCKS, share_merge=0.3),
    )


def every_partition(n):
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(max(row) + 2)]
    return np.array(rows)


def exact_pair_probabilities(here, weights, temperature):
    rows = every_partition(N)
    assert len(rows) == 52
    scores = np.array([partition_score(at_assignment(here, row), weights) for row in rows]) / temperature
    share = np.exp(scores - scores.max())
    share /= share.sum()
    return np.einsum("r,rij->ij", share, rows[:, :, None] == rows[:, None, :])


@pytest.mark.statistical
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_pair_probabilities_of_samples_match_enumeration(temperature):
    here = world()
    n_chains, n_each = 10, 150
    samples = sample_partitions(
        here, WEIGHTS, n_samples=n_chains * n_each, thin=20, temperature=temperature, n_chains=n_chains, rng=1
    )
    assert samples.draws.shape == (n_chains * n_each, N)
    expected = exact_pair_probabilities(here, WEIGHTS, temperature)
    left, right = np.triu_indices(N, 1)
    by_chain = [together(draws, left, right) for draws in np.split(samples.draws, n_chains)]
    error = np.std(by_chain, axis=0, ddof=1) / np.sqrt(n_chains)
    assert (np.abs(np.mean(by_chain, axis=0) - expected[left, right]) <= 5 * error + 1e-3).all()


def test_samples_are_named_by_first_mentions_and_repeat_with_their_seed():
    here = world()
    one, two = (sample_partitions(here, WEIGHTS, n_samples=7, thin=5, n_chains=2, rng=4) for _ in range(2))
    assert one.draws.dtype == np.int32
    assert one.draws.tolist() == two.draws.tolist() == partitions(one.draws).draws.tolist()
    assert len(one.draws) == len(one.scores) == 7
    for draw, score in zip(one.draws, one.scores, strict=True):
        assert partition_score(at_assignment(here, draw), WEIGHTS) == pytest.approx(score)


@given(tables)
def test_groups_are_the_mentions_never_apart(table):
    draws = partitions(table).draws
    group = groups_of(draws)
    for i in range(draws.shape[1]):
        for j in range(draws.shape[1]):
            assert (group[i] == group[j]) == (draws[:, i] == draws[:, j]).all()


@given(tables, st.sampled_from([0.0, 0.3, 1.0]))
def test_listed_pairs_are_those_that_meet_often_enough(table, minimum):
    samples = partitions(table)
    found = pair_probabilities(samples, minimum)
    draws = samples.draws
    expected = {}
    for i in range(draws.shape[1]):
        for j in range(i + 1, draws.shape[1]):
            share = (draws[:, i] == draws[:, j]).mean()
            if share > 0.0 and share >= minimum:
                expected[i, j] = share
    listed = dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.probability, strict=True))
    assert len(listed) == len(found.left)
    assert listed == pytest.approx(expected)
    assert (found.n_pairs == 1).all()


@given(tables, st.integers(1, 4))
def test_short_lists_stand_for_all_pairs(table, max_pairs):
    samples = partitions(table)
    whole, short = pair_probabilities(samples), pair_probabilities(samples, max_pairs=max_pairs)
    assert len(short.left) <= len(whole.left)
    assert short.n_pairs.sum() == len(whole.left)
    assert (short.n_pairs * short.probability).sum() == pytest.approx(whole.probability.sum())
    assert short.of(whole.left, whole.right) == pytest.approx(whole.probability)


def test_of_a_giant_cluster_only_neighbours_are_listed():
    rng = np.random.default_rng(0)
    draws = partitions(rng.integers(0, 2, (12, 60))).draws
    group = groups_of(draws)
    left, right = group_pairs(draws, group, max_cluster=5)
    assert 0 < len(left) < len(group_pairs(draws, group)[0])
    assert (left < right).all()


@given(tables, st.data())
def test_confidence_is_the_mean_probability_of_those_with_a_mention(table, data):
    samples = partitions(table)
    n = samples.draws.shape[1]
    assignment = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    found = entity_confidence(samples, assignment)
    draws = samples.draws
    for i in range(n):
        others = [j for j in range(n) if j != i and assignment[j] == assignment[i]]
        if others:
            expected = np.mean([(draws[:, i] == draws[:, j]).mean() for j in others])
        else:
            expected = np.mean([(draw == draw[i]).sum() == 1 for draw in draws])
        assert found.of_mention[i] == pytest.approx(expected)
    for entity, confidence in zip(found.entity, found.of_entity, strict=True):
        assert confidence == pytest.approx(found.of_mention[assignment == assignment[entity]].mean())


def test_the_temperature_fits_the_truth():
    # A model that is sure of what is false does best where it is least sure, one sure of the truth where it is most.
    here = world()
    rows = every_partition(N)
    weights = np.random.default_rng(2).normal(size=len(WEIGHTS))  # the best partition is ahead of the second by 4
    scores = [partition_score(at_assignment(here, row), weights) for row in rows]
    settings = {"temperatures": (0.2, 20.0), "n_samples": 200, "thin": 20, "rng": 0}
    here = at_assignment(here, rows[np.argmax(scores)])  # a cold walk from elsewhere may not get there
    right, wrong = (fit_temperature(here, weights, rows[pick(scores)], **settings) for pick in (np.argmax, np.argmin))
    assert (right.temperature, wrong.temperature) == (0.2, 20.0)
    assert right.log_loss[0] < right.log_loss[1]
    assert right.calibration_error[0] < 0.1


def test_bad_input_is_named():
    here = world()
    with pytest.raises(ValueError, match="n_samples is 0"):
        sample_partitions(here, WEIGHTS, n_samples=0)
    with pytest.raises(ValueError, match="minimum is 2"):
        pair_probabilities(partitions([[0, 0]]), 2)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        entity_confidence(partitions([[0, 0]]), [0, 0, 0])
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        partitions([0, 0])
    with pytest.raises(ValueError, match="no mention is known"):
        fit_temperature(here, WEIGHTS)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        fit_temperature(here, WEIGHTS, [0, 1])


@pytest.mark.parametrize(("n_steps", "n_kept"), [(5, 3), (0, 1)])
def test_ctrl_c_keeps_the_samples_drawn(monkeypatch, n_steps, n_kept):
    made = pair_posterior.partition_sampler

    def interrupting(*args, **settings):
        sampler = made(*args, **settings)
        steps = iter(range(100))

        def step(rng, state):
            if next(steps) == n_steps:
                raise KeyboardInterrupt
            return sampler.step(rng, state)

        return sampler._replace(step=step)

    monkeypatch.setattr(pair_posterior, "partition_sampler", interrupting)
    samples = sample_partitions(world(), WEIGHTS, n_samples=10, thin=5, burn_in=10, rng=0)
    assert samples.interrupted
    assert len(samples.draws) == n_kept
