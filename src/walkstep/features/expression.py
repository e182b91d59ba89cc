"""The description of one token feature, and its compact notation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

REACH = 1000  # farthest offset; a longer one is a slip of the pen


@dataclass(frozen=True)
class Atom:
    """A property of the token ``offset`` positions away.

    Parameters
    ----------
    name : str
        A name of :data:`~walkstep.features.properties.PROPERTIES`, a user's function, or a column of the data.
    offset : int
        0 is the token itself, -1 the one before it.
    argument : int, optional
        The number in parentheses, for properties that take one.

    Examples
    --------
    >>> print(Atom("word", -1), Atom("prefix", argument=3))
    word[-1] prefix(3)
    """

    name: str
    offset: int = 0
    argument: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_argument(self.name, self.argument)
        _check_offset(self.name, self.offset)

    def __str__(self) -> str:
        window = f"[{self.offset}]" if self.offset else ""
        return f"{_call(self.name, self.argument)}{window}"


@dataclass(frozen=True)
class Bag:
    """A property's values anywhere among positions ``first`` to ``last``, both included, whatever their order.

    Examples
    --------
    >>> print(Bag("lower", -4, -1))
    bag:lower[-4:-1]
    """

    name: str
    first: int
    last: int
    argument: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_argument(self.name, self.argument)
        _check_offset(self.name, self.first)
        _check_offset(self.name, self.last)
        if self.first > self.last:
            raise ValueError(
                f"the window of bag {self.name!r} begins at {self.first}, after its end {self.last}; "
                f"write it as [{self.last}:{self.first}]"
            )

    def __str__(self) -> str:
        return f"bag:{_call(self.name, self.argument)}[{self.first}:{self.last}]"


@dataclass(frozen=True)
class Conjunction:
    """Several properties together; with many-valued ones, every combination of their values.

    Examples
    --------
    >>> print(Conjunction((Atom("lower", -1), Atom("lower"))))
    lower[-1]&lower
    """

    parts: tuple[Atom, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ValueError(f"a conjunction joins two properties or more, not {len(self.parts)}; use an Atom")
        if len(set(self.parts)) < len(self.parts):
            raise ValueError(f"conjunction '{self}' names a part twice; leave one out")

    def __str__(self) -> str:
        return "&".join(map(str, self.parts))


Expression = Atom | Bag | Conjunction


def parse_feature(text: str) -> Expression:
    """Read one feature in compact notation.

    Parameters
    ----------
    text : str
        ``name``, ``name(argument)``, either with ``[offset]`` behind it; several of these joined by ``&``;
        or ``bag:name[first:last]``.

    Examples
    --------
    >>> parse_feature("lower[-1]&lower[0]")
    Conjunction(parts=(Atom(name='lower', offset=-1, argument=None), Atom(name='lower', offset=0, argument=None)))
    >>> parse_feature("bag:lower[-4:-1]")
    Bag(name='lower', first=-4, last=-1, argument=None)
    >>> parse_feature("lower[-1&lower")
    Traceback (most recent call last):
    ...
    ValueError: cannot read feature 'lower[-1&lower' at column 9: expected ']', found '&'
        lower[-1&lower
                ^
    """
    reader = _Reader(text)
    is_bag = reader.take(r"bag\s*:") is not None
    if is_bag:
        start = reader.at
        name, argument = reader.call()
        reader.need(r"\[", "'[' and a window such as [-4:-1]")
        first = reader.number("the first position of the window")
        reader.need(":", "':' and the last position of the window")
        last = reader.number("the last position of the window")
        reader.need(r"\]", "']'")
        reader.end("the end of the feature, for bags are not joined to others")
        return reader.build(start, Bag, name, first, last, argument)
    parts = [reader.atom()]
    while reader.take("&"):
        parts.append(reader.atom())
    reader.end("'&', '(', '[' or the end of the feature" if parts[-1].offset == 0 else "'&' or the end")
    return parts[0] if len(parts) == 1 else reader.build(0, Conjunction, tuple(parts))


def parse_features(features: Iterable[str | Expression]) -> tuple[Expression, ...]:
    """Read a list of features, each in compact notation or already read, and refuse repetitions.

    Examples
    --------
    >>> [str(feature) for feature in parse_features(["word[0]", Atom("shape", 1)])]
    ['word', 'shape[1]']
    """
    if isinstance(features, str):
        raise TypeError(f"features is the string {features!r}; give a list of features, such as [{features!r}]")
    read: dict[Expression, None] = {}
    for feature in features:
        if not isinstance(feature, str | Atom | Bag | Conjunction):
            raise TypeError(f"feature {feature!r} is neither a string nor an expression; write it as a string")
        expression = parse_feature(feature) if isinstance(feature, str) else feature
        if expression in read:
            raise ValueError(f"feature '{expression}' is given twice; leave one out")
        read[expression] = None
    return tuple(read)


class _Reader:
    """A place in a feature's text, and the errors that point at it."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def take(self, pattern: str) -> re.Match[str] | None:
        """What the pattern matches here, spaces before it skipped; None where it does not."""
        match = re.compile(r"\s*(?:" + pattern + ")").match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def need(self, pattern: str, expected: str) -> str:
        """What the pattern must match here."""
        match = self.take(pattern)
        if match is None:
            self.take("")
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise self.error(self.at, f"expected {expected}, found {found}")
        return match[0].strip()

    def number(self, what: str) -> int:
        """A whole number with or without a sign."""
        return int(self.need(r"[+-]?[0-9]+", f"a whole number, {what}"))

    def call(self) -> tuple[str, int | None]:
        """A name, with or without an argument."""
        name = self.need(_NAME, "the name of a property")
        if not self.take(r"\("):
            return name, None
        argument = self.number(f"the argument of {name!r}")
        self.need(r"\)", "')'")
        return name, argument

    def atom(self) -> Atom:
        """A call, with or without an offset."""
        self.take("")
        start = self.at
        name, argument = self.call()
        offset = 0
        if self.take(r"\["):
            offset = self.number(f"the offset of {name!r}")
            self.need(r"\]", "']'")
        return self.build(start, Atom, name, offset, argument)

    def end(self, expected: str) -> None:
        """Nothing but spaces may follow."""
        self.take("")
        if self.at < len(self.text):
            raise self.error(self.at, f"expected {expected}, found {self.text[self.at]!r}")

    def build(self, start: int, make, *fields):
        """The expression, or its own complaint with the place added."""
        try:
            return make(*fields)
        except ValueError as error:
            raise self.error(start, str(error)) from None

    def error(self, at: int, message: str) -> ValueError:
        """An error that shows the place."""
        return ValueError(
            f"cannot read feature {self.text!r} at column {at + 1}: {message}\n    {self.text}\n    {' ' * at}^"
        )


_NAME = r"[^\W\d][\w.\-]*"


def _call(name: str, argument: int | None) -> str:
    """The name, with its argument where it has one."""
    return name if argument is None else f"{name}({argument})"


def _check_name(name: str) -> None:
    """Names must be readable in compact notation."""
    if re.fullmatch(_NAME, name) is None:
        raise ValueError(
            f"{name!r} cannot name a property; use letters, digits, '_', '-' and '.', beginning with a letter"
        )


def _check_argument(name: str, argument: int | None) -> None:
    """Arguments count something."""
    if argument is not None and argument < 1:
        raise ValueError(f"the argument of {name!r} is {argument}; give 1 or more")


def _check_offset(name: str, offset: int) -> None:
    """Offsets stay within reach."""
    if abs(offset) > REACH:
        raise ValueError(f"{name!r} looks {offset} positions away; stay within {REACH}")
