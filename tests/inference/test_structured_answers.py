"""Exact answers, decoding and walks for rows of scores, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_spaces import PARENT, SPACES, shares
from walkstep.inference import (
    RowWalks,
    best_structures,
    decode,
    enumerate_space,
    expectations,
    has_exact_answers,
    hierarchical_risk_scores,
    risk_scores,
)
from walkstep.worlds import Cycles, Hypercube, Permutations, Subtrees

pytestmark = pytest.mark.xdist_group("spaces")


@pytest.mark.parametrize("name", SPACES)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]))
def test_sums_and_the_best_are_those_of_enumeration(name, seed, scale):
    space = SPACES[name]()
    assert has_exact_answers(space)
    scores = scale * np.random.default_rng(seed).normal(size=(2, space.n_statistics))
    found, best = expectations(space, scores), best_structures(space, scores)
    for row in range(2):
        exact = enumerate_space(space, scores[row])
        assert found.log_partition[row] == pytest.approx(exact.log_partition, abs=1e-8)
        np.testing.assert_allclose(found.statistics[row], exact.expected_statistics(), atol=1e-8)
        assert space.statistics(best[row]) @ scores[row] == pytest.approx(exact.best()[1], abs=1e-9)


@pytest.mark.parametrize("make", [lambda: Permutations(8), lambda: Subtrees(range(-1, 40), branching=True)])
def test_expectations_are_the_gradient_of_ln_z(make):
    space = make()
    scores = np.random.default_rng(0).normal(size=space.n_statistics)
    gradient = expectations(space, scores[None]).statistics[0]
    for k in range(0, space.n_statistics, 7):
        step = np.zeros(space.n_statistics)
        step[k] = 1e-5
        up, down = (expectations(space, (scores + sign * step)[None]).log_partition[0] for sign in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_scores_without_bounds_do_not_overflow():
    for space in (Permutations(6), Subtrees(PARENT, branching=True), Hypercube(5)):
        scores = 1e4 * np.random.default_rng(0).normal(size=(3, space.n_statistics))
        found = expectations(space, scores)
        assert np.isfinite(found.log_partition).all()
        assert np.isfinite(found.statistics).all()


@pytest.mark.parametrize("name", SPACES)
def test_annealed_walks_find_the_best(name):
    space = SPACES[name]()
    scores = np.random.default_rng(2).normal(size=(20, space.n_statistics))
    found, best = decode(space, scores, way="anneal"), best_structures(space, scores)
    psi = space.statistics
    np.testing.assert_allclose((psi(found) * scores).sum(axis=1), (psi(best) * scores).sum(axis=1))
    np.testing.assert_array_equal(decode(space, scores), decode(space, scores, way="exact"))
    assert decode(space, scores[:0], way="anneal").shape == (0, space.size)


def test_large_spaces_are_decoded_by_walks():
    space = Cycles(12)
    assert not has_exact_answers(space)
    ring = np.zeros((1, space.n_statistics))
    around = np.roll(np.arange(12), -1)
    ring[0] = 2.0 * space.statistics(around) - 1.0
    found = decode(space, ring)
    assert space.statistics(found[0]) @ ring[0] == 12.0
    with pytest.raises(ValueError, match="this Cycles space is too large for exact answers"):
        best_structures(space, ring)
    with pytest.raises(ValueError, match="way is 'best'; choose 'auto', 'exact' or 'anneal'"):
        decode(space, ring, way="best")


@pytest.mark.parametrize("name", ["permutations", "subtrees that branch", "hypercube with pairs", "cycles"])
def test_the_best_of_risk_scores_has_the_least_expected_loss(name):
    space = SPACES[name]()
    for seed in range(5):
        exact = enumerate_space(space, 2.0 * np.random.default_rng(seed).normal(size=space.n_statistics))
        gaps = np.abs(exact.statistics[:, None, :] - exact.statistics[None])
        expected_loss = (gaps * space.importance).sum(axis=2) @ exact.probabilities
        chosen = best_structures(space, risk_scores(space, exact.expected_statistics()[None]))[0]
        at = np.flatnonzero((exact.values == chosen).all(axis=1))[0]
        assert expected_loss[at] == pytest.approx(expected_loss.min(), abs=1e-9)


def test_the_best_of_hierarchical_risk_scores_has_the_least_expected_h_loss():
    from walkstep.data.trees import Tree
    from walkstep.evaluation.hierarchies import hierarchy_scores

    space = Subtrees(PARENT, branching=True)
    tree = Tree(("", *"abcdefg"), np.array(PARENT))
    for seed in range(3):
        exact = enumerate_space(space, 2.0 * np.random.default_rng(seed).normal(size=space.n_statistics))
        chosen = best_structures(space, hierarchical_risk_scores(space, exact.expected_statistics()[None]))[0]

        def expected_loss(guess, exact=exact):
            losses = [hierarchy_scores(true[None], guess[None], tree).h_loss for true in exact.values]
            return np.array(losses) @ exact.probabilities

        least = min(expected_loss(guess) for guess in exact.values)
        assert expected_loss(chosen) == pytest.approx(least, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("name", SPACES)
def test_the_chain_of_each_row_samples_that_rows_model(name):
    space = SPACES[name]()
    scores = np.random.default_rng(3).normal(size=(2, space.n_statistics))
    walks = RowWalks(space, 2, rng=0)
    walks.move(scores, 200)
    drawn = walks.sample(scores, 60, 4000)
    for row in range(2):
        exact = enumerate_space(space, scores[row])
        share = shares(drawn[row], exact.values) / 4000
        bound = 5 * np.sqrt(exact.probabilities * (1 - exact.probabilities) / 4000)
        # Sixty moves leave little memory in spaces of so few structures.
        assert (np.abs(share - exact.probabilities) <= 1.5 * bound + 1e-9).all()


def test_some_rows_walk_and_the_others_stay():
    space = Permutations(5)
    walks = RowWalks(space, 3, rng=0)
    before = walks.values.copy()
    walks.sample(np.zeros((1, 10)), 20, 3, rows=np.array([1]))
    np.testing.assert_array_equal(walks.values[[0, 2]], before[[0, 2]])
    assert (walks.values[1] != before[1]).any()
    with pytest.raises(ValueError, match=r"scores have shape \(2, 10\); give \(3, 10\)"):
        walks.move(np.zeros((2, 10)), 1)
