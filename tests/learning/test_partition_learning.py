from functools import cache

import numpy as np
import pytest

from walkstep.compiled import compiled
from walkstep.inference import anneal, metropolis
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Trainer, train
from walkstep.learning.walk import LEARNERS
from walkstep.model.partition_templates import Affinity, Size, Spread
from walkstep.references import refer
from walkstep.worlds.base import enter, retrace
from walkstep.worlds.partition import at_truth, partition_world
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.partition_signals import b_cubed, pair_f1, pair_labels
from walkstep.worlds.sparse import sparse_vector
from worlds.naive_partition import ALL_TEMPLATES, Toy, blocks_of, groups_of

pytestmark = pytest.mark.xdist_group("partition")

N = 12
TRUTH = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 4])
PTR = (0, 6, 12)
NO_SPREAD = tuple(template for template in ALL_TEMPLATES if not isinstance(template, Spread))


@cache
def toy_of(templates=ALL_TEMPLATES):
    return Toy(N, templates)


def world_of(templates=ALL_TEMPLATES, truth=TRUTH, **settings):
    toy = toy_of(templates)
    return partition_world(toy.model, toy.comparisons, truth, **settings)


def mixed(groups=(tuple(range(N)),)):
    return block_guided(blocks_of(N, groups), share_merge=0.3, share_uniform=0.3)


@compiled(allocates=False)
def way_home(world, goal, document, phi):
    here, truth = refer(world), refer(goal)
    enter(here, document)
    enter(truth, document)
    return retrace(here, truth, phi)


def rule_of(learner):
    row = LEARNERS.get(learner, LEARNERS["cd-1"])
    # The steps of MIRA come from a margin, which sr-learn has none of.
    return "constant" if row.always else "mira" if row.margin else "perceptron"


def assert_counted(world, toy):
    """What is counted of clusters is what a fresh world counts."""
    fresh = partition_world(toy.model, toy.comparisons, assignment=world.values, document_ptr=world.document_ptr)
    # A cluster's slot may differ: it is found by any of its mentions.
    at, there = world.clusters.cluster_of, fresh.clusters.cluster_of
    for name in ("level_counts", "distinct", "present"):
        np.testing.assert_array_equal(getattr(world, name)[at], getattr(fresh, name)[there], name)
    np.testing.assert_array_equal(world.holders, fresh.holders)


@pytest.mark.parametrize("learner", [*LEARNERS, "cd-3"])
@pytest.mark.parametrize("document_ptr", [None, PTR])
def test_every_learner_walks_and_changes_its_weights(learner, document_ptr):
    groups = [range(N)] if document_ptr is None else [range(6), range(6, N)]
    world = world_of(document_ptr=document_ptr, proposer=mixed(groups), signal=pair_f1())
    trainer = Trainer(world, learner=learner, rule=rule_of(learner), sampler="metropolis", n_sweeps=8, rng=0)
    tallies = [trainer.epoch().tally for _ in range(3)]
    assert [tally.steps for tally in tallies] == [8 * N] * 3
    assert sum(tally.violated for tally in tallies) > 0
    assert sum(tally.accepted for tally in tallies) > 0
    assert np.isfinite(trainer.weights).all()
    assert np.abs(trainer.weights).max() > 0
    walked = trainer._shards[0].world
    assert_counted(walked, toy_of())
    if trainer.learner.restart:
        assert groups_of(walked.values) == groups_of(TRUTH)
        assert walked.n_journal[0] == 0
    if trainer.learner.truth:
        assert groups_of(trainer._shards[0].goal.values) == groups_of(TRUTH)


@pytest.mark.parametrize("learner", ["samplerank", "samplerank-svm", "cd-3"])
def test_learners_keep_count_of_exchanges(learner):
    jumps = block_guided(blocks_of(N, [range(N)]), share_merge=0.1, share_swap=0.4, share_several=0.4)
    world = world_of(proposer=jumps, signal=b_cubed(TRUTH))
    trainer = Trainer(world, learner=learner, rule=rule_of(learner), sampler="metropolis", n_sweeps=20, rng=0)
    for _ in range(3):
        tally = trainer.epoch().tally
    assert tally.violated > 0
    walked = trainer._shards[0].world
    assert_counted(walked, toy_of())
    assert walked.signal.counts[2] == N
    if trainer.learner.restart:
        assert groups_of(walked.values) == groups_of(TRUTH)
        assert walked.n_journal[0] == 0


def test_going_home_remembers_large_moves_over_many_steps():
    toy, truth = toy_of((Affinity(),)), np.arange(N) // 6
    weights = np.zeros(toy.model.n_weights)
    toy.layout.view(weights, "title")[...] = 0.2  # merges and splits of half a dozen mentions are both taken
    proposer = block_guided(blocks_of(N, [range(N)]), share_merge=1.0)
    world = partition_world(toy.model, toy.comparisons, truth, proposer=proposer)
    rule = step_rule("constant", rate=1e-9)
    settings = {"learner": "cd-200", "rule": rule, "weights": weights, "sampler": "metropolis", "n_sweeps": 100}
    trainer = Trainer(world, rng=0, **settings)
    assert trainer.epoch().tally.accepted > 100
    assert groups_of(trainer._shards[0].world.values) == groups_of(truth)


