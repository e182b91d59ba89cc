from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.inference.metropolis import metropolis, own_arrays
from walkstep.model.partition_templates import Affinity, Aggregate, Distinct, Size, Spread
from walkstep.references import refer
from walkstep.testing import check_world
from walkstep.worlds.base import propose
from walkstep.worlds.clusters import first_mentions
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import (
    at_assignment,
    at_truth,
    partition_score,
    partition_statistics,
    partition_world,
    transfer,
)
from walkstep.worlds.partition_proposers import block_guided, n_drawn_from, uniform_mention
from walkstep.worlds.partition_signals import b_cubed, pair_f1
from walkstep.worlds.randomness import stream
from worlds.naive_partition import ALL_TEMPLATES, Toy, blocks_of, groups_of, partitions, proposals

pytestmark = pytest.mark.xdist_group("partition")

GROUPS = {
    4: [[0, 1, 2], [1, 2, 3], [0, 3]],
    5: [[0, 1, 2], [1, 2, 3, 4], [0, 4]],
    8: [[0, 1, 2, 3], [2, 3, 4, 5, 6], [5, 7], [0, 6, 7]],
}
SHARES = {
    "block": {"share_merge": 0.0},
    "merge": {"share_merge": 1.0},
    "mixed": {"share_merge": 0.4, "share_uniform": 0.3},
    "swap": {"share_merge": 0.0, "share_swap": 1.0},
    "several": {"share_merge": 0.0, "share_several": 1.0},
    "drawn": {"share_merge": 0.0, "share_drawn": 1.0},
    "every": {"share_merge": 0.2, "share_uniform": 0.2, "share_swap": 0.2, "share_several": 0.1, "share_drawn": 0.1},
}


@cache
def toy_of(n, templates=ALL_TEMPLATES, seed=0):
    return Toy(n, templates, seed)


def proposer_of(kind, n, **settings):
    if kind == "uniform":
        return uniform_mention()
    return block_guided(blocks_of(n, GROUPS[n]), **SHARES[kind], **settings)


def world_of(toy, **settings):
    settings.setdefault("n_mentions", toy.n)
    return partition_world(toy.model, toy.comparisons, **settings)


# --- statistics


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=12, max_size=12), st.integers(0, 3))
def test_statistics_of_whole_partitions_agree_with_the_twin(assignment, seed):
    toy = toy_of(12, seed=seed)
    world = world_of(toy, assignment=assignment)
    np.testing.assert_allclose(partition_statistics(world), toy.statistics(assignment), atol=1e-12)
    assert partition_score(world, toy.weights) == pytest.approx(toy.score(assignment))


@pytest.mark.parametrize("template", ALL_TEMPLATES, ids=str)
def test_every_template_agrees_with_the_twin_on_its_own(template):
    toy = toy_of(8, (template,))
    for seed in range(5):
        assignment = np.random.default_rng(seed).integers(0, 3, 8)
        np.testing.assert_allclose(
            partition_statistics(world_of(toy, assignment=assignment)), toy.statistics(assignment), atol=1e-12
        )


