import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.expression import Atom, Bag, Conjunction
from walkstep.model.conditions import And, Compare, Distance, Holds, Not, Or, SameSentence, Value
from walkstep.model.language import format_model, parse_condition, parse_model
from walkstep.model.notation import LanguageError
from walkstep.model.templates import Default, Site, Template

identifiers = st.from_regex(r"\A[a-zé][a-z0-9_.\-]{0,6}\Z")
columns = identifiers.map(lambda name: f"my_{name}")  # lest a generated name be a property that is used wrongly
plain = st.sampled_from(["word", "lower", "shape", "length"]) | columns
offsets = st.integers(-9, 9)
named = st.one_of(
    st.tuples(plain, st.none()), st.tuples(st.sampled_from(["prefix", "suffix", "lower_suffix"]), st.integers(1, 9))
)
flags = st.sampled_from(["is_capital", "first", "has_digit"])
atoms = st.builds(lambda call, offset: Atom(call[0], offset, call[1]), named, offsets)
bags = st.builds(
    lambda call, first, width: Bag(call[0], first, first + width, call[1]), named, offsets, offsets.map(abs)
)
conjunctions = st.lists(atoms, min_size=2, max_size=3, unique=True).map(lambda parts: Conjunction(tuple(parts)))
expressions = st.lists(st.one_of(atoms, bags, conjunctions), max_size=12, unique=True).map(tuple)


def values(indices):
    return st.builds(
        lambda call, index, offset: Value(call[0], index, offset, call[1]), named, st.sampled_from(indices), offsets
    )


def conditions(indices):
    single = [
        st.builds(Holds, st.builds(Value, flags, st.sampled_from(indices), offsets)),
        st.builds(Compare, values(indices), st.sampled_from(["==", "!="]), values(indices) | st.text(max_size=5)),
        st.builds(Compare, values(indices), st.sampled_from(["==", "<", ">=", "!="]), st.integers(-99, 99)),
    ]
    if "j" in indices:
        single += [st.builds(Distance, st.sampled_from(["<=", ">", "=="]), st.integers(1, 99)), st.just(SameSentence())]

    def grow(smaller):
        several = st.lists(smaller, min_size=2, max_size=3).map(tuple)
        return st.one_of(st.builds(Not, smaller), st.builds(And, several), st.builds(Or, several))

    return st.recursive(st.one_of(single), grow, max_leaves=6)


@st.composite
def templates(draw):
    variables = identifiers.map(lambda name: f"v_{name}")
    sites = draw(st.lists(st.builds(Site, variables, st.just("i"), offsets), min_size=1, max_size=3, unique=True))
    name = draw(st.none() | identifiers)
    features = draw(expressions) + draw(st.sampled_from([(), (Default(),)]))
    if draw(st.booleans()):
        sites += [draw(st.builds(Site, variables, st.just("j"), offsets))]
        j_features = draw(expressions)
        return Template(
            tuple(sites),
            features,
            draw(conditions(["i", "j"])),
            draw(st.sampled_from([None, True, False] if features or j_features else [None, True])),
            name,
            j_features,
            draw(st.sampled_from(["next", "all"])),
            draw(st.sampled_from(["document", "sentence"])),
            draw(st.integers(1, 10**8)),
        )
    bias = draw(st.sampled_from([None, True, False] if features else [None, True]))
    return Template(tuple(sites), features, draw(st.none() | conditions(["i"])), bias, name)


@given(st.lists(templates(), min_size=1, max_size=3))
def test_what_is_written_reads_back(model):
    assert parse_model(format_model(model)) == tuple(model)
    assert parse_model("\r\n".join(f"  {template}  # as a note" for template in model)) == tuple(model)


@given(conditions(["i", "j"]))
def test_conditions_read_back(condition):
    assert parse_condition(str(condition)) == condition


def test_the_language_by_example():
    text = """
    # what a tag sees
    emission: tag[i] ~ word[i], lower[i-1] & lower[ i ],   # and more
                       prefix(3)[i + 1],
                       bag(lower)[i-4 .. i-1], default

    transition: tag[i-1] tag[i] bias
    tag[i-1] tag[i] ~ word[i]
    agreement: tag[i] tag[j]
        ~ lower[i], lower[j-1]
        where (lower[i] == lower[j]
               or lower[i-1] != "of")
        # a capital, too
        and not is_capital[i]
        and j-i<=50 and same_sentence(i, j) and length[i] >= 4
        all pairs at most 5000 pairs within sentence no bias"""
    emission, transition, unnamed, agreement = parse_model(text)
    here, before = Site("tag"), Site("tag", offset=-1)
    assert emission == Template(
        (here,),
        (
            Atom("word"),
            Conjunction((Atom("lower", -1), Atom("lower"))),
            Atom("prefix", 1, 3),
            Bag("lower", -4, -1),
            Default(),
        ),
        name="emission",
    )
    assert transition == Template((before, here), bias=True, name="transition")
    assert unnamed == Template((before, here), (Atom("word"),))
    same = Compare(Value("lower"), "==", Value("lower", "j"))
    other = Compare(Value("lower", "i", -1), "!=", "of")
    assert agreement == Template(
        (here, Site("tag", "j")),
        (Atom("lower"),),
        And(
            (
                Or((same, other)),
                Not(Holds(Value("is_capital"))),
                Distance("<=", 50),
                SameSentence(),
                Compare(Value("length"), ">=", 4),
            )
        ),
        bias=False,
        name="agreement",
        j_features=(Atom("lower", -1),),
        pairs="all",
        within="sentence",
        max_pairs=5000,
    )


