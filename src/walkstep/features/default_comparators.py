"""Comparators for a table whose columns' kinds are known."""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from walkstep.features.columns import number_column
from walkstep.features.comparators import (
    Comparator,
    cosine,
    dates,
    edit,
    exact,
    jaccard,
    lists,
    names,
    number,
    vectors,
)

_LONG_TEXT = 300  # letters beyond which edits say little that words do not, at ten times the cost
_IDENTIFIER = (0.6, 0.75, 0.85, 0.92, 1.0)
_SHARES_OF_SPREAD = (-1.0, -0.3, -0.1, -0.03, 0.0)


def default_comparators(kinds: Mapping[str, str], frame: pl.DataFrame | None = None) -> list[Comparator]:
    """What to compare two records on, where nobody says.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of each column: name, text, identifier, number, date, category, list, vector; constant and key
        columns are not compared.
    frame : DataFrame, optional
        The table, for what depends on it: how far its numbers spread, how long its texts are.

    Few are better than many: on citations whose truth is known, comparators of missing values, of letters in names and
    of equal numbers made a regression on all others no better, and less sure.

    Examples
    --------
    >>> [one.name for one in default_comparators({"id": "key", "title": "text", "year": "number"})]
    ['jaccard(title)', 'cosine(title)', 'edit(title)', 'number(year)']
    """
    chosen: list[Comparator] = []
    for column, kind in kinds.items():
        if kind not in _CHOICES:
            raise ValueError(f"column {column!r} is of kind {kind!r}; choose from {list(_CHOICES)}")
        if frame is not None and column not in frame.columns:
            raise ValueError(f"the table has no column {column!r}; its columns are {frame.columns}")
        chosen += _CHOICES[kind](column, None if frame is None else frame[column])
    return chosen


def _for_text(column: str, series: pl.Series | None) -> list[Comparator]:
    chosen = [jaccard(column), cosine(column)]
    if series is None or (_mean_length(series) <= _LONG_TEXT):
        chosen.append(edit(column))
    return chosen


def _for_number(column: str, series: pl.Series | None) -> list[Comparator]:
    if series is None:
        return [number(column)]
    return [number(column, _number_thresholds(series))]


def _number_thresholds(series: pl.Series) -> tuple[float, ...]:
    """Steps of one for whole numbers close together, such as years; else shares of the middle half's width."""
    values = number_column(series)
    present = values.number[values.value_of_record[values.value_of_record >= 0]]
    default = number("column").thresholds
    if len(present) == 0:
        return default
    low, high = np.quantile(present, [0.25, 0.75])
    spread = float(high - low) or float(np.ptp(present))
    if spread == 0.0 or (spread <= 100 and (present == np.round(present)).all()):
        return default
    return tuple(float(f"{share * spread:.2g}") for share in _SHARES_OF_SPREAD)


def _mean_length(series: pl.Series) -> float:
    mean = series.cast(pl.String).str.len_chars().mean()
    return float(mean) if isinstance(mean, float) else 0.0


_CHOICES: dict[str, Callable[[str, pl.Series | None], list[Comparator]]] = {
    "name": lambda column, _: [names(column), jaccard(column)],
    "text": _for_text,
    "identifier": lambda column, _: [edit(column, _IDENTIFIER)],
    "number": _for_number,
    "date": lambda column, _: [dates(column)],
    "category": lambda column, _: [exact(column)],
    "list": lambda column, _: [lists(column)],
    "vector": lambda column, _: [vectors(column)],
    "constant": lambda column, _: [],
    "key": lambda column, _: [],
}
