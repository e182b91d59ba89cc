"""The text form of models: a small language, one template a line, that reads like ``tag[i-1] tag[i] ~ word[i]``."""

import difflib
import json
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lark import PostLex

from walkstep.features.expression import Atom, Bag, Conjunction, Expression
from walkstep.model.conditions import (
    And,
    Compare,
    Condition,
    Distance,
    Holds,
    Not,
    Or,
    SameSentence,
    Value,
)
from walkstep.model.notation import LanguageError, Source
from walkstep.model.template_checks import check_names, check_variables
from walkstep.model.templates import Default, Feature, Site, Template

__all__ = ["format_model", "parse_condition", "parse_model"]

_WIDTH = 100


def parse_model(
    text: str,
    *,
    variables: Collection[str] | None = None,
    columns: Collection[str] | None = None,
    functions: Collection[str] = (),
) -> tuple[Template, ...]:
    """Read a model.

    Parameters
    ----------
    text : str
        Templates, one a line; see the page on the language.
    variables : collection of str, optional
        The names of the label variables; without them, they are checked when the model is grounded.
    columns : collection of str, optional
        The columns of the data; without them, names of properties are checked when the model is grounded.
    functions : collection of str
        Names of the user's functions.

    Examples
    --------
    >>> for template in parse_model("tag[i] ~ word[i], lower[i-1]  # what a tag sees\\nagree: tag[i-1] tag[i]"):
    ...     print(template.name, template.features)
    None (Atom(name='word', offset=0, argument=None), Atom(name='lower', offset=-1, argument=None))
    agree ()
    >>> parse_model("next: tag[i-1] tag[k]")
    Traceback (most recent call last):
    ...
    walkstep.model.notation.LanguageError: line 1, column 20: expected 'i' or 'j', found 'k'
        next: tag[i-1] tag[k]
                           ^
    """
    tree = _parse(text, "start")
    templates = tuple(_Reader(text).template(statement) for statement in tree.children)
    if not templates:
        raise LanguageError("the text has no template; write one such as tag[i] ~ word[i]", text, 1, 1)
    for template in templates:
        check_names(template, columns, functions)
    if variables is not None:
        check_variables(templates, tuple(variables))
    return templates


def parse_condition(text: str) -> Condition:
    """Read what may stand behind ``where``.

    Examples
    --------
    >>> parse_condition('pos[i] == "NNP" and j - i <= 50').parts[1]
    Distance(operator='<=', limit=50)
    """
    return _Reader(text).condition(_parse(text, "condition"))


def format_model(templates: Iterable[Template]) -> str:
    """Write a model, such that :func:`parse_model` reads the same templates.

    Examples
    --------
    >>> print(format_model(parse_model("tag[i]~word[i],bag(lower)[i-4..i-1] bias")), end="")
    tag[i] ~ word[i], bag(lower)[i-4 .. i-1] bias
    """
    return "".join(line + "\n" for template in templates for line in _wrap(template.clauses()))


def _wrap(clauses: Iterable[str]) -> Iterator[str]:
    """Lines no longer than need be; a line may end after any clause."""
    line = ""
    for clause in clauses:
        if line and len(line) + 1 + len(clause) > _WIDTH:
            yield line
            line = "    " + clause
        else:
            line = f"{line} {clause}" if line else clause
    yield line


