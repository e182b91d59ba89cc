from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from walkstep.compiled import compiled
from walkstep.inference import enumerate_worlds, metropolis
from walkstep.inference.monte_carlo import (
    Z,
    _gradient_monte_carlo,
    _put_back,
    estimate,
    max_factors,
    monte_carlo_transition,
)
from walkstep.learning.train import Trainer
from walkstep.model import Factors, ground
from walkstep.references import refer
from walkstep.worlds import Flip, label_world, register, sparse_vector, stream
from walkstep.worlds.base import delta, difference, factor_score, n_factors
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import partition_world, transfer
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.sparse import clear
from worlds.naive_partition import ALL_TEMPLATES, Toy, blocks_of

pytestmark = pytest.mark.xdist_group("partition")

N = 9


@cache
def toy():
    return Toy(N, (*ALL_TEMPLATES[:4], *ALL_TEMPLATES[8:]))


@compiled(allocates=False)
def scores_of(world, move, weights, phi, out):
    """The factors of a move one by one; returns how many, and the exact change."""
    here = refer(world)
    n = n_factors(here, move)
    for k in range(n):
        out[k] = factor_score(here, move, k, weights, phi)
    clear(phi)
    return n, delta(here, move, weights, phi)


@compiled(allocates=False)
def estimates(world, transition, move, weights, phi, rng, sizes, orders, out):
    """Draws of the estimate, with the factors that each has looked at."""
    here = refer(world)
    for i in range(len(out)):
        out[i] = estimate(transition, here, move, weights, phi, rng)
        drawn = transition.drawn
        sizes[i] = drawn[0, 0] + drawn[1, 0]
        # In the order of drawing, each side by itself: the places that exchanges went to.
        for k in range(drawn[0, 0]):
            orders[i, k] = transition.order[k]
        for k in range(drawn[1, 0]):
            orders[i, drawn[0, 0] + k] = transition.order[drawn[0, 1] + k]
    _put_back(transition)


@compiled(allocates=False)
def gradients(world, transition, move, weights, phi, rng, total, squares):
    """Sums of the sampled gradient over many draws."""
    here = refer(world)
    for _ in range(2000):
        estimate(transition, here, move, weights, phi, rng)
        clear(phi)
        _gradient_monte_carlo(transition, here, move, phi)
        for e in range(phi.size[0]):
            total[phi.index[e]] += phi.value[e]
            squares[phi.index[e]] += phi.value[e] ** 2


@compiled(allocates=False)
def exact_gradient(world, move, phi):
    clear(phi)
    difference(refer(world), move, phi)


def star(n_factors=7, seed=0):
    """A binary variable with unary factors of its own weights, and another one that has none."""
    rng = np.random.default_rng(seed)
    at = np.zeros((n_factors, 1), int)
    graph, _ = ground([2, 2], [Factors("unary", at, sets=np.arange(n_factors), n_sets=n_factors)])
    return graph, rng.normal(size=graph.n_weights)


MOVES = ("labels", "one mention", "merge", "exchange")


@cache
def priced(name):
    """A world, a move in it, and the weights it is priced by."""
    if name == "labels":
        graph, weights = star()
        return label_world(graph, values=[0, 0]), Flip(0, 1), weights
    values = [0, 0, 0, 0, 1, 1, 1, 2, 2]
    world = partition_world(toy().model, toy().comparisons, n_mentions=N, assignment=values)
    movers, back = {"one mention": (1, None), "merge": ([0, 1, 2, 3], None), "exchange": ([1, 3], 4)}[name]
    return world, transfer(world, movers, int(world.clusters.cluster_of[5]), back), toy().weights


def drawn(world, move, weights, n_draws, **settings):
    """Estimates, sizes, orders, the factors' scores, the exact change and the transition."""
    phi, scores = sparse_vector(len(weights)), np.zeros(500)
    n, exact = scores_of(world, move, weights, phi, scores)
    transition = monte_carlo_transition(500, **settings)
    out, sizes = np.zeros(n_draws), np.zeros(n_draws, np.int64)
    orders = np.zeros((n_draws, 500), np.int32)
    estimates(world, transition, move, weights, phi, stream(0), sizes, orders, out)
    return out, sizes, orders, scores[:n], exact, transition


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6])
def test_a_share_of_the_factors_is_drawn_without_replacement_and_without_bias(name, share):
    world, move, weights = priced(name)
    out, sizes, orders, scores, exact, transition = drawn(world, move, weights, 4000, share=share, by_side=False)
    n = len(scores)
    assert scores.sum() == pytest.approx(exact)
    assert set(sizes.tolist()) == {max(1, int(share * n))}
    assert transition.examined[0] == sizes.sum()
    assert transition.order.tolist() == list(range(500))
    for estimated, size, order in zip(out[:300], sizes, orders, strict=False):
        looked_at = order[:size]
        assert len(set(looked_at.tolist())) == size
        assert looked_at.max() < n
        assert estimated == pytest.approx(n * scores[looked_at].mean())
    assert abs(out.mean() - exact) < 5 * out.std() / np.sqrt(len(out))
    # The variance of a mean drawn without replacement.
    size = sizes[0]
    spread = n**2 * scores.var(ddof=1) / size * (n - size) / n
    assert out.var() == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(("name", "n_left"), [("one mention", 3), ("exchange", 2 * 2 + 1 * 2)])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6])
