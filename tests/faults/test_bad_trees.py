import re

import numpy as np
import polars as pl
import pytest

from walkstep.data.hierarchical_rows import HierarchicalRows
from walkstep.data.readers import read_arff
from walkstep.data.readers.hierarchical import read_hierarchical
from walkstep.data.subtrees import read_subtrees, subtrees_as_given
from walkstep.data.trees import Tree, tree_from, tree_from_paths


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [("a", "b"), ("b", "c"), ("c", "a")],
            "'a' below 'c' below 'b' below 'a' is a cycle; take one of its edges out",
        ),
        ([("a", "b"), ("x", "y"), ("y", "x")], "'x' below 'y' below 'x' is a cycle"),
        ([("x", "y"), ("y", "x"), ("y", "z")], "is a cycle"),
        ([(f"n{k}", f"n{(k + 1) % 20}") for k in range(20)], "below ... below 'n0' is a cycle"),
        ([("a", "c"), ("b", "c")], "edge 1: 'c' is below 'b' and below 'a' too; a tree gives each node one parent"),
        ([(None, "c"), ("b", "c")], "edge 1: 'c' is below 'b' and at the top too"),
        ([("a", "b"), ("a", "a")], "edge 1: 'a' is its own parent; give it another, or none"),
        ([], "the tree has no nodes; give at least one"),
        ({}, "the tree has no nodes"),
        ({"a": ["b"], "b": {}}, "two nodes are named 'b'; give each node a name of its own"),
        ({"a": {"a": {}}}, "two nodes are named 'a'"),
        (pl.DataFrame({"parent": ["a"]}), "the table of edges has the columns ('parent',); give it two"),
    ],
)
def test_what_is_no_tree_is_named(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        tree_from(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a/b", "the tree is 'a/b'; give nested dicts, pairs (parent, child), or a dataframe of these"),
        (["a/b", "ab"], "edge 0 is 'a/b'; give pairs (parent, child), or make a tree of paths with tree_from_paths"),
        ([("a", "b", "c")], "edge 0 is ('a', 'b', 'c'); give pairs"),
        ([("a", None)], "edge 0: None is no name of a node; give a string that is not empty"),
        ([("a", 1.5)], "edge 0: 1.5 is no name of a node"),
        ([(" ", "b")], "edge 0: ' ' is no name of a node"),
        ({"a": "b"}, "below 'a' stands 'b'; give a dict, a list of names, or None"),
        ({"a": [None]}, "None is no name of a node"),
    ],
)
def test_what_holds_no_tree_is_named(given, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        tree_from(given)


@pytest.mark.parametrize("path", ["", "a//b", "/a", "a/", "a/ /b", None])
def test_a_path_with_a_level_of_no_name_is_refused(path):
    with pytest.raises(ValueError, match=r"path 1 is .*, in which a level has no name; write it like 6/2"):
        tree_from_paths(["a", path])


@pytest.mark.parametrize(
    ("names", "parent", "message"),
    [
        ((), [], "there are 0 names, but parent has shape (0,)"),
        (("a", "b"), [-1], "there are 2 names, but parent has shape (1,)"),
        (("a", "b"), [-1, 1], "parents do not come before their children, the root first"),
        (("a", "b"), [0, 0], "parents do not come before their children"),
        (("a", "b", "c", "d"), [-1, 0, 0, 1], "the branch that has 'c' is torn; make the tree with tree_from"),
        (("a", "b", "b"), [-1, 0, 0], "two nodes are named 'b'"),
        (("a", ""), [-1, 0], "a node below the root has no name"),
    ],
)
def test_trees_check_what_they_hold(names, parent, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Tree(names, np.array(parent, np.int64))


TREE = tree_from({"animal": ["dog", "cat"], "plant": ["oak"]})


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([["dog"], ["dgo"]], "row 1: 'dgo' is no node of the tree; near it: 'dog'"),
        (["dog", "cat@xyz"], "row 1: 'xyz' is no node of the tree; there are 'animal', 'dog', 'cat', 'plant', 'oak'"),
        (["dog@"], "row 0: '' is no node of the tree"),
        ([[""], []], "row 0: '' is no node of the tree"),
        ([["dog", 3]], "row 0: 3 is no node of the tree"),
        ([[0, 1], [1, 0]], "the classes have 2 columns, but the tree has 5 labels; give a column for each label"),
        ([[0, 1, 0, 0, 0], [0, 0, 2, 0, 0]], "row 1: class 'cat' is 2; give 0 or 1"),
        ([[0, 1, 0, 0, np.nan]], "row 0: class 'oak' is nan; give 0 or 1"),
        (pl.DataFrame({"animal": [1], "dgo": [0]}), "column 'dgo' is no node of the tree; near it: 'dog'"),
        (pl.DataFrame({"animal": [1], "dog": [0]}), "the classes have no column 'cat'; give a column for each label"),
        ([], "the classes have no rows"),
    ],
)
def test_classes_that_cannot_be_read_are_named(classes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_subtrees(classes, TREE)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("dog", "the classes are 'dog'; give a sequence with one thing for each row, or a matrix"),
        (["dog", 3], "row 1: 3 is no text, but other rows are; write classes like 'a@b'"),
        ([["dog"], 3], "row 1: 3 is no set of classes; give names in a set or list, or joined by '@'"),
        ([["dog"], {"dog": 1}], "row 1: {'dog': 1} is no set of classes"),
    ],
)
def test_classes_of_a_wrong_type_are_named(classes, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        read_subtrees(classes, TREE)


def test_values_that_do_not_fit_the_tree_are_refused():
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\); give \(n_rows, n_nodes\), here 6 nodes"):
        TREE.closed([[0, 1]])
    with pytest.raises(ValueError, match="row 0 is 2 at 'animal'; give 0 or 1"):
        TREE.label_sets([[1, 2, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="form is 'set'; give sets, texts or matrix"):
        subtrees_as_given([[1, 0, 0, 0, 0, 0]], TREE, "set")
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\), expected \(rows, nodes of the tree\) = \(1, 6\)"):
        HierarchicalRows(np.ones((1, 1)), np.ones((1, 2), np.int8), TREE, ("size",))
    with pytest.raises(ValueError, match="give one name a column"):
        HierarchicalRows(np.ones((1, 1)), None, TREE, ())
    with pytest.raises(ValueError, match="the classes of row 0 are not known"):
        HierarchicalRows(np.ones((1, 1)), None, TREE, ("size",)).label_set(0)


HEADER = "@relation r\n@attribute x numeric\n@attribute class hierarchical 1,1/2,3\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,1/2\n2,1/7\n", "line 6: '1/7' is no node of the tree; near it: '1/2'; correct it, or add it"),
        (HEADER + "1,1/2\n2\n", "line 6: '2' has 1 value(s), expected 2, one for each attribute; correct the line"),
        (HEADER + "1,2,1/2\n", "line 5: '1,2,1/2' has 3 value(s), expected 2"),
        (HEADER + "x,1/2\n", "line 5, column 'x': 'x' is not a number"),
        (HEADER + "inf,1/2\n", "line 5 (row 0), column 'x': the value is inf"),
        (HEADER + "1,1/2\n1,?\n", "line 6: the classes are missing, but other rows have some; fill them in"),
        (HEADER + "{0 1, 1 3}\n", "line 5: '{0 1, 1 3}' is a sparse row; write a value for each attribute"),
        (HEADER, "has no rows after @data"),
        ("@attribute class hierarchical 1,2\n@data\n1\n", "has no attribute of features; give at least one"),
        (HEADER.replace("1/2", "1//2") + "1,1\n", "attribute 'class': path 1 is '1//2', in which a level has no name"),
        (
            HEADER.replace("hierarchical 1,1/2,3", "{1,2}") + "1,1\n",
            "the last attribute is 'class'; let it be the only",
        ),
        (
            HEADER.replace("x numeric", "x hierarchical 1") + "1,1\n",
            "the last attribute is 'class'; let it be the only",
        ),
    ],
)
def test_a_bad_line_of_a_hierarchical_file_is_named(tmp_path, text, message):
    path = tmp_path / "rows.arff"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}") + ".*" + re.escape(message)):
        read_hierarchical(path)


