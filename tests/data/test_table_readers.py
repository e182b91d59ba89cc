import csv
import gzip
import io
import json
import os
import string
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from walkstep.data.readers import tables
from walkstep.data.readers.tables import frame_from_dicts, read_table, write_table

CELLS = st.text(alphabet='ab 0",\n\té;', max_size=6)


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def naive_rows(text, n_columns):
    """What the csv module reads, stripped, with nothing for what is empty."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if len(row) == n_columns]
    return [tuple(cell.strip() or None for cell in row) for row in rows[1:]]


def test_cells_of_csv_stay_strings_without_space_around_them(tmp_path):
    path = written(tmp_path / "a.csv", "\ufeffcode, name ,n\n007, Ada ,1\n , ,2\n")
    frame = read_table(path)
    assert frame.schema == {"code": pl.String, "name": pl.String, "n": pl.String}
    assert frame.rows() == [("007", "Ada", "1"), (None, None, "2")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "{end}", "{end}{end}"])
def test_lines_may_end_in_any_way(tmp_path, end, last):
    text = end.join(["a,b", "1,x", '2,"y, z"', "3,"]) + last.format(end=end)
    assert read_table(written(tmp_path / "a.csv", text)).rows() == [("1", "x"), ("2", "y, z"), ("3", None)]


def test_blank_lines_are_no_rows(tmp_path):
    assert read_table(written(tmp_path / "a.csv", "\na,b\n\n1,2\n  \n3,4\n\n")).rows() == [("1", "2"), ("3", "4")]
    assert read_table(written(tmp_path / "b.csv", "a\n1\n\n2\n\n")).rows() == [("1",), ("2",)]


@pytest.mark.parametrize("values", [["x", None], [None, "x"], [1, None], [["x"], None]])
def test_a_missing_value_alone_in_its_row_is_a_row(tmp_path, values):
    write_table(pl.DataFrame({"a": values}), tmp_path / "a.csv")
    expected = [None if value is None else str(*value) if isinstance(value, list) else str(value) for value in values]
    assert read_table(tmp_path / "a.csv")["a"].to_list() == expected


def test_quotes_are_read_wherever_they_stand(tmp_path):
    text = 'a,b\n1, "x, y"\n2,5" disk\n3,"he ""said"" so"\n4,"Johann" Sebastian\n5,"two\nlines"\n'
    frame = read_table(written(tmp_path / "a.csv", text))
    assert frame["b"].to_list() == ["x, y", '5" disk', 'he "said" so', "Johann Sebastian", "two\nlines"]


def test_a_quote_in_tsv_is_a_character(tmp_path):
    path = written(tmp_path / "a.tsv", 'a\tb\tc\n1\t"On walks".\t\n2\t"\t5" disk\n')
    assert read_table(path).rows() == [("1", '"On walks".', None), ("2", '"', '5" disk')]


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_csv_reads_as_the_csv_module_says(tmp_path_factory, rows, end, quoting):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=end, quoting=quoting).writerows([("a", "b", "c"), *rows])
    path = written(tmp_path_factory.mktemp("csv") / "a.csv", buffer.getvalue())
    assert read_table(path).rows() == naive_rows(buffer.getvalue(), 3)


@given(
    text=st.text(alphabet='ab",\n\r ', max_size=40),
    header=st.sampled_from(["a,b", "a"]),
    separator=st.sampled_from([",", "\t"]),
)
@example(text='""\nz\n\n', header="a", separator=",")
def test_the_fast_way_agrees_with_the_slow_one_on_any_text(text, header, separator):
    data = f"{header}\n{text}".replace(",", separator).encode()

    def outcome(is_regular):
        with pytest.MonkeyPatch.context() as patch:
            if not is_regular:
                patch.setattr(tables, "_is_regular", lambda *_: False)
            try:
                return tables.stripped(tables._delimited("a.csv", data, separator)).rows()
            except ValueError as error:
                return str(error)

    assert outcome(True) == outcome(False)


def test_regular_files_take_the_fast_way(monkeypatch, tmp_path):
    taken = []
    monkeypatch.setattr(pl, "read_csv", lambda *a, read=pl.read_csv, **k: taken.append(1) or read(*a, **k))
    for text in ("a,b\n1,2\n", 'a,b\r\n1,"x, ""y"""\r\n', "a, b\n1, \n", '"a","b"\n"1\n2",""'):
        read_table(written(tmp_path / "a.csv", text))
    assert len(taken) == 4


def test_other_encodings_are_read_when_named(tmp_path):
    for encoding in ("latin-1", "cp1252", "utf-16"):
        path = written(tmp_path / "a.csv", "name,town\nJosé,Köln\n", encoding)
        assert read_table(path, encoding=encoding).rows() == [("José", "Köln")]