def test_either_side_of_a_move_is_drawn_from_in_proportion_and_without_bias(share, name, n_left):
    world, move, weights = priced(name)
    out, sizes, orders, scores, exact, transition = drawn(world, move, weights, 4000, share=share)
    n = len(scores)
    size = max(2, int(share * n))
    assert set(sizes.tolist()) == {size}
    assert transition.examined[0] == sizes.sum()
    assert transition.order.tolist() == list(range(500))
    left, other = scores[:n_left], scores[n_left:]
    of_left = int((orders[0, :size] < n_left).sum())
    assert 1 <= of_left < size
    assert abs(of_left / n_left - (size - of_left) / len(other)) <= 1 / n_left
    for estimated, order in zip(out[:300], orders, strict=False):
        seen_left, seen_other = order[:of_left], order[of_left:size]
        assert len(set(order[:size].tolist())) == size
        assert seen_left.max() < n_left <= seen_other.min()
        assert estimated == pytest.approx(n_left * scores[seen_left].mean() + len(other) * scores[seen_other].mean())
    assert abs(out.mean() - exact) < 5 * out.std() / np.sqrt(len(out))
    # Variances of means drawn without replacement from either side, added up.
    spread = 0.0
    for part, seen in ((left, of_left), (other, size - of_left)):
        spread += len(part) ** 2 * part.var(ddof=1) / seen * (len(part) - seen) / len(part)
    assert out.var() == pytest.approx(spread, rel=0.15)


def test_a_sample_by_sides_always_looks_at_both():
    world, move, weights = priced("one mention")
    _, _, orders, _, _, _ = drawn(world, move, weights, 200, share=0.01)
    assert (orders[:, 0] < 3).all()
    assert (orders[:, 1] >= 3).all()


def test_a_move_that_leaves_nothing_behind_has_one_side():
    world, move, weights = priced("merge")
    sizes, orders = drawn(world, move, weights, 200, share=0.01)[1:3]
    assert set(sizes.tolist()) == {1}
    assert len(set(orders[:, 0].tolist())) > 5


@pytest.mark.parametrize("temperature", [0.0, 0.3, 2.0])
def test_a_screened_move_is_turned_down_by_one_factor_of_where_it_goes(temperature):
    world, move, weights = priced("one mention")
    n_draws = 4000
    settings = {"share": 0.01, "temperature": temperature, "screen": True}
    out, sizes, orders, scores, _, transition = drawn(world, move, weights, n_draws, **settings)
    where_to = scores[3:]
    is_down = np.isneginf(out)
    assert set(sizes[is_down].tolist()) == {1}
    assert set(sizes[~is_down].tolist()) == {2}
    assert transition.examined[0] == sizes.sum()
    assert (orders[is_down, 0] >= 3).all()
    if temperature == 0.0:
        assert set(scores[orders[is_down, 0]].tolist()) == set(where_to[where_to < 0].tolist())
        down = (where_to < 0).mean()
    else:
        down = 1 - np.minimum(1.0, np.exp(len(where_to) * where_to / temperature)).mean()
    assert 0 < down < 1
    assert abs(is_down.mean() - down) < 5 * np.sqrt(down * (1 - down) / n_draws)


@pytest.mark.parametrize("name", ["one mention", "merge", "exchange"])
def test_what_passes_the_screen_is_priced_by_all_factors_where_all_are_asked_for(name):
    world, move, weights = priced(name)
    out, _, _, scores, exact, transition = drawn(world, move, weights, 400, share=1.0, temperature=2.0, screen=True)
    is_down = np.isneginf(out)
    assert 0 < is_down.mean() < 1
    np.testing.assert_allclose(out[~is_down], exact)
    assert transition.examined[0] == is_down.sum() + (~is_down).sum() * len(scores)


