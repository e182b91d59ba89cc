import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from walkstep.features.block_keys import Same
from walkstep.features.blocking import Blocking
from walkstep.features.blocks import Blocks
from walkstep.features.comparators import exact, jaccard
from walkstep.features.encodings import encode
from walkstep.learning.fellegi_sunter import PairWeights, draw_pairs, fellegi_sunter, levels_without_labels
from walkstep.model.partition_templates import Affinity, ground_partition

M = np.array([0.0, 0.05, 0.15, 0.8])
U = np.array([0.0, 0.7, 0.2, 0.1])


def _simulated(n_pairs=40_000, share=0.08, n_comparators=5, seed=0, missing=0.1):
    """Levels of independent comparators with the same m and u, and which pairs match."""
    rng = np.random.default_rng(seed)
    same = rng.random(n_pairs) < share
    shape = (n_pairs, n_comparators)
    levels = np.where(same[:, None], rng.choice(4, shape, p=M), rng.choice(4, shape, p=U))
    return np.where(rng.random(shape) < missing, 0, levels), same


def _slow_em(levels, n_levels, matching, n_iter, smoothing):
    """Plain EM, pair by pair, with no order of levels and no tempering."""
    share = 0.0
    for _ in range(n_iter):
        share = (matching.sum() + smoothing) / (len(levels) + 2 * smoothing)
        score = np.full(len(levels), logit(share))
        for c in range(levels.shape[1]):
            there = levels[:, c] > 0
            m, u = np.zeros(n_levels[c]), np.zeros(n_levels[c])
            for level in range(1, n_levels[c]):
                at = levels[:, c] == level
                m[level] = matching[at].sum() + smoothing * at.any()
                u[level] = (1 - matching[at]).sum() + smoothing * at.any()
            m, u = m / m.sum(), u / u.sum()
            score[there] += np.log(m[levels[there, c]] / u[levels[there, c]])
        matching = 1 / (1 + np.exp(-score))
    return share, matching


def test_m_u_and_the_share_of_matches_of_a_simulated_mixture_are_recovered():
    levels, same = _simulated()
    found = fellegi_sunter(levels, [4] * 5, powers=[1.0])
    assert found.converged
    assert not found.warnings
    assert found.share == pytest.approx(same.mean(), abs=0.005)
    for m, u, weight in zip(found.m, found.u, found.weights, strict=True):
        np.testing.assert_allclose(m, M, atol=0.03)
        np.testing.assert_allclose(u, U, atol=0.02)
        np.testing.assert_allclose(weight[1:], np.log(M[1:] / U[1:]), atol=0.25)
        assert weight[0] == 0.0
    is_match = found.scores(levels) > 0
    assert (is_match == same).mean() > 0.98


def test_em_over_distinct_patterns_is_em_over_pairs():
    levels, _ = _simulated(3000, share=0.2, n_comparators=4)
    found = fellegi_sunter(levels, [4] * 4, powers=[1.0], ordered=[False] * 4, max_iter=500)
    share, matching = _slow_em(levels, [4] * 4, 1 / (1 + np.exp(-found.scores(levels))), 3, 0.5)
    assert share == pytest.approx(found.share, abs=1e-4)
    np.testing.assert_allclose(matching, 1 / (1 + np.exp(-found.scores(levels))), atol=1e-3)


def test_copies_of_a_comparator_in_one_group_change_nothing():
    levels, _ = _simulated(10_000)
    once = fellegi_sunter(levels, [4] * 5, groups=list("abcde"))
    thrice = fellegi_sunter(levels[:, [0, 0, 0, 1, 2, 3, 4]], [4] * 7, groups=list("aaabcde"))
    np.testing.assert_allclose(thrice.weights[0] * 3, once.weights[0], atol=1e-6)
    assert thrice.share == pytest.approx(once.share, abs=1e-8)


