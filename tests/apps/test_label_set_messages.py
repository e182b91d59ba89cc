"""Label sets learned by messages: the batch against the grounded way and enumeration, answers against JAX, manners."""

import itertools
import sys

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from walkstep.apps.label_pairs import label_pairs
from walkstep.apps.label_set_beliefs import believed_log_odds
from walkstep.apps.label_set_inference import label_marginals
from walkstep.apps.label_set_learners import BY_MESSAGES
from walkstep.apps.label_set_messages import folded, label_set_batch, learn_by_messages
from walkstep.apps.label_set_model import LabelSetModel, label_set_world
from walkstep.apps.multi_label_classifier import MultiLabelClassifier
from walkstep.data.demo import generate_rows
from walkstep.evaluation.labels import label_set_counts
from walkstep.inference.graph_batch import graph_batch
from walkstep.learning.message_learning import MessageLearner
from walkstep.messages.answers import log_beliefs
from walkstep.messages.losses import as_loss
from walkstep.messages.objectives import OBJECTIVES, Inference, Objective

ROWS = generate_rows(300, 4, seed=0)
TRUTH = ROWS.Y.astype(np.int32)


def quick(**given) -> MultiLabelClassifier:
    return MultiLabelClassifier(**{"learner": "risk", "n_epochs": 8, "random_state": 0, **given})


def small(n_rows=5, n_labels=4, n_columns=3, *, seed=0, unknown=False):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
    truth = rng.integers(-1 if unknown else 0, 2, size=(n_rows, n_labels)).astype(np.int32)
    return rows, truth, rng


# --- the batch


@pytest.mark.parametrize(("kind", "is_sparse"), [(kind, kind in ("risk", "svm")) for kind in OBJECTIVES], ids=str)
def test_objectives_are_those_of_the_grounded_graph(kind, is_sparse):
    rows, truth, rng = small(unknown=kind == "likelihood")
    pairs = label_pairs(truth)
    given = csr_array(rows) if is_sparse else rows
    batch = label_set_batch(given, truth, pairs)
    world, layout = label_set_world(given, truth)
    grounded = graph_batch(world.graph, truth.ravel(), document_ptr=world.document_ptr)
    weights = rng.normal(size=batch.tables.n_weights)
    there = np.zeros(layout.size)
    layout.view(there, "label")[:, :, 1] = weights[: 4 * 4].reshape(4, 4)
    layout.view(there, "pair")[:, 0, 1, 1] = weights[4 * 4 :]
    objective = Objective(kind, Inference(n_rounds=6), as_loss("label-set-f1"))
    with jax.enable_x64(True):
        value_and_slope = jax.jit(jax.value_and_grad(objective))
        here = value_and_slope(jax.numpy.asarray(weights), batch)
        other = value_and_slope(jax.numpy.asarray(there), grounded)
    np.testing.assert_allclose(here[0], other[0], rtol=1e-10)
    slope = np.asarray(other[1])
    expected = np.r_[layout.view(slope, "label")[:, :, 1].ravel(), layout.view(slope, "pair")[:, 0, 1, 1]]
    np.testing.assert_allclose(here[1], expected, atol=1e-10)
    # Margins count how often labels stand in the truth and in its rival, which may come out even.
    assert (expected != 0.0).mean() > (0.5 if kind in ("svm", "perceptron") else 0.999)


def enumerated_likelihood(model: LabelSetModel, rows, truth):
    """Minus the mean log likelihood of known labels, unknown ones summed out, for each known label."""
    sets = np.array(list(itertools.product((0, 1), repeat=truth.shape[1])))
    total = 0.0
    for log_odds, known in zip(model.log_odds(rows), truth, strict=True):
        scores = sets @ log_odds + 0.5 * ((sets @ model.coupling) * sets).sum(axis=1)
        fits = ((known < 0) | (sets == known)).all(axis=1)
        total -= np.logaddexp.reduce(scores[fits]) - np.logaddexp.reduce(scores)
    return total / (truth >= 0).sum()


@pytest.mark.parametrize("unknown", [False, True])
def test_likelihood_is_exact_where_pairs_close_no_cycle(unknown):
    rows, truth, rng = small(unknown=unknown, seed=1)
    pairs = np.array([[0, 1, 1], [1, 2, 3]])
    batch = label_set_batch(rows, truth, pairs)
    weights = rng.normal(size=batch.tables.n_weights)
    with jax.enable_x64(True):
        found = jax.jit(Objective("likelihood", Inference(n_rounds=4)))(jax.numpy.asarray(weights), batch)
    assert float(found) == pytest.approx(enumerated_likelihood(folded(weights, 4, pairs), rows, truth), rel=1e-9)


# --- answers


