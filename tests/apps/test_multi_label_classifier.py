import itertools
import os
import pickletools

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from walkstep.apps.label_set_inference import best_label_sets, label_marginals
from walkstep.apps.label_set_model import LabelSetModel, label_set_world
from walkstep.apps.multi_label_classifier import MultiLabelClassifier
from walkstep.apps.row_features import fit_features
from walkstep.data.archive import ArchiveError
from walkstep.data.demo import generate_rows
from walkstep.model.score import score
from walkstep.reproduce.samplerank_table2 import run

ROWS = generate_rows(300, 4, seed=0)


def quick(**settings) -> MultiLabelClassifier:
    return MultiLabelClassifier(**{"n_epochs": 10, "decision": "marginals", "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted() -> MultiLabelClassifier:
    return quick().fit(ROWS.X[:200], ROWS.Y[:200])


# One check is excluded, and only where cross-validation is let choose the decision: it asks that predictions be the
# rounded probabilities, but the best label set need not be made of the labels more probable than not.
def expected_failures(estimator):
    reason = "the best label set is not the set of labels that are each more probable than not"
    return {"check_classifier_multioutput": reason} if estimator.decision == "auto" else {}


@parametrize_with_checks(
    [
        MultiLabelClassifier(n_epochs=20, random_state=0),
        MultiLabelClassifier(n_epochs=20, random_state=0, decision="marginals", features="rbf"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_finds_its_manners(estimator, check):
    check(estimator)


# --- answers against enumeration


def naive_scores(log_odds, coupling):
    sets = np.array(list(itertools.product((0, 1), repeat=len(log_odds))))
    return sets, np.array([y @ log_odds + 0.5 * y @ coupling @ y for y in sets])


def random_model(n_labels, n_rows, seed):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(size=(n_labels, n_labels)), 1)
    return rng.normal(size=(n_rows, n_labels)), coupling + coupling.T


@pytest.mark.parametrize("max_enumerated", [14, 0], ids=["enumerated", "annealed"])
def test_best_sets_match_enumeration(max_enumerated):
    log_odds, coupling = random_model(8, 20, seed=1)
    found = best_label_sets(log_odds, coupling, max_enumerated=max_enumerated)
    for row, answer in zip(log_odds, found, strict=True):
        sets, scores = naive_scores(row, coupling)
        np.testing.assert_array_equal(answer, sets[scores.argmax()])


def test_marginals_match_enumeration():
    log_odds, coupling = random_model(6, 10, seed=2)
    found = label_marginals(log_odds, coupling, temperature=0.7)
    for row, answer in zip(log_odds, found, strict=True):
        sets, scores = naive_scores(row, coupling)
        chance = np.exp(scores / 0.7)
        np.testing.assert_allclose(answer, chance @ sets / chance.sum(), rtol=1e-10)


@pytest.mark.statistical
def test_sampled_marginals_are_near_exact_ones():
    log_odds, coupling = random_model(6, 10, seed=3)
    exact = label_marginals(log_odds, coupling)
    walks = [label_marginals(log_odds, coupling, n_sweeps=2000, max_enumerated=0, rng=s) for s in range(8)]
    error = np.std(walks, axis=0, ddof=1) / np.sqrt(len(walks))
    assert (np.abs(np.mean(walks, axis=0) - exact) < 5 * error + 1e-3).all()


def test_sampled_answers_do_not_depend_on_the_other_rows():
    log_odds, coupling = random_model(6, 10, seed=4)
    whole = label_marginals(log_odds, coupling, n_sweeps=20, max_enumerated=0)
    np.testing.assert_array_equal(label_marginals(log_odds[7:8], coupling, n_sweeps=20, max_enumerated=0), whole[7:8])


def test_labels_coupled_to_none_are_answered_on_their_own():
    log_odds, coupling = random_model(5, 10, seed=5)
    coupling[2] = coupling[:, 2] = 0.0
    np.testing.assert_allclose(label_marginals(log_odds, coupling)[:, 2], 1 / (1 + np.exp(-log_odds[:, 2])))
    np.testing.assert_array_equal(best_label_sets(log_odds, coupling)[:, 2], log_odds[:, 2] > 0)


def test_folded_weights_score_as_the_graph_does():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3, 2)), rng.integers(0, 2, size=(3, 4)).astype(np.int32)
    world, layout = label_set_world(X, Y)
    weights = rng.normal(size=layout.size)
    model = LabelSetModel.folded(weights, layout)
    log_odds = model.log_odds(X)
    nothing = np.zeros((3, 4), int)
    for r, y in itertools.product(range(3), itertools.product((0, 1), repeat=4)):
        one = nothing.copy()
        one[r] = y
        gained = score(world.graph, weights, one.ravel()) - score(world.graph, weights, nothing.ravel())
        assert gained == pytest.approx(one[r] @ log_odds[r] + 0.5 * one[r] @ model.coupling @ one[r])


# --- learning


def test_it_learns_better_than_the_commonest_value(fitted):
    scores = fitted.evaluate(ROWS.X[200:], ROWS.Y[200:])
    truth = ROWS.Y[200:]
    assert scores.hamming_error < 0.85 * np.minimum(truth.mean(axis=0), 1 - truth.mean(axis=0)).mean()


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": name}
        for name in ("samplerank", "samplerank-svm", "samplerank-svm-1", "hybrid", "pcd", "cd-7", "sr-learn")
    ]
    + [{"step": name, "rate": None, "l2": 0.0} for name in ("mira", "adagrad", "arow", "perceptron")]
    + [{"features": "rbf"}, {"pairwise": False}, {"n_threads": 2}, {"average": False}]
    + [{"standardize": False}, {"decision": "map"}, {"rival": "drawn"}],
    ids=str,
)
def test_every_setting_learns(settings):
    model = quick(n_epochs=20, **settings).fit(ROWS.X[:200], ROWS.Y[:200])
    guessed_on_average = (ROWS.Y[200:] != (ROWS.Y[:200].mean(axis=0) > 0.5)).mean()
    assert model.evaluate(ROWS.X[200:], ROWS.Y[200:]).hamming_error < guessed_on_average