def test_large_clusters_reach_the_last_bins():
    toy = toy_of(40, (Size(), Distinct("venue"), Aggregate("title", "mean")))
    for assignment in (np.zeros(40, int), np.arange(40) % 2, np.arange(40) // 13):
        world = world_of(toy, assignment=assignment)
        np.testing.assert_allclose(partition_statistics(world), toy.statistics(assignment), atol=1e-12)


def counts_of(world):
    """What is counted of each cluster, by its members; and of each value."""
    slots = np.unique(world.clusters.cluster_of)
    by_members = {
        tuple(np.flatnonzero(world.clusters.cluster_of == slot).tolist()): (
            world.level_counts[slot].tolist(),
            world.distinct[slot].tolist(),
            world.present[slot].tolist(),
        )
        for slot in slots
    }
    free = np.setdiff1d(np.arange(len(world.truth)), slots)
    assert not world.level_counts[free].any()
    assert not world.distinct[free].any()
    return by_members, world.holders.tolist()


@pytest.mark.parametrize("kind", ["uniform", "mixed", "every"])
def test_what_a_walk_counts_is_what_is_counted_from_nothing(kind):
    toy = toy_of(8)
    sampler = metropolis(world_of(toy, proposer=proposer_of(kind, 8)), 0.2 * toy.weights, n_moves=50)
    state, rng = sampler.init(), stream(0)
    for _ in range(40):
        state, _ = sampler.step(rng, state)
        fresh = world_of(toy, assignment=state.values)
        assert counts_of(state.world) == counts_of(fresh)
        assert sampler.score(state) == pytest.approx(0.2 * toy.score(state.values))


def test_a_small_memory_forgets_but_changes_nothing():
    toy = toy_of(8)
    draws = []
    for n_places in (16, 1 << 12):
        world = world_of(toy, proposer=proposer_of("mixed", 8), n_places=n_places)
        sampler = metropolis(world, 0.2 * toy.weights, n_moves=200)
        state, rng = sampler.init(), stream(3)
        states = []
        for _ in range(20):
            state, info = sampler.step(rng, state)
            states.append((state.values.tolist(), info.n_accepted))
        draws.append((states, int(state.world.pairs.n_compared[0])))
    assert draws[0][0] == draws[1][0]
    assert draws[1][1] <= 8 * 7 / 2 < draws[0][1]


def test_a_world_set_elsewhere_after_a_walk_is_like_a_fresh_one():
    toy = toy_of(40, (Distinct("key"), Aggregate("title"), Spread("key")))
    sampler = metropolis(world_of(toy), np.zeros(toy.model.n_weights), n_moves=3)
    assignment = np.random.default_rng(0).integers(0, 100, 40)
    fresh = world_of(toy, assignment=assignment)
    for seed in range(150):
        state, _ = sampler.step(stream(seed), sampler.init())
        moved = at_assignment(state.world, assignment)
        assert groups_of(moved.values) == groups_of(assignment)
        for name in ("level_counts", "distinct", "present", "holders"):
            np.testing.assert_array_equal(getattr(moved, name), getattr(fresh, name), name)


def test_at_the_truth_unknown_mentions_are_alone():
    toy = toy_of(8)
    world = world_of(toy, truth=[0, 0, -1, 2, 2, -1, 0, 1])
    assert at_truth(world).values.tolist() == [0, 0, 2, 3, 3, 5, 0, 7]
    assert world.values.tolist() == list(range(8))


# --- moves


@pytest.mark.parametrize("kind", ["uniform", "block", "mixed", "swap", "several", "drawn"])
@pytest.mark.parametrize(
    "held",
    [
        {},
        {"together": [[0, 2], [2, 5]]},
        {"apart": [[0, 1], [3, 6]]},
        {"source": [0, 1, 0, -1, -1, 1, 2, 2]},
        {"together": [[1, 4]], "apart": [[4, 6]], "source": [0, 0, 1, 1, 2, 2, -1, -1]},
    ],
    ids=lambda held: "+".join(held) or "free",
)
def test_verbs_say_what_moves_do(kind, held):
    toy = toy_of(8)
    world = world_of(
        toy,
        truth=[0, 0, 1, 1, 1, 2, -1, 3],
        assignment=[0, 1, 0, 1, 1, 0, 0, 2] if kind in ("swap", "several") else None,  # no one alone exchanges
        proposer=proposer_of(kind, 8),
        constraints=link_constraints(8, **held),
        signal=pair_f1(),
    )
    check_world(
        world, 0.3 * toy.weights, n_moves=60, n_tries=0, rng=1, statistics=lambda world: toy.statistics(world.values)
    )


@pytest.mark.parametrize("kind", ["block", "merge", "swap"])
def test_ways_there_and_back_balance(kind):
    # Not for moves to any entity: which one a random number means depends on the order that slots have come to. Nor to
    # the one that draws a mention: there the same number means to stay.
    toy = toy_of(4)
    truth = [0, 0, 1, 1]
    world = world_of(toy, truth=truth, assignment=[0, 0, 0, 1], proposer=proposer_of(kind, 4), signal=b_cubed(truth))
    checks = check_world(world, 0.1 * toy.weights, n_moves=12, n_tries=300, rng=2)
    assert checks.n_undone > 0


def test_verbs_say_what_moves_do_in_any_document():
    toy = toy_of(8)
    for document, (first, last) in enumerate([(0, 3), (3, 8)]):
        world = world_of(toy, document_ptr=[0, 3, 8], truth=[0, 0, 1, 0, 0, 2, 2, 1], signal=pair_f1())
        check_world(
            world,
            0.3 * toy.weights,
            n_moves=40,
            n_tries=0,
            document=document,
            statistics=lambda world: toy.statistics(world.values),
        )
        sampler = metropolis(world, 0.1 * toy.weights, document=document, n_moves=200)
        state, _ = sampler.step(stream(0), sampler.init())
        outside = np.setdiff1d(np.arange(8), np.arange(first, last))
        np.testing.assert_array_equal(state.values[outside], outside)
        assert (state.values[first:last] >= first).all()


@compiled(allocates=False)
def draw_proposals(world, rng, after, ratios):
    """The clusters that proposals would lead to, and their log ratios."""
    here = refer(world)
    for i in range(len(ratios)):
        move, ratio = propose(here, rng)
        held = here.clusters
        for m in range(after.shape[1]):
            after[i, m] = held.cluster_of[m]
            if held.cluster_of[m] == move.source and held.position[m] >= held.size[move.source] - move.n:
                after[i, m] = move.target
            elif held.cluster_of[m] == move.target and held.position[m] >= held.size[move.target] - move.n_back:
                after[i, m] = move.source
        ratios[i] = ratio


def drawn(world, n, rng):
    """How often each (partition, log ratio) was drawn; moves that stay, or have no way back, are left out."""
    after, ratios = np.zeros((n, len(world.truth)), np.int32), np.zeros(n)
    draw_proposals(world, rng, after, ratios)
    lead_back = ratios > -np.inf
    told = np.column_stack([after, ratios.round(9)])[lead_back]
    rows, counts = np.unique(told, axis=0, return_counts=True)
    found = {}
    for row, count in zip(rows, counts, strict=True):
        partition = tuple(first_mentions(row[:-1].astype(np.int32)).tolist())
        if partition != tuple(world.values.tolist()):
            key = partition, round(float(row[-1]), 6)
            found[key] = found.get(key, 0) + int(count)
    return found


KERNELS = {
    "uniform": ("uniform", {}, None),
    "block": ("block", {}, None),
    "merge": ("merge", {}, None),
    "mixed": ("mixed", {}, None),
    "guided": ("merge", {"guide": True}, None),
    "small merges": ("merge", {"max_pairs": 3}, None),
    "even splits": ("merge", {"even_splits": True}, None),
    "even splits with an atom": ("merge", {"even_splits": True}, [[1, 2]]),
    "uniform with an atom": ("uniform", {}, [[0, 3]]),
    "block with an atom": ("block", {}, [[0, 3]]),
    "merge with an atom": ("merge", {}, [[1, 2]]),
    "swap": ("swap", {}, None),
    "swap with an atom": ("swap", {}, [[0, 3]]),
    "several": ("several", {}, None),
    "guided several": ("several", {"guide": True}, None),
    "several of a few": ("several", {"max_pairs": 4}, None),
    "even several with an atom": ("several", {"even_splits": True}, [[1, 2]]),
    "several with an atom": ("several", {}, [[0, 3]]),
    "drawn": ("drawn", {}, None),
    "guided drawn": ("drawn", {"guide": True}, None),
    "drawn by a few": ("drawn", {"guide": True, "n_looked": 2}, None),
    "drawn with an atom": ("drawn", {"guide": True}, [[0, 3]]),
    "every": ("every", {}, None),
    "every with an atom": ("every", {}, [[1, 2]]),
}
IN_PARTS = (
    "small merges",
    "swap",
    "several",
    "a few",
)  # walks of these alone do not come from any partition to any other


@pytest.mark.parametrize("name", KERNELS)
def test_proposers_keep_detailed_balance_over_all_partitions(name):
    """The matrix is exact, from the twin; what is compiled draws the same moves, with the same ratios."""
    kind, settings, together = KERNELS[name]
    toy, n_draws = toy_of(5), 5000
    guide = 0.5 * toy.weights if settings.get("guide") else None
    proposer = proposer_of(kind, 5, **({"guide": guide} if guide is not None else settings))
    if "n_looked" in settings:
        proposer = proposer._replace(drawn=proposer.drawn[: settings["n_looked"]])
    pull = 0.0 * toy.weights if proposer.is_even else guide  # no pull to either side is a coin
    held = link_constraints(5, together=together)
    atom_of = None if together is None else held.atom_of.tolist()
    states = [y for y in partitions(5) if together is None or all(y[i] == y[j] for i, j in together)]
    score = np.array([0.3 * toy.score(y) for y in states])
    matrix = np.zeros((len(states), len(states)))
    rng = stream(5)
    for s, y in enumerate(states):
        expected = {}
        for after, chance, ratio in proposals(toy, y, proposer, GROUPS[5], atom_of, pull):
            t = states.index(after)
            matrix[s, t] += chance * min(1.0, np.exp(score[t] - score[s] + ratio))
            key = after, round(round(float(ratio), 9), 6)
            expected[key] = expected.get(key, 0.0) + chance
        found = drawn(world_of(toy, assignment=y, proposer=proposer, constraints=held), n_draws, rng)
        assert found.keys() <= expected.keys()
        for key, chance in expected.items():
            error = np.sqrt(n_draws * chance * (1 - chance)) + 1.0
            assert abs(found.get(key, 0) - n_draws * chance) < 5 * error, (y, key)
    target = np.exp(score - score.max())
    flow = (target / target.sum())[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    reached = np.linalg.matrix_power(matrix + np.eye(len(states)), len(states)) > 0
    assert reached.all() or any(part in name for part in IN_PARTS)


def test_focus_moves_only_its_mentions():
    toy = toy_of(8)
    world = world_of(toy, proposer=proposer_of("block", 8, focus=np.array([5, 7])))
    for partition, _ in drawn(world, 500, stream(0)):
        (moved,) = [m for m in range(8) if partition.count(partition[m]) > 1 and partition[m] != m] or [None]
        assert moved is not None
        assert {moved, partition[moved]} & {5, 7}


def test_a_mention_without_blocks_stays_alone():
    toy = toy_of(4)
    world = world_of(toy, proposer=block_guided(blocks_of(4, [[0, 1, 2]]), share_merge=0.5))
    assert all(partition[3] == 3 and partition.count(3) == 1 for partition, _ in drawn(world, 500, stream(0)))


def test_transfers_are_made_by_hand():
    toy = toy_of(8)
    world = world_of(toy, assignment=[0, 0, 0, 1, 1, 2, 2, 2], document_ptr=[0, 5, 8])
    move = transfer(world, [0, 2], int(world.clusters.cluster_of[3]))
    assert move == (0, 3, 2, 0)
    assert set(world.clusters.position[[0, 2]].tolist()) == {1, 2}
    assert transfer(world, [0, 2], 3, back=4) == (0, 3, 2, 1)
    assert world.clusters.position[4] == 1
    out = transfer(world, 6)
    assert world.clusters.size[out.target] == 0
    assert 5 <= out.target < 8
    with pytest.raises(ValueError, match=r"mentions \[0, 3\] are not all in one cluster"):
        transfer(world, [0, 3])
    with pytest.raises(ValueError, match=r"mentions \[1\] are not in slot 3, so they cannot come back from there"):
        transfer(world, [0, 2], 3, back=1)


def test_a_copy_of_a_world_walks_alone():
    toy = toy_of(8)
    world = world_of(toy)
    sampler = metropolis(world, 0.1 * toy.weights)
    sampler.step(stream(0), sampler.init())
    assert world.values.tolist() == list(range(8))
    copy = own_arrays(world)
    assert copy.clusters.cluster_of is not world.clusters.cluster_of
    assert copy.model.pair_offset is world.model.pair_offset


@pytest.mark.parametrize("has_compared", [False, True])
def test_walks_from_one_world_share_no_memory_of_pairs(has_compared):
    toy = toy_of(8)
    world = world_of(toy, proposer=proposer_of("every", 8))
    if has_compared:
        partition_score(world._replace(clusters=world_of(toy, assignment=[0] * 8).clusters), toy.weights)
        assert world.pairs.n_compared[0] == 8 * 7 / 2
    sampler = metropolis(world, 0.1 * toy.weights, n_moves=300)
    kept = [part.copy() for part in world.pairs if isinstance(part, np.ndarray)]
    one, other = sampler.init(), sampler.init()
    ends = [sampler.step(stream(4), state)[0].values.tolist() for state in (one, other)]
    assert ends[0] == ends[1]
    for state in (one, other):
        assert state.world.pairs.n_compared[0] == 8 * 7 / 2
    for was, part in zip(kept, [x for x in world.pairs if isinstance(x, np.ndarray)], strict=True):
        np.testing.assert_array_equal(was, part)


# --- bad arguments


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_mentions": None}, "pass n_mentions"),
        ({"truth": [0, 1], "assignment": [0, 1, 2]}, r"truth has shape \(2,\); give one number for each of the 3"),
        ({"document_ptr": [0, 3]}, "document_ptr must rise from 0 to the number of mentions, 4"),
        ({"document_ptr": [0, 3, 2, 4]}, "document_ptr must rise"),
    ],
)
def test_worlds_refuse_what_does_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        world_of(toy_of(4), **settings)


