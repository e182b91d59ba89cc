import copy

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from walkstep.data.records import as_frame, check_id, linked, match_columns, truth_codes

COLUMNS = {"name": [" Ada ", "", "Bob"], "year": [1843, None, 1990], "tags": [["x", ""], [], None]}
EXPECTED = pl.DataFrame({"name": ["Ada", None, "Bob"], "year": [1843, None, 1990], "tags": [["x"], None, None]})
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


class Capsule:
    """A dataframe of another library, of which nothing is known but that it speaks Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "records",
    [COLUMNS, RECORDS, pl.DataFrame(COLUMNS), pl.LazyFrame(COLUMNS), pa.table(COLUMNS), Capsule(pa.table(COLUMNS))],
    ids=["columns", "dicts", "frame", "lazy", "arrow", "capsule"],
)
def test_a_table_is_the_same_however_it_comes(records):
    assert_frame_equal(as_frame(records), EXPECTED)


def test_a_path_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,zip\n Ada ,007\n")
    for given_path in (path, str(path)):
        assert as_frame(given_path).rows() == [("Ada", "007")]


def test_the_callers_table_stays_as_it_is():
    columns, records, frame = copy.deepcopy(COLUMNS), copy.deepcopy(RECORDS), pl.DataFrame(COLUMNS)
    before = frame.clone()
    for table in (columns, records, frame):
        as_frame(table)
    assert columns == COLUMNS
    assert records == RECORDS
    assert_frame_equal(frame, before)


def test_what_pandas_adds_for_its_index_is_dropped():
    table = pa.table({"name": ["Ada", "Bob"], "__index_level_0__": [3, 5]})
    assert as_frame(Capsule(table)).columns == ["name"]


def test_nan_and_categories_become_plain_values():
    frame = as_frame({"n": np.array([1.5, np.nan]), "c": pl.Series(["a ", "b"], dtype=pl.Categorical)})
    assert frame.schema == {"n": pl.Float64, "c": pl.String}
    assert frame.rows() == [(1.5, "a"), (None, "b")]


def test_values_of_several_types_become_strings():
    assert as_frame({"n": [1, "02", 3.0, None, 2.5]})["n"].to_list() == ["1", "02", "3", None, "2.5"]
    assert as_frame([{"n": 1}, {"n": 2.5}])["n"].to_list() == [1.0, 2.5]


@given(st.lists(st.one_of(st.none(), st.text(alphabet="a \t\u00a0\n", max_size=4)), min_size=1))
def test_no_string_keeps_space_around_it_and_none_is_empty(values):
    expected = [None if value is None or not value.strip() else value.strip() for value in values]
    assert as_frame({"x": pl.Series(values, dtype=pl.String)})["x"].to_list() == expected
    lists = as_frame({"x": pl.Series([values], dtype=pl.List(pl.String))})["x"].to_list()
    assert lists == [[value for value in expected if value is not None] or None]


def test_ids_that_tell_records_apart_pass():
    check_id(as_frame({"id": [3, 1, 2]}), "id")


@given(st.lists(st.sampled_from(["x", "y", "z", "", None]), min_size=1).filter(any))
def test_codes_of_truth_agree_where_values_do(values):
    codes = truth_codes(as_frame({"entity": pl.Series(values, dtype=pl.String)}), "entity")
    assert codes.dtype == np.int32
    known = sorted({value for value in values if value})
    assert codes.tolist() == [known.index(value) if value else -1 for value in values]


def test_linked_tables_unite_their_columns():
    left = {"name": ["Ada"], "year": [1843.0], "n": [1]}
    right = {"name": ["Bob", ""], "year": ["c. 1990", "1990"], "tags": [["x"], ["y"]], "n": [0.5, 2.0]}
    frame = linked([left, right], ["left", "right"])
    assert frame.columns == ["source", "name", "year", "n", "tags"]
    assert frame.rows() == [
        ("left", "Ada", "1843", 1.0, None),
        ("right", "Bob", "c. 1990", 0.5, ["x"]),
        ("right", None, "1990", 2.0, ["y"]),
    ]


def test_lists_beside_strings_are_joined():
    assert linked([{"a": [["x", "y"]]}, {"a": ["z"]}])["a"].to_list() == ["x; y", "z"]


def test_a_column_that_is_empty_in_one_table_takes_the_others_type():
    frame = linked([{"a": [None], "b": [1]}, {"a": [[0.5]], "b": [None]}])
    assert frame.schema == {"source": pl.String, "a": pl.List(pl.Float64), "b": pl.Int64}


def test_linked_tables_are_called_after_their_files(tmp_path):
    for name in ("ACM.csv", "DBLP2.jsonl"):
        (tmp_path / name).write_text("a\nx\n" if name.endswith("csv") else '{"a": "y"}\n')
    frame = linked([tmp_path / "ACM.csv", str(tmp_path / "DBLP2.jsonl")])
    assert frame.rows() == [("ACM", "x"), ("DBLP2", "y")]
    assert linked([{"a": [1]}, {"a": [2]}, {"a": [3]}])["source"].to_list() == ["table1", "table2", "table3"]
    assert linked([{"source": [1]}, {"b": [2]}], source="table").columns == ["table", "source", "b"]


def test_a_column_named_source_is_kept_beside_the_name_of_the_table():
    frame = linked([{"source": ["web"], "a": [1]}, {"a": [2]}])
    assert frame.columns == ["source_table", "source", "a"]
    assert frame["source_table"].to_list() == ["table1", "table2"]
    assert frame["source"].to_list() == ["web", None]


def test_columns_are_matched_in_the_models_order():
    frame = as_frame({"extra": [1], "b": ["x"], "a": [["y"]]})
    assert match_columns(frame, {"a": "list", "b": "name"}).columns == ["a", "b"]
    assert match_columns(frame.with_columns(a=None), {"a": "list"}).columns == ["a"]
