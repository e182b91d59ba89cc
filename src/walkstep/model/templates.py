"""Templates: which factors a model over token sequences has, and their grounding on data.

A template says where its factors stand (sites such as ``tag[i-1]``), what they see (token features) and
under which condition they exist. Everything here is plain Python; :mod:`walkstep.model.language` reads and
writes the same objects as text.
"""

import difflib
import json
import operator
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from walkstep.data.sequences import Sequences
from walkstep.features.clusters import as_clusters
from walkstep.features.default_features import default_features
from walkstep.features.expression import REACH, Atom, Bag, Conjunction, Expression, parse_feature, parse_features
from walkstep.features.gazetteers import Gazetteer, as_gazetteers
from walkstep.features.grounding import values_of
from walkstep.features.observation import Function, Observation
from walkstep.features.properties import PROPERTIES, check_expression, parts_of, unknown_name
from walkstep.features.rows import SparseRows
from walkstep.features.texts import encode, pack, unpack
from walkstep.features.tokens import TokenFeatures
from walkstep.model.domains import Domain
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground
from walkstep.model.weights import Layout

MAX_PAIRS = 10_000_000
"""Most pairs of positions that a template joins unless it says otherwise."""

RESERVED = frozenset({"where", "bias", "no", "all", "at", "within", "and", "or", "not", "same_sentence"})
"""Words of the language, which name neither variables nor properties."""

Positions = NDArray[np.int64]

_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
_NAME = re.compile(r"[^\W\d][\w.\-]*")
_LOOKS = 20  # pairs that may be looked at for each one that may be kept
_CHUNK = 1 << 22  # pairs that are looked at together


# What is wrong, and where it was written


class LanguageError(ValueError):
    """A model text that cannot be read or used, with the line, and a caret under the column.

    Examples
    --------
    >>> print(LanguageError("expected ']', found '~'", "tag[i ~ word[i]", 1, 7))
    line 1, column 7: expected ']', found '~'
        tag[i ~ word[i]
              ^
    """

    def __init__(self, message: str, text: str, line: int, column: int) -> None:
        shown = text.split("\n")[line - 1].rstrip("\r")
        indent = re.sub(r"[^\t]", " ", shown[: column - 1].ljust(column - 1))
        super().__init__(f"line {line}, column {column}: {message}\n    {shown}\n    {indent}^")
        self.message, self.text, self.line, self.column = message, text, line, column

    def __reduce__(self):
        return type(self), (self.message, self.text, self.line, self.column)


@dataclass(frozen=True)
class Source:
    """Where a template was written: the whole text, and the line and column of the template and its parts.

    The parts are sites, values, and pairs of an index and an atom or bag.
    """

    text: str
    line: int
    column: int
    places: Mapping[object, tuple[int, int]] = field(default_factory=dict)


# Conditions


class Condition:
    """What must hold for a template to make a factor; conditions are joined by ``&``, ``|`` and ``~``.

    Examples
    --------
    >>> same = Compare(Value("lower", "i"), "==", Value("lower", "j"))
    >>> print(same & Holds(Value("is_capital")) & ~SameSentence())
    lower[i] == lower[j] and is_capital[i] and not same_sentence(i, j)
    """

    def __and__(self, other: "Condition") -> "And":
        return And((*_parts(self, And), *_parts(other, And)))

    def __or__(self, other: "Condition") -> "Or":
        return Or((*_parts(self, Or), *_parts(other, Or)))

    def __invert__(self) -> "Not":
        return Not(self)


@dataclass(frozen=True)
class Value:
    """A property of the token ``offset`` positions from ``i`` or ``j``.

    A token that lacks the property, as one beyond the edge of the sentence does, equals nothing.

    Examples
    --------
    >>> print(Value("prefix", "j", -1, argument=3))
    prefix(3)[j-1]
    """

    name: str
    index: str = "i"
    offset: int = 0
    argument: int | None = None

    def __post_init__(self) -> None:
        _check_place(self.name, self.index, self.offset, "a property")

    def __str__(self) -> str:
        return f"{_call(self.name, self.argument)}[{_at(self.index, self.offset)}]"


@dataclass(frozen=True)
class Holds(Condition):
    """A property that is there or not is there.

    Examples
    --------
    >>> print(Holds(Value("is_capital", "j")))
    is_capital[j]
    """

    value: Value

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Compare(Condition):
    """A property beside another, a text or a whole number.

    ``!=`` is the opposite of ``==``. Order is for numbers alone: a value that is not one is never in order.

    Examples
    --------
    >>> print(Compare(Value("pos"), "==", "NNP"), "|", Compare(Value("length"), ">=", 4))
    pos[i] == "NNP" | length[i] >= 4
    """

    left: Value
    operator: str
    right: Value | str | int

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        if not isinstance(self.right, int) and self.operator not in ("==", "!="):
            raise ValueError(
                f"{self.left} {self.operator} {_literal(self.right)} puts texts in order; "
                "use == or !=, or compare with a whole number"
            )

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {_literal(self.right)}"


@dataclass(frozen=True)
class Distance(Condition):
    """A limit on how far apart the positions are.

    Examples
    --------
    >>> print(Distance("<=", 50))
    j - i <= 50
    """

    operator: str
    limit: int

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        if self.limit < 1 or (self.limit == 1 and self.operator == "<"):
            raise ValueError(f"j - i is at least 1, so 'j - i {self.operator} {self.limit}' tells nothing apart")

    def __str__(self) -> str:
        return f"j - i {self.operator} {self.limit}"


@dataclass(frozen=True)
class SameSentence(Condition):
    """Both positions stand in one sentence."""

    def __str__(self) -> str:
        return "same_sentence(i, j)"


@dataclass(frozen=True)
class Not(Condition):
    """The opposite of a condition."""

    part: Condition

    def __str__(self) -> str:
        return f"not {_bracketed(self.part, And | Or)}"


@dataclass(frozen=True)
class And(Condition):
    """All of several conditions."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def __str__(self) -> str:
        return " and ".join(_bracketed(part, And | Or) for part in self.parts)


@dataclass(frozen=True)
class Or(Condition):
    """Any of several conditions."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def __str__(self) -> str:
        return " or ".join(_bracketed(part, Or) for part in self.parts)


