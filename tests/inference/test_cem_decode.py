"""Jumps that learn where to go: the family of splits and merges, and decoding by it."""

from itertools import combinations

import numpy as np
import pytest

from walkstep.compiled import compiled
from walkstep.evaluation.clusters import b_cubed as b_cubed_score
from walkstep.inference.annealing import Outcome
from walkstep.inference.cem_decode import Rounds, cem_decode
from walkstep.inference.split_merge_family import SplitMergeFamily
from walkstep.references import refer
from walkstep.worlds.partition import partition_world
from walkstep.worlds.partition_proposers import uniform_mention
from walkstep.worlds.partition_signals import b_cubed
from walkstep.worlds.split_merge import MERGE, SPLIT, refresh, split_merge
from worlds.naive_partition import Toy, groups_of
from worlds.naive_split_merge import cluster_features, two_features

pytestmark = pytest.mark.xdist_group("partition")

START = (0, 0, 0, 3, 3, 5)
TRUTH = np.array([0, 0, 1, 1, 1, 2])


def world_of(toy, assignment=START, **settings):
    jumps = split_merge(toy.model, [0, toy.n], **settings)
    return partition_world(
        toy.model, toy.comparisons, TRUTH, assignment=assignment, signal=b_cubed(TRUTH), proposer=jumps
    )


def family_of(toy, assignment=START, **settings):
    return SplitMergeFamily(world_of(toy, assignment), toy.weights, **settings)