@given(st.integers(0, 10**6), st.sampled_from([1, 4]), st.sampled_from(["sum-product", "max-product"]), st.booleans())
@settings(max_examples=12, deadline=None)
def test_beliefs_are_those_of_jax(seed, n_rounds, kind, is_sparse):
    rows, truth, _ = small(6, 5, seed=seed % 7)
    pairs = label_pairs(truth, "seen" if is_sparse else True)
    batch = label_set_batch(rows, truth, pairs)
    weights = np.random.default_rng(seed).normal(size=batch.tables.n_weights)
    damping = 0.25 * (seed % 2)
    found = log_beliefs(batch, weights, Inference(kind, n_rounds, damping, is_wide=True), precise=True)
    model = folded(weights, 5, pairs)
    twin = believed_log_odds(model.log_odds(rows), model.coupling, inference=kind, n_rounds=n_rounds, damping=damping)
    np.testing.assert_allclose((found[1] - found[0]).T, twin, atol=1e-9)


def test_beliefs_are_exact_marginals_where_couplings_close_no_cycle():
    rng = np.random.default_rng(0)
    coupling = np.zeros((4, 4))
    coupling[[0, 1, 1], [1, 2, 3]] = rng.normal(size=3)
    coupling += coupling.T
    log_odds = rng.normal(size=(10, 4))
    found = believed_log_odds(log_odds, coupling)
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), label_marginals(log_odds, coupling), rtol=1e-9)


# --- the estimator


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"learner": "svm", "optimiser": "pegasos", "rate": 1.0, "l2": 1e-3},
        *(pytest.param({"learner": name}, marks=slow) for name in BY_MESSAGES[1:]),
        *(pytest.param({"pairwise": value}, marks=slow) for value in ("seen", 3, False)),
        *(pytest.param({name: value}, marks=slow) for name, value in [("loss", "f1"), ("features", "rbf")]),
        pytest.param({"decision": "map"}, marks=slow),
    ],
    ids=str,
)
def test_every_setting_learns(given):
    model = quick(**given).fit(ROWS.X[:200], ROWS.Y[:200])
    guessed_on_average = (ROWS.Y[200:] != (ROWS.Y[:200].mean(axis=0) > 0.5)).mean()
    assert model.evaluate(ROWS.X[200:], ROWS.Y[200:]).hamming_error < guessed_on_average
    assert len(model.epochs_) == model.n_epochs_asked
    assert not model.interrupted_


def test_answers_come_from_the_inference_it_was_trained_for():
    model = quick(learner="likelihood", n_rounds=3, inference="max-product").fit(ROWS.X, ROWS.Y)
    rows = model.features_.transform(ROWS.X)
    log_odds = rows @ model.coefficients_.T + model.intercepts_
    for decision, kind in (("auto", "max-product"), ("map", "max-product"), ("marginals", "sum-product")):
        expected = believed_log_odds(log_odds, model.coupling_, inference=kind, n_rounds=3) > 0
        np.testing.assert_array_equal(model.set_params(decision=decision).predict(ROWS.X), expected)
    chance = 1 / (1 + np.exp(-believed_log_odds(log_odds, model.coupling_, n_rounds=3)))
    np.testing.assert_allclose(model.predict_proba(ROWS.X), chance, atol=1e-12)


def test_sets_with_the_best_expected_f1_are_better_by_it_than_labels_more_probable_than_not():
    model = quick(learner="likelihood", n_rounds=3).fit(ROWS.X[:200], ROWS.Y[:200])
    found = {}
    for decision in ("f1", "marginals"):
        correct, predicted, true = label_set_counts(
            ROWS.Y[200:], model.set_params(decision=decision).predict(ROWS.X[200:])
        ).T
        found[decision] = np.mean(2 * correct / np.maximum(predicted + true, 1))
    assert found["f1"] > found["marginals"]


@slow
def test_trained_for_f1_it_finds_more_labels_than_for_accuracy():
    for_accuracy = quick(n_epochs=20, loss="accuracy").fit(ROWS.X[:200], ROWS.Y[:200])
    for_f1 = quick(n_epochs=20, loss="f1").fit(ROWS.X[:200], ROWS.Y[:200])
    assert for_f1.predict(ROWS.X[200:]).sum() > for_accuracy.predict(ROWS.X[200:]).sum()


@slow
def test_likelihood_gives_chances_that_can_be_believed():
    model = quick(learner="likelihood", n_epochs=30).fit(ROWS.X[:200], ROWS.Y[:200])
    chance = model.predict_proba(ROWS.X[200:])
    assert abs(chance.mean() - ROWS.Y[200:].mean()) < 0.05


@slow
def test_sparse_and_dense_rows_give_the_same_model():
    X = np.where(np.abs(ROWS.X) > 1, ROWS.X, 0.0)
    dense = quick(standardize=False, n_epochs=3).fit(X, ROWS.Y)
    sparse = quick(standardize=False, n_epochs=3).fit(csr_array(X), ROWS.Y)
    np.testing.assert_allclose(dense.coefficients_, sparse.coefficients_, atol=1e-4)