def test_blocks_must_not_reach_across_documents():
    settings = {"document_ptr": [0, 2, 4], "n_mentions": 4}
    groups = [[0, 1], [3, 2], [1, 2]]
    world_of(toy_of(4), proposer=block_guided(blocks_of(4, groups[:2])), **settings)
    with pytest.raises(ValueError, match=r"a block holds mentions 1 and 2, of documents 0 and 1, .* give block_guided"):
        world_of(toy_of(4), proposer=block_guided(blocks_of(4, groups)), **settings)


def test_mates_are_drawn_among_fewer_the_more_small_blocks_count():
    blocks = blocks_of(5, [[0, 1, 2, 3, 4], [0, 1]])
    for rarity in (0.0, 1.0):
        weight = 4.0**-rarity, 1.0
        among = (4 * weight[0] + 1 * weight[1]) / sum(weight)
        assert n_drawn_from(block_guided(blocks, rarity=rarity), 5) == pytest.approx((2 * among + 3 * 4) / 5)
    assert n_drawn_from(block_guided(blocks_of(5, [[0, 1, 2]])), 5) == pytest.approx(3 * 2 / 5)
    assert n_drawn_from(uniform_mention(), 5) == 0.0
    with pytest.raises(ValueError, match="rarity is -1"):
        block_guided(blocks, rarity=-1)