@pytest.mark.slow  # another signal is another loop to compile
def test_f1_is_a_signal():
    model = quick(signal="f1", n_epochs=20).fit(ROWS.X[:200], ROWS.Y[:200])
    guessed_on_average = (ROWS.Y[200:] != (ROWS.Y[:200].mean(axis=0) > 0.5)).mean()
    assert model.evaluate(ROWS.X[200:], ROWS.Y[200:]).hamming_error < guessed_on_average


@pytest.mark.slow
def test_a_function_of_the_users_is_a_signal():
    def weighted(values, truth):
        total = 0.0
        for k in range(len(values)):
            total += (k + 1.0) * (values[k] == truth[k])
        return total

    model = quick(signal=weighted).fit(ROWS.X, ROWS.Y)
    assert model.evaluate(ROWS.X, ROWS.Y).hamming_error < 0.25


def test_kernel_features_learn_what_lines_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    Y = np.stack([X[:, 0] * X[:, 1] > 0, (X**2).sum(axis=1) < 0.5], axis=1)
    linear = quick(n_epochs=30).fit(X[:300], Y[:300]).evaluate(X[300:], Y[300:]).hamming_error
    rbf = quick(n_epochs=30, features="rbf").fit(X[:300], Y[:300]).evaluate(X[300:], Y[300:]).hamming_error
    assert rbf < 0.15 < 0.3 < linear


def test_couplings_tell_labels_that_exclude_each_other():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 3, size=300)
    X = np.eye(3)[which] + rng.normal(scale=0.7, size=(300, 3))
    model = quick(n_epochs=30, decision="map").fit(X, np.eye(3)[which])
    assert (model.coupling_[np.triu_indices(3, 1)] < 0).all()
    assert (model.predict(X).sum(axis=1) <= 1).mean() > 0.95


