"""The cross-entropy method and its families, against enumeration, closed forms and finite differences."""

from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from random_graphs import random_graph
from walkstep.inference import (
    Bernoulli,
    Categorical,
    Ending,
    Gaussian,
    LogDensity,
    cross_entropy,
    enumerate_worlds,
    potentials,
    total_score,
)

EXAMPLES = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def never(parameters, n, rng):
    raise AssertionError("a fit draws nothing")


# The three families over again, by their log densities alone, on a scale without bounds.


def bernoulli_log_density(log_odds, samples):
    signs = 2 * samples - 1
    values = -np.logaddexp(0.0, -signs * log_odds).sum(axis=1)
    return values, lambda share: share @ (samples - 1.0 / (1.0 + np.exp(-log_odds)))


def categorical_log_density(scores, samples):
    one_hot = samples[..., None] == np.arange(scores.shape[-1])
    log_chances = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    values = np.where(one_hot, log_chances, 0.0).reshape(len(samples), -1).sum(axis=1)
    return values, lambda share: np.tensordot(share, one_hot - softmax(scores), axes=1)


def gaussian_log_density(parameters, samples):
    mean, log_deviation = parameters
    away = (samples - mean) / np.exp(log_deviation)
    values = -(0.5 * away**2 + log_deviation).sum(axis=1) - 0.5 * np.log(2.0 * np.pi) * len(mean)
    return values, lambda share: np.stack([share @ (away / np.exp(log_deviation)), share @ (away**2 - 1.0)])


