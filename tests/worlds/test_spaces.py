"""Spaces: what there is, how it is drawn, what is counted, and how walks move through it."""

from fractions import Fraction
from math import factorial, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_spaces import PARENT, SPACES, chi_square_p, count_step, draw_step, own_space, shares, turn
from walkstep.inference import RowWalks
from walkstep.testing import check_world
from walkstep.worlds import Cycles, Hypercube, Permutations, Subtrees, as_space, space_world, stream

pytestmark = pytest.mark.xdist_group("spaces")


@pytest.fixture(params=SPACES, scope="module")
def space(request):
    return SPACES[request.param]()


def test_all_structures_are_counted_and_different(space):
    structures = space.all_structures()
    assert len(structures) == space.count() == len(np.unique(structures, axis=0))
    assert space.log_count == pytest.approx(log(space.count()))
    np.testing.assert_array_equal(space.check(structures), structures)


@pytest.mark.statistical
def test_draws_are_uniform(space):
    structures = space.all_structures()
    counts = shares(space.draw(20_000, rng=1), structures)
    assert chi_square_p(counts, np.full(len(structures), 1.0 / len(structures))) > 1e-3


def test_draws_depend_on_the_seed_alone(space):
    np.testing.assert_array_equal(space.draw(50, rng=3), space.draw(50, rng=3))
    assert (space.draw(50, rng=3) != space.draw(50, rng=4)).any()


def test_no_statistics_are_longer_than_the_radius_and_no_score_is_out_of_range(space):
    statistics = space.statistics(space.all_structures())
    assert np.linalg.norm(statistics, axis=1).max() <= space.radius + 1e-9
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 10.0):
        scores = scale * rng.normal(size=space.n_statistics)
        low, high = space.score_range(scores)
        assert low <= (statistics @ scores).min() + 1e-9
        assert high >= (statistics @ scores).max() - 1e-9


def test_pairs_that_form_a_cycle_cannot_all_have_their_way():
    assert Permutations(3).score_range(np.array([1.0, -2.0, 3.0])) == (-2.0, 2.0)  # 0 beats 1, 1 beats 2, 2 beats 0
    assert Permutations(3).score_range(np.array([1.0, 2.0, 3.0])) == (-3.0, 3.0)
    space, rng = Permutations(6), np.random.default_rng(0)
    statistics = space.statistics(space.all_structures())
    drawn = rng.normal(size=(20, space.n_statistics))
    gaps = [space.score_range(scores)[1] - (statistics @ scores).max() for scores in drawn]
    assert min(gaps) > -1e-12
    assert np.mean(gaps) < 0.1 * np.mean(0.5 * np.abs(drawn).sum(axis=1) - (statistics @ drawn.T).max(axis=0))
    many = Permutations(65)  # too many to look at all triples
    scores = rng.normal(size=many.n_statistics)
    assert many.score_range(scores)[1] == 0.5 * np.abs(scores).sum()


@pytest.mark.parametrize("moves", ["local", "uniform"])
def test_moves_do_what_their_verbs_say_and_keep_the_balance(space, moves):
    scores = np.random.default_rng(1).normal(size=space.n_statistics)
    world = space_world(space, moves=moves, rng=2)
    checks = check_world(
        world, scores, n_moves=20, n_tries=300, statistics=lambda world: space.statistics(world.values)
    )
    assert checks.n_moves == 20


def test_local_moves_lead_everywhere(space):
    drawn = RowWalks(space, 1, rng=0).sample(np.zeros((1, space.n_statistics)), 10, 5000)
    assert len(np.unique(drawn[0], axis=0)) == space.count()


def test_rows_see_statistics_times_their_features():
    space, rng = Hypercube(3, [[0], [1]]), np.random.default_rng(0)
    rows = rng.normal(size=(4, 2))
    weights = rng.normal(size=3 * 2 + 4)

    def statistics(world):
        psi = space.statistics(world.values)
        return np.concatenate([np.outer(psi[:3], rows[2]).ravel(), psi])

    world = space_world(space, rows=rows, truth=space.draw(4, 0), rng=0)
    assert check_world(world, weights, document=2, statistics=statistics).n_undone > 0