def values_in(condition: Condition | None) -> Iterator[Value]:
    """The values that a condition asks for.

    Examples
    --------
    >>> [str(value) for value in values_in(Compare(Value("pos"), "==", Value("pos", "j")))]
    ['pos[i]', 'pos[j]']
    """
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from values_in(part)
        case Not(part):
            yield from values_in(part)
        case Holds(value):
            yield value
        case Compare(left, _, right):
            yield left
            if isinstance(right, Value):
                yield right


def _indices(condition: Condition) -> set[str]:
    """Which of i and j a condition speaks of."""
    match condition:
        case And(parts) | Or(parts):
            return set().union(*map(_indices, parts))
        case Not(part):
            return _indices(part)
        case Distance() | SameSentence():
            return {"i", "j"}
    return {value.index for value in values_in(condition)}


def _conjuncts(condition: Condition | None) -> list[Condition]:
    """The conditions that must all hold."""
    if isinstance(condition, And):
        return [conjunct for part in condition.parts for conjunct in _conjuncts(part)]
    return [] if condition is None else [condition]


def _parts(condition: Condition, kind: type[And] | type[Or]) -> tuple[Condition, ...]:
    """What a condition adds to a longer one of a kind."""
    return condition.parts if isinstance(condition, kind) else (condition,)


def _bracketed(condition: Condition, kinds) -> str:
    """The condition as text, in parentheses where it is one of these kinds."""
    return f"({condition})" if isinstance(condition, kinds) else str(condition)


def _literal(right: Value | str | int) -> str:
    """The right-hand side of a comparison as text."""
    return json.dumps(right, ensure_ascii=False) if isinstance(right, str) else str(right)


def _call(name: str, argument: int | None) -> str:
    """A name, with its argument where it has one."""
    return name if argument is None else f"{name}({argument})"


def _at(index: str, offset: int) -> str:
    """A position as text."""
    return f"{index}{offset:+d}" if offset else index


def _check_operator(sign: str) -> None:
    """Comparisons are the usual six."""
    if sign not in _COMPARE:
        raise ValueError(f"{sign!r} compares nothing; use one of {', '.join(_COMPARE)}")


def _check_parts(parts: tuple[Condition, ...]) -> None:
    """Joining takes two."""
    if len(parts) < 2:
        raise ValueError(f"'and' and 'or' join two conditions or more, not {len(parts)}; give the one alone")


def _check_place(name: str, index: str, offset: int, what: str) -> None:
    """A name, and a position within reach."""
    if _NAME.fullmatch(name) is None or name in RESERVED:
        raise ValueError(
            f"{name!r} cannot name {what}; use letters, digits, '_', '-' and '.', beginning with a letter, "
            f"and none of the words {', '.join(sorted(RESERVED))}"
        )
    if index not in ("i", "j"):
        raise ValueError(f"{name!r} stands at {index!r}; positions are counted from 'i' or 'j'")
    if abs(offset) > REACH:
        raise ValueError(f"{name}[{_at(index, offset)}] is {abs(offset)} positions away; stay within {REACH}")


# Templates


@dataclass(frozen=True)
class Site:
    """A label variable at a position: ``offset`` tokens from ``i``, or from ``j``.

    Examples
    --------
    >>> print(Site("tag", offset=-1), Site("tag", "j"))
    tag[i-1] tag[j]
    """

    variable: str
    index: str = "i"
    offset: int = 0

    def __post_init__(self) -> None:
        _check_place(self.variable, self.index, self.offset, "a variable")

    def __str__(self) -> str:
        return f"{self.variable}[{_at(self.index, self.offset)}]"


@dataclass(frozen=True)
class Default:
    """Stands for the default features of the data at hand; see :func:`walkstep.features.default_features`."""

    def __str__(self) -> str:
        return "default"


Feature = Atom | Bag | Conjunction | Default


@dataclass(frozen=True)
class Template:
    """A rule that makes factors: one for each position ``i``, or for each pair ``i < j`` that it joins.

    A factor exists where all its sites lie inside the sentence of their position and ``where`` holds. Pairs
    stand in one document; two sites of a factor are never the same variable.

    Parameters
    ----------
    scope : tuple of Site
        The label variables a factor joins, any number of them.
    features : tuple of Expression, Default or str
        What a factor sees from position ``i``; texts are read in compact notation, and ``"default"`` stands
        for the default features. Without features a factor has its bias alone.
    where : Condition, optional
        What must hold of the tokens; required where the scope has a ``j``.
    bias : bool, optional
        Whether a feature that is always on is added; by default only where there are no features.
    name : str, optional
        Name of the weight block. Templates of one name share their weights, and must have the same
        variables, features and bias.
    j_features : tuple of Expression or str
        What a factor sees from position ``j``.
    pairs : {"next", "all"}
        Whether a position is joined to the next one that matches, or to all that follow.
    within : {"document", "sentence"}
        How far pairs reach.
    max_pairs : int
        Grounding stops with an error rather than make more pairs than this.
    source : Source, optional
        Where the template was written, for errors to point at.

    Examples
    --------
    >>> print(Template((Site("tag", offset=-1), Site("tag")), ("word", "lower[-1]&lower"), name="transition"))
    transition: tag[i-1] tag[i] ~ word[i], lower[i-1] & lower[i]
    """

    scope: tuple[Site, ...]
    features: tuple[Feature, ...] = ()
    where: Condition | None = None
    bias: bool | None = None
    name: str | None = None
    j_features: tuple[Expression, ...] = ()
    pairs: Literal["next", "all"] = "next"
    within: Literal["document", "sentence"] = "document"
    max_pairs: int = MAX_PAIRS
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", tuple(self.scope))
        object.__setattr__(self, "features", _read_features(self.features))
        object.__setattr__(self, "j_features", parse_features(self.j_features))
        if not self.scope:
            raise ValueError("a template joins no variables; give its scope a site such as Site('tag')")
        for site, count in Counter(self.scope).items():
            if count > 1:
                raise ValueError(f"the scope of template '{self.label}' names {site} twice; name it once")
        if self.name is not None and _NAME.fullmatch(self.name) is None:
            raise ValueError(
                f"{self.name!r} cannot name a template; use letters, digits, '_', '-' and '.', beginning with a letter"
            )
        if self.bias is False and not (self.features or self.j_features):
            raise ValueError(
                f"template '{self.label}' has neither features nor bias, so nothing to learn; give it one of them"
            )
        if self.pairs not in ("next", "all") or self.within not in ("document", "sentence") or self.max_pairs < 1:
            raise ValueError(
                f"template '{self.label}' has pairs={self.pairs!r}, within={self.within!r}, "
                f"max_pairs={self.max_pairs!r}; give 'next' or 'all', 'document' or 'sentence', and 1 or more"
            )
        self._check_indices()

    def _check_indices(self) -> None:
        """Every position must be one that the scope knows."""
        indices = {site.index for site in self.scope}
        if "i" not in indices:
            raise ValueError(f"the scope of template '{self.label}' has no site at i; count from i first")
        if "j" in indices:
            if self.where is None:
                raise ValueError(
                    f"template '{self.label}' joins i with j but does not say which positions; "
                    "add a condition such as: where lower[i] == lower[j]"
                )
        elif self.j_features or (self.where is not None and "j" in _indices(self.where)):
            raise ValueError(
                f"template '{self.label}' looks at j, but no site of its scope stands there; "
                "add one such as tag[j], or count from i"
            )
        elif (self.pairs, self.within, self.max_pairs) != ("next", "document", MAX_PAIRS):
            raise ValueError(
                f"template '{self.label}' says how to join pairs, but no site of its scope stands at j; "
                "add one such as tag[j], or leave that out"
            )

    @property
    def has_bias(self) -> bool:
        """Whether a feature that is always on is added."""
        return not (self.features or self.j_features) if self.bias is None else self.bias

    @property
    def joins_pairs(self) -> bool:
        """Whether factors depend on a second position."""
        return any(site.index == "j" for site in self.scope)

    @property
    def label(self) -> str:
        """The name, or the scope where there is none."""
        return self.name or " ".join(map(str, self.scope))

    def clauses(self) -> Iterator[str]:
        """The pieces of the template's text, features one by one."""
        head = " ".join(map(str, self.scope))
        yield head if self.name is None else f"{self.name}: {head}"
        seen = [_render(feature, "i") for feature in self.features]
        seen += [_render(feature, "j") for feature in self.j_features]
        for k, feature in enumerate(seen):
            yield ("~ " if k == 0 else "") + feature + ("," if k < len(seen) - 1 else "")
        if self.where is not None:
            yield f"where {self.where}"
        if self.pairs == "all":
            yield "all pairs"
        if self.max_pairs != MAX_PAIRS:
            yield f"at most {self.max_pairs} pairs"
        if self.within == "sentence":
            yield "within sentence"
        if self.bias is not None:
            yield "bias" if self.bias else "no bias"

    def __str__(self) -> str:
        return " ".join(self.clauses())

    def error(self, message: str, part: object = None) -> ValueError:
        """An error that points at the part's place in the text, or names the template."""
        if self.source is None:
            return ValueError(f"template '{self.label}': {message}")
        line, column = self.source.places.get(part, (self.source.line, self.source.column))
        return LanguageError(message, self.source.text, line, column)


