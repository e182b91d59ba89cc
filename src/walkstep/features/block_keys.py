"""Rules that give records the keys they are blocked by: equal values, rare tokens, neighbours in sorted order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, distinct_keys, finish, hash_texts, mix, mix_all, step

_ITEM_MARK = "\x1f"  # stands between the items of a list
_CHUNK = 1_000_000  # texts joined at a time: Polars holds no text over 4 GB
# Letters with a stroke or joined to another are not undone by Unicode's decomposition.
_FOLDED = {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
_TRANSFORMS = ("whole", "initial", "prefix", "soundex", "digits", "last_word", "first_initial", "year")
_SOUNDEX = ["aeiouyhw", "bfpv", "cgjkqsxz", "dt", "l", "mn", "r"]


class Keys(NamedTuple):
    """Pairs of a record and a key; records that have a key in common are in a block together.

    Those of one key stand in rising order of their records.
    """

    record: NDArray[np.int32]
    key: NDArray[np.uint64]

    @classmethod
    def together(cls, parts: Sequence["Keys"]) -> "Keys":
        """One part after another."""
        return cls(np.concatenate([part.record for part in parts]), np.concatenate([part.key for part in parts]))


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


class Ragged(NamedTuple):
    """Keys of tokens: owner ``o`` has ``key[ptr[o]:ptr[o + 1]]``, each once."""

    ptr: NDArray[np.int64]
    key: NDArray[np.uint64]


class TokenCounts(NamedTuple):
    """How many records have each token, and one that has it; rising by key."""

    key: NDArray[np.uint64]
    count: NDArray[np.int64]  # pyright: ignore[reportIncompatibleMethodOverride]
    holder: NDArray[np.int32]

    @classmethod
    def none(cls) -> "TokenCounts":
        """No tokens at all."""
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int32))

    def add(self, more: "TokenCounts") -> tuple["TokenCounts", Keys]:
        """The counts of old and new records, and keys for old records that were alone with a token until now."""
        at, known = find_sorted(self.key, more.key)
        count = self.count.copy()
        count[at[known]] += more.count[known]
        alone = at[known][self.count[at[known]] == 1]
        new = ~known
        together = TokenCounts(
            np.insert(self.key, at[new], more.key[new]),
            np.insert(count, at[new], more.count[new]),
            np.insert(self.holder, at[new], more.holder[new]),
        )
        return together, Keys(self.holder[alone], self.key[alone])


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
            return series.cast(pl.List(pl.String)).list.join(_ITEM_MARK, ignore_nulls=True)
        if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
            raise TypeError(
                f"column {name!r} holds {series.dtype}, which no blocking rule reads; name a column of texts, "
                "numbers, dates or lists"
            )
        texts = series.cast(pl.String)
        # Whole numbers come as floats where one of them is missing.
        return texts.str.replace(r"\.0$", "") if series.dtype.is_float() else texts


class Rule(Protocol):
    """Anything that gives records keys, and can go on giving them to further records."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def build(self, values: Values) -> tuple[Keys, Any]:
        """The records' keys, and what `extend` has to know about these records."""
        ...

    def extend(self, values: Values, known: Any, n_before: int) -> tuple[Keys, Any]:
        """The keys of records that follow the ``n_before`` ones known."""
        ...

    def examples(self, values: Values, keys: Keys) -> list[str]:
        """What stands behind each of some keys that records have, for people to read."""
        ...


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


