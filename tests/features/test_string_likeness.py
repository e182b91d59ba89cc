import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler, Levenshtein

from walkstep.features._kernels.name_rows import name_rows
from walkstep.features._kernels.word_rows import initials_rows
from walkstep.features.columns import normalise_names, text_column
from walkstep.features.name_likeness import name_likeness
from walkstep.features.string_likeness import (
    MOST_LETTERS,
    edit_distance,
    edit_likeness,
    initials_likeness,
    jaro_winkler_likeness,
    n_common,
)

few_letters = st.text(alphabet="ab", min_size=1, max_size=90)
many_letters = st.text(alphabet="abcdef é漢字\U0001f600", min_size=1, max_size=200)
texts = few_letters | many_letters


def letters(text):
    return np.frombuffer(text.encode("utf-32-le"), np.int32)


@st.composite
def slips(draw):
    """A text, and the same after a few edits: near pairs that two random texts never are."""
    text = draw(texts)
    other = list(text)
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(other)))
        other[at : at + draw(st.integers(0, 2))] = draw(st.text("abé", max_size=2))
    return text, "".join(other) or "a"


@given(slips() | st.tuples(texts, texts), st.sampled_from([0, 1, 3, 10, 60, 1000]))
@settings(max_examples=400, deadline=None)
def test_edit_distance_is_rapidfuzz_up_to_the_limit(pair, limit):
    a, b = pair
    assert edit_distance(letters(a), letters(b), limit) == min(Levenshtein.distance(a, b), limit + 1)


def test_a_limit_that_is_just_enough_never_stops_a_long_comparison_early():
    rng = np.random.default_rng(1)
    for length in (65, 128, 129, 200, 300):
        for _ in range(20):
            a = "".join(rng.choice(list("abcdefgh"), length))
            b = "x" + a[:40] + a[43:].replace("ab", "b") + "yz"  # changes at both ends and in between
            distance = Levenshtein.distance(a, b)
            assert edit_distance(letters(a), letters(b), distance) == distance
            assert edit_distance(letters(a), letters(b), distance - 1) == distance


@given(slips() | st.tuples(texts, texts), st.sampled_from([0.0, 0.3, 0.5, 0.8, 0.9, 1.0]))
@settings(max_examples=200, deadline=None)
def test_edit_likeness_is_rapidfuzz_unless_below_the_lowest_threshold(pair, lowest):
    a, b = pair
    expected = Levenshtein.normalized_similarity(a, b)
    found = edit_likeness(letters(a), letters(b), lowest)
    assert found == pytest.approx(expected if expected >= lowest - 1e-9 else -1.0)


@given(slips() | st.tuples(texts, texts))
@settings(max_examples=400, deadline=None)
def test_jaro_winkler_is_rapidfuzz_and_symmetric(pair):
    a, b = pair
    found = jaro_winkler_likeness(letters(a), letters(b))
    assert found == pytest.approx(JaroWinkler.similarity(a, b), abs=1e-12)
    assert found == pytest.approx(jaro_winkler_likeness(letters(b), letters(a)), abs=1e-12)


def test_the_longest_texts_fit_on_the_stack():
    rng = np.random.default_rng(0)
    a = rng.integers(97, 101, MOST_LETTERS).astype(np.int32)
    b = np.roll(a, 5)
    to_text = lambda codes: "".join(map(chr, codes))  # noqa: E731
    assert edit_distance(a, b, len(a)) == Levenshtein.distance(to_text(a), to_text(b))
    short = a[:1500], b[:1400]
    assert jaro_winkler_likeness(*short) == pytest.approx(JaroWinkler.similarity(*map(to_text, short)), abs=1e-12)
    assert jaro_winkler_likeness(a, a) == pytest.approx(1.0)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
@settings(deadline=None)
def test_common_items_are_those_of_the_sets(a, b):
    assert n_common(np.array(sorted(a), np.int32), np.array(sorted(b), np.int32)) == len(a & b)


def initials_of(text):
    column = text_column(pl.Series([text]))
    return initials_rows(column.codes, column.ptr, np.arange(1))[0]


def likeness_of_initials(a, b):
    return initials_likeness(initials_of(a), initials_of(b))


def test_an_acronym_is_as_good_as_the_whole():
    assert likeness_of_initials("ACM", "Advanced Computing Machinery") == 1.0
    assert likeness_of_initials("Advanced Computing Machinery", "acm") == 1.0
    assert likeness_of_initials("ACMX", "Advanced Computing Machinery") < 1.0
    assert likeness_of_initials("a", "albert") == 1.0  # the same initial
    assert likeness_of_initials("r. schapire, y. singer", "Schapire R E, Singer Y") == pytest.approx(8 / 9)
    assert likeness_of_initials("x y", "a b c") == 0.0


