"""A table's columns as values of comparisons: what each form makes of a column, and the pools it goes into."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import SEED, hash_texts
from walkstep.features._kernels.name_rows import name_rows
from walkstep.features._kernels.word_rows import initials_rows, rising_rows, word_keys
from walkstep.features.columns import (
    Column,
    category_column,
    date_column,
    gather_rows,
    list_column,
    number_column,
    text_column,
    vector_column,
)
from walkstep.features.comparisons import Comparisons
from walkstep.features.numbering import Numbering


class Encoding(NamedTuple):
    """One form of one column; comparators that need the same share it."""

    column: str
    form: str
    detail: Any = None  # categories, or the separator of lists


@dataclass(frozen=True)
class Known:
    """What one encoding has seen: its values, its words, and how many records its weights were counted on."""

    values: Numbering = field(default_factory=Numbering)
    words: Numbering = field(default_factory=Numbering)
    n_counted: int = 0
    n_dimensions: int | None = None


class Pools:
    """The new parts of the pools, gathered while the encodings are gone through."""

    def __init__(self, comparisons: Comparisons) -> None:
        self.n_values = len(comparisons.number)
        self.n_words = len(comparisons.weight_of_word)
        self.n_items = len(comparisons.items)
        self.n_floats = len(comparisons.vectors)
        self.ptr, self.items, self.number = [comparisons.ptr], [comparisons.items], [comparisons.number]
        self.weight, self.vectors = [comparisons.weight_of_word], [comparisons.vectors]

    def add_values(self, items: NDArray[np.int32], ptr: NDArray[np.int64], number: NDArray[np.float64]) -> None:
        """Put new values after those there are."""
        self.ptr.append(ptr[1:] + self.n_items)
        self.items.append(items)
        self.number.append(number)
        self.n_items += len(items)
        self.n_values += len(number)


def encode_column(
    series: pl.Series, encoding: Encoding, known: Known, pools: Pools, texts: dict[tuple[str, bool], Column]
) -> tuple[NDArray[np.int32], Known]:
    """Each new record's value, and what the encoding knows from now on."""
    form = encoding.form
    if form == "list":
        return _encode_lists(series, encoding, known, pools)
    if form == "vector":
        return _encode_vectors(series, known, pools)
    if form == "number":
        column = number_column(series)
    elif form == "date":
        column = date_column(series)
    elif form == "category":
        column = category_column(series, encoding.detail)
    else:
        shared = series.name, form == "names"
        if shared not in texts:
            texts[shared] = text_column(series, names=form == "names")
        column = texts[shared]
    is_present = np.zeros(len(column.keys) + 1, bool)  # the last one is the missing value's
    is_present[column.value_of_record] = True
    present = np.flatnonzero(is_present[:-1])
    found, new, values = known.values.add(column.keys[present], pools.n_values)
    value = np.full(len(column.keys) + 1, -1, np.int32)
    value[present] = found
    value_of_record = value[column.value_of_record]
    known = replace(known, values=values)
    rows = present[new]
    if form == "words":
        keys, ptr = word_keys(column.codes, column.ptr, rows)
        known = _add_words(keys, ptr, value_of_record, known, pools)
    else:
        items, ptr = np.zeros(0, np.int32), np.zeros(len(rows) + 1, np.int64)
        if form == "letters":
            items = gather_rows(column.codes, column.ptr, rows)
            ptr[1:] = np.cumsum(np.diff(column.ptr)[rows])
        elif form == "initials":
            items, ptr = initials_rows(column.codes, column.ptr, rows)
        elif form == "names":
            items, ptr = name_rows(column.codes, column.ptr, rows)
        elif form == "date":
            items, ptr = _written(column.number[rows]), np.arange(len(rows) + 1)
        pools.add_values(items, ptr, column.number[rows] if len(column.number) else np.zeros(len(rows)))
    return value_of_record, known


def _add_words(
    keys: NDArray[np.uint64],
    ptr: NDArray[np.int64],
    value_of_record: NDArray[np.int32],
    known: Known,
    pools: Pools,
) -> Known:
    """Rows of words for new values, and the weights of new words: inverse document frequencies of the first table."""
    first_value, first_word = pools.n_values, pools.n_words
    words, new, numbering = known.words.add(keys, first_word)
    items, ptr = rising_rows(words, ptr)
    n_counted, in_records = known.n_counted, np.zeros(len(new))
    if n_counted == 0:
        value = value_of_record[value_of_record >= 0] - first_value
        n_records_of_value = np.bincount(value, minlength=len(ptr) - 1)
        n_counted = len(value)
        in_records = np.bincount(items - first_word, np.repeat(n_records_of_value, np.diff(ptr)), minlength=len(new))
    pools.weight.append((np.log((1 + n_counted) / (1 + in_records)) + 1.0) ** 2)
    pools.n_words += len(new)
    weight = np.concatenate(pools.weight)[items]
    total = np.add.reduceat(weight, ptr[:-1]) if len(ptr) > 1 else np.zeros(0)
    pools.add_values(items, ptr, 1.0 / np.sqrt(total))
    return replace(known, words=numbering, n_counted=n_counted)


def _encode_lists(series: pl.Series, encoding: Encoding, known: Known, pools: Pools) -> tuple[NDArray[np.int32], Known]:
    """Lists of items; two records of the same list share a value."""
    column, ptr = list_column(series, encoding.detail)
    keys = np.append(column.keys, np.uint64(0))[column.value_of_record]
    numbers, _, words = known.words.add(keys[column.value_of_record >= 0], pools.n_words)
    among = np.full(len(keys), -1, np.int32)
    among[column.value_of_record >= 0] = numbers
    n_new = int(max(numbers.max(initial=-1) + 1 - pools.n_words, 0))
    pools.weight.append(np.ones(n_new))
    pools.n_words += n_new
    items, ptr = rising_rows(among, ptr)
    present = np.flatnonzero(np.diff(ptr) > 0)
    list_keys = hash_texts(items, ptr[:-1], ptr[1:], SEED)[present]
    found, new, values = known.values.add(list_keys, pools.n_values)
    value_of_record = np.full(len(series), -1, np.int32)
    value_of_record[present] = found
    rows = present[new]
    row_ptr = np.concatenate([[0], np.cumsum(np.diff(ptr)[rows])])
    pools.add_values(gather_rows(items, ptr, rows), row_ptr, np.zeros(len(rows)))
    return value_of_record, replace(known, words=words, values=values)


def _encode_vectors(series: pl.Series, known: Known, pools: Pools) -> tuple[NDArray[np.int32], Known]:
    """Vectors, each of them a value of its own."""
    column, n_dimensions = vector_column(series, known.n_dimensions)
    value_of_record = np.where(column.value_of_record >= 0, column.value_of_record + pools.n_values, -1)
    n_values = len(column.number)
    pools.add_values(np.zeros(0, np.int32), np.zeros(n_values + 1, np.int64), column.number + pools.n_floats)
    pools.vectors.append(column.vectors)
    pools.n_floats += len(column.vectors)
    return value_of_record.astype(np.int32), replace(known, n_dimensions=n_dimensions)


def _written(days: NDArray[np.float64]) -> NDArray[np.int32]:
    """Days since 1970 as the number yyyymmdd."""
    date = days.astype("datetime64[D]")
    year, month = date.astype("datetime64[Y]"), date.astype("datetime64[M]")
    return (
        (year.astype(np.int64) + 1970) * 10000
        + ((month - year.astype("datetime64[M]")).astype(np.int64) + 1) * 100
        + (date - month.astype("datetime64[D]")).astype(np.int64)
        + 1
    ).astype(np.int32)