def test_json_lines_keep_types_and_lists(tmp_path):
    path = written(
        tmp_path / "a.jsonl",
        '{"id": 1, "tags": ["x", " "], "v": [0.5, 1]}\n\n{"id": 2, "tags": [], "zip": "007", "v": null}\n',
    )
    frame = read_table(path)
    assert frame.schema == {"id": pl.Int64, "tags": pl.List(pl.String), "v": pl.List(pl.Float64), "zip": pl.String}
    assert frame.rows() == [(1, ["x"], [0.5, 1.0], None), (2, None, None, "007")]


def test_columns_of_json_stand_as_they_are_met(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"z": 1, "y": null}\n{"b": 2, "z": 1, "y": 3}\n{"a": 5}\n')
    assert read_table(path).columns == ["z", "y", "b", "a"]


def test_json_of_several_types_is_reconciled(tmp_path):
    path = written(tmp_path / "a.json", '{"a": "x", "n": 1}\n{"a": ["y", "z"], "n": "02"}\n{"n": 3.0}\n')
    assert read_table(path).rows() == [(["x"], "1"), (["y", "z"], "02"), (None, "3")]


def test_a_json_list_of_objects_is_a_table(tmp_path):
    assert read_table(written(tmp_path / "a.json", '[{"a": 1},\n {"b": "x"}]')).rows() == [(1, None), (None, "x")]


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"a": st.integers(-5, 5)},
            optional={
                "b": st.text(string.ascii_letters, min_size=1, max_size=3),
                "c": st.lists(st.just("x"), min_size=1),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_json_lines_read_as_the_json_module_says(tmp_path_factory, rows):
    path = written(tmp_path_factory.mktemp("json") / "a.ndjson", "\n".join(map(json.dumps, rows)))
    frame = read_table(path)
    assert [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()] == rows
    assert_frame_equal(frame, frame_from_dicts(rows), check_column_order=False)


TABLE = pl.DataFrame(
    {
        "name": ["Ada, L.", 'say "x"', None],
        "zip": ["007", None, "1\n2"],
        "n": [1, None, 3],
        "tags": [["a", "b"], None, ["c"]],
    }
)


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "json", "json.gz", "parquet"])
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_table(TABLE, path)
    assert_frame_equal(read_table(path), TABLE)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv"])
def test_csv_and_tsv_hold_strings_and_joined_lists(tmp_path, ending):
    path, frame = tmp_path / f"a.{ending}", TABLE[:2] if ending == "tsv" else TABLE
    write_table(frame, path)
    expected = frame.with_columns(pl.col("tags").list.join("; "), pl.col("n").cast(pl.String))
    assert_frame_equal(read_table(path), expected)


def test_equal_tables_make_equal_files(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(TABLE, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert (tmp_path / "a.csv.gz").read_bytes()[4:8] == bytes(4), "the time of writing is in the file"
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"name,zip,n,tags\n")


@given(rows=st.lists(st.tuples(CELLS, st.text(alphabet="a\r\n,", max_size=3)), min_size=1, max_size=6))
def test_any_strings_come_back_from_csv(tmp_path_factory, rows):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    write_table(frame, path)
    assert_frame_equal(read_table(path), tables.stripped(frame))


def test_a_file_stays_as_it_was_when_writing_fails(tmp_path, monkeypatch):
    path = written(tmp_path / "a.csv", "a\n1\n")

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    with pytest.raises(OSError, match="disk full"):
        write_table(TABLE, path)
    assert path.read_text() == "a\n1\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n_rows", "columns"),
    [
        ("cora/cora1295.jsonl", 1295, "id entity address author pages publisher title"),
        ("er_dblp_acm/ACM.csv", 2294, "id title authors venue year"),
        ("er_dblp_acm/DBLP2.csv", 2616, "id title authors venue year"),
        ("er_febrl/dataset1.csv", 1000, "rec_id given_name surname street_number address_1"),
        ("er_febrl/dataset3.csv", 5000, "rec_id given_name surname street_number address_1"),
        ("citeseer_authors/citeseer_authors.tsv", 2892, "ref_id author_entity normalized_author author"),
        ("dblp_aliases/dblp-aliases.csv.gz", 98953, "alias name"),
    ],
)
def test_published_tables_have_their_counts(name, n_rows, columns):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), name)
    if not path.exists():
        pytest.skip(f"set WALKSTEP_DATA to a folder that holds {name}")
    frame = read_table(path)
    assert frame.height == n_rows
    assert frame.columns[: len(columns.split())] == columns.split()