@dataclass(frozen=True)
class RareTokens:
    """Records that share one of their rarest tokens.

    Each record has as keys the ``n`` rarest of its tokens, among those that at least two records have. Further
    records (`extend`) choose by the counts of all; old ones keep what they chose, and gain a token that they were
    alone with until now.

    Parameters
    ----------
    column : str
        Texts, or lists of texts.
    n : int
        How many tokens each record is blocked by.
    max_frequency : int, optional
        Tokens of more records than this are never chosen.
    tokens : {"words", "items"}
        The words of a text or of all items of a list; or whole items.

    Examples
    --------
    >>> frame = pl.DataFrame({"title": ["the walk", "the walk home", "the run"]})
    >>> keys, _ = RareTokens("title", n=1).build(Values(frame))
    >>> keys.record, bool(keys.key[0] == keys.key[1]), bool(keys.key[0] == keys.key[2])
    (array([0, 1, 2], dtype=int32), True, False)
    """

    column: str
    n: int = 3
    max_frequency: int | None = None
    tokens: Literal["words", "items"] = "words"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"RareTokens takes n={self.n} tokens a record; take at least 1")
        if self.tokens not in ("words", "items"):
            raise ValueError(f"RareTokens has tokens={self.tokens!r}; choose 'words' or 'items'")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column it reads."""
        return (self.column,)

    def build(self, values: Values) -> tuple[Keys, TokenCounts]:
        """Up to ``n`` keys a record, and how frequent every token is."""
        return self.extend(values, TokenCounts.none(), 0)

    def extend(self, values: Values, known: TokenCounts, n_before: int) -> tuple[Keys, TokenCounts]:
        """Up to ``n`` keys a record, and how frequent every token has become."""
        distinct = values.column(self.column)
        tokens = self._tokens(distinct)
        holder = (distinct.first + n_before).astype(np.int32)
        chosen, known, revived = rarest_tokens(tokens, distinct.n_records, holder, known, self.n, self.max_frequency)
        keys = expand(distinct.value_of_record, chosen.ptr, chosen.key, n_before)
        return Keys.together([revived, keys]), known

    def examples(self, values: Values, keys: Keys) -> list[str]:
        """The tokens."""
        few = Values(values.frame[keys.record]).column(self.column)
        found = []
        for value, key in zip(few.value_of_record.tolist(), keys.key, strict=True):
            text = few.text[value]
            words = text.split(_ITEM_MARK) if self.tokens == "items" else text.replace(_ITEM_MARK, " ").split(" ")
            codes, ptr = text_bytes(pl.Series(words))
            found.append(words[int(np.argmax(hash_texts(codes, ptr[:-1], ptr[1:], seed_of(self)) == key))])
        return found

    def _tokens(self, distinct: Distinct) -> Ragged:
        return tokens_of(distinct, seed_of(self), whole_items=self.tokens == "items")


@dataclass(frozen=True)
class SortedNeighbourhood:
    """Records that stand near each other when sorted by a column.

    Blocks are windows of ``window`` records that overlap by half, so any two records at most half a window
    apart share one. Numbers and dates are sorted as such, all else as text. Further records (`extend`) join the
    windows into which they fall, which grow.

    Examples
    --------
    >>> frame = pl.DataFrame({"year": [1990, 2020, 1991, 2021]})
    >>> keys, _ = SortedNeighbourhood("year", window=2).build(Values(frame))
    >>> sorted(keys.record[keys.key == key].tolist() for key in set(keys.key.tolist()))
    [[0, 2], [1, 2], [1, 3]]
    """

    column: str
    window: int = 10

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"SortedNeighbourhood({self.column!r}) has window={self.window}; it takes at least 2")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column it reads."""
        return (self.column,)

    def build(self, values: Values) -> tuple[Keys, pl.DataFrame]:
        """Up to two keys a record, and where windows begin."""
        record, text = self._sortable(values)
        group = np.zeros(len(record), np.uint64)
        keys, cells = cut_into_windows(group, record, text, self.window)
        return self._own(keys), cells

    def extend(self, values: Values, known: pl.DataFrame, n_before: int) -> tuple[Keys, pl.DataFrame]:
        """Up to two keys a record."""
        if known.is_empty():  # no record before had a value: there are no windows yet
            keys, known = self.build(values)
            return Keys(keys.record + np.int32(n_before), keys.key), known
        record, text = self._sortable(values)
        group = np.zeros(len(record), np.uint64)
        return self._own(place_in_windows(group, record + np.int32(n_before), text, known)), known

    def examples(self, values: Values, keys: Keys) -> list[str]:
        """A value of each window."""
        return list(map(str, values.frame[self.column].gather(keys.record)))

    def _own(self, keys: Keys) -> Keys:
        return Keys(keys.record, mix_all(seed_of(self), keys.key))

    def _sortable(self, values: Values) -> tuple[NDArray[np.int32], pl.Series]:
        column = values.numbers(self.column)
        if column is None:
            distinct = values.column(self.column)
            record = np.flatnonzero(distinct.value_of_record >= 0).astype(np.int32)
            return record, distinct.text.gather(distinct.value_of_record[record])
        record = np.flatnonzero((column.is_finite() & column.is_not_null()).fill_null(False)).astype(np.int32)
        return record, column.gather(record)


