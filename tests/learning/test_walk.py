"""The learner kernel, a step at a time, against Algorithm 1 written out in plain NumPy."""

import numpy as np
import pytest

from walkstep.inference.transitions import gibbs_transition, metropolis_transition
from walkstep.learning import LEARNERS, learner_row, step_rule
from walkstep.learning.steps import weight_state
from walkstep.learning.walk import empty_tally, learn
from walkstep.model import UNKNOWN
from walkstep.model.score import statistics
from walkstep.worlds import as_signal, goal_of, label_world, sparse_vector, stream


class OneStep:
    """Runs the kernel one step at a time, so that every step can be looked at."""

    def __init__(
        self, graph, truth, learner, rule, *, temperature=1.0, sampler="gibbs", values=None, signal=None, **transition
    ):
        self.learner, self.rule = learner, rule
        self.world = label_world(graph, truth, values=values, signal=signal)._replace(
            journal=np.zeros(learner.restart, np.int64)
        )
        self.goal = goal_of(self.world)
        self.state = weight_state(np.zeros(graph.n_weights), rule)
        self.phi, self.home = sparse_vector(graph.n_weights), sparse_vector(graph.n_weights)
        self.transition = (
            gibbs_transition(self.world, temperature, scan="random", **transition)
            if sampler == "gibbs"
            else metropolis_transition(temperature)
        )
        self.rng = stream(0)
        self.tally = empty_tally()

    def __call__(self, n_steps=1):
        n_sweeps = n_steps / len(self.world.values)
        learn(
            self.world, self.goal, self.transition, self.learner, self.rule, self.state,
            np.zeros(1, np.int64), n_sweeps, self.phi, self.home, self.rng, self.tally,
        )  # fmt: skip


def hamming(values, truth):
    return int((values == truth).sum())


def test_samplerank_corrects_exactly_the_pairs_that_algorithm_1_corrects(chain):
    graph, _, truth = chain
    step = OneStep(graph, truth, learner_row("samplerank"), step_rule("constant", rate=0.02), values=(truth + 1) % 3)
    n_corrected = 0
    for _ in range(300):
        before, weights = step.world.values.copy(), step.state.weights
        step()
        after = step.world.values
        omega = hamming(after, truth) - hamming(before, truth)
        expected = weights
        if omega != 0:
            gradient = np.sign(omega) * (statistics(graph, after) - statistics(graph, before))
            if weights @ gradient < abs(omega):
                expected = weights + 0.02 * gradient
                n_corrected += 1
        np.testing.assert_allclose(step.state.weights, expected, atol=1e-12)
    assert n_corrected > 20
    assert step.tally[3] == n_corrected


@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
@pytest.mark.parametrize("name", ["samplerank-svm", "pcd", "cd-1", "cd-5", "samplerank-svm-1", "hybrid"])
def test_learners_that_compare_with_the_truth_use_the_accumulated_gradient(chain, name, sampler):
    graph, _, truth = chain
    step = OneStep(graph, truth, learner_row(name), step_rule("constant", rate=0.1), sampler=sampler)
    step(211)
    # Whatever moves were made, what was accumulated is phi(truth) - phi(y_t).
    accumulated = np.zeros(graph.n_weights)
    for index, value in step.home.to_dict().items():
        accumulated[index] = value
    expected = statistics(graph, truth) - statistics(graph, step.world.values)
    np.testing.assert_allclose(accumulated, expected, atol=1e-9)
    assert step.tally[3] > 0


def test_persistent_contrastive_divergence_always_moves_towards_the_truth(chain):
    graph, _, truth = chain
    step = OneStep(graph, truth, learner_row("pcd"), step_rule("constant", rate=0.1))
    for _ in range(100):
        weights = step.state.weights
        step()
        gradient = statistics(graph, truth) - statistics(graph, step.world.values)
        np.testing.assert_allclose(step.state.weights, weights + 0.1 * gradient, atol=1e-12)


