"""Models over spaces: the posterior and its slope, exactly and from samples, and walks on the same spaces."""

import numpy as np
import pytest

from small_spaces import SPACES
from walkstep.apps.ranking_truth import ranking_truth
from walkstep.learning.sampled_expectations import SampledExpectations
from walkstep.learning.steps import step_rule
from walkstep.learning.structured_map import MapProblem, map_by_steps, map_exactly, map_from_samples
from walkstep.learning.structured_model import StructuredModel, known_truth
from walkstep.learning.train import Trainer
from walkstep.worlds import Permutations, space_world

pytestmark = pytest.mark.xdist_group("spaces")

SUMMED = ("hypercube", "hypercube with pairs", "permutations", "subtrees", "subtrees that branch")
PARTIAL = np.array([[0, 1, 2, 3], [1, 0, np.nan, 2], [0, 0, 1, 1], [np.nan] * 4, [3, 1, 0, 2]], dtype=float)


def rows_of(space, n_rows, seed, n_columns=3):
    """Rows whose structures follow their columns."""
    rng = np.random.default_rng(seed)
    model = StructuredModel(rng.normal(size=(space.n_seen, n_columns)), 0.3 * rng.normal(size=space.n_statistics))
    rows = rng.normal(size=(n_rows, n_columns))
    structures = space.all_structures()
    statistics = space.statistics(structures)
    logits = model.scores(rows) @ statistics.T
    chosen = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return rows, np.asarray(structures[chosen], dtype=np.int32)


def problem_of(name, n_rows=60, seed=0, sigma=1.5):
    space = SPACES[name]()
    rows, values = rows_of(space, n_rows, seed)
    return MapProblem(space, rows, known_truth(space, values), sigma)


def partial_problem(sigma=1.5):
    space = Permutations(4)
    rows = np.random.default_rng(3).normal(size=(len(PARTIAL), 2))
    return MapProblem(space, rows, ranking_truth(space, PARTIAL), sigma)


def naive_objective(problem, weights):
    """The objective by listing all structures; open rows sum over those that agree with what is held."""
    space, truth = problem.space, problem.truth
    statistics = space.statistics(space.all_structures())
    scores = problem.model(weights).scores(problem.rows)
    total = 0.5 * problem.precision @ weights**2
    held = dict(zip(truth.open_rows.tolist(), truth.held, strict=True))
    for r, row in enumerate(scores):
        logits = statistics @ row
        if r in held:
            agrees = ((held[r] == 0) | (np.sign(statistics) == held[r])).all(axis=1)
        else:
            agrees = (statistics == truth.statistics[r]).all(axis=1)
        assert agrees.any()
        total += np.logaddexp.reduce(logits) - np.logaddexp.reduce(logits[agrees])
    return total / problem.n_rows


@pytest.mark.parametrize("name", SUMMED)
def test_the_objective_is_that_of_enumeration(name):
    problem = problem_of(name, n_rows=8)
    weights = np.random.default_rng(1).normal(size=len(problem.precision))
    assert problem.exact(weights)[0] == pytest.approx(naive_objective(problem, weights), rel=1e-9)


def test_the_objective_of_partial_rankings_sums_over_what_agrees():
    problem = partial_problem()
    assert problem.truth.open_rows.tolist() == [1, 2, 3]
    weights = np.random.default_rng(1).normal(size=len(problem.precision))
    assert problem.exact(weights)[0] == pytest.approx(naive_objective(problem, weights), rel=1e-9)


@pytest.mark.parametrize("name", [*SUMMED, "partial"])
def test_the_slope_is_that_of_finite_differences(name):
    problem = partial_problem() if name == "partial" else problem_of(name, 8)
    weights = 0.7 * np.random.default_rng(2).normal(size=len(problem.precision))
    slope = problem.exact(weights)[1]
    for k in range(len(weights)):
        step = np.zeros(len(weights))
        step[k] = 1e-5
        measured = (problem.exact(weights + step)[0] - problem.exact(weights - step)[0]) / 2e-5
        assert slope[k] == pytest.approx(measured, abs=2e-8)


@pytest.mark.parametrize("name", ["hypercube with pairs", "permutations", "subtrees"])
def test_samples_lead_to_the_exact_optimum(name):
    problem = problem_of(name)
    *_, exact = map_exactly(problem)
    *_, sampled = map_from_samples(problem, n_epochs=30, n_samples=30, rng=0)
    best, start = problem.exact(exact.model.weights)[0], problem.exact(np.zeros(len(problem.precision)))[0]
    found = problem.exact(sampled.model.weights)[0]
    assert best <= found < best + 0.01 * (start - best)
    assert sampled.n_steps > 0
    assert exact.n_steps == 0
    assert sampled.is_last


def test_samples_lead_to_the_optimum_of_partial_rankings():
    problem = partial_problem()
    *_, exact = map_exactly(problem)
    *_, sampled = map_from_samples(problem, n_epochs=40, n_samples=100, rng=0)
    best, start = problem.exact(exact.model.weights)[0], problem.exact(np.zeros(len(problem.precision)))[0]
    assert problem.exact(sampled.model.weights)[0] < best + 0.03 * (start - best)


