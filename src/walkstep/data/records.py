"""Tables of records as users have them, checked once and made into Polars frames."""

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.readers.tables import column, frame_from_dicts, read_table, stripped


class ArrowTable(Protocol):
    """Any dataframe that hands itself over through Arrow: of pandas, PyArrow, DuckDB, ..."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...


Records: TypeAlias = (
    pl.DataFrame | pl.LazyFrame | ArrowTable | Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | os.PathLike
)


def as_frame(records: Records, *, encoding: str = "utf-8") -> pl.DataFrame:
    """A table of records as a Polars frame, with missing values as nulls.

    Strings lose the space around them; empty strings, empty lists and NaN become null. The caller's table
    stays as it is.

    Parameters
    ----------
    records : DataFrame, LazyFrame, Arrow table, list of dicts, dict of columns, or path
        One row a record. Dataframes of pandas, PyArrow and DuckDB are Arrow tables. A path is read by `read_table`.
    encoding : str
        How the text of a file is encoded, where ``records`` is its path.

    Examples
    --------
    >>> as_frame([{"name": " Ada ", "born": 1815}, {"name": "", "town": "Rome"}]).rows()
    [('Ada', 1815, None), (None, None, 'Rome')]
    >>> as_frame({"name": []})
    Traceback (most recent call last):
    ...
    ValueError: the table has no rows; give at least one record
    """
    frame = (
        read_table(records, encoding=encoding) if isinstance(records, str | os.PathLike) else stripped(_frame(records))
    )
    if frame.width == 0:
        raise ValueError("the table has no columns; give at least one")
    if frame.height == 0:
        raise ValueError("the table has no rows; give at least one record")
    for name, dtype in frame.schema.items():
        inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
        if inner.is_nested() or inner in (pl.Binary, pl.Object):
            raise ValueError(
                f"column {name!r} is {dtype}, and its values cannot be compared; "
                "make it a string, a number or a list of strings, or leave it out"
            )
    return frame


def check_column(frame: pl.DataFrame, name: str) -> None:
    """An error that offers the nearest name, unless the column is there.

    Examples
    --------
    >>> check_column(as_frame({"vote": ["yes"]}), "votes")
    Traceback (most recent call last):
    ...
    ValueError: there is no column 'votes' (is it 'vote'?); the table has 'vote'
    """
    if name not in frame.columns:
        raise ValueError(
            f"there is no column {_with_hint(name, frame.columns)}; the table has {_listed(frame.columns)}"
        )


def check_id(frame: pl.DataFrame, id: str) -> None:
    """An error unless a column tells every record from all others.

    Parameters
    ----------
    frame : DataFrame
        The records.
    id : str
        The name of the column.

    Examples
    --------
    >>> check_id(as_frame({"id": ["a", "b", "a"]}), "id")
    Traceback (most recent call last):
    ...
    ValueError: column 'id' holds 'a' in rows 0 and 2; give every record an id of its own
    """
    check_column(frame, id)
    missing = frame[id].is_null().arg_true()
    if len(missing):
        raise ValueError(f"column {id!r} is empty in row {missing[0]}; give every record an id")
    repeated = frame[id].is_duplicated().arg_true()
    if len(repeated):
        value = frame[id][repeated[0]]
        rows = (frame[id] == value).arg_true().to_list()
        more = f" and {len(rows) - 2} more" if len(rows) > 2 else ""
        raise ValueError(
            f"column {id!r} holds {value!r} in rows {rows[0]} and {rows[1]}{more}; give every record an id of its own"
        )


def truth_codes(frame: pl.DataFrame, column: str) -> NDArray[np.int32]:
    """The true entity of each record as a number from 0, -1 where the truth is missing.

    Parameters
    ----------
    frame : DataFrame
        The records.
    column : str
        The column that names the entity.

    Examples
    --------
    >>> truth_codes(as_frame({"entity": ["b", "a", "", "b"]}), "entity")
    array([ 1,  0, -1,  1], dtype=int32)
    """
    check_column(frame, column)
    values = frame[column]
    if values.dtype.is_nested():
        raise ValueError(
            f"column {column!r} is {values.dtype}; a record has one true entity: give a string or a number"
        )
    if values.null_count() == len(values):
        raise ValueError(f"column {column!r} is empty in all {len(values)} rows; give the truth of some records")
    codes = values.rank("dense").cast(pl.Int32) - 1
    return np.array(codes.fill_null(-1), dtype=np.int32)


def origin_column(taken: Iterable[str]) -> str:
    """What to call the column that says which table a record is of: ``source``, or, where that is taken, another name.

    Parameters
    ----------
    taken : iterable of str
        Names that mean something else.

    Examples
    --------
    >>> origin_column(["title", "year"]), origin_column(["title", "source"]), origin_column(["source", "source_table"])
    ('source', 'source_table', 'source_table_2')
    """
    used = set(taken)
    names = chain(("source", "source_table"), (f"source_table_{k}" for k in count(2)))
    return next(name for name in names if name not in used)


def linked(frames: Iterable[Records], names: Sequence[str] | None = None, *, source: str | None = None) -> pl.DataFrame:
    """Several tables as one, with a first column that says where each record comes from.

    A column that only some tables have is null elsewhere. Where the types of a column differ, numbers become wider
    numbers, and anything else becomes strings.

    Parameters
    ----------
    frames : iterable of tables
        Two or more, each as `as_frame` takes them.
    names : sequence of str, optional
        What to call each table; if not given, the names of files, or table1, table2, ...
    source : str, optional
        What to call the column that says so; if not given, `origin_column` finds a name that no table has.

    Examples
    --------
    >>> linked([{"name": ["Ada"], "year": [1843]}, {"name": ["Bob"], "year": ["c. 1990"]}], ["left", "right"]).rows()
    [('left', 'Ada', '1843'), ('right', 'Bob', 'c. 1990')]
    """
    tables = list(frames)
    if len(tables) < 2:
        raise ValueError(f"there is {len(tables)} table to link; give two or more, or resolve one by itself")
    if names is None:
        stems = [Path(t).name.split(".")[0] if isinstance(t, str | os.PathLike) else "" for t in tables]
        is_clear = all(stems) and len(set(stems)) == len(stems)
        names = stems if is_clear else [f"table{k + 1}" for k in range(len(tables))]
    if len(names) != len(tables) or len(set(names)) != len(names):
        raise ValueError(f"names is {list(names)} for {len(tables)} tables; give each one a name of its own")
    made = [as_frame(table) for table in tables]
    source = origin_column(column for frame in made for column in frame.columns) if source is None else source
    for name, frame in zip(names, made, strict=True):
        if source in frame.columns:
            raise ValueError(
                f"table {name!r} has a column {source!r}, which is to say where records come from; "
                "rename it, or pass source= with another name"
            )
    dtype_of_column = {c: _common_dtype([f.schema[c] for f in made if c in f.columns]) for f in made for c in f.columns}
    alike = [
        frame.select(pl.lit(name).alias(source), *(_as_dtype(frame[c], dtype_of_column[c]) for c in frame.columns))
        for name, frame in zip(names, made, strict=True)
    ]
    return pl.concat(alike, how="diagonal")


def match_columns(frame: pl.DataFrame, expected: Mapping[str, str]) -> pl.DataFrame:
    """The columns that a model was fitted on, in its order; others are left out.

    Parameters
    ----------
    frame : DataFrame
        The table to apply the model to.
    expected : mapping of str to str
        The columns the model reads, and the kind of each.

    Examples
    --------
    >>> match_columns(as_frame({"Title": ["On walks"], "year": [1990]}), {"title": "text", "year": "number"})
    Traceback (most recent call last):
    ...
    ValueError: the table lacks 1 of the 2 columns that the model reads: 'title' (is it 'Title'?); \