def test_label_sets_are_not_read_from_a_hierarchical_file(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(HEADER + "1,1/2\n")
    with pytest.raises(ValueError, match="attribute 'class' is hierarchical; read it by read_hierarchical"):
        read_arff(path)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,classes\n1,a/b\n2,a/c\n", {"tree": TREE}, "line 2: 'a/b' is no node of the tree"),
        ("x,classes\n1,a/b\n2,a//c\n", {}, "line 3: a level of class 'a//c' has no name; write it like 6/2/0"),
        ("x,kind\n1,a/b\n", {}, "has no column 'classes' of classes; its last columns are ['x', 'kind']; name it"),
        ("x,classes\n1,a/b\nq,c\n", {}, "line 3: column 'x' holds 'q', which is not a number; recode or remove"),
        ("x,classes\n1,\n", {}, "has no class in any row; pass tree= if classes are not known"),
        ("x\n1\n", {"classes": None}, "is read without classes, so that their tree is not known; pass tree="),
        ("classes\na\n", {}, "has no column of features"),
    ],
)
def test_a_bad_cell_of_a_table_of_classes_is_named(tmp_path, text, options, message):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}") + ".*" + re.escape(message)):
        read_hierarchical(path, **options)


def test_an_unknown_ending_is_refused():
    with pytest.raises(ValueError, match=r"rows.xlsx ends in '.xlsx', which is no known format; give .arff or .csv"):
        read_hierarchical("rows.xlsx")
