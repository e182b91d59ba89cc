"""Rankings of labels, with ties and gaps, and the forms in which users hold them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.given_rows import GivenRows, given_rows, row_number
from walkstep.data.ranking_buckets import buckets_of_order, buckets_of_text, parsed, places_of_buckets

Form = Literal["texts", "orders", "places", "ranks", "rankings"]


@dataclass(frozen=True)
class Rankings:
    """A ranking of labels for each row, as far as it is known.

    Parameters
    ----------
    places : float64 array (n_rows, n_labels)
        The place of each label: 0 is the best, then 1, 2, ... without gaps (see `dense_places`). Labels of one
        place are tied: their order is not known. NaN: the label is not ranked, its order against all others is not
        known. A row may be all NaN.
    label_names : tuple of str (n_labels,)
        What labels are called.

    Examples
    --------
    >>> rankings = Rankings(np.array([[1.0, 0.0, 1.0], [np.nan, 0.0, 1.0]]), ("a", "b", "c"))
    >>> rankings.texts(), rankings.order(0), rankings.is_complete
    (['b>a=c', 'b>c'], (('b',), ('a', 'c')), False)
    """

    places: NDArray[np.float64]
    label_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.places.ndim != 2 or self.places.shape[1] != len(self.label_names):
            raise ValueError(
                f"places has shape {self.places.shape}, but there are {len(self.label_names)} label_names; "
                "give a column for each label"
            )
        if self.n_labels < 2:
            raise ValueError(f"label_names is {self.label_names}; a ranking is of at least 2 labels")
        if len(set(self.label_names)) < self.n_labels:
            raise ValueError(f"label_names is {self.label_names}; give each label a name of its own")
        is_wrong = ~np.isnan(self.places) & (self.places != dense_places(self.places))
        if is_wrong.any():
            row = int(is_wrong.any(axis=1).argmax())
            raise ValueError(
                f"row {row} has the places {self.places[row].tolist()}; number places 0, 1, 2, ... without gaps, "
                "as dense_places does"
            )

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.places)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.label_names)

    @property
    def is_complete(self) -> bool:
        """Whether every row ranks all labels, with no tie."""
        return bool((np.sort(self.places, axis=1) == np.arange(self.n_labels)).all())

    def order(self, row: int) -> tuple[tuple[str, ...], ...]:
        """The labels that a row ranks, the best first; those of one place together."""
        places = self.places[row]
        ranked = np.flatnonzero(~np.isnan(places))
        buckets: dict[float, list[str]] = {place: [] for place in np.unique(places[ranked]).tolist()}
        for k in ranked.tolist():
            buckets[float(places[k])].append(self.label_names[k])
        return tuple(map(tuple, buckets.values()))

    def texts(self) -> list[str]:
        """Every row as a text such as ``b>a=c>d``; empty where nothing is known."""
        wrong = [name for name in self.label_names if not name.strip() or set(name) & set(">=") or name != name.strip()]
        if wrong:
            raise ValueError(
                f"label {wrong[0]!r} cannot stand in a text: names there are not empty, have no '>', no '=' and no "
                "space around them; rename it"
            )
        return [">".join("=".join(bucket) for bucket in self.order(row)) for row in range(self.n_rows)]


def dense_places(values: ArrayLike) -> NDArray[np.float64]:
    """The places 0, 1, 2, ... without gaps that values (n_rows, n_labels) give, smaller ones being better.

    Equal values share a place; NaN stays NaN.

    Examples
    --------
    >>> dense_places([[10, 30, 10, np.nan], [3, 2, 1, 0]]).tolist()
    [[0.0, 1.0, 0.0, nan], [3.0, 2.0, 1.0, 0.0]]
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 2:
        raise ValueError(f"the places have shape {values.shape}; give a matrix (n_rows, n_labels)")
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    dense = np.zeros(values.shape)
    dense[:, 1:] = np.cumsum(ranked[:, 1:] > ranked[:, :-1], axis=1)
    dense[np.isnan(ranked)] = np.nan
    places = np.empty(values.shape)
    np.put_along_axis(places, order, dense, axis=1)
    return places


