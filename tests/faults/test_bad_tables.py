import gzip
import re

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from walkstep.data.readers.tables import read_table, write_table
from walkstep.data.records import as_frame, check_id, linked, match_columns, truth_codes

FILES = {
    "ragged.csv": ("a,b\n1,2\n3\n", "line 3: 1 cell(s), expected 2 as in the header; complete the line"),
    "wide.csv": ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 cell(s), expected 2"),
    "ragged.tsv": ("a\tb\n1\t2\n3\n", "line 3: 1 cell(s), expected 2"),
    "after.csv": ('a,b\n1,2\n"x\ny" z,2\n', "line 3: ',' expected after '\"'; close quotes, and double those inside"),
    "open.csv": ('a,b\n1,2\n3,"x\n4,5\n', "line 3: unexpected end of data; close quotes"),
    "last.csv": ('a,b\n1,2\n3,"x', "line 3: unexpected end of data; close quotes"),
    "twice.csv": ("a, a\n1,2\n", "line 1: column 2 is named 'a', which is taken; give every column its own name"),
    "unnamed.csv": (",a\n1,2\n", "line 1: column 1 is named '', which is empty"),
    "nameless.csv": ('""\n', "line 1: column 1 is named '', which is empty"),
    "header.csv": ("a,b\n", "has no rows below its header; give at least one"),
    "empty.csv": ("\n \n", "is empty; give a table with at least one row"),
    "empty.jsonl": ("", "is empty; give a table with at least one row"),
    "broken.jsonl": ('{"a": 1}\n\n{"a": \n', "line 3: Expecting value at character 7; give one JSON object a line"),
    "joined.jsonl": ('{"a": 1}{"a": 2}\n', "line 1: Extra data at character 9"),
    "value.jsonl": ('{"a": 1}\n[2, 3]\n', "line 2: '[2, 3]' is no JSON object; give one for each record"),
    "item.json": ('[{"a": 1}, 5]', "item 2: '5' is no JSON object"),
    "broken.json": ('[{"a": 1},\n {"a" 2}]', "line 2: Expecting ':' delimiter; correct the JSON there"),
    "text.parquet": ("a,b\n1,2\n", "is no Parquet file, or it is damaged"),
    "text.csv.gz": ("a,b\n1,2\n", "is named .gz but does not unpack"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_named_with_its_line(tmp_path, name):
    text, message = FILES[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz"])
def test_a_byte_that_is_not_utf8_is_named(tmp_path, name):
    data = '{"town": "Rome"}\n{"town": "Köln"}\n'.encode("latin-1")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    message = r"is not utf-8: byte 0xf6 at offset 28 \(line 2\); save the file as UTF-8, or .* encoding='latin-1'"
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


@given(
    text=st.text(alphabet='a1",\t\n\r {}[]:é', max_size=30),
    ending=st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet", "csv.gz"]),
)
@example(text='""', ending="csv")
@example(text="[]", ending="json")
@example(text="{}", ending="jsonl")
def test_any_text_is_read_or_refused_with_the_files_name(tmp_path_factory, text, ending):
    path = tmp_path_factory.mktemp("any") / f"any.{ending}"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    try:
        frame = read_table(path)
    except ValueError as error:
        assert f"any.{ending}" in str(error)  # noqa: PT017 - reading it is as good
    else:
        assert isinstance(frame, pl.DataFrame)


def test_an_unknown_encoding_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"encoding='klingon' is not known; give 'utf-8', 'latin-1'"):
        read_table(tmp_path / "a.csv", encoding="klingon")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "a.parquet.gz", "a.csv.zip"])
def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path, name):
    message = r"is no known format of tables; give one of \.csv, \.tsv, \.jsonl, \.ndjson, \.json, \.parquet"
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(FileNotFoundError, match=name):
            as_frame(tmp_path / name)


def test_what_a_cell_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"column 's' is Struct.*, which .*a\.csv cannot hold; write \.jsonl or"):
        write_table(pl.DataFrame({"s": [{"x": 1}]}), tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"column 't', row 1 holds a tab, .* write \.csv"):
        write_table(pl.DataFrame({"t": ["x", "a\tb"]}), tmp_path / "a.tsv")
    with pytest.raises(ValueError, match=r"column 't', row 0 holds .* nothing in a table of one column"):
        write_table(pl.DataFrame({"t": [None, "x"]}), tmp_path / "a.tsv")
    assert not list(tmp_path.iterdir())