def test_sparse_rows_are_the_same_rows():
    from scipy.sparse import csr_array

    rows = np.random.default_rng(0).normal(size=(4, 3)) * (np.random.default_rng(1).random((4, 3)) < 0.5)
    dense, sparse = (space_world(Permutations(3), rows=r, rng=0).rows for r in (rows, csr_array(rows)))
    for row in range(4):
        one = np.zeros(3)
        one[sparse.column[sparse.ptr[row] : sparse.ptr[row + 1]]] = sparse.value[sparse.ptr[row] : sparse.ptr[row + 1]]
        np.testing.assert_array_equal(one, dense.value[dense.ptr[row] : dense.ptr[row + 1]])
    assert dense.n_columns == sparse.n_columns == 3


# Counting


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.integers(0, max(k - 1, 0)) for k in range(n)])))
def test_subtrees_of_any_tree_are_counted_as_they_are_listed(choices):
    parent = preordered([-1, *choices[1:]])
    space = Subtrees(parent)
    structures = space.all_structures()
    assert len(structures) == space.count() == len(np.unique(structures, axis=0))
    assert space.log_count == pytest.approx(log(len(structures)))
    assert (structures[:, 1:] <= structures[:, space.parent[1:]]).all()


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.integers(0, max(k - 1, 0)) for k in range(n)])))
def test_counts_of_subtrees_below_every_node_are_those_of_whole_numbers(choices):
    space = Subtrees(preordered([-1, *choices[1:]]))
    counts = [1] * space.size
    for node in range(space.size - 1, 0, -1):
        counts[space.parent[node]] *= 1 + counts[node]
    assert space.count() == counts[0]
    np.testing.assert_allclose(space.log_counts, [log(n) for n in counts], rtol=1e-13)


def test_draws_of_subtrees_are_uniform_for_every_shape_of_up_to_six_nodes():
    n_draws, found = 4000, []
    for n_nodes in range(2, 7):
        for parent in shapes(n_nodes):
            space = Subtrees(parent)
            counts = shares(space.draw(n_draws, rng=len(found)), space.all_structures())
            found.append(chi_square_p(counts, np.full(len(counts), 1.0 / len(counts))))
    assert len(found) == 1 + 2 + 5 + 14 + 42  # Catalan's numbers
    assert min(found) > 1e-3 / len(found)


def shapes(n_nodes):
    """The parents of every rooted tree whose children stand in order, in preorder."""
    paths = [([-1], [0])]  # with the way from the root to the last node
    for node in range(1, n_nodes):
        paths = [
            ([*parent, above], [*way[: depth + 1], node]) for parent, way in paths for depth, above in enumerate(way)
        ]
    return [parent for parent, _ in paths]


@pytest.mark.statistical
@given(st.integers(2, 60).flatmap(lambda n: st.tuples(*[st.integers(0, max(k - 1, 0)) for k in range(n)])))
def test_nodes_of_drawn_subtrees_are_in_as_often_as_counts_say(choices):
    space, n_draws = Subtrees(preordered([-1, *choices[1:]])), 4000
    whole = space.count()
    shares_in = [1.0]
    for node in range(1, space.size):
        is_left = np.ones(space.size, dtype=bool)
        is_left[node : space.branch_end[node]] = False
        number = np.cumsum(is_left) - 1
        without = Subtrees([-1, *number[space.parent[is_left][1:]]])  # as many subtrees as leave the node out
        shares_in.append(1.0 - without.count() / whole)
    expected = np.array(shares_in)
    error = np.sqrt(expected * (1.0 - expected) / n_draws)
    assert (np.abs(space.draw(n_draws, rng=0).mean(axis=0) - expected) <= 5 * error).all()


