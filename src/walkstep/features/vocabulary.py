"""From 64-bit keys to feature numbers: a frozen vocabulary, or buckets without one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import build_table, distinct_keys, find_keys

_MOST = np.iinfo(np.int32).max


class Vocabulary:
    """A frozen numbering of 64-bit keys.

    Parameters
    ----------
    keys : uint64 array (n_features,)
        Distinct keys; a key's place here is its number.
    n_buckets : int, optional
        Keep no keys: every key has the number ``key % n_buckets``, and some keys share one.

    Examples
    --------
    >>> vocabulary = Vocabulary.fit(np.array([7, 9, 7], np.uint64))
    >>> vocabulary.find(np.array([9, 8, 7], np.uint64))
    array([ 1, -1,  0], dtype=int32)
    >>> Vocabulary(n_buckets=4).find(np.array([9, 8, 7], np.uint64))
    array([1, 0, 3], dtype=int32)
    """

    def __init__(self, keys: NDArray[np.uint64] | None = None, *, n_buckets: int | None = None) -> None:
        if (keys is None) == (n_buckets is None):
            raise ValueError("a vocabulary has either keys or n_buckets; give one of the two")
        if n_buckets is not None and not 1 <= n_buckets <= _MOST:
            raise ValueError(f"n_buckets is {n_buckets}; give a number from 1 to {_MOST}")
        self.n_buckets = n_buckets
        self.keys = np.array(() if keys is None else keys, np.uint64)
        if len(self.keys) > _MOST // 2:
            raise ValueError(f"there are {len(self.keys)} features; raise min_count, or set n_buckets")
        self._table = build_table(self.keys) if n_buckets is None else np.zeros(0, np.uint64)

    @classmethod
    def fit(cls, keys: NDArray[np.uint64], *, min_count: int = 1) -> "Vocabulary":
        """Number the keys that occur at least ``min_count`` times, in order of first sight."""
        keys = np.array(keys, np.uint64)
        number, first = distinct_keys(keys)
        return cls(keys[first[np.bincount(number, minlength=len(first)) >= min_count]])

    @property
    def n_features(self) -> int:
        """One more than the largest number."""
        return len(self.keys) if self.n_buckets is None else self.n_buckets

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each key, -1 for the unknown."""
        if self.n_buckets is None:
            return find_keys(self._table, keys)
        return (keys % np.uint64(self.n_buckets)).astype(np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """Plain arrays that :meth:`from_state` rebuilds the vocabulary from."""
        return {"keys": self.keys, "n_buckets": np.array(self.n_buckets or 0, np.int64)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> "Vocabulary":
        """The vocabulary that :meth:`state` described."""
        n_buckets = int(state["n_buckets"])
        if n_buckets:
            return cls(n_buckets=n_buckets)
        keys = np.array(state["keys"], np.uint64)
        return cls(keys)
