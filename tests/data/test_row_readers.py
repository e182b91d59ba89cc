import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.datasets import dump_svmlight_file

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers import read_arff, read_csv_rows, read_libsvm, read_rows

HEADER = """% a comment
@relation 'my rows: -C 2'

@attribute size numeric
@ATTRIBUTE 'the weight' REAL
@attribute red {0,1}
@attribute round {0, 1}
@data
"""
MULAN_XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="mulan">
<label name="round"></label><label name="the weight"/>
</labels>"""


def written(folder, text, name="tiny.arff"):
    path = Path(folder, name)
    path.write_text(text)
    return path


def test_dense_rows_have_binary_attributes_at_the_end_as_labels(tmp_path):
    rows = read_arff(written(tmp_path, HEADER + "1,2.5,0,1\n% between\n\n -3 , 1e3 , 1 , 1 \n"))
    assert rows.X.tolist() == [[1, 2.5], [-3, 1000]]
    assert rows.Y.tolist() == [[0, 1], [1, 1]]
    assert rows.Y.dtype == np.int8
    assert rows.feature_names == ("size", "the weight")
    assert rows.label_names == ("red", "round")


def test_labels_are_chosen_by_count_name_prefix_and_file(tmp_path):
    path = written(tmp_path, HEADER + "1,1,0,1\n")
    assert read_arff(path, labels=1).label_names == ("round",)
    assert read_arff(path, labels=["round", "red"]).label_names == ("round", "red")
    assert read_arff(path, labels=["round", "red"]).Y.tolist() == [[1, 0]]
    assert read_arff(path, labels="r").label_names == ("red", "round")
    assert read_arff(path, labels=0).Y is None
    xml = written(tmp_path, MULAN_XML, "other.xml")
    assert read_arff(path, labels=xml).label_names == ("the weight", "round")


@pytest.mark.parametrize(
    ("name", "text"), [("labels.txt", "round\n"), ("tiny.xml", MULAN_XML.replace("the weight", "red"))]
)
def test_a_list_of_labels_beside_the_file_is_used(tmp_path, name, text):
    written(tmp_path, text, name)
    rows = read_arff(written(tmp_path, HEADER + "1,1,0,1\n", "tiny-train.arff"))
    assert rows.label_names == (("round",) if name == "labels.txt" else ("red", "round"))


def test_new_rows_beside_a_list_of_labels_have_none(tmp_path):
    written(tmp_path, "sweet\n", "labels.txt")
    rows = read_arff(written(tmp_path, HEADER + "1,1,0,1\n"))
    assert rows.Y is None
    assert rows.n_features == 4


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (4, "labels=4 but .*tiny.arff has 4 columns"),
        (["blue"], r"tiny.arff has no column 'blue', .* last columns are \['size'"),
        (["red", "red"], "twice"),
        ("blue", "labels='blue' is neither a file nor how a column"),
        (["size"], "line 9: label 'size' is 7, expected 0 or 1"),
    ],
)
def test_labels_that_do_not_fit_are_named(tmp_path, labels, message):
    path = written(tmp_path, HEADER + "7,1,0,1\n")
    with pytest.raises(ValueError, match=message):
        read_arff(path, labels=labels)


def test_a_file_of_binary_columns_only_asks_for_labels(tmp_path):
    path = written(tmp_path, "@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n0,1\n")
    with pytest.raises(ValueError, match=r"every column .* is binary"):
        read_arff(path)
    assert read_arff(path, labels=1).label_names == ("b",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2,0", r"tiny.arff, line 10: '1,2,0' has 3 value\(s\), expected 4"),
        ("1,x,0,1", "tiny.arff, line 10, column 'the weight': 'x' is not a number"),
        ("1,?,0,1", "tiny.arff, line 10, column 'the weight': the value is missing"),
        ("1,2,2,1", "tiny.arff, line 10, column 'red': '2' is none of the declared values {0, 1}"),
        ("1,nan,0,1", r"tiny.arff, line 10 \(row 1\), column 'the weight': the value is nan"),
        ("inf,2,0,1", r"tiny.arff, line 10 \(row 1\), column 'size': the value is inf"),
    ],
)
def test_a_bad_cell_names_file_line_and_column(tmp_path, row, message):
    with pytest.raises(ValueError, match=message):
        read_arff(written(tmp_path, HEADER + f"1,2,0,1\n{row}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute a numeric\n", "no @data line"),
        ("@relation r\n@data\n1\n", "line 2: @data comes before any @attribute"),
        ("@attribute a numeric\n@data\n", "has no rows"),
        ("@attribute a string\n@data\nx\n", "line 1: attribute 'a' is 'string'"),
        ("@attribute a numeric\n@attribute a numeric\n@data\n", "line 2: attribute 'a' is declared twice"),
        ("hello\n", "line 1: 'hello' is no ARFF declaration"),
    ],
)
def test_a_bad_header_names_its_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_arff(written(tmp_path, text))


def test_missing_features_are_nan_where_allowed_but_labels_may_not_be_missing(tmp_path):
    rows = read_arff(written(tmp_path, HEADER + "?,2,0,1\n"), allow_missing=True)
    assert np.isnan(rows.X[0, 0])
    with pytest.raises(ValueError, match="column 'red': the value is missing"):
        read_arff(written(tmp_path, HEADER + "1,2,?,1\n"), allow_missing=True)


def test_nominal_attributes_become_columns(tmp_path):
    text = """@relation r
