import numpy as np
import pytest

from walkstep.evaluation.spans import span_scores
from walkstep.testing import check_signal
from walkstep.worlds import Hamming, as_metric, as_signal, span_f1, token_f1

LABELS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG")
SENTENCES = np.array([0, 4, 9, 16, 20])
DOCUMENTS = np.array([0, 9, 9, 20])  # the one in the middle is empty
TRUTH = np.array([1, 2, 0, 3, 3, 4, 4, 0, 1, 1, 0, 0, 3, 4, 1, 2, 0, 3, 0, 0])
START = np.random.default_rng(0).integers(0, 5, len(TRUTH))
UNKNOWN = np.where(np.arange(len(TRUTH)) % 5 == 2, -1, TRUTH)


def n_right(values, truth):
    return float((values == truth).sum())


def f1_of_tokens(values, truth):
    values, truth = values[truth >= 0], truth[truth >= 0]
    total = (values != 0).sum() + (truth != 0).sum()
    return 1.0 if total == 0 else 2.0 * ((values == truth) & (values != 0)).sum() / total


def f1_of_spans(values, truth):
    inner = SENTENCES[SENTENCES <= 9] if len(values) == 9 else SENTENCES[SENTENCES >= 9] - 9
    tags = [[LABELS[value] for value in array] for array in (truth, values)]
    return 10.0 * span_scores(*tags, inner).f1


def gain_of_one(values, truth, site, value, first, last):
    return np.float64(value == truth[site]) - np.float64(values[site] == truth[site])


def gain_of_too_much(values, truth, site, value, first, last):
    return 2.0 * np.float64(value == truth[site]) - np.float64(values[site] == truth[site])


def meddle(values, truth, site, value, first, last):
    values[first] = 0
    return np.float64(value == truth[site]) - np.float64(values[site] == truth[site])


@pytest.mark.parametrize(
    ("signal", "truth", "metric"),
    [
        (Hamming(), UNKNOWN, n_right),
        (token_f1(), UNKNOWN, f1_of_tokens),
        (span_f1(LABELS, TRUTH, SENTENCES, scale=10.0), TRUTH, f1_of_spans),
        (as_signal(gain_of_one), UNKNOWN, n_right),
        (as_metric(n_right), UNKNOWN, n_right),
    ],
    ids=lambda thing: type(thing).__name__ if isinstance(thing, tuple) else None,
)
def test_our_signals_pass(signal, truth, metric):
    start = START.copy()
    check_signal(signal, start, truth, DOCUMENTS, 5, metric)
    np.testing.assert_array_equal(start, START)


def test_a_difference_that_is_another_metrics_fails():
    with pytest.raises(
        AssertionError, match=r"signal UserDifference, document 0, variable .* but the metric says .*; return"
    ):
        check_signal(as_signal(gain_of_too_much), START, TRUTH, DOCUMENTS, 5, n_right)


def test_a_metric_on_another_scale_fails():
    with pytest.raises(AssertionError, match="on the metric's scale"):
        check_signal(token_f1(scale=3.0), START, TRUTH, DOCUMENTS, 5, f1_of_tokens)


def test_a_signal_that_changes_values_fails():
    with pytest.raises(AssertionError, match="asking changed variable 0 to 0; leave the values as they were"):
        check_signal(as_signal(meddle), START + 1, TRUTH, DOCUMENTS, 6, n_right)


def test_counts_that_go_stale_are_told_apart(monkeypatch):
    monkeypatch.setattr("walkstep.testing.signals._record", lambda *args: None)
    with pytest.raises(AssertionError, match="counting anew it is right, so keep the counts true in record"):
        check_signal(token_f1(), START, TRUTH, DOCUMENTS, 5, f1_of_tokens)