def elite_of(kind, seed):
    """Samples with shares, the present parameters, and their log density, unbounded: no site is the same in all."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.1, 1.0, 12)
    if kind == "bernoulli":
        samples = np.concatenate([np.tile([[0], [1]], (2, 3)), rng.integers(0, 2, (8, 3))])
        return samples, share, np.zeros(3), bernoulli_log_density
    if kind == "categorical":
        samples = np.concatenate([np.tile(np.arange(4)[:, None], (1, 2)), rng.integers(0, 4, (8, 2))])
        return samples, share, np.zeros((2, 4)), categorical_log_density
    if kind == "one categorical":
        return np.concatenate([np.arange(4), rng.integers(0, 4, 8)]), share, np.zeros(4), categorical_log_density
    return rng.normal(size=(12, 3)), share, np.zeros((2, 3)), gaussian_log_density


CLOSED = {
    "bernoulli": (Bernoulli(), lambda unbounded: 1.0 / (1.0 + np.exp(-unbounded))),
    "categorical": (Categorical(), softmax),
    "one categorical": (Categorical(), softmax),
    "gaussian": (Gaussian(), lambda unbounded: np.stack([unbounded[0], np.exp(unbounded[1])])),
}


@pytest.mark.parametrize("kind", CLOSED)
@EXAMPLES
@given(seed=SEEDS)
def test_closed_forms_solve_equation_2(kind, seed):
    samples, share, unbounded, log_density = elite_of(kind, seed)
    family, bounded = CLOSED[kind]
    solved = LogDensity(never, log_density, l2=0.0, max_iter=1000, tolerance=1e-12).fit(unbounded, samples, share)
    np.testing.assert_allclose(family.fit(bounded(unbounded), samples, share), bounded(solved), atol=1e-6)


@pytest.mark.parametrize("kind", CLOSED)
@EXAMPLES
@given(seed=SEEDS, l2=st.sampled_from([0.0, 0.3, 10.0]))
def test_the_gradient_of_a_fit_is_that_of_finite_differences(kind, seed, l2):
    samples, share, present, log_density = elite_of(kind, seed)
    family = LogDensity(never, log_density, l2=l2)
    at = present + np.random.default_rng(seed).normal(size=present.shape)

    def loss(flat):
        return family.loss(flat.reshape(present.shape), present, samples, share)[0]

    _, gradient = family.loss(at, present, samples, share)
    np.testing.assert_allclose(gradient.ravel(), approx_fprime(at.ravel(), loss, 1e-7), atol=1e-5)


@EXAMPLES
@given(SEEDS)
def test_a_pulled_fit_is_the_minimum_that_scipy_finds(seed):
    samples, share, present, log_density = elite_of("categorical", seed)
    family = LogDensity(never, log_density, l2=0.5, tolerance=1e-10)

    def loss(flat):
        value, gradient = family.loss(flat.reshape(present.shape), present, samples, share)
        return value, gradient.ravel()

    wanted = minimize(loss, present.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(family.fit(present, samples, share).ravel(), wanted.x, atol=1e-6)


def test_few_samples_pull_less_than_many_and_never_to_infinity():
    family = LogDensity(never, bernoulli_log_density, l2=0.1, tolerance=1e-10)
    moved = [family.fit(np.zeros(1), np.ones((n, 1), int), np.ones(n))[0] for n in (1, 10, 1000)]
    assert 0.0 < moved[0] < moved[1] < moved[2] < 10.0
    # Where it ends, one more step up gains as much as it costs: n (1 - p) = l2 * moved.
    for n, log_odds in zip((1, 10, 1000), moved, strict=True):
        assert n / (1.0 + np.exp(log_odds)) == pytest.approx(0.1 * log_odds, rel=1e-3)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical()])
@EXAMPLES
@given(seed=SEEDS, smoothing=st.floats(0.1, 1.0))
def test_what_is_rare_becomes_no_rarer(family, seed, smoothing):
    # With all samples there are, each counted by its probability, P(F >= gamma) cannot fall: by Jensen's inequality
    # log P' - log P >= E[log J' - log J | F >= gamma], which Eq. 2 makes as large as it can be, smoothed or not.
    rng = np.random.default_rng(seed)
    n_values = 2 if isinstance(family, Bernoulli) else 3
    worlds = np.array(list(product(range(n_values), repeat=4)))
    table = rng.dirichlet(np.ones(n_values), size=4)
    performance = rng.normal(size=len(worlds))
    reaches = performance >= np.quantile(performance, 0.9)

    def chances(table):
        return table[np.arange(4), worlds].prod(axis=1)

    share = chances(table) * reaches
    if isinstance(family, Bernoulli):
        ones = family.fit(table[:, 1], worlds, share)
        fitted = np.stack([1.0 - ones, ones], axis=1)
    else:
        fitted = family.fit(table, worlds, share)
    moved = smoothing * fitted + (1.0 - smoothing) * table
    assert chances(moved)[reaches].sum() >= chances(table)[reaches].sum() - 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(5))
def test_draws_have_the_moments_that_their_parameters_name(seed):
    rng = np.random.default_rng(seed)
    n = 4000
    chances = rng.uniform(size=3)
    ones = Bernoulli().draw(chances, n, rng)
    assert (np.abs(ones.mean(axis=0) - chances) < 5.0 * np.sqrt(0.25 / n)).all()
    table = rng.dirichlet(np.ones(4), size=2)
    table[0] = [0.0, 0.5, 0.5, 0.0]
    counted = Categorical().fit(table, Categorical().draw(table, n, rng), np.ones(n))
    assert (np.abs(counted - table) < 5.0 * np.sqrt(0.25 / n)).all()
    assert (counted[0, [0, 3]] == 0.0).all()
    bell = np.stack([rng.normal(size=3), rng.uniform(0.5, 2.0, 3)])
    again = Gaussian().fit(bell, Gaussian().draw(bell, n, rng), np.ones(n))
    assert (np.abs(again - bell) < 5.0 * bell[1] / np.sqrt(n)).all()


class Largest:
    """A generator at the end of its range."""

    def random(self, shape):
        return np.full(shape, np.nextafter(1.0, 0.0))


def test_a_value_of_no_probability_is_never_drawn():
    chances = np.append(np.full(10, 0.1), 0.0)
    assert chances.cumsum()[-2] < 1.0  # as rounding has it
    assert Categorical().draw(chances, 1, Largest())[0] == 9


def test_deviations_at_the_floor_are_the_best_that_it_allows():
    samples = np.array([[1.0], [1.2], [1.4]])
    mean, deviation = Gaussian(floor=0.5).fit(np.zeros((2, 1)), samples, np.ones(3))
    allowed = np.linspace(0.5, 2.0, 50)
    likely = [gaussian_log_density(np.array([mean, [np.log(one)]]), samples)[0].sum() for one in allowed]
    assert deviation == allowed[np.argmax(likely)] == 0.5


# Whole searches.


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_largest_cut(seed):
    rng = np.random.default_rng(seed)
    side = rng.permutation(np.arange(12) % 2)
    between, within = rng.integers(3, 8, (12, 12)), rng.integers(0, 5, (12, 12))
    weights = np.triu(np.where(side[:, None] != side, between, within), 1)
    weights = weights + weights.T

    def cut(sides):
        return ((sides @ weights) * (1 - sides)).sum(axis=1)

    everything = np.array(list(product([0, 1], repeat=12)))
    found = cross_entropy(Bernoulli(), cut, np.full(12, 0.5), n_samples=300, rng=seed)
    assert found.value == cut(everything).max()
    assert found.value == cut(found.best[None])[0]
    assert found.converged


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_best_world_of_a_model(seed):
    graph, weights = random_graph(seed, 6)
    held = potentials(graph, weights)
    n_values = int(graph.n_values.max())
    start = (np.arange(n_values) < graph.n_values[:, None]) / graph.n_values[:, None]

    def score(samples):
        return [total_score(held, values) for values in samples]

    found = cross_entropy(Categorical(), score, start, n_samples=300, rng=seed)
    assert found.value == pytest.approx(enumerate_worlds(graph, weights).best()[1])


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_top_of_a_bowl_turned_over(seed):
    top = np.random.default_rng(seed).normal(scale=3.0, size=5)
    start = np.stack([np.zeros(5), np.full(5, 5.0)])

    def height(x):
        return -((x - top) ** 2).sum(axis=1)

    found = cross_entropy(Gaussian(), height, start, n_samples=200, n_iterations=100, tolerance=1e-9, rng=seed)
    np.testing.assert_allclose(found.best, top, atol=1e-3)
    np.testing.assert_allclose(found.parameters[0], top, atol=1e-3)
    assert found.converged


class Tours:
    """Tours from city 0 on, by the chances of going from one city to another (De Boer et al., 2005, section 4.2)."""

    def draw(self, chances, n, rng):
        here, seen, tours = np.zeros(n, int), np.zeros((n, len(chances)), bool), [np.zeros(n, int)]
        for _ in range(len(chances) - 1):
            seen[np.arange(n), here] = True
            left = np.where(seen, 0.0, chances[here])
            bounds = np.cumsum(left / left.sum(axis=1, keepdims=True), axis=1)
            here = (rng.random((n, 1)) * bounds[:, -1:] >= bounds).sum(axis=1)
            tours.append(here)
        return np.stack(tours, axis=1)

    def fit(self, chances, tours, share):
        counts = np.zeros_like(chances)
        np.add.at(counts, (tours, np.roll(tours, -1, axis=1)), share[:, None])
        return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_family_of_ones_own_finds_the_shortest_tour(seed):
    cities = np.random.default_rng(seed).uniform(size=(8, 2))
    distance = np.linalg.norm(cities[:, None] - cities, axis=2)

    def shortness(tours):
        return -distance[tours, np.roll(tours, -1, axis=1)].sum(axis=1)

    everything = np.array([(0, *rest) for rest in permutations(range(1, 8))])
    start = (1.0 - np.eye(8)) / 7.0
    found = cross_entropy(Tours(), shortness, start, n_samples=400, smoothing=0.5, rng=seed)
    assert found.value == pytest.approx(shortness(everything).max())


def draw_assignment(scores, n, rng):
    """Places choose in turn among those whom none has chosen, each by its own scores."""
    free, chosen = np.ones((n, len(scores)), bool), []
    for place in scores:
        noise = rng.gumbel(size=free.shape)
        chosen.append(np.where(free, place + noise, -np.inf).argmax(axis=1))
        free[np.arange(n), chosen[-1]] = False
    return np.stack(chosen, axis=1)


def assignment_log_density(scores, samples):
    n = len(scores)
    taken = np.cumsum(samples[:, :, None] == np.arange(n), axis=1) - (samples[:, :, None] == np.arange(n))
    log_weights = np.where(taken, -np.inf, scores)
    log_chances = log_weights - np.logaddexp.reduce(log_weights, axis=2, keepdims=True)
    values = np.take_along_axis(log_chances, samples[:, :, None], axis=2).sum(axis=(1, 2))
    one_hot = samples[:, :, None] == np.arange(n)
    return values, lambda share: np.tensordot(share, one_hot - np.exp(log_chances), axes=1)


def test_a_log_density_finds_the_best_assignment():
    family = LogDensity(draw_assignment, assignment_log_density)
    gains = np.random.default_rng(0).uniform(size=(6, 6))

    def gain(samples):
        return gains[np.arange(6), samples].sum(axis=1)

    everything = np.array(list(permutations(range(6))))
    start = np.zeros((6, 6))
    assert np.exp(assignment_log_density(start + gains, everything)[0]).sum() == pytest.approx(1.0)
    found = cross_entropy(family, gain, start, rng=0)
    assert found.value == pytest.approx(gain(everything).max())
    assert np.abs(found.parameters).max() < 100.0
    before, after = (np.exp(assignment_log_density(at, found.best[None])[0][0]) for at in (start, found.parameters))
    assert after > 0.5 > 10.0 * before


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(5))
def test_the_level_falls_by_no_more_than_noise(seed):
    # A level is a quantile of n samples, whose standard error is sqrt(elite (1 - elite) / n) over the density there.
    # Under a normal family a sum of sites is normal, which gives that density.
    n, elite, slope = 500, 0.1, np.array([1.0, -2.0, 0.5])
    deviations = [np.ones(3)]
    found = cross_entropy(
        Gaussian(floor=0.1),
        lambda x: x @ slope,
        np.stack([np.zeros(3), np.ones(3)]),
        n_samples=n,
        elite=elite,
        n_iterations=15,
        rng=seed,
        callback=lambda done, parameters, info: deviations.append(parameters[1]),
    )
    density = 0.1755 / np.linalg.norm(slope * deviations[:-1], axis=1)  # that of the standard normal at 0.9, scaled
    error = np.sqrt(elite * (1.0 - elite) / n) / density
    assert (np.diff(found.levels) > -5.0 * np.hypot(error[1:], error[:-1])).all()
    assert found.levels[-1] > found.levels[0]


# What is asked of every run.


def matches(samples):
    return (samples == np.array([1, 0, 1, 1, 0, 0, 1, 0])).sum(axis=1)


HALF = np.full(8, 0.5)


def test_a_seed_decides_everything():
    runs = [cross_entropy(Bernoulli(), matches, HALF, n_samples=30, rng=rng) for rng in (3, np.random.default_rng(3))]
    other = cross_entropy(Bernoulli(), matches, HALF, n_samples=30, rng=4)
    np.testing.assert_array_equal(runs[0].parameters, runs[1].parameters)
    np.testing.assert_array_equal(runs[0].levels, runs[1].levels)
    assert not np.array_equal(runs[0].parameters, other.parameters)


def test_it_is_algorithm_2_where_nothing_is_tied():
    target, seen = np.array([0.3, -1.2]), []
    start = np.stack([np.zeros(2), np.ones(2)])

    def height(x):
        return -np.abs(x - target).sum(axis=1)

    found = cross_entropy(
        Gaussian(),
        height,
        start,
        n_samples=50,
        elite=0.2,
        smoothing=0.6,
        n_iterations=4,
        rng=5,
        callback=lambda *seen_now: seen.append(seen_now),
    )
    rng, slow = np.random.default_rng(5), start
    for t in range(4):
        samples = slow[0] + slow[1] * rng.standard_normal((50, 2))
        order = np.argsort(height(samples))
        best = samples[order[-10:]]
        slow = 0.6 * np.stack([best.mean(axis=0), best.std(axis=0)]) + 0.4 * slow
        assert found.levels[t] == pytest.approx(height(samples)[order[-10]])
        np.testing.assert_allclose(seen[t][1], slow)
        assert (seen[t][0], seen[t][2].n_elite) == (t + 1, 10)
    assert (found.n_samples, found.outcome) == (200, Ending.NOT_CONVERGED)
    assert "allow more iterations" in found.outcome.value


def test_the_best_of_all_samples_is_kept():
    seen = []

    def height(samples):
        seen.append(samples)
        return samples @ np.arange(8) - 100.0 * len(seen)  # later ones are worse whatever they are

    found = cross_entropy(Bernoulli(), height, HALF, n_samples=20, rng=0)
    assert found.value == (seen[0] @ np.arange(8)).max() - 100.0
    assert found.best @ np.arange(8) - 100.0 == found.value
    assert found.best.base is None  # it does not keep the others in memory


@pytest.mark.parametrize("constant", [0.0, -3.5, -np.inf])
@pytest.mark.parametrize(
    ("family", "start"),
    [
        (Bernoulli(), HALF),
        (Categorical(), np.full((3, 4), 0.25)),
        (Gaussian(), np.array([[0.0, 1.0], [1.0, 2.0]])),
        (LogDensity(draw_assignment, assignment_log_density), np.zeros((4, 4))),
    ],
)
def test_a_plateau_teaches_nothing(family, start, constant):
    found = cross_entropy(family, lambda x: np.full(len(x), constant), start, n_samples=20, rng=0)
    np.testing.assert_array_equal(found.parameters, start)
    assert (found.outcome, found.value, found.converged) == (Ending.FLAT, constant, False)
    assert len(found.levels) == 6  # the first, and five that did not rise


def test_the_few_above_a_plateau_lead_off_it_step_by_step():
    # One sample of 256 is worth 1, all others 0: the level stays at 0 until a tenth of the samples have found it.
    steps = []
    found = cross_entropy(
        Bernoulli(),
        lambda x: matches(x) == 8,
        HALF,
        n_samples=500,
        rng=0,
        callback=lambda done, parameters, info: steps.append((parameters, info)),
    )
    parameters, info = steps[0]
    assert info.level == 0.0
    assert 0 < info.n_elite < 10
    # They fill only a part of the elite of 50, so that the family goes only that part of the way.
    np.testing.assert_allclose(np.abs(parameters - 0.5), 0.5 * 0.7 * info.n_elite / 50)
    assert found.levels[0] == 0.0
    assert found.levels[-1] == 1.0
    assert found.converged


def test_samples_that_are_forbidden_teach_nothing():
    def even(samples):
        return np.where(samples.sum(axis=1) % 2 == 0, matches(samples), -np.inf)

    found = cross_entropy(Bernoulli(), even, HALF, rng=0)
    assert found.value == 8.0
    everywhere = cross_entropy(Bernoulli(), lambda x: np.where(x.all(axis=1), 1.0, -np.inf), HALF, n_samples=400, rng=0)
    assert everywhere.best.all()
    assert everywhere.levels[0] == -np.inf
    assert everywhere.levels[-1] == 1.0


class Kept:
    """A family that keeps what it is asked to fit."""

    def __init__(self):
        self.asked = []

    def draw(self, parameters, n, rng):
        return np.arange(n)

    def fit(self, parameters, samples, share):
        self.asked.append((samples, share))
        return parameters + 1.0


def test_samples_tied_at_the_level_share_the_room_that_is_left():
    family = Kept()
    performances = np.array([0.0, 5.0, 3.0, 3.0, 1.0, 3.0, 3.0, 0.0, 0.0, 7.0])
    found = cross_entropy(family, lambda x: performances, 0.0, n_samples=10, elite=0.3, n_iterations=1, rng=0)
    samples, share = family.asked[0]
    np.testing.assert_array_equal(samples, [1, 2, 3, 5, 6, 9])
    np.testing.assert_allclose(share, [1.0, 0.25, 0.25, 0.25, 0.25, 1.0])
    assert (found.levels[0], found.parameters, found.best) == (3.0, 0.7, 9)


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=30),
    st.floats(0.01, 1.0),
)
@settings(max_examples=100, deadline=None)
def test_the_elite_is_full_and_better_than_the_rest(performances, elite):
    family, values, n = Kept(), np.array(performances, float), len(performances)
    found = cross_entropy(family, lambda x: values, 0.0, n_samples=n, elite=elite, n_iterations=1, rng=0)
    n_kept = int(np.ceil(elite * n - 1e-9))
    assert found.levels[0] == np.sort(values)[-n_kept]
    if values.min() == values.max():
        assert family.asked == []
        return
    samples, share = family.asked[0]
    assert (share > 0.0).all()
    assert (share <= 1.0).all()
    assert (share[values[samples] > found.levels[0]] == 1.0).all()
    assert values[samples].min() > values.min()
    assert set(np.flatnonzero(values > found.levels[0])) <= set(samples)
    if found.levels[0] > values.min():
        assert share.sum() == pytest.approx(n_kept)
    assert found.parameters == pytest.approx(0.7 * share.sum() / n_kept)


def test_seven_hundredths_of_a_hundred_samples_are_seven():
    family = Kept()
    assert 0.07 * 100 > 7.0
    cross_entropy(family, lambda x: x, 0.0, n_samples=100, elite=0.07, n_iterations=1, rng=0)
    np.testing.assert_array_equal(family.asked[0][0], np.arange(93, 100))


def test_a_family_that_draws_one_thing_only_has_collapsed():
    noise = np.random.default_rng(0)
    found = cross_entropy(
        Bernoulli(),
        lambda x: matches(x) + noise.normal(scale=0.5, size=len(x)),
        HALF,
        patience=10**6,
        n_iterations=1000,
        rng=0,
    )
    assert found.outcome is Ending.COLLAPSED
    assert found.converged
    assert matches(found.parameters[None].round())[0] == 8
    assert len(found.levels) < 50


class Pairs(NamedTuple):
    left: np.ndarray
    right: np.ndarray


class Ragged:
    """Samples that are no array."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __getitem__(self, at):
        return Ragged(Pairs(self.pairs.left[at], self.pairs.right[at]))


