"""Jumps that learn: probabilities there and back, detailed balance, and what is written down of them."""

import numpy as np
import pytest

from walkstep.inference.metropolis import metropolis
from walkstep.worlds.adaptive_jumps import DRAWN, KINDS, MERGE, adaptive
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from walkstep.worlds.randomness import stream
from worlds.naive_adaptive_jumps import Twin, n_pairs_of
from worlds.naive_partition import blocks_of, groups_of, partitions, proposals
from worlds.test_partition import drawn, toy_of, world_of

pytestmark = pytest.mark.xdist_group("partition")

BLOCKS = [[0, 1, 2], [2, 3, 4]]  # few mates, so that there are few draws of candidates
MERGES = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
EVERY = (0.2, 0.3, 0.15, 0.15, 0.1, 0.1)
KERNELS = {
    "all alike": ({"shares": MERGES}, None),
    "weighted": ({"shares": MERGES, "scale": 0.5}, None),
    "weighted and guided": ({"shares": MERGES, "scale": 0.5, "guided": True}, None),
    "weighted with an atom": ({"shares": MERGES, "scale": 0.5}, [[1, 2]]),
    "weighted without bounds": ({"shares": MERGES, "scale": 40.0}, None),
    "small merges": ({"shares": MERGES, "scale": 0.5, "max_pairs": 3}, None),
    "a mention without a block": ({"shares": EVERY, "scale": 0.5, "groups": [[0, 1, 2], [2, 3]]}, None),
    "every": ({"shares": EVERY, "scale": 0.5}, None),
    "every with an atom": ({"shares": EVERY, "scale": 0.5}, [[0, 3]]),
    "every with a focus": ({"shares": EVERY, "scale": 0.5, "focus": [1, 2]}, None),
    "every with a focus and an atom": ({"shares": EVERY, "scale": 0.5, "focus": [2, 3]}, [[0, 2]]),
    "three candidates": ({"shares": EVERY, "scale": 0.5, "n_candidates": 3}, None),
}
IN_PARTS = ("small merges", "focus", "without a block", "bounds")  # not every partition is reached, or not in doubles


def jumps_of(toy, *, shares, scale=0.0, guide=None, groups=BLOCKS, n_candidates=2, **settings):
    """Adaptive jumps whose weights are random."""
    jumps = adaptive(
        block_guided(blocks_of(toy.n, groups), guide=guide, **settings),
        toy.model,
        shares=shares,
        n_candidates=n_candidates,
    )
    rng = np.random.default_rng(7)
    for weights in (jumps.split_weights, jumps.merge_weights):
        weights[:] = rng.normal(scale=scale, size=len(weights))
    return jumps


def added_up(ways):
    """Probabilities, or counts, of each partition by log ratio: {partition: [[ratio, sum], ...]}, rounding aside."""
    found = {}
    for after, amount, ratio in sorted(ways, key=lambda way: (way[0], way[2])):
        held = found.setdefault(after, [])
        if held and ratio - held[-1][0] < 4e-7:
            held[-1][1] += amount
        else:
            held.append([ratio, amount])
    return found


def assert_drawn_as_often(found, expected, n_draws):
    """What is drawn is what is expected: the same partitions, ratios to 1e-6, and as often within five errors."""
    assert found.keys() <= expected.keys()
    for after, ways in expected.items():
        ratios = np.array([ratio for ratio, _ in ways])
        counts = np.zeros(len(ways))
        for ratio, count in found.get(after, []):
            nearest = np.abs(ratios - ratio).argmin()
            assert ratio == pytest.approx(ratios[nearest], abs=1e-6)
            counts[nearest] += count
        chance = np.array([p for _, p in ways])
        error = np.sqrt(n_draws * chance * (1 - chance)) + 1.0
        assert (np.abs(counts - n_draws * chance) < 5 * error).all(), after


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "three" in name else name for name in KERNELS]
)
def test_adaptive_jumps_keep_detailed_balance_over_all_partitions_of_five(name):
    """The matrix is exact, from the twin; what is compiled draws the same moves, with the same ratios."""
    settings, together = KERNELS[name]
    toy, n_draws = toy_of(5), 2000
    guide = 0.5 * toy.weights if settings.get("guided") else None
    jumps = jumps_of(toy, guide=guide, **{key: x for key, x in settings.items() if key != "guided"})
    held = link_constraints(5, together=together)
    atom_of = None if together is None else held.atom_of.tolist()
    twin = Twin(toy, jumps, settings.get("groups", BLOCKS), atom_of=atom_of, guide=guide)
    states = [y for y in partitions(5) if together is None or all(y[i] == y[j] for i, j in together)]
    score = np.array([0.3 * toy.score(y) for y in states])
    matrix = np.zeros((len(states), len(states)))
    rng = stream(5)
    for s, y in enumerate(states):
        ways = list(twin.paths(y))
        assert sum(chance for _, chance, _ in ways) < 1.0 + 1e-12
        for after, chance, ratio in ways:
            t = states.index(after)
            matrix[s, t] += chance * np.exp(min(0.0, score[t] - score[s] + ratio))
        found = drawn(world_of(toy, assignment=y, proposer=jumps, constraints=held), n_draws, rng)
        counts = added_up((after, count, ratio) for (after, ratio), count in found.items())
        assert_drawn_as_often(counts, added_up(ways), n_draws)
    target = np.exp(score - score.max())
    flow = (target / target.sum())[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, rtol=1e-10, atol=1e-15)
    reached = np.linalg.matrix_power(matrix + np.eye(len(states)), len(states)) > 0
    assert reached.all() or any(part in name for part in IN_PARTS)