def test_draws_of_subtrees_are_those_of_a_plain_twin_down_to_the_last_bit():
    rng = np.random.default_rng(0)
    space = Subtrees(preordered([-1, *[int(rng.integers(max(0, k - 4), k)) for k in range(1, 26)]]))
    counts = [1] * space.size
    for node in range(space.size - 1, 0, -1):
        counts[space.parent[node]] *= 1 + counts[node]
    thresholds = [round(Fraction(2**64, 1 + count)) for count in counts]
    words, twin, n_close = xoshiro(stream(5).tolist()), [], 0
    for _ in range(20_000):
        values = [1] * space.size
        for first in range(1, space.size + 1, 4):
            word = next(words)
            for node in range(first, min(first + 4, space.size)):
                bits, high = word >> 16 * (node - first) & 0xFFFF, thresholds[node] >> 48
                if bits == high:
                    n_close += 1
                    bits, high = next(words) >> 16, thresholds[node] & (2**48 - 1)
                values[node] = int(bits >= high) & values[space.parent[node]]
        twin.append(values)
    assert n_close > 3
    np.testing.assert_array_equal(space.draw(20_000, rng=5), twin)


def xoshiro(state):
    """Random words of 64 bits (Blackman and Vigna, 2021)."""
    s0, s1, s2, s3 = state
    most = 2**64 - 1
    while True:
        total = s0 + s3 & most
        yield ((total << 23 | total >> 41) + s0) & most
        t = s1 << 17 & most
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= t
        s3 = (s3 << 45 | s3 >> 19) & most


def preordered(parent):
    """The parents of the same tree, its nodes numbered branch by branch."""
    children = {k: [c for c in range(1, len(parent)) if parent[c] == k] for k in range(len(parent))}
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1]][::-1]
    number = {node: k for k, node in enumerate(order)}
    return [-1] + [number[parent[node]] for node in order[1:]]