def test_a_comparator_left_out_has_no_weight_and_no_say():
    levels, _ = _simulated(10_000)
    levels[:, 4] = np.random.default_rng(1).integers(1, 4, len(levels))
    without = fellegi_sunter(levels[:, :4], [4] * 4)
    left_out = fellegi_sunter(levels, [4] * 5, groups=["a", "b", "c", "d", None])
    assert not left_out.weights[4].any()
    np.testing.assert_allclose(left_out.weights[0], without.weights[0], atol=1e-4)


def test_weights_rise_with_the_level_unless_told_otherwise():
    rng = np.random.default_rng(2)
    levels, same = _simulated(20_000)
    odd = np.where(
        same, rng.choice(4, len(same), p=[0, 0.45, 0.1, 0.45]), rng.choice(4, len(same), p=[0, 0.3, 0.6, 0.1])
    )
    levels = np.column_stack([levels, odd])
    risen = fellegi_sunter(levels, [4] * 6)
    assert all((np.diff(weight[1:]) >= -1e-12).all() for weight in risen.weights)
    free = fellegi_sunter(levels, [4] * 6, ordered=[True] * 5 + [False], powers=[1.0])
    assert free.weights[5][2] < free.weights[5][1] - 1


def test_lower_powers_are_left_where_the_classes_would_run_together():
    levels, same = _simulated(20_000, n_comparators=3)
    found = fellegi_sunter(levels, [4] * 3, powers=[1.0, 0.1])
    assert found.power == 1.0
    assert found.share == pytest.approx(same.mean(), abs=0.02)
    many, _ = _simulated(20_000, n_comparators=12)
    assert fellegi_sunter(many, [4] * 12).power == 0.7


def test_labelled_pairs_keep_their_class():
    levels, _ = _simulated(4000)
    unsure = np.ones((50, 5), dtype=int)  # every comparator says no
    found = fellegi_sunter(levels, [4] * 5, known=(np.tile(unsure, (40, 1)), np.ones(2000, bool)), powers=[1.0])
    plain = fellegi_sunter(levels, [4] * 5, powers=[1.0])
    assert found.n_pairs == 6000
    assert found.m[0][1] > plain.m[0][1] + 0.2


def test_one_pair_gives_finite_weights_and_warnings():
    found = fellegi_sunter([[1, 2]], [3, 3])
    assert np.isfinite(found.vector).all()
    assert any("only about" in text for text in found.warnings)
    assert "from 1 pairs" in str(found)


def test_pairs_with_everything_missing_say_nothing():
    found = fellegi_sunter(np.zeros((30, 2), int), [3, 4])
    assert not np.concatenate(found.weights).any()
    assert any("fewer than three" in text for text in found.warnings)


def test_pairs_that_never_match_give_finite_weights():
    levels, _ = _simulated(5000, share=0.0)
    found = fellegi_sunter(levels, [4] * 5)
    assert np.isfinite(found.vector).all()
    assert 0.0 < found.share < 1.0


def test_levels_that_never_occur_lie_between_their_neighbours():
    levels, _ = _simulated(20_000)
    found = fellegi_sunter(np.where(levels == 3, 4, levels), [6] * 5)
    for weight in found.weights:
        assert weight[2] <= weight[3] <= weight[4] == weight[5]


def test_too_few_rounds_are_said_to_be_too_few():
    levels, _ = _simulated(2000)
    found = fellegi_sunter(levels, [4] * 5, powers=[1.0], max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert "raise it" in found.warnings[-1]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 4))
def test_any_levels_give_finite_weights_that_are_zero_where_missing(seed, n_pairs, n_comparators):
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(2, 6, n_comparators)
    levels = rng.integers(0, n_levels, (n_pairs, n_comparators))
    found = fellegi_sunter(levels, n_levels.tolist())
    assert all(np.isfinite(weight).all() and weight[0] == 0.0 for weight in found.weights)
    assert np.isfinite(found.log_prior_odds)
    assert 0.0 < found.certainty <= 1.0 + 1e-9


