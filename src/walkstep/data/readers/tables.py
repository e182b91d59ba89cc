"""Tables of records in files: CSV, TSV, JSON lines and Parquet, read and written by the file's name."""

import csv
import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, TextIO, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.readers._files import read_bytes, written_whole

_SEPARATOR = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_KNOWN = (*_SEPARATOR, *_JSON, ".parquet")
_QUOTE, _LINE_END, _RETURN = b'"\n\r'


def read_table(path: str | os.PathLike, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read a table of records, one row a record, in the format that the file's name tells.

    Cells of CSV and TSV files stay strings, so no leading zero is lost. Strings come without the space around
    them, and empty ones are null. In TSV files a quote is a character like any other.

    Parameters
    ----------
    path : path
        A file ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.json`` (an object a line, or a list of objects), each
        also as ``.gz``, or ``.parquet``.
    encoding : str
        How the text is encoded: ``"latin-1"``, ``"cp1252"``, ...

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text("surname, postcode\\nwaller, 0811\\n , 2776\\n")
    ...     frame = read_table(path)
    >>> frame.columns, frame.rows()
    (['surname', 'postcode'], [('waller', '0811'), (None, '2776')])
    """
    ending = table_ending(path)
    if ending == ".parquet":
        try:
            return stripped(pl.read_parquet(Path(path)))
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{path} is no Parquet file, or it is damaged ({error}); write it again") from error
    data = _utf8(path, read_bytes(path), encoding)
    if not data.strip():
        raise ValueError(f"{path} is empty; give a table with at least one row")
    frame = _json_lines(path, data) if ending in _JSON else _delimited(path, data, _SEPARATOR[ending])
    return stripped(frame)


def write_table(frame: pl.DataFrame, path: str | os.PathLike) -> None:
    """Write a table of records in the format that the file's name tells; the file appears whole or not at all.

    CSV and TSV have no lists: the items of one are joined by ``"; "``.

    Parameters
    ----------
    frame : DataFrame
        The records.
    path : path
        Where to; it ends as `read_table` knows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "papers.csv")
    ...     write_table(pl.DataFrame({"title": ["On walks"], "authors": [["Ada", "Bob"]]}), path)
    ...     print(path.read_text(), end="")
    title,authors
    On walks,Ada; Bob
    """
    ending = table_ending(path)
    if ending in _SEPARATOR:
        frame = _flat(frame, path)
    if ending == ".tsv":
        _check_no_tabs(frame, path)
    with written_whole(path) as file:
        raw = cast(TextIO, file).buffer
        if Path(path).suffix == ".gz":
            # No name and no time of writing: equal tables make equal files.
            with gzip.GzipFile("", "wb", 6, fileobj=raw, mtime=0) as packed:
                _write(frame, cast(IO[bytes], packed), ending)
        else:
            _write(frame, raw, ending)


def frame_from_dicts(rows: Iterable[Mapping]) -> pl.DataFrame:
    """A table of dictionaries, all of their keys as columns, values of several types reconciled.

    Numbers beside strings become strings, and a single value beside lists becomes a list of one.

    Examples
    --------
    >>> frame_from_dicts([{"author": "Ada", "year": 1843}, {"author": ["Bob", "Eve"], "year": "c. 1990"}]).rows()
    [(['Ada'], '1843'), (['Bob', 'Eve'], 'c. 1990')]
    """
    rows = list(rows)
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([column(str(name), [row.get(name) for row in rows]) for name in names])


def column(name: str, values: Sequence) -> pl.Series:
    """One column of plain Python values, reconciled as `frame_from_dicts` says."""
    types = {type(value) for value in values} - {type(None)}
    nested = types & {list, tuple, set, frozenset, np.ndarray}
    if nested:
        lists = [None if v is None else list(v) if type(v) in nested else [v] for v in values]
        if str in {type(item) for items in lists if items for item in items}:
            lists = [None if items is None else [_as_text(item) for item in items] for items in lists]
        return pl.Series(name, lists, strict=False)
    if str in types and len(types) > 1:
        values = [_as_text(value) for value in values]
    return pl.Series(name, values, strict=False)


def stripped(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with missing values as nulls: no space around strings, no empty ones, no empty lists, no NaN."""
    changed = []
    for name, dtype in frame.schema.items():
        cells = pl.col(name)
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            text = cells.cast(pl.String).str.strip_chars()
            changed.append(pl.when(text != "").then(text).alias(name))
        elif dtype.is_float():
            changed.append(cells.fill_nan(None))
        elif isinstance(dtype, pl.List):
            if dtype.inner in (pl.String, pl.Categorical, pl.Enum):
                item = pl.element().cast(pl.String).str.strip_chars()
                cells = cells.list.eval(item.filter(item != ""))
            changed.append(pl.when(cells.list.len() > 0).then(cells).alias(name))
    return frame.with_columns(changed)