def test_sparse_and_dense_rows_give_the_same_model():
    X = np.where(np.abs(ROWS.X) > 1, ROWS.X, 0.0)
    settings = {"standardize": False, "rate": 0.01}
    dense = quick(**settings).fit(X, ROWS.Y)
    sparse = quick(**settings).fit(csr_array(X), csr_matrix(ROWS.Y))
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X)), atol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "rbf", "both"])
def test_features_of_sparse_rows_are_scaled_without_being_filled(kind):
    X = np.where(np.abs(ROWS.X) > 1, ROWS.X, 0.0)
    fitted = fit_features(csr_array(X), kind, rng=np.random.default_rng(0))
    features = fitted.transform(csr_array(X))
    assert issparse(features) == (kind != "rbf")
    lengths = np.sum(np.asarray(features.todense() if issparse(features) else features) ** 2, axis=1)
    assert np.mean(lengths) <= (2.0 if kind == "both" else 1.0) + 1e-9
    assert quick(features=kind).fit(csr_array(X), ROWS.Y).predict(csr_array(X)).shape == ROWS.Y.shape


@pytest.mark.parametrize(
    "form", [lambda y: y == 1, lambda y: y.astype(float), lambda y: csr_matrix(y.astype(bool)), lambda y: y.tolist()]
)
def test_labels_may_come_in_any_form(form, fitted):
    again = quick().fit(ROWS.X[:200], form(ROWS.Y[:200]))
    np.testing.assert_array_equal(again.coefficients_, fitted.coefficients_)


@pytest.mark.parametrize("learner", ["samplerank", "samplerank-svm", "pcd"])
def test_nothing_is_learned_where_the_truth_is_unknown(learner):
    hidden = np.random.default_rng(0).random(ROWS.Y.shape) < 0.3
    partial = np.where(hidden, np.nan, ROWS.Y)
    model = quick(learner=learner, n_epochs=20).fit(ROWS.X, partial)
    as_code = quick(learner=learner, n_epochs=20).fit(ROWS.X, np.where(hidden, -1, ROWS.Y))
    np.testing.assert_array_equal(model.coefficients_, as_code.coefficients_)
    as_absent = quick(learner=learner, n_epochs=20).fit(ROWS.X, np.where(hidden, 0, ROWS.Y))
    assert model.evaluate(ROWS.X, ROWS.Y).hamming_error < as_absent.evaluate(ROWS.X, ROWS.Y).hamming_error


def test_one_label_and_constant_labels():
    one = quick().fit(ROWS.X, ROWS.Y[:, :1])
    assert one.predict(ROWS.X).shape == (300, 1)
    Y = np.column_stack([ROWS.Y[:, 0], np.ones(300), np.zeros(300)])
    model = quick().fit(ROWS.X, Y)
    predicted = model.predict(1e6 * ROWS.X)
    assert predicted[:, 1].all()
    assert not predicted[:, 2].any()
    assert (quick().fit(ROWS.X, Y[:, 1:]).predict(ROWS.X) == [1, 0]).all()


def test_auto_decision_asks_cross_validation():
    model = quick(decision="auto").fit(ROWS.X, ROWS.Y)
    assert model.decision_temperature_ in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
    assert model.proba_temperature_ > 0.0


def test_the_same_seed_gives_the_same_model_and_another_one_another(fitted):
    again = clone(fitted).fit(ROWS.X[:200], ROWS.Y[:200])
    np.testing.assert_array_equal(again.coefficients_, fitted.coefficients_)
    other = quick(random_state=1).fit(ROWS.X[:200], ROWS.Y[:200])
    assert (other.coefficients_ != fitted.coefficients_).any()


def test_twenty_labels_are_sampled():
    rows = generate_rows(200, 20, seed=1)
    model = quick(decision="map").fit(rows.X, rows.Y)
    assert model.predict(rows.X).shape == (200, 20)
    chance = model.predict_proba(rows.X)
    assert ((chance > 0) & (chance < 1)).all()


# --- keeping