def row_of(text):
    column = text_column(pl.Series([text]), names=True)
    return name_rows(column.codes, column.ptr, np.arange(1))[0]


def persons(text):
    """Surname and given names of each person, read back from the row."""
    row = row_of(text).tolist()

    def name(at):
        return "".join(map(chr, row[at + 1 : at + 1 + row[at]])), at + 1 + row[at]

    at, found = 2, []
    for _ in range(row[0]):
        surname, at = name(at + 1)
        n_given, at = row[at], at + 1
        given_names = []
        for _ in range(n_given):
            one, at = name(at)
            given_names.append(one)
        found.append((surname, *given_names))
    assert at == len(row)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r. schapire and y. singer", [("schapire", "r"), ("singer", "y")]),
        ("Schapire, R. E., Singer, Y.", [("schapire", "r", "e"), ("singer", "y")]),
        ("Brodley, C.E. & Utgoff, P.", [("brodley", "c", "e"), ("utgoff", "p")]),
        ("N. Cesa-Bianchi, D. Haussler,", [("cesabianchi", "n"), ("haussler", "d")]),
        ("avrim blum, merrick furst", [("blum", "avrim"), ("furst", "merrick")]),
        ("Smith, John R.; Jones, Mary", [("smith", "john", "r"), ("jones", "mary")]),
        ("Smith, John R., Jones, Mary A.", [("smith", "john", "r"), ("jones", "mary", "a")]),
        ("Schapire R E", [("schapire", "r", "e")]),
        ("L. van der Maaten", [("vandermaaten", "l")]),
        ("van der Maaten, L.", [("vandermaaten", "l")]),
        ("García Márquez, Gabriel", [("garciamarquez", "gabriel")]),
        ("Jean-Pierre O'Brien Jr.", [("obrien", "jean", "pierre")]),
        ("J.-P. Dupont et al.", [("dupont", "j", "p")]),
        ("in douglas r. stinson, editor,", [("stinson", "douglas", "r")]),
        ("Madonna", [("madonna",)]),
        ("Ольга Иванова", [("иванова", "ольга")]),
    ],
)
def test_names_are_taken_apart_in_the_usual_notations(text, expected):
    assert persons(text) == expected


def alike(a, b):
    return name_likeness(row_of(a), row_of(b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("John Smith", "Smith, John", 1.0),
        ("John Smith", "John R. Smith", 0.95),
        ("J. R. Smith", "Smith J R", 0.9),
        ("J. Smith", "Smith, J.", 0.86),
        ("J. Smith", "John Smith", 0.8),
        ("Rob Schapire", "Robert E. Schapire", 0.8),
        ("Michael Smith", "Micheal Smith", 0.75),
        ("Smith", "John Smith", 0.7),
        ("Li Wei", "Wei Li", 0.7),
        ("J. R. Smith", "J. M. Smith", 0.4),
        ("John Smith", "James Smith", 0.3),
        ("John Smith", "Peter Smith", 0.2),
        ("John Smith", "John Brown", 0.0),
        ("R. Schapire", "R. Shapire", 0.9 * 0.86),
        ("R. Schapire", "R. Scahpire", 0.9 * 0.86),
    ],
)
def test_persons_are_told_apart_by_degrees(a, b, expected):
    assert alike(a, b) == pytest.approx(expected)
    assert alike(b, a) == pytest.approx(expected)


def test_lists_of_persons_count_the_first_and_everyone():
    whole = "r. schapire and y. singer"
    assert alike(whole, "Schapire, R., Singer, Y.") == pytest.approx(0.86)
    assert alike(whole, "Singer, Y., Schapire, R.") == pytest.approx(0.43)
    assert alike(whole, "Schapire, R. et al.") == pytest.approx(0.86)
    assert alike(whole, "Schapire, R.") == pytest.approx(0.43 + 0.43 * 2 / 3)
    assert alike(whole, "k. pearl and t. bayes") == 0.0


@given(st.text(alphabet="abj .,;-&ö", min_size=1, max_size=40), st.text(alphabet="abj .,;-&ö", min_size=1, max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_has_persons_and_their_likeness_is_symmetric(a, b):
    if "" in normalise_names(pl.Series([a, b])).to_list():
        return
    assert len(persons(a)) > 0
    assert 0.0 <= alike(a, b) <= 1.0
    assert alike(a, b) == pytest.approx(alike(b, a))
    assert alike(a, a) >= 0.7
