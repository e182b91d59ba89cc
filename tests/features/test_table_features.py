import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.bag_of_words import BagOfWords
from walkstep.features.number_columns import NumberColumns
from walkstep.features.table_features import TableFeatures

TEXTS = st.lists(st.lists(st.sampled_from(["a", "b'c", "Dé", "42", "e-f", ",", "<x>"]), max_size=6).map(" ".join))


def naive_words(text):
    """Split at all that is no letter, digit or apostrophe."""
    return "".join(c if c.isalnum() or c == "'" else " " for c in text.lower()).split()


@given(TEXTS, st.integers(1, 3), st.sampled_from(["binary", "normalised"]))
def test_bags_hold_the_words_of_enough_texts(texts, min_count, weighting):
    bag = BagOfWords.fit(texts, min_count=min_count, weighting=weighting)
    told = [naive_words(text) for text in texts]
    expected = sorted(w for w in {w for words in told for w in words} if sum(w in t for t in told) >= min_count)
    assert bag.words == tuple(expected)
    counts = np.array([[words.count(w) for w in expected] for words in told], float).reshape(len(texts), len(expected))
    if weighting == "binary":
        counts = (counts > 0).astype(float)
    else:
        counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(bag.transform(texts).toarray(), counts)
    assert BagOfWords.from_state(bag.state(), weighting=weighting) == bag


def test_runs_of_words_are_words():
    assert BagOfWords.fit(["not so good"], n_grams=2).words == ("good", "not", "not so", "so", "so good")


def test_columns_of_numbers_are_found_and_scaled():
    frame = pl.DataFrame(
        {
            "whole": [1, 3],
            "read": ["0.5", None],
            "truth": [True, False],
            "name": ["4", "four"],
            "nothing": [None, None],
            "same": [7, 7],
        }
    )
    columns = NumberColumns.fit(frame)
    assert columns.names == ("whole", "read", "truth", "same")
    assert columns.transform(frame).tolist() == [[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, -1.0, 0.0]]
    assert NumberColumns.fit(frame, ignore=["whole", "truth"]).names == ("read", "same")
    with pytest.raises(ValueError, match="column 'whole' holds inf in row 0; leave it empty"):
        columns.transform(frame.with_columns(whole=pl.Series([np.inf, 1.0])))


def test_a_state_gives_the_same_features():
    frame = pl.DataFrame({"age": [1, 2, 4]})
    texts = ["a b", "b", ""]
    features = TableFeatures.fit(texts, frame, weighting="normalised")
    again = TableFeatures.from_state(*features.state())
    assert again.names == features.names == ("a", "b", "age")
    for one, other in zip(again.transform(texts, frame), features.transform(texts, frame), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_of_words_alone_are_binary_and_of_nothing_are_none():
    nothing = pl.DataFrame()
    assert TableFeatures.fit(["a", "b"], nothing).transform(["a"], nothing).is_binary
    assert TableFeatures.fit(None, nothing).transform(None, nothing) is None
