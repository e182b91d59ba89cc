import datetime as dt
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler, Levenshtein
from sklearn.feature_extraction.text import TfidfVectorizer

from walkstep.features.columns import normalise
from walkstep.features.comparators import (
    Comparator,
    categories,
    containment,
    cosine,
    dates,
    edit,
    exact,
    initials,
    jaccard,
    jaro_winkler,
    lists,
    missing,
    names,
    number,
    signed_number,
    user,
    vectors,
)
from walkstep.features.comparisons import compare_pairs
from walkstep.features.default_comparators import default_comparators
from walkstep.features.encodings import encode

TENTHS = tuple(k / 10 for k in range(1, 11))
WORDS = ["learning", "boosting", "Bayes", "naïve", "networks", "of", "the", "漢字", "β-reduction", ""]
titles = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.none() | st.just(" ?! ")


def all_levels(encoded):
    """Levels of every ordered pair, (N, N, C)."""
    n = encoded.n_records
    left, right = np.divmod(np.arange(n * n), n)
    return compare_pairs(encoded.comparisons, left, right).reshape(n, n, -1)


def naive_levels(texts, likeness, thresholds):
    """The same from a plain function of two normalised texts."""
    normal = [None if text is None else normalise(pl.Series([text]))[0] for text in texts]
    levels = np.zeros((len(texts), len(texts)), int)
    for i, a in enumerate(normal):
        for j, b in enumerate(normal):
            if a and b:
                levels[i, j] = 1 + sum(likeness(a, b) >= t - 1e-9 for t in thresholds)
    return levels


def of_sets(likeness):
    return lambda a, b: likeness(set(a.split()), set(b.split()))


NAIVE = {
    jaccard: of_sets(lambda a, b: len(a & b) / len(a | b)),
    containment: of_sets(lambda a, b: len(a & b) / min(len(a), len(b))),
    edit: Levenshtein.normalized_similarity,
    jaro_winkler: JaroWinkler.similarity,
}