class TwoSites:
    def draw(self, parameters, n, rng):
        drawn = Bernoulli().draw(parameters, n, rng)
        return Ragged(Pairs(drawn[:, 0], drawn[:, 1]))

    def fit(self, parameters, samples, share):
        return Bernoulli().fit(parameters, np.stack(samples.pairs, axis=1), share)


class Words:
    """A family whose samples are a list."""

    def draw(self, parameters, n, rng):
        return ["".join("ab"[v] for v in row) for row in Bernoulli().draw(parameters, n, rng)]

    def fit(self, parameters, samples, share):
        return Bernoulli().fit(parameters, np.array([[c == "b" for c in word] for word in samples]), share)


def test_samples_need_not_be_arrays():
    found = cross_entropy(TwoSites(), lambda x: x.pairs.left - x.pairs.right, np.full(2, 0.5), n_samples=20, rng=0)
    assert (found.best.pairs, found.value) == ((1, 0), 1.0)
    spelt = cross_entropy(Words(), lambda words: [-int(word != "abba") for word in words], np.full(4, 0.5), rng=0)
    assert spelt.best == "abba"


@pytest.mark.parametrize("where", ["callback", "performance", "first"])
def test_an_interrupt_returns_the_best_so_far(where):
    calls, seen = [], []

    def performance(samples):
        calls.append(1)
        if len(calls) == {"callback": 10**6, "performance": 3, "first": 1}[where]:
            raise KeyboardInterrupt
        seen.append(matches(samples).max())
        return matches(samples)

    def callback(done, parameters, info):
        if where == "callback" and done == 2:
            raise KeyboardInterrupt

    found = cross_entropy(Bernoulli(), performance, HALF, n_samples=10, rng=0, callback=callback)
    assert found.outcome is Ending.INTERRUPTED
    if where == "first":
        assert (found.best, found.value, found.n_samples, len(found.levels)) == (None, -np.inf, 0, 0)
        np.testing.assert_array_equal(found.parameters, HALF)
    else:
        assert (found.n_samples, len(found.levels)) == (20, 2)
        assert found.value == max(seen) == matches(found.best[None])[0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"elite": 0.0}, r"elite is 0\.0; give the share of samples to learn from"),
        ({"elite": 1.1}, r"elite is 1\.1"),
        ({"elite": np.nan}, r"elite is nan"),
        ({"smoothing": 0.0}, r"smoothing is 0\.0; give a number above 0 and at most 1"),
        ({"smoothing": 2.0}, r"smoothing is 2\.0"),
        ({"n_samples": 1}, r"n_samples is 1; give at least 2"),
        ({"n_iterations": 0}, r"n_iterations is 0 and patience 5; give at least 1"),
        ({"patience": 0}, r"patience 0; give at least 1"),
        ({"tolerance": -1.0}, r"tolerance is -1\.0; give 0 or more"),
        ({"tolerance": np.nan}, r"tolerance is nan"),
    ],
)
def test_impossible_settings_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        cross_entropy(Bernoulli(), matches, HALF, **bad)


