import json
import pickle

import pytest

from walkstep.features.expression import Atom, Bag
from walkstep.model.conditions import And, Compare, Distance, Holds, Not, SameSentence, Value, values_in
from walkstep.model.notation import LanguageError
from walkstep.model.templates import Default, Site, Template, linear_chain, second_order_chain, skip_chain

HERE, THERE = Site("tag"), Site("tag", "j")
SAME = Compare(Value("lower"), "==", Value("lower", "j"))


def test_features_may_be_written_as_texts():
    template = Template((HERE,), ("word[-1]", Bag("lower", -2, -1), "default"))  # pyright: ignore[reportArgumentType]
    assert template.features == (Atom("word", -1), Bag("lower", -2, -1), Default())
    assert hash(template) == hash(Template((HERE,), template.features))


def test_bias_is_there_by_default_only_without_features():
    assert Template((HERE,)).has_bias
    assert not Template((HERE,), (Atom("word"),)).has_bias
    assert Template((HERE,), (Atom("word"),), bias=True).has_bias


def test_joined_conditions_are_flat():
    capital = Holds(Value("is_capital"))
    assert SAME & capital & SameSentence() == And((SAME, capital, SameSentence()))
    assert str(~(SAME | capital | SameSentence())) == (
        "not (lower[i] == lower[j] or is_capital[i] or same_sentence(i, j))"
    )
    assert str(And((SAME, And((capital, Not(capital)))))) == (
        "lower[i] == lower[j] and (is_capital[i] and not is_capital[i])"
    )
    assert [str(value) for value in values_in(~(SAME & capital))] == ["lower[i]", "lower[j]", "is_capital[i]"]


def test_ready_made_chains():
    emission, transition = linear_chain(["word"], edge_features=["lower"], variable="chunk")
    assert str(emission) == "emission: chunk[i] ~ word[i] bias"
    assert str(transition) == "transition: chunk[i-1] chunk[i] ~ lower[i] bias"
    assert [len(template.scope) for template in second_order_chain(["word"])] == [1, 2, 3]
    skip = skip_chain(["word"], where=Distance("==", 2), pairs="all", within="sentence")[-1]
    assert str(skip) == "skip: tag[i] tag[j] where j - i == 2 all pairs within sentence"
    assert linear_chain()[0].features == (Default(),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Template(()), "joins no variables; give its scope a site such as Site\\('tag'\\)"),
        (lambda: Template((HERE, HERE)), "names tag\\[i\\] twice; name it once"),
        (lambda: Template((THERE,), where=SAME), "has no site at i; count from i first"),
        (lambda: Template((HERE, THERE)), "does not say which positions; add a condition such as: where lower"),
        (lambda: Template((HERE,), where=SAME), "looks at j, but no site of its scope stands there"),
        (lambda: Template((HERE,), j_features=(Atom("word"),)), "looks at j"),
        (lambda: Template((HERE,), where=SameSentence()), "looks at j"),
        (lambda: Template((HERE,), pairs="all"), "says how to join pairs, but no site of its scope stands at j"),
        (lambda: Template((HERE,), bias=False), "neither features nor bias, so nothing to learn"),
        (lambda: Template((HERE,), name="a b"), "'a b' cannot name a template"),
        (lambda: Template((HERE, THERE), where=SAME, max_pairs=0), "max_pairs=0; give .* 1 or more"),
        (lambda: Template((HERE,), (Atom("word"), Atom("word"))), "feature 'word' is given twice"),
        (lambda: Site("where"), "'where' cannot name a variable"),
        (lambda: Site("tag", "k"), "'tag' stands at 'k'; positions are counted from 'i' or 'j'"),
        (lambda: Site("tag", "i", 2000), "tag\\[i\\+2000\\] is 2000 positions away; stay within 1000"),
        (lambda: Compare(Value("word"), "=", "x"), "'=' compares nothing; use one of ==, !="),
        (lambda: Compare(Value("word"), "<", "x"), 'word\\[i\\] < "x" puts texts in order; use == or !='),
        (lambda: Distance("<", 1), "j - i is at least 1"),
        (lambda: And((SAME,)), "join two conditions or more, not 1"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_string_is_no_list_of_features():
    with pytest.raises(TypeError, match="features is the string 'word'; give a list"):
        linear_chain("word")
    with pytest.raises(TypeError, match="feature 3 is neither a string nor an expression"):
        linear_chain([3])  # pyright: ignore[reportArgumentType]


def test_errors_survive_a_trip_between_processes():
    error = pickle.loads(pickle.dumps(LanguageError("expected more", "\ttag[i]", 1, 2)))
    assert str(error) == "line 1, column 2: expected more\n    \ttag[i]\n    \t^"
    assert (error.line, error.column) == (1, 2)


def test_texts_in_conditions_are_quoted_as_json():
    assert str(Compare(Value("word"), "==", 'a"b\\')) == f"word[i] == {json.dumps(chr(97) + chr(34) + 'b' + chr(92))}"