it has 'Title', 'year'; rename or add what is missing
    """
    missing = [name for name in expected if name not in frame.columns]
    if missing:
        spare = [name for name in frame.columns if name not in expected]
        raise ValueError(
            f"the table lacks {len(missing)} of the {len(expected)} columns that the model reads: "
            f"{', '.join(_with_hint(name, spare) for name in missing)}; it has {_listed(frame.columns)}; "
            "rename or add what is missing"
        )
    for name, kind in expected.items():
        dtype = frame.schema[name]
        if dtype != pl.Null and dtype.is_nested() != (kind in ("list", "vector")):
            raise ValueError(
                f"column {name!r} is {dtype}, but was of kind {str(kind)!r} when the model was fitted; "
                f"give it {'single values' if dtype.is_nested() else 'lists'}, as then"
            )
    return frame.select(list(expected))


def _frame(records: Records) -> pl.DataFrame:
    """Whatever holds a table in memory, as a frame with its values untouched."""
    if isinstance(records, pl.DataFrame):
        return records
    if isinstance(records, pl.LazyFrame):
        return records.collect()
    if isinstance(records, Mapping):
        return _frame_of_columns(records)
    if hasattr(records, "__arrow_c_stream__") and not isinstance(records, pl.Series):
        try:
            frame = pl.DataFrame(cast(Any, records))
        except pl.exceptions.DuplicateError as error:
            raise ValueError(f"two columns of the table have one name ({error}); rename one of them") from error
        # What pandas calls its index is no column of the user's.
        return frame.select(pl.exclude(r"^__index_level_\d+__$"))
    if isinstance(records, Sequence) and not isinstance(records, bytes | bytearray):
        for row, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise TypeError(f"record {row} is {str(record)[:40]!r}, not a dict; give a dict of values by column")
        if not records:
            raise ValueError("the table has no rows; give at least one record")
        return frame_from_dicts(cast(Sequence[Mapping], records))
    raise TypeError(
        f"a {type(records).__name__} is no table; give a dataframe, a list of dicts, a dict of columns, or a path"
    )


def _frame_of_columns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of a dict, after a check that it holds columns of one length."""
    made: list[pl.Series] = []
    for name, values in columns.items():
        if isinstance(values, pl.Series):
            made.append(values.alias(str(name)))
        elif isinstance(values, np.ndarray) and values.dtype != object:
            made.append(pl.Series(str(name), values))
        elif isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise TypeError(f"column {name!r} is {str(values)[:40]!r}; give a list of values, one a record")
        else:
            made.append(column(str(name), list(values)))
        if len(made[-1]) != len(made[0]):
            raise ValueError(
                f"column {name!r} has {len(made[-1])} values, but {made[0].name!r} has {len(made[0])}; "
                "give every column one value a record"
            )
    return pl.DataFrame(made)