def table_ending(path: str | os.PathLike) -> str:
    """The ending of a file's name that tells its format, or an error where it tells none that is known.

    Examples
    --------
    >>> table_ending("papers.CSV.gz")
    '.csv'
    """
    name = Path(path).name
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    if ending not in _KNOWN or (ending == ".parquet" and name.endswith(".gz")):
        raise ValueError(
            f"{path} ends in {Path(name).suffix!r}, which is no known format of tables; "
            f"give one of {', '.join(_KNOWN)}, or one of these but the last with .gz"
        )
    return ending


def _utf8(path: str | os.PathLike, data: bytes, encoding: str) -> bytes:
    """The bytes of a text, in UTF-8 whatever they were in, or an error that names the first wrong byte."""
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise ValueError(f"encoding={encoding!r} is not known; give 'utf-8', 'latin-1', 'cp1252', ...") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {encoding}: byte 0x{data[error.start]:02x} at offset {error.start} "
            f"(line {data.count(10, 0, error.start) + 1}); save the file as UTF-8, or say what it is in, "
            "such as encoding='latin-1' (--encoding latin-1)"
        ) from error
    return data if encoding.lower() in ("utf-8", "utf8") else text.removeprefix("\ufeff").encode()


def _delimited(path: str | os.PathLike, data: bytes, separator: str) -> pl.DataFrame:
    """A CSV or TSV table, all strings: by Polars where that is safe, else row by row."""
    data = data.rstrip(b"\r\n")
    records = _records(path, data, separator)
    names = _checked_header(path, *next(records, (1, [""])))
    if _is_regular(np.frombuffer(data, np.uint8), separator, len(names)):
        quote = '"' if separator == "," else None
        frame = pl.read_csv(data, separator=separator, quote_char=quote, has_header=True, infer_schema=False)
        frame.columns = names
        return frame
    rows = []
    for number, cells in records:
        if len(names) > 1 and len(cells) == 1 and not cells[0].strip():
            continue
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {number}: {len(cells)} cell(s), expected {len(names)} as in the header; "
                "complete the line, or quote a cell that holds the separator"
            )
        rows.append(cells)
    if not rows:
        raise ValueError(f"{path} has no rows below its header; give at least one")
    return pl.DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(names, pl.String))


