"""Members of two clusters that change places: every verb against partitions counted from nothing."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.inference.metropolis import metropolis
from walkstep.references import refer
from walkstep.worlds.base import (
    commit,
    delta,
    difference,
    factor,
    factor_score,
    forbids,
    n_factors,
    n_leaving,
    propose,
    restart,
)
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import at_assignment, partition_world, transfer
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.randomness import stream
from walkstep.worlds.sparse import clear, sparse_vector
from worlds.naive_partition import ALL_TEMPLATES, Toy, blocks_of, exchanged, groups_of

pytestmark = pytest.mark.xdist_group("partition")

N = 9


@cache
def toy_of(templates=ALL_TEMPLATES):
    return Toy(N, templates)


@compiled(allocates=False)
def priced(world, move, weights, phi, by_factor, scores):
    """The difference at once and factor by factor, factors and those left behind, and the change of score."""
    here = refer(world)
    n = n_factors(here, move)
    for k in range(n):
        scores[k] = factor_score(here, move, k, weights, phi)
        factor(here, move, k, by_factor)
    change = delta(here, move, weights, phi)
    clear(phi)
    difference(here, move, phi)
    return n, n_leaving(here, move), change, forbids(here, move)


@compiled(allocates=False)
def make(world, move):
    commit(refer(world), move)


@compiled(allocates=False)
def jump(world, rng):
    """Make the move that is proposed; whether it is one."""
    here = refer(world)
    move, _ = propose(here, rng)
    commit(here, move)
    return move.n > 0


@compiled(allocates=False)
def go_home(world, goal):
    restart(refer(world), refer(goal))


def dense(phi, n):
    out = np.zeros(n)
    out[list(phi.to_dict())] = list(phi.to_dict().values())
    return out


def pairs_together(values):
    return {(i, j) for i, j in combinations(range(N), 2) if values[i] == values[j]}


def assert_counted(world, toy):
    """What is counted of clusters is what a fresh world counts."""
    fresh = partition_world(toy.model, toy.comparisons, assignment=world.values)
    at, there = world.clusters.cluster_of, fresh.clusters.cluster_of
    for name in ("level_counts", "distinct", "present"):
        np.testing.assert_array_equal(getattr(world, name)[at], getattr(fresh, name)[there], name)
        assert not np.delete(getattr(world, name), at, axis=0).any()
    np.testing.assert_array_equal(world.holders, fresh.holders)


@st.composite
def exchanges(draw):
    """A partition, and some of one cluster who change places with some of another."""
    values = draw(st.lists(st.integers(0, 2), min_size=N, max_size=N).filter(lambda v: len(set(v)) > 1))
    one, two = draw(st.permutations(groups_of(values)))[:2]
    some = [draw(st.lists(st.sampled_from(group), min_size=1, unique=True)) for group in (one, two)]
    return values, *some


def check_exchange(world, toy, weights, movers, back):
    """Ask every verb about an exchange, and make it."""
    before = world.values
    after = exchanged(before, movers, back)
    move = transfer(world, movers, int(world.clusters.cluster_of[back[0]]), back)
    n_weights = len(weights)
    phi, by_factor, scores = sparse_vector(n_weights), sparse_vector(n_weights), np.zeros(500)
    n, n_left, change, is_forbidden = priced(world, move, weights, phi, by_factor, scores)
    expected = toy.statistics(after) - toy.statistics(before)
    np.testing.assert_allclose(dense(phi, n_weights), expected, atol=1e-12)
    np.testing.assert_allclose(dense(by_factor, n_weights), expected, atol=1e-12)
    was, will_be = pairs_together(before), pairs_together(after)
    assert n == len(was ^ will_be) + 2 * len(toy.model.kind) + len(toy.model.spread_column)
    assert n_left == len(was - will_be)
    assert scores[:n].sum() == pytest.approx(weights @ expected, abs=1e-9)
    assert groups_of(world.values) == groups_of(before)
    make(world, move)
    assert groups_of(world.values) == groups_of(after)
    assert_counted(world, toy)
    return change, is_forbidden, was, will_be


@settings(max_examples=60)
@given(exchanges())
def test_exchanges_are_priced_and_made_as_whole_partitions_say(given):
    values, movers, back = given
    toy = toy_of()
    world = partition_world(toy.model, toy.comparisons, assignment=values)
    change, is_forbidden, _, _ = check_exchange(world, toy, toy.weights, movers, back)
    assert not is_forbidden
    assert change == pytest.approx(toy.score(exchanged(values, movers, back)) - toy.score(values), abs=1e-9)


@pytest.mark.parametrize("template", ALL_TEMPLATES, ids=str)
def test_every_template_prices_exchanges_on_its_own(template):
    toy = toy_of((template,))
    # Some for some, all for some, some for all; and all for all, which changes nothing but names.
    for movers, back in (([0, 2], [5]), ([7, 8], [4]), ([4], [7, 8]), ([4, 5, 6], [7, 8])):
        world = partition_world(toy.model, toy.comparisons, assignment=[0, 0, 0, 0, 1, 1, 1, 2, 2])
        gained = toy.score(exchanged(world.values, movers, back)) - toy.score(world.values)
        assert check_exchange(world, toy, toy.weights, movers, back)[0] == pytest.approx(gained, abs=1e-12)
        assert gained == 0.0 or len(movers) < 3


@settings(max_examples=60)
@given(exchanges(), st.lists(st.integers(-1, 3), min_size=N, max_size=N))
def test_exchanges_that_break_are_forbidden_and_those_that_only_mend_are_urged(given, source):
    values, movers, back = given
    toy, apart = toy_of(ALL_TEMPLATES[:1]), [(0, 1), (2, 5), (1, 6), (3, 8), (4, 7)]
    held = link_constraints(N, apart=apart, source=source)
    world = partition_world(toy.model, toy.comparisons, assignment=values, constraints=held)
    change, is_forbidden, was, will_be = check_exchange(world, toy, toy.weights, movers, back)

    def n_bad(pairs):
        return sum((pair in apart) + (source[pair[0]] == source[pair[1]] >= 0) for pair in pairs)

    assert is_forbidden == (n_bad(will_be - was) > 0)
    if is_forbidden:
        assert change == -np.inf
    elif n_bad(was - will_be):
        assert change == np.inf
    else:
        assert np.isfinite(change)


@given(st.data())
def test_exchanges_are_undone_by_going_home(data):
    toy = toy_of()
    start = data.draw(exchanges())[0]
    goal = partition_world(toy.model, toy.comparisons, assignment=start)
    world = at_assignment(goal, start)._replace(journal=np.zeros(10 * N, np.int64))
    for _ in range(4):
        groups = groups_of(world.values)
        one, two = data.draw(st.permutations(groups))[:2]
        movers, back = (data.draw(st.lists(st.sampled_from(g), min_size=1, unique=True)) for g in (one, two))
        n = int(world.n_journal[0])
        make(world, transfer(world, movers, int(world.clusters.cluster_of[back[0]]), back))
        assert sorted(world.journal[n : world.n_journal[0]].tolist()) == sorted(movers + back)
    go_home(world, goal)
    assert groups_of(world.values) == groups_of(start)
    assert world.n_journal[0] == 0
    assert_counted(world, toy)


@pytest.mark.parametrize(
    "values", [[0, 0, 0, 0, 4, 4, 4, 7, 7], [0, 0, 2, 3, 4, 4, 4, 4, 4], [0, 0, 2, 3, 4, 4, 4, 7, 8]]
)
def test_a_swap_keeps_atoms_whole_and_never_only_changes_names(values):
    toy = toy_of(ALL_TEMPLATES[:1])
    held = link_constraints(N, together=[[0, 1], [4, 5], [5, 6]])
    proposer = block_guided(blocks_of(N, [range(N)]), share_merge=0.0, share_swap=1.0)
    world = partition_world(toy.model, toy.comparisons, assignment=values, constraints=held, proposer=proposer)
    n_made = 0
    for seed in range(100):
        here = at_assignment(world, values)
        is_move = jump(here, stream(seed))
        assert is_move == (here.values.tolist() != values)
        assert here.values[0] == here.values[1]
        assert here.values[4] == here.values[5] == here.values[6]
        n_made += is_move
    assert (n_made > 20) == (len(set(values)) < 6)  # where every cluster is an atom there is nothing to exchange
    assert n_made > 20 or n_made == 0


def test_a_swap_leads_past_what_constraints_bar_single_moves_from():
    # Two sources of four records each, paired wrongly: no record can move while its place is taken.
    toy, source = toy_of(ALL_TEMPLATES[:1]), [0, 1, 0, 1, 0, 1, 0, 1, -1]
    held = link_constraints(N, source=source)
    values = [0, 1, 1, 0, 4, 5, 5, 4, 8]
    blocks = blocks_of(N, [[0, 1, 2, 3], [4, 5, 6, 7]])
    reached = {}
    for share_swap in (0.0, 0.5):
        proposer = block_guided(blocks, share_merge=0.0, share_swap=share_swap)
        world = partition_world(toy.model, toy.comparisons, assignment=values, constraints=held, proposer=proposer)
        weights = np.ones(toy.model.n_weights)  # every pair pulls, so that no one leaves for being alone
        sampler = metropolis(world, weights, temperature=0.0, n_moves=500)
        state, _ = sampler.step(stream(0), sampler.init())
        reached[share_swap] = state.values.tolist() != values
    assert reached == {0.0: False, 0.5: True}