def _read_features(features: Iterable[str | Feature]) -> tuple[Feature, ...]:
    """Features in compact notation, ``default`` among them, as expressions."""
    if isinstance(features, str):
        raise TypeError(f"features is the string {features!r}; give a list of features, such as [{features!r}]")
    read: dict[Feature, None] = {}
    for feature in features:
        if isinstance(feature, str):
            feature = Default() if feature.strip() == "default" else parse_feature(feature)
        if not isinstance(feature, Feature):
            raise TypeError(f"feature {feature!r} is neither a string nor an expression; write it as a string")
        if feature in read:
            raise ValueError(f"feature '{feature}' is given twice; leave one out")
        read[feature] = None
    return tuple(read)


def _render(feature: Feature, index: str) -> str:
    """A feature in the notation of the language."""
    match feature:
        case Atom(name, offset, argument):
            return f"{_call(name, argument)}[{_at(index, offset)}]"
        case Bag(name, first, last, argument):
            return f"bag({_call(name, argument)})[{_at(index, first)} .. {_at(index, last)}]"
        case Conjunction(parts):
            return " & ".join(_render(part, index) for part in parts)
    return str(feature)


# Ready-made models


def linear_chain(
    features: Iterable[str | Feature] = ("default",),
    *,
    edge_features: Iterable[str | Feature] = (),
    variable: str = "tag",
) -> tuple[Template, ...]:
    """Every label with its token's features, and with the label before it.

    Parameters
    ----------
    features : iterable of str or Expression
        What a label sees.
    edge_features : iterable of str or Expression
        What a pair of neighbouring labels sees, besides its bias.
    variable : str
        The name of the labels' domain.

    Examples
    --------
    >>> print(*linear_chain(["word", "shape[-1]"], edge_features=["word"]), sep="\\n")
    emission: tag[i] ~ word[i], shape[i-1] bias
    transition: tag[i-1] tag[i] ~ word[i] bias
    """
    here, before = Site(variable), Site(variable, offset=-1)
    return (
        Template((here,), _read_features(features), bias=True, name="emission"),
        Template((before, here), _read_features(edge_features), bias=True, name="transition"),
    )


def second_order_chain(
    features: Iterable[str | Feature] = ("default",),
    *,
    edge_features: Iterable[str | Feature] = (),
    variable: str = "tag",
) -> tuple[Template, ...]:
    """A linear chain whose labels also know the two before them.

    Examples
    --------
    >>> print(second_order_chain(["word"])[-1])
    second_order: tag[i-2] tag[i-1] tag[i]
    """
    scope = tuple(Site(variable, offset=offset) for offset in (-2, -1, 0))
    chain = linear_chain(features, edge_features=edge_features, variable=variable)
    return (*chain, Template(scope, name="second_order"))


def skip_chain(
    features: Iterable[str | Feature] = ("default",),
    *,
    edge_features: Iterable[str | Feature] = (),
    variable: str = "tag",
    where: Condition | None = None,
    pairs: Literal["next", "all"] = "next",
    within: Literal["document", "sentence"] = "document",
) -> tuple[Template, ...]:
    """A linear chain with skip edges: each capitalised word is joined to its next occurrence in the document.

    Parameters
    ----------
    features, edge_features, variable
        As for :func:`linear_chain`.
    where : Condition, optional
        Which positions to join instead.
    pairs, within
        As for :class:`Template`.

    Examples
    --------
    >>> print(skip_chain(["word"])[-1])
    skip: tag[i] tag[j] where lower[i] == lower[j] and is_capital[i] and is_capital[j]
    """
    if where is None:
        same = Compare(Value("lower", "i"), "==", Value("lower", "j"))
        where = same & Holds(Value("is_capital", "i")) & Holds(Value("is_capital", "j"))
    skip = Template((Site(variable), Site(variable, "j")), where=where, name="skip", pairs=pairs, within=within)
    return (*linear_chain(features, edge_features=edge_features, variable=variable), skip)