def some_parameters(family, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([[0.4], rng.normal(scale=0.3, size=2 * family.n_features)])


def order_of(world):
    """Clusters as the world lists them."""
    slots = world.clusters.order[: world.clusters.n_used[0]]
    return [np.flatnonzero(world.clusters.cluster_of == slot).tolist() for slot in slots]


def dense(rows, n_features):
    table = np.zeros((rows.n_rows, n_features))
    table[:, rows.seen] = rows.table.toarray()
    return table


def test_features_are_those_of_the_twin():
    toy = Toy(6, seed=1)
    family = family_of(toy)
    groups = order_of(family.world)
    splits, merges = (dense(rows, family.n_features) for rows in family.features())
    np.testing.assert_allclose(splits, [cluster_features(toy, g) for g in groups if len(g) > 1], atol=1e-12)
    pairs = [(groups[p], groups[q]) for p in range(len(groups)) for q in range(p)]
    np.testing.assert_allclose(merges, [two_features(toy, *pair) for pair in pairs], atol=1e-12)


@pytest.mark.parametrize("by_signal", [False, True])
def test_samples_gain_what_the_whole_says_and_come_as_often_as_their_odds(by_signal):
    toy = Toy(6, seed=2)
    family = family_of(toy, by_signal=by_signal)
    parameters, n = some_parameters(family), 4000
    samples = family.draw(parameters, n, np.random.default_rng(3))
    before = b_cubed_score(START, TRUTH).f1 if by_signal else toy.score(START)
    for sample in samples[:60]:
        after = np.array(START)
        moved = sample["moved"][: sample["n"]]
        joined = np.flatnonzero(family.world.clusters.cluster_of == sample["target"])
        after[moved] = START[joined[0]] if len(joined) else max(START) + 1
        value = b_cubed_score(after, TRUTH).f1 if by_signal else toy.score(after)
        assert sample["gain"] == pytest.approx(value - before, abs=1e-9)
    for kind, rows, share in zip((SPLIT, MERGE), family.features(), (0.4, 0.6), strict=True):
        first = 1 if kind == SPLIT else 1 + family.n_features
        odds = np.exp(dense(rows, family.n_features) @ parameters[first : first + family.n_features])
        chance = share * odds / odds.sum()
        counts = np.bincount(samples["row"][samples["kind"] == kind], minlength=rows.n_rows)
        assert (np.abs(counts - n * chance) < 5 * np.sqrt(n * chance) + 1).all()


@compiled(allocates=False)
def take_odds(whole):
    world = refer(whole)
    refresh(world.proposer, world)


def test_odds_from_features_are_those_that_jumps_take_themselves():
    toy = Toy(6, seed=1)
    family = family_of(toy)
    parameters = some_parameters(family)
    family.fit(parameters, family.draw(family.parameters, 3, np.random.default_rng(0)), np.ones(3))
    family.steer(parameters)  # by the features that the fit has written down
    held = family.jumps.merge_odds.copy(), family.jumps.split_odds.copy()
    family.jumps.mark[:] = 0
    take_odds(family.world)
    used = family.world.clusters.order[: family.world.clusters.n_used[0]]
    pairs = np.array(list(combinations(used.tolist(), 2))).T
    np.testing.assert_allclose(family.jumps.merge_odds[*pairs], held[0][*pairs], rtol=1e-12)
    np.testing.assert_allclose(family.jumps.split_odds[used], held[1][used], rtol=1e-12)


def test_a_fit_solves_equation_two():
    """By the slow way: no small step from the fitted weights raises the penalised log density of the elite."""
    toy, l2 = Toy(6, seed=4), 0.3
    family = family_of(toy, l2=l2)
    start = some_parameters(family)
    samples = family.draw(start, 12, np.random.default_rng(1))
    share = np.linspace(0.5, 1.0, 12)
    fitted = family.fit(start, samples, share)
    d = family.n_features
    tables = [dense(rows, d) for rows in family.features()]

    def value(parameters):
        total = -0.5 * l2 * ((parameters[1:] - start[1:]) ** 2).sum()
        for kind, first in ((SPLIT, 1), (MERGE, 1 + d)):
            log_odds = tables[kind] @ parameters[first : first + d]
            log_p = log_odds - np.log(np.exp(log_odds).sum())
            chosen = samples["kind"] == kind
            total += share[chosen] @ log_p[samples["row"][chosen]]
        return total

    best = value(fitted)
    assert best > value(start)
    rng = np.random.default_rng(0)
    for _ in range(50):
        step = np.concatenate([[0.0], rng.normal(scale=1e-2, size=2 * d)])
        assert value(fitted + step) < best + 1e-4
    assert fitted[0] == pytest.approx(share[samples["kind"] == SPLIT].sum() / share.sum())


def test_the_share_of_splits_is_held_where_it_is_not_learned():
    family = family_of(Toy(6, seed=4), learns_share=False)
    samples = family.draw(family.parameters, 5, np.random.default_rng(1))
    assert family.fit(family.parameters, samples, np.ones(5))[0] == 0.5


def neighbours(values):
    """All partitions that one split or one merge leads to."""
    groups = groups_of(values)
    for one, two in combinations(groups, 2):
        yield np.where(np.isin(np.arange(len(values)), two), values[one[0]], values)
    for group in groups:
        for n in range(1, len(group)):
            for side in combinations(group[1:], n):
                yield np.where(np.isin(np.arange(len(values)), side), max(values) + 1, values)


@pytest.mark.parametrize("every", [1, 5])
def test_decoding_ends_where_no_split_and_no_merge_gains(every):
    for seed in range(4):
        toy = Toy(6, seed=seed)
        rounds = Rounds(every=every, n_learning=100, n_iterations=4)
        found = cem_decode(world_of(toy, range(6)), toy.weights, rounds=rounds, rng=seed)
        assert found.converged
        reached = toy.score(found.assignment)
        assert found.gain == pytest.approx(reached - toy.score(range(6)), abs=1e-8)
        assert max(toy.score(y) for y in neighbours(found.assignment)) < reached + 1e-8


def test_the_metric_leads_to_the_truth_and_parameters_go_with_it():
    toy = Toy(6, seed=1)
    rounds = Rounds(n_learning=50, n_iterations=3)
    found = cem_decode(world_of(toy, range(6)), toy.weights, by_signal=True, rounds=rounds, rng=0)
    assert groups_of(found.assignment) == groups_of(TRUTH)
    assert found.gain == pytest.approx(1.0 - b_cubed_score(np.arange(6), TRUTH).f1)
    assert np.abs(found.parameters[1:]).max() > 0.0
    again = cem_decode(
        world_of(toy, range(6)), toy.weights, by_signal=True, rounds=rounds, parameters=found.parameters, rng=0
    )
    assert again.gain == pytest.approx(found.gain)


def test_a_goal_ends_the_walk_and_keeps_it_going():
    toy = Toy(6, seed=1)
    start = world_of(toy, range(6))
    settings = {"by_signal": True, "rng": 0, "rounds": Rounds(n_learning=20, n_iterations=2)}
    short = cem_decode(start, toy.weights, goal=0.05, **settings)
    assert short.converged
    assert short.gain >= 0.05
    beyond = cem_decode(start, toy.weights, goal=2.0, max_jumps=30, **settings)
    assert beyond.n_jumps == 30
    assert beyond.outcome is Outcome.NOT_CONVERGED
    assert cem_decode(start, toy.weights, goal=0.0, **settings).n_jumps == 0


def test_a_proposer_that_does_not_learn_draws_as_many_samples():
    toy = Toy(6, seed=1)
    rounds = Rounds(n_learning=20, n_iterations=2, n_samples=3, is_adaptive=False)
    found = cem_decode(
        world_of(toy, range(6)), toy.weights, by_signal=True, goal=9.0, max_jumps=6, rounds=rounds, rng=0
    )
    assert found.n_samples == 2 * 40 + 4 * 3
    assert not found.parameters[1:].any()


def test_ctrl_c_keeps_what_was_reached():
    def stop(number, family, sample):
        if number == 2:
            raise KeyboardInterrupt

    toy = Toy(6, seed=1)
    rounds = Rounds(every=1, n_learning=20, n_iterations=2)
    found = cem_decode(
        world_of(toy, range(6)), toy.weights, by_signal=True, goal=9.0, rounds=rounds, rng=0, callback=stop
    )
    assert found.outcome is Outcome.INTERRUPTED
    assert found.n_jumps == 2


def test_a_lone_mention_has_nowhere_to_jump():
    toy = Toy(6, seed=1)
    world = partition_world(toy.model, toy.comparisons, n_mentions=1, proposer=split_merge(toy.model, [0, 1]))
    assert cem_decode(world, toy.weights).assignment.tolist() == [0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"every": 0}, "every is 0; give at least 1"),
        ({"keep": 1.5}, "keep is 1.5; give a share from 0 to 1"),
        ({"l2": -1.0}, "l2 is -1.0; give 0 or more"),
    ],
)
def test_rounds_that_cannot_be_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Rounds(**settings)


def test_what_does_not_fit_is_named():
    toy = Toy(6, seed=1)
    with pytest.raises(ValueError, match="max_jumps is 0"):
        cem_decode(world_of(toy), toy.weights, max_jumps=0)
    with pytest.raises(TypeError, match="jumps come from TransferProposer; give it those of split_merge"):
        cem_decode(world_of(toy)._replace(proposer=uniform_mention()), toy.weights)
    with pytest.raises(ValueError, match="there are 3 parameters; give a share and two weights for"):
        cem_decode(world_of(toy), toy.weights, parameters=[0.5, 0.0, 0.0])
    for settings, message in (
        ({"share_split": 1.0}, "share_split is 1.0; give a share above 0 and below 1"),
        ({"n_scans": -1}, "n_scans is -1"),
        ({"split_weights": [1.0]}, r"split_weights has shape \(1,\); give one weight for each of the"),
        ({"guide": [1.0]}, r"guide has shape \(1,\); give one weight for each of"),
    ):
        with pytest.raises(ValueError, match=message):
            split_merge(toy.model, [0, 6], **settings)