def test_screening_needs_to_know_the_sides():
    with pytest.raises(ValueError, match="screen=True looks first at where a move goes"):
        monte_carlo_transition(10, share=0.1, by_side=False, screen=True)
    graph, weights = star()
    with pytest.raises(ValueError, match="LabelWorld has no verb 'n_leaving' to tell"):
        metropolis(graph, weights, share=0.1, screen=True)


def naive_size(scores, n, width):
    """How many factors Eq. 8 and 9 ask for, drawn in this order."""
    for size in range(2, n):
        sigma = np.sqrt(((scores[:size] - scores[:size].mean()) ** 2).sum() / (size - 1))
        if 2 * 1.96 * sigma / np.sqrt(size) * np.sqrt((n - size) / (n - 1)) <= width:
            return size
    return n


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("width", [0.2, 1.0, 3.0])
def test_factors_are_drawn_until_the_confidence_interval_is_narrow(name, width):
    world, move, weights = priced(name)
    out, sizes, orders, scores, exact, transition = drawn(world, move, weights, 300, width=width, by_side=False)
    n = len(scores)
    everything = np.arange(n)
    for estimated, size, order in zip(out, sizes, orders, strict=True):
        rest = np.setdiff1d(everything, order[:size])
        in_order = scores[np.concatenate([order[:size], rest])]
        assert size == naive_size(in_order, n, width)
        assert estimated == pytest.approx(n * in_order[:size].mean())
        if size == n:
            assert estimated == pytest.approx(exact)
    assert transition.examined[0] == sizes.sum()


def test_a_width_ends_a_draw_by_sides_too():
    world, move, weights = priced("one mention")
    n_seen = {}
    for width in (0.0, 0.5, 100.0):
        out, sizes, _, scores, exact, _ = drawn(world, move, weights, 300, width=width)
        n_seen[width] = sizes.mean() or len(scores)
        np.testing.assert_allclose(out[sizes == len(scores)], exact)
    assert n_seen[100.0] == 2
    assert 2 < n_seen[0.5] <= n_seen[0.0] == len(scores)


def test_the_width_of_the_interval_by_hand():
    # Two of four factors seen, 0 and 1: their variance is 1/2, so the interval is
    # 2 * 1.96 * sqrt(1/2) / sqrt(2) * sqrt(2 / 3) = 1.6003 wide; two equal ones leave no doubt at all.
    graph, _ = star(4)
    weights = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]).ravel()
    world = label_world(graph, values=[0, 0])
    for width, at_most in ((1.61, 2), (1.59, 4)):
        _, sizes, orders, scores, _, _ = drawn(world, Flip(0, 1), weights, 200, width=width)
        assert scores.tolist() == [0.0, 1.0, 0.0, 1.0]
        differ = scores[orders[:, 0]] != scores[orders[:, 1]]
        assert set(sizes[~differ].tolist()) == {2}
        # Three seen, one unlike the others: 2 * 1.96 * sqrt(1/3) / sqrt(3) * sqrt(1/3) = 0.754.
        assert set(sizes[differ].tolist()) == {2 if at_most == 2 else 3}
    assert Z == 1.96


def test_all_factors_are_looked_at_by_a_share_of_one_or_a_width_of_nought():
    world, move, weights = priced("labels")
    for settings in ({}, {"share": 1.0}, {"width": 0.0}):
        out, sizes, _, scores, exact, transition = drawn(world, move, weights, 10, **settings)
        np.testing.assert_allclose(out, exact)
        assert sizes.tolist() == [0] * 10  # none was drawn: the world prices the move at once
        assert transition.examined[0] == 10 * len(scores)


@pytest.mark.parametrize("name", MOVES)
def test_the_gradient_of_the_sample_is_without_bias(name):
    world, move, weights = priced(name)
    phi = sparse_vector(len(weights))
    exact_gradient(world, move, phi)
    exact = np.zeros(len(weights))
    exact[list(phi.to_dict())] = list(phi.to_dict().values())
    clear_of = sparse_vector(len(weights))
    total, squares = np.zeros(len(weights)), np.zeros(len(weights))
    gradients(world, monte_carlo_transition(500, share=0.3), move, weights, clear_of, stream(1), total, squares)
    mean, error = total / 2000, np.sqrt(np.maximum(squares / 2000 - (total / 2000) ** 2, 0) / 2000)
    assert (np.abs(mean - exact) <= 5 * error + 1e-9).all()
    assert (error > 0).any()


# --- on the walk


