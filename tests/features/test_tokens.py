import gc
import json
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_token_features import Naive, count_names

from walkstep.data.sequences import Sequences
from walkstep.features.default_features import DEFAULT_FEATURES, column_features
from walkstep.features.expression import parse_features
from walkstep.features.properties import PROPERTIES
from walkstep.features.rows import check_rows
from walkstep.features.tokens import TokenFeatures

WORDS = [
    "Peter",
    "PETER",
    "peter",
    "Blackburn",
    "said",
    "The",
    "the",
    "New",
    "York",
    "york",
    "1996-08-22",
    "U.S.",
    "--",
    "a",
    "İstanbul",
    "ǅungla",
    "straße",
    "東京",
    "½",
    "é́",
    "",
    "\ud800",
    "😀",
]
words = st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS[:10]), st.text(max_size=4))
GAZETTEERS = {"place": ["New York", "York", "the New York"], "person": ["Peter", "Peter Blackburn said"]}
CLUSTERS = {"Peter": "0110", "said": "10", "東京": "011111"}


def letters(word):
    return sorted(set(word))


def initial(word):
    return word[:1] or "none"


FUNCTIONS = {"letters": letters, "initial": initial}
EVERYTHING = [
    f"{name}({n})" if known.argument else name
    for name, known in PROPERTIES.items()
    for n in ((2, 3) if known.argument else (0,))
] + ["pos", "letters", "initial"]


@st.composite
def corpora(draw):
    sentences = draw(st.lists(st.lists(words, min_size=1, max_size=7), min_size=1, max_size=6))
    columns = [[draw(st.sampled_from(["NN", "VB", ""])) for _ in sentence] for sentence in sentences]
    starts = draw(st.lists(st.booleans(), min_size=len(sentences), max_size=len(sentences)))
    return Sequences.from_lists(sentences, columns={"pos": columns}, documents=np.cumsum(starts).tolist())


def make(expressions, **options):
    return TokenFeatures(
        expressions, gazetteers=GAZETTEERS, clusters=CLUSTERS, functions=FUNCTIONS, keep_names=True, **options
    )


def naive_names(corpus, expressions):
    naive = Naive(corpus, gazetteers=GAZETTEERS, clusters=CLUSTERS, functions=FUNCTIONS)
    return naive.all_names(parse_features(expressions))


def named(features, rows):
    check_rows(rows)
    names = features.names()
    assert len(names) == rows.n_columns
    return [{names[k] for k in rows.row(i)} for i in range(rows.n_rows)]


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_property_matches_its_plain_definition(name):
    @settings(max_examples=25, deadline=None)
    @given(corpora())
    def check(corpus):
        expressions = [name, f"{name}[-1]", f"{name}[2]"]
        features = make(expressions)
        assert named(features, features.fit_transform(corpus)) == naive_names(corpus, expressions)

    check()


atoms = st.tuples(st.sampled_from(EVERYTHING), st.integers(-3, 3)).map(lambda pair: f"{pair[0]}[{pair[1]}]")
bags = st.tuples(st.sampled_from(EVERYTHING), st.integers(-4, 4), st.integers(0, 5)).map(
    lambda bag: f"bag:{bag[0]}[{bag[1]}:{bag[1] + bag[2]}]"
)
conjunctions = st.lists(atoms, min_size=2, max_size=3, unique=True).map("&".join)
feature_lists = st.lists(st.one_of(atoms, bags, conjunctions), min_size=1, max_size=6, unique_by=str)


@settings(max_examples=60, deadline=None)
@given(corpora(), feature_lists, st.integers(1, 3))
def test_extraction_matches_sets_of_names(corpus, expressions, min_count):
    features = make(expressions, min_count=min_count)
    found = named(features, features.fit_transform(corpus))
    wanted = naive_names(corpus, expressions)
    count = count_names(wanted)
    assert found == [{name for name in names if count[name] >= min_count} for names in wanted]
    assert len(set(features.names())) == features.n_features == len({n for n in count if count[n] >= min_count})