# Conditions on a corpus


class _Corpus:
    """A corpus as arrays, to ask conditions of many positions at once."""

    def __init__(self, observation: Observation) -> None:
        sequences, ptr = observation.sequences, observation.sentence_ptr
        lengths = np.diff(ptr)
        document_start = ptr[sequences.document_ptr]
        self.n_tokens = sequences.n_tokens
        self.sentence = np.repeat(np.arange(len(lengths)), lengths)
        self.document = np.repeat(np.arange(len(document_start) - 1), np.diff(document_start))
        self._start, self._stop = np.repeat(ptr[:-1], lengths), np.repeat(ptr[1:], lengths)
        self._observation = observation
        self._flags: dict[tuple, NDArray[np.bool_]] = {}
        self._keys: dict[tuple, tuple[NDArray[np.uint64], NDArray[np.bool_]]] = {}

    def is_inside(self, positions: Positions, offset: int) -> NDArray[np.bool_]:
        """Whether the sentence reaches that far."""
        at = positions + offset
        return (at >= self._start[positions]) & (at < self._stop[positions])

    def holds(self, condition: Condition, i: Positions, j: Positions) -> NDArray[np.bool_]:
        """Whether a condition holds of each pair of positions."""
        match condition:
            case And(parts):
                return reduce(operator.and_, (self.holds(part, i, j) for part in parts))
            case Or(parts):
                return reduce(operator.or_, (self.holds(part, i, j) for part in parts))
            case Not(part):
                return ~self.holds(part, i, j)
            case Distance(sign, limit):
                return _COMPARE[sign](j - i, limit)
            case SameSentence():
                return self.sentence[i] == self.sentence[j]
            case Holds(value):
                return self._ask(value, None, None, i, j)
            case Compare(left, sign, Value() as right):
                (key, is_there), (other, has_other) = self.keys(left, i, j), self.keys(right, i, j)
                equal = is_there & has_other & (key == other)
                return equal if sign == "==" else ~equal
            case Compare(left, sign, str() | int() as right):
                if sign == "!=":
                    return ~self._ask(left, "==", right, i, j)
                return self._ask(left, sign, right, i, j)
        raise TypeError(f"{condition!r} is no condition; build it from the classes of walkstep.model.templates")

    def keys(self, value: Value, i: Positions, j: Positions) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The key of a value at each position, and whether it is there."""
        wanted = (value.name, value.argument)
        if wanted not in self._keys:
            self._keys[wanted] = self._find_keys(*wanted)
        key, is_there = self._keys[wanted]
        at, is_inside = self._reach(value, i, j)
        return key[at], is_there[at] & is_inside

    def _reach(self, value: Value, i: Positions, j: Positions) -> tuple[Positions, NDArray[np.bool_]]:
        """Where a value stands, and whether that is inside the sentence."""
        positions = i if value.index == "i" else j
        is_inside = self.is_inside(positions, value.offset)
        return np.where(is_inside, positions + value.offset, 0), is_inside

    def _find_keys(self, name: str, argument: int | None) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The key of each token's one value; a flag has one whether it is there or not."""
        layer, ptr, symbol, hash_of_symbol, *_ = values_of(self._observation, name, argument)
        counts = np.diff(ptr)
        rows = self._observation.rows(layer)
        if _kind(name) == "flag":
            return (counts > 0).astype(np.uint64)[rows], np.ones(self.n_tokens, np.bool_)
        if counts.max(initial=0) > 1:
            raise ValueError(
                f"{name!r} gives several values for one token, so two tokens cannot be compared by it; "
                f'compare it with a text, such as {name}[i] == "..."'
            )
        key = np.zeros(len(counts), np.uint64)
        key[counts > 0] = hash_of_symbol[symbol]
        return key[rows], (counts > 0)[rows]

    def _ask(
        self, value: Value, sign: str | None, literal: str | int | None, i: Positions, j: Positions
    ) -> NDArray[np.bool_]:
        """Whether any value of the property passes; without a sign, whether there is any."""
        question = (value.name, value.argument, sign, literal)
        if question not in self._flags:
            values = values_of(self._observation, value.name, value.argument)
            if sign is None:
                passes = np.ones(len(values.hash_of_symbol), np.bool_)
            elif isinstance(literal, str):
                passes = values.hash_of_symbol == encode([literal]).keys()[0]
            else:
                numbers = np.array([_number(text) for text in values.texts(self._observation)], np.float64)
                passes = _COMPARE[sign](numbers, literal)
            row_of_entry = np.repeat(np.arange(len(values.ptr) - 1), np.diff(values.ptr))
            is_hit = np.zeros(len(values.ptr) - 1, np.bool_)
            is_hit[row_of_entry[passes[values.symbol]]] = True
            self._flags[question] = is_hit[self._observation.rows(values.layer)]
        at, is_inside = self._reach(value, i, j)
        return self._flags[question][at] & is_inside


def _number(text: str) -> float:
    """The whole number that a text is; none otherwise."""
    return float(text) if re.fullmatch(r"[+-]?[0-9]{1,15}", text) else float("nan")


def _kind(name: str) -> str:
    """Whether a property has one value, is a flag, or has many; a user's function may do any of these."""
    known = PROPERTIES.get(name)
    return "value" if known is None else known.kind


# Positions and pairs


def _positions(corpus: _Corpus, template: Template) -> tuple[Positions, Positions]:
    """The positions ``i`` and ``j`` of each factor, in order."""
    everywhere = np.arange(corpus.n_tokens, dtype=np.int64)
    if not template.joins_pairs:
        keep = _reaches(corpus, template, "i", everywhere)
        if template.where is not None:
            keep &= corpus.holds(template.where, everywhere, everywhere)
        return everywhere[keep], everywhere[keep]
    is_left, is_right = (_reaches(corpus, template, index, everywhere) for index in "ij")
    joint = []
    for part in _conjuncts(template.where):
        indices = _indices(part)
        if indices == {"i"}:
            is_left &= corpus.holds(part, everywhere, everywhere)
        elif indices == {"j"}:
            is_right &= corpus.holds(part, everywhere, everywhere)
        else:
            joint.append(part)
    return _join(corpus, template, joint, everywhere[is_left], everywhere[is_right])


