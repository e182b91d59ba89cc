import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from walkstep.evaluation.classes import class_scores


def test_scores_agree_with_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, guessed = rng.integers(-1, 3, 200), rng.integers(0, 3, 200)
    scores = class_scores(truth, guessed, ["a", "b", "c"])
    known = truth >= 0
    assert scores.accuracy == accuracy_score(truth[known], guessed[known])
    assert scores.n_items == known.sum()
    rates = precision_recall_fscore_support(truth[known], guessed[known])
    ours = [(one.precision, one.recall, one.f1, one.n_true) for one in scores.by_class.values()]
    np.testing.assert_allclose(np.transpose(ours), rates)
    assert scores.to_dict()["macro_f1"] == pytest.approx(np.mean(rates[2]))


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="give two lists of the same length"):
        class_scores([0, 1], [0], ["a", "b"])