def test_a_tree_of_thousands_of_nodes_is_counted_without_overflow():
    star = Subtrees([-1] + [0] * 5000)
    assert star.count() == 2**5000
    assert star.log_count == pytest.approx(5000 * log(2))
    assert (abs(star.draw(4000, rng=0)[:, 1:].mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(4000)).all()
    path = Subtrees(np.arange(-1, 4999))
    assert path.count() == 5000
    assert path.log_count == pytest.approx(log(5000))
    drawn = path.draw(4000, rng=0).sum(axis=1)  # every length is as likely
    assert abs(drawn.mean() - 2500.5) < 5 * 5000 / np.sqrt(12 * 4000)


def test_large_spaces_say_how_many_they_are_and_do_not_list_them():
    assert Permutations(30).count() == factorial(30)
    assert Hypercube(200).count() == 2**200
    for space in (Permutations(30), Hypercube(200), Cycles(20), Subtrees([-1] + [0] * 5000)):
        with pytest.raises(ValueError, match="more than the 1,000,000 that enumeration allows; draw them instead"):
            space.all_structures()
        space.check(space.draw(3, rng=0))


def test_a_partial_ranking_leaves_as_many_rankings_as_agree_with_it():
    space = Permutations(6, [1, 0, -1, 1, -1, 0])
    structures = Permutations(6).all_structures()
    agrees = (structures[:, [1, 5]].max(axis=1) < structures[:, [0, 3]].min(axis=1)).sum()
    assert space.count() == len(space.all_structures()) == agrees


# What is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hypercube(0), "n is 0; a hypercube has at least 1 label"),
        (lambda: Hypercube(3, [[0], [3]]), r"pair 0 joins labels \[0, 3\]; give two of 0 to 2"),
        (lambda: Permutations(1), "n is 1; a ranking is of at least 2 labels"),
        (lambda: Permutations(3, [0, 1]), r"given has shape \(2,\); give one number for each of the 3 labels"),
        (lambda: Subtrees([]), "the first node is the root"),
        (lambda: Subtrees([-1, 2, 0]), "the parent of node 1 is 2; let every parent come before its children"),
        (lambda: Subtrees([-1, 0, 0, 1]), "the branch that node 3 is in is not contiguous"),
        (lambda: Cycles(4, 2), "min_length is 2 and n 4; a tour takes at least 3 nodes"),
        (lambda: Cycles(32_769), "n is 32769; a tour is through at most 32,768 nodes"),
        (lambda: Hypercube(2).check([[0, 2]]), r"structure 0 is no label set: \[0, 2\]; give 0 and 1"),
        (lambda: Permutations(2).check([[0, 1], [1, 1]]), "structure 1 is no ranking"),
        (lambda: Permutations(2, [0, 1]).check([[1, 0]]), "structure 0 is no ranking of this space"),
        (lambda: Subtrees(PARENT).check([[1, 0, 1, 0, 0, 0, 0, 0]]), "structure 0 is no subtree with the root"),
        (lambda: Cycles(4).check([[1, 0, 3, 2]]), "structure 0 is no tour"),
        (lambda: Hypercube(2).check([[0.5, 0]]), r"structure 0 is \[0.5, 0.0\]; give whole numbers"),
        (lambda: Hypercube(2).check([0, 1]), r"structures have shape \(2,\); give \(n_structures, 2\)"),
        (lambda: Hypercube(2).draw(-1), "n is -1; give 0 or more"),
        (lambda: space_world(Hypercube(2), moves="far"), "moves is 'far'; choose one of auto, local, uniform"),
        (lambda: space_world(own_space(move=None), moves="local"), "OwnSpace has no local moves"),
        (lambda: space_world(Hypercube(2), [[0, 1]], rows=np.ones((2, 1))), "values has 1 structures for 2 rows"),
        (lambda: own_space(importance=[1.0]), r"importance has shape \(1,\); give one number"),
        (lambda: own_space(n_structures=3), "n_structures is 3, but all_structures lists 10"),
        (lambda: own_space(move=None, difference=turn), "difference says what a move changes, and there is no move"),
        (lambda: own_space(n_seen=3), "n_seen is 3; give 0 to 2"),
        (lambda: own_space().check([[0, 3]]), "structure 0 is no structure of this space"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_function_that_does_not_compile_is_named():
    with pytest.raises(TypeError, match=r"draw 'turn' does not compile as \(values, rng\)"):
        as_space(turn, count_step, size=2, n_statistics=2)
    with pytest.raises(TypeError, match=r"statistics 'turn' does not compile as \(values, out\)"):
        as_space(draw_step, turn, size=2, n_statistics=2)


def test_what_nobody_has_said_of_a_space_is_asked_for():
    bare = as_space(draw_step, count_step, size=2, n_statistics=2)
    for ask, what in ((bare.count, "n_structures"), (bare.all_structures, "all_structures")):
        with pytest.raises(ValueError, match=f"pass {what} to as_space"):
            ask()
    with pytest.raises(ValueError, match="pass radius to as_space"):
        bare.score_range(np.ones(2))
    np.testing.assert_array_equal(bare.check([[0, 3]]), [[0, 3]])


def test_a_difference_that_a_user_writes_replaces_counting_twice():
    def difference(values, sites, new_values, size, index, amount):
        if size[0] == 0:
            return 0
        site = sites[0]
        other = values[1 - site]
        index[0], amount[0] = 1, 1.0 * (new_values[0] == other) - 1.0 * (values[site] == other)
        if site == 1:
            return 1
        index[1], amount[1] = 0, 0.5 * (new_values[0] - values[0])
        return 2

    space = own_space(difference=difference)
    assert space.structure.has_difference
    world = space_world(space, rng=0)
    check_world(world, np.array([0.7, -0.4]), statistics=lambda world: space.statistics(world.values))
