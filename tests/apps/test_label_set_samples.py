"""Label sets learned from samples, beside the same model estimated exactly."""

import numpy as np
import pytest

from walkstep import MultiLabelClassifier
from walkstep.apps.label_pairs import label_pairs
from walkstep.apps.label_set_samples import folded, label_set_problem
from walkstep.data.demo import generate_rows
from walkstep.learning.structured_map import map_exactly

pytestmark = pytest.mark.xdist_group("spaces")

ROWS = generate_rows(600, 4, seed=0)
X, Y, X_NEW, Y_NEW = ROWS.X[:300], ROWS.Y[:300], ROWS.X[300:], ROWS.Y[300:]
L2 = 1e-4


def sampled(**settings) -> MultiLabelClassifier:
    return MultiLabelClassifier(
        **{"learner": "sampled-map", "l2": L2, "n_epochs": 30, "decision": "marginals", "random_state": 0, **settings}
    )


@pytest.mark.parametrize("share_unknown", [0.0, 0.2])
def test_what_is_learned_is_near_the_maximum_a_posteriori(share_unknown):
    known = np.where(np.random.default_rng(0).random(Y.shape) < share_unknown, -1, Y).astype(np.int32)
    model = sampled().fit(X, np.where(known < 0, np.nan, known))
    pairs = label_pairs(known, True)
    problem = label_set_problem(model.features_.transform(X), known, pairs, L2)
    *_, best = map_exactly(problem)
    exact = folded(best.model, pairs)
    chances = model.predict_proba(X_NEW)
    model.coefficients_, model.intercepts_, model.coupling_ = exact
    assert np.abs(chances - model.predict_proba(X_NEW)).mean() < 0.02


def test_it_learns_as_well_as_walks_do():
    errors = {
        learner: sampled(learner=learner, l2=1e-5).fit(X, Y).evaluate(X_NEW, Y_NEW).hamming_error
        for learner in ("sampled-map", "samplerank-svm")
    }
    base = np.minimum(Y_NEW.mean(axis=0), 1.0 - Y_NEW.mean(axis=0)).mean()
    assert errors["sampled-map"] < errors["samplerank-svm"] + 0.03 < base


@pytest.mark.parametrize("settings", [{}, {"pairwise": False}, {"decision": "map"}, {"features": "both"}])
def test_a_saved_model_answers_as_before(settings, tmp_path):
    model = sampled(n_epochs=4, **settings).fit(X, Y)
    assert model.predict(X_NEW).shape == Y_NEW.shape
    model.save(tmp_path / "m.walk")
    loaded = MultiLabelClassifier.load(tmp_path / "m.walk")
    np.testing.assert_array_equal(loaded.predict_proba(X_NEW), model.predict_proba(X_NEW))
    again = sampled(n_epochs=4, **settings).fit(X, Y)
    np.testing.assert_array_equal(again.coefficients_, model.coefficients_)


def test_a_prior_without_end_is_refused():
    with pytest.raises(ValueError, match="l2 is 0; learner 'sampled-map' takes the width of its prior from it"):
        sampled(l2=0).fit(X, Y)
