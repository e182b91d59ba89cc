"""Spaces: what there is, how it is drawn, what is counted, and how walks move through it."""

from math import factorial, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_spaces import PARENT, SPACES, chi_square_p, count_step, draw_step, own_space, shares, turn
from walkstep.inference import RowWalks
from walkstep.testing import check_world
from walkstep.worlds import Cycles, Hypercube, Permutations, Subtrees, as_space, space_world

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
    assert len(structures) == space.count()
    assert space.log_count == pytest.approx(log(len(structures)))
    assert (structures[:, 1:] <= structures[:, space.parent[1:]]).all()


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
