import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.expression import Atom, Bag, Conjunction, parse_feature, parse_features

names = st.from_regex(r"\A[a-z_é][a-z0-9_.\-]{0,8}\Z")
arguments = st.one_of(st.none(), st.integers(1, 20))
atoms = st.builds(Atom, names, st.integers(-9, 9), arguments)
bags = st.tuples(names, st.integers(-9, 9), st.integers(0, 9), arguments).map(
    lambda bag: Bag(bag[0], bag[1], bag[1] + bag[2], bag[3])
)
conjunctions = st.lists(atoms, min_size=2, max_size=4, unique=True).map(lambda parts: Conjunction(tuple(parts)))


@given(st.one_of(atoms, bags, conjunctions))
def test_compact_notation_reads_back(expression):
    assert parse_feature(str(expression)) == expression


def test_spaces_and_plus_signs_are_welcome():
    assert parse_feature(" lower [ +1 ] & prefix( 3 ) ") == Conjunction((Atom("lower", 1), Atom("prefix", 0, 3)))
    assert parse_feature("bag : lower[-4 : -1]") == Bag("lower", -4, -1)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected the name of a property, found the end"),
        ("lower[-1&lower", 9, "expected '\\]', found '&'"),
        ("lower[x]", 7, "expected a whole number, the offset of 'lower', found 'x'"),
        ("prefix(3", 9, "expected '\\)', found the end"),
        ("prefix(0)", 1, "the argument of 'prefix' is 0; give 1 or more"),
        ("word&", 6, "expected the name of a property, found the end"),
        ("word&word[0]", 1, "names a part twice"),
        ("word word", 6, "found 'w'"),
        ("bag:lower", 10, "expected '\\[' and a window"),
        ("bag:lower[1]", 12, "expected ':' and the last position"),
        ("bag:lower[2:1]", 5, "begins at 2, after its end 1; write it as \\[1:2\\]"),
        ("bag:lower[1:2]&word", 15, "bags are not joined to others"),
        ("word[1001]", 1, "looks 1001 positions away; stay within 1000"),
    ],
)
def test_errors_point_at_the_column(text, column, message):
    with pytest.raises(ValueError, match=f"at column {column}: .*{message}") as caught:
        parse_feature(text)
    assert str(caught.value).endswith("\n    " + " " * (column - 1) + "^")


def test_lists_of_features_are_checked():
    with pytest.raises(TypeError, match=r"features is the string 'word'; give a list"):
        parse_features("word")
    with pytest.raises(TypeError, match="feature 3 is neither a string nor an expression"):
        parse_features([3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="cannot name a property"):
        Atom("a b")
    with pytest.raises(ValueError, match="joins two properties or more, not 1"):
        Conjunction((Atom("a"),))