@given(st.lists(titles, min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_likenesses_of_texts_are_those_of_their_naive_twins(texts):
    frame = pl.DataFrame({"title": texts}, schema={"title": pl.String})
    levels = all_levels(encode(frame, [make("title", TENTHS) for make in NAIVE]))
    for c, likeness in enumerate(NAIVE.values()):
        np.testing.assert_array_equal(levels[..., c], naive_levels(texts, likeness, TENTHS))


def tfidf_levels(texts, thresholds):
    """Levels by scikit-learn's cosine, each word counted once."""
    normal = [normalise(pl.Series([text or ""]))[0] for text in texts]
    present = np.flatnonzero([bool(text) for text in normal])
    vectorizer = TfidfVectorizer(analyzer=str.split, binary=True)  # pyright: ignore[reportArgumentType]
    rows = vectorizer.fit_transform([normal[k] for k in present])
    cosines = (rows @ rows.T).toarray()
    levels = np.zeros((len(texts), len(texts)), int)
    levels[np.ix_(present, present)] = 1 + (cosines[..., None] >= np.array(thresholds) - 1e-9).sum(-1)
    return levels


@given(st.lists(titles, min_size=1, max_size=10).filter(lambda texts: any(t and t.strip(" ?!") for t in texts)))
@settings(max_examples=40, deadline=None)
def test_cosine_is_that_of_scikit_learn(texts):
    encoded = encode(pl.DataFrame({"title": texts}, schema={"title": pl.String}), [cosine("title", TENTHS)])
    np.testing.assert_array_equal(all_levels(encoded)[..., 0], tfidf_levels(texts, TENTHS))


def messy_table(n=60, seed=0):
    """Every type of column, with nulls, not-a-numbers, repeated and odd values."""
    rng = np.random.default_rng(seed)
    first, last = ["John", "J.", "Mary", "Jürgen", ""], ["Smith", "van Dyck", "O'Hara", "Li"]

    def sometimes(values):
        return [None if rng.random() < 0.15 else value for value in values]

    born = [dt.date(1980, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 400, n)]
    return pl.DataFrame(
        {
            "title": sometimes(" ".join(rng.choice(WORDS, rng.integers(0, 7))) for _ in range(n)),
            "author": sometimes(f"{rng.choice(first)} {rng.choice(last)}" for _ in range(n)),
            "year": sometimes(float(rng.choice([1990, 1991, 1999, np.nan, np.inf])) for _ in range(n)),
            "born": sometimes(born),
            "type": sometimes(rng.choice(["book", "Book", "article"]).item() for _ in range(n)),
            "tags": sometimes(rng.choice(["a", "b", "c", "!"], rng.integers(0, 4)).tolist() for _ in range(n)),
            "embedding": sometimes(rng.integers(-1, 2, 3).astype(float).tolist() for _ in range(n)),
        },
        schema_overrides={"tags": pl.List(pl.String), "embedding": pl.List(pl.Float32)},
    )


def share_of_letters(a, b):
    """A user's own: letters of the shorter among those of the longer, by length alone."""
    return min(len(a), len(b)) / max(len(a), len(b))


SYMMETRIC = [
    *(make("title") for make in (exact, missing, jaccard, containment, cosine, edit, jaro_winkler, initials)),
    names("author"),
    exact("year"),
    number("year"),
    dates("born"),
    lists("tags"),
    vectors("embedding"),
    user(share_of_letters, "title"),
]
ORDERED = [categories("type"), signed_number("year")]


def test_levels_do_not_depend_on_the_order_of_the_two_records():
    levels = all_levels(encode(messy_table(), SYMMETRIC))
    np.testing.assert_array_equal(levels, levels.transpose(1, 0, 2))


def test_levels_stay_within_what_was_promised():
    encoded = encode(messy_table(), SYMMETRIC + ORDERED)
    levels = all_levels(encoded)
    assert (levels < encoded.comparisons.n_levels).all()
    for c, comparator in enumerate(encoded.comparators):
        assert len(comparator.level_names()) == comparator.n_levels == encoded.comparisons.n_levels[c]
        assert len(np.unique(levels[..., c])) > 2  # each of them tells something


@pytest.mark.parametrize("n_first", [1, 30, 59])
def test_records_added_later_are_compared_as_if_they_had_been_there(n_first):
    frame = messy_table()
    without_weights = [one for one in SYMMETRIC + ORDERED if one.kind != "cosine"]
    settled = encode(frame, without_weights)
    extended = encode(frame[:n_first], settled.comparators).extend(frame[n_first:])
    np.testing.assert_array_equal(all_levels(extended), all_levels(settled))
    again = encode(frame[:n_first], settled.comparators)
    for row in range(n_first, len(frame)):
        again = again.extend(frame[row : row + 1])
    np.testing.assert_array_equal(all_levels(again), all_levels(settled))


def test_new_records_do_not_change_the_weights_of_words():
    old = pl.DataFrame({"title": ["a b c", "a d", "a e", "b x"]})
    encoded = encode(old, [cosine("title", TENTHS)])
    extended = encoded.extend(pl.DataFrame({"title": ["b c", "new words b", "b b"]}))
    np.testing.assert_array_equal(all_levels(extended)[:4, :4], all_levels(encoded))
    idf = {"a": np.log(5 / 4) + 1, "b": np.log(5 / 3) + 1, "c": np.log(5 / 2) + 1, "new": np.log(5) + 1}
    expected = idf["b"] ** 2 / idf["b"] / np.sqrt(2 * idf["new"] ** 2 + idf["b"] ** 2)
    assert all_levels(extended)[5, 6, 0] == 1 + sum(expected >= t for t in TENTHS)
    assert encoded.n_records == 4  # the first one is untouched


def test_equal_columns_and_forms_are_encoded_once_and_read_only():
    encoded = encode(messy_table(), [jaccard("title"), cosine("title"), exact("title"), edit("title"), number("year")])
    assert [(one.column, one.form) for one in encoded.encodings] == [
        ("title", "words"),
        ("title", "letters"),
        ("year", "number"),
    ]
    for array in encoded.comparisons:
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable
            assert array.flags.c_contiguous


def test_missing_counts_the_missing_and_is_never_level_0():
    frame = pl.DataFrame({"venue": ["NIPS", None, " . "]})
    np.testing.assert_array_equal(
        all_levels(encode(frame, [missing("venue")]))[..., 0], [[1, 2, 2], [2, 3, 3], [2, 3, 3]]
    )


def test_numbers_are_read_from_texts_too():
    frame = pl.DataFrame({"year": ["(1992),", "1993.", "n.d.", "-3", None, "pp. 24.5-30"]})
    levels = all_levels(encode(frame, [number("year", (-2000, -1, 0))]))[..., 0]
    np.testing.assert_array_equal(levels[0], [4, 3, 0, 2, 0, 2])
    assert levels[3, 5] == 2


def test_signed_numbers_tell_which_comes_first():
    levels = all_levels(encode(pl.DataFrame({"at": [3, 5]}), [signed_number("at", (-1, 0, 1, 2))]))[..., 0]
    np.testing.assert_array_equal(levels, [[3, 5], [1, 3]])


def test_dates_allow_for_slips_of_the_pen():
    born = ["1980-02-03", "1980-03-02", "1990-02-03", "1980-02-04", "1983-07-18", None, "1980-13-45", "19800203"]
    levels = all_levels(encode(pl.DataFrame({"born": born}), [dates("born")]))[..., 0]
    np.testing.assert_array_equal(levels[0], [6, 5, 5, 5, 1, 0, 0, 6])
    as_dates = pl.DataFrame({"born": [dt.date(1980, 2, 3), dt.datetime(1980, 2, 28).date()]})
    assert all_levels(encode(as_dates, [dates("born")]))[0, 1, 0] == 3


@given(st.lists(st.dates(dt.date(1950, 1, 1), dt.date(2030, 1, 1)), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_dates_are_written_as_the_calendar_does(days):
    encoded = encode(pl.DataFrame({"day": days}), [dates("day")])
    written = encoded.comparisons.items[encoded.comparisons.value_of_record[:, 0]]
    assert written.tolist() == [int(day.strftime("%Y%m%d")) for day in days]


def test_category_pairs_are_ordered_and_unknown_ones_missing():
    encoded = encode(pl.DataFrame({"type": ["a", "b", None]}), [categories("type")])
    np.testing.assert_array_equal(all_levels(encoded)[..., 0], [[1, 2, 0], [3, 4, 0], [0, 0, 0]])
    assert all_levels(encoded.extend(pl.DataFrame({"type": ["c", "b"]})))[1, 3:, 0].tolist() == [0, 4]
    with pytest.raises(ValueError, match="merge the rare ones"):
        encode(pl.DataFrame({"type": [str(k) for k in range(16)]}), [categories("type")])


def test_vectors_are_compared_by_cosine():
    frame = pl.DataFrame({"v": [[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], None, [-1.0, 0.0]]})
    levels = all_levels(encode(frame, [vectors("v", (-0.5, 0.59, 0.61, 1.0))]))[..., 0]
    np.testing.assert_array_equal(levels[0], [5, 3, 0, 0, 1])
    with pytest.raises(ValueError, match="row 1: the vector has 1 numbers, others have 2"):
        encode(pl.DataFrame({"v": [[1.0, 2.0], [1.0]]}), [vectors("v")])
    with pytest.raises(ValueError, match="row 1: the vector holds"):
        encode(pl.DataFrame({"v": [None, [np.nan]]}, schema={"v": pl.List(pl.Float64)}), [vectors("v")])


def test_lists_may_be_written_as_texts():
    frame = pl.DataFrame({"by": ["Ann Lee; Bob", "bob;ann  lee; ", ";", "Bob;Cid"]})
    levels = all_levels(encode(frame, [lists("by", (0.3, 0.6, 1.0))]))[..., 0]
    np.testing.assert_array_equal(levels[0], [4, 4, 0, 2])


def test_users_functions_see_code_points_or_strings():
    frame = pl.DataFrame({"title": ["Straße", "gasse", None]})

    def same_last(a, b):
        return 1.0 if a[-1] == b[-1] else 0.0

    def same_end(a, b):
        return float(a.endswith("asse") and b.endswith("asse"))

    def longer(a, b):
        return float(len(a) - len(b))

    chosen = [
        user(same_last, "title", (1.0,)),
        user(same_end, "title", (1.0,), compile=False),
        user(longer, "title", (0.0, 1.0)),
    ]
    levels = all_levels(encode(frame, chosen))
    np.testing.assert_array_equal(levels[0], [[2, 2, 2], [2, 2, 3], [0, 0, 0]])
    with pytest.raises(ValueError, match="at most 4"):
        encode(frame, [user(longer, "title", name=f"longer {k}") for k in range(5)])
    with pytest.raises(TypeError, match="likeness 'same_end' does not compile"):
        encode(frame, [user(same_end, "title")])


def test_an_error_in_a_users_function_reaches_the_caller():
    def fails(a, b):
        raise KeyError(a)

    encoded = encode(pl.DataFrame({"title": ["x", "y"]}), [user(fails, "title", compile=False)])
    with pytest.raises(KeyError, match="x"):
        compare_pairs(encoded.comparisons, [0], [1])


def test_descriptions_survive_json():
    for comparator in [*SYMMETRIC, categories("type", ["a", "b"]), lists("by", separator="|")]:
        plain = json.loads(json.dumps(comparator.to_dict()))
        assert Comparator.from_dict(plain, {"share_of_letters": share_of_letters}) == comparator
    with pytest.raises(ValueError, match="hand it over as functions="):
        Comparator.from_dict(user(share_of_letters, "title").to_dict())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Comparator("soundex", "a"), "choose from"),
        (lambda: jaccard("a", (0.5, 0.5)), "finite ones that rise"),
        (lambda: jaccard("a", (0.5, np.nan)), "finite ones that rise"),
        (lambda: jaccard("a", ()), "give at least one"),
        (lambda: replace(exact("a"), thresholds=(0.5,)), "leave them out"),
        (lambda: number("a", range(300)), "253 at most"),
        (lambda: categories("a", ["x", "x"]), "category twice"),
        (lambda: encode(pl.DataFrame({"b": [1]}), [exact("a")]), "'a', which the table does not have"),
        (lambda: encode(pl.DataFrame({"a": [1]}), [exact("a"), exact("a")]), "tell them apart"),
        (lambda: default_comparators({"a": "colour"}), "'colour'; choose from"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_empty_table_can_be_extended():
    frame = messy_table()
    encoded = encode(frame, SYMMETRIC + ORDERED)
    grown = encode(frame[:0], encoded.comparators).extend(frame)
    np.testing.assert_array_equal(all_levels(grown), all_levels(encoded))


def test_defaults_follow_the_kinds_and_the_table():
    frame = messy_table()
    kinds = {"title": "text", "author": "name", "year": "number", "born": "date", "type": "category", "tags": "list"}
    chosen = default_comparators(kinds | {"embedding": "vector"}, frame)
    assert {"dates(born)", "vectors(embedding)", "names(author)", "number(year)"} <= {one.name for one in chosen}
    assert not any(one.kind == "missing" for one in chosen)
    assert all_levels(encode(frame, chosen)).any()
    prices = pl.DataFrame({"price": [0.5, 3.25, 8.0, 100.0]})
    assert default_comparators({"price": "number"}, prices)[0].thresholds == (-28.0, -8.5, -2.8, -0.85, 0.0)
    assert [one.kind for one in default_comparators({"doi": "identifier", "k": "constant"})] == ["edit"]


def test_thorough_defaults_compare_what_is_common_in_more_ways():
    frame = pl.DataFrame(
        {
            "title": ["a walk", "a step", "walks", "steps"],
            "pages": ["pp. 3-9", "3--9", None, "10-12"],
            "year": [1990, 1991, 1992, 1992],
            "note": [None, None, None, "to appear"],
        }
    )
    kinds = {"title": "text", "pages": "number", "year": "number", "note": "text"}
    few, many = default_comparators(kinds, frame), default_comparators(kinds, frame, thorough=True)
    ways = {column: [one.kind for one in many if one.column == column] for column in kinds}
    assert ways["title"] == ["jaccard", "containment", "cosine", "edit", "jaro_winkler"]
    assert ways["pages"] == ["number", "jaccard", "edit"]  # written as text
    assert ways["year"] == ["number"]
    assert ways["note"] == [one.kind for one in few if one.column == "note"]  # hardly ever there
    assert all(one.is_rising for one in many)
