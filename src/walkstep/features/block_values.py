"""The columns of records as blocking rules read them: distinct texts, in lower case and without accents."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import SEED, distinct_keys, hash_texts

ITEM_MARK = "\x1f"
"""Stands between the items of a list."""
_CHUNK = 1_000_000  # texts joined at a time: Polars holds no text over 4 GB
# Letters with a stroke or joined to another are not undone by Unicode's decomposition.
_FOLDED = {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}


class Distinct(NamedTuple):
    """The distinct texts of a column, V of them, and which of them each of N records has."""

    value_of_record: NDArray[np.int32]  # (N,), -1 where missing
    first: NDArray[np.int64]  # (V,) the first record that has it
    raw: pl.Series  # (V,) as written
    text: pl.Series  # (V,) lower case, without accents, words with a space between

    @property
    def n_records(self) -> NDArray[np.int64]:
        """How many records have each value."""
        return np.bincount(self.value_of_record[self.value_of_record >= 0], minlength=len(self.raw))


class Values:
    """The columns of a frame as distinct texts, each made when first asked for."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._distinct: dict[str, Distinct] = {}

    def column(self, name: str) -> Distinct:
        """The distinct values of a column."""
        if name not in self._distinct:
            self._distinct[name] = _distinct(self._texts(name))
        return self._distinct[name]

    def numbers(self, name: str) -> pl.Series | None:
        """The column as it is if it holds numbers, dates or times, otherwise None."""
        self._check(name)
        series = self.frame[name]
        return (
            series.to_physical().cast(pl.Float64) if series.dtype.is_numeric() or series.dtype.is_temporal() else None
        )

    def _check(self, name: str) -> None:
        if name not in self.frame.columns:
            raise ValueError(f"a blocking rule names column {name!r}; the records have {self.frame.columns}")

    def _texts(self, name: str) -> pl.Series:
        self._check(name)
        series = self.frame[name]
        if isinstance(series.dtype, pl.List):
            return series.cast(pl.List(pl.String)).list.join(ITEM_MARK, ignore_nulls=True)
        if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
            raise TypeError(
                f"column {name!r} holds {series.dtype}, which no blocking rule reads; name a column of texts, "
                "numbers, dates or lists"
            )
        texts = series.cast(pl.String)
        # Whole numbers come as floats where one of them is missing.
        return texts.str.replace(r"\.0$", "") if series.dtype.is_float() else texts


def normalised(texts: pl.Series) -> pl.Series:
    """Lower case, without accents; words of letters and digits with one space between.

    Examples
    --------
    >>> normalised(pl.Series(["Erdős, P.", "O'Brien–Łoś"])).to_list()
    ['erdos p', 'o brien los']
    """
    lower = texts.str.to_lowercase()
    lower = changed_where(lower.str.len_bytes() != lower.str.len_chars(), lower, _unaccented)
    return changed_where(lower.str.contains(r"[^a-z0-9\x1f ]|  |^ | $"), lower, _spaced)


def _unaccented(texts: pl.Series) -> pl.Series:
    """Letters without their accents."""
    plain = texts.str.normalize("NFKD").str.replace_all(r"\p{M}+", "")
    return plain.str.replace_many(_FOLDED).str.to_lowercase()


def _spaced(texts: pl.Series) -> pl.Series:
    """One space for everything between words."""
    return texts.str.replace_all(r"[^\p{L}\p{N}\x1f]+", " ").str.strip_chars(" ")


def changed_where(chosen: pl.Series, texts: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The texts with the chosen ones changed; most need none of the costlier changes."""
    at = np.flatnonzero(chosen.to_numpy())
    return replaced(texts, at, change(texts.gather(at))) if len(at) else texts


def replaced(texts: pl.Series, at: NDArray[np.int64], new: pl.Series) -> pl.Series:
    """The texts with new ones at some places."""
    place = np.arange(len(texts))
    place[at] = len(texts) + np.arange(len(at))
    return pl.concat([texts, new]).gather(place)


def text_bytes(texts: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts laid end to end: text ``t`` is ``codes[ptr[t]:ptr[t + 1]]``, in UTF-8."""
    ptr = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy(), out=ptr[1:])
    parts = [texts.slice(start, _CHUNK).str.join("").item().encode() for start in range(0, len(texts), _CHUNK)]
    return np.frombuffer(b"".join(parts), np.uint8), ptr


def text_keys(texts: pl.Series) -> NDArray[np.uint64]:
    """The 64-bit key of each text."""
    codes, ptr = text_bytes(texts)
    return hash_texts(codes, ptr[:-1], ptr[1:], SEED)


def _distinct(texts: pl.Series) -> Distinct:
    """Number the distinct texts in order of first sight; empty ones are missing."""
    filled = texts.fill_null("")
    number, first = distinct_keys(text_keys(filled))
    raw = filled.gather(first)
    text = normalised(raw)
    empty = (text == "").to_numpy()
    number[empty[number]] = -1
    return Distinct(number, first, raw, text)