def test_shares_of_moves_are_checked():
    blocks = blocks_of(4, GROUPS[4])
    with pytest.raises(ValueError, match=r"shares are share_merge=0.7, share_uniform=0.5, .*; give each from 0 to 1"):
        block_guided(blocks, share_merge=0.7, share_uniform=0.5)
    for name in ("share_merge", "share_uniform", "share_swap", "share_several", "share_drawn"):
        for share in (-0.1, np.nan, 1.1):
            with pytest.raises(ValueError, match=f"{name}={share}.* at most 1 together"):
                block_guided(blocks, **{name: share})
    block_guided(blocks, share_merge=0.1, share_uniform=0.2, share_swap=0.3, share_several=0.2, share_drawn=0.2)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ((Affinity((("title", "pages"),)),), "names comparator 'pages'; there are title, year, venue"),
        ((Aggregate("title", "median"),), "how is 'median'; choose one of max, any"),  # pyright: ignore
        ((Distinct("pages"),), "names column 'pages'; there are venue, source, key"),
        ((Spread("venue"), Spread("venue")), "two templates would share the weights 'spread venue'"),
    ],
    ids=["comparator", "how", "column", "twice"],
)
def test_templates_that_cannot_be_grounded_are_named(templates, message):
    with pytest.raises(ValueError, match=message):
        Toy(4, templates)


def test_what_is_no_template_is_refused():
    with pytest.raises(TypeError, match="'affinity' is no template over partitions"):
        Toy(4, ("affinity",))
