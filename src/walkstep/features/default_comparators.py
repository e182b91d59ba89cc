"""Comparators for a table whose columns' kinds are known."""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from walkstep.features.columns import number_column
from walkstep.features.comparators import (
    Comparator,
    containment,
    cosine,
    dates,
    edit,
    exact,
    initials,
    jaccard,
    jaro_winkler,
    lists,
    names,
    number,
    vectors,
)

_LONG_TEXT = 300  # letters beyond which edits say little that words do not, at ten times the cost
_SELDOM = 0.3  # columns that a smaller share of records has are never compared thoroughly
_IDENTIFIER = (0.6, 0.75, 0.85, 0.92, 1.0)
_WORDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_LETTERS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
_BEGINNINGS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
_SHARES_OF_SPREAD = (-1.0, -0.3, -0.1, -0.03, 0.0)


def default_comparators(
    kinds: Mapping[str, str], frame: pl.DataFrame | None = None, *, thorough: bool = False
) -> list[Comparator]:
    """What to compare two records on, where nobody says.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of each column: name, text, identifier, number, date, category, list, vector; constant and key
        columns are not compared.
    frame : DataFrame, optional
        The table, for what depends on it: how far its numbers spread, how long its texts are.

    thorough : bool
        Compare texts and names in more ways, in many small steps. Weights that may only rise with likeness (see
        `pair_regression`) can use them all where the entities of many records are known; with few labels or none,
        few comparators are better.

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
        series = None if frame is None else frame[column]
        is_thorough = thorough and (series is None or _share_present(series) >= _SELDOM)
        chosen += (_THOROUGH if is_thorough and kind in _THOROUGH else _CHOICES)[kind](column, series)
    return chosen


def _for_text(column: str, series: pl.Series | None) -> list[Comparator]:
    chosen = [jaccard(column), cosine(column)]
    if _is_short(series):
        chosen.append(edit(column))
    return chosen


def _for_text_thoroughly(column: str, series: pl.Series | None) -> list[Comparator]:
    chosen = [jaccard(column, _WORDS), containment(column, _WORDS), cosine(column, _WORDS)]
    if _is_short(series):
        chosen += [edit(column, _LETTERS), jaro_winkler(column, _BEGINNINGS)]
    return chosen


def _for_name_thoroughly(column: str, series: pl.Series | None) -> list[Comparator]:
    return [names(column), initials(column), *_for_text_thoroughly(column, series)]


def _for_number(column: str, series: pl.Series | None) -> list[Comparator]:
    if series is None:
        return [number(column)]
    return [number(column, _number_thresholds(series))]


def _for_number_thoroughly(column: str, series: pl.Series | None) -> list[Comparator]:
    chosen = _for_number(column, series)
    if series is not None and series.dtype == pl.String:
        # Written by hand, such as "pp. 322-331": more than the number that is read from it.
        chosen += [jaccard(column, _WORDS), edit(column, _LETTERS)]
    return chosen


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


def _share_present(series: pl.Series) -> float:
    return 1.0 - series.null_count() / max(len(series), 1)


def _is_short(series: pl.Series | None) -> bool:
    mean = None if series is None else series.cast(pl.String).str.len_chars().mean()
    return not isinstance(mean, float) or mean <= _LONG_TEXT


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
_THOROUGH: dict[str, Callable[[str, pl.Series | None], list[Comparator]]] = {
    "name": _for_name_thoroughly,
    "text": _for_text_thoroughly,
    "number": _for_number_thoroughly,
}