@pytest.mark.parametrize("name", ["permutations", "subtrees that branch"])
def test_stochastic_steps_lead_near_to_the_optimum(name):
    problem = problem_of(name)
    *_, exact = map_exactly(problem)
    *_, stepped = map_by_steps(problem, n_epochs=80, batch_size=20, rng=0)
    best, start = problem.exact(exact.model.weights)[0], problem.exact(np.zeros(len(problem.precision)))[0]
    assert problem.exact(stepped.model.weights)[0] < best + 0.03 * (start - best)


def test_stochastic_steps_take_partial_rankings():
    problem = partial_problem()
    *_, exact = map_exactly(problem)
    *_, stepped = map_by_steps(problem, n_epochs=300, batch_size=2, rng=0)
    best, start = problem.exact(exact.model.weights)[0], problem.exact(np.zeros(len(problem.precision)))[0]
    assert problem.exact(stepped.model.weights)[0] < best + 0.1 * (start - best)


@pytest.mark.parametrize("moves", ["local", "uniform"])
def test_spaces_that_nobody_can_sum_learn_from_samples(moves):
    space = SPACES["cycles"]()
    rows, values = rows_of(space, 60, 4, n_columns=1)
    problem = MapProblem(space, rows, known_truth(space, values), 1.0)
    *_, sampled = map_from_samples(problem, n_epochs=30, n_samples=40, moves=moves, rng=0)
    zero = naive_objective(problem, np.zeros(len(problem.precision)))
    found = naive_objective(problem, sampled.model.weights)
    # No direction from there leads noticeably down.
    slope = np.array(
        [
            (
                naive_objective(problem, sampled.model.weights + step)
                - naive_objective(problem, sampled.model.weights - step)
            )
            / 2e-3
            for step in 1e-3 * np.eye(len(problem.precision))
        ]
    )
    assert found < zero - 0.3
    assert np.abs(slope).max() < 0.05


def test_reweighted_samples_agree_with_enumeration():
    space = Permutations(4)
    rng = np.random.default_rng(5)
    before, after = rng.normal(size=(2, 1, space.n_statistics)) * 0.8
    after = before + 0.3 * (after - before)
    samples = SampledExpectations(space, 1, n_samples=40_000, rng=0)
    samples.draw(before)
    found = samples.under(after)
    statistics = space.statistics(space.all_structures())
    chance = np.exp(statistics @ after[0])
    assert found.statistics[0] == pytest.approx(chance @ statistics / chance.sum(), abs=0.02)
    ratio = np.log(chance.sum()) - np.logaddexp.reduce(statistics @ before[0])
    assert found.log_ratio[0] == pytest.approx(ratio, abs=0.03)
    assert 0.5 < found.effective[0] < 1.0
    assert samples.under(before).effective[0] == pytest.approx(1.0)


def test_samplerank_walks_on_the_same_spaces():
    problem = problem_of("permutations", n_rows=80)
    world = space_world(
        problem.space, problem.truth.starts, rows=problem.rows, true_statistics=problem.truth.statistics
    )
    trainer = Trainer(
        world,
        learner="samplerank",
        rule=step_rule("adagrad"),
        sampler="metropolis",
        n_sweeps=2.0,
        weights=np.zeros(len(problem.precision)),
        n_documents=problem.n_rows,
        rng=0,
    )
    for _ in range(10):
        trainer.epoch()
    scores = problem.model(trainer.weights).scores(problem.rows)
    *_, exact = map_exactly(problem)

    def agreement(scores):
        return (np.sign(scores) == np.sign(problem.truth.statistics)).mean()

    assert agreement(scores) > agreement(exact.model.scores(problem.rows)) - 0.05 > 0.65


def test_what_is_known_can_be_had_of_some_rows():
    truth = ranking_truth(Permutations(4), PARTIAL)
    some = truth.of(np.array([3, 0, 1]))
    assert some.open_rows.tolist() == [0, 2]
    assert some.held[1].tolist() == truth.held[0].tolist()
    assert some.statistics[1].tolist() == truth.statistics[0].tolist()
    assert some.starts[2].tolist() == truth.starts[1].tolist()


def test_a_problem_that_cannot_be_is_refused():
    space = Permutations(4)
    truth = ranking_truth(space, PARTIAL)
    with pytest.raises(ValueError, match=r"sigma is 0\.0; give a positive number"):
        MapProblem(space, np.zeros((5, 2)), truth, 0.0)
    with pytest.raises(ValueError, match="there are 4 rows, and the truth of 5"):
        MapProblem(space, np.zeros((4, 2)), truth, 1.0)
    problem = MapProblem(space, np.zeros((5, 2)), truth, 1.0)
    with pytest.raises(ValueError, match="batch_size is 0; give at least 1"):
        next(map_by_steps(problem, batch_size=0))
    with pytest.raises(ValueError, match="rate is 0; give a positive number"):
        next(map_by_steps(problem, rate=0))
    with pytest.raises(ValueError, match="n_samples is 0; give at least 1"):
        next(map_from_samples(problem, n_samples=0))