@settings(max_examples=40, deadline=None)
@given(corpora(), corpora(), feature_lists)
def test_transform_gives_the_known_names_of_new_text(corpus, other, expressions):
    features = make(expressions)
    again = named(features, features.fit_transform(corpus))
    assert named(features, features.transform(corpus)) == again
    known = set(features.names())
    assert named(features, features.transform(other)) == [names & known for names in naive_names(other, expressions)]


@settings(max_examples=25, deadline=None)
@given(corpora(), corpora(), feature_lists)
def test_state_goes_through_json_and_arrays_and_back(corpus, other, expressions):
    features = make(expressions).fit(corpus)
    description, arrays = features.state(without_functions=True)
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    loaded = TokenFeatures.from_state(json.loads(json.dumps(description)), arrays, functions=FUNCTIONS)
    for mine, theirs in zip(features.transform(other), loaded.transform(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert loaded.names() == features.names()


@settings(max_examples=25, deadline=None)
@given(corpora(), feature_lists, st.sampled_from([1, 7, 64, 1000]))
def test_buckets_hold_each_number_once_a_row(corpus, expressions, n_buckets):
    features = TokenFeatures(
        expressions, n_buckets=n_buckets, gazetteers=GAZETTEERS, clusters=CLUSTERS, functions=FUNCTIONS
    )
    rows = check_rows(features.transform(corpus))
    assert rows.n_columns == features.n_features == n_buckets
    for mine, theirs in zip(rows, features.fit_transform(corpus), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    n_names = [len(names) for names in naive_names(corpus, expressions)]
    assert all(min(n, 1) <= k <= n for k, n in zip(np.diff(rows.ptr), n_names, strict=True))


def test_fitting_twice_gives_the_same_rows_whatever_came_between():
    corpus = Sequences.from_lists([["Peter", "Blackburn", "said"], ["Blackburn", "left"]], documents=[0, 0])
    first = TokenFeatures(DEFAULT_FEATURES).fit_transform(corpus)
    TokenFeatures(DEFAULT_FEATURES).fit_transform(Sequences.from_lists([["else"]]))
    second = TokenFeatures(DEFAULT_FEATURES).fit_transform(corpus)
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_lone_surname_learns_its_first_name_from_the_document():
    corpus = Sequences.from_lists(
        [["Peter", "Blackburn", "spoke"], ["Then", "Blackburn", "left"], ["Blackburn"]], documents=[0, 0, 1]
    )
    features = TokenFeatures(["doc_phrase"], keep_names=True)
    rows = features.fit_transform(corpus)
    found = named(features, rows)
    assert found[4] == {"doc_phrase=left=peter"}
    assert found[1] == {"doc_phrase=left=then"}
    assert found[6] == set()


def test_large_documents_and_many_features_outgrow_the_first_guess():
    rare = [["a"]] * 5000
    corpus = Sequences.from_lists([*rare, *([["Word", "another"] * 40] * 30)])
    features = TokenFeatures(["ngrams(6)", "bag:ngrams(5)[-9:9]"], keep_names=True)
    rows = check_rows(features.fit_transform(corpus))
    assert len(rows.row(0)) == 6
    assert named(features, rows)[-1] >= {"ngrams(6)=<anoth", "bag:ngrams(5)[-9:9]=<Wor"}


def test_an_empty_corpus_has_no_rows():
    empty = Sequences.from_lists([])
    features = TokenFeatures(DEFAULT_FEATURES)
    assert features.fit_transform(empty).n_rows == 0
    assert features.n_features == 0
    rows = features.transform(Sequences.from_lists([["a"]]))
    assert rows.ptr.tolist() == [0, 0]


def test_default_and_column_features_can_be_extracted():
    corpus = Sequences.from_lists([["a", "b"]], columns={"pos": [["X", "Y"]]})
    features = TokenFeatures([*DEFAULT_FEATURES, *column_features(corpus.columns)])
    assert features.fit_transform(corpus).n_rows == 2


def test_sequences_are_left_as_they_were():
    corpus = Sequences.from_lists([["a", "b"], ["c"]])
    corpus.sentence_ptr.flags.writeable = False
    corpus.document_ptr.flags.writeable = False
    TokenFeatures(DEFAULT_FEATURES).fit_transform(corpus)
    assert corpus.tokens == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("expressions", "options", "message"),
    [
        (["prefix"], {}, "needs an argument, the number of characters; write it as prefix"),
        (["word(2)"], {}, "'word' in feature 'word\\(2\\)' takes no argument"),
        (["prefx(2)"], {}, "unknown feature 'prefx' with an argument; did you mean 'prefix'"),
        (["ngrams(1)"], {}, "n-grams of one character; give 2 or more"),
        (["word", "word[0]"], {}, "feature 'word' is given twice"),
        (["cluster(4)"], {}, "needs clusters; pass clusters="),
        (["gazetteer"], {}, "needs lists; pass gazetteers="),
        (["word"], {"min_count": 0}, "min_count is 0; give 1 or more"),
        (["word"], {"min_count": 2, "n_buckets": 9}, "min_count=2 needs a vocabulary"),
        (["word"], {"keep_names": True, "n_buckets": 9}, "keep_names=True needs a vocabulary"),
        (["word"], {"n_buckets": 0}, "n_buckets is 0; give a number from 1"),
        (["word"], {"functions": {"lower": str.lower}}, "function 'lower' has the name of a built-in"),
        (["word"], {"clusters": {"a": "012"}}, "cluster of word 'a' is '012'; give a string of 0s and 1s"),
    ],
)
def test_wrong_features_are_named_before_any_data(expressions, options, message):
    with pytest.raises(ValueError, match=message):
        TokenFeatures(expressions, **options)


def test_unknown_names_get_the_closest_one_and_the_columns():
    corpus = Sequences.from_lists([["a"]], columns={"pos": [["X"]]})
    with pytest.raises(ValueError, match=r"unknown feature 'shpae'; did you mean 'shape'.* columns pos"):
        TokenFeatures(["shpae"]).fit_transform(corpus)
    with pytest.raises(ValueError, match=r"unknown feature 'chunk'.* has no further columns"):
        TokenFeatures(["chunk"]).fit_transform(Sequences.from_lists([["a"]]))


def test_asking_too_early_or_for_what_was_not_kept_says_what_to_do():
    features = TokenFeatures(["word"])
    with pytest.raises(ValueError, match="not fitted; call fit_transform first"):
        features.transform(Sequences.from_lists([["a"]]))
    with pytest.raises(ValueError, match="set keep_names=True before fitting"):
        features.fit(Sequences.from_lists([["a"]])).names()


def test_functions_are_not_saved_silently():
    features = TokenFeatures(["initial"], functions={"initial": initial}).fit(Sequences.from_lists([["a"]]))
    with pytest.raises(ValueError, match="function 'initial' cannot be saved; pass without_functions=True"):
        features.state()
    description, arrays = features.state(without_functions=True)
    with pytest.raises(ValueError, match="uses your function 'initial'; pass functions="):
        TokenFeatures.from_state(description, arrays)


def test_functions_are_called_once_a_distinct_word_and_must_give_strings():
    calls = []
    features = TokenFeatures(["noted", "noted[1]"], functions={"noted": lambda w: calls.append(w) or w})
    features.fit_transform(Sequences.from_lists([["a", "b", "a"]]))
    assert calls == ["a", "b"]
    with pytest.raises(TypeError, match="function 'number' gave 1 for the word 'a'; return a string"):
        TokenFeatures(["number"], functions={"number": lambda _: [1]}).fit(Sequences.from_lists([["a"]]))  # pyright: ignore[reportArgumentType]


def test_a_word_that_looks_like_the_edge_is_not_the_edge():
    corpus = Sequences.from_lists([["<start-1>", "a"], ["\0<start-1>", "b\nc"]])
    rows = TokenFeatures(["word[-1]"]).fit_transform(corpus)
    assert rows.row(0).tolist() == rows.row(2).tolist()
    assert rows.row(1).tolist() != rows.row(0).tolist()
    assert TokenFeatures(["word"]).fit(corpus).n_features == 4


def test_nothing_holds_on_to_the_corpus():
    corpus = Sequences.from_lists([["Peter", "said"]])
    alive = weakref.ref(corpus)
    features = TokenFeatures([*DEFAULT_FEATURES, "ngrams(3)"], keep_names=True)
    gc.disable()
    try:
        features.fit_transform(corpus)
        del corpus
        assert alive() is None
    finally:
        gc.enable()
