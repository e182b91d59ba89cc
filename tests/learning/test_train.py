from typing import NamedTuple

import numpy as np
import pytest

from walkstep.learning import Trainer, train
from walkstep.model import Factors, ground
from walkstep.model.score import score
from walkstep.worlds import add, below, label_world, register, span_f1, token_f1


def corpus(n_documents=12, length=5, n_values=3, seed=0):
    """Documents whose values follow from their features, with a chain between neighbours."""
    rng = np.random.default_rng(seed)
    n = n_documents * length
    truth = rng.integers(0, n_values, n)
    features = np.eye(n_values)[truth] + 0.3 * rng.normal(size=(n, n_values))
    is_first = np.arange(n) % length == 0
    right = np.flatnonzero(~is_first)
    graph, layout = ground(
        np.full(n, n_values),
        [
            Factors("emission", np.arange(n)[:, None], features=features),
            Factors("transition", np.stack([right - 1, right], axis=1)),
        ],
    )
    return graph, layout, truth, np.arange(0, n + 1, length)


@pytest.mark.parametrize(
    ("learner", "rule"),
    [("samplerank", "mira"), ("samplerank", "arow"), ("samplerank-svm", "mira"), ("hybrid", "adagrad"),
     ("pcd", "constant"), ("cd-5", "constant"), ("sr-learn", "perceptron")],
)  # fmt: skip
def test_every_learner_ranks_the_truth_above_its_neighbours(learner, rule):
    graph, _, truth, ptr = corpus()
    world = label_world(graph, truth, document_ptr=ptr)
    training = train(world, learner=learner, rule=rule, n_epochs=20, rng=0)
    at_truth = score(graph, training.weights, truth)
    n_better = 0
    for site in range(len(truth)):
        for value in range(3):
            other = truth.copy()
            other[site] = value
            n_better += score(graph, training.weights, other) > at_truth
    assert n_better <= 2


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not():
    graph, _, truth, ptr = corpus()

    def weights(seed):
        return train(label_world(graph, truth, document_ptr=ptr), n_epochs=3, rng=seed).weights

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_threads_do_not_change_the_result_from_run_to_run():
    graph, _, truth, ptr = corpus(n_documents=60)

    def weights(n_threads):
        world = label_world(graph, truth, document_ptr=ptr)
        return train(world, n_epochs=4, n_threads=n_threads, rng=0).weights

    first = weights(3)
    for _ in range(5):
        np.testing.assert_array_equal(weights(3), first)
    assert not np.array_equal(weights(1), first)  # shards are part of the method, timing is not


def test_the_result_is_the_mean_of_the_weights_over_all_steps():
    graph, _, truth, ptr = corpus(n_documents=1)
    world = label_world(graph, truth, values=(truth + 1) % 3, document_ptr=ptr)
    trainer = Trainer(world, n_sweeps=1 / 5, rng=0)  # an epoch of one step
    seen = []
    for _ in range(40):
        seen.append(trainer.last_weights)
        assert trainer.epoch().tally.steps == 1
    np.testing.assert_allclose(trainer.weights, np.mean(seen, axis=0), atol=1e-12)
    assert not np.allclose(trainer.weights, trainer.last_weights)


def test_factors_between_documents_refuse_threads():
    graph, _ = ground([2, 2, 2, 2], [Factors("edge", [[1, 2]])])
    world = label_world(graph, [0, 1, 0, 1], document_ptr=[0, 2, 4])
    with pytest.raises(ValueError, match=r"joins variables \[1, 2\] of different documents; train with n_threads=1"):
        train(world, n_threads=2)


@pytest.mark.parametrize("signal", ["token", "span"])
def test_f1_signals_train(signal):
    graph, _, truth, ptr = corpus()
    labels = ["O", "B-X", "I-X"]
    metric = token_f1(0, scale=5.0) if signal == "token" else span_f1(labels, truth, ptr, scale=5.0)
    world = label_world(graph, truth, document_ptr=ptr, signal=metric)
    training = train(world, n_epochs=20, rng=0)
    wrong = np.roll(truth, 1)
    assert score(graph, training.weights, truth) > score(graph, training.weights, wrong)


def test_an_interrupt_keeps_what_was_learned():
    graph, _, truth, ptr = corpus()

    def stop(trainer):
        if len(trainer.epochs) == 2:
            raise KeyboardInterrupt

    training = train(label_world(graph, truth, document_ptr=ptr), n_epochs=50, callback=stop, rng=0)
    assert training.interrupted
    assert len(training.epochs) == 2
    assert training.weights.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "gips"}, "'gips'; choose 'gibbs' or 'metropolis'"),
        ({"temperature": -1.0}, "give 0 or more"),
        ({"n_threads": 0}, "give 1 or more"),
        ({"weights": np.zeros(3)}, "this graph takes"),
        ({"rival": "worst"}, "choose 'drawn' or 'violating'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    graph, _, truth, ptr = corpus(n_documents=2)
    with pytest.raises(ValueError, match=message):
        train(label_world(graph, truth, document_ptr=ptr), **settings)


class Switches(NamedTuple):
    """A world of the user's own: switches that are on or off, with one weight for each that is on."""

    is_on: np.ndarray
    truth: np.ndarray


class Toggle(NamedTuple):
    switch: int


def _propose(world, rng):
    return Toggle(below(rng, len(world.is_on))), 0.0


def _factor(world, move, k, phi):
    add(phi, move.switch, -1.0 if world.is_on[move.switch] else 1.0)


def _signal(world, move):
    return -1.0 if world.is_on[move.switch] == world.truth[move.switch] else 1.0


def _commit(world, move):
    world.is_on[move.switch] = 1 - world.is_on[move.switch]


register(
    Switches,
    enter=lambda world, document: len(world.is_on),
    propose=_propose,
    n_factors=lambda world, move: 1,
    factor=_factor,
    signal=_signal,
    commit=_commit,
)


def test_a_world_of_the_users_own_is_trained():
    truth = np.array([1, 0, 1, 1, 0])
    world = Switches(np.zeros(5, np.int64), truth)
    training = train(world, sampler="metropolis", weights=np.zeros(5), n_epochs=20, rng=0)
    np.testing.assert_array_equal(training.weights > 0, truth == 1)
    assert not world.is_on.any()  # the walk went on a copy


def test_what_a_users_world_lacks_is_named():
    world = Switches(np.zeros(2, np.int64), np.zeros(2, np.int64))
    with pytest.raises(TypeError, match="Switches does not answer retrace, is_silent; give them"):
        train(world, sampler="metropolis", learner="samplerank-svm", weights=np.zeros(2))
    with pytest.raises(ValueError, match="choose 'metropolis' for Switches"):
        train(world, weights=np.zeros(2))
    with pytest.raises(ValueError, match=r"pass weights=np.zeros\(n\)"):
        train(world, sampler="metropolis")


def test_learners_that_always_move_refuse_steps_that_come_from_a_margin():
    graph, _, truth, ptr = corpus(n_documents=2)
    with pytest.raises(ValueError, match="learner 'pcd' follows its gradient at every step"):
        train(label_world(graph, truth, document_ptr=ptr), learner="pcd", rule="arow")