def test_a_single_candidate_is_a_plain_merge_or_split():
    toy = toy_of(5)
    jumps = jumps_of(toy, shares=MERGES, scale=0.5, n_candidates=1)
    twin = Twin(toy, jumps, BLOCKS)
    plain = block_guided(blocks_of(5, BLOCKS), share_merge=1.0)
    for y in partitions(5):
        one, other = added_up(twin.paths(y)), added_up(proposals(toy, y, plain, BLOCKS))
        assert one.keys() == other.keys()
        for after in one:
            np.testing.assert_allclose(one[after], other[after], atol=1e-12)


def test_pairs_that_the_model_speaks_for_are_merged_more_often_at_first():
    toy = toy_of(5)
    jumps = adaptive(block_guided(blocks_of(5, BLOCKS)), toy.model, shares=MERGES, weights=toy.weights, sharpness=0.5)
    assert jumps.merge_weights[-2:].tolist() == jumps.split_weights[-2:].tolist() == [0.0, 0.0]
    twin = Twin(toy, jumps, BLOCKS)
    for i, j in [(0, 1), (2, 4)]:
        score = toy.weights @ twin.phi[i, j]
        assert twin.odds(range(5), (i, j)) == pytest.approx(np.exp(0.5 * score))
        assert twin.odds([0] * 5, (i, j)) == pytest.approx(np.exp(-0.5 * score))