def _reaches(corpus: _Corpus, template: Template, index: str, positions: Positions) -> NDArray[np.bool_]:
    """Whether all sites counted from an index lie inside the sentence."""
    keep = np.ones(len(positions), np.bool_)
    for offset in {site.offset for site in template.scope if site.index == index}:
        keep &= corpus.is_inside(positions, offset)
    return keep


def _join(
    corpus: _Corpus, template: Template, conditions: list[Condition], left: Positions, right: Positions
) -> tuple[Positions, Positions]:
    """Join positions by sorting: what must be equal makes groups, distance makes ranges within them.

    Only conditions that are neither are asked of single pairs.
    """
    place = corpus.sentence if template.within == "sentence" else corpus.document
    group_left, group_right = place[left], place[right]
    nearest, farthest = 1, corpus.n_tokens
    rest: list[Condition] = []
    for condition in conditions:
        match condition:
            case SameSentence():
                group_left, group_right = _refine(
                    group_left, group_right, corpus.sentence[left], corpus.sentence[right]
                )
            case Distance("<=" | "<" | "==" as sign, limit):
                farthest = min(farthest, limit - (sign == "<"))
                nearest = max(nearest, limit) if sign == "==" else nearest
            case Distance(">=" | ">" as sign, limit):
                nearest = max(nearest, limit + (sign == ">"))
            case Compare(one, "==", Value() as other):
                here, there = (one, other) if one.index == "i" else (other, one)
                key_left, is_left = corpus.keys(here, left, left)
                key_right, is_right = corpus.keys(there, right, right)
                left, group_left, key_left = left[is_left], group_left[is_left], key_left[is_left]
                right, group_right, key_right = right[is_right], group_right[is_right], key_right[is_right]
                group_left, group_right = _refine(group_left, group_right, key_left, key_right)
            case _:
                rest.append(condition)
    for one in template.scope:
        for other in template.scope:
            gap = one.offset - other.offset
            if (one.index, other.index) == ("i", "j") and one.variable == other.variable and gap > 0:
                rest.append(Distance("!=", gap))
    order = np.lexsort((right, group_right))
    right = right[order]
    span = corpus.n_tokens + 1
    key = group_right[order] * span + right
    begin = np.searchsorted(key, group_left * span + np.minimum(left + nearest, corpus.n_tokens))
    end = np.searchsorted(key, group_left * span + np.minimum(left + farthest, corpus.n_tokens), side="right")
    choose = _all_pairs if template.pairs == "all" else _next_pairs
    return choose(corpus, template, rest, left, right, begin, np.maximum(begin, end))


