import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from walkstep.evaluation.labels import label_set_counts, label_set_scores
from walkstep.evaluation.significance import f1_of_counts

PAIRS = array_shapes(min_dims=2, max_dims=2, min_side=2).flatmap(
    lambda shape: st.tuples(*[arrays(np.int8, shape, elements=st.integers(0, 1))] * 2)
)


@settings(deadline=None)
@given(PAIRS)
def test_scores_agree_with_scikit_learn(pair):
    truth, predicted = pair
    scores = label_set_scores(truth, predicted)
    assert scores.hamming_error == pytest.approx(hamming_loss(truth, predicted))
    assert scores.hamming_accuracy == pytest.approx(1 - hamming_loss(truth, predicted))
    assert scores.subset_accuracy == pytest.approx(accuracy_score(truth, predicted))
    for average, value in (("micro", scores.micro_f1), ("macro", scores.macro_f1)):
        assert value == pytest.approx(f1_score(truth, predicted, average=average, zero_division=0))
    np.testing.assert_allclose(scores.f1_of_label, f1_score(truth, predicted, average=None, zero_division=0))
    assert f1_of_counts(label_set_counts(truth, predicted).sum(axis=0)) == pytest.approx(scores.micro_f1)


@settings(deadline=None)
@given(
    PAIRS,
    st.sampled_from([csr_matrix, csr_array, np.asarray, lambda y: y.astype(bool), lambda y: y.astype(float)]),
)
def test_every_kind_of_matrix_gives_the_same_scores(pair, kind):
    truth, predicted = pair
    assert label_set_scores(truth, kind(predicted)).to_dict() == label_set_scores(truth, predicted).to_dict()


def test_scores_go_to_json_with_their_names():
    scores = label_set_scores([[1, 0]], [[1, 1]], ["red", "round"])
    assert json.loads(json.dumps(scores.to_dict()))["by_label"]["round"]["n_predicted"] == 1


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([[1, 0]], [[1]], r"truth has shape \(1, 2\) but predicted has \(1, 1\)"),
        ([1, 0], [[1, 0]], r"truth has shape \(2,\); give a matrix"),
        ([[1, 0]], [[1, 0.5]], r"predicted\[0, 1\] is 0.5; give 0 and 1 only"),
        ([[1, 0], [-1, 0]], [[1, 0], [1, 0]], r"truth\[1, 0\] is -1"),
        ([[np.nan, 0]], [[1, 0]], r"truth\[0, 0\] is nan"),
    ],
)
def test_matrices_that_cannot_be_compared_are_named(truth, predicted, message):
    with pytest.raises(ValueError, match=message):
        label_set_scores(truth, predicted)


def test_names_must_fit():
    with pytest.raises(ValueError, match="truth has 2 labels but label_names has 1"):
        label_set_scores([[1, 0]], [[1, 0]], ["red"])
    with pytest.raises(TypeError, match="truth holds <U1 values"):
        label_set_scores([["a"]], [[1]])
