"""MinHash: records whose texts have many shingles in common get a key in common."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import finish, mix, mix_all, step
from walkstep.features.block_values import Values, text_bytes
from walkstep.features.record_keys import Keys, expand, seed_of

_HIGH = np.uint64(32)
_SHIFT = np.uint32(15)


@dataclass(frozen=True)
class MinHash:
    """Records whose texts are alike as sets of words or of trigrams of letters.

    Two texts of Jaccard similarity :math:`s` share a key with probability :math:`1 - (1 - s^r)^b`, for ``b`` bands
    of ``r`` rows (Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4).

    Parameters
    ----------
    column : str
        Texts.
    bands : int
        Keys of each record.
    rows : int
        Smallest hashes that must agree for a key to agree.
    tokens : {"trigrams", "words"}
        Three bytes in a row of the normalised text, which forgive misspellings; or whole words.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"title": ["learning to walk in graphs", "Learning to walk in graph", "a new kitchen"]})
    >>> keys, _ = MinHash("title", bands=8, rows=2).build(Values(frame))
    >>> ada, ida, eva = (set(keys.key[keys.record == r].tolist()) for r in range(3))
    >>> len(ada & ida) > 0, len(ada & eva)
    (True, 0)
    """

    column: str
    bands: int = 16
    rows: int = 3
    tokens: Literal["trigrams", "words"] = "trigrams"

    def __post_init__(self) -> None:
        if self.bands < 1 or self.rows < 1:
            raise ValueError(
                f"MinHash({self.column!r}) has bands={self.bands}, rows={self.rows}; take at least 1 of each"
            )
        if self.tokens not in ("words", "trigrams"):
            raise ValueError(f"MinHash({self.column!r}) has tokens={self.tokens!r}; choose 'words' or 'trigrams'")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column it reads."""
        return (self.column,)

    def build(self, values: Values) -> tuple[Keys, None]:
        """As many keys a record as there are bands."""
        return self.extend(values, None, 0)

    def extend(self, values: Values, known: None, n_before: int) -> tuple[Keys, None]:
        """As many keys a record as there are bands."""
        distinct = values.column(self.column)
        codes, ptr = text_bytes(distinct.text)
        n_hashes = self.bands * self.rows
        stirred = mix_all(seed_of(self), np.arange(2 * n_hashes, dtype=np.uint64))
        factor = (stirred[:n_hashes] >> _HIGH).astype(np.uint32) | np.uint32(1)
        offset = (stirred[n_hashes:] >> _HIGH).astype(np.uint32)
        keys = _band_keys(codes, ptr, factor, offset, self.rows, seed_of(self), self.tokens == "words")
        key_ptr = np.arange(len(ptr), dtype=np.int64) * self.bands
        return expand(distinct.value_of_record, key_ptr, keys, n_before), None

    def examples(self, values: Values, keys: Keys) -> list[str]:
        """A text that has each key."""
        return list(map(str, values.frame[self.column].gather(keys.record)))


@compiled(inline=True)
def _lower(signature, key, factor, offset):
    """Take one more shingle into the smallest hashes; 32 bits, so that the loop works on several at once."""
    low = np.uint32(key >> _HIGH)
    for k in range(signature.size):
        value = np.uint32((low ^ offset[k]) * factor[k])
        value = np.uint32(value ^ (value >> _SHIFT))
        signature[k] = min(signature[k], value)


@compiled
def _band_keys(codes, ptr, factor, offset, rows, seed, by_words):
    """The keys of each text, one a band; a text shorter than a trigram is one shingle."""
    n_bands = factor.size // rows
    keys = np.empty((ptr.size - 1) * n_bands, np.uint64)
    signature = np.empty(factor.size, np.uint32)
    for t in range(ptr.size - 1):
        signature[:] = np.uint32(0xFFFFFFFF)
        start, end = ptr[t], ptr[t + 1]
        if by_words:
            state = seed
            for k in range(start, end + 1):
                if k == end or codes[k] == 32 or codes[k] == 31:
                    _lower(signature, finish(state), factor, offset)
                    state = seed
                else:
                    state = step(state, codes[k])
        else:
            for k in range(start, max(start + 1, end - 2)):
                state = seed
                for c in range(k, min(k + 3, end)):
                    state = step(state, codes[c])
                _lower(signature, finish(state), factor, offset)
        for b in range(n_bands):
            key = mix(seed, np.uint64(b))
            for r in range(b * rows, (b + 1) * rows):
                key = mix(key, np.uint64(signature[r]))
            keys[t * n_bands + b] = key
    return keys
