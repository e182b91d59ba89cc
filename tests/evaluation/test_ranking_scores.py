import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau, spearmanr

from walkstep.data.rankings import Rankings, read_rankings
from walkstep.evaluation.rankings import kendall_taus, ranking_scores, spearman_rhos

NAN = np.nan
SHAPES = st.tuples(st.integers(1, 4), st.integers(2, 6))
PARTIAL = SHAPES.flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from([0, 1, 2, 3, NAN])),
        arrays(np.float64, shape, elements=st.integers(0, 4).map(float)),
    )
)
COMPLETE = SHAPES.flatmap(
    lambda shape: st.tuples(*[st.lists(st.permutations(range(shape[1])), min_size=1, max_size=4)] * 2)
)


def scores_by_pairs(truth, predicted):
    """The slow twin: every two labels of every row, one by one."""
    taus, n_right, n_ordered, n_exact, n_best, n_best_right = [], 0, 0, 0, 0, 0
    for true, guessed in zip(truth, predicted, strict=True):
        right = wrong = ordered = 0
        for i in range(len(true)):
            for j in range(i):
                if true[i] < true[j] or true[i] > true[j]:
                    ordered += 1
                    product = (true[i] - true[j]) * (guessed[i] - guessed[j])
                    right += product > 0
                    wrong += product < 0
        n_right, n_ordered = n_right + right, n_ordered + ordered
        if ordered:
            taus.append((right - wrong) / ordered)
            n_exact += right == ordered
            ranked = np.flatnonzero(~np.isnan(true))
            best = [k for k in ranked if true[k] == np.nanmin(true)]
            if len(best) == 1:
                n_best += 1
                n_best_right += all(guessed[best[0]] < guessed[k] for k in ranked if k != best[0])
        else:
            taus.append(NAN)
    return taus, n_right, n_ordered, n_exact, n_best, n_best_right


@given(PARTIAL)
def test_scores_agree_with_a_loop_over_pairs(pair):
    truth, predicted = pair
    taus, n_right, n_ordered, n_exact, n_best, n_best_right = scores_by_pairs(truth, predicted)
    np.testing.assert_allclose(kendall_taus(truth, predicted), taus)
    if not n_ordered:
        with pytest.raises(ValueError, match="truth orders no two labels in any row"):
            ranking_scores(truth, predicted)
        return
    scores = ranking_scores(truth, predicted)
    assert scores.kendall_tau == pytest.approx(np.nanmean(taus))
    assert scores.pair_accuracy == pytest.approx(n_right / n_ordered)
    assert scores.n_ordered.sum() == 2 * n_ordered
    assert scores.n_ranked == np.sum(~np.isnan(taus))
    assert (scores.n_exact, scores.n_with_best, scores.n_best_right) == (n_exact, n_best, n_best_right)


@given(COMPLETE)
def test_complete_rankings_agree_with_scipy(pair):
    n_rows = min(map(len, pair))
    truth, predicted = (np.array(side[:n_rows]) for side in pair)
    taus, rhos = kendall_taus(truth, predicted), spearman_rhos(truth, predicted)
    n = truth.shape[1]
    np.testing.assert_allclose(rhos, 1 - 6 * ((truth - predicted) ** 2).sum(axis=1) / (n * (n * n - 1)), atol=1e-12)
    for row in range(n_rows):
        assert taus[row] == pytest.approx(kendalltau(truth[row], predicted[row])[0])
        assert rhos[row] == pytest.approx(spearmanr(truth[row], predicted[row])[0])


@given(PARTIAL)
def test_spearman_of_ranked_labels_agrees_with_scipy(pair):
    truth, predicted = pair
    for rho, true, guessed in zip(spearman_rhos(truth, predicted), truth, predicted, strict=True):
        ranked = ~np.isnan(true)
        if len(set(true[ranked])) < 2:
            assert np.isnan(rho)
        elif len(set(guessed[ranked])) < 2:
            assert rho == 0
        else:
            assert rho == pytest.approx(spearmanr(true[ranked], guessed[ranked])[0])


@given(PARTIAL)
def test_turning_a_prediction_round_turns_the_signs(pair):
    truth, predicted = pair
    np.testing.assert_allclose(kendall_taus(truth, -predicted), -kendall_taus(truth, predicted))
    np.testing.assert_allclose(spearman_rhos(truth, -predicted), -spearman_rhos(truth, predicted), atol=1e-12)


def test_what_the_truth_does_not_say_costs_nothing():
    truth, _ = read_rankings(["a>b", "a=b>c", ""], ["a", "b", "c"])
    for texts in (["c>a>b", "a>b>c", "a>b>c"], ["a>b>c", "b>a>c", "c>b>a"]):
        scores = ranking_scores(truth, read_rankings(texts)[0])
        assert (scores.kendall_tau, scores.exact, scores.top, scores.n_ranked) == (1, 1, 1, 2)
        assert scores.n_with_best == 1


def test_scores_go_to_json_with_their_names():
    truth, _ = read_rankings(["tea>milk", "milk>tea"])
    scores = json.loads(json.dumps(ranking_scores(truth, truth.places).to_dict()))
    assert scores["by_label"]["tea"] == {"pair_accuracy": 1.0, "n_right": 2, "n_ordered": 2}
    assert scores["spearman"] == 1


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([[0, 1]], [[0, 1], [1, 0]], r"truth has shape \(1, 2\) but predicted has \(2, 2\); give the same rows"),
        ([0, 1], [[0, 1]], r"truth has shape \(2,\); give a matrix"),
        ([[0, 1]], [[0, NAN]], r"predicted\[0, 1\] is nan; predict a place for each label that the truth ranks"),
        ([[0, np.inf]], [[0, 1]], r"truth\[0, 1\] is inf; give a finite place, or NaN"),
    ],
)
def test_places_that_cannot_be_compared_are_named(truth, predicted, message):
    with pytest.raises(ValueError, match=message):
        ranking_scores(truth, predicted)


def test_names_must_fit():
    one, other = (Rankings(np.array([[0.0, 1.0]]), names) for names in (("a", "b"), ("b", "a")))
    with pytest.raises(ValueError, match=r"truth ranks \('a', 'b'\) but predicted ranks \('b', 'a'\)"):
        ranking_scores(one, other)
    with pytest.raises(ValueError, match="truth has 2 labels but label_names has 1"):
        ranking_scores(one, one, ["a"])
    with pytest.raises(TypeError, match="truth holds <U3 values; give the places of labels, or Rankings"):
        ranking_scores([["a>b"]], [["a>b"]])