@attribute shape {'long, thin',flat,"it's"}
@attribute wet {no,yes}
@attribute level {1,3}
@attribute good {false,TRUE}
@data
'long, thin',yes,3,TRUE
"it's",no,1,false
"""
    rows = read_arff(written(tmp_path, text))
    assert rows.feature_names == ("shape=long, thin", "shape=flat", "shape=it's", "wet=yes", "level")
    assert rows.X.tolist() == [[1, 0, 0, 1, 3], [0, 0, 1, 0, 1]]
    assert rows.Y.tolist() == [[1], [0]]


def test_sparse_rows_give_a_sparse_matrix(tmp_path):
    rows = read_arff(written(tmp_path, HEADER + "{0 1.5, 3 1}\n{}\n{1 2,2 1}\n"))
    assert issparse(rows.X)
    assert rows.X.toarray().tolist() == [[1.5, 0], [0, 0], [0, 2]]
    assert rows.Y.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_what_a_sparse_row_leaves_out_is_the_first_declared_value(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute good {1,0}\n@data\n{0 2}\n{1 0}\n"
    assert read_arff(written(tmp_path, text), labels=1).Y.tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="'good' is 1 where a row leaves it out"):
        read_arff(written(tmp_path, text), labels=0)


@pytest.mark.parametrize("row", ["{9 1}", "{0 1, 0 2}", "{x 1}", "{0}", "1,2,0,1", "{0 x}"])
def test_a_bad_sparse_row_names_its_line(tmp_path, row):
    with pytest.raises(ValueError, match=r"tiny\.arff, line 10"):
        read_arff(written(tmp_path, HEADER + "{0 1}\n" + row + "\n"))


def test_packed_files_are_read(tmp_path):
    path = tmp_path / "tiny.arff.gz"
    path.write_bytes(gzip.compress((HEADER + "1,2,0,1\n").encode()))
    assert read_rows(path).label_names == ("red", "round")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.integers(0, 10**6))
def test_libsvm_agrees_with_scikit_learn(tmp_path_factory, n_rows, n_features, n_labels, zero_based, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(3) * (rng.random((n_rows, n_features)) < 0.6)
    X[:, 0] = 1  # a row with neither features nor labels would be a blank line
    Y = rng.integers(0, 2, (n_rows, n_labels))
    path = tmp_path_factory.mktemp("svm") / "rows.svm"
    dump_svmlight_file(X, Y, str(path), multilabel=True, zero_based=zero_based)
    rows = read_libsvm(path, labels=n_labels, n_features=n_features, zero_based=zero_based)
    np.testing.assert_allclose(rows.X.toarray(), X)
    np.testing.assert_array_equal(rows.Y, Y)


def test_libsvm_rows_may_lack_labels_or_features(tmp_path):
    rows = read_libsvm(written(tmp_path, "b,a 1:1 # why\n2:0.5\n\na\n", "t.svm"))
    assert rows.label_names == ("a", "b")
    assert rows.Y.tolist() == [[1, 1], [0, 0], [1, 0]]
    assert rows.X.toarray().tolist() == [[1, 0], [0, 0.5], [0, 0]]
    assert read_libsvm(written(tmp_path, "1:1\n", "u.svm")).Y is None


def test_libsvm_labels_are_in_order_of_number(tmp_path):
    assert read_libsvm(written(tmp_path, "10,2.0,+1 1:1\n", "t.svm")).label_names == ("1", "2", "10")


def test_a_libsvm_header_gives_the_sizes(tmp_path):
    rows = read_libsvm(written(tmp_path, "1 4 3\n0,2 1:1\n", "t.txt"))
    assert rows.X.shape == (1, 4)
    assert rows.Y.tolist() == [[1, 0, 1]]
    with pytest.raises(ValueError, match="announces 2 rows but has 1"):
        read_libsvm(written(tmp_path, "2 4 3\n0,2 1:1\n", "t.txt"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0 1:1\n0 1:x\n", {}, "t.svm, line 2: '1:x' is not position:value"),
        ("0 1:1\n0 1:1 2\n", {}, "t.svm, line 2: '2' is not position:value"),
        ("0 1:1 1:2\n", {}, "t.svm, line 1: position 1 stands twice"),
        ("0 0:1\n", {"zero_based": False}, "t.svm, line 1: position 0 is below 1"),
        ("0 3:1\n", {"n_features": 2}, "needs 3 features but n_features=2"),
        ("0 1:1\n4 1:1\n", {"labels": 2}, "t.svm, line 2: label '4' is none of the 2"),
        ("0 1:nan\n", {}, r"t.svm, line 1 \(row 0\), column '1': the value is nan"),
        ("# nothing\n", {}, "has no rows"),
    ],
)
def test_a_bad_libsvm_line_is_named(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read_libsvm(written(tmp_path, text, "t.svm"), **options)


CSV = 'size,"weight, kg",is_red,is_round\n1,2.5,0,1\n\n3,4,1,1\n'


@pytest.mark.parametrize("labels", [None, 2, "is_", ["is_red", "is_round"]])
def test_csv_labels_are_chosen_in_any_way(tmp_path, labels):
    rows = read_csv_rows(written(tmp_path, CSV, "t.csv"), labels=labels)
    assert rows.feature_names == ("size", "weight, kg")
    assert rows.label_names == ("is_red", "is_round")
    assert rows.X.tolist() == [[1, 2.5], [3, 4]]
    assert rows.Y.tolist() == [[0, 1], [1, 1]]


def test_a_csv_without_binary_columns_at_the_end_has_no_labels(tmp_path):
    rows = read_csv_rows(written(tmp_path, "a,b\n0,2\n", "t.csv"))
    assert rows.Y is None
    assert rows.label_names == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1\n", r"t.csv, line 3: 1 cell\(s\), expected 2"),
        ("a,b\n1,2\n1,x\n", "t.csv, line 3: column 'b' holds 'x', which is not a number"),
        ("a,b\n1,\n", "t.csv, line 2: column 'b' is empty"),
        ("a,b\n1,inf\n", r"t.csv, line 2 \(row 0\), column 'b': the value is inf"),
        ("a,a\n1,2\n", "column 2 is named 'a', which is taken"),
        ("1,2\n3,4\n", "are numbers, not names"),
        ("a,b\n", "no rows below its header"),
        ("", "no rows below its header"),
    ],
)
def test_a_bad_csv_cell_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_csv_rows(written(tmp_path, text, "t.csv"))


def test_rows_are_read_by_the_ending_of_the_name(tmp_path):
    assert read_rows(written(tmp_path, CSV, "t.CSV"), labels="is_").n_labels == 2
    assert read_rows(written(tmp_path, "0 1:1\n", "t.libsvm")).n_labels == 1
    with pytest.raises(ValueError, match=r"ends in '.parquet', which is no known format; give one of .arff"):
        read_rows(tmp_path / "t.parquet")


def test_labelled_rows_check_their_shapes():
    with pytest.raises(ValueError, match="X has 2 columns but there are 1 feature_names"):
        LabelledRows(np.ones((1, 2)), None, ("a",), ())
    with pytest.raises(ValueError, match="Y has shape"):
        LabelledRows(np.ones((1, 1)), np.ones((2, 1), np.int8), ("a",), ("b",))
    with pytest.raises(ValueError, match="Y is None but label_names"):
        LabelledRows(np.ones((1, 1)), None, ("a",), ("b",))
    with pytest.raises(ValueError, match="row 0 has no label set"):
        LabelledRows(np.ones((1, 1)), None, ("a",), ()).label_set(0)


ARFF_SCRAPS = [
    "@relation r",
    "@attribute a numeric",
    "@attribute b {0,1}",
    "@attribute 'c d' {x,'y,z'}",
    "@data",
]
SCRAPS = [
    *ARFF_SCRAPS,
    "1,0,x",
    "0.5,1,'y,z'",
    "{0 1, 1 1}",
    "{}",
    "?,0,x",
    "0,1 1:2 3:4",
    "1:1",
    "a,b,c",
    '"',
    "%",
    "",
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(SCRAPS) | st.text(max_size=8), max_size=8).map("\n".join),
    st.sampled_from([".arff", ".svm", ".csv"]),
    st.booleans(),
)
def test_any_text_is_read_or_refused_with_the_files_name(tmp_path_factory, text, ending, has_header):
    path = tmp_path_factory.mktemp("any") / f"any{ending}"
    text = "\n".join([*ARFF_SCRAPS, text]) if has_header else text
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        rows = read_rows(path)
    except ValueError as error:
        assert f"any{ending}" in str(error)  # noqa: PT017 - reading it is as good
    else:
        assert np.isfinite(rows.X.data if issparse(rows.X) else rows.X).all()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("folder", "name", "n_rows", "n_features", "n_labels", "labels_per_row"),
    [
        ("multilabel_scene", "scene-train.arff", 1211, 294, 6, 1.062),
        ("multilabel_scene", "scene-test.arff", 1196, 294, 6, 1.086),
        ("multilabel_yeast", "yeast-train.arff", 1500, 103, 14, 4.228),
        ("multilabel_yeast", "yeast-test.arff", 917, 103, 14, 4.252),
    ],
)
def test_mulan_sets_have_their_published_counts(folder, name, n_rows, n_features, n_labels, labels_per_row):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), folder, name)
    if not path.exists():
        pytest.skip(f"set WALKSTEP_DATA to a folder that holds {folder}")
    rows = read_rows(path)
    assert (rows.n_rows, rows.n_features, rows.n_labels) == (n_rows, n_features, n_labels)
    assert rows.Y.sum() / n_rows == pytest.approx(labels_per_row, abs=5e-4)