def test_shares_in_decimals_leave_nothing_to_a_kind_that_has_none():
    jumps = jumps_of(toy_of(5), shares=(0.333333, 0.333333, 0.333333, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(jumps.shares, [1 / 3, 1 / 3, 1 / 3, 0.0, 0.0, 0.0], rtol=1e-12)


# --- what is written down

SCALE = 0.1  # of weights: jumps of every kind are taken


MANY = [[0, 1, 2, 3], [2, 3, 4, 5, 6], [5, 7], [0, 6, 7]]


def n_pairs_changed(before, after):
    """Pairs that are together in one of two partitions only."""
    together = [np.equal.outer(values, values) for values in (before, after)]
    return int((together[0] != together[1]).sum()) // 2


def walk_of(n_moves=1, together=None):
    toy = toy_of(8)
    jumps = jumps_of(toy, shares=EVERY, scale=0.5, groups=MANY)
    world = world_of(toy, proposer=jumps, constraints=link_constraints(8, together=together))
    return toy, metropolis(world, SCALE * toy.weights, n_moves=n_moves)


def test_tallies_add_up_over_a_walk():
    toy, sampler = walk_of(n_moves=5000)
    state, rng = sampler.init(), stream(1)
    before = SCALE * toy.score(state.values)
    for n in range(1, 4):
        state, _ = sampler.step(rng, state)
        jumps = state.world.proposer
        tried, taken, gain, cost = jumps.tally.T
        assert tried.sum() == jumps.n_logged[0] == 5000 * n
        assert (np.abs(tried - 5000 * n * jumps.shares) < 5 * np.sqrt(5000 * n * jumps.shares)).all()
        assert (taken > 0).all()
        assert (taken < tried).all()
        assert (cost >= tried + taken).all()
        assert gain.sum() == pytest.approx(SCALE * toy.score(state.values) - before, abs=1e-8)


def test_every_jump_is_written_down_as_it_was():
    toy, sampler = walk_of(together=[[1, 2]])
    state, rng = sampler.init(), stream(2)
    n_moves = 800
    seen = np.zeros(len(KINDS), int)
    for n in range(n_moves):
        jumps = state.world.proposer
        values, tally = state.values.copy(), jumps.tally.copy()
        state, _ = sampler.step(rng, state)
        kind, chosen = jumps.log_kind[n], jumps.log_choice[n]
        tried, taken, gain, cost = (jumps.tally - tally)[kind]
        assert tried == 1.0
        assert (jumps.tally - tally)[np.arange(len(KINDS)) != kind].tolist() == [[0.0] * 4] * (len(KINDS) - 1)
        assert taken == (state.values.tolist() != values.tolist())
        assert jumps.log_worth[n] * cost == pytest.approx(gain, abs=1e-9) or not taken
        if taken:
            seen[kind] += 1
            assert gain == pytest.approx(SCALE * (toy.score(state.values) - toy.score(values)), abs=1e-8)
        if kind == DRAWN and len(groups_of(state.values)) == len(groups_of(values)) and taken:
            # One went from company to company: all pairs broken and made, and the mates of one of its blocks.
            assert (cost - 1 - n_pairs_changed(values, state.values)) in {len(group) for group in MANY}
        if kind != MERGE:
            assert chosen == -1
            continue
        pairs, sizes = jumps.log_pairs[n], jumps.log_size[n]
        if chosen < 0:
            assert set(map(frozenset, jumps.pairs.tolist())) == {frozenset({1, 2})}
            assert not taken
            continue
        for (one, two), now, size in zip(pairs.tolist(), jumps.pairs.tolist(), sizes.tolist(), strict=True):
            if two < 0:
                assert set(now) == {1, 2}
                continue
            assert [one, two] == now
            n_pairs, is_together = n_pairs_of(values, one, two)
            assert is_together == (size < 0)
            assert (-1.0 - size if is_together else size) == pytest.approx(np.log(n_pairs), rel=1e-6, abs=1e-6)
        one, two = pairs[chosen]
        assert two >= 0
        if taken:  # those chosen have parted, or come together
            n_pairs, is_together = n_pairs_of(values, one, two)
            assert (state.values[one] == state.values[two]) != is_together
            assert abs(len(groups_of(state.values)) - len(groups_of(values))) == 1
            assert cost == 1 + len(jumps.pairs) + n_pairs or is_together
    assert (seen > 3).all()


def test_the_log_keeps_the_last_jumps():
    _, sampler = walk_of(n_moves=1)
    n_kept = len(sampler.init().world.proposer.log_kind)
    _, long = walk_of(n_moves=n_kept)
    _, short = walk_of(n_moves=10)
    ends = []
    for forget in (False, True):
        state, rng = long.init(), stream(3)
        state, _ = long.step(rng, state)
        jumps = state.world.proposer
        first = jumps.log_worth.copy()
        if forget:
            jumps.n_logged[0] = 0
        state, _ = short.step(rng, state)
        assert jumps.n_logged[0] == (10 if forget else n_kept + 10)
        np.testing.assert_array_equal(jumps.log_worth[10:], first[10:])
        assert (jumps.log_worth[:10] != first[:10]).any()
        ends.append([x[:10].tolist() for x in (jumps.log_kind, jumps.log_worth, jumps.log_choice, jumps.log_pairs)])
    assert ends[0] == ends[1]


def test_a_jump_that_is_forbidden_is_never_gained_by():
    toy = toy_of(8)
    jumps = jumps_of(toy, shares=EVERY, groups=[list(range(8))])
    world = world_of(toy, proposer=jumps, constraints=link_constraints(8, apart=[[0, 1], [2, 5]]))
    sampler = metropolis(world, SCALE * toy.weights, n_moves=3000)
    state, _ = sampler.step(stream(0), sampler.init())
    jumps = state.world.proposer
    assert (jumps.log_worth[:3000] == -np.inf).any()
    assert np.isfinite(jumps.tally).all()
    gained = SCALE * (toy.score(state.values) - toy.score(np.arange(8)))
    assert jumps.tally[:, 2].sum() == pytest.approx(gained, abs=1e-8)


# --- bad arguments


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"shares": (0.5, 0.5)},
            r"shares are \(0.5, 0.5\); give one for each of mention, merge or split, several, swap",
        ),
        ({"shares": (0.5, 0.6, 0.0, 0.0, 0.0, 0.0)}, "that add up to 1"),
        ({"shares": (1.5, -0.5, 0.0, 0.0, 0.0, 0.0)}, "shares are"),
        ({"shares": (np.nan, 1.0, 0.0, 0.0, 0.0, 0.0)}, "shares are"),
        ({"sharpness": -1.0}, "sharpness is -1.0; give 0, where candidates are alike, or more"),
        ({"n_candidates": 0}, "n_candidates is 0; give at least 1, and below 128"),
        ({"n_candidates": 128}, "n_candidates is 128"),
        ({"weights": [1.0, 2.0]}, r"weights have shape \(2,\); give one for each of \d+ statistics"),
    ],
)
def test_what_does_not_fit_is_named(settings, message):
    toy = toy_of(5)
    with pytest.raises(ValueError, match=message):
        adaptive(block_guided(blocks_of(5, BLOCKS)), toy.model, **settings)


def test_jumps_without_blocks_are_refused():
    with pytest.raises(ValueError, match=r"transfers have no blocks, .* give those of block_guided"):
        adaptive(uniform_mention(), toy_of(4).model)
