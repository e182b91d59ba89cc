"""Rankings as buckets: labels of one place together, the best bucket first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.given_rows import is_missing, row_number
from walkstep.data.name_hints import listed

Buckets = list[list[str]]


def buckets_of_text(text: str | None) -> Buckets:
    """The buckets of a text such as ``c>a=b>d``; an empty or missing text has none.

    Examples
    --------
    >>> buckets_of_text("c > a=b > d")
    [['c'], ['a', 'b'], ['d']]
    """
    if is_missing(text):
        return []
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text, but other rankings are; write it like 'c>a=b>d'")
    if not text.strip():
        return []
    buckets = [[label.strip() for label in bucket.split("=")] for bucket in text.split(">")]
    if not all(label for bucket in buckets for label in bucket):
        raise ValueError(f"{text!r} lacks a label beside one of its signs; write it like 'c>a=b>d'")
    return buckets


def buckets_of_order(order: Iterable[Any]) -> Buckets:
    """The buckets of a sequence of labels, the best first; an inner set or sequence is a tie.

    Examples
    --------
    >>> buckets_of_order(["c", {"b", "a"}, "d"])
    [['c'], ['a', 'b'], ['d']]
    """
    if isinstance(order, set | frozenset | Mapping) or not isinstance(order, Iterable):
        raise TypeError(f"{order!r} has no order; give a text like 'c>a=b>d', or a list of labels, the best first")
    buckets: Buckets = []
    for item in order:
        is_set = isinstance(item, set | frozenset)
        bucket = list(item) if is_set or isinstance(item, list | tuple | np.ndarray) else [item]
        if not bucket or not all(isinstance(label, str) for label in bucket):
            raise TypeError(f"{item!r} is no label and no tie of labels; name labels by strings")
        buckets.append(sorted(bucket) if is_set else bucket)
    return buckets


def parsed(
    rows: Iterable[Any], parse: Callable[[Any], Buckets], where: Callable[[int], str] = row_number
) -> list[Buckets]:
    """Every row's buckets, or an error that says where the row is.

    Examples
    --------
    >>> parsed(["a>b", "a>"], buckets_of_text)
    Traceback (most recent call last):
    ...
    ValueError: row 1: 'a>' lacks a label beside one of its signs; write it like 'c>a=b>d'
    """
    found = []
    for r, row in enumerate(rows):
        try:
            found.append(parse(row))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where(r)}: {error}") from None
    return found


def places_of_buckets(
    rows: Sequence[Buckets], label_names: Sequence[str] | None = None, where: Callable[[int], str] = row_number
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The place of every label in every row, NaN where a row does not rank it, and the labels' names.

    Parameters
    ----------
    rows : sequence of buckets
        A ranking each.
    label_names : sequence of str, optional
        All labels, in the order of columns; if not given, those found, sorted: by value if all are whole numbers.
    where : function of a row's number to str
        How errors call a row.

    Examples
    --------
    >>> places_of_buckets([[["c"], ["a", "b"]], [["a"]]])
    (array([[ 1.,  1.,  0.],
           [ 0., nan, nan]]), ('a', 'b', 'c'))
    """
    if label_names is None:
        found = {label for buckets in rows for bucket in buckets for label in bucket}
        label_names = sorted(found, key=int) if all(label.isdecimal() for label in found) else sorted(found)
        if len(found) < 2:
            raise ValueError(f"the rankings name {len(found)} label(s); rank at least 2, or give label_names")
    names = tuple(label_names)
    column = {name: k for k, name in enumerate(names)}
    places = np.full((len(rows), len(names)), np.nan)
    for r, buckets in enumerate(rows):
        place_of_column: dict[int, int] = {}
        for place, bucket in enumerate(buckets):
            for label in bucket:
                k = column.get(label)
                if k is None:
                    raise ValueError(
                        f"{where(r)} ranks {label!r}, which is none of the labels {listed(names)}; "
                        "correct it, or name it in label_names"
                    )
                if k in place_of_column:
                    raise ValueError(f"{where(r)} ranks {label!r} twice; give each label one place")
                place_of_column[k] = place
        places[r, list(place_of_column)] = list(place_of_column.values())
    return places, names
