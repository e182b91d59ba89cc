import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_matrix

from walkstep.data.rankings import Rankings, as_given, dense_places, read_rankings

NAMES = ("a", "b", "c", "d")
NAN = np.nan

PLACES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5),
    elements=st.sampled_from([0, 1, 2, 5, NAN]),
).map(dense_places)


def named(places):
    return Rankings(places, tuple("abcde"[: places.shape[1]]))


def same(one, other):
    assert one.label_names == other.label_names
    np.testing.assert_array_equal(one.places, other.places)


def test_texts_have_ties_gaps_and_space():
    rankings, form = read_rankings(["c>a = b> d", " ", None, "d>a", NAN])
    assert form == "texts"
    assert rankings.label_names == NAMES
    np.testing.assert_array_equal(rankings.places, [[1, 1, 0, 2], [NAN] * 4, [NAN] * 4, [1, NAN, NAN, 0], [NAN] * 4])
    assert rankings.texts() == ["c>a=b>d", "", "", "d>a", ""]
    assert rankings.order(0) == (("c",), ("a", "b"), ("d",))
    assert not rankings.is_complete


@pytest.mark.parametrize(
    "rows",
    [
        ["b>a", "a>b"],
        np.array(["b>a", "a>b"]),
        np.array(["b>a", "a>b"], dtype=object),
        pl.Series(["b>a", "a>b"]),
        pl.DataFrame({"ranking": ["b>a", "a>b"]}),
        pa.table({"ranking": ["b>a", "a>b"]}),
        (text for text in ("b>a", "a>b")),
    ],
)
def test_texts_come_in_any_column(rows):
    rankings, form = read_rankings(rows)
    assert form == "texts"
    assert rankings.places.tolist() == [[1, 0], [0, 1]]
    assert rankings.is_complete


@pytest.mark.parametrize(
    "rows",
    [
        [["b", "a"], ("a", "b")],
        np.array([["b", "a"], ["a", "b"]]),
        pl.Series([["b", "a"], ["a", "b"]]),
        pl.DataFrame({"first": ["b", "a"], "second": ["a", "b"]}),
    ],
)
def test_orders_come_as_any_sequences(rows):
    rankings, form = read_rankings(rows)
    assert form == "orders"
    assert rankings.places.tolist() == [[1, 0], [0, 1]]


def test_orders_may_have_ties_and_leave_labels_out():
    rankings, form = read_rankings([["d", {"a", "c"}, "b"], [("c", "a")], [], ["b", frozenset("a")]])
    assert form == "orders"
    assert rankings.texts() == ["d>a=c>b", "a=c", "", "b>a"]


@pytest.mark.parametrize(
    "matrix",
    [
        [[2, 1], [NAN, 1]],
        [[2, 1], [None, 1]],
        np.array([[2, 1], [NAN, 1]], np.float32),
        np.array([[2, 1], [None, 1]], dtype=object),
        pl.DataFrame({"label0": [2, None], "label1": [1, 1]}),
        pl.LazyFrame({"label0": [2, None], "label1": [1, 1]}),
        pa.table({"label0": [2, None], "label1": [1, 1]}),
        csr_matrix([[2, 1], [NAN, 1]]),
    ],
)
def test_places_come_in_any_matrix(matrix):
    rankings, form = read_rankings(matrix)
    assert form == "ranks"
    assert rankings.label_names == ("label0", "label1")
    np.testing.assert_array_equal(rankings.places, [[1, 0], [NAN, 0]])


def test_columns_of_a_dataframe_name_labels_and_are_put_in_order():
    frame = pl.DataFrame({"tea": [0, 1], "milk": [1, 0]})
    assert read_rankings(frame)[0].label_names == ("tea", "milk")
    assert read_rankings(frame, ["milk", "tea"])[0].places.tolist() == [[1, 0], [0, 1]]
    rankings = read_rankings(frame)[0]
    assert read_rankings(rankings, ["milk", "tea"])[0].texts() == ["tea>milk", "milk>tea"]


@pytest.mark.parametrize(
    ("matrix", "form"),
    [
        ([[1, 2, 3], [2, 1, 3]], "ranks"),
        ([[0, 1, 2], [1, 0, 2]], "places"),
        ([[1, 2, 3], [0, 1, 2]], "places"),
        ([[1, 2, 3], [2, NAN, 3]], "ranks"),
        ([[1, NAN, 3], [NAN, NAN, NAN]], "ranks"),
        ([[2, NAN, 3]], "places"),
        ([[-1.5, 0.25, 7]], "places"),
        ([[NAN, NAN]], "places"),
    ],
)
def test_ranks_are_told_from_places_by_their_smallest(matrix, form):
    assert read_rankings(matrix)[1] == form


def test_labels_that_are_whole_numbers_sort_by_value():
    assert read_rankings(["10>9>2"])[0].label_names == ("2", "9", "10")
    assert read_rankings(["x>9>10"])[0].label_names == ("10", "9", "x")


def test_label_names_say_which_labels_there_are():
    rankings, _ = read_rankings(["b>a"], ["c", "b", "a"])
    np.testing.assert_array_equal(rankings.places, [[NAN, 0, 1]])
    assert read_rankings([[0, 1]], ["x", "y"])[0].label_names == ("x", "y")


@given(PLACES)
def test_every_form_leads_back_to_the_same_rankings(places):
    rankings = named(places)
    for form in ("texts", "orders", "places", "ranks", "rankings"):
        given_back = as_given(places, rankings.label_names, form)
        if form in ("texts", "orders"):
            same(read_rankings(given_back, rankings.label_names)[0], rankings)
        else:
            again, found = read_rankings(given_back, rankings.label_names)
            same(again, rankings)
            is_known = (~np.isnan(places)).any()
            assert found == form or not is_known


@given(PLACES, st.randoms())
def test_dense_places_keep_the_order_and_are_without_gaps(places, random):
    stretched = places * random.randint(1, 9) - random.randint(0, 9)
    np.testing.assert_array_equal(dense_places(stretched), places)
    for row in places:
        known = row[~np.isnan(row)]
        assert set(known) == set(range(len(set(known))))


def test_predictions_have_the_form_of_what_was_given():
    places = [[2, 0, 1], [0, 1, 2]]
    assert as_given(places, "abc", "texts").tolist() == ["b>c>a", "a>b>c"]
    assert as_given(places, "abc", "orders") == [("b", "c", "a"), ("a", "b", "c")]
    assert as_given([[0, 0, 1]], "abc", "orders") == [(("a", "b"), "c")]
    assert as_given(places, "abc", "ranks").tolist() == [[3, 1, 2], [1, 2, 3]]
    assert as_given(places, "abc", "places").dtype == np.int64
    assert as_given(places, "abc", "rankings").is_complete
    with pytest.raises(ValueError, match="form is 'order'; give texts, orders, places, ranks or rankings"):
        as_given(places, "abc", "order")
