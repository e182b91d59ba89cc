"""Coupling from the past: exact samples, what they cost, and when they are refused."""

import math

import numpy as np
import pytest

from small_spaces import SPACES, chi_square_p, shares
from walkstep.inference import TooCostly, coupling_cost, coupling_from_the_past, enumerate_space, mixing_time
from walkstep.inference.coupling import run_coupled
from walkstep.worlds import Hypercube, Permutations, stream

pytestmark = [pytest.mark.xdist_group("spaces"), pytest.mark.statistical]


def model(name, scale=0.7):
    space = SPACES[name]()
    return space, scale * np.random.default_rng(5).normal(size=space.n_statistics)


def p_value(name, n):
    space, scores = model(name)
    exact = enumerate_space(space, scores)
    draws = coupling_from_the_past(space, scores, n, rng=11)
    np.testing.assert_allclose(draws.scores, space.statistics(draws.values) @ scores, atol=1e-12)
    return chi_square_p(shares(draws.values, exact.values), exact.probabilities)


@pytest.mark.parametrize("name", SPACES)
def test_samples_are_distributed_as_enumeration_says(name):
    assert p_value(name, 5000) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
def test_a_hundred_thousand_samples_are_distributed_as_enumeration_says(name):
    assert p_value(name, 100_000) > 1e-3


@pytest.mark.parametrize("name", SPACES)
def test_samples_follow_each_other_independently(name):
    space, scores = model(name)
    found = coupling_from_the_past(space, scores, 4000, rng=2).scores
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 5 / math.sqrt(4000)


@pytest.mark.parametrize("name", SPACES)
def test_a_sample_takes_as_many_steps_as_it_says_and_no_more_than_the_theorem(name):
    space, scores = model(name)
    reports = []
    draws = coupling_from_the_past(space, scores, 5000, rng=3, report=reports.append)
    exact = enumerate_space(space, scores)
    top = space.score_range(scores)[1]
    expected = space.count() * math.exp(top - exact.log_partition)  # one over the mean of exp(score - top)
    assert abs(draws.n_steps / 5000 / expected - 1) < 5 * math.sqrt(1 / 5000)
    (cost,) = reports
    assert cost.estimate == pytest.approx(expected, rel=0.15)
    assert math.log(expected) <= cost.log_bound <= cost.log_paper_bound + 1e-9


def test_what_is_hopeless_is_refused_before_it_begins():
    space, scores = Permutations(12), np.full(66, 2.0)
    with pytest.raises(TooCostly, match=r"1 exact samples take about .* by Theorem 5.1\); that is more than max_steps"):
        coupling_from_the_past(space, scores, rng=0)
    cost = coupling_cost(space, 20.0 * scores)
    assert "1e1147" in str(cost)
    assert cost.likely > 1e100


def test_a_sample_that_takes_too_long_after_all_is_given_up():
    space, scores = Hypercube(3), np.array([3.0, 3.0, -3.0])
    with pytest.raises(TooCostly, match=r"after \d+ steps \d+ of 5,000 exact samples are there"):
        run_coupled(space, scores, 6.0, stream(0), 100, np.empty((5000, 3), np.int32), np.empty(5000))


def test_the_mixing_time_is_the_theorems():
    for reach, epsilon in ((0.5, 0.1), (3.0, 1e-3), (10.0, 1e-6)):
        assert mixing_time(reach, epsilon) == math.ceil(math.log(1 / epsilon) / math.log(1 / (1 - math.exp(-reach))))
    assert mixing_time(40.0, 0.5) == pytest.approx(math.log(2) * math.exp(40.0), rel=1e-9)
    assert mixing_time(5000.0, 0.5) == math.inf
    for bad in ((1.0, 0.0), (1.0, 1.0), (-1.0, 0.5)):
        with pytest.raises(ValueError, match="give"):
            mixing_time(*bad)


def test_the_chain_is_as_close_as_the_theorem_says():
    space, scores = Hypercube(2), np.array([0.8, -0.5])
    exact = enumerate_space(space, scores)
    p = exact.probabilities
    chain = np.minimum(1.0, p[None, :] / p[:, None]) / 4
    np.fill_diagonal(chain, 0.0)
    chain += np.diag(1.0 - chain.sum(axis=1))
    low, high = space.score_range(scores)
    for epsilon in (0.3, 0.05, 0.001):
        n = int(mixing_time(high - low, epsilon))
        distance = 0.5 * np.abs(np.linalg.matrix_power(chain, n) - p).sum(axis=1).max()
        assert distance <= epsilon


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.0], r"scores have shape \(1,\)"), ([0.0, np.nan], "the score of statistic 1 is nan"), ([np.inf, 0], "is inf")],
)
def test_scores_are_checked(scores, message):
    with pytest.raises(ValueError, match=message):
        coupling_from_the_past(Hypercube(2), scores)
    with pytest.raises(ValueError, match="n is 0"):
        coupling_from_the_past(Hypercube(2), [0.0, 0.0], 0)
