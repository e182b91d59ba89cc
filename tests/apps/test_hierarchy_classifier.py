"""Classes of a tree for feature rows: what is learned, by every learner and for every decision, and what is refused."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from walkstep import HierarchyClassifier
from walkstep.apps.hierarchy_classifier import best_threshold
from walkstep.data.demo_structures import generate_hierarchy
from walkstep.evaluation.hierarchies import hierarchy_scores
from walkstep.learning.structured_model import StructuredModel

pytestmark = pytest.mark.xdist_group("spaces")

ROWS = generate_hierarchy(220, seed=0)
N = 160
CLASSES = ROWS.values[:, 1:]
TREE = {"animal": {"dog": {}, "cat": {}}, "plant": {"tree": {"oak": {}}, "moss": {}}}


def quick(tree=ROWS.tree, **settings) -> HierarchyClassifier:
    return HierarchyClassifier(tree, **{"features": "linear", "sigma": 3.0, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted() -> HierarchyClassifier:
    return quick().fit(ROWS.X[:N], CLASSES[:N])


def is_closed(values, parent):
    return bool((values[:, 1:] <= values[:, parent[1:]]).all()) and bool((values[:, 0] == 1).all())


def test_classes_are_learned(fitted):
    scores = fitted.evaluate(ROWS.X[N:], CLASSES[N:])
    always = np.tile((CLASSES[:N].mean(axis=0) > 0.3).astype(np.int8), (len(ROWS.X) - N, 1))
    root = np.ones((len(always), 1), np.int8)
    constant = hierarchy_scores(ROWS.values[N:], np.concatenate([root, always], axis=1), ROWS.tree)
    assert scores.f1 > constant.f1 + 0.1
    assert fitted.score(ROWS.X[N:], CLASSES[N:]) == scores.f1


@pytest.mark.parametrize("decision", ["auto", "f1", "hamming", "h-loss", "map"])
@pytest.mark.parametrize("branching", [True, False])
def test_answers_are_always_closed_under_parent(decision, branching):
    classifier = quick(decision=decision, branching=branching).fit(ROWS.X[:N], CLASSES[:N])
    assert is_closed(classifier.predict_subtrees(ROWS.X), ROWS.tree.parent)
    assert classifier.score(ROWS.X[N:], CLASSES[N:]) > 0.5


def enumerated(classifier, X):
    """All subtrees, and the probability of each in each row."""
    space = classifier.space_
    structures = space.all_structures()
    rows = classifier.features_.transform(X)
    model = StructuredModel(classifier.coefficients_, classifier.intercepts_)
    logits = model.scores(rows) @ space.statistics(structures).T
    return structures, np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    sets = [
        [["dog", "cat", "moss", "oak", "plant"][k] for k in np.flatnonzero(row)]
        for row in (X @ rng.normal(size=(3, 5)) + rng.normal(size=(80, 5)) > 0.4)
    ]
    return X, sets


def test_chances_and_decisions_are_those_of_enumeration(small):
    X, sets = small
    classifier = quick(TREE).fit(X, sets)
    structures, probabilities = enumerated(classifier, X)
    np.testing.assert_allclose(classifier.predict_proba(X), probabilities @ structures, atol=1e-9)
    proba = classifier.predict_proba(X)
    assert (proba[:, 1:] <= proba[:, classifier.tree_.parent[1:]] + 1e-12).all()

    wrong = (structures[:, None] != structures[None]).sum(axis=2)
    parent = classifier.tree_.parent
    # The first mistake on a path counts, and what follows from it does not (Cesa-Bianchi et al., 2006).
    differs = structures[:, None] != structures[None]
    first = differs[:, :, 1:] & ~differs[:, :, parent[1:]]
    for decision, losses in (("hamming", wrong), ("h-loss", None), ("map", 1 - np.eye(len(structures)))):
        answers = clone(classifier).set_params(decision=decision).fit(X, sets).predict_subtrees(X)
        if losses is None:
            children = np.bincount(parent[1:], minlength=len(parent)).astype(float)
            cost = np.ones(len(parent))
            for node in range(1, len(parent)):
                cost[node] = cost[parent[node]] / children[parent[node]]
            losses = first @ cost[1:]
        risk = probabilities @ losses.T
        at = np.array([(structures == answer).all(axis=1).argmax() for answer in answers])
        np.testing.assert_allclose(risk[np.arange(len(X)), at], risk.min(axis=1), atol=1e-9)


@pytest.mark.parametrize("learner", ["sampled-map", "sampled-map-sgd", "samplerank", "hybrid", "pcd"])
def test_every_learner_learns(learner, fitted):
    settings = {"decision": "hamming"} if "map" in learner else {}
    classifier = quick(learner=learner, **settings).fit(ROWS.X[:N], CLASSES[:N])
    assert classifier.score(ROWS.X[N:], CLASSES[N:]) > fitted.score(ROWS.X[N:], CLASSES[N:]) - 0.12
    assert is_closed(classifier.predict_subtrees(ROWS.X), ROWS.tree.parent)
    short = [quick(learner=learner, n_epochs=2, **settings).fit(ROWS.X[:N], CLASSES[:N]) for _ in range(2)]
    np.testing.assert_array_equal(short[0].coefficients_, short[1].coefficients_)
    if settings:
        apart = np.abs(classifier.predict_proba(ROWS.X[N:]) - fitted.predict_proba(ROWS.X[N:])).mean()
        assert apart < 0.02


def test_the_tree_may_be_given_in_many_forms(small):
    X, sets = small
    nested = quick(TREE).fit(X, sets)
    edges = [("animal", "dog"), ("animal", "cat"), ("plant", "tree"), ("tree", "oak"), ("plant", "moss")]
    for tree in (edges, pl.DataFrame(edges, schema=["parent", "child"], orient="row")):
        other = quick(tree).fit(X, sets)
        assert [sorted(row) for row in other.predict(X)] == [sorted(row) for row in nested.predict(X)]


def test_classes_come_back_in_the_form_given(small, fitted):
    X, sets = small
    by_sets = quick(TREE).fit(X, sets)
    names = by_sets.tree_.labels
    answers = by_sets.predict(X)
    for row in answers:
        assert {"tree"} <= set(row) if "oak" in row else True
        assert {"animal"} <= set(row) if {"dog", "cat"} & set(row) else True
    frame = pl.DataFrame([[int(name in row) for name in names] for row in sets], schema=list(names), orient="row")
    by_frame = quick(TREE).fit(X, frame).predict(X)
    assert np.asarray(by_frame).sum() == sum(len(row) for row in answers)
    assert fitted.predict(ROWS.X).shape == CLASSES.shape


def test_missing_and_sparse_features():
    holes = ROWS.X.copy()
    holes[::3, 0] = np.nan
    classifier = quick().fit(holes[:N], CLASSES[:N])
    assert classifier.score(holes[N:], CLASSES[N:]) > 0.5
    sparse = quick(standardize=False).fit(csr_matrix(ROWS.X[:N]), CLASSES[:N])
    dense = quick(standardize=False).fit(ROWS.X[:N], CLASSES[:N])
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(ROWS.X)), dense.predict_proba(ROWS.X), atol=2e-3)


def test_a_column_that_is_always_missing_says_nothing():
    holes = np.column_stack([ROWS.X, np.full(len(ROWS.X), np.nan)])
    found = quick().fit(holes[:N], CLASSES[:N]).predict_proba(holes[N:])
    without = quick().fit(ROWS.X[:N], CLASSES[:N]).predict_proba(ROWS.X[N:])
    assert np.abs(found - without).max() < 0.1


def test_cross_validation_chooses():
    classifier = HierarchyClassifier(ROWS.tree, random_state=0).fit(ROWS.X[:N], CLASSES[:N])
    assert classifier.sigma_ in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    assert 0.0 < classifier.threshold_ < 1.0
    assert classifier.cross_validated_ == pytest.approx(classifier.score(ROWS.X[N:], CLASSES[N:]), abs=0.15)
    for decision in ("hamming", "h-loss", "map"):
        chosen = HierarchyClassifier(ROWS.tree, features="linear", decision=decision, random_state=0)
        assert chosen.fit(ROWS.X[:N], CLASSES[:N]).cross_validated_ is not None


def test_the_best_threshold_is_the_best_of_those_tried():
    rng = np.random.default_rng(0)
    chance = rng.random((50, 6))
    truth = (rng.random((50, 6)) < chance**2).astype(np.int8)
    f1, threshold = best_threshold(truth, chance)
    guessed, true = chance[:, 1:] > threshold, truth[:, 1:].astype(bool)
    assert f1 == pytest.approx(2 * (guessed & true).sum() / (guessed.sum() + true.sum()))
    for other in (0.1, 0.3, 0.5):
        guessed = chance[:, 1:] > other
        assert f1 >= 2 * (guessed & true).sum() / (guessed.sum() + true.sum())


def test_a_saved_classifier_answers_alike(fitted, small, tmp_path):
    path = tmp_path / "tree.walkstep"
    for classifier, X in ((fitted, ROWS.X), (quick(TREE, features="rbf", bandwidth=1.0).fit(*small), small[0])):
        classifier.save(path)
        loaded = HierarchyClassifier.load(path)
        np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
        assert str(loaded.predict(X)) == str(classifier.predict(X))
        assert loaded.tree_.names == classifier.tree_.names


def test_rows_without_any_class_are_allowed(small):
    X, sets = small
    classifier = quick(TREE).fit(X, [[] if k < 20 else row for k, row in enumerate(sets)])
    assert classifier.predict_proba(X).shape == (80, 8)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"learner": "guess"}, "learner 'guess' is not known; choose one of auto, map, sampled-map"),
        ({"features": "cubic"}, "features is 'cubic'; choose one of auto, linear, rbf, both"),
        ({"decision": "risk"}, "decision is 'risk'; choose one of auto, f1, hamming, h-loss, map"),
        ({"batch_size": 0}, "batch_size is 0; give 1 or more"),
        ({"sigma": np.inf}, "sigma is inf; give a positive number"),
        ({"tree": None}, "tree is None; give the tree of classes"),
        ({"tree": {"only": {}}}, "."),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**{"learner": "samplerank", **settings}).fit(ROWS.X[:20], CLASSES[:20])


def test_input_that_cannot_be_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 20 rows, but there are classes of 19"):
        quick().fit(ROWS.X[:20], CLASSES[:19])
    with pytest.raises(ValueError, match="requires y to be passed"):
        quick().fit(ROWS.X[:20], None)
    with pytest.raises(ValueError, match="HierarchyClassifier is expecting"):
        fitted.predict(ROWS.X[:, :2])
    with pytest.raises(NotFittedError):
        quick().predict(ROWS.X)
    with pytest.raises(ValueError, match="lion"):
        quick(TREE).fit(ROWS.X[:2], [["dog"], ["lion"]])


def test_samples_find_the_way_to_few_of_many_classes():
    """Drawn uniformly, half of a tree's classes are in; here three of eighty-four are."""
    rng = np.random.default_rng(0)
    tree = {a: {f"{a}{b}": [f"{a}{b}{c}" for c in "wxyz"] for b in "wxyz"} for a in "wxyz"}
    leaves = ["".join(letters) for letters in itertools.product("wxyz", repeat=3)]
    k = rng.integers(64, size=900)
    X = 2.0 * rng.normal(size=(64, 6))[k] + rng.normal(size=(900, 6))
    classes = [[leaves[one]] for one in k]
    settings = {"features": "linear", "sigma": 3.0, "decision": "map", "random_state": 0}
    exact, sampled = (
        HierarchyClassifier(tree, learner=learner, **settings).fit(X[:300], classes[:300]).score(X[300:], classes[300:])
        for learner in ("map", "sampled-map")
    )
    assert exact > 0.6
    assert sampled > exact - 0.04
