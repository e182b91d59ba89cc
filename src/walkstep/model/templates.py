"""Templates: which factors a model over token sequences has.

A template says where its factors stand (sites such as ``tag[i-1]``), what they see (token features) and
under which condition they exist. Everything here is plain Python; :mod:`walkstep.model.language` reads and
writes the same objects as text, and :mod:`walkstep.model.grounding` makes graphs of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from walkstep.features.expression import Atom, Bag, Conjunction, Expression, parse_feature, parse_features
from walkstep.model.conditions import Compare, Condition, Holds, Value, indices_in
from walkstep.model.notation import NAME, LanguageError, Source, call, check_place, place

MAX_PAIRS = 10_000_000
"""Most pairs of positions that a template joins unless it says otherwise."""


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
        check_place(self.variable, self.index, self.offset, "a variable")

    def __str__(self) -> str:
        return f"{self.variable}[{place(self.index, self.offset)}]"


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
        if self.name is not None and NAME.fullmatch(self.name) is None:
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
        elif self.j_features or (self.where is not None and "j" in indices_in(self.where)):
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
            return f"{call(name, argument)}[{place(index, offset)}]"
        case Bag(name, first, last, argument):
            return f"bag({call(name, argument)})[{place(index, first)} .. {place(index, last)}]"
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