TABLES = {
    "no rows": ([], "the table has no rows; give at least one record"),
    "empty column": ({"a": []}, "the table has no rows; give at least one record"),
    "no columns": ({}, "the table has no columns; give at least one"),
    "empty dicts": ([{}, {}], "the table has no columns"),
    "only an index": (pa.table({"__index_level_0__": [1]}), "the table has no columns"),
    "two of a name": (pa.table([[1], [2]], names=["a", "a"]), "two columns of the table have one name"),
    "lengths": (
        {"a": [1], "b": [1, 2]},
        "column 'b' has 2 values, but 'a' has 1; give every column one value a record",
    ),
    "objects": ([{"a": {"x": 1}}], "column 'a' is Struct"),
    "lists of objects": ([{"a": [{"x": 1}]}], "make it a string, a number or a list of strings, or leave it out"),
    "bytes": ({"a": [b"x"]}, "column 'a' is Binary"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_none_is_refused(name):
    table, message = TABLES[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        as_frame(table)


@pytest.mark.parametrize("thing", [None, 3, b"a,b", {1, 2}, pl.Series("a", [1])])
def test_what_is_no_table_is_refused_with_what_would_be(thing):
    with pytest.raises(
        TypeError, match=r"is no table; give a dataframe, a list of dicts, a dict of columns, or a path"
    ):
        as_frame(thing)


def test_rows_and_columns_of_the_wrong_shape_are_named():
    records: list = [{"a": 1}, [2]]
    with pytest.raises(TypeError, match=r"record 1 is '\[2\]', not a dict"):
        as_frame(records)
    for value in (3, "Ada"):
        with pytest.raises(TypeError, match=f"column 'a' is '{value}'; give a list of values, one a record"):
            as_frame({"a": value})


def test_ids_that_do_not_tell_records_apart_are_refused():
    frame = as_frame({"id": ["a", "b", "c", "b", "b"], "gap": [1, None, 3, 4, 5]})
    with pytest.raises(ValueError, match="column 'id' holds 'b' in rows 1 and 3 and 1 more; give every record an id"):
        check_id(frame, "id")
    with pytest.raises(ValueError, match="column 'gap' is empty in row 1; give every record an id"):
        check_id(frame, "gap")
    with pytest.raises(ValueError, match=r"there is no column 'ID' \(is it 'id'\?\); the table has 'id', 'gap'"):
        check_id(frame, "ID")


def test_truth_that_is_not_there_is_refused():
    frame = as_frame({"entity": ["", None], "title": ["x", "y"], "tags": [["x"], ["y"]]})
    with pytest.raises(ValueError, match="column 'entity' is empty in all 2 rows; give the truth of some records"):
        truth_codes(frame, "entity")
    with pytest.raises(
        ValueError, match=r"no column 'enttiy' \(is it 'entity'\?\); the table has 'entity', 'title', 'tags'"
    ):
        truth_codes(frame, "enttiy")
    with pytest.raises(
        ValueError, match=r"column 'tags' is List\(String\); a record has one true entity: give a string or a number"
    ):
        truth_codes(frame, "tags")


def test_tables_that_cannot_be_linked_are_refused():
    a, b = {"a": [1]}, {"a": [2], "source": ["x"]}
    with pytest.raises(ValueError, match="there is 1 table to link; give two or more"):
        linked([a])
    with pytest.raises(ValueError, match=r"table 'table2' has a column 'source', .* rename it, or pass source="):
        linked([a, b], source="source")
    for names in (["x"], ["x", "x"]):
        with pytest.raises(ValueError, match=r"names is \[.*\] for 2 tables; give each one a name of its own"):
            linked([a, a], names)


def test_a_table_of_other_columns_is_refused_with_the_nearest():
    frame = as_frame({"Titel": ["x"], "year": [1], "tags": [["x"]]})
    with pytest.raises(
        ValueError, match=r"lacks 2 of the 3 .*: 'title' \(is it 'Titel'\?\), 'pages'; it has 'Titel', 'year'"
    ):
        match_columns(frame, {"title": "text", "pages": "number", "year": "number"})
    with pytest.raises(
        ValueError, match=r"column 'tags' is List\(String\), but was of kind 'name' .* give it single values"
    ):
        match_columns(frame, {"tags": "name"})
    with pytest.raises(ValueError, match=r"column 'year' is Int64, but was of kind 'vector' .* give it lists"):
        match_columns(frame, {"year": "vector"})