def _common_dtype(dtypes: Sequence[Any]) -> Any:
    """One type for a column of several tables."""
    found = [dtype for dtype in dict.fromkeys(dtypes) if dtype != pl.Null]
    if len(found) <= 1:
        return found[0] if found else pl.Null
    if all(dtype.is_integer() for dtype in found):
        return pl.Int64
    if all(dtype.is_numeric() for dtype in found):
        return pl.Float64
    if all(isinstance(dtype, pl.List) for dtype in found):
        return pl.List(_common_dtype([dtype.inner for dtype in found]))
    return pl.String


def _as_dtype(values: pl.Series, dtype: Any) -> pl.Series:
    """A column in another type; as strings, lists are joined and whole numbers have no decimal point."""
    if dtype != pl.String or values.dtype == pl.String:
        return values.cast(dtype)
    if values.dtype.is_nested():
        return values.cast(pl.List(pl.String)).list.join("; ", ignore_nulls=True)
    if values.dtype.is_float():
        return values.cast(pl.String).str.replace(r"\.0$", "")
    return values.cast(pl.String)


def _with_hint(name: str, names: Sequence[str]) -> str:
    """A name that is not there, with the one that may be meant."""
    name_of_lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), name_of_lower, n=1, cutoff=0.7)
    return f"{name!r} (is it {name_of_lower[near[0]]!r}?)" if near else repr(name)


def _listed(names: Sequence[str], most: int = 20) -> str:
    """Names for a message, not too many of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