@pytest.mark.parametrize(
    ("performance", "message"),
    [
        (lambda x: np.where(np.arange(len(x)) == 7, np.nan, 0.0), r"the performance of sample 7 is nan; give finite"),
        (lambda x: np.full(len(x), np.inf), r"the performance of sample 0 is inf"),
        (lambda x: 1.0, r"performance gives shape \(\) for 100 samples; give one number for each"),
        (lambda x: x, r"performance gives shape \(100, 8\) for 100 samples"),
    ],
)
def test_a_performance_that_is_no_number_is_named(performance, message):
    with pytest.raises(ValueError, match=message):
        cross_entropy(Bernoulli(), performance, HALF, rng=0)


@pytest.mark.parametrize(
    ("family", "start", "message"),
    [
        (Bernoulli(), [0.5, 1.5], r"a probability is 1\.5; give numbers from 0 to 1"),
        (Bernoulli(), [0.5, np.nan], r"start is \[0\.5, nan\]; give finite parameters"),
        (Categorical(), [[0.5, 0.4], [0.5, 0.5]], r"values add up to 0\.9; divide them by their sum"),
        (Categorical(), [-0.5, 1.5], r"a probability is -0\.5"),
        (Categorical(), 0.5, r"give the probability of every value"),
        (Gaussian(), [[0.0], [-1.0]], r"a standard deviation is -1; give 0 or more"),
        (Gaussian(), [0.0, 1.0, 2.0], r"parameters have shape \(3,\); stack means and standard deviations"),
    ],
)
def test_parameters_that_are_none_are_named(family, start, message):
    with pytest.raises(ValueError, match=message):
        cross_entropy(family, lambda x: np.zeros(len(x)), start, rng=0)


