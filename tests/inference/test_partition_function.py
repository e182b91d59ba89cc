"""ln Z by the paper's product and by bridges, and expected statistics, against enumeration."""

import math
from itertools import pairwise

import numpy as np
import pytest

from small_spaces import SPACES
from walkstep.inference import (
    TooCostly,
    cooling_schedule,
    enumerate_space,
    expectations,
    expected_statistics,
    hoeffding_samples,
    log_partition,
    sample_plan,
    scores_of,
)
from walkstep.worlds import Hypercube, Permutations, Subtrees, as_space

pytestmark = [pytest.mark.xdist_group("spaces"), pytest.mark.statistical]


def model(name, scale=0.5):
    space = SPACES[name]()
    return space, scale * np.random.default_rng(7).normal(size=space.n_statistics)


WAYS = [
    ("telescoping", {}),
    ("bridge", {"draws": "exact"}),
    ("bridge", {"draws": "chain"}),
    ("bridge", {"draws": "chain", "moves": "uniform"}),
    ("annealed", {}),
]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize(("method", "settings"), WAYS)
def test_estimates_agree_with_enumeration(name, method, settings):
    space, scores = model(name)
    exact = enumerate_space(space, scores).log_partition
    found = log_partition(space, scores, epsilon=0.1, method=method, rng=3, **settings)
    assert abs(found.estimate - exact) < 5 * found.standard_error
    assert found.is_guaranteed == (method == "telescoping")
    assert found.bound <= 0.1
    assert found.n_steps >= found.n_samples > 0
    assert found.betas[0] == 0.0
    assert found.betas[-1] == 1.0


@pytest.mark.parametrize("name", ["permutations", "subtrees that branch"])
@pytest.mark.parametrize(("method", "settings"), [WAYS[0], WAYS[1], WAYS[2], WAYS[4]])
def test_three_quarters_of_the_estimates_are_within_epsilon(name, method, settings):
    space, scores = model(name)
    exact = enumerate_space(space, scores).log_partition
    n = 60
    errors = [
        log_partition(space, scores, epsilon=0.2, method=method, rng=seed, **settings).estimate - exact
        for seed in range(n)
    ]
    within = np.mean(np.abs(np.expm1(errors)) <= 0.2)
    assert within >= 0.75 - 5 * math.sqrt(0.75 * 0.25 / n)
    assert within >= 0.75  # as it is at these seeds


def test_scores_that_are_large_take_chains_and_those_are_right():
    space = Permutations(11)
    scores = np.random.default_rng(0).normal(size=space.n_statistics) * 2.0
    exact = log_partition(space, scores, method="exact")
    assert exact.estimate == expectations(space, scores[None]).log_partition[0]
    with pytest.raises(TooCostly, match=r"the guarantee takes \d+ levels of .* exact samples, in all .* steps"):
        log_partition(space, scores, rng=0)
    found = log_partition(space, scores, epsilon=0.1, method="bridge", rng=0)
    assert abs(found.estimate - exact.estimate) < 5 * found.standard_error
    assert found.bound <= 0.1
    with pytest.raises(TooCostly, match=r"exceeds max_steps|scores are too large for that"):
        log_partition(space, scores, epsilon=0.01, method="bridge", max_steps=1e4, rng=0)


def test_chains_that_forget_slowly_what_hardly_moves_scores_still_arrive():
    # Within 30 moves scores forget half of what they are; a fifth of it lasts for hundreds.
    space = Subtrees([-1, 0, 1, 2, 3, 4, 5, 5, 7, 2, 9, 1, 11, 12], branching=True)
    scores = np.random.default_rng(0).normal(size=space.n_statistics)
    scores *= 10.0 / (space.radius * np.linalg.norm(scores))
    exact = enumerate_space(space, scores).log_partition
    settings = {"method": "bridge", "draws": "chain", "epsilon": 0.03}
    found = [log_partition(space, scores, rng=seed, **settings) for seed in range(30)]
    errors = [one.estimate - exact for one in found]
    assert abs(np.mean(errors)) < 5 * np.mean([one.standard_error for one in found]) / math.sqrt(30)


def test_a_tree_that_cannot_be_listed_agrees_with_its_sums():
    space = Subtrees([-1] + [k - 1 if k % 4 else 0 for k in range(1, 60)], branching=True)
    scores = np.random.default_rng(1).normal(size=space.n_statistics) * 0.5
    exact = log_partition(space, scores, method="exact").estimate
    found = log_partition(space, scores, method="bridge", epsilon=0.1, rng=1)
    assert abs(found.estimate - exact) < 5 * found.standard_error


