"""Comparators as descriptions: what to compare two records on, and the thresholds between levels of likeness."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from walkstep.features import comparisons

KINDS = {
    "exact": (comparisons.EXACT, "text"),
    "missing": (comparisons.MISSING, "text"),
    "jaccard": (comparisons.JACCARD, "words"),
    "containment": (comparisons.CONTAINMENT, "words"),
    "cosine": (comparisons.COSINE, "words"),
    "edit": (comparisons.EDIT, "letters"),
    "jaro_winkler": (comparisons.JARO_WINKLER, "letters"),
    "names": (comparisons.NAMES, "names"),
    "initials": (comparisons.INITIALS, "initials"),
    "number": (comparisons.NUMBER, "number"),
    "signed_number": (comparisons.SIGNED_NUMBER, "number"),
    "dates": (comparisons.DATES, "date"),
    "vectors": (comparisons.VECTORS, "vector"),
    "lists": (comparisons.JACCARD, "list"),
    "categories": (comparisons.CATEGORY_PAIR, "category"),
    "user": (comparisons.USER, "letters"),
}
"""For each kind, its number in compiled loops and the form of the column that it reads."""

_WITHOUT_THRESHOLDS = ("exact", "missing", "categories")
_MOST_THRESHOLDS = 253
_MOST_CATEGORIES = 15  # 15 * 15 < 255, the levels that a byte has room for


@dataclass(frozen=True)
class Comparator:
    """One way to compare two records, by a column.

    Parameters
    ----------
    kind : str
        One of `KINDS`; the functions below make them all.
    column : str
        The column to read.
    thresholds : tuple of float
        Rising. A likeness below all of them has level 1, each one reached adds a level; level 0 says that a value
        is missing.
    name : str, optional
        What to call it, where its kind and column do not tell it from another.
    categories : tuple of str
        The values that "categories" tells apart.
    separator : str
        Between the items of a list that is written as text.
    function : callable, optional
        The likeness of kind "user".
    compile : bool
        Whether that function is to be compiled.

    Examples
    --------
    >>> jaccard("title").name
    'jaccard(title)'
    >>> Comparator.from_dict(number("year", (-1, 0)).to_dict())
    Comparator(kind='number', column='year', thresholds=(-1.0, 0.0), name='number(year)')
    """

    kind: str
    column: str
    thresholds: tuple[float, ...] = ()
    name: str = ""
    categories: tuple[str, ...] = ()
    separator: str = ";"
    function: Callable[..., float] | None = None
    compile: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(
                f"comparator of column {self.column!r} is of kind {self.kind!r}; choose from {list(KINDS)}"
            )
        object.__setattr__(self, "thresholds", tuple(float(t) for t in self.thresholds))
        object.__setattr__(self, "categories", tuple(self.categories))
        object.__setattr__(self, "name", self.name or f"{self.kind}({self.column})")
        self._check()

    def __repr__(self) -> str:
        shown = {"kind": self.kind, "column": self.column, "thresholds": self.thresholds, "name": self.name}
        if self.categories:
            shown["categories"] = self.categories
        return f"Comparator({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def _check(self) -> None:
        thresholds = self.thresholds
        if (len(thresholds) == 0) != (self.kind in _WITHOUT_THRESHOLDS):
            advice = "leave them out" if thresholds else "give at least one"
            raise ValueError(f"comparator {self.name!r} has thresholds {thresholds}; {advice}")
        if any(not math.isfinite(t) for t in thresholds) or any(a >= b for a, b in pairwise(thresholds)):
            raise ValueError(f"comparator {self.name!r} has thresholds {thresholds}; give finite ones that rise")
        if len(thresholds) > _MOST_THRESHOLDS:
            raise ValueError(
                f"comparator {self.name!r} has {len(thresholds)} thresholds; give {_MOST_THRESHOLDS} at most"
            )
        if len(self.categories) > _MOST_CATEGORIES:
            raise ValueError(
                f"comparator {self.name!r} has {len(self.categories)} categories; pairs of them are told apart up to "
                f"{_MOST_CATEGORIES}, merge the rare ones or compare with exact({self.column!r})"
            )
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"comparator {self.name!r} has a category twice in {self.categories}; name each once")
        if self.kind == "user" and not callable(self.function):
            raise TypeError(f"comparator {self.name!r} has function {self.function!r}; give a function of two texts")

    @property
    def n_levels(self) -> int:
        """How many levels it tells apart, level 0 (missing) among them."""
        special = {"exact": 3, "missing": 4, "categories": 1 + len(self.categories) ** 2}
        return special.get(self.kind, 2 + len(self.thresholds))

    @property
    def is_rising(self) -> bool:
        """Whether a higher level means more alike, from level 1 on."""
        return self.kind not in ("missing", "categories", "signed_number")

    def level_names(self) -> tuple[str, ...]:
        """What each level means, for reports.

        Examples
        --------
        >>> number("year", (-1, 0)).level_names()
        ('missing', 'below -1', '-1 to 0', '0 or more')
        """
        if self.kind == "exact":
            return ("missing", "different", "equal")
        if self.kind == "missing":
            return ("none", "both present", "one missing", "both missing")
        if self.kind == "categories":
            return ("missing", *(f"{a}, {b}" for a in self.categories for b in self.categories))
        t = [f"{one:g}" for one in self.thresholds]
        between = [f"{a} to {b}" for a, b in pairwise(t)]
        return ("missing", f"below {t[0]}", *between, f"{t[-1]} or more")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or TOML; a user's function is kept by name alone."""
        plain: dict[str, Any] = {"kind": self.kind, "column": self.column, "name": self.name}
        if self.thresholds:
            plain["thresholds"] = list(self.thresholds)
        if self.categories:
            plain["categories"] = list(self.categories)
        if self.kind == "lists":
            plain["separator"] = self.separator
        if self.function is not None:
            plain |= {"function": getattr(self.function, "__name__", "function"), "compile": self.compile}
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], functions: Mapping[str, Callable[..., float]] = {}) -> "Comparator":
        """The comparator that `to_dict` described; ``functions`` are the users' own, by name."""
        fields = dict(plain)
        if "function" in fields:
            name = fields["function"]
            if name not in functions:
                raise ValueError(
                    f"comparator {fields.get('name')!r} calls the function {name!r}, which is not saved with it; "
                    f"hand it over as functions={{{name!r}: ...}}"
                )
            fields["function"] = functions[name]
        return cls(**fields)