def read_rankings(given: Any, label_names: Sequence[str] | None = None) -> tuple[Rankings, Form]:
    """Rankings in any form, and which form it is; `as_given` goes the other way.

    Parameters
    ----------
    given : sequence, matrix, dataframe or Rankings
        One of these, with a row each:

        - "texts": strings such as ``c>a=b>d``. An empty one, or None, says nothing.
        - "orders": sequences of labels (strings), the best first; an inner set or sequence is a tie.
        - "places" or "ranks": a matrix or dataframe with a column for each label. The smaller number is the better,
          equal ones are a tie, NaN is a label that is not ranked. "ranks" count from 1: every row that ranks all
          labels has 1 for its smallest number (where no row ranks all, every row that ranks any).
        - "rankings": `Rankings`.
    label_names : sequence of str, optional
        All labels, in the order wanted. If not given: the labels found, sorted; the columns of a dataframe; or
        ``label0``, ``label1``, ... for a matrix.

    Examples
    --------
    >>> rankings, form = read_rankings(["c>a>b", "a = b > c", ""])
    >>> rankings.label_names, form, rankings.places.tolist()
    (('a', 'b', 'c'), 'texts', [[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [nan, nan, nan]])
    >>> read_rankings([[3, 1, 2], [2, 1, 3]])[1], read_rankings([["b", "a"], ["a"]])[1]
    ('ranks', 'orders')
    """
    names = None if label_names is None else tuple(map(str, label_names))
    if isinstance(given, Rankings):
        places, names = _in_order(given.places, given.label_names, names)
        return Rankings(dense_places(places), names), "rankings"
    found = given_rows("rankings", given)
    if found.matrix is not None:
        return _of_matrix(found, names)
    if any(isinstance(row, str) for row in found.rows):
        return rankings_of_texts(found.rows, names), "texts"
    return Rankings(*places_of_buckets(parsed(found.rows, buckets_of_order), names)), "orders"


def rankings_of_texts(
    texts: Sequence[Any], label_names: Sequence[str] | None = None, where: Callable[[int], str] = row_number
) -> Rankings:
    """Rankings of texts; ``where`` says how errors call a row.

    Examples
    --------
    >>> rankings_of_texts(["c>a", "a>b>>c"], where=lambda row: f"rows.csv, line {row + 2}")
    Traceback (most recent call last):
    ...
    ValueError: rows.csv, line 3: 'a>b>>c' lacks a label beside one of its signs; write it like 'c>a=b>d'
    """
    return Rankings(*places_of_buckets(parsed(texts, buckets_of_text, where), label_names, where))


def as_given(places: ArrayLike, label_names: Sequence[str], form: Form) -> Any:
    """Predicted rankings in the form that `read_rankings` found.

    Parameters
    ----------
    places : array (n_rows, n_labels)
        The place of each label, 0 being the best.
    label_names : sequence of str (n_labels,)
    form : {"texts", "orders", "places", "ranks", "rankings"}

    Returns
    -------
    object array of str (n_rows,), list of tuples of str, int64 array (n_rows, n_labels), or Rankings
        Places count from 0, ranks from 1. A tie is a tuple inside an order.

    Examples
    --------
    >>> as_given([[1, 0, 2]], ("a", "b", "c"), "texts"), as_given([[1, 0, 2]], ("a", "b", "c"), "orders")
    (array(['b>a>c'], dtype=object), [('b', 'a', 'c')])
    >>> as_given([[1, 0, 2]], ("a", "b", "c"), "ranks")
    array([[2, 1, 3]])
    """
    rankings = Rankings(dense_places(places), tuple(label_names))
    if form == "texts":
        return np.array(rankings.texts(), dtype=object)
    if form == "orders":
        orders = map(rankings.order, range(rankings.n_rows))
        return [tuple(bucket[0] if len(bucket) == 1 else bucket for bucket in order) for order in orders]
    if form in ("places", "ranks"):
        numbers = rankings.places + (form == "ranks")
        return numbers if np.isnan(numbers).any() else numbers.astype(np.int64)
    if form == "rankings":
        return rankings
    raise ValueError(f"form is {form!r}; give texts, orders, places, ranks or rankings")


def _of_matrix(found: GivenRows, names: tuple[str, ...] | None) -> tuple[Rankings, Form]:
    """Rankings of a matrix of places, whatever its numbers are."""
    matrix = found.matrix
    assert matrix is not None
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0].tolist()
        raise ValueError(
            f"row {row}, column {column} of the rankings is {matrix[row, column]}; give a finite place, "
            "or NaN where a label is not ranked"
        )
    given_names = found.names
    if given_names is None:
        given_names = names or tuple(f"label{k}" for k in range(matrix.shape[1]))
    if len(given_names) != matrix.shape[1]:
        raise ValueError(
            f"the rankings have {matrix.shape[1]} columns, but there are {len(given_names)} labels: "
            f"{', '.join(given_names[:12])}; give a column for each label"
        )
    matrix, names = _in_order(matrix, given_names, names)
    is_ranked = ~np.isnan(matrix)
    rows = is_ranked.all(axis=1) if is_ranked.all(axis=1).any() else is_ranked.any(axis=1)
    smallest = np.where(is_ranked, matrix, np.inf)[rows].min(axis=1)
    form = "ranks" if len(smallest) and (smallest == 1).all() else "places"
    return Rankings(dense_places(matrix), names), form


def _in_order(
    places: NDArray[np.float64], given_names: tuple[str, ...], names: tuple[str, ...] | None
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The columns in the order of the names wanted."""
    if names is None or names == given_names:
        return places, given_names
    if sorted(names) != sorted(given_names):
        raise ValueError(f"the rankings are of {given_names}, but the labels are {names}; give a column for each label")
    return places[:, [given_names.index(name) for name in names]], names
