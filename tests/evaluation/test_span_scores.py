import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.data.readers import read_conll
from walkstep.data.tagging_schemes import to_bio
from walkstep.evaluation.significance import f1_of_counts
from walkstep.evaluation.spans import Span, span_counts, span_scores, spans

TAGS = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("X", "Y"))]
TAGGINGS = st.lists(st.sampled_from(TAGS), max_size=12)


def conlleval_spans(tags):
    """The rules of the conlleval script for one sentence, tag by tag: E ends, S stands alone."""
    found, start = [], None
    padded = ["O", *tags, "O"]
    for t in range(1, len(padded)):
        (before, _, kind_before), (here, _, kind) = padded[t - 1].partition("-"), padded[t].partition("-")
        ends = before != "O" and (here in "BSO" or before in "ES" or kind != kind_before)
        begins = here != "O" and (here in "BS" or before in "OES" or kind != kind_before)
        if ends:
            found.append(Span(start, t - 1, kind_before))
        if begins:
            start = t - 1
    return found


@settings(deadline=None)
@given(TAGGINGS)
def test_spans_are_those_of_conlleval(tags):
    assert spans(tags, [0, len(tags)]) == conlleval_spans(tags)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=20), st.data())
def test_scores_count_shared_spans(pairs, data):
    truth, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    cut = data.draw(st.integers(0, len(pairs)))
    ptr = [0, cut, len(pairs)]
    true, guessed = set(spans(truth, ptr)), set(spans(predicted, ptr))
    scores = span_scores(truth, predicted, ptr)
    assert tuple(scores.overall) == (len(true & guessed), len(guessed), len(true))
    for kind, one in scores.by_type.items():
        same = [{span for span in side if span.type == kind} for side in (true, guessed)]
        assert tuple(one) == (len(same[0] & same[1]), len(same[1]), len(same[0]))
    counts = span_counts(truth, predicted, ptr)
    assert counts.sum(axis=0).tolist() == list(scores.overall)
    assert f1_of_counts(counts.sum(axis=0)) == scores.f1


def test_rates_are_worked_out_by_hand():
    truth = ["B-PER", "I-PER", "O", "B-LOC", "O", "B-PER"]
    predicted = ["B-PER", "I-PER", "O", "B-ORG", "O", "O"]
    scores = span_scores(truth, predicted, [0, 4, 6])
    assert (scores.precision, scores.recall, scores.f1) == (1 / 2, 1 / 3, 2 / 5)
    assert scores.accuracy == 4 / 6
    assert scores.by_type["PER"].recall == 1 / 2


def test_schemes_may_differ_between_truth_and_prediction():
    assert span_scores(["I-X", "I-X", "B-X"], ["B-X", "L-X", "U-X"], [0, 3]).f1 == 1.0


def test_unknown_truth_is_not_scored():
    scores = span_scores(["B-X", None, "O", None], ["B-X", "I-X", "O", "B-Y"], [0, 4])
    assert (scores.f1, scores.accuracy, scores.n_tokens) == (1.0, 1.0, 2)
    assert list(scores.by_type) == ["X"]


def test_parts_of_speech_are_spans_of_one_token():
    assert spans(["NN", "NN", "O"], [0, 3]) == [Span(0, 1, "NN"), Span(1, 2, "NN")]


def test_nothing_to_find_scores_zero():
    scores = span_scores(["O"], ["O"], [0, 1])
    assert (scores.precision, scores.recall, scores.f1, scores.accuracy) == (0, 0, 0, 1)
    assert span_scores([], [], [0]).accuracy == 0


def test_scores_go_to_json_and_to_text():
    scores = span_scores(["B-longer", "O"], ["B-longer", "B-X"], [0, 2])
    read = json.loads(json.dumps(scores.to_dict()))
    assert read["f1"] == scores.f1
    assert read["by_type"]["X"]["n_predicted"] == 1
    assert "longer" in scores.table()


def test_counts_are_gathered_by_document():
    truth, predicted = ["B-X", "B-X", "B-X"], ["B-X", "O", "B-X"]
    assert span_counts(truth, predicted, [0, 1, 2, 3], [0, 2, 3]).tolist() == [[1, 1, 2], [1, 1, 1]]
    with pytest.raises(ValueError, match="document_ptr must rise from 0 to the 3 sentences"):
        span_counts(truth, predicted, [0, 1, 2, 3], [0, 2])


def test_tags_that_cannot_be_compared_are_named():
    with pytest.raises(ValueError, match="truth has 1 tags but predicted has 2"):
        span_scores(["O"], ["O", "O"], [0, 1])
    with pytest.raises(ValueError, match="no tag for token 1"):
        span_scores(["O", "O"], ["O", None], [0, 2])
    with pytest.raises(ValueError, match="no tag for token 1"):
        span_scores([None, "O"], [None, None], [0, 2])


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("eng.train", {"LOC": 7140, "MISC": 3438, "ORG": 6321, "PER": 6600}),
        ("eng.testa", {"LOC": 1837, "MISC": 922, "ORG": 1341, "PER": 1842}),
    ],
)
def test_conll_2003_has_its_published_entities(name, counts):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), "conll2003", name)
    if not path.exists():
        pytest.skip("set WALKSTEP_DATA to a folder that holds conll2003")
    corpus = read_conll(path)
    scores = span_scores(corpus.tags, to_bio(corpus.tags, corpus.sentence_ptr), corpus.sentence_ptr)
    assert {kind: one.n_true for kind, one in scores.by_type.items()} == counts
    assert scores.f1 == 1.0
    assert np.sum(span_counts(corpus.tags, corpus.tags, corpus.sentence_ptr, corpus.document_ptr)) == 3 * sum(
        counts.values()
    )
