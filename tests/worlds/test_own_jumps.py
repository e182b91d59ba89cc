"""A user's own jump: what it is shown, what its answer makes of a partition, and what is refused."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.inference import metropolis, monte_carlo_error, run
from walkstep.inference.partition_search import default_moves, search
from walkstep.learning import Trainer
from walkstep.testing import check_world
from walkstep.worlds import as_jump, below, link_constraints, members_of, partition_world, uniform
from walkstep.worlds.clusters import first_mentions
from walkstep.worlds.partition_signals import pair_f1
from walkstep.worlds.randomness import stream
from worlds.naive_partition import Toy, exchanged, groups_of, partitions
from worlds.test_partition import draw_proposals

pytestmark = pytest.mark.xdist_group("partition")

N = 6
PARTITIONS = st.lists(st.integers(0, 3), min_size=N, max_size=N)


def dictated(partition, first, last, moved, rng):
    """Do as the words say that others take random numbers from: how many, where to, who, as the digits of a number."""
    n, to, who = np.int64(rng[0]), np.int64(rng[1]), np.int64(rng[2])
    for k in range(min(n, len(moved))):
        moved[k] = who % 10
        who //= 10
    return n, to, (-math.inf, 0.25, math.inf, math.nan)[rng[3]]


def together(partition, first, last, moved, rng):
    """Say in the ratio what is seen: all members of all clusters as digits, a 9 behind each cluster."""
    seen = 0.0
    for cluster in np.sort(partition.clusters):
        for m in np.sort(members_of(partition, cluster)):
            seen = 10.0 * seen + (m if partition.cluster_of[m] == cluster else 8)
        seen = 10.0 * seen + 9.0
    moved[0] = first
    return 1, last - 1 if partition.size[partition.cluster_of[first]] == 1 else -1, seen  # a move, whatever there is


def take_along(partition, first, last, moved, rng):
    """One mention, and by a coin the next one if that is with it, to the cluster of any other; or out of their own."""
    m = first + below(rng, last - first)
    mate = m + 1 if m + 1 < last else first
    own = partition.cluster_of[m]
    is_with = partition.cluster_of[mate] == own
    is_along = is_with and uniform(rng) < 0.5
    moved[0], moved[1] = m, mate
    n = 2 if is_along else 1
    other = first + below(rng, last - first)
    if other == m or (is_along and other == mate):
        return 0, -1, 0.0
    target = partition.cluster_of[other]
    rest = partition.size[own] - n
    ratio = math.log(2.0) if is_with and not is_along else 0.0  # apart from the next one no coin is thrown
    if target == own:
        return n, -1, ratio
    if not is_with and partition.cluster_of[mate] == target:
        ratio -= math.log(2.0)
    return n, other, ratio + (math.log(rest / partition.size[target]) if rest > 0 else 0.0)


@cache
def toy():
    return Toy(N, seed=2)


@cache
def scores():
    """The score of every partition."""
    return np.array([toy().score(y) for y in partitions(N)])


@cache
def jump_of(function):
    return as_jump(function, max_moved=4)


def world_of(function=dictated, **given):
    given.setdefault("n_mentions", N)
    return partition_world(toy().model, toy().comparisons, proposer=jump_of(function), **given)


def ask(world, n, to, who, ratio=1):
    """Where one dictated jump leads, by the first mention of each cluster, and its ratio."""
    words = np.array([n, to, who, ratio]).astype(np.int64).view(np.uint64)
    after, ratios = np.zeros((1, N), np.int32), np.zeros(1)
    draw_proposals(world, words, after, ratios)
    return tuple(first_mentions(after[0]).tolist()), float(ratios[0])


def digits(mentions):
    """Mentions as the digits of a number, the first one last."""
    return int("".join(str(m) for m in reversed(mentions)) or "0")


# --- what is made of an answer


@settings(max_examples=60)
@given(PARTITIONS, st.data())
def test_mentions_of_one_cluster_go_where_they_are_told_to(assignment, data):
    groups = groups_of(assignment)
    source = data.draw(st.sampled_from(groups))
    movers = data.draw(st.lists(st.sampled_from(source), min_size=1, max_size=4))
    to = data.draw(st.sampled_from([-1, *range(N)]))
    after, ratio = ask(world_of(assignment=assignment), len(movers), to, digits(movers))
    expected = groups_of(assignment) if to in source else _moved(groups, set(movers), to)
    assert after == _named(expected)
    assert ratio == (0.25 if after != _named(groups) else 0.0)


def _moved(groups, movers, to):
    rest = [set(group) - movers | (movers if to in group else set()) for group in groups]
    return [group for group in [*rest, *([movers] if to < 0 else [])] if group]


def _named(groups):
    name = {m: min(group) for group in groups for m in group}
    return tuple(name[m] for m in range(N))


@pytest.mark.parametrize(
    ("who", "to", "back"),
    [([0], 3, [3]), ([3, 0], 3, [3]), ([0, 4], 3, [4]), ([0, 1, 3], 4, [3]), ([0, 3, 4], 3, [3, 4])],
)
def test_those_who_are_with_the_target_come_back_in_exchange(who, to, back):
    assignment = [0, 0, 0, 1, 1, 2]
    going = [m for m in who if assignment[m] == 0]
    given = [*going, *back]
    after, _ = ask(world_of(assignment=assignment), len(given), to, digits(given))
    assert after == exchanged(assignment, going, back)


@pytest.mark.parametrize(
    ("assignment", "who", "to"),
    [
        ([0, 0, 1, 1, 2, 2], [], 0),  # none
        ([0, 0, 1, 1, 2, 2], [0, 1], -1),  # a cluster that would only get another name
        ([0, 0, 1, 1, 2, 2], [0, 1, 2, 3], 2),  # two that would exchange theirs
        ([0, 0, 1, 1, 2, 2], [0], 1),  # there already
        ([0, 1, 2, 3, 4, 5], [3], -1),  # no slot is free, nor needed
    ],
)
def test_what_changes_nothing_is_no_move(assignment, who, to):
    assert ask(world_of(assignment=assignment), len(who), to, digits(who)) == (_named(groups_of(assignment)), 0.0)


def test_those_who_must_stay_together_go_along():
    held = link_constraints(N, together=[[0, 2], [2, 5]])
    world = world_of(assignment=[0, 0, 0, 1, 1, 0], constraints=held)
    assert ask(world, 1, -1, 2)[0] == (0, 1, 0, 3, 3, 0)
    assert ask(world, 2, 3, digits([5, 0]))[0] == (0, 1, 0, 0, 0, 0)
    assert ask(world, 2, 3, digits([2, 3]))[0] == (0, 1, 0, 1, 0, 0)
    assert ask(world, 2, 3, digits([2, 1]))[0] == (0, 0, 0, 0, 0, 0)
    assert ask(world, 1, -1, 1)[0] == (0, 1, 0, 3, 3, 0)


@given(PARTITIONS)
@settings(max_examples=20)
def test_a_jump_is_shown_the_document_it_is_in(assignment):
    world = world_of(together, assignment=assignment, document_ptr=[0, 2, N])
    after, ratios = np.zeros((1, N), np.int32), np.zeros(1)
    for d, (first, last) in enumerate([(0, 2), (2, N)]):
        world.window[:] = first, last, d
        here = sorted(({first + m for m in group} for group in groups_of(assignment[first:last])), key=min)
        draw_proposals(world, stream(0), after, ratios)
        assert int(ratios[0]) == int("".join(f"{''.join(map(str, sorted(group)))}9" for group in here))


# --- what is refused


@pytest.mark.parametrize(
    ("n", "to", "who", "ratio", "message"),
    [
        (5, 2, 0, 1, "moved more mentions than max_moved, or fewer than none; see as_jump"),
        (-1, 2, 0, 1, "moved more mentions than max_moved"),
        (1, 2, 4, 1, "moved a mention outside of the document entered; keep to first <= m < last"),
        (1, 5, 2, 1, "goes to a mention outside of the document entered; -1 means a new cluster"),
        (1, -2, 2, 1, "goes to a mention outside of the document"),
        (2, -1, 20, 1, "moved mentions of several clusters; move those of one at a time"),
        (3, 3, 210, 1, "moved mentions of several clusters"),
        (1, -1, 0, 2, "log ratio of the jump is infinite or no number; where there is no way back it is -inf"),
        (1, -1, 0, 3, "log ratio of the jump is infinite or no number"),
    ],
)
def test_answers_that_make_no_sense_are_refused(n, to, who, ratio, message):
    world = world_of(assignment=[0, 0, 1, 2, 0, 0], document_ptr=[0, 4, N])
    before = world.values.tolist()
    with pytest.raises(ValueError, match=message):
        ask(world, n, to, who, ratio)
    assert world.values.tolist() == before


def meddle(partition, first, last, moved, rng):
    partition.cluster_of[first] = 0
    return 0, -1, 0.0


def too_few(partition, moved):
    return 0, -1, 0.0


def no_ratio(partition, first, last, moved, rng):
    return 0, -1


@pytest.mark.parametrize("function", [meddle, too_few, no_ratio])
def test_functions_that_do_not_fit_are_refused_at_once(function):
    said = rf"jump '{function.__name__}' does not compile as \(partition, first, last, moved, rng\) -> \(n, to"
    with pytest.raises(TypeError, match=said):
        as_jump(function)


def test_room_for_none_is_refused():
    with pytest.raises(ValueError, match="max_moved is 0; give at least 1"):
        as_jump(dictated, max_moved=0)


def picky(partition, first, last, moved, rng):
    if len(partition.clusters) < 3:
        raise ValueError("two are too few")
    moved[0] = first
    return 1, last - 1, 0.0


def test_errors_raised_inside_reach_the_caller():
    sampler = metropolis(world_of(picky, assignment=[0, 0, 0, 1, 1, 1]), toy().weights)
    with pytest.raises(ValueError, match="two are too few"):
        sampler.step(stream(0), sampler.init())


# --- walks


def test_verbs_say_what_own_jumps_do():
    checks = check_world(
        world_of(take_along, truth=[0, 0, 1, 1, 1, 2], signal=pair_f1()),
        0.3 * toy().weights,
        n_moves=60,
        n_tries=0,
        statistics=lambda world: toy().statistics(world.values),
    )
    assert checks.n_moves == 60


@pytest.mark.statistical
def test_a_walk_by_own_jumps_samples_the_model():
    weights = 0.2 * toy().weights
    states = np.array(partitions(N))
    chance = np.exp(0.2 * scores())
    chance /= chance.sum()
    walk = run(metropolis(world_of(take_along), weights, n_moves=20), None, 4000, rng=0)
    for i, j in ((0, 1), (0, 3), (2, 5)):
        is_together = walk.draws[:, :, i] == walk.draws[:, :, j]
        exact = chance[states[:, i] == states[:, j]].sum()
        assert abs(is_together.mean() - exact) < 5 * monte_carlo_error(is_together)


def test_a_search_by_own_jumps_finds_the_best_of_all_partitions():
    world = world_of(take_along)
    assert default_moves(world) == 60 * N
    best = scores().max()
    assert search(world, toy().weights, n_moves=3000, rng=0).score == pytest.approx(best)
    assert search(world, toy().weights, rng=0, shares=lambda progress: 0.5).score <= best + 1e-9


def test_a_focus_is_refused():
    with pytest.raises(ValueError, match="a jump of your own chooses who moves by itself; leave focus out"):
        search(world_of(take_along), toy().weights, focus=[1, 2], n_moves=10)


@pytest.mark.slow
def test_training_goes_by_own_jumps():
    truth = [0, 0, 0, 1, 1, 1]
    trainer = Trainer(world_of(take_along, truth=truth), sampler="metropolis", n_sweeps=20, rng=0)
    epochs = [trainer.epoch() for _ in range(4)]
    assert epochs[0].tally.violated > 0
    assert search(world_of(take_along), trainer.weights, rng=0).assignment.tolist() == [0, 0, 0, 3, 3, 3]
