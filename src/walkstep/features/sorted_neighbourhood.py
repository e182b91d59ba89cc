"""Blocks of records that stand near each other in sorted order: windows that overlap."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import mix_all
from walkstep.features.block_values import Values
from walkstep.features.record_keys import Keys, mix_each, seed_of


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
    return Keys(record[place[order]], mix_each(group[place[order]], window[order].astype(np.uint64)))
