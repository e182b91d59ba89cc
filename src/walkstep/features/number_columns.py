"""Columns of numbers, brought to one scale."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class NumberColumns:
    """The columns of a table that hold numbers, with the mean and spread of each.

    Parameters
    ----------
    names : tuple of str
    mean, spread : float64 arrays (n_columns,)
        As they were where the columns were chosen.

    Examples
    --------
    >>> seen = pl.DataFrame({"age": ["30", "50", None], "town": ["Rome", "Bonn", "Rome"]})
    >>> columns = NumberColumns.fit(seen)
    >>> columns.names, columns.transform(seen).tolist()
    (('age',), [[-1.0], [1.0], [0.0]])
    """

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def fit(cls, frame: pl.DataFrame, *, ignore: Collection[str] = ()) -> "NumberColumns":
        """Choose the columns whose cells are all numbers, truth values, or strings that read as numbers."""
        found = {name: _numbers(frame[name]) for name in frame.columns if name not in ignore}
        chosen = {name: values for name, values in found.items() if values is not None}
        for name, values in chosen.items():
            _check_finite(name, values)
        mean = [float(np.nanmean(values)) for values in chosen.values()]
        spread = [float(np.nanstd(values)) or 1.0 for values in chosen.values()]
        return cls(tuple(chosen), np.array(mean), np.array(spread))

    def transform(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """(rows, columns), by mean and spread; 0, which is the mean, where a number is missing."""
        out = np.zeros((frame.height, len(self.names)))
        for c, name in enumerate(self.names):
            if name not in frame.columns:
                raise ValueError(
                    f"there is no column {name!r}, which the model was trained with; the table has "
                    f"{', '.join(map(repr, frame.columns)) or 'no further ones'}"
                )
            values = _numbers(frame[name], strict=True)
            assert values is not None
            _check_finite(name, values)
            out[:, c] = np.nan_to_num((values - self.mean[c]) / self.spread[c])
        return out


def _numbers(column: pl.Series, *, strict: bool = False) -> NDArray[np.float64] | None:
    """The numbers of a column, NaN where one is missing; None, or an error, where it holds something else."""
    dtype = column.dtype
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        read = column.cast(pl.Float64)
    elif dtype == pl.String:
        read = column.cast(pl.Float64, strict=False)
    else:
        read = pl.Series([None] * len(column), dtype=pl.Float64)
    broken = (read.is_null() & column.is_not_null()).arg_true()
    if strict and len(broken):
        raise ValueError(
            f"column {column.name!r} holds {column[broken[0]]!r} in row {broken[0]}, which is no number; the model was "
            "trained with numbers there"
        )
    is_told = len(broken) == 0 and (strict or read.null_count() < len(read))
    return read.fill_null(np.nan).to_numpy() if is_told else None


def _check_finite(name: str, values: NDArray[np.float64]) -> None:
    endless = np.flatnonzero(np.isinf(values))
    if len(endless):
        raise ValueError(
            f"column {name!r} holds {values[endless[0]]} in row {endless[0]}; leave it empty, or ignore the column"
        )
