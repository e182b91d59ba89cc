"""A table's columns as distinct values: normalised texts, numbers, days, vectors."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, distinct_keys, hash_texts
from walkstep.features.string_likeness import MOST_LETTERS

# Letters that Unicode does not take apart into a base and an accent.
_FOLDED = {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ς": "σ"}


class Column(NamedTuple):
    """N records' values by number among D distinct ones.

    Parameters
    ----------
    value_of_record : int32 array (N,)
        -1 where missing.
    keys : uint64 array (D,)
        Equal for equal values, in whatever table; two values may still share one, where they differ before
        normalisation only.
    codes, ptr : int32 array, int64 array (D + 1,)
        A text's code points, end to end; empty for other columns.
    number : float64 array (D,)
        Of numbers, dates (days since 1970) and vectors (where in ``vectors`` it begins).
    vectors : float32 array
        Of length one, end to end.
    """

    value_of_record: NDArray[np.int32]
    keys: NDArray[np.uint64]
    codes: NDArray[np.int32]
    ptr: NDArray[np.int64]
    number: NDArray[np.float64]
    vectors: NDArray[np.float32]


_NO_CODES = np.zeros(0, np.int32)
_NO_VECTORS = np.zeros(0, np.float32)


def normalise(texts: pl.Series) -> pl.Series:
    """Texts in small letters without accents, with single spaces for whatever is neither letter nor digit.

    Examples
    --------
    >>> normalise(pl.Series(["  Łukasz  Müller-Straße! ", "№ 5", "..."])).to_list()
    ['lukasz muller strasse', 'no 5', '']
    """
    spaced = _fold(texts).str.replace_all(r"[^\p{L}\p{N}\p{M}]+", " ")
    return spaced.str.strip_chars(" ")


def normalise_names(texts: pl.Series) -> pl.Series:
    """Names folded as other texts are, but with the commas, hyphens and full stops that tell their parts.

    Persons are parted by semicolons.

    Examples
    --------
    >>> normalise_names(pl.Series(["Brodley, C. E. & Utgoff, P.-E. and O'Hara"])).to_list()
    ['brodley, c. e. ; utgoff, p.-e. ; ohara']
    """
    names = _fold(texts).str.replace_all(r"['’`´]", "")
    names = names.str.replace_all(r"\s+and\s+|^and\s+|&|\s+with\s+|\|", " ; ").str.replace_all(r"[‐‑–]", "-")
    names = names.str.replace_all(r"[^\p{L}\p{N}\p{M}.,;-]+", " ")
    return names.str.strip_chars(" .,;-")


def _fold(texts: pl.Series) -> pl.Series:
    """Small letters without accents; accents are those of Latin, Greek and Cyrillic, other scripts keep their marks."""
    is_ascii = texts.str.len_bytes() == texts.str.len_chars()
    if is_ascii.all():
        return texts.str.to_lowercase()
    other = (~is_ascii).arg_true()
    return texts.str.to_lowercase().scatter(other, _fold_all(texts.gather(other)))


def _fold_all(texts: pl.Series) -> pl.Series:
    folded = texts.str.normalize("NFKD").str.replace_all(r"[\u0300-\u036f]", "").str.to_lowercase()
    return folded.str.replace_many(list(_FOLDED), list(_FOLDED.values())).str.normalize("NFC")


def text_column(series: pl.Series, *, names: bool = False) -> Column:
    """Distinct normalised texts; what is empty once normalised is missing."""
    series = series if series.dtype == pl.String else series.cast(pl.String)
    of_record, distinct = _distinct(series)
    codes, ptr = _code_points((normalise_names if names else normalise)(distinct))
    place = np.append(np.where(np.diff(ptr) > 0, np.arange(len(distinct)), -1), -1)  # the last is that of nulls
    keys = hash_texts(codes, ptr[:-1], ptr[1:], SEED)
    return Column(place[of_record].astype(np.int32), keys, codes, ptr, np.zeros(0), _NO_VECTORS)


def category_column(series: pl.Series, values: tuple[str, ...]) -> Column:
    """Place among the given values, which are taken as they are; any other is missing."""
    of_record, distinct = _distinct(series.cast(pl.String))
    place_of = {value: place for place, value in enumerate(values)}
    place = np.array([*(place_of.get(value, -1) for value in distinct.to_list()), -1], np.int32)
    number = np.arange(len(values), dtype=np.float64)
    return _numbered(place[of_record], number.view(np.uint64), number)


def list_column(series: pl.Series, separator: str) -> tuple[Column, NDArray[np.int64]]:
    """Distinct normalised items, and which are whose: record r has ``value_of_record[ptr[r]:ptr[r + 1]]``."""
    if not isinstance(series.dtype, pl.List | pl.Array):
        series = series.cast(pl.String).str.split(separator)
    elif isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    length = series.list.len().fill_null(0).to_numpy()
    items = series.filter(pl.Series(length > 0)).explode()
    return text_column(items), _ptr(length)


def number_column(series: pl.Series) -> Column:
    """Distinct numbers; of a text the first number in it, of what is not finite none."""
    if series.dtype == pl.String:
        series = series.str.extract(r"((?:^\s*-)?\d+(?:\.\d+)?)").str.replace_all(r"\s", "")
    elif not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise TypeError(
            f"column {series.name!r} holds {series.dtype}; number() reads numbers and texts, compare dates with "
            f"dates({series.name!r}), other values with exact({series.name!r})"
        )
    number = series.cast(pl.Float64).fill_null(np.nan).to_numpy() + 0.0  # makes -0.0 plain 0.0
    return _distinct_numbers(number)


def date_column(series: pl.Series) -> Column:
    """Distinct days since 1970, from dates, times, or texts that begin yyyy-mm-dd, yyyy/mm/dd or yyyymmdd."""
    if series.dtype.is_integer():
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = series.str.strip_chars().str.replace_all(r"[-/.]", "").str.slice(0, 8)
        series = series.str.to_date("%Y%m%d", strict=False)
    elif not (series.dtype.is_temporal() or series.dtype == pl.Null):
        raise TypeError(
            f"column {series.name!r} holds {series.dtype}; dates() reads dates, or texts such as 1999-12-31"
        )
    days = series.cast(pl.Date).cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()
    return _distinct_numbers(days)


def vector_column(series: pl.Series, n_dimensions: int | None) -> tuple[Column, int]:
    """Vectors scaled to length one, each its own value, and how long they are; a vector of zeros is missing."""
    if not isinstance(series.dtype, pl.List | pl.Array):
        raise TypeError(f"column {series.name!r} holds {series.dtype}; vectors() reads lists or arrays of numbers")
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    length = series.list.len()
    n_dimensions = n_dimensions or int(length.max() or 0)  # pyright: ignore[reportArgumentType]
    odd = np.flatnonzero((length != n_dimensions).fill_null(False).to_numpy())
    if len(odd):
        raise ValueError(
            f"column {series.name!r}, row {odd[0]}: the vector has {length[int(odd[0])]} numbers, others have "
            f"{n_dimensions}; give vectors of one length, null where there is none"
        )
    present = series.is_not_null().to_numpy()
    flat = series.filter(series.is_not_null()).explode().cast(pl.Float32).fill_null(np.nan).to_numpy()
    rows = flat.reshape(int(present.sum()), n_dimensions) if n_dimensions else np.zeros((int(present.sum()), 0), "f4")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise ValueError(
            f"column {series.name!r}, row {np.flatnonzero(present)[bad[0]]}: the vector holds a number that is missing "
            "or not finite; replace the whole vector by null"
        )
    norm = np.linalg.norm(rows.astype(np.float64), axis=1)
    kept = norm > 0
    rows = (rows[kept] / norm[kept, None]).astype(np.float32)
    of_record = np.full(len(series), -1, np.int32)
    of_record[np.flatnonzero(present)[kept]] = np.arange(len(rows))
    column = _numbered(of_record, np.zeros(len(rows), np.uint64), np.arange(len(rows), dtype=np.float64) * n_dimensions)
    return column._replace(vectors=rows.reshape(-1)), n_dimensions


def _distinct(series: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """Each record's number among the distinct texts, -1 where null, and these texts."""
    present = series.is_not_null().to_numpy()
    values = series.drop_nulls()
    number, first = distinct_keys(values.hash().to_numpy())
    of_record = np.full(len(series), -1, np.int32)
    of_record[present] = number
    return of_record, values.gather(first)


