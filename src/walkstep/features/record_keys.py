"""Keys of records, by which they are blocked, and what a rule that gives them has to answer."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import mix
from walkstep.features.block_values import Values, text_keys


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


def expand(value_of_record: NDArray[np.int32], ptr: NDArray[np.int64], key: NDArray[np.uint64], n_before: int) -> Keys:
    """Give each record the keys of its value."""
    return Keys(*_expand(value_of_record, ptr, key, n_before))


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


@compiled
def mix_each(keys, others):
    """``mix`` of each key and its other."""
    mixed = np.empty(keys.size, np.uint64)
    for k in range(keys.size):
        mixed[k] = mix(keys[k], others[k])
    return mixed
