import re

import numpy as np
import polars as pl
import pytest

from walkstep.data.ranked_rows import RankedRows
from walkstep.data.rankings import Rankings, as_given, dense_places, read_rankings
from walkstep.data.readers.ranked_rows import read_ranked_rows


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        (["a>b", "a>b>a"], "row 1 ranks 'a' twice; give each label one place"),
        (["a>b", "a=b=a"], "row 1 ranks 'a' twice"),
        (["a>b", "a>>b"], "row 1: 'a>>b' lacks a label beside one of its signs; write it like 'c>a=b>d'"),
        (["a>b", ">"], "row 1: '>' lacks a label"),
        ([["a", "b"], ["b", "b"]], "row 1 ranks 'b' twice"),
        (["a", ""], "the rankings name 1 label(s); rank at least 2, or give label_names"),
        ([[], []], "the rankings name 0 label(s)"),
        ([[1, 2], [1]], "row 1 of the rankings has 1 numbers, but row 0 has 2; give a matrix with a number for each"),
        ([[1, 2], [np.inf, 1]], "row 1, column 0 of the rankings is inf; give a finite place, or NaN where"),
        ([[1], [2]], "label_names is ('label0',); a ranking is of at least 2 labels"),
        ([], "the rankings have no rows; give at least one"),
        (np.ones(3), "the rankings have shape (3,); give a matrix (n_rows, n_labels)"),
        (np.ones((0, 3)), "the rankings have no rows"),
    ],
)
def test_rankings_that_cannot_be_read_are_named(rankings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_rankings(rankings)


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ("a>b", "the rankings are 'a>b'; give a sequence with one thing for each row, or a matrix"),
        (7, "the rankings are 7; give a sequence"),
        ({"a": 1}, "the rankings are {'a': 1}; give a sequence"),
        (["a>b", 3], "row 1: 3 is no text, but other rankings are; write it like"),
        ([["a", "b"], ["a", 3]], "row 1: 3 is no label and no tie of labels; name labels by strings"),
        ([["a", []]], "row 0: [] is no label and no tie"),
        ([["a", "b"], 5], "row 1: 5 has no order; give a text like 'c>a=b>d', or a list of labels, the best first"),
        ([{"a"}], "row 0: {'a'} has no order"),
        ([{"a": 1, "b": 2}], "row 0: {'a': 1, 'b': 2} has no order"),
    ],
)
def test_rankings_of_a_wrong_type_are_named(rankings, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        read_rankings(rankings)


def test_labels_that_do_not_fit_the_names_are_refused():
    message = "row 1 ranks 'x', which is none of the labels 'a', 'b'; correct it, or name it in label_names"
    with pytest.raises(ValueError, match=message):
        read_rankings(["a>b", "x>a"], ["a", "b"])
    with pytest.raises(ValueError, match=r"have 2 columns, but there are 3 labels: a, b, c; give a column for each"):
        read_rankings([[0, 1]], ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"are of \('a', 'b'\), but the labels are \('a', 'c'\)"):
        read_rankings(pl.DataFrame({"a": [0], "b": [1]}), ["a", "c"])
    with pytest.raises(ValueError, match="give each label a name of its own"):
        read_rankings([[0, 1]], ["a", "a"])


def test_a_table_with_two_columns_of_one_name_is_refused():
    class Table:
        columns = ("a", "a")

        def to_numpy(self):
            return np.ones((1, 2))

    with pytest.raises(ValueError, match="two columns of the table are named 'a'; rename one of them"):
        read_rankings(Table())


def test_rankings_check_what_they_hold():
    with pytest.raises(ValueError, match=r"places has shape \(1, 2\), but there are 3 label_names"):
        Rankings(np.zeros((1, 2)), ("a", "b", "c"))
    with pytest.raises(ValueError, match=r"row 1 has the places \[0.0, 2.0\]; number places 0, 1, 2, ... without gaps"):
        Rankings(np.array([[0.0, 1.0], [0.0, 2.0]]), ("a", "b"))
    with pytest.raises(ValueError, match="label 'b=c' cannot stand in a text"):
        Rankings(np.array([[0.0, 1.0]]), ("a", "b=c")).texts()
    with pytest.raises(ValueError, match=r"the places have shape \(2,\)"):
        dense_places([0, 1])
    with pytest.raises(ValueError, match=r"places has shape \(1, 2\), but there are 3 label_names"):
        as_given([[0, 1]], "abc", "texts")
    with pytest.raises(ValueError, match="X has 2 rows but there are 1 rankings"):
        RankedRows(np.ones((2, 1)), Rankings(np.array([[0.0, 1.0]]), ("a", "b")), ("size",))
    with pytest.raises(ValueError, match="there are 2 feature_names; give one name a column"):
        RankedRows(np.ones((2, 1)), None, ("size", "age"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,ranking\n1,a>b\n2,a>c>a\n", {}, "line 3 ranks 'a' twice"),
        ("x,ranking\n1,a>b\n\n2,a>\n", {}, "line 4: 'a>' lacks a label"),
        ("x,ranking\n1,a>b\n", {"label_names": ["a", "c"]}, "line 2 ranks 'b', which is none of the labels"),
        ("x,order\n1,a>b\n", {}, "has no column 'ranking' of rankings; its last columns are ['x', 'order']; name it"),
        ("x,ranking\n1,\n", {}, "the rankings name 0 label(s); rank at least 2, or give label_names"),
        ("ranking\na>b\n", {}, "has no column of features"),
        ("x,ranking\ninf,a>b\n", {}, "line 2 (row 0), column 'x': the value is inf"),
        ("x,ranking\n1,a>b\none,a>b\n", {"categories": {}}, "line 3: column 'x' holds 'one', which is not a number; "),
        ("x,ranking\n1,a>b\n", {"categories": {"y": ["1"]}}, "has no column 'y', which categories asks for"),
        ("x,x=1,ranking\n1,2,a>b\nq,2,a>b\n", {}, "has two columns of features called 'x=1'; rename one of them"),
        ("x,ranking\n1\n", {}, "line 2: 1 cell(s), expected 2 as in the header; complete the line"),
        ("x,ranking\n", {}, "has no rows below its header"),
        ("x,x\n1,2\n", {}, "column 2 is named 'x', which is taken"),
    ],
)
def test_a_bad_cell_of_a_table_of_rankings_is_named(tmp_path, text, options, message):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}") + ".*" + re.escape(message)):
        read_ranked_rows(path, **options)