def test_words_of_the_language_can_name_templates_and_columns():
    where, bias, third = parse_model("where: tag[i]\nbias: tag[i] ~ where[i], default[i], bag[i]\nand-so: tag[i]")
    assert (where.name, bias.name, third.name) == ("where", "bias", "and-so")
    assert bias.features == (Atom("where"), Atom("default"), Atom("bag"))


def test_long_templates_are_written_on_several_lines():
    model = (Template((Site("tag"),), tuple(Atom("word", offset) for offset in range(-20, 20)), name="wide"),)
    lines = format_model(model).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 100
    assert parse_model(format_model(model)) == model


_OPTION = "an option (all pairs, at most N pairs, within sentence, bias, no bias)"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the text has no template"),
        ("# nothing\n\n", 1, 1, "the text has no template"),
        ("tag[i", 1, 6, "expected a step such as -1 or ']', found the end of the text"),
        ("tag[k]", 1, 5, "expected 'i' or 'j', found 'k'"),
        ("tag[0]", 1, 5, "expected 'i' or 'j', found '0'"),
        ("tag[i-x]", 1, 6, "expected a step such as -1 or ']', found '-'"),
        ("tag[i]\ntag\n", 2, 4, "expected ':' and a template or '[' and a position such as [i-1], found the end"),
        ("a: b: tag[i]", 1, 5, "expected '[' and a position such as [i-1], found ':'"),
        ("tag[i] ~\nb: tag[i]", 1, 9, "expected a feature such as word[i], found the end of the line"),
        ("tag[i] ~ word[i],", 1, 18, "expected a feature such as word[i], found the end of the text"),
        ("tag[i] ~ word", 1, 14, "expected '(' or '[' and a position such as [i-1], found the end of the text"),
        (
            "tag[i] ~ word[i] lower[i]",
            1,
            18,
            f"expected ',', '&', 'where' and a condition, {_OPTION} or the end of the line, found 'lower'",
        ),
        ("tag[i] ~ prefix(x)[i]", 1, 17, "expected a whole number, found 'x'"),
        ("tag[i] ~ prefix[i]", 1, 10, "feature 'prefix' needs an argument, the number of characters"),
        ("tag[i] ~ lower(3)[i]", 1, 10, "'lower' in feature 'lower(3)' takes no argument"),
        ("tag[i] ~ prefix(0)[i]", 1, 10, "the argument of 'prefix' is 0; give 1 or more"),
        ("tag[i] ~ pefix(3)[i]", 1, 10, "unknown feature 'pefix' with an argument; did you mean 'prefix'?"),
        ("tag[i] ~ bag(lower)[i]", 1, 22, "expected '..' and the end of the window, found ']'"),
        ("tag[i] ~ bag(lower)[i-1..i-4]", 1, 21, "the window ends before it begins"),
        ("tag[i] tag[j] ~ bag(lower)[i..j] where j-i<5", 1, 31, "the window begins at i and ends at j"),
        ("tag[i] ~ bag(lower)[i-1..i] & word[i]", 1, 29, "found '&'"),
        ("tag[i] ~ word[i],\n  word[i]", 2, 3, "this feature is given twice; leave one out"),
        ("tag[i] ~ word[i] & word[i]", 1, 20, "this is joined to itself; leave one out"),
        ("tag[i] tag[j] ~ word[i] & word[j] where j-i<5", 1, 27, "this looks from j, and what it is joined to from i"),
        ("tag[i] ~ word[i+1001]", 1, 10, "'word' looks 1001 positions away; stay within 1000"),
        ("tag[i+1001]", 1, 1, "tag[i+1001] is 1001 positions away; stay within 1000"),
        ("tag[i] tag[i]", 1, 8, "tag[i] is named twice; name it once"),
        ("tag[j]", 1, 1, "has no site at i"),
        ("tag[i]\n  tag[i] tag[j]", 2, 3, "does not say which positions; add a condition such as"),
        ("tag[i] ~ lower[j]", 1, 10, "this looks at j, but no variable stands there"),
        ("tag[i] where first[i] and j - i < 3", 1, 27, "this looks at j, but no variable stands there"),
        (
            "tag[i] tag[j] were j-i<5",
            1,
            20,
            "expected '[' and a position such as [i-1], found 'j-i' (did you mean 'where'",
        ),
        ("tag[i] where", 1, 13, "expected a condition such as lower[i] == lower[j], found the end of the text"),
        ("tag[i] where first[i] and", 1, 26, "expected a condition such as lower[i] == lower[j], found the end"),
        ("tag[i] where (first[i]", 1, 23, "expected ')', found the end of the text"),
        ("tag[i] where (first[i] [", 1, 24, "found '['"),
        ("tag[i] where word[i] = word[i-1]", 1, 22, "expected a comparison such as ==, 'and', 'or', "),
        ("tag[i] where pos[i] == NNP", 1, 27, '(if NNP is a text, write "NNP")'),
        ('tag[i] where pos[i] == "NNP', 1, 24, "found a text without its closing quote"),
        ('tag[i] where pos[i] == "\\x"', 1, 24, "this text has an unknown escape"),
        ('tag[i] where pos[i] < "x"', 1, 14, 'pos[i] < "x" puts texts in order'),
        ("tag[i] where lower[i]", 1, 14, "'lower' is not a matter of yes or no; compare it with something"),
        ('tag[i] where first[i] == "x"', 1, 14, "'first' is a matter of yes or no; write first[i] or not first[i]"),
        ("tag[i] where suffix[i] == 3", 1, 14, "needs an argument, the number of characters"),
        ("tag[i] tag[j] where gazetteer[i] == gazetteer[j]", 1, 21, "'gazetteer' has several values at a token"),
        ("tag[i] tag[j] where first[i] == lower[j]", 1, 21, "first[i] and lower[j] cannot be equal"),
        ("tag[i] tag[j] where j - i <= 0", 1, 21, "j - i is at least 1, so 'j - i <= 0' tells nothing apart"),
        ("tag[i] tag[j] where same_sentence(i, i)", 1, 21, "write same_sentence(i, j)"),
        ("tag[i] tag[j] where j-i<5 all", 1, 30, "expected 'pairs', found the end of the text"),
        ("tag[i] tag[j] where j-i<5 at most many pairs", 1, 35, "expected a whole number, found 'many'"),
        ("tag[i] no", 1, 10, "expected 'bias', found the end of the text"),
        ("tag[i] bias no bias", 1, 13, "this option is given twice; leave one out"),
        ("tag[i] ~ word[i] bias extra", 1, 23, f"expected {_OPTION} or the end of the line, found 'extra'"),
        ("tag[i] all pairs", 1, 1, "says how to join pairs, but no site of its scope stands at j"),
        ("x: tag[i] no bias", 1, 1, "neither features nor bias, so nothing to learn"),
        ("tag[i] @", 1, 8, "found '@'"),
        ("tag[i] ~ word[i]\r\n\r\n  b: tag[i] ~ lower[x]", 3, 21, "expected 'i' or 'j', found 'x'"),
    ],
)
def test_errors_point_at_line_and_column(text, line, column, message):
    with pytest.raises(LanguageError) as caught:
        parse_model(text)
    error = caught.value
    assert (error.line, error.column) == (line, column), str(error)
    assert message in error.message
    shown = text.split("\n")[line - 1].rstrip("\r")
    assert str(error) == f"line {line}, column {column}: {error.message}\n    {shown}\n    {' ' * (column - 1)}^"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("tag[i] ~ word[i], lwoer[i-1]", 19, "unknown feature 'lwoer'; did you mean 'lower'?"),
        ("tag[i] ~ bag(pso)[i .. i+1]", 14, "unknown feature 'pso'; did you mean 'pos'?"),
        ("tag[i] ~ word[i] & shpe[i]", 20, "unknown feature 'shpe'; did you mean 'shape'?"),
        ("tag[i] where is_captal[i-1]", 14, "unknown feature 'is_captal'; did you mean 'is_capital'?"),
        ('tag[i] where pos[i] == "x" and mine_[i]', 32, "unknown feature 'mine_'; did you mean 'mine'?"),
        ("tag[i] where pos[i]", 14, "'pos' is not a matter of yes or no"),
        ("tga[i] ~ word[i]", 1, "unknown variable 'tga'; did you mean 'tag'? There are: tag, chunk"),
    ],
)
def test_unknown_names_get_the_closest_known_one(text, column, message):
    with pytest.raises(LanguageError, match=f"^line 1, column {column}: ") as caught:
        parse_model(text, variables=["tag", "chunk"], columns=["pos"], functions=["mine"])
    assert message in str(caught.value)


def test_names_are_not_checked_before_they_are_known():
    assert len(parse_model("anything[i] ~ whatever[i] where perhaps[i]")) == 1
    with pytest.raises(TypeError, match="the model is 3, not a text"):
        parse_model(3)  # pyright: ignore[reportArgumentType]


def test_templates_do_without_the_parser():
    code = "import sys, walkstep.model.grounding; assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
