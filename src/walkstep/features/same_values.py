"""Blocks of records that agree: in columns, or in what a transform makes of them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import mix
from walkstep.features.block_values import Distinct, Values, changed_where, normalised, replaced, text_keys
from walkstep.features.record_keys import Keys, seed_of

_TRANSFORMS = ("whole", "initial", "prefix", "soundex", "digits", "last_word", "first_initial", "year")
_SOUNDEX = ["aeiouyhw", "bfpv", "cgjkqsxz", "dt", "l", "mn", "r"]


@dataclass(frozen=True, init=False)
class Same:
    """Records that agree in one or several columns, or in what a transform makes of them.

    Parameters
    ----------
    *parts : str
        A column, or a transform and a column: ``"initial:given"``, ``"prefix:3:surname"``, ``"soundex:surname"``,
        ``"digits:phone"``, ``"last_word:name"`` and ``"first_initial:name"`` (which read "Lovelace, Ada" as
        "Ada Lovelace"), ``"year:published"``. Letter case, accents and punctuation never count. A record in
        which any part is missing has no key.

    Examples
    --------
    >>> frame = pl.DataFrame({"name": ["Ada Lovelace", "Lovelace, A.", "Ada Byron"]})
    >>> keys, _ = Same("last_word:name", "first_initial:name").build(Values(frame))
    >>> bool(keys.key[0] == keys.key[1]), bool(keys.key[0] == keys.key[2])
    (True, False)
    """

    parts: tuple[str, ...]

    def __init__(self, *parts: str) -> None:
        if not parts:
            raise ValueError("Same() names no column; name at least one")
        object.__setattr__(self, "parts", parts)
        for part in parts:
            _parse(part)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return tuple(dict.fromkeys(_parse(part)[2] for part in self.parts))

    def build(self, values: Values) -> tuple[Keys, None]:
        """One key a record."""
        return self.extend(values, None, 0)

    def extend(self, values: Values, known: None, n_before: int) -> tuple[Keys, None]:
        """One key a record."""
        key = np.full(values.frame.height, seed_of(self), np.uint64)
        has = np.ones(len(key), np.bool_)
        for part in self.parts:
            distinct, texts = _transformed(values, part)
            _mix_parts(key, has, distinct.value_of_record, text_keys(texts), (texts != "").to_numpy())
        record = np.flatnonzero(has)
        return Keys((record + n_before).astype(np.int32), key[record]), None

    def examples(self, values: Values, keys: Keys) -> list[str]:
        """The values that agree."""
        few = Values(values.frame[keys.record])
        columns = []
        for part in self.parts:
            distinct, texts = _transformed(few, part)
            columns.append(texts.gather(distinct.value_of_record).to_list())
        return [", ".join(row) for row in zip(*columns, strict=True)]

    def __repr__(self) -> str:
        return f"Same({', '.join(map(repr, self.parts))})"


def _parse(part: str) -> tuple[str, int, str]:
    """The transform, its length and the column of a part of a key."""
    name, colon, rest = part.partition(":")
    if not colon or name not in _TRANSFORMS:
        return "whole", 0, part
    if name != "prefix":
        return name, 0, rest
    length, _, column = rest.partition(":")
    if not length.isdigit() or int(length) < 1 or not column:
        raise ValueError(f"key part {part!r} has no length; write 'prefix:3:{column or rest}'")
    return name, int(length), column


def _transformed(values: Values, part: str) -> tuple[Distinct, pl.Series]:
    """A column, and what the part's transform makes of its distinct values; empty where it makes nothing."""
    transform, length, column = _parse(part)
    distinct = values.column(column)
    text = distinct.text
    if transform in ("last_word", "first_initial"):
        text = _given_name_first(distinct)
    match transform:
        case "initial" | "first_initial":
            text = text.str.slice(0, 1)
        case "prefix":
            text = text.str.replace_all(" ", "", literal=True).str.slice(0, length)
        case "last_word":
            text = text.str.split(" ").list.last()
        case "digits":
            text = text.str.replace_all(r"[^0-9]+", "")
        case "year":
            text = distinct.raw.str.extract(r"\b((?:1[5-9]|20)[0-9]{2})(?:[^0-9]|$)")
        case "soundex":
            text = _soundex(text)
    return distinct, text.fill_null("")


def _given_name_first(distinct: Distinct) -> pl.Series:
    """Names as they are spoken, "Lovelace, Ada" turned round, without a "Jr" at the end."""
    with_comma = np.flatnonzero(distinct.raw.str.contains(",", literal=True).to_numpy())
    turned = distinct.raw.gather(with_comma).str.replace(r"^\s*([^,]+),\s*(.+)$", "$2 $1")
    text = replaced(distinct.text, with_comma, normalised(turned))
    suffix = r" (jr|sr|ii|iii|iv)$"
    return changed_where(text.str.contains(suffix), text, lambda names: names.str.replace(suffix, ""))


def _soundex(text: pl.Series) -> pl.Series:
    """First letter and up to three digits for the consonants that follow."""
    letters = text.str.replace_all(r"[^a-z]+", "")
    digits = letters.str.replace_many({letter: str(d) for d, group in enumerate(_SOUNDEX) for letter in group})
    for d in range(1, len(_SOUNDEX)):
        digits = digits.str.replace_all(f"{d}+", str(d))
    return letters.str.slice(0, 1) + digits.str.slice(1).str.replace_all("0", "", literal=True).str.slice(0, 3)


@compiled
def _mix_parts(key, has, value_of_record, key_of_value, is_there):
    """Mix one more part into each record's key, in place; a record without it loses its key."""
    for r in range(key.size):
        v = value_of_record[r]
        if v < 0 or not is_there[v]:
            has[r] = False
        else:
            key[r] = mix(key[r], key_of_value[v])
