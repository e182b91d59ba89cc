"""Rankings and hierarchies beside their baselines; the baselines on rows where the answer is known."""

from itertools import permutations

import numpy as np
import pytest

from walkstep.data.catalogue import find
from walkstep.data.demo_structures import generate_hierarchy, generate_rankings
from walkstep.data.trees import tree_from_paths
from walkstep.evaluation.rankings import kendall_taus
from walkstep.reproduce import hierarchy, label_ranking

pytestmark = pytest.mark.xdist_group("spaces")

ROWS = generate_rankings(260, n_labels=4, seed=0)


@pytest.mark.parametrize("rank", [label_ranking.logistic_per_label, label_ranking.logistic_per_pair])
def test_logistic_baselines_rank_what_is_linear(rank):
    X, places = ROWS.X, ROWS.rankings.places
    taus = kendall_taus(places[200:], rank(X[:200], places[:200], X[200:], 3.0))
    assert taus.mean() > 0.7
    np.testing.assert_array_equal(rank(X[:200], np.tile([2.0, 0.0, 1.0], (200, 1)), X[:2], 3.0), [[2, 0, 1]] * 2)


def test_the_centre_of_neighbours_is_the_ranking_that_disagrees_least():
    rng = np.random.default_rng(0)
    X, places = rng.normal(size=(30, 2)), np.argsort(rng.normal(size=(30, 4)), axis=1).astype(float)
    (found,) = label_ranking.mallows_of_neighbours(X, places, X[:1], 7)
    near = np.argsort(((X - X[0]) ** 2).sum(axis=1))[:7]
    total = {order: kendall_taus(places[near], np.tile(order, (7, 1))).sum() for order in permutations(range(4))}
    assert total[tuple(found.astype(int).tolist())] == max(total.values())


def test_every_model_answers_for_every_row():
    found = label_ranking.cross_validated(ROWS.X[:60], ROWS.rankings.places[:60], seed=0, n_folds=2)
    expected = {label_ranking.OURS, *label_ranking.OTHERS, *label_ranking.LOGISTIC, label_ranking.MALLOWS}
    assert set(found) == expected
    assert all(taus.shape == (60,) and taus.mean() > 0.3 for taus in found.values())


def test_repaired_nodes_are_subtrees_and_differ_where_they_should():
    rng = np.random.default_rng(0)
    tree = tree_from_paths(["a/b/c", "a/d", "e"])
    chosen = rng.random((50, tree.n_nodes)) < 0.4
    chosen[:, 0] = True
    up, down = (hierarchy.repaired(chosen, tree, repair) for repair in hierarchy.REPAIRS)
    for found in (up, down):
        assert (found[:, 1:] <= found[:, tree.parent[1:]]).all()
    assert (down <= chosen).all()
    assert (chosen <= up).all()
    closed = (chosen[:, 1:] <= chosen[:, tree.parent[1:]]).all(axis=1)
    np.testing.assert_array_equal(up[closed], down[closed])


def test_nodes_by_themselves_learn():
    rows = generate_hierarchy(400, seed=0)
    Y = rows.values.astype(np.int8)
    Y[:, -1] = 0  # a node that no row has
    split = hierarchy.Split(rows.tree, rows.X[:300], Y[:300], rows.X[300:], Y[300:])
    for repair, (cost, threshold) in hierarchy.tuned_nodes(split, seed=0).items():
        chances = hierarchy.node_chances(split.X, split.Y, split.X_new, cost)
        assert (chances[:, -1] == 0.0).all()
        found = hierarchy.repaired(chances > threshold, rows.tree, repair)
        assert hierarchy.hierarchy_scores(split.Y_new, found, rows.tree).f1 > 0.5


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("module", "data", "bar"), [(label_ranking, "label_ranking", 2), (hierarchy, "hmc", 1)])
def test_published_sets_in_short(module, data, bar):
    try:
        find(data)
    except (ValueError, OSError) as error:
        pytest.skip(str(error))
    result = module.run(0, quick=True)
    assert [one["ours"] for one in result["bars"]] == [bar]
    assert any("p = " in row.get("note", "") for row in result["rows"])