def seed_of(rule: object) -> np.uint64:
    """A number that keeps the keys of one rule, or of one column, apart from another's."""
    return text_keys(pl.Series([repr(rule)]))[0]


def find_sorted(keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each wanted key stands among rising ones or would have to be put in, and whether it is there."""
    at = np.searchsorted(keys, wanted)
    is_there = np.zeros(len(wanted), np.bool_)
    inside = at < len(keys)
    is_there[inside] = keys[at[inside]] == wanted[inside]
    return at, is_there


def normalised(texts: pl.Series) -> pl.Series:
    """Lower case, without accents; words of letters and digits with one space between.

    Examples
    --------
    >>> normalised(pl.Series(["Erdős, P.", "O'Brien–Łoś"])).to_list()
    ['erdos p', 'o brien los']
    """
    lower = texts.str.to_lowercase()
    lower = _where(lower.str.len_bytes() != lower.str.len_chars(), lower, _unaccented)
    return _where(lower.str.contains(r"[^a-z0-9\x1f ]|  |^ | $"), lower, _spaced)


def _unaccented(texts: pl.Series) -> pl.Series:
    """Letters without their accents."""
    plain = texts.str.normalize("NFKD").str.replace_all(r"\p{M}+", "")
    return plain.str.replace_many(_FOLDED).str.to_lowercase()


def _spaced(texts: pl.Series) -> pl.Series:
    """One space for everything between words."""
    return texts.str.replace_all(r"[^\p{L}\p{N}\x1f]+", " ").str.strip_chars(" ")


def _where(chosen: pl.Series, texts: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The texts with the chosen ones changed; most need none of the costlier changes."""
    at = np.flatnonzero(chosen.to_numpy())
    return _replaced(texts, at, change(texts.gather(at))) if len(at) else texts


def _replaced(texts: pl.Series, at: NDArray[np.int64], new: pl.Series) -> pl.Series:
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


def tokens_of(distinct: Distinct, seed: np.uint64, *, whole_items: bool = False) -> Ragged:
    """The distinct tokens of each value."""
    codes, ptr = text_bytes(distinct.text)
    return Ragged(*_token_keys(codes, ptr, seed, whole_items))


def rarest_tokens(
    tokens: Ragged,
    n_records: NDArray[np.int64],
    holder: NDArray[np.int32],
    known: TokenCounts,
    n: int,
    max_frequency: int | None,
) -> tuple[Ragged, TokenCounts, Keys]:
    """The rarest tokens of each owner; the counts with these owners; and keys for old records (`TokenCounts.add`).

    Parameters
    ----------
    tokens : Ragged
        What to choose from.
    n_records, holder : arrays (n_owners,)
        How many records each owner stands for, and one of them.
    known : TokenCounts
        Of records seen before.
    n, max_frequency : int
        As in `RareTokens`.
    """
    number, first = distinct_keys(tokens.key)
    distinct = tokens.key[first]
    owner = np.repeat(np.arange(len(tokens.ptr) - 1), np.diff(tokens.ptr))
    count = np.bincount(number, weights=n_records[owner], minlength=len(distinct)).astype(np.int64)
    order = np.argsort(distinct)
    counts, revived = known.add(TokenCounts(distinct[order], count[order], holder[owner[first[order]]]))
    count = counts.count[np.searchsorted(counts.key, distinct)]
    most = np.iinfo(np.int64).max if max_frequency is None else max_frequency
    return Ragged(*_pick_rarest(tokens.ptr, tokens.key, count[number], n, most)), counts, revived


def cut_into_windows(
    group: NDArray[np.uint64], record: NDArray[np.int32], value: pl.Series, window: int
) -> tuple[Keys, pl.DataFrame]:
    """Sort each group by value and cut it into windows that overlap by half.

    Returns
    -------
    keys : Keys
        A key for every window a record is in.
    cells : DataFrame
        Group, value and number of the first record of each half window, for `place_in_windows`.
    """
    half = window // 2
    rows = pl.DataFrame({"group": group, "value": value, "record": record}).sort("group", "value", "record")
    rows = rows.with_columns(place=pl.int_range(pl.len()).over("group"), n=pl.len().over("group"))
    rows = rows.with_columns(cell=pl.col("place") // half, n_cells=(pl.col("n") + half - 1) // half)
    cells = rows.filter(pl.col("place") % half == 0).select("group", "value", "cell", "n_cells")
    return _window_keys(rows), cells


def place_in_windows(
    group: NDArray[np.uint64], record: NDArray[np.int32], value: pl.Series, cells: pl.DataFrame
) -> Keys:
    """The windows, cut before, into which further records fall."""
    rows = pl.DataFrame({"group": group, "value": value.cast(cells["value"].dtype), "record": record})
    rows = pl.concat([cells, rows], how="diagonal").sort("group", "value", "record", nulls_last=False)
    # What comes before the first cell of its group takes that one: forward, then backward.
    filled = [pl.col(name).forward_fill().backward_fill().over("group") for name in ("cell", "n_cells")]
    return _window_keys(rows.with_columns(filled).filter(pl.col("record").is_not_null(), pl.col("cell").is_not_null()))


def _window_keys(rows: pl.DataFrame) -> Keys:
    """Window ``w`` is made of the half windows ``w`` and ``w + 1``."""
    group, record = rows["group"].to_numpy(), rows["record"].cast(pl.Int32).to_numpy()
    cell, n_cells = rows["cell"].to_numpy().astype(np.int64), rows["n_cells"].to_numpy().astype(np.int64)
    starts, ends = (cell < n_cells - 1) | (n_cells == 1), cell > 0
    place = np.concatenate([np.flatnonzero(starts), np.flatnonzero(ends)])
    window = np.concatenate([cell[starts], cell[ends] - 1])
    order = np.argsort(record[place], kind="stable")  # records rise, as those of every rule
    return Keys(record[place[order]], _mix_each(group[place[order]], window[order].astype(np.uint64)))


def _distinct(texts: pl.Series) -> Distinct:
    """Number the distinct texts in order of first sight; empty ones are missing."""
    filled = texts.fill_null("")
    number, first = distinct_keys(text_keys(filled))
    raw = filled.gather(first)
    text = normalised(raw)
    empty = (text == "").to_numpy()
    number[empty[number]] = -1
    return Distinct(number, first, raw, text)


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
    text = _replaced(distinct.text, with_comma, normalised(turned))
    suffix = r" (jr|sr|ii|iii|iv)$"
    return _where(text.str.contains(suffix), text, lambda names: names.str.replace(suffix, ""))


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


@compiled
def _mix_each(keys, others):
    """``mix`` of each key and its other."""
    mixed = np.empty(keys.size, np.uint64)
    for k in range(keys.size):
        mixed[k] = mix(keys[k], others[k])
    return mixed


@compiled
def _token_keys(codes, ptr, seed, whole_items):
    """The sorted distinct tokens of each text, a space or the mark between items ending one."""
    token_ptr = np.zeros(ptr.size, np.int64)
    n_most = ptr.size - 1
    for code in codes:
        n_most += (code == 32 and not whole_items) or code == 31
    keys = np.empty(n_most, np.uint64)
    n = 0
    for t in range(ptr.size - 1):
        start, state, length = n, seed, 0
        for k in range(ptr[t], ptr[t + 1] + 1):
            code = codes[k] if k < ptr[t + 1] else np.uint8(31)
            if (code == 32 and not whole_items) or code == 31:
                if length > 0:
                    keys[n] = finish(state)
                    n += 1
                state, length = seed, 0
            else:
                state = step(state, code)
                length += 1
        if n - start > 1:
            ordered = keys[start:n]
            if ordered.size > 32:
                ordered.sort()
            else:  # a call to sort costs more than so few words do
                for k in range(1, ordered.size):
                    key, at = ordered[k], k
                    while at > 0 and ordered[at - 1] > key:
                        ordered[at] = ordered[at - 1]
                        at -= 1
                    ordered[at] = key
            n = start + 1
            for k in range(1, ordered.size):
                if ordered[k] != keys[n - 1]:
                    keys[n] = ordered[k]
                    n += 1
        token_ptr[t + 1] = n
    return token_ptr, keys[:n].copy()


@compiled
def _pick_rarest(ptr, key, count, n, most):
    """The ``n`` tokens of each owner with the lowest counts from 2 to ``most``; of equal ones, the lower keys."""
    picked_ptr = np.zeros(ptr.size, np.int64)
    picked = np.empty(key.size, np.uint64)
    p = 0
    for o in range(ptr.size - 1):
        last_count, last_key = np.int64(0), np.uint64(0)
        for _ in range(n):
            best = -1
            for k in range(ptr[o], ptr[o + 1]):
                c = count[k]
                if c < 2 or c > most or c < last_count or (c == last_count and key[k] <= last_key):
                    continue
                if best < 0 or c < count[best] or (c == count[best] and key[k] < key[best]):
                    best = k
            if best < 0:
                break
            last_count, last_key = count[best], key[best]
            picked[p] = key[best]
            p += 1
        picked_ptr[o + 1] = p
    return picked_ptr, picked[:p].copy()


@compiled
def _expand(value_of_record, ptr, key, n_before):
    """Each record with each key of its value."""
    n = 0
    for v in value_of_record:
        if v >= 0:
            n += ptr[v + 1] - ptr[v]
    record, keys = np.empty(n, np.int32), np.empty(n, np.uint64)
    n = 0
    for r in range(value_of_record.size):
        v = value_of_record[r]
        if v >= 0:
            for k in range(ptr[v], ptr[v + 1]):
                record[n], keys[n] = r + n_before, key[k]
                n += 1
    return record, keys


def expand(value_of_record: NDArray[np.int32], ptr: NDArray[np.int64], key: NDArray[np.uint64], n_before: int) -> Keys:
    """Give each record the keys of its value."""
    return Keys(*_expand(value_of_record, ptr, key, n_before))


def tokens_of_records(
    values: Values, columns: Sequence[str], group: NDArray[np.uint64], record: NDArray[np.int32]
) -> Ragged:
    """The words in all columns of each record, mixed with the group for which the record is asked about."""
    ptr, keys = np.zeros(len(record) + 1, np.int64), []
    for name in columns:
        distinct = values.column(name)
        used, number = np.unique(np.append(-1, distinct.value_of_record[record]), return_inverse=True)
        tokens = tokens_of(distinct._replace(text=distinct.text.gather(used[1:])), seed_of(name))
        place, key = expand(number[1:].astype(np.int32) - np.int32(1), tokens.ptr, tokens.key, 0)
        ptr[1:] += np.bincount(place, minlength=len(record))
        keys.append((place, _mix_each(group[place], key)))
    np.cumsum(ptr, out=ptr)
    place = np.concatenate([place for place, _ in keys])
    return Ragged(ptr, np.concatenate([key for _, key in keys])[np.argsort(place, kind="stable")])
