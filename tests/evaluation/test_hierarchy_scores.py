import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from walkstep.data.trees import tree_from, tree_from_paths
from walkstep.evaluation.hierarchies import hierarchy_counts, hierarchy_scores
from walkstep.evaluation.significance import f1_of_counts

TREE = tree_from_paths(["a/b/c", "a/d", "e"])


@st.composite
def pairs(draw):
    numbers = draw(st.lists(st.integers(0, 100), min_size=2, max_size=10))
    parents = [number % (k + 1) - 1 for k, number in enumerate(numbers)]
    tree = tree_from([(None if above < 0 else f"n{above}", f"n{node}") for node, above in enumerate(parents)])
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.random((2, draw(st.integers(1, 4)), tree.n_nodes)) < 0.3
    return tree, *(tree.closed(side) for side in values)


def h_loss_by_walking_down(truth, predicted, tree):
    """The slow twin: from each node of a row up to the root, whether all before it is right."""
    total = 0.0
    for true, guessed in zip(truth, predicted, strict=True):
        for node in range(1, tree.n_nodes):
            above, cost = tree.parent[node], 1.0
            is_first = true[node] != guessed[node]
            child = node
            while child:
                above = tree.parent[child]
                cost /= np.sum(tree.parent == above)
                is_first &= above == 0 or true[above] == guessed[above]
                child = above
            total += cost * is_first
    return total / len(truth)


@given(pairs())
def test_scores_agree_with_a_walk_down_the_tree_and_with_scikit_learn(case):
    tree, truth, predicted = case
    scores = hierarchy_scores(truth, predicted, tree)
    assert scores.h_loss == pytest.approx(h_loss_by_walking_down(truth, predicted, tree))
    assert scores.f1 == pytest.approx(f1_score(truth[:, 1:].ravel(), predicted[:, 1:].ravel(), zero_division=0))
    by_row = [f1_score(t[1:], p[1:], zero_division=1) for t, p in zip(truth, predicted, strict=True)]
    assert scores.row_f1 == pytest.approx(np.mean(by_row))
    assert scores.hamming_error == pytest.approx(np.mean(truth[:, 1:] != predicted[:, 1:]))
    assert scores.exact == pytest.approx((truth == predicted).all(axis=1).mean())
    assert f1_of_counts(hierarchy_counts(truth, predicted).sum(axis=0)) == pytest.approx(scores.f1)
    for level in scores.by_level():
        at = tree.depth == level["level"]
        assert level["f1"] == pytest.approx(f1_score(truth[:, at].ravel(), predicted[:, at].ravel(), zero_division=0))
        assert level["n_classes"] == at.sum()


@given(pairs())
def test_the_truth_itself_is_perfect_and_sides_can_be_changed(case):
    tree, truth, predicted = case
    perfect = hierarchy_scores(truth, truth, tree)
    assert (perfect.exact, perfect.row_f1, perfect.h_loss, perfect.hamming_error) == (1, 1, 0, 0)
    one, other = hierarchy_scores(truth, predicted, tree), hierarchy_scores(predicted, truth, tree)
    assert (one.f1, one.precision, one.h_loss) == (other.f1, other.recall, other.h_loss)


def test_only_the_first_mistake_on_the_way_down_costs():
    truth = TREE.indicators([["a/b/c"]])
    for predicted, loss in ([["a/b"]], 1 / 4), ([["a"]], 1 / 4), ([["e"]], 1 / 2 + 1 / 2), ([["a/b/c", "a/d"]], 1 / 4):
        assert hierarchy_scores(truth, TREE.indicators(predicted), TREE).h_loss == pytest.approx(loss)


def test_the_root_never_counts():
    tree = tree_from({"thing": {"a": ["b"], "c": {}}})
    truth, predicted = tree.indicators([["b"]]), tree.indicators([["a"]])
    scores = hierarchy_scores(truth, predicted, tree)
    assert (scores.precision, scores.recall) == (1, 0.5)
    assert scores.to_dict() == hierarchy_scores(truth * [[0, 1, 1, 1]], predicted, tree).to_dict()
    assert hierarchy_counts(truth, predicted).tolist() == [[1, 1, 2]]


def test_scores_go_to_json():
    values = TREE.indicators([["a/d"], []])
    scores = json.loads(json.dumps(hierarchy_scores(values, values, TREE).to_dict()))
    assert [level["n_true"] for level in scores["by_level"]] == [1, 1, 0]


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        (
            [[1, 1, 0, 0, 0, 0]],
            [[1, 0, 1, 0, 0, 0]],
            "row 0 of predicted has 'a/b' but not its parent 'a'; add what is",
        ),
        ([[1, 1, 0, 1, 0, 0]], [[1, 0, 0, 0, 0, 0]], "row 0 of truth has 'a/b/c' but not its parent 'a/b'"),
        ([[1, 0]], [[1, 0]], "truth has 2 columns, but the tree has 6 nodes; give a column for each"),
        ([[1, 0]], [[1]], r"truth has shape \(1, 2\) but predicted has \(1, 1\); give the same rows and nodes"),
        ([1, 0], [[1, 0]], r"truth has shape \(2,\); give a matrix"),
        (np.zeros((0, 6)), np.zeros((0, 6)), r"truth has shape \(0, 6\); give a matrix \(n_rows, n_nodes\) with rows"),
        ([[1, 0, 0, 0, 0, 0]], [[1, 0.5, 0, 0, 0, 0]], r"predicted\[0, 1\] is 0.5; give 0 and 1 only"),
    ],
)
def test_matrices_that_cannot_be_compared_are_named(truth, predicted, message):
    with pytest.raises(ValueError, match=message):
        hierarchy_scores(truth, predicted, TREE)