@pytest.mark.parametrize("document_ptr", [None, PTR])
def test_the_way_home_is_the_difference_of_whole_statistics(document_ptr):
    toy = toy_of(NO_SPREAD)
    start = np.random.default_rng(0).integers(0, 4, N)
    world = world_of(NO_SPREAD, assignment=start, document_ptr=document_ptr)
    goal = at_truth(world)
    total = np.zeros(toy.model.n_weights)
    for document in range(len(world.document_ptr) - 1):
        phi = sparse_vector(toy.model.n_weights)
        way_home(world, goal, document, phi)
        for index, value in phi.to_dict().items():
            total[index] += value
    np.testing.assert_allclose(total, toy.statistics(goal.values) - toy.statistics(world.values), atol=1e-9)


def separable():
    """Mentions that belong together where they share a venue; what has none is alone."""
    toy = toy_of((Affinity(),))
    venue = toy.columns["venue"]
    return toy, np.where(venue >= 0, venue, 10 + np.arange(N))


@pytest.mark.parametrize("learner", ["samplerank", "samplerank-svm", "hybrid", "sr-learn"])
def test_what_can_be_separated_is_learned(learner):
    toy, truth = separable()
    world = partition_world(toy.model, toy.comparisons, truth, proposer=mixed())
    training = train(
        world, learner=learner, rule=rule_of(learner), sampler="metropolis", n_sweeps=30, n_epochs=10, rng=0
    )
    sampler = metropolis(world, training.weights, n_moves=500)
    best = anneal(sampler, np.arange(N), 30, rng=1)
    assert groups_of(best.values) == groups_of(truth)


def test_part_of_the_truth_is_enough_for_samplerank():
    toy, truth = separable()
    known = np.where(np.arange(N) % 4 == 3, -1, truth)
    world = partition_world(toy.model, toy.comparisons, known, proposer=mixed(), signal=b_cubed(known))
    training = train(world, sampler="metropolis", n_sweeps=30, n_epochs=10, rng=0)
    venue = toy.layout.view(training.weights, "venue").ravel()
    assert venue[2] > 0 > venue[1]


def test_labelled_pairs_are_enough_for_samplerank():
    toy, truth = separable()
    left, right = np.triu_indices(N, 1)
    signal = pair_labels(N, left[::3], right[::3], (truth[left] == truth[right])[::3])
    world = partition_world(toy.model, toy.comparisons, n_mentions=N, proposer=mixed(), signal=signal)
    training = train(world, sampler="metropolis", n_sweeps=30, n_epochs=10, rng=0)
    venue = toy.layout.view(training.weights, "venue").ravel()
    assert venue[2] > venue[1]


def test_learners_that_need_the_truth_say_so():
    known = np.where(np.arange(N) == 5, -1, TRUTH)
    with pytest.raises(ValueError, match=r"the truth of mention 5 \(and 0 others\) is not known"):
        Trainer(world_of(truth=known), learner="samplerank-svm", sampler="metropolis")
    with pytest.raises(ValueError, match="Gibbs is for label worlds"):
        Trainer(world_of())
    with pytest.raises(ValueError, match="'cd-1' follows its gradient at every step"):
        Trainer(world_of(), learner="cd-1", sampler="metropolis")


def test_each_epoch_can_begin_at_the_truth():
    world = world_of((Affinity(), Size()))
    trainer = Trainer(world, sampler="metropolis", n_sweeps=1e-9, reset=True, rng=0)
    trainer.epoch()
    walked = trainer._shards[0].world
    n_moved = sum(a != b for a, b in zip(walked.values, at_truth(world).values, strict=True))
    assert n_moved <= 6  # a single step was made from there
    trainer.epoch()
    assert_counted(trainer._shards[0].world, toy_of((Affinity(), Size())))


@pytest.mark.parametrize("learner", ["samplerank", "samplerank-svm"])
def test_each_epoch_can_begin_with_every_mention_alone(learner):
    trainer = Trainer(
        world_of((Affinity(), Size())), learner=learner, sampler="metropolis", n_sweeps=1e-9, reset="apart", rng=0
    )
    for _ in range(2):
        trainer.epoch()
        assert len(np.unique(trainer._shards[0].world.values)) >= N - 1  # a single step was made from there
    assert_counted(trainer._shards[0].world, toy_of((Affinity(), Size())))


def test_a_place_to_begin_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="reset is 'home'"):
        Trainer(world_of(), sampler="metropolis", reset="home")


def test_the_same_seed_trains_the_same_weights():
    one, other = (
        train(world_of(proposer=mixed()), sampler="metropolis", n_sweeps=10, n_epochs=2, rng=5).weights for _ in "ab"
    )
    np.testing.assert_array_equal(one, other)


def test_documents_are_dealt_to_threads_where_nothing_joins_them():
    world = world_of(NO_SPREAD, document_ptr=PTR, proposer=mixed([range(6), range(6, N)]))
    settings = {"sampler": "metropolis", "n_sweeps": 10, "n_epochs": 2, "rng": 0, "n_threads": 2}
    training = train(world, **settings)
    assert training.epochs[0].tally.steps == 10 * N
    np.testing.assert_array_equal(training.weights, train(world, **settings).weights)
    with pytest.raises(ValueError, match="'Spread' joins the clusters of different documents"):
        train(world_of(document_ptr=PTR), **settings)
