"""Labelled pairs of records, by their ids."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.data.records import as_frame


class PairLabels(NamedTuple):
    """Pairs of records by their places, and whether they are the same."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    same: NDArray[np.bool_]


def read_pairs(pairs: Any, ids: Sequence[Any]) -> PairLabels:
    """Look labelled pairs up among the ids of records.

    Parameters
    ----------
    pairs : dataframe, path or iterable of (id, id, bool)
        Of a table the first three columns count: two ids, and whether they are the same (1, true, yes).
    ids : sequence
        The ids of all records.

    Examples
    --------
    >>> read_pairs([("a", "c", True)], ["a", "b", "c"]).right.tolist()
    [2]
    """
    if not _is_table(pairs):
        rows = [tuple(row) for row in pairs]
        short = next((row for row in rows if len(row) != 3), None)
        if short is not None:
            raise ValueError(f"a labelled pair is {short!r}; give two ids and whether they are the same")
    else:
        frame = as_frame(pairs)
        if frame.width < 3:
            raise ValueError(
                f"the labelled pairs have columns {frame.columns}; give two ids and whether they are the same"
            )
        rows = frame.select(frame.columns[:3]).rows()
    if not rows:
        raise ValueError("there are no labelled pairs; give at least one")
    places = {str(name): place for place, name in enumerate(ids)}
    ends = []
    for a, b, _ in rows:
        for name in (a, b):
            if str(name) not in places:
                raise ValueError(
                    f"a labelled pair names record {name!r}, which is not there; ids are such as {ids[0]!r}"
                )
        if str(a) == str(b):
            raise ValueError(f"a labelled pair joins record {a!r} with itself; give two different ones")
        ends.append((places[str(a)], places[str(b)]))
    both = np.array(ends, np.int64)
    return PairLabels(both[:, 0], both[:, 1], np.array([_truth_of(row[2], row) for row in rows], bool))


def _is_table(pairs: Any) -> bool:
    return hasattr(pairs, "__arrow_c_stream__") or isinstance(pairs, str | PathLike | dict)


def _truth_of(value: Any, row: Any) -> bool:
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "same", "match", "1.0"):
        return True
    if text in ("0", "false", "no", "different", "distinct", "0.0"):
        return False
    raise ValueError(f"the labelled pair {row!r} is neither the same nor different; write 1 or 0")