def _refine(
    group_left: NDArray, group_right: NDArray, key_left: NDArray, key_right: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split groups by keys; equal pairs of group and key have equal numbers on both sides."""
    distinct, key = np.unique(np.concatenate([key_left, key_right]), return_inverse=True)
    group = np.concatenate([group_left, group_right]) * max(len(distinct), 1) + key
    number = np.unique(group, return_inverse=True)[1].astype(np.int64)
    return number[: len(group_left)], number[len(group_left) :]


def _all_pairs(
    corpus: _Corpus,
    template: Template,
    rest: list[Condition],
    left: Positions,
    right: Positions,
    begin: Positions,
    end: Positions,
) -> tuple[Positions, Positions]:
    """Each left position with every right one of its range for which the rest holds."""
    counts = end - begin
    n_looks = int(counts.sum())
    if n_looks > (_LOOKS if rest else 1) * template.max_pairs:
        raise _too_many(template, n_looks, has_rest=bool(rest))
    found: list[tuple[Positions, Positions]] = []
    n_found, start = 0, 0
    total = np.cumsum(counts)
    while start < len(left):
        done = int(total[start - 1]) if start else 0
        stop = max(int(np.searchsorted(total, done + _CHUNK, side="right")), start + 1)
        i = np.repeat(left[start:stop], counts[start:stop])
        j = right[_ranges(begin[start:stop], counts[start:stop])]
        if rest:
            keep = corpus.holds(rest[0], i, j)
            for condition in rest[1:]:
                keep &= corpus.holds(condition, i, j)
            i, j = i[keep], j[keep]
        n_found += len(i)
        if n_found > template.max_pairs:
            raise _too_many(template, n_found, has_rest=False)
        found.append((i, j))
        start = stop
    return _concatenate([i for i, _ in found]), _concatenate([j for _, j in found])


def _next_pairs(
    corpus: _Corpus,
    template: Template,
    rest: list[Condition],
    left: Positions,
    right: Positions,
    begin: Positions,
    end: Positions,
) -> tuple[Positions, Positions]:
    """Each left position with the first right one of its range for which the rest holds."""
    at = begin.copy()
    open_ = np.flatnonzero(at < end)
    is_matched = np.zeros(len(left), np.bool_)
    n_looks = 0
    while len(open_):
        n_looks += len(open_)
        if n_looks > _LOOKS * template.max_pairs:
            raise _too_many(template, n_looks, has_rest=True)
        i, j = left[open_], right[at[open_]]
        keep = np.ones(len(open_), np.bool_)
        for condition in rest:
            keep &= corpus.holds(condition, i, j)
        is_matched[open_[keep]] = True
        open_ = open_[~keep]
        at[open_] += 1
        open_ = open_[at[open_] < end[open_]]
    n_found = int(np.count_nonzero(is_matched))
    if n_found > template.max_pairs:
        raise _too_many(template, n_found, has_rest=False)
    return left[is_matched], right[at[is_matched]]


def _too_many(template: Template, n_pairs: int, *, has_rest: bool) -> ValueError:
    """The complaint about a template that explodes."""
    act = "would have to look at" if has_rest else "joins"
    ways = ["limit the distance in its condition, as in j - i <= 50"]
    if has_rest:
        ways.append("ask for something equal at i and j, which is found by sorting")
    if template.pairs == "all":
        ways.append("leave out 'all pairs' to join each position to the next one only")
    ways.append(f"allow more, as in: at most {n_pairs} pairs")
    return template.error(
        f"template '{template.label}' {act} {n_pairs} pairs of positions or more, and its limit is "
        f"{template.max_pairs}; {'; or '.join(ways)}"
    )


def _ranges(begin: Positions, counts: Positions) -> Positions:
    """``begin[0], begin[0] + 1, ...`` for as many as it counts, then the same from ``begin[1]``, ..."""
    ends = np.cumsum(counts)
    return np.repeat(begin - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def _concatenate(arrays: list[Positions]) -> Positions:
    """One array of them all, also for none."""
    return np.concatenate([np.zeros(0, np.int64), *arrays])


# Grounding


class Grounding:
    """Templates on token sequences: features are numbered once, on the training data, and graphs made of any.

    Variables are numbered domain by domain: token ``t`` has variable ``d * n_tokens + t`` of the ``d``-th
    domain. Templates with the same list of features share one vocabulary.

    Parameters
    ----------
    templates : iterable of Template
        The model.
    min_count, n_buckets, gazetteers, clusters, functions, keep_names
        As for :class:`~walkstep.features.tokens.TokenFeatures`; conditions, too, may use gazetteers,
        clusters and functions.

    Examples
    --------
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She", "wrote", "well"]])
    >>> tag = Domain("tag", ("O", "NAME"))
    >>> grounding = Grounding(linear_chain(["lower"]))
    >>> graph, layout = grounding.fit_ground(corpus, tag)
    >>> graph.n_variables, graph.n_factors, [(block.name, block.n_rows) for block in layout]
    (5, 8, [('emission', 5), ('transition', 1)])
    >>> grounding.ground(Sequences.from_lists([["Bob", "wrote"]]))[0].n_factors
    3
    """

    def __init__(
        self,
        templates: Iterable[Template],
        *,
        min_count: int = 1,
        n_buckets: int | None = None,
        gazetteers: Mapping[str, str | Path | Iterable[str] | Gazetteer] | None = None,
        clusters: str | Path | Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
        keep_names: bool = False,
    ) -> None:
        self.templates = tuple(templates)
        self.block_names = _block_names(self.templates)
        self.min_count, self.n_buckets, self.keep_names = min_count, n_buckets, keep_names
        self.gazetteers = None if gazetteers is None else as_gazetteers(gazetteers)
        self.clusters = None if clusters is None else as_clusters(clusters)
        self.functions = dict(functions or {})
        self.domains: tuple[Domain, ...] = ()
        self._matrices: list[TokenFeatures] = []
        self._matrix_of: list[tuple[int, int]] = []  # of each template: seen from i and from j, -1 for none
        self._layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        """Where the weights lie."""
        if self._layout is None:
            raise ValueError("this grounding is not fitted; call fit or fit_ground with the training data first")
        return self._layout

    def fit(self, sequences: Sequences, *domains: Domain) -> "Grounding":
        """Number the features of the training data, and lay out the weights."""
        self._fit(sequences, domains)
        return self

    def fit_ground(self, sequences: Sequences, *domains: Domain) -> tuple[Graph, Layout]:
        """The same as :meth:`fit` and then :meth:`ground`, at the price of one.

        Parameters
        ----------
        sequences : Sequences
            The training data.
        *domains : Domain
            The label variables that every token has, by name.
        """
        return self._ground(sequences, self._fit(sequences, domains))

    def ground(self, sequences: Sequences) -> tuple[Graph, Layout]:
        """The graph of any data, under the layout of the training data.

        Features that the training data did not show are left out.

        Returns
        -------
        graph : Graph
        layout : Layout
        """
        return self._ground(sequences, self._transform(sequences))

    def factors(self, sequences: Sequences) -> list[Factors]:
        """What each template makes of the data, before it is frozen; templates that make nothing are left out."""
        return self._factors(sequences, self._transform(sequences))

    def feature_names(self, block: str) -> list[str]:
        """Names of a weight block's rows, the bias last; what is seen from ``j`` says so."""
        if block not in self.layout:
            raise KeyError(f"no weights are called {block!r}; there are {list(dict.fromkeys(self.block_names))}")
        at = self.block_names.index(block)
        i, j = self._matrix_of[at]
        names = self._matrices[i].names() if i >= 0 else []
        names += [f"{name} at j" for name in self._matrices[j].names()] if j >= 0 else []
        return names + ["bias"] * self.templates[at].has_bias

    def state(self, *, without_functions: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What :meth:`from_state` needs, without code in it: a description for JSON, and plain arrays.

        Parameters
        ----------
        without_functions : bool
            Leave out the user's functions, to be passed again to :meth:`from_state`.
        """
        _ = self.layout
        if self.functions and not without_functions:
            raise ValueError(
                f"function {next(iter(self.functions))!r} cannot be saved; pass without_functions=True here, "
                "and the functions again when loading"
            )
        arrays: dict[str, NDArray[Any]] = {}
        descriptions = []
        for k, matrix in enumerate(self._matrices):
            description, held = matrix.state(without_functions=True)
            descriptions.append(description)
            arrays |= {f"features{k}.{name}": array for name, array in held.items()}
        asked = {value.name for template in self.templates for value in values_in(template.where)}
        gazetteers = self.gazetteers if asked & _LISTS else None
        clusters = self.clusters if "cluster" in asked else None
        packed = {f"gazetteer{k}": pack(g.phrases) for k, g in enumerate((gazetteers or {}).values())}
        if clusters is not None:
            packed |= {"cluster_words": pack(list(clusters)), "cluster_bits": pack(list(clusters.values()))}
        arrays |= {f"{part}.{name}": array for part, held in packed.items() for name, array in held.items()}
        state = {
            "templates": [_to_plain(template) for template in self.templates],
            "domains": [{"name": domain.name, "values": list(domain.values)} for domain in self.domains],
            "features": descriptions,
            "matrix_of": [list(pair) for pair in self._matrix_of],
            "gazetteers": None if gazetteers is None else list(gazetteers),
            "clusters": clusters is not None,
            "functions": list(self.functions),
        }
        return state, arrays

    @classmethod
    def from_state(
        cls,
        description: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        *,
        functions: Mapping[str, Function] | None = None,
    ) -> "Grounding":
        """The grounding that :meth:`state` described, fitted.

        Parameters
        ----------
        description, arrays
            What :meth:`state` gave.
        functions : mapping of str to callable, optional
            The user's functions, where there were any.
        """
        for name in description["functions"]:
            if name not in (functions or {}):
                raise ValueError(f"this model uses your function {name!r}; pass functions={{{name!r}: ...}}")

        def part(prefix: str) -> dict[str, NDArray[Any]]:
            """The arrays of one part."""
            return {
                name.removeprefix(f"{prefix}."): array
                for name, array in arrays.items()
                if name.startswith(f"{prefix}.")
            }

        gazetteers = clusters = None
        if description["gazetteers"] is not None:
            gazetteers = {
                name: Gazetteer(unpack(part(f"gazetteer{k}"))) for k, name in enumerate(description["gazetteers"])
            }
        if description["clusters"]:
            clusters = dict(zip(unpack(part("cluster_words")), unpack(part("cluster_bits")), strict=True))
        grounding = cls(
            [_from_plain(template) for template in description["templates"]],
            gazetteers=gazetteers,
            clusters=clusters,
            functions={name: (functions or {})[name] for name in description["functions"]},
        )
        grounding._matrices = [
            TokenFeatures.from_state(features, part(f"features{k}"), functions=functions)
            for k, features in enumerate(description["features"])
        ]
        grounding._matrix_of = [(i, j) for i, j in description["matrix_of"]]
        if grounding._matrices:
            first = grounding._matrices[0]
            grounding.min_count, grounding.n_buckets = first.min_count, first.n_buckets
            grounding.keep_names = first.keep_names
        domains = [Domain(domain["name"], tuple(domain["values"])) for domain in description["domains"]]
        grounding._lay_out(domains)
        return grounding

    def _fit(self, sequences: Sequences, domains: Sequence[Domain]) -> list[SparseRows]:
        """Learn the features, and give their rows."""
        _check_tokens(sequences)
        check_variables(self.templates, [domain.name for domain in domains])
        lists: dict[tuple[Expression, ...], int] = {(): -1}
        self._matrix_of = []
        for template in self.templates:
            check_names(template, sequences.columns, self.functions)
            self._check_lists(template)
            seen = (_expand(template.features, sequences.columns), template.j_features)
            i, j = (lists.setdefault(expressions, len(lists) - 1) for expressions in seen)
            self._matrix_of.append((i, j))
        self._matrices = [self._token_features(expressions) for expressions in lists if expressions]
        rows = [matrix.fit_transform(sequences) for matrix in self._matrices]
        self._lay_out(domains)
        return rows

    def _token_features(self, expressions: tuple[Expression, ...]) -> TokenFeatures:
        """Features with those lists and functions only that they use, lest each keeps a copy of all."""
        used = {part.name for expression in expressions for part in parts_of(expression)}
        return TokenFeatures(
            expressions,
            min_count=self.min_count,
            n_buckets=self.n_buckets,
            gazetteers=self.gazetteers if used & _LISTS else None,
            clusters=self.clusters if "cluster" in used else None,
            functions={name: function for name, function in self.functions.items() if name in used},
            keep_names=self.keep_names,
        )

    def _lay_out(self, domains: Sequence[Domain]) -> None:
        """Give every block its place; data is not needed for that, so that no block depends on it."""
        self.domains = tuple(domains)
        size = {domain.name: len(domain) for domain in domains}
        blocks: dict[str, tuple[str, int, int, tuple[int, ...]]] = {}
        for name, template, pair in zip(self.block_names, self.templates, self._matrix_of, strict=True):
            n_rows = sum(self._matrices[k].n_features for k in pair if k >= 0) + template.has_bias
            blocks[name] = (name, 1, n_rows, tuple(size[site.variable] for site in template.scope))
        self._layout = Layout.of(list(blocks.values()))

    def _transform(self, sequences: Sequences) -> list[SparseRows]:
        """The rows of new data."""
        _ = self.layout
        _check_tokens(sequences)
        for template in self.templates:
            check_names(template, sequences.columns, self.functions)
        for matrix in self._matrices:
            for part in (part for expression in matrix.expressions for part in parts_of(expression)):
                if part.name not in PROPERTIES and part.name not in {*self.functions, *sequences.columns}:
                    raise ValueError(
                        f"the model was trained with the column {part.name!r}, and this data has "
                        f"{', '.join(sequences.columns) or 'no further columns'}; add it"
                    )
        return [matrix.transform(sequences) for matrix in self._matrices]

    def _ground(self, sequences: Sequences, rows: list[SparseRows]) -> tuple[Graph, Layout]:
        n_values = np.repeat([len(domain) for domain in self.domains], sequences.n_tokens)
        return ground(n_values, self._factors(sequences, rows), self.layout)

    def _factors(self, sequences: Sequences, rows: list[SparseRows]) -> list[Factors]:
        observation = Observation(
            sequences, gazetteers=self.gazetteers, clusters=self.clusters, functions=self.functions
        )
        corpus = _Corpus(observation)
        base = {domain.name: d * sequences.n_tokens for d, domain in enumerate(self.domains)}
        made = []
        for name, template, (seen, seen_j) in zip(self.block_names, self.templates, self._matrix_of, strict=True):
            i, j = _positions(corpus, template)
            if len(i) == 0:
                continue
            scopes = np.stack(
                [base[s.variable] + (i if s.index == "i" else j) + s.offset for s in template.scope], axis=1
            )
            features, row = None, None
            if seen >= 0 and seen_j >= 0:
                features = _side_by_side(rows[seen], i, rows[seen_j], j)
            elif seen >= 0 or seen_j >= 0:
                features, row = (rows[seen], i) if seen >= 0 else (rows[seen_j], j)
            made.append(Factors(name, scopes, features, row, bias=template.has_bias))
        return made

    def _check_lists(self, template: Template) -> None:
        """Gazetteers and clusters must be there where they are asked for."""
        for part, name in _names_in(template):
            if name == "cluster" and self.clusters is None:
                raise template.error("'cluster' needs clusters; pass clusters=, a file of Brown clusters", part)
            if name in _LISTS and self.gazetteers is None:
                raise template.error(f"{name!r} needs lists; pass gazetteers={{name: file}}", part)


_LISTS = {"gazetteer", "lower_gazetteer"}


def _block_names(templates: tuple[Template, ...]) -> list[str]:
    """The weight block of each template; unnamed ones are told apart, named ones must fit together."""
    if not templates:
        raise ValueError("the model has no templates; give at least one, or use linear_chain()")
    names, first = [], {}
    count: Counter[str] = Counter()
    for template in templates:
        name = template.label
        if template.name is None:
            count[name] += 1
            names.append(name if count[name] == 1 else f"{name} ({count[name]})")
            continue
        names.append(name)
        other = first.setdefault(name, template)
        for what, mine, others in (
            ("variables", [s.variable for s in template.scope], [s.variable for s in other.scope]),
            ("features", template.features, other.features),
            ("features at j", template.j_features, other.j_features),
            ("bias", template.has_bias, other.has_bias),
        ):
            if mine != others:
                raise template.error(
                    f"two templates are called {name!r} and so share weights, but differ in {what}; "
                    "give them different names, or the same shape"
                )
    return names


def _check_tokens(sequences: Sequences) -> None:
    """There must be something to stand on."""
    if sequences.n_tokens == 0:
        raise ValueError("there are no tokens; give at least one sentence")


def check_variables(templates: Iterable[Template], variables: Sequence[str]) -> None:
    """Refuse sites whose variable is none of these."""
    for name, count in Counter(variables).items():
        if count > 1:
            raise ValueError(f"two domains are called {name!r}; give them different names")
    for template in templates:
        for site in template.scope:
            if site.variable not in variables:
                close = difflib.get_close_matches(site.variable, variables, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise template.error(
                    f"unknown variable {site.variable!r}; {hint}There are: {', '.join(variables) or 'none'}", site
                )


def _names_in(template: Template) -> Iterator[tuple[object, str]]:
    """The parts of a template that name properties, as its source places them, and the names."""
    for index, features in (("i", template.features), ("j", template.j_features)):
        for feature in features:
            if not isinstance(feature, Default):
                yield from (((index, part), part.name) for part in parts_of(feature))
    yield from ((value, value.name) for value in values_in(template.where))


def check_names(template: Template, columns: Collection[str] | None, functions: Collection[str] = ()) -> None:
    """Refuse names that are no property, function or column, and properties used as what they are not.

    Parameters
    ----------
    template : Template
    columns : collection of str, optional
        The columns of the data; where they are not known yet, a name may turn out to be one.
    functions : collection of str
        Names of the user's functions.
    """
    for part, name in _names_in(template):
        if columns is not None and name not in {*PROPERTIES, *functions, *columns}:
            raise template.error(str(unknown_name(name, columns, functions)), part)
    for index, features in (("i", template.features), ("j", template.j_features)):
        for feature in features:
            if not isinstance(feature, Default):
                _check_arguments(template, feature, (index, parts_of(feature)[0]), functions)
    for value in values_in(template.where):
        _check_arguments(template, Atom(value.name, 0, value.argument), value, functions)
    _check_uses(template, {*PROPERTIES, *(columns or ())}.difference(functions))


def _check_arguments(template: Template, expression: Expression, part: object, functions: Collection[str]) -> None:
    """Arguments must stand where they belong."""
    try:
        check_expression(expression, functions)
    except ValueError as error:
        raise template.error(str(error), part) from None


def _check_uses(template: Template, known: Collection[str]) -> None:
    """Texts must not be used as flags, nor flags as texts; functions can be either."""
    pending = [template.where]
    while pending:
        match pending.pop():
            case And(parts) | Or(parts):
                pending += reversed(parts)
            case Not(part):
                pending.append(part)
            case Holds(value) if value.name in known and _kind(value.name) == "value":
                raise template.error(
                    f'{value.name!r} is not a matter of yes or no; compare it with something, such as {value} == "..."',
                    value,
                )
            case Compare(left, _, Value() as right):
                _check_twins(template, left, right)
            case Compare(left, _, _) if _kind(left.name) == "flag":
                raise template.error(f"{left.name!r} is a matter of yes or no; write {left} or not {left}", left)


def _check_twins(template: Template, left: Value, right: Value) -> None:
    """Two values that are compared must have one value each, or be both flags."""
    for value in (left, right):
        if _kind(value.name) == "many":
            raise template.error(
                f"{value.name!r} has several values at a token, so two tokens cannot be compared by it; "
                f'compare it with a text, such as {value} == "..."',
                value,
            )
    if (_kind(left.name) == "flag") != (_kind(right.name) == "flag"):
        raise template.error(f"{left} and {right} cannot be equal, for one is a matter of yes or no", left)


def _expand(features: tuple[Feature, ...], columns: Collection[str]) -> tuple[Expression, ...]:
    """The features with the defaults of this data spelled out, none twice."""
    named = {feature for feature in features if not isinstance(feature, Default)}
    spelled: list[Expression] = []
    for feature in features:
        if isinstance(feature, Default):
            spelled += [e for e in parse_features(default_features(columns)) if e not in named]
        else:
            spelled.append(feature)
    return tuple(spelled)


def _side_by_side(one: SparseRows, rows: Positions, other: SparseRows, other_rows: Positions) -> SparseRows:
    """For each factor a row of one matrix, and beside it a row of another."""
    counts = [np.diff(matrix.ptr)[at] for matrix, at in ((one, rows), (other, other_rows))]
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts[0] + counts[1], out=ptr[1:])
    index = np.empty(ptr[-1], np.int32)
    index[_ranges(ptr[:-1], counts[0])] = one.index[_ranges(one.ptr[rows], counts[0])]
    index[_ranges(ptr[:-1] + counts[0], counts[1])] = (
        other.index[_ranges(other.ptr[other_rows], counts[1])] + one.n_columns
    )
    return SparseRows(ptr, index, np.zeros(0), one.n_columns + other.n_columns)


# Templates as plain data, to be saved

_CLASSES = {
    kind.__name__: kind
    for kind in (
        *(Template, Site, Value, Default, Atom, Bag, Conjunction),
        *(Holds, Compare, Distance, SameSentence, Not, And, Or),
    )
}


def _to_plain(thing: Any) -> Any:
    """Dataclasses as dictionaries, tuples as lists."""
    if is_dataclass(thing):
        held = {f.name: _to_plain(getattr(thing, f.name)) for f in fields(thing) if f.compare}
        return {"is": type(thing).__name__, **held}
    return [_to_plain(entry) for entry in thing] if isinstance(thing, tuple) else thing


def _from_plain(plain: Any) -> Any:
    """What :func:`_to_plain` was given."""
    if isinstance(plain, list):
        return tuple(_from_plain(entry) for entry in plain)
    if not isinstance(plain, dict):
        return plain
    kind = _CLASSES.get(plain.get("is", ""))
    if kind is None:
        raise ValueError(f"the saved model has a part {plain.get('is')!r}, unknown here; update walkstep")
    try:
        return kind(**{name: _from_plain(entry) for name, entry in plain.items() if name != "is"})
    except TypeError as error:
        raise ValueError(f"the saved model has a damaged part {plain['is']!r} ({error}); save it again") from None