def _distinct_numbers(number: NDArray[np.float64]) -> Column:
    present = np.isfinite(number)
    keys = np.ascontiguousarray(number[present]).view(np.uint64)
    number_of_present, first = distinct_keys(keys)
    of_record = np.full(len(number), -1, np.int32)
    of_record[present] = number_of_present
    return _numbered(of_record, keys[first], number[present][first])


def _numbered(of_record: NDArray[np.integer], keys: NDArray[np.uint64], number: NDArray[np.float64]) -> Column:
    """A column of numbers, which has no texts."""
    return Column(of_record.astype(np.int32), keys, _NO_CODES, np.zeros(len(keys) + 1, np.int64), number, _NO_VECTORS)


def _code_points(texts: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Texts laid end to end, and where each begins."""
    texts = texts.str.slice(0, MOST_LETTERS)
    joined = texts.str.join("").item() if len(texts) else ""
    codes = np.frombuffer(joined.encode("utf-32-le"), np.int32)
    return codes, _ptr(texts.str.len_chars().to_numpy())


def _ptr(length: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each of many begins, from their lengths."""
    return np.concatenate([[0], np.cumsum(length, dtype=np.int64)])


@compiled
def gather_rows(items, ptr, rows):
    """The rows asked for, one after the other."""
    length = 0
    for r in rows:
        length += ptr[r + 1] - ptr[r]
    gathered = np.empty(length, items.dtype)
    at = 0
    for r in rows:
        for k in range(ptr[r], ptr[r + 1]):
            gathered[at] = items[k]
            at += 1
    return gathered
