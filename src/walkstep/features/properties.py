"""What can be asked of a token: the registry of properties, each word property with its plain definition."""

import difflib
import unicodedata
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Literal, NamedTuple

from walkstep.features.expression import Conjunction, Expression

UPPER, LOWER, DIGIT, DASH, MARK, LETTER = 1, 2, 4, 8, 16, 32
OCCURRENCES = 8  # how many occurrences on either side the document properties look at


class Property(NamedTuple):
    """One thing that can be asked of a token.

    Parameters
    ----------
    description : str
        What it says, in one line.
    kind : {"value", "flag", "many"}
        ``value``: one text or none, and a mark of its own beyond the sentence's edges. ``flag``: there or not.
        ``many``: any number of texts.
    argument : str, optional
        What the number in parentheses means, for properties that take one.
    of_word : callable, optional
        ``(word, argument) -> list of str``: the values, for properties that depend on the word alone.
    """

    description: str
    kind: Literal["value", "flag", "many"] = "value"
    argument: str | None = None
    of_word: Callable[[str, int], list[str]] | None = None


@lru_cache(maxsize=1 << 16)
def class_of(character: str) -> int:
    """The classes of a character, as bits, by its Unicode category.

    Examples
    --------
    >>> class_of("É") == UPPER | LETTER, class_of("7") == DIGIT, class_of("-") == DASH | MARK
    (True, True, True)
    """
    category = unicodedata.category(character)
    bits = {"L": LETTER, "M": LETTER, "N": DIGIT, "P": MARK, "S": MARK}.get(category[0], 0)
    return bits | {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Pd": DASH}.get(category, 0)


def shape_of(word: str) -> str:
    """The word with capitals as X, other letters as x, digits as d.

    Examples
    --------
    >>> shape_of("Boeing-747")
    'Xxxxxx-ddd'
    """
    return "".join(map(shape_of_character, word))


def short_shape_of(word: str) -> str:
    """The shape with each run of one character cut down to one.

    Examples
    --------
    >>> short_shape_of("Boeing-747")
    'Xx-d'
    """
    shape = shape_of(word)
    return "".join(c for k, c in enumerate(shape) if k == 0 or c != shape[k - 1])


def ngrams_of(word: str, longest: int) -> list[str]:
    """Distinct substrings of 2 to ``longest`` characters of the word between marks (Finkel et al. 2005).

    Examples
    --------
    >>> ngrams_of("Bob", 3)
    ['<B', '<Bo', 'Bo', 'Bob', 'ob', 'ob>', 'b>']
    """
    marked = f"<{word}>"
    found = (
        marked[begin : begin + n]
        for begin in range(len(marked) - 1)
        for n in range(2, min(longest, len(marked) - begin) + 1)
    )
    return list(dict.fromkeys(found))


def shape_of_character(character: str) -> str:
    """X, x, d, or the character itself.

    Examples
    --------
    >>> [shape_of_character(c) for c in "Éé7%"]
    ['X', 'x', 'd', '%']
    """
    bits = class_of(character)
    if bits & UPPER:
        return "X"
    if bits & LETTER:
        return "x"
    return "d" if bits & DIGIT else character


def _any(word: str) -> int:
    """The classes that some character has."""
    bits = 0
    for character in word:
        bits |= class_of(character)
    return bits


def _all(word: str) -> int:
    """The classes that every character has; none for the empty word."""
    bits = 255 if word else 0
    for character in word:
        bits &= class_of(character)
    return bits


def _flag(holds: Callable[[str], object]) -> Callable[[str, int], list[str]]:
    """A flag's values: one empty text where it holds."""
    return lambda word, _: [""] if holds(word) else []


#: Every built-in property by its name. The columns of the data and the user's functions come on top.
PROPERTIES: dict[str, Property] = {
    "word": Property("the word as written", of_word=lambda word, _: [word]),
    "lower": Property("the word in lower case", of_word=lambda word, _: [word.lower()]),
    "shape": Property(
        "capitals as X, other letters as x, digits as d: Xxxx-dd", of_word=lambda word, _: [shape_of(word)]
    ),
    "short_shape": Property(
        "the shape with runs cut down to one: Xx-d", of_word=lambda word, _: [short_shape_of(word)]
    ),
    "prefix": Property(
        "the first characters, for words at least that long",
        argument="number of characters",
        of_word=lambda word, n: [word[:n]] if len(word) >= n else [],
    ),
    "suffix": Property(
        "the last characters, for words at least that long",
        argument="number of characters",
        of_word=lambda word, n: [word[len(word) - n :]] if len(word) >= n else [],
    ),
    "lower_prefix": Property(
        "the first characters of the word in lower case",
        argument="number of characters",
        of_word=lambda word, n: [word.lower()[:n]] if len(word.lower()) >= n else [],
    ),
    "lower_suffix": Property(
        "the last characters of the word in lower case",
        argument="number of characters",
        of_word=lambda word, n: [word.lower()[len(word.lower()) - n :]] if len(word.lower()) >= n else [],
    ),
    "ngrams": Property(
        "all substrings of the word between marks, from two characters on",
        "many",
        argument="longest number of characters",
        of_word=ngrams_of,
    ),
    "length": Property("the number of characters", of_word=lambda word, _: [str(len(word))]),
    "is_capital": Property(
        "begins with a capital", "flag", of_word=_flag(lambda word: word and class_of(word[0]) & UPPER)
    ),
    "is_upper": Property(
        "has capitals and no small letters",
        "flag",
        of_word=_flag(lambda word: _any(word) & (UPPER | LOWER) == UPPER),
    ),
    "is_digit": Property("all digits", "flag", of_word=_flag(lambda word: _all(word) & DIGIT)),
    "has_digit": Property("has a digit", "flag", of_word=_flag(lambda word: _any(word) & DIGIT)),
    "has_hyphen": Property("has a hyphen or another dash", "flag", of_word=_flag(lambda word: _any(word) & DASH)),
    "is_punctuation": Property(
        "all punctuation marks and symbols", "flag", of_word=_flag(lambda word: _all(word) & MARK)
    ),
    "first": Property("first of its sentence", "flag"),
    "last": Property("last of its sentence", "flag"),
    "sentence_upper": Property("the sentence has capitals and no small letters", "flag"),
    "cluster": Property("the beginning of the word's bit string, from the clusters file", argument="number of bits"),
    "gazetteer": Property(
        "lists with a phrase that covers the token, as B-, I-, L- (last) or U- (one word) and the list's name",
        "many",
    ),
    "lower_gazetteer": Property("the same, capitals and small letters taken as equal", "many"),
    "doc_prev": Property(
        "words right before the other occurrences in the document, where the word has a capital somewhere in it",
        "many",
    ),
    "doc_next": Property(
        "words right after the other occurrences in the document, where the word has a capital somewhere in it",
        "many",
    ),
    "doc_lower_seen": Property("the word occurs in small letters somewhere in the document", "flag"),
    "doc_capital_seen": Property(
        "the word has a capital elsewhere in the document, inside a sentence not all in capitals", "flag"
    ),
    "doc_phrase": Property(
        "for a word with a capital: neighbours with a capital (left=, right=) of its other occurrences with one",
        "many",
    ),
    "doc_shape": Property("shapes of the other occurrences in the document", "many"),
}


def kind_of(name: str) -> str:
    """Whether a property has one value, is a flag, or has many; a user's function may do any of these."""
    known = PROPERTIES.get(name)
    return "value" if known is None else known.kind


def parts_of(expression: Expression) -> tuple:
    """The atoms and bags that an expression is made of.

    Examples
    --------
    >>> from walkstep.features.expression import parse_feature
    >>> [str(part) for part in parts_of(parse_feature("word&shape[1]"))]
    ['word', 'shape[1]']
    """
    return expression.parts if isinstance(expression, Conjunction) else (expression,)


def check_expression(expression: Expression, functions: Collection[str] = ()) -> None:
    """Refuse what can be known to be wrong before any data is seen: arguments missing or out of place.

    Examples
    --------
    >>> from walkstep.features.expression import parse_feature
    >>> check_expression(parse_feature("prefix"))
    Traceback (most recent call last):
    ...
    ValueError: feature 'prefix' needs an argument, the number of characters; write it as prefix(3)
    """
    for part in parts_of(expression):
        known = PROPERTIES.get(part.name)
        wanted = known.argument if known else None
        if wanted and part.argument is None:
            raise ValueError(f"feature '{expression}' needs an argument, the {wanted}; write it as {part.name}(3)")
        if not wanted and part.argument is not None:
            if known or part.name in functions:
                raise ValueError(f"{part.name!r} in feature '{expression}' takes no argument; leave it out")
            with_argument = [name for name, known in PROPERTIES.items() if known.argument]
            close = difflib.get_close_matches(part.name, with_argument, 1)
            raise ValueError(
                f"unknown feature {part.name!r} with an argument"
                + (f"; did you mean {close[0]!r}? " if close else "; ")
                + f"Those with one are: {', '.join(with_argument)}"
            )
        if part.name == "ngrams" and part.argument == 1:
            raise ValueError(f"feature '{expression}' asks for n-grams of one character; give 2 or more")


def unknown_name(name: str, columns: Collection[str], functions: Collection[str] = ()) -> ValueError:
    """The complaint about a name that is no property, function or column of the data.

    Examples
    --------
    >>> print(str(unknown_name("shpae", ["pos"])).partition(" The")[0])
    unknown feature 'shpae'; did you mean 'shape'?
    """
    choices = [*PROPERTIES, *functions, *columns]
    close = difflib.get_close_matches(name, choices, 1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    there = f"has the columns {', '.join(columns)}" if columns else "has no further columns"
    mine = f" Your functions are: {', '.join(functions)}." if functions else ""
    return ValueError(
        f"unknown feature {name!r}{hint} The data {there}.{mine} Built-in properties are: {', '.join(PROPERTIES)}"
    )