class Broken(Bernoulli):
    def __init__(self, answer):
        object.__setattr__(self, "answer", answer)

    def fit(self, parameters, samples, share):
        return self.answer


def test_a_family_that_fits_badly_is_named():
    with pytest.raises(ValueError, match=r"Broken\.fit gives parameters of shape \(3,\) for \(8,\); keep the shape"):
        cross_entropy(Broken(np.zeros(3)), matches, HALF, rng=0)
    with pytest.raises(ValueError, match=r"Broken\.fit gives parameters that are not finite for an elite of \d+"):
        cross_entropy(Broken(np.full(8, np.inf)), matches, HALF, rng=0)


@pytest.mark.parametrize(
    ("log_density", "message"),
    [
        (lambda p, x: (np.zeros(3), lambda share: p), r"values of shape \(3,\) for 10 samples; give one for each"),
        (lambda p, x: (np.full(len(x), -np.inf), lambda share: p), r"is -inf for a sample drawn under the same"),
        (lambda p, x: (np.zeros(len(x)), lambda share: share), r"gradient has shape \(10,\) and the parameters \(8,\)"),
    ],
)
def test_a_log_density_that_cannot_be_fitted_is_named(log_density, message):
    family = LogDensity(Bernoulli().draw, log_density)
    with pytest.raises(ValueError, match=message):
        cross_entropy(family, lambda x: np.arange(len(x)), HALF, rng=0)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_impossible_floors_and_penalties_are_refused(bad):
    with pytest.raises(ValueError, match=r"floor is .*; give the least standard deviation, 0 or more"):
        Gaussian(floor=bad)
    with pytest.raises(ValueError, match=r"l2 is .*; give 0 or more"):
        LogDensity(never, bernoulli_log_density, l2=bad)