_LIKENESS = (0.2, 0.4, 0.6, 0.75, 0.9, 1.0)
_LETTERS = (0.5, 0.65, 0.8, 0.9, 0.95, 1.0)


def exact(column: str, *, name: str = "") -> Comparator:
    """Whether two values are equal, once normalised."""
    return Comparator("exact", column, name=name)


def missing(column: str, *, name: str = "") -> Comparator:
    """How many of the two values are missing."""
    return Comparator("missing", column, name=name)


def jaccard(column: str, thresholds: Sequence[float] = _LIKENESS, *, name: str = "") -> Comparator:
    """Words in common, as a share of the words that either has."""
    return Comparator("jaccard", column, tuple(thresholds), name)


def containment(column: str, thresholds: Sequence[float] = _LIKENESS, *, name: str = "") -> Comparator:
    """Words in common, as a share of the words that the shorter one has."""
    return Comparator("containment", column, tuple(thresholds), name)


def cosine(column: str, thresholds: Sequence[float] = _LIKENESS, *, name: str = "") -> Comparator:
    """Cosine of the two sets of words, weighted by how rare they are in the table (TF-IDF, each word counted once)."""
    return Comparator("cosine", column, tuple(thresholds), name)


def edit(column: str, thresholds: Sequence[float] = _LETTERS, *, name: str = "") -> Comparator:
    """One minus Levenshtein's distance over the longer length."""
    return Comparator("edit", column, tuple(thresholds), name)


