"""Conditions: what must hold of the tokens for a template to make a factor."""

import json
import operator
from collections.abc import Iterator
from dataclasses import dataclass

from walkstep.model.notation import call, check_place, place

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
"""The comparisons, by sign."""


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
        check_place(self.name, self.index, self.offset, "a property")

    def __str__(self) -> str:
        return f"{call(self.name, self.argument)}[{place(self.index, self.offset)}]"


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


def indices_in(condition: Condition) -> set[str]:
    """Which of i and j a condition speaks of."""
    match condition:
        case And(parts) | Or(parts):
            return set().union(*map(indices_in, parts))
        case Not(part):
            return indices_in(part)
        case Distance() | SameSentence():
            return {"i", "j"}
    return {value.index for value in values_in(condition)}


def conjuncts(condition: Condition | None) -> list[Condition]:
    """The conditions that must all hold."""
    if isinstance(condition, And):
        return [conjunct for part in condition.parts for conjunct in conjuncts(part)]
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


def _check_operator(sign: str) -> None:
    """Comparisons are the usual six."""
    if sign not in COMPARE:
        raise ValueError(f"{sign!r} compares nothing; use one of {', '.join(COMPARE)}")


def _check_parts(parts: tuple[Condition, ...]) -> None:
    """Joining takes two."""
    if len(parts) < 2:
        raise ValueError(f"'and' and 'or' join two conditions or more, not {len(parts)}; give the one alone")