@slow
def test_labels_that_are_not_known_are_summed_out():
    hidden = np.random.default_rng(0).random(ROWS.Y.shape) < 0.3
    model = quick(learner="likelihood", n_epochs=20).fit(ROWS.X, np.where(hidden, np.nan, ROWS.Y))
    as_absent = quick(learner="likelihood", n_epochs=20).fit(ROWS.X, np.where(hidden, 0, ROWS.Y))
    assert model.evaluate(ROWS.X, ROWS.Y).hamming_error < as_absent.evaluate(ROWS.X, ROWS.Y).hamming_error


def test_one_row_one_label_and_constant_labels():
    Y = np.column_stack([ROWS.Y[:, 0], np.ones(300), np.zeros(300)])
    assert (quick(learner="likelihood", n_epochs=2).fit(ROWS.X, Y).predict(ROWS.X)[:, 1:] == [1, 0]).all()
    model, learned = learn_by_messages(
        MessageLearner("likelihood", n_epochs=5, rate=0.5), np.ones((1, 1)), np.array([[1, 0]]), np.array([[0], [1]])
    )
    assert (model.log_odds(np.ones((1, 1))) > 0).tolist() == [[True, False]]
    assert len(learned.epochs) == 5


@pytest.mark.parametrize("decision", ["auto", "f1"])
def test_a_saved_model_answers_as_before(decision, tmp_path):
    model = quick(learner="likelihood", n_rounds=3, decision=decision).fit(ROWS.X, ROWS.Y)
    model.save(tmp_path / "m.walk")
    loaded = MultiLabelClassifier.load(tmp_path / "m.walk")
    np.testing.assert_array_equal(loaded.predict(ROWS.X), model.predict(ROWS.X))
    np.testing.assert_array_equal(loaded.predict_proba(ROWS.X), model.predict_proba(ROWS.X))
    assert loaded.get_params() == {**model.get_params(), "random_state": None}


@slow
def test_a_loss_of_the_users_is_learned_and_not_saved(tmp_path):
    def missed(decoded, truth, weight):
        return (weight * (truth == 1) * decoded[0]).sum() / weight.sum() + 0.1 * decoded[1].mean()

    model = quick(loss=missed).fit(ROWS.X, ROWS.Y)
    assert model.evaluate(ROWS.X, ROWS.Y).recall > 0.9
    model.save(tmp_path / "m.walk")
    np.testing.assert_array_equal(MultiLabelClassifier.load(tmp_path / "m.walk").predict(ROWS.X), model.predict(ROWS.X))


def test_the_same_seed_gives_the_same_model():
    settings = {"learner": "likelihood", "n_rounds": 3, "n_epochs": 2}
    one, again, other = (quick(**settings, random_state=seed).fit(ROWS.X, ROWS.Y).coefficients_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


# --- pairs


def test_the_pairs_that_say_most_about_each_other_come_first():
    rng = np.random.default_rng(0)
    on = rng.random((500, 4)) < 0.5
    on[:, 1] = ~on[:, 0]  # they exclude each other
    on[:, 3] = on[:, 2] ^ (rng.random(500) < 0.1)
    assert label_pairs(on.astype(int), 1).tolist() == [[0], [1]]
    assert label_pairs(on.astype(int), 2).tolist() == [[0, 2], [1, 3]]
    assert label_pairs(on.astype(int), 99).shape == (2, 6)


@pytest.mark.parametrize("learner", ["samplerank-svm", pytest.param("likelihood", marks=slow)])
def test_labels_that_are_not_joined_are_not_coupled(learner):
    model = quick(learner=learner, pairwise=2, decision="marginals").fit(ROWS.X, ROWS.Y)
    pairs = label_pairs(TRUTH, 2)
    joined = np.zeros((4, 4), bool)
    joined[pairs[0], pairs[1]] = joined[pairs[1], pairs[0]] = True
    assert ((model.coupling_ != 0.0) == joined).all()


# --- bad input


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"loss": "bleu"}, "loss is 'bleu'; choose one of accuracy"),
        ({"inference": "guess"}, "inference is 'guess'; choose 'sum-product' or 'max-product'"),
        ({"optimiser": "newton"}, "optimiser is 'newton'; choose one of adam"),
        ({"n_rounds": 0}, "n_rounds is 0; give 1 or more"),
        ({"damping": 1.0}, "damping is 1.0; give a number from 0 to below 1"),
        ({"pairwise": "some"}, "pairwise is 'some'; give True, False, 'seen'"),
        ({"pairwise": -1}, "pairwise is -1; give True, False, 'seen'"),
        ({"learner": "magic"}, "learner 'magic' is not known; choose one of .*risk, likelihood"),
    ],
)
def test_bad_settings_are_named(given, says):
    with pytest.raises(ValueError, match=says):
        quick(**given).fit(ROWS.X, ROWS.Y)


def test_where_jax_is_missing_the_way_to_it_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("walkstep.messages", "walkstep.learning.message"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "walkstep.apps.label_set_messages")
    with pytest.raises(ImportError, match=r"learner 'risk' takes jax, .* pip install 'walkstep\[jax\]'"):
        quick().fit(ROWS.X, ROWS.Y)