def test_the_schedule_is_the_papers():
    betas = cooling_schedule(2.3, p=4)
    assert len(betas) == 4 * 3 + 1
    np.testing.assert_allclose(betas[:10], np.arange(10) / (4 * 2.3))  # p R |theta| is 9.2
    assert betas[-1] == 1.0
    assert (np.diff(betas) <= 1 / (4 * 2.3) + 1e-12).all()
    np.testing.assert_array_equal(cooling_schedule(0.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="p is 2; the paper's schedule takes 3 or more"):
        cooling_schedule(1.0, p=2)


@pytest.mark.parametrize("reach", [0.5, 4.0, 20.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_the_plan_keeps_chebyshevs_promise(reach, epsilon):
    plan = sample_plan(reach, epsilon, 0.25)
    allowed = epsilon / (1 + epsilon)
    promised = math.expm1(plan.n_levels * math.sinh(1 / 3) ** 2 / plan.n_samples) / allowed**2
    assert promised <= 0.25
    assert 1 / (1 - allowed) <= 1 + epsilon + 1e-12
    assert 1 / (1 + allowed) >= 1 - epsilon


def test_no_ratio_varies_more_than_the_plan_allows_for():
    for name in SPACES:
        space, scores = model(name, 3.0)
        exact = enumerate_space(space, scores)
        betas = cooling_schedule(space.radius * float(np.linalg.norm(scores)))
        for before, beta in pairwise(betas.tolist()):
            weight = np.exp(beta * (exact.log_weights - exact.log_weights.max()))
            weight /= weight.sum()
            f = np.exp((before - beta) * exact.log_weights)
            mean = weight @ f
            assert weight @ (f - mean) ** 2 / mean**2 <= math.sinh(1 / 3) ** 2 + 1e-12


def test_scores_of_zero_are_the_count():
    for method in ("telescoping", "bridge", "annealed", "exact"):
        found = log_partition(Permutations(5), np.zeros(10), method=method, rng=0)
        assert found.estimate == pytest.approx(math.log(120), abs=1e-12)


def test_a_row_and_weights_make_scores():
    weights, x = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0])
    np.testing.assert_array_equal(scores_of(Permutations(3), weights, x), weights @ x)
    one = log_partition(Permutations(3), weights, x, method="exact")
    assert one.estimate == log_partition(Permutations(3), weights @ x, method="exact").estimate


def test_the_same_seed_gives_the_same_estimate():
    space, scores = model("cycles")
    for method in ("telescoping", "bridge", "annealed"):
        one, other = (log_partition(space, scores, epsilon=0.2, method=method, rng=5).estimate for _ in range(2))
        assert one == other
    assert "guaranteed" in str(log_partition(space, scores, epsilon=0.2, rng=5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"method": "magic"}, "method is 'magic'; choose one of telescoping, bridge, annealed, exact"),
        ({"epsilon": 0.0}, "epsilon is 0.0; give a number between 0 and 1"),
        ({"delta": 1.0}, "delta is 1.0; give a number between 0 and 1"),
        ({"n_moves": 5}, "n_moves is for method='bridge' or 'annealed', not 'telescoping'; leave it out"),
        ({"method": "bridge", "n_moves": 0}, "n_moves is 0; give at least 1"),
        ({"method": "bridge", "overlap": 1.0}, "overlap is 1.0; give a number between 0 and 1"),
        ({"method": "bridge", "draws": "few"}, "draws is 'few'; choose one of auto, exact, chain"),
        ({"x": [1.0, 2.0]}, r"weights have shape \(3,\) and x \(2,\); give \(3, n_columns\) and \(n_columns,\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        log_partition(Permutations(3), np.zeros(3), **call)


def test_a_space_that_nobody_has_counted_has_no_partition_function():
    from small_spaces import count_step, draw_step

    space = as_space(draw_step, count_step, size=2, n_statistics=2, radius=3.0)
    with pytest.raises(ValueError, match="pass n_structures to as_space"):
        log_partition(space, np.zeros(2), rng=0)


# MOMENT


@pytest.mark.parametrize("name", SPACES)
def test_moments_are_within_hoeffdings_bound(name):
    space, scores = model(name)
    exact = enumerate_space(space, scores).expected_statistics()
    found = expected_statistics(space, scores, epsilon=0.1, delta=0.01, rng=4)
    assert np.abs(found.statistics - exact).max() < 0.1
    z = np.random.default_rng(0).normal(size=space.n_statistics)
    along = expected_statistics(space, scores, direction=z, epsilon=0.3, delta=0.01, rng=4)
    assert abs(along.along - exact @ z) < 0.3
    assert along.n_samples <= hoeffding_samples(space.radius * float(np.linalg.norm(z)), 0.3, 0.01)


def test_as_many_samples_as_the_paper_says():
    n = hoeffding_samples(2.0 * 3.0, 0.5, 0.1)  # R = 2, G = 3
    assert 2 * math.exp(-(0.5**2) * n / (2 * 2.0**2 * 3.0**2)) <= 0.1
    assert 2 * math.exp(-(0.5**2) * (n - 1) / (2 * 2.0**2 * 3.0**2)) > 0.1
    for bad in ((1.0, 0.0, 0.1), (1.0, 0.1, 1.0)):
        with pytest.raises(ValueError, match="give"):
            hoeffding_samples(*bad)


def test_a_direction_is_checked():
    with pytest.raises(ValueError, match=r"direction has shape \(2,\); give one number for each of 3 statistics"):
        expected_statistics(Hypercube(3), np.zeros(3), direction=[1.0, 0.0])
