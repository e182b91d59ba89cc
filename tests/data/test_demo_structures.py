import subprocess
import sys

import numpy as np
import pytest

from walkstep.data.demo_structures import generate_hierarchy, generate_rankings
from walkstep.evaluation.hierarchies import hierarchy_scores
from walkstep.evaluation.rankings import ranking_scores


def fitted(train, answers, test):
    """Linear least squares of answers on features."""
    design, new = (np.column_stack([X, np.ones(len(X))]) for X in (train, test))
    return new @ np.linalg.lstsq(design, answers, rcond=None)[0]


def test_the_same_seed_gives_the_same_rows():
    for make in (generate_rankings, generate_hierarchy):
        once, again, other = make(30, seed=4), make(30, seed=4), make(30, seed=5)
        np.testing.assert_array_equal(once.X, again.X)
        assert not np.array_equal(once.X, other.X)
    np.testing.assert_array_equal(
        generate_rankings(30, seed=4).rankings.places, generate_rankings(30, seed=4).rankings.places
    )
    np.testing.assert_array_equal(generate_hierarchy(30, seed=4).values, generate_hierarchy(30, seed=4).values)


def test_rankings_can_be_learned_from_rows_of_another_seed():
    train, test = generate_rankings(500, seed=1), generate_rankings(300, seed=2)
    guess = fitted(train.X, train.rankings.places, test.X)
    scores = ranking_scores(test.rankings, guess)
    assert 0.6 < scores.kendall_tau < 0.95
    assert scores.label_names == ("label0", "label1", "label2", "label3", "label4")


def test_rankings_have_the_sizes_asked_for():
    rows = generate_rankings(7, 3, 2)
    assert rows.X.shape == (7, 2)
    assert rows.rankings.places.shape == (7, 3)
    assert rows.rankings.is_complete


def test_classes_can_be_learned_from_rows_of_another_seed():
    train, test = generate_hierarchy(1500, seed=1), generate_hierarchy(500, seed=2)
    guess = test.tree.closed(fitted(train.X, train.values, test.X) > 0.45)
    learned = hierarchy_scores(test.values, guess, test.tree)
    common = np.tile(train.values.mean(axis=0) > 0.45, (500, 1))
    assert learned.f1 > hierarchy_scores(test.values, test.tree.closed(common), test.tree).f1 + 0.1
    assert learned.f1 < 0.95


def test_classes_are_closed_and_of_several_branches():
    rows = generate_hierarchy(1000)
    np.testing.assert_array_equal(rows.tree.closed(rows.values), rows.values)
    n_tops = rows.values[:, rows.tree.children(0)].sum(axis=1)
    assert n_tops.min() == 1
    assert n_tops.max() > 1
    assert rows.values.mean(axis=0).min() > 0.02


@pytest.mark.parametrize(
    ("sizes", "message"), [((0, 5), "n_rows is 0"), ((5, 1), "n_labels is 1"), ((5, 3, 0), "n_fea")]
)
def test_sizes_that_are_too_small_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        generate_rankings(*sizes)
    with pytest.raises(ValueError, match="n_rows is 0"):
        generate_hierarchy(0)


def test_rankings_and_trees_load_no_heavy_package():
    code = (
        "import sys, walkstep.data.demo_structures, walkstep.data.subtrees, walkstep.data.readers.hierarchical, "
        "walkstep.data.readers.ranked_rows, walkstep.evaluation.hierarchies, walkstep.evaluation.rankings\n"
        "heavy = {'numba', 'jax', 'sklearn', 'polars', 'pandas', 'scipy.stats'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