def test_samplerank_svm_moves_only_where_the_margin_is_violated(chain):
    graph, _, truth = chain
    step = OneStep(graph, truth, learner_row("samplerank-svm"), step_rule("constant", rate=0.1))
    n_moved = n_kept = 0
    for _ in range(300):
        weights = step.state.weights
        step()
        values = step.world.values
        gradient = statistics(graph, truth) - statistics(graph, values)
        loss = hamming(truth, truth) - hamming(values, truth)
        is_violated = loss > 0 and weights @ gradient < loss
        np.testing.assert_allclose(step.state.weights, weights + 0.1 * gradient * is_violated, atol=1e-12)
        n_moved += is_violated
        n_kept += not is_violated
    assert n_moved > 10
    assert n_kept > 10


@pytest.mark.parametrize(("name", "period"), [("cd-1", 1), ("cd-3", 3), ("samplerank-svm-1", 1)])
def test_chains_that_restart_go_back_to_the_truth(chain, name, period):
    graph, _, truth = chain
    step = OneStep(graph, truth, learner_row(name), step_rule("constant"))
    step(period * 7)
    np.testing.assert_array_equal(step.world.values, truth)


def count_right(values, truth, site, value, first, last):
    """Hamming accuracy by difference, as a user would write it."""
    return 1.0 * (value == truth[site]) - 1.0 * (values[site] == truth[site])


@pytest.mark.parametrize("signal", [None, as_signal(count_right)], ids=["built in", "the user's own"])
def test_the_violating_rival_is_the_worst_ranked_value_of_the_site(chain, signal):
    graph, _, truth = chain
    rule = step_rule("constant", rate=0.1)
    step = OneStep(graph, truth, learner_row("samplerank"), rule, rival="violating", signal=signal)
    for _ in range(200):
        before, weights = step.world.values.copy(), step.state.weights
        step()
        change = step.state.weights - weights
        site = int(step.transition.cursor[0])
        candidates = []
        for value in range(3):
            other = before.copy()
            other[site] = value
            omega = hamming(other, truth) - hamming(before, truth)
            if omega != 0:
                gradient = np.sign(omega) * (statistics(graph, other) - statistics(graph, before))
                candidates.append((abs(omega) - weights @ gradient, gradient))
        violation, gradient = max(candidates, key=lambda pair: pair[0])
        expected = 0.1 * gradient if violation > 0 else np.zeros_like(gradient)
        np.testing.assert_allclose(change, expected, atol=1e-12)


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_the_learner_is_silent_where_the_truth_is_unknown(chain, name):
    graph, _, truth = chain
    truth = truth.copy()
    truth[[1, 3]] = UNKNOWN
    step = OneStep(graph, truth, learner_row(name), step_rule("constant", rate=0.1))
    step(300)
    accumulated = np.zeros(graph.n_weights)
    for index, value in step.home.to_dict().items():
        accumulated[index] = value
    if step.learner.truth:
        # The truth goes along where it says nothing: goal and world agree there.
        expected = statistics(graph, step.goal.values) - statistics(graph, step.world.values)
        np.testing.assert_allclose(accumulated, expected, atol=1e-9)
        assert step.learner.restart or (step.goal.values[[1, 3]] == step.world.values[[1, 3]]).all()
    known = np.array([0, 2, 4, 5])
    np.testing.assert_array_equal(step.goal.values[known], truth[known])


def test_nothing_is_learned_from_nothing(chain):
    graph, _, truth = chain
    for name in sorted(LEARNERS):
        step = OneStep(graph, np.full_like(truth, UNKNOWN), learner_row(name), step_rule("constant"), values=truth)
        step(100)
        assert not step.state.weights.any(), name


def test_an_unknown_learner_is_named():
    with pytest.raises(ValueError, match="'samplerang' is not known; choose one of samplerank"):
        learner_row("samplerang")