def test_a_share_of_one_is_plain_metropolis_move_for_move():
    graph, weights = star(5)
    plain, counted = metropolis(graph, weights), metropolis(graph, weights, share=1.0)
    states = [plain.init([0, 0]), counted.init([0, 0])]
    rngs = [stream(4), stream(4)]
    for _ in range(200):
        (states[0], a), (states[1], b) = plain.step(rngs[0], states[0]), counted.step(rngs[1], states[1])
        np.testing.assert_array_equal(states[0].values, states[1].values)
        assert a.n_accepted == b.n_accepted
        assert a.n_factors is None
        assert b.n_factors % 5 == 0


def partition_walk(**settings):
    blocks = blocks_of(N, [list(range(5)), list(range(3, N))])
    world = partition_world(
        toy().model, toy().comparisons, n_mentions=N, proposer=block_guided(blocks, share_merge=0.3)
    )
    return metropolis(world, 0.2 * toy().weights, n_moves=100, **settings)


def test_partitions_count_their_factors_in_any_case():
    draws = []
    for settings in ({}, {"share": 1.0}, {"width": 0.0}):
        sampler = partition_walk(**settings)
        state, info = sampler.step(stream(0), sampler.init())
        draws.append((state.values.tolist(), info))
    assert draws[0] == draws[1] == draws[2]
    assert draws[0][1].n_factors > 100


def test_a_smaller_share_looks_at_fewer_factors_and_the_score_stays_right():
    counts = {}
    for share in (1.0, 0.5, 0.1):
        sampler = partition_walk(share=share)
        state, rng, counts[share] = sampler.init(), stream(0), 0
        for _ in range(20):
            state, info = sampler.step(rng, state)
            counts[share] += info.n_factors
            assert sampler.score(state) == pytest.approx(0.2 * toy().score(state.values))
    assert counts[0.1] < 0.25 * counts[1.0]
    assert counts[0.1] < counts[0.5] < 0.75 * counts[1.0]


def test_a_screened_walk_looks_at_fewer_factors_and_the_score_stays_right():
    counts = {}
    for screen in (False, True):
        sampler = partition_walk(share=0.1, screen=screen)
        state, rng, counts[screen] = sampler.init(), stream(0), 0
        for _ in range(20):
            state, info = sampler.step(rng, state, 0.1)
            counts[screen] += info.n_factors
            assert sampler.score(state) == pytest.approx(0.2 * toy().score(state.values))
    assert counts[True] < 0.9 * counts[False]


def test_a_share_given_to_a_step_counts_for_that_step_alone():
    sampler = partition_walk(share=0.2)
    state, rng = sampler.init(), stream(0)
    for share in (None, 1.0, 0.5, None):
        state, info = sampler.step(rng, state) if share is None else sampler.step(rng, state, share=share)
        assert state.transition.share[0] == (0.2 if share is None else share)
        assert info.n_factors > 0
        assert sampler.score(state) == pytest.approx(0.2 * toy().score(state.values))


@pytest.mark.statistical
@pytest.mark.parametrize("settings", [{"share": 0.3}, {"width": 0.5}])
def test_where_factors_are_alike_a_sample_of_them_walks_as_all_do(settings):
    graph, _ = ground([2, 3], [Factors("unary", np.zeros((10, 1), int)), Factors("other", [[1]] * 4)])
    weights = np.array([0.0, 0.06, 0.0, 0.1, 0.3])
    sampler = metropolis(graph, weights, n_moves=10, **settings)
    state, rng, draws = sampler.init([0, 0]), stream(0), []
    for _ in range(4000):
        state, _ = sampler.step(rng, state)
        draws.append(state.values.copy())
    exact = enumerate_worlds(graph, weights).marginals()
    for v, n in enumerate((2, 3)):
        share = (np.array(draws)[:, v, None] == np.arange(n)).mean(axis=0)
        assert (np.abs(share - exact[v, :n]) < 5 * np.sqrt(0.25 / 4000)).all()


def test_fixed_factors_that_forbid_are_never_sampled_away():
    table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    others = [Factors("unary", np.zeros((20, 1), int))]
    graph, layout = ground([2, 2], [*others, Factors("equal", [[0, 1]], fixed=table)])
    sampler = metropolis(graph, np.zeros(layout.size), n_moves=1, share=0.1)
    state, rng = sampler.init([1, 1]), stream(0)
    for _ in range(200):
        state, _ = sampler.step(rng, state)
        assert state.values[0] == state.values[1]