def _records(path: str | os.PathLike, data: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not blank, cell by cell, each with the line that it begins in."""
    line = ""

    def lines() -> Iterator[str]:
        nonlocal line
        for text in TextIOWrapper(BytesIO(data), encoding="utf-8", newline=""):
            line = text
            yield text

    # In CSV a space would hide the quote after it; in TSV there are no quotes, and a tab is never skipped.
    if separator == ",":
        dialect = {"delimiter": ",", "skipinitialspace": True}
    else:
        dialect = {"delimiter": separator, "quoting": csv.QUOTE_NONE}
    reader = csv.reader(lines(), strict=True, **dialect)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if reader.line_num > first or line.count('"') % 2:
                raise ValueError(
                    f"{path}, line {first}: {error}; close quotes, and double those inside a quoted cell"
                ) from error
            # Words after a quoted part, all in one line: '"Johann" Sebastian'.
            cells = next(csv.reader([line], **dialect))
        if cells is None:
            return
        if cells:
            yield first, cells


def _checked_header(path: str | os.PathLike, number: int, cells: Sequence[str]) -> list[str]:
    """The names of columns, each there and there once."""
    names = [cell.strip() for cell in cells]
    for c, name in enumerate(names):
        if not name or name in names[:c]:
            raise ValueError(
                f"{path}, line {number}: column {c + 1} is named {name!r}, which is {'taken' if name else 'empty'}; "
                "give every column its own name"
            )
    return names


def _is_regular(data: NDArray[np.uint8], separator: str, n_columns: int) -> bool:
    """Whether all readers of CSV would agree: quotes around whole cells only, every line as wide as the header."""
    is_end, is_separator = data == _LINE_END, data == ord(separator)
    returns = np.flatnonzero(data == _RETURN)
    if len(returns) and not (returns[-1] + 1 < len(data) and is_end[returns + 1].all()):
        return False
    quotes = np.flatnonzero(data == _QUOTE) if separator == "," else returns[:0]
    if len(quotes):
        if len(quotes) % 2:
            return False
        border = is_end | is_separator
        opening, closing = quotes[::2], quotes[1::2]
        doubled = closing[:-1] + 1 == opening[1:]  # one quote inside a cell, written as two
        begins = border[opening - 1] | (opening == 0)
        ends = border[np.minimum(closing + 1, len(data) - 1)] | (closing == len(data) - 1)
        ends |= data[np.minimum(closing + 1, len(data) - 1)] == _RETURN
        begins[1:] |= doubled
        ends[:-1] |= doubled
        if not (begins.all() and ends.all()):
            return False
        # Sums modulo 256 are enough: whether a byte is in quotes is a matter of even and odd.
        outside = np.cumsum(data == _QUOTE, dtype=np.uint8) % 2 == 0
        is_end &= outside
        is_separator &= outside
    ends_of_lines = np.append(np.flatnonzero(is_end), len(data))
    n_separators = np.diff(np.searchsorted(np.flatnonzero(is_separator), ends_of_lines), prepend=0)
    shortest = 1 if len(returns) == 0 else 2  # of one column, a line of nothing is no row
    is_blank = np.diff(ends_of_lines, prepend=-1) <= shortest
    return len(n_separators) > 1 and bool((n_separators == n_columns - 1).all()) and not is_blank.any()


def _json_lines(path: str | os.PathLike, data: bytes) -> pl.DataFrame:
    """A table of JSON objects: by Polars where it finds one type a column, else line by line."""
    if data.lstrip().startswith(b"["):
        try:
            return _objects(path, enumerate(json.loads(data), start=1), "item")
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {error.lineno}: {error.msg}; correct the JSON there") from error
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        frame = None  # the slow way names the line, or reads what Polars does not
    if frame is not None:
        # A column that has lists or objects beside strings comes as strings of JSON.
        texts = frame.select(pl.col(pl.String)).iter_columns()
        if not any(text.str.contains(r"^[\[{]").any() for text in texts):
            first = json.loads(data.strip().split(b"\n", 1)[0])
            rank = {name: k for k, name in enumerate(first)}
            # Polars orders columns its own way; ours is that in which they are met.
            return frame.select(
                sorted(
                    frame.columns,
                    key=lambda name: (rank.get(name, len(rank)), frame[name].is_not_null().arg_max(), name),
                )
            )
    return _objects(path, _parsed_lines(path, data), "line")


def _parsed_lines(path: str | os.PathLike, data: bytes) -> Iterable[tuple[int, object]]:
    """The number and the value of each line that is not blank."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"{path}, line {number}: {error.msg} at character {error.pos + 1}; give one JSON object a line"
                ) from error


def _objects(path: str | os.PathLike, numbered: Iterable[tuple[int, object]], place: str) -> pl.DataFrame:
    """A table of parsed values, after a check that they are objects."""
    rows = []
    for number, value in numbered:
        if not isinstance(value, dict):
            raise ValueError(
                f"{path}, {place} {number}: {str(value)[:40]!r} is no JSON object; give one for each record"
            )
        rows.append(value)
    return frame_from_dicts(rows)


def _as_text(value: object) -> str | None:
    """A value as a string, whole numbers without a decimal point."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() else str(value)
    return str(value)


def _flat(frame: pl.DataFrame, path: str | os.PathLike) -> pl.DataFrame:
    """The table with the items of lists joined, or an error for a column that a cell cannot hold."""
    joined = []
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.List | pl.Array) and not dtype.inner.is_nested():
            items = pl.col(name).cast(pl.List(pl.String))
            joined.append(items.list.join("; ", ignore_nulls=True))
        elif dtype.is_nested():
            raise ValueError(f"column {name!r} is {dtype}, which {path} cannot hold; write .jsonl or .parquet")
    flat = frame.with_columns(joined)
    # A missing value alone in its row is written as "", for an empty line is no row.
    return flat if frame.width > 1 else flat.select(pl.all().cast(pl.String).fill_null(""))


def _check_no_tabs(frame: pl.DataFrame, path: str | os.PathLike) -> None:
    """An error for a cell that would break its line of a TSV file, which knows no quotes."""
    for name in frame.select(pl.col(pl.String)).columns:
        pattern = r"[\t\r\n]" if frame.width > 1 else r"[\t\r\n]|^$"
        broken = frame[name].str.contains(pattern).fill_null(False).arg_true()
        if len(broken):
            raise ValueError(
                f"column {name!r}, row {broken[0]} holds a tab, a line's end, or nothing in a table of one column, "
                f"which {path} cannot; write .csv"
            )


def _write(frame: pl.DataFrame, file: IO[bytes], ending: str) -> None:
    """The content of a file in one of the formats."""
    if ending == ".parquet":
        frame.write_parquet(file)
    elif ending in _JSON:
        frame.write_ndjson(file)
    else:
        quote_style = "never" if ending == ".tsv" else "necessary"
        frame.write_csv(file, separator=_SEPARATOR[ending], quote_style=quote_style)