@pytest.mark.parametrize("features", ["linear", "rbf", "both"])
def test_a_saved_model_answers_as_before(features, tmp_path):
    model = quick(features=features, rate=np.float64(0.03)).fit(ROWS.X, ROWS.Y, label_names=["a", "b", "c", "d"])
    model.save(tmp_path / "m.walk")
    loaded = MultiLabelClassifier.load(tmp_path / "m.walk")
    np.testing.assert_array_equal(loaded.predict(ROWS.X), model.predict(ROWS.X))
    np.testing.assert_array_equal(loaded.predict_proba(ROWS.X), model.predict_proba(ROWS.X))
    assert loaded.label_names_ == ("a", "b", "c", "d")
    assert loaded.get_params() == {**model.get_params(), "random_state": None}


def test_a_saved_model_holds_no_pickle(fitted, tmp_path):
    fitted.save(tmp_path / "m.walk")
    content = (tmp_path / "m.walk").read_bytes()
    assert b"sklearn" not in content
    assert b"numpy" not in content
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the reader of pickles says first
        for _ in pickletools.genops(content):
            pass


def test_classes_of_any_kind_are_kept(tmp_path):
    y = np.where(ROWS.Y[:, 0] == 1, "yes", "no")
    model = quick().fit(ROWS.X, y)
    model.save(tmp_path / "m.walk")
    loaded = MultiLabelClassifier.load(tmp_path / "m.walk")
    np.testing.assert_array_equal(loaded.predict(ROWS.X), model.predict(ROWS.X))
    assert set(loaded.predict(ROWS.X)) == {"yes", "no"}
    assert loaded.predict_proba(ROWS.X).shape == (300, 2)
    assert loaded.evaluate(ROWS.X, y).hamming_error < 0.3


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "m.walk").write_bytes(b"\x80\x04not a model")
    with pytest.raises(ArchiveError, match="not a Walkstep model"):
        MultiLabelClassifier.load(tmp_path / "m.walk")


# --- bad input


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"decision": "best"}, "decision is 'best'; choose one of map"),
        ({"features": "cubic"}, "features is 'cubic'; choose one of linear, rbf, both"),
        ({"learner": "magic"}, "learner 'magic' is not known"),
        ({"step": "giant"}, "step rule 'giant' is not known"),
        ({"signal": "bleu"}, "signal is 'bleu'; choose 'hamming' or 'f1'"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"features": "rbf", "bandwidth": 0}, "bandwidth is 0; give a positive number"),
    ],
)
def test_bad_settings_are_named(settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(ROWS.X, ROWS.Y)


@pytest.mark.parametrize(
    ("Y", "says"),
    [
        (np.full((300, 2), 2), r"Y\[0, 0\] is 2; give 1 where a row bears a label"),
        (np.full((300, 2), 0.5), "Unknown label type"),
        (np.full((300, 2), "red"), "values; give 0 and 1"),
        (np.where(ROWS.Y == 0, -1, 1), "holds -1 .* and 1 but no 0"),
        (np.column_stack([ROWS.Y[:, 0], np.full(300, np.nan)]), r"'label1' \(column 1\) is unknown in every row"),
        (np.full((300, 2), np.inf), "infinity"),
        (ROWS.Y[:10], "inconsistent numbers of samples"),
    ],
)
def test_bad_labels_are_named(Y, says):
    with pytest.raises(ValueError, match=says):
        quick().fit(ROWS.X, Y)


def test_wrong_number_of_names_or_columns(fitted):
    with pytest.raises(ValueError, match="4 labels but 1 label_names"):
        quick().fit(ROWS.X, ROWS.Y, label_names=["a"])
    with pytest.raises(ValueError, match="20 features"):
        fitted.predict(ROWS.X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(np.full((1, 20), np.nan))


# --- real data


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.skipif("WALKSTEP_DATA" not in os.environ, reason="WALKSTEP_DATA is not set")
def test_table_2_of_the_samplerank_paper_in_short():
    result = run(0, quick=True)
    assert [bar["id"] for bar in result["bars"]] == ["scene", "yeast"]
    assert all(bar["ours"] < limit for bar, limit in zip(result["bars"], (9.49, 19.8), strict=True))
    assert all(row["ours"] is not None for row in result["rows"])
    assert {"row", "metric", "paper", "ours", "deviation"} == set(result["rows"][0])
