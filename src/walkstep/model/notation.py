"""How templates are written: names, calls and positions, and errors that point at the place in a text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from walkstep.features.expression import REACH

RESERVED = frozenset({"where", "bias", "no", "all", "at", "within", "and", "or", "not", "same_sentence"})
"""Words of the language, which name neither variables nor properties."""

NAME = re.compile(r"[^\W\d][\w.\-]*")
"""What a name looks like."""


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


def call(name: str, argument: int | None) -> str:
    """A name, with its argument where it has one."""
    return name if argument is None else f"{name}({argument})"


def place(index: str, offset: int) -> str:
    """A position as text."""
    return f"{index}{offset:+d}" if offset else index


def check_place(name: str, index: str, offset: int, what: str) -> None:
    """A name, and a position within reach."""
    if NAME.fullmatch(name) is None or name in RESERVED:
        raise ValueError(
            f"{name!r} cannot name {what}; use letters, digits, '_', '-' and '.', beginning with a letter, "
            f"and none of the words {', '.join(sorted(RESERVED))}"
        )
    if index not in ("i", "j"):
        raise ValueError(f"{name!r} stands at {index!r}; positions are counted from 'i' or 'j'")
    if abs(offset) > REACH:
        raise ValueError(f"{name}[{place(index, offset)}] is {abs(offset)} positions away; stay within {REACH}")
