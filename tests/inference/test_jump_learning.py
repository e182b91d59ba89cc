"""Jumps that learn while a walk goes on: shares in closed form, weights of candidates by Eq. 2, searches with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.inference.jump_learning import JumpLearning, learn_jumps, pair_columns, tallies
from walkstep.inference.metropolis import metropolis
from walkstep.inference.partition_search import coarse_to_fine, search
from walkstep.model.partition_templates import Affinity, Distinct, Size
from walkstep.worlds.adaptive_jumps import ANY, KINDS, MENTION, MERGE, adaptive
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import partition_score, partition_statistics
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from walkstep.worlds.randomness import stream
from worlds.naive_partition import blocks_of
from worlds.naive_split_merge import pair_statistics
from worlds.test_partition import toy_of, world_of

pytestmark = pytest.mark.xdist_group("partition")

GROUPS = [[0, 1, 2, 3], [2, 3, 4, 5, 6], [5, 7], [0, 6, 7]]


def adaptive_world(shares=(0.4, 0.6, 0.0, 0.0, 0.0, 0.0), **settings):
    toy = toy_of(8)
    jumps = adaptive(block_guided(blocks_of(8, GROUPS)), toy.model, shares=shares)
    return world_of(toy, proposer=jumps, **settings)


def write(jumps, kinds, worth, cost=(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)):
    """A log of jumps without candidates, each kind of which has touched so many factors on average."""
    n = len(kinds)
    jumps.n_logged[0] = n
    jumps.log_kind[:n], jumps.log_gain[:n], jumps.log_worth[:n], jumps.log_choice[:n] = kinds, worth, worth, -1
    jumps.tally[:, 0] = 100.0
    jumps.tally[:, 3] = 100.0 * np.array(cost)


def parameters(jumps):
    return np.concatenate([jumps.shares, jumps.split_weights, jumps.merge_weights])


# --- shares


def test_shares_go_part_of_the_way_to_those_of_the_elite():
    world = adaptive_world(shares=(0.6, 0.4, 0.0, 0.0, 0.0, 0.0))
    # Nine of ninety are the elite: four moves of a mention, each worth 1 / 2, and five merges, each worth 1 / 10.
    kinds = np.array([MENTION, MERGE] * 45)
    worth = np.linspace(-1.0, 0.5, 90)
    worth[-9:] += 10.0
    worth[:3] = np.nan, -np.inf, np.nan  # of those that were never priced
    write(world.proposer, kinds, worth, cost=(2.0, 10.0, 1.0, 1.0, 1.0, 1.0))
    assert kinds[-9:].tolist().count(MERGE) == 5
    learn_jumps(world, JumpLearning(elite=0.1, smoothing=0.5, floor=0.0))
    # 4 / 2 to 5 / 10 is 0.8 to 0.2; halfway from 0.6 to 0.4.
    np.testing.assert_allclose(world.proposer.shares, [0.7, 0.3, 0.0, 0.0, 0.0, 0.0], rtol=1e-12)
    assert world.proposer.n_logged[0] == 0


def test_no_kind_that_has_a_share_dies_out():
    world = adaptive_world(shares=(0.5, 0.2, 0.2, 0.1, 0.0, 0.0))
    write(world.proposer, [MENTION] * 10, np.ones(10))
    learn_jumps(world, JumpLearning(elite=1.0, smoothing=1.0, floor=0.1))
    np.testing.assert_allclose(world.proposer.shares, [0.7, 0.1, 0.1, 0.1, 0.0, 0.0], rtol=1e-12)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([0.0, 0.01, 1.0, 5.0]), min_size=6, max_size=6).filter(any),
    st.lists(st.integers(0, 5), min_size=5, max_size=40),
    st.floats(0.0, 1.0),
    st.floats(0.0, 0.16),
    st.lists(st.floats(1.0, 1e4), min_size=6, max_size=6),
)
def test_shares_stay_shares(odds, drawn, smoothing, floor, cost):
    shares = np.array(odds) / sum(odds)
    world = adaptive_world(shares=shares)
    having = np.flatnonzero(shares)
    kinds = having[np.array(drawn) % len(having)]
    write(world.proposer, kinds, np.ones(len(kinds)), cost)
    learn_jumps(world, JumpLearning(elite=1.0, smoothing=smoothing, floor=floor))
    learned = world.proposer.shares
    assert learned.sum() == pytest.approx(1.0)
    assert (learned[having] >= floor - 1e-12).all()
    assert (learned[shares == 0.0] == 0.0).all()


def test_of_a_long_log_the_last_jumps_count():
    world = adaptive_world(shares=(0.5, 0.5, 0.0, 0.0, 0.0, 0.0))
    n = len(world.proposer.log_kind)
    write(world.proposer, [MERGE] * n, np.ones(n))
    world.proposer.n_logged[0] = 3 * n + 7
    learn_jumps(world, JumpLearning(elite=1.0, smoothing=1.0, floor=0.0))
    assert world.proposer.shares.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("worth", [0.0, -1.0, -np.inf, np.nan])
def test_an_elite_without_gain_teaches_nothing(worth):
    world = adaptive_world()
    jumps = world.proposer
    write(jumps, [MERGE] * 30, np.full(30, worth))
    jumps.log_choice[:30] = 1
    jumps.log_pairs[:30, :, 1] = 1
    before = parameters(jumps)
    learn_jumps(world, JumpLearning(elite=1.0, smoothing=1.0))
    np.testing.assert_array_equal(parameters(jumps), before)
    assert jumps.n_logged[0] == 0


def test_an_elite_of_too_few_teaches_nothing():
    world = adaptive_world()
    before = parameters(world.proposer)
    write(world.proposer, [MERGE] * 30, [1.0] * 6 + [-1.0] * 24)
    learn_jumps(world, JumpLearning(elite=1.0, fewest=7))
    np.testing.assert_array_equal(parameters(world.proposer), before)
    write(world.proposer, [MERGE] * 30, [1.0] * 6 + [-1.0] * 24)
    learn_jumps(world, JumpLearning(elite=1.0, fewest=6))
    assert world.proposer.shares[MERGE] > before[MERGE]
    learn_jumps(world)  # nothing was tried since


# --- weights of candidates


def walked(n_moves=600, **settings):
    """A world whose log a walk of merges and splits has written, with weights that are not all zero."""
    toy = toy_of(8)
    world = adaptive_world(shares=(0.0, 1.0, 0.0, 0.0, 0.0, 0.0), **settings)
    rng = np.random.default_rng(0)
    for weights in (world.proposer.split_weights, world.proposer.merge_weights):
        weights[:] = rng.normal(scale=0.3, size=len(weights))
    sampler = metropolis(world, 0.2 * toy.weights, n_moves=n_moves)
    state, _ = sampler.step(stream(1), sampler.init())
    return toy, state.world


def slow_candidates(toy, jumps, learning):
    """Features of the candidates of each jump of the elite, in plain NumPy, and which of them was chosen."""
    n = int(jumps.n_logged[0])
    logged = [k for k in range(n) if jumps.log_choice[k] >= 0]
    best = sorted(logged, key=lambda k: -jumps.log_worth[k])[: int(np.ceil(learning.elite * len(logged)))]
    best = best[: learning.most]
    found = []
    for k in best:
        if not jumps.log_worth[k] > 0.0:
            continue
        rows, chosen = [], None
        for c, ((one, two), size) in enumerate(zip(jumps.log_pairs[k].tolist(), jumps.log_size[k], strict=True)):
            if two < 0:
                continue
            is_together = size < 0.0
            own = np.append(pair_statistics(toy, min(one, two), max(one, two)), [1.0, abs(size + is_together)])
            rows.append(np.concatenate([own, 0.0 * own] if is_together else [0.0 * own, own]))
            chosen = len(rows) - 1 if c == jumps.log_choice[k] else chosen
        found.append((np.array(rows), chosen))
    return found


@pytest.mark.parametrize("together", [None, [[2, 3]]])
def test_weights_of_candidates_solve_equation_two(together):
    """By the slow way: the gradient is nothing, and no small step raises the penalised likelihood of the elite."""
    toy, world = walked(constraints=link_constraints(8, together=together))
    learning = JumpLearning(elite=0.2, smoothing=1.0, l2=0.5)
    jumps = world.proposer
    elite = slow_candidates(toy, jumps, learning)
    assert len(elite) > 20
    start = parameters(jumps)[len(KINDS) :]

    def value(weights):
        total = -0.5 * learning.l2 * ((weights - start) ** 2).sum()
        for rows, chosen in elite:
            log_odds = rows @ weights
            total += log_odds[chosen] - np.log(np.exp(log_odds).sum())
        return total / len(elite)

    def slope(weights, step=1e-5):
        ends = [[value(weights + sign * step * row) for row in np.eye(len(weights))] for sign in (1, -1)]
        return (np.array(ends[0]) - ends[1]) / (2 * step)

    learn_jumps(world, learning)
    fitted = parameters(jumps)[len(KINDS) :]
    best = value(fitted)
    assert best > value(start) + 0.01
    assert np.abs(slope(fitted)).max() < 0.01 * np.abs(slope(start)).max()
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert value(fitted + rng.normal(scale=1e-2, size=len(fitted))) < best + 1e-6
    unseen = ~np.any([rows.any(axis=0) for rows, _ in elite], axis=0)
    assert unseen.any()
    np.testing.assert_array_equal(fitted[unseen], start[unseen])  # what no candidate has says nothing


def test_weights_of_candidates_go_part_of_the_way():
    fitted = []
    for smoothing in (0.0, 1.0, 0.3):
        _, world = walked()
        learn_jumps(world, JumpLearning(smoothing=smoothing))
        fitted.append(parameters(world.proposer))
    assert (fitted[0] != fitted[1]).any()
    np.testing.assert_allclose(fitted[2], 0.3 * fitted[1] + 0.7 * fitted[0], atol=1e-12)


@pytest.mark.parametrize(
    "template",
    [
        Affinity(),
        Affinity((("title", "year"), ("venue", "title", "year"))),
        Affinity((("year", "venue"),), comparators=("title",)),
        Affinity((("year", "venue"),), comparators=()),
    ],
    ids=str,
)
def test_columns_of_pairs_are_the_statistics_of_two_that_are_together(template):
    toy = toy_of(8, (template,))
    world = world_of(toy)
    left, right = np.nonzero(~np.eye(8, dtype=bool))  # either way round
    apart = partition_statistics(world)
    columns = pair_columns(world, left, right)
    for i, j, row in zip(left, right, columns, strict=True):
        together = np.arange(8)
        together[j] = i
        expected = partition_statistics(world_of(toy, assignment=together)) - apart
        np.testing.assert_array_equal(np.bincount(row, minlength=toy.model.n_weights), expected)


# --- searches


def blocks_of_forty():
    return blocks_of(40, [[*range(20)], [*range(10, 30)], [*range(25, 40)], [*range(0, 40, 3)]])


def worlds_of_forty(seed, **settings):
    """The same mentions, with jumps that are guided and with those that learn."""
    toy = toy_of(40, (Affinity((("title", "year"),)), Size(), Distinct("venue")), seed)
    guided = block_guided(blocks_of_forty(), guide=toy.weights)
    learns = adaptive(guided, toy.model, weights=toy.weights, **settings)
    return toy, world_of(toy, proposer=guided), world_of(toy, proposer=learns)


@pytest.mark.parametrize("seed", range(5))
def test_jumps_that_learn_find_what_guided_ones_find_with_as_many_moves(seed):
    # A world of these has its best partition behind worse ones, where either finds it in some searches only.
    toy, guided, learns = worlds_of_forty(seed, shares=(0.2, 0.4, 0.1, 0.1, 0.1, 0.1))
    best = [
        max(search(world, toy.weights, n_moves=4000, rng=rng).score for rng in range(8)) for world in (guided, learns)
    ]
    assert best[1] >= 0.999 * best[0]


def test_gains_that_make_up_for_chance_teach_nothing():
    _, _, world = worlds_of_forty(0)
    jumps = world.proposer
    before = jumps.shares.copy()
    jumps.n_logged[0] = 100
    jumps.log_kind[:100] = 1
    jumps.log_choice[:100] = -1
    jumps.tally[1] = 100, 0, 0, 100
    jumps.log_gain[:100] = jumps.log_worth[:100] = 2.5
    learn_jumps(world, temperature=1.0)
    assert jumps.shares.tolist() == before.tolist()
    jumps.n_logged[0] = 100
    learn_jumps(world, temperature=0.5)
    assert jumps.shares[1] > before[1]


def test_a_search_says_what_became_of_each_kind_and_repeats_itself():
    toy, guided, world = worlds_of_forty(1)
    ends = []
    first, again = (
        search(world, toy.weights, n_moves=3000, rng=5, callback=lambda n, state, info: ends.append(state))
        for _ in range(2)
    )
    assert first.assignment.tolist() == again.assignment.tolist()
    assert first[1:5] == again[1:5]
    assert first.jumps == again.jumps
    assert [made.kind for made in first.jumps] == [kind for kind in KINDS if kind != KINDS[ANY]]
    assert sum(made.tried for made in first.jumps) == first.n_moves
    assert sum(made.share for made in first.jumps) == pytest.approx(1.0)
    assert all(0 <= made.taken <= made.tried <= made.factors for made in first.jumps)
    reached = partition_score(ends[-1].world, toy.weights) - partition_score(world, toy.weights)
    assert sum(made.gain for made in again.jumps) == pytest.approx(reached, abs=1e-6)
    assert again.jumps == tuple(tallies(ends[-1].world.proposer))
    start = (0.05, 0.9, 0.02, 0.02, 0.01)
    assert [made.share for made in first.jumps] != pytest.approx(start, abs=1e-3)
    # The world that was searched has its own jumps, which have learned nothing.
    np.testing.assert_allclose(world.proposer.shares, [*start[:ANY], 0.0, start[ANY]], rtol=1e-12)
    assert not world.proposer.tally.any()
    assert search(guided, toy.weights, n_moves=500, rng=0).jumps == ()


def test_a_search_learns_as_it_is_told():
    toy, _, world = worlds_of_forty(1, shares=(0.4, 0.2, 0.1, 0.1, 0.1, 0.1))
    still = search(world, toy.weights, n_moves=2000, rng=0, learning=JumpLearning(smoothing=0.0))
    assert [made.share for made in still.jumps] == pytest.approx([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    floored = search(world, toy.weights, n_moves=2000, rng=0, learning=JumpLearning(smoothing=1.0, floor=0.08))
    assert [made.kind for made in floored.jumps] == list(KINDS)
    assert min(made.share for made in floored.jumps) >= 0.08 - 1e-12


def test_jumps_learn_from_estimates_too():
    toy, _, world = worlds_of_forty(0)
    for how in ({"screen": True}, {"shares": coarse_to_fine(0.1)}):
        found = search(world, toy.weights, n_moves=2000, rng=0, **how)
        assert sum(made.share for made in found.jumps) == pytest.approx(1.0)
        assert partition_score(world_of(toy, assignment=found.assignment), toy.weights) == pytest.approx(found.score)


def test_a_focus_moves_only_its_mentions():
    toy, _, world = worlds_of_forty(0, shares=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    found = search(world, toy.weights, n_moves=500, rng=0, focus=[3, 17])
    assert [made.kind for made in found.jumps] == ["mention"]
    others = np.setdiff1d(np.arange(40), [3, 17])
    assert len(np.unique(found.assignment[others])) == 38


# --- bad arguments


def test_jumps_that_do_not_learn_are_named():
    world = world_of(toy_of(8), proposer=uniform_mention())
    with pytest.raises(
        TypeError, match=r"jumps come from TransferProposer, which does not learn; .* those of adaptive"
    ):
        learn_jumps(world)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elite": 0.0}, "elite is 0.0 and smoothing 0.3; give a share above 0, and one from 0 to 1"),
        ({"elite": 1.5}, "elite is 1.5"),
        ({"smoothing": -0.1}, "smoothing -0.1"),
        ({"floor": 0.3}, "floor is 0.3; give a share from 0 to 0.16"),
        ({"floor": -0.1}, "floor is -0.1"),
        ({"l2": -1.0}, "l2 is -1.0 and fewest 5; give 0 or more, and at least 1"),
        ({"fewest": 0}, "l2 is 1.0 and fewest 0"),
        ({"most": -1}, "most is -1 and every 512; give numbers of jumps, 0 or more"),
        ({"every": -1}, "most is 64 and every -1"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        JumpLearning(**settings)
