import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.hierarchical import read_hierarchical
from walkstep.data.trees import tree_from_paths

ARFF = """% Clus writes it so
@RELATION 'tiny'
@ATTRIBUTE size NUMERIC
@ATTRIBUTE wet {no,yes}
@ATTRIBUTE class     hierarchical\t 2, 2/1,2/0/5,9/1
@DATA
1.5,yes,2/0/5@9/1
?,no,2

-2,no,9@2/1
"""
CSV = "size,classes,age\n1.5,b/x@a,?\n,b,7\nNA,,8\n"


def written(folder, text, name):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_last_attribute_of_an_arff_file_is_the_tree(tmp_path):
    rows = read_hierarchical(written(tmp_path, ARFF, "tiny.arff"))
    assert rows.tree.names == ("", "2", "2/1", "2/0", "2/0/5", "9", "9/1")
    np.testing.assert_array_equal(rows.X, [[1.5, 1], [np.nan, 0], [-2, 0]])
    assert rows.feature_names == ("size", "wet=yes")
    assert rows.values.tolist() == [[1, 1, 0, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 1, 0]]
    assert rows.label_set(2) == ("2", "2/1", "9")
    assert rows.values.dtype == np.int8


def test_new_rows_are_read_onto_the_tree_of_others(tmp_path):
    tree = tree_from_paths(["9/1", "2/0/5", "2/1", "4"])
    rows = read_hierarchical(written(tmp_path, ARFF, "tiny.arff"), tree=tree)
    assert rows.tree is tree
    assert rows.label_set(2) == ("9", "2", "2/1")
    table = read_hierarchical(written(tmp_path, "x,classes\n1,2/1@9\n", "tiny.csv"), tree=tree)
    assert table.values.tolist() == rows.values[2:].tolist()


def test_classes_may_be_unknown_in_all_rows(tmp_path):
    text = ARFF[: ARFF.index("@DATA")] + "@DATA\n1,yes,?\n2,no,?\n"
    rows = read_hierarchical(written(tmp_path, text, "new.arff"))
    assert rows.values is None
    assert rows.X.tolist() == [[1, 1], [2, 0]]
    assert read_hierarchical(written(tmp_path, ARFF, "tiny.arff"), None).values is None


def test_a_column_of_a_table_holds_classes(tmp_path):
    rows = read_hierarchical(written(tmp_path, CSV, "tiny.csv"))
    assert rows.tree.names == ("", "a", "b", "b/x")
    np.testing.assert_array_equal(rows.X, [[1.5, np.nan], [np.nan, 7], [np.nan, 8]])
    assert rows.feature_names == ("size", "age")
    assert rows.tree.label_sets(rows.values) == [("a", "b", "b/x"), ("b",), ()]


def test_the_tree_of_a_table_does_not_depend_on_the_order_of_rows(tmp_path):
    one = read_hierarchical(written(tmp_path, "x,kind\n1,b/10@a\n2,b/2\n", "one.csv"), "kind")
    other = read_hierarchical(written(tmp_path, "x,kind\n2,b/2\n1,a\n3,b/10@b\n", "other.csv"), "kind")
    assert one.tree == other.tree


@pytest.mark.parametrize("text", ["x,classes\n1,a/b\n", "x\n1\n"])
def test_classes_are_left_out_where_they_are_not_asked_for(tmp_path, text):
    rows = read_hierarchical(written(tmp_path, text, "t.csv"), None, tree=tree_from_paths(["c", "d"]))
    assert rows.values is None
    assert rows.feature_names == ("x",)


def test_packed_files_are_read(tmp_path):
    for name, text in (("t.ARFF.gz", ARFF), ("t.csv.gz", CSV)):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()))
        assert read_hierarchical(path).n_rows == 3


SCRAPS = ["1,1/2", "?,1", "2,1@3", "{0 1}", "'a,b',1", "?", "%", ",", '1,"3"', "x,1", "@data", ""]


@given(st.lists(st.sampled_from(SCRAPS) | st.text(max_size=6), max_size=6), st.sampled_from([".arff", ".csv"]))
def test_any_text_is_read_or_refused_with_the_files_name(tmp_path_factory, lines, ending):
    path = tmp_path_factory.mktemp("any") / f"any{ending}"
    head = "@attribute x numeric\n@attribute c hierarchical 1/2,3\n@data\n" if ending == ".arff" else "x,classes\n"
    path.write_bytes((head + "\n".join(lines)).encode("utf-8", "surrogatepass"))
    try:
        rows = read_hierarchical(path)
    except ValueError as error:
        assert f"any{ending}" in str(error)  # noqa: PT017 - reading it is as good
    else:
        assert rows.X.shape == (rows.n_rows, rows.n_features) == (rows.n_rows, 1)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n_rows", "n_features", "n_classes", "given_per_row", "are_closed"),
    [
        ("ImCLEF07A_Train", 10_000, 80, 96, 3.00, True),
        ("ImCLEF07A_Test", 1006, 80, 96, 3.00, True),
        ("Diatoms_train", 2065, 371, 398, 1.00, False),
        ("Diatoms_test", 1054, 371, 398, 1.00, False),
        ("cellcycle_FUN.train", 1628, 77, 499, 3.23, False),
        ("cellcycle_FUN.valid", 848, 77, 499, 3.15, False),
        ("cellcycle_FUN.test", 1281, 77, 499, 3.28, False),
    ],
)
def test_the_hierarchical_sets_have_their_published_counts(
    name, n_rows, n_features, n_classes, given_per_row, are_closed
):
    try:
        rows = read_hierarchical(find("hmc") / f"{name}.arff.gz")
    except DataNotFound as error:
        pytest.skip(str(error))
    assert (rows.n_rows, rows.n_features, len(rows.tree.labels)) == (n_rows, n_features, n_classes)
    n_given = sum(map(len, rows.tree.label_sets(rows.values, most_specific=not are_closed)))
    assert n_given / n_rows == pytest.approx(given_per_row, abs=0.01)
    assert np.isnan(rows.X).any() == name.startswith("cellcycle")
