"""Blocks of records that share one of their rarest tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import distinct_keys, finish, hash_texts, step
from walkstep.features._kernels.sorting import sort_stretch
from walkstep.features.block_values import ITEM_MARK, Distinct, Values, text_bytes
from walkstep.features.record_keys import Keys, expand, find_sorted, mix_each, seed_of


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
            words = text.split(ITEM_MARK) if self.tokens == "items" else text.replace(ITEM_MARK, " ").split(" ")
            codes, ptr = text_bytes(pl.Series(words))
            found.append(words[int(np.argmax(hash_texts(codes, ptr[:-1], ptr[1:], seed_of(self)) == key))])
        return found

    def _tokens(self, distinct: Distinct) -> Ragged:
        return tokens_of(distinct, seed_of(self), whole_items=self.tokens == "items")


def tokens_of(distinct: Distinct, seed: np.uint64, *, whole_items: bool = False) -> Ragged:
    """The distinct tokens of each value."""
    codes, ptr = text_bytes(distinct.text)
    return Ragged(*_token_keys(codes, ptr, seed, whole_items))


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
        keys.append((place, mix_each(group[place], key)))
    np.cumsum(ptr, out=ptr)
    place = np.concatenate([place for place, _ in keys])
    return Ragged(ptr, np.concatenate([key for _, key in keys])[np.argsort(place, kind="stable")])


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
            sort_stretch(keys, start, n)
            end, n = n, start + 1
            for k in range(start + 1, end):
                if keys[k] != keys[n - 1]:
                    keys[n] = keys[k]
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
