"""Gradients against finite differences of what they are the gradients of."""

import numpy as np
import pytest

from random_graphs import random_graph
from walkstep.inference import enumerate_worlds, marginals
from walkstep.learning import Learner, Trainer, step_rule
from walkstep.model import Factors, ground
from walkstep.model.score import score, statistics
from walkstep.worlds import label_world


def slope(function, at, step=1e-5):
    """Central differences of a function of the weights, one weight after the other."""
    gradient = np.empty(len(at))
    for i in range(len(at)):
        nudge = np.zeros(len(at))
        nudge[i] = step
        gradient[i] = (function(at + nudge) - function(at - nudge)) / (2 * step)
    return gradient


@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_the_gradient_of_the_score(seed):
    graph, weights = random_graph(seed)
    values = np.ones(graph.n_variables, np.int32)  # a world that no fixed table forbids
    np.testing.assert_allclose(slope(lambda w: score(graph, w, values), weights), statistics(graph, values), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_expected_statistics_are_the_gradient_of_the_log_partition_function(seed):
    graph, weights = random_graph(seed, n_variables=3, n_groups=3)
    expected = enumerate_worlds(graph, weights).expected_statistics()
    found = slope(lambda w: enumerate_worlds(graph, w).log_partition, weights)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_joint_marginals_of_a_chain_are_the_gradient_of_its_log_partition_function():
    rng = np.random.default_rng(0)
    graph, layout = ground(
        [3] * 5,
        [
            Factors("emission", np.arange(5)[:, None], features=rng.normal(size=(5, 2))),
            Factors("transition", [[i, i + 1] for i in range(4)]),
        ],
    )
    weights = rng.normal(size=layout.size)
    gradient = slope(lambda w: marginals(graph, w).log_partition, weights)
    joints = marginals(graph, weights, joints=True).joints
    np.testing.assert_allclose(layout.view(gradient, "transition")[0, 0], joints.sum(axis=0), atol=1e-7)


def test_a_samplerank_step_goes_down_the_hinge():
    # Eq. 6 of the SampleRank paper: the loss of a pair is max(0, omega(y+) - omega(y-) - theta' (phi(y+) - phi(y-))).
    rng = np.random.default_rng(1)
    graph, layout = ground([3], [Factors("emission", [[0]], features=rng.normal(size=(1, 4)))])
    n_moved = 0
    for seed in range(20):
        weights = 0.3 * rng.normal(size=layout.size)
        trainer = Trainer(
            label_world(graph, truth=[2], values=[0]),
            learner=Learner(neighbours=True, truth=False, always=False, restart=0, margin=1.0),
            rule=step_rule("constant", rate=0.1),
            rival="violating",
            weights=weights,
            rng=seed,
        )
        trainer.epoch()  # one step: the worst-ranked neighbour of value 0 is the truth

        def hinge(w):
            return max(0.0, 1.0 - (score(graph, w, [2]) - score(graph, w, [0])))

        np.testing.assert_allclose(trainer.last_weights, weights - 0.1 * slope(hinge, weights), atol=1e-7)
        n_moved += not np.array_equal(trainer.last_weights, weights)
    assert n_moved > 5