def jaro_winkler(
    column: str, thresholds: Sequence[float] = (0.7, 0.8, 0.87, 0.93, 1.0), *, name: str = ""
) -> Comparator:
    """Jaro and Winkler's likeness, made for short names with slips of the pen."""
    return Comparator("jaro_winkler", column, tuple(thresholds), name)


def names(
    column: str, thresholds: Sequence[float] = (0.15, 0.25, 0.5, 0.65, 0.78, 0.85, 0.94, 1.0), *, name: str = ""
) -> Comparator:
    """Likeness of persons or lists of persons, in any of the usual notations; see `name_likeness`."""
    return Comparator("names", column, tuple(thresholds), name)


def initials(column: str, thresholds: Sequence[float] = (0.5, 0.7, 0.85, 1.0), *, name: str = "") -> Comparator:
    """Initials in common, or one being the acronym of the other."""
    return Comparator("initials", column, tuple(thresholds), name)


def number(column: str, thresholds: Sequence[float] = (-10, -5, -2, -1, 0), *, name: str = "") -> Comparator:
    """Minus the difference of two numbers; of a text, the first number in it counts."""
    return Comparator("number", column, tuple(thresholds), name)


def signed_number(
    column: str, thresholds: Sequence[float] = (-10, -3, -1, 0, 1, 2, 4, 11), *, name: str = ""
) -> Comparator:
    """The second record's number minus the first's; this one depends on the order of the two."""
    return Comparator("signed_number", column, tuple(thresholds), name)


def dates(column: str, thresholds: Sequence[float] = (-366, -31, -1, -0.5, 0), *, name: str = "") -> Comparator:
    """Minus the days between two dates; -0.5 where day and month are swapped or one digit differs."""
    return Comparator("dates", column, tuple(thresholds), name)


def vectors(
    column: str, thresholds: Sequence[float] = (0.2, 0.4, 0.6, 0.75, 0.85, 0.95), *, name: str = ""
) -> Comparator:
    """Cosine of two vectors, such as embeddings."""
    return Comparator("vectors", column, tuple(thresholds), name)


def lists(column: str, thresholds: Sequence[float] = _LIKENESS, *, separator: str = ";", name: str = "") -> Comparator:
    """Items in common, as a share of the items that either has; a text is split at ``separator`` first."""
    return Comparator("lists", column, tuple(thresholds), name, separator=separator)


def categories(column: str, values: Sequence[str] = (), *, name: str = "") -> Comparator:
    """Which category each of the two has, in their order; without ``values``, those of the table it is fitted on."""
    return Comparator("categories", column, name=name, categories=tuple(values))


def user(
    function: Callable[..., float],
    column: str,
    thresholds: Sequence[float] = _LIKENESS,
    *,
    compile: bool = True,
    name: str = "",
) -> Comparator:
    """A likeness of one's own.

    Parameters
    ----------
    function : callable
        Of two arrays of code points (int32), to be compiled, or with ``compile=False`` of two strings; the texts
        come normalised. It returns a float.
    column : str
        The column to read.
    thresholds : sequence of float
        Rising.
    compile : bool
        False keeps it plain Python, at microseconds a call.
    name : str
        What to call it; else the function's own name and the column.
    """
    name = name or f"{getattr(function, '__name__', 'user')}({column})"
    return Comparator("user", column, tuple(thresholds), name, function=function, compile=compile)


def settle(comparators: Sequence[Comparator], frame: pl.DataFrame) -> list[Comparator]:
    """The same comparators, with the categories of this table where none were given.

    Examples
    --------
    >>> settle([categories("type")], pl.DataFrame({"type": ["name", None, "pronoun", "name"]}))[0].categories
    ('name', 'pronoun')
    """
    settled = []
    for comparator in comparators:
        if comparator.kind == "categories" and not comparator.categories and comparator.column in frame.columns:
            found = frame[comparator.column].drop_nulls().cast(pl.String).unique().sort().to_list()
            comparator = replace(comparator, categories=tuple(found))
        settled.append(comparator)
    return settled