@pytest.mark.parametrize("settings", [{"share": 0.5}, {"width": 0.5}])
def test_a_variable_without_factors_moves_freely(settings):
    graph, weights = star()
    sampler = metropolis(graph, weights, n_moves=4, **settings)
    state, rng, seen = sampler.init([0, 0]), stream(0), []
    for _ in range(400):
        state, _ = sampler.step(rng, state)
        seen.append(state.values[1])
    assert 0.3 < np.mean(seen) < 0.7


def test_broken_constraints_are_mended_by_a_sampled_walk_too():
    held = link_constraints(N, apart=[[0, 1], [2, 3]])
    world = partition_world(toy().model, toy().comparisons, n_mentions=N, assignment=[0] * N, constraints=held)
    sampler = metropolis(world, 0.05 * toy().weights, n_moves=2000, share=0.3)
    state, _ = sampler.step(stream(0), sampler.init())
    assert state.values[0] != state.values[1]
    assert state.values[2] != state.values[3]


# --- in learning


@pytest.mark.parametrize("settings", [{"share": 0.4}, {"width": 0.5}])
def test_learners_of_labels_take_a_sample_of_the_factors(settings):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 30)
    features = np.where(truth[:, None] == 1, 1.0, -1.0) + rng.normal(size=(30, 3)) * 0.1
    groups = [Factors(f"f{k}", np.arange(30)[:, None], features=features[:, [k]]) for k in range(3)]
    graph, _ = ground(np.full(30, 2), groups)
    trainer = Trainer(label_world(graph, truth), sampler="metropolis", rule="mira", n_sweeps=5, rng=0, **settings)
    for _ in range(5):
        trainer.epoch()
    assert 0 < trainer.n_factors < 5 * 5 * 30 * 3
    assert (features @ trainer.weights.reshape(3, 2)).argmax(axis=1).tolist() == truth.tolist()


def test_the_share_of_a_learner_can_change_between_epochs():
    world = partition_world(toy().model, toy().comparisons, np.arange(N) // 3)
    trainer = Trainer(world, sampler="metropolis", share=0.2, n_sweeps=10, rng=0)
    trainer.epoch()
    few = trainer.n_factors
    trainer.set_share(1.0)
    trainer.epoch()
    assert trainer.n_factors - few > 2 * few


# --- bad arguments


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0.0}, "share is 0.0; give the share of factors to look at, above 0 and at most 1"),
        ({"share": 1.5}, "share is 1.5"),
        ({"share": np.nan}, "share is nan"),
        ({"width": -0.1}, "width is -0.1; give the width of a confidence interval, 0 or more"),
        ({"share": 0.5, "width": 0.1}, "share is 0.5 and width 0.1; give one of the two"),
    ],
)
def test_bad_shares_and_widths_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        monte_carlo_transition(10, **settings)
    graph, weights = star()
    with pytest.raises(ValueError, match=message):
        metropolis(graph, weights, **settings).init([0, 0])
    with pytest.raises(ValueError, match=message):
        Trainer(label_world(graph, [0, 0]), sampler="metropolis", **settings)


def test_gibbs_looks_at_every_factor():
    with pytest.raises(ValueError, match="share and width are for sampler='metropolis'"):
        Trainer(label_world(star()[0], [0, 0]), share=0.5)


class Ladder(NamedTuple):
    values: np.ndarray


def test_a_world_of_ones_own_says_how_many_factors_a_move_touches():
    register(Ladder, propose=lambda world, rng: (0, 0.0), commit=lambda world, move: None)
    with pytest.raises(ValueError, match="how many factors a move of Ladder touches is not known; pass max_factors="):
        max_factors(Ladder(np.zeros(1)))


def test_there_must_be_room_for_the_factors_of_a_move():
    graph, weights = star(7)
    assert max_factors(label_world(graph)) == 7
    sampler = metropolis(graph, weights, share=0.5, max_factors=3, n_moves=20)
    with pytest.raises(ValueError, match="touches more factors than the transition has room for; raise max_factors"):
        sampler.step(stream(0), sampler.init([0, 0]))


def test_room_is_made_for_the_largest_move_of_a_partition():
    blocks = blocks_of(N, [list(range(N))])
    n_whole = 2 * len(toy().model.kind) + len(toy().model.spread_column)

    def most(**settings):
        return max_factors(partition_world(toy().model, toy().comparisons, n_mentions=N, **settings)) - n_whole

    assert most() == N
    assert most(proposer=block_guided(blocks, max_pairs=20)) == 20
    assert most(proposer=block_guided(blocks, max_pairs=5)) == N
    assert most(constraints=link_constraints(N, together=[[0, 1], [1, 2]])) == 3 * N
    assert most(proposer=block_guided(blocks, max_pairs=5, share_swap=0.5)) == 2 * N