def test_the_vector_is_laid_out_as_affinity_is_and_holds_the_prior_odds():
    pair_weights = PairWeights((np.array([0.0, -1.0, 2.0]), np.array([0.0, -3.0, 1.0, 4.0])), -5.0)
    layout = ground_partition([Affinity()], {"a": 3, "b": 4}).layout
    levels = np.array([[0, 0], [1, 3], [2, 1]])
    flat = pair_weights.vector
    scores = flat[layout["a"].offset + levels[:, 0]] + flat[layout["b"].offset + levels[:, 1]]
    np.testing.assert_allclose(scores, pair_weights.scores(levels))
    np.testing.assert_allclose(scores, [-5.0, -2.0, -6.0])


def _blocks(members, n_records):
    ptr = np.cumsum([0] + [len(block) for block in members])
    flat = np.concatenate(members)
    block_of = np.repeat(np.arange(len(members)), np.diff(ptr))
    order = np.lexsort((block_of, flat))
    record_ptr = np.searchsorted(flat[order], np.arange(n_records + 1))
    return Blocks(ptr, flat.astype(np.int32), record_ptr, block_of[order].astype(np.int32))


def test_all_pairs_of_small_blocks_are_drawn_once():
    blocks = _blocks([[0, 1, 2, 5], [1, 2], [2, 3, 4], [1, 5]], 6)
    left, right = draw_pairs(blocks, 100, np.random.default_rng(0))
    expected = {(0, 1), (0, 2), (0, 5), (1, 2), (1, 5), (2, 5), (2, 3), (2, 4), (3, 4)}
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)


def test_pairs_are_drawn_alike_however_many_blocks_they_share():
    rng = np.random.default_rng(0)
    # Records 0 to 39 share ten blocks that differ by one other record; 50 to 149 share one.
    members = [[*range(40), 40 + k] for k in range(10)] + [list(range(50, 150))]
    blocks = _blocks(members, 150)
    n_drawn = np.zeros(2)
    for _ in range(200):
        left, right = draw_pairs(blocks, 100, rng)
        assert (left < right).all()
        assert len(left) <= 100
        n_drawn += [(right < 40).sum(), (left >= 50).sum()]
    assert n_drawn[0] / n_drawn[1] == pytest.approx(780 / 4950, rel=0.2)


def test_no_blocks_give_no_pairs():
    left, right = draw_pairs(Blocks(*[np.zeros(n, int) for n in (1, 0, 4, 0)]), 10, np.random.default_rng(0))
    assert len(left) == len(right) == 0


def test_levels_come_from_blocks_and_from_random_pairs():
    frame = pl.DataFrame({"town": ["a", "a", "b", "b"], "name": ["x y", "x y", "z", "w"]})
    comparisons = encode(frame, [exact("town"), jaccard("name")]).comparisons
    blocks = Blocking([Same("town")]).build(frame).blocks
    levels, by_chance = levels_without_labels(comparisons, blocks, n_pairs=40, rng=np.random.default_rng(0))
    assert levels.tolist() == [[2, 7], [2, 1]]
    assert len(by_chance) == 20
    assert set(by_chance[:, 0]) == {1, 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": np.zeros((0, 2), int)}, "no pairs"),
        ({"levels": [[1, 3]]}, "level 3 at pair 0, comparator 1, which has 3 levels"),
        ({"levels": [1, 2]}, "shape"),
        ({"groups": ["a"]}, "groups has 1 entries"),
        ({"ordered": [True]}, "ordered has 1 entries"),
        ({"powers": []}, "powers are"),
        ({"powers": [1.0, 0.0]}, "powers are"),
        ({"random_levels": [[1]]}, "random_levels has shape"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"levels": [[1, 2], [2, 1]], "n_levels": [3, 3], **change}
    with pytest.raises(ValueError, match=message):
        fellegi_sunter(**given)