class _Lines(PostLex):
    """Drops the line ends that end no template: inside parentheses, after a comma, between blank lines."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth, before = 0, "_NL"
        for token in stream:
            depth += {"LPAR": 1, "RPAR": -1}.get(token.type, 0)
            if token.type != "_NL" or (depth <= 0 and before not in _OPEN):
                yield token
                before = token.type


_OPEN = {"_NL", "COMMA", "AMPERSAND", "AND", "OR"}


@cache
def _parser() -> Lark:
    """The parser, built at first use."""
    return Lark.open(
        "language.lark",
        rel_to=__file__,
        parser="lalr",
        lexer="contextual",
        postlex=_Lines(),
        start=["start", "condition"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def _parse(text: str, start: str) -> Tree:
    """The tree of a text, or an error that says what was expected."""
    if not isinstance(text, str):
        raise TypeError(f"the model is {text!r}, not a text; give templates in the language, or Template objects")
    steps = _parser().parse_interactive(text, start)
    taken: list[Token] = []
    try:
        for token in steps.iter_parse():  # hands each token out before it is taken in
            taken.append(token)  # noqa: PERF402 - what came before an error is needed
        return steps.feed_eof(taken[-1] if taken else None)
    except UnexpectedInput as error:
        if isinstance(error, UnexpectedToken) and taken and error.token is taken[-1]:
            taken.pop()
        raise _unexpected(text, error, steps.accepts(), taken) from None


def _unexpected(text: str, error: UnexpectedInput, accepted: set[str], taken: list[Token]) -> LanguageError:
    """What was found, and what could have stood there instead."""
    line, column = error.line, error.column
    kinds = [token.type for token in taken[-2:]]
    if isinstance(error, UnexpectedToken) and error.token.type in ("_NL", "$END"):
        found = "the end of the line" if error.token.type == "_NL" else "the end of the text"
        line, column = (taken[-1].end_line, taken[-1].end_column) if taken else (1, 1)
    elif isinstance(error, UnexpectedToken):
        found = repr(str(error.token))
    else:
        assert isinstance(error, UnexpectedCharacters)
        found = repr(text[error.pos_in_stream])
        found = "a text without its closing quote" if found == "'\"'" else found
    message = f"expected {_in_words(accepted)}, found {found}"
    if kinds == ["OPERATOR", "PROPERTY"]:
        message += f' (if {taken[-1]} is a text, write "{taken[-1]}")'
    elif kinds[-1:] == ["NAME"] and "COLON" not in accepted:
        close = difflib.get_close_matches(str(taken[-1]), ["where", "within", "bias"], 1)
        message += f" (did you mean {close[0]!r} by {str(taken[-1])!r}?)" if close else ""
    return LanguageError(message, text, line or 1, column or 1)


_OPTION = "an option (all pairs, at most N pairs, within sentence, bias, no bias)"
_WORDS = {
    "NAME": "a variable such as tag[i]",
    "COLON": "':' and a template",
    "LPAR": "'('",
    "LSQB": "'[' and a position such as [i-1]",
    "INDEX": "'i' or 'j'",
    "STEP": "a step such as -1",
    "DOTS": "'..' and the end of the window",
    "RSQB": "']'",
    "TILDE": "'~' and features",
    "FEATURE": "a feature such as word[i]",
    "CONDITION": "a condition such as lower[i] == lower[j]",
    "PROPERTY": "a property such as lower[j]",
    "STRING": "a text in double quotes",
    "NUMBER": "a whole number",
    "INT": "a whole number",
    "OPERATOR": "a comparison such as ==",
    "COMMA": "','",
    "AMPERSAND": "'&'",
    "RPAR": "')'",
    "AND": "'and'",
    "OR": "'or'",
    "WHERE": "'where' and a condition",
    "PAIRS": "'pairs'",
    "MOST": "'most'",
    "SENTENCE": "'sentence'",
    **dict.fromkeys(("ALL", "AT", "WITHIN", "NO", "BIAS"), _OPTION),
    "_NL": "the end of the line",
    "$END": "the end of the line",
}


def _in_words(accepted: set[str]) -> str:
    """What the parser would accept, in words."""
    kinds = set(accepted)
    if "DEFAULT" in kinds:
        kinds = kinds - {"DEFAULT", "BAG", "PROPERTY"} | {"FEATURE"}
    if "NOT" in kinds:
        kinds = kinds - {"NOT", "LPAR", "PROPERTY", "DISTANCE", "SAME_SENTENCE"} | {"CONDITION"}
    if kinds == {"BIAS"}:
        return "'bias'"
    words = list(dict.fromkeys(word for kind, word in _WORDS.items() if kind in kinds))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


class _Reader:
    """One statement's tree on its way to a template; notes where each part stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[object, tuple[int, int]] = {}

    def template(self, statement: Tree) -> Template:
        """The template that a statement describes."""
        scope: list[Site] = []
        given: dict[str, Any] = {}
        features: dict[str, list[Feature]] = {"i": [], "j": []}
        for tree in _trees(statement):
            match tree.data:
                case "label":
                    given["name"] = str(tree.children[0])
                case "site":
                    scope.append(self.site(tree, scope))
                case "seen":
                    for child in _trees(tree):
                        self.feature(child, features)
                case "where":
                    given["where"] = self.condition(_trees(tree)[0])
                case _:
                    self.option(tree, given)
        if all(site.index == "i" for site in scope):
            for part, place in self.places.items():
                if _index_of(part) == "j":
                    raise self.error(
                        place, "this looks at j, but no variable stands there; add one such as tag[j] before it"
                    )
        place = _place(statement)
        source = Source(self.text, *place, self.places)
        return self.build(
            place, Template, tuple(scope), tuple(features["i"]), j_features=tuple(features["j"]), source=source, **given
        )

    def site(self, tree: Tree, before: list[Site]) -> Site:
        """A variable at a position."""
        name, place = tree.children
        site = self.build(_place(tree), Site, str(name), *self.position(place))
        if site in before:
            raise self.error(_place(tree), f"{site} is named twice; name it once")
        return self.note(site, site, tree)

    def position(self, tree: Any) -> tuple[str, int]:
        """An index and an offset."""
        index, *step = tree.children
        return str(index), int("".join(step[0].split())) if step else 0

    def feature(self, tree: Tree, features: dict[str, list[Feature]]) -> None:
        """Add a feature to those seen from its index."""
        if tree.data == "default":
            index, feature = "i", Default()
        elif tree.data == "bag":
            index, feature = self.bag(tree)
        else:
            index, feature = self.conjunction(tree)
        if feature in features[index]:
            raise self.error(_place(tree), "this feature is given twice; leave one out")
        features[index].append(feature)

    def bag(self, tree: Tree) -> tuple[str, Bag]:
        """A property anywhere in a window."""
        _, name, *arguments, first, _, last = tree.children
        (index, begin), (other, end) = self.position(first), self.position(last)
        if index != other:
            raise self.error(_place(last), f"the window begins at {index} and ends at {other}; use one of them")
        if begin > end:
            raise self.error(_place(first), "the window ends before it begins; write the earlier position first")
        bag = self.build(_place(name), Bag, str(name), begin, end, _argument(arguments))
        return index, self.note((index, bag), bag, name)

    def conjunction(self, tree: Tree) -> tuple[str, Expression]:
        """One property, or several together."""
        atoms: list[Atom] = []
        indices: list[str] = []
        for child in _trees(tree):
            name, *arguments, place = child.children
            index, offset = self.position(place)
            atom = self.build(_place(child), Atom, str(name), offset, _argument(arguments))
            if indices and index != indices[0]:
                raise self.error(
                    _place(child),
                    f"this looks from {index}, and what it is joined to from {indices[0]}; use one of them",
                )
            if atom in atoms:
                raise self.error(_place(child), "this is joined to itself; leave one out")
            atoms.append(self.note((index, atom), atom, child))
            indices.append(index)
        return indices[0], atoms[0] if len(atoms) == 1 else Conjunction(tuple(atoms))

    def condition(self, tree: Tree) -> Condition:
        """What must hold."""
        place = _place(tree)
        match tree.data:
            case "any_of":
                return Or(tuple(map(self.condition, _trees(tree))))
            case "all_of":
                return And(tuple(map(self.condition, _trees(tree))))
            case "opposite":
                return Not(self.condition(_trees(tree)[0]))
            case "holds":
                return Holds(self.value(_trees(tree)[0]))
            case "same_sentence":
                if sorted(map(str, tree.children[1:])) != ["i", "j"]:
                    raise self.error(place, "same_sentence asks of i and j; write same_sentence(i, j)")
                return self.note(SameSentence(), SameSentence(), tree)
            case "distance":
                distance = self.build(place, Distance, str(tree.children[1]), _whole(tree.children[2]))
                return self.note(distance, distance, tree)
        left, sign, right = tree.children
        if isinstance(right, Token):
            other = _whole(right) if right.type == "NUMBER" else self.string(right)
        else:
            other = self.value(right)
        return self.build(place, Compare, self.value(left), str(sign), other)

    def value(self, tree: Any) -> Value:
        """A property at a position."""
        name, *arguments, place = tree.children
        value = self.build(_place(tree), Value, str(name), *self.position(place), _argument(arguments))
        return self.note(value, value, tree)

    def string(self, token: Token) -> str:
        """A text without its quotes."""
        try:
            return json.loads(token, strict=False)
        except ValueError:
            raise self.error(
                _place(token), 'this text has an unknown escape; write \\\\ for \\ and \\" for "'
            ) from None

    def option(self, tree: Tree, given: dict[str, Any]) -> None:
        """What stands at the end of a template."""
        name, chosen = {
            "bias": ("bias", True),
            "no_bias": ("bias", False),
            "all_pairs": ("pairs", "all"),
            "at_most": ("max_pairs", None),
            "within_sentence": ("within", "sentence"),
        }[tree.data]
        if name in given:
            raise self.error(_place(tree), "this option is given twice; leave one out")
        given[name] = _whole(tree.children[-1]) if chosen is None else chosen

    def note(self, key: object, thing: Any, at: Tree | Token) -> Any:
        """The thing itself, its first place noted."""
        self.places.setdefault(key, _place(at))
        return thing

    def build(self, place: tuple[int, int], make: Any, *parts: Any, **named: Any) -> Any:
        """The object, or its own complaint with the place added."""
        try:
            return make(*parts, **named)
        except ValueError as error:
            raise self.error(place, str(error)) from None

    def error(self, place: tuple[int, int], message: str) -> LanguageError:
        """An error that shows the place."""
        return LanguageError(message, self.text, *place)


def _trees(tree: Tree) -> list[Tree]:
    """The children that are trees."""
    return [child for child in tree.children if isinstance(child, Tree)]


def _place(at: Any) -> tuple[int, int]:
    """Line and column of a tree or token."""
    meta = at.meta if isinstance(at, Tree) else at
    return meta.line, meta.column


def _index_of(part: object) -> str:
    """The index that a part of a template counts from."""
    if isinstance(part, tuple):
        return part[0]
    return part.index if isinstance(part, Site | Value) else "j"


def _argument(arguments: list[Any]) -> int | None:
    """The number in parentheses, where there is one."""
    return _whole(arguments[0].children[0]) if arguments else None


def _whole(token: Any) -> int:
    """A whole number."""
    return int(token)
