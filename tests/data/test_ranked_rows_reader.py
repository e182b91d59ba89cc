import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.ranked_rows import read_ranked_rows

CSV = "size,town,ranking,age\n1.5,Rome,b>a,?\n-2,, a = b ,7\nNA,Oslo,,8\n"


def written(folder, text, name="rows.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_stay_and_other_columns_become_one_for_each_value(tmp_path):
    rows = read_ranked_rows(written(tmp_path, CSV))
    assert rows.feature_names == ("size", "town=Oslo", "town=Rome", "age")
    expected = [[1.5, 0, 1, np.nan], [-2, 0, 0, 7], [np.nan, 1, 0, 8]]
    np.testing.assert_array_equal(rows.X, expected)
    assert rows.categories == {"town": ("Oslo", "Rome")}
    assert rows.rankings.texts() == ["b>a", "a=b", ""]


def test_new_rows_are_read_with_the_categories_of_others(tmp_path):
    rows = read_ranked_rows(written(tmp_path, CSV), categories={"town": ("Rome", "Bonn")})
    assert rows.feature_names == ("size", "town=Rome", "town=Bonn", "age")
    assert rows.X[:, 1:3].tolist() == [[1, 0], [0, 0], [0, 0]]
    numbers = read_ranked_rows(written(tmp_path, "zip,ranking\n10,a>b\n20,b>a\n"), categories={"zip": ["20"]})
    assert numbers.X.tolist() == [[0], [1]]


def test_labels_may_be_given_in_another_order(tmp_path):
    rows = read_ranked_rows(written(tmp_path, CSV), label_names=["c", "b", "a"])
    np.testing.assert_array_equal(rows.rankings.places[0], [np.nan, 0, 1])


@pytest.mark.parametrize("text", ["x,ranking\n1,b>a\n2,a>b\n", "x\n1\n2\n"])
def test_rankings_are_left_out_where_they_are_not_asked_for(tmp_path, text):
    rows = read_ranked_rows(written(tmp_path, text), ranking=None)
    assert rows.rankings is None
    assert rows.feature_names == ("x",)


def test_a_number_called_ranking_is_a_feature_where_rankings_stand_elsewhere(tmp_path):
    path = written(tmp_path, "ranking,best\n4,b>a\n")
    assert read_ranked_rows(path, "best").feature_names == ("ranking",)
    assert read_ranked_rows(written(tmp_path, "ranking,x\n4,1\n"), None).feature_names == ("ranking", "x")


def test_packed_files_with_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + CSV.encode()))
    assert read_ranked_rows(path).n_rows == 3


@given(st.lists(st.sampled_from(["x,ranking", "1,a>b", "q,b=a", '"', ",", "1,>", "?,a", ""]) | st.text(max_size=6)))
def test_any_table_is_read_or_refused_with_its_name(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "any.csv"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    try:
        rows = read_ranked_rows(path)
    except ValueError as error:
        assert "any.csv" in str(error)  # noqa: PT017 - reading it is as good
    else:
        assert rows.X.shape == (rows.rankings.n_rows, rows.n_features)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns", "n_labels", "n_distinct"),
    [
        ("iris", 150, 4, 3, 5),
        ("wine", 178, 13, 3, 5),
        ("glass", 214, 9, 6, 30),
        ("vehicle", 846, 18, 4, 18),
        ("vowel", 528, 10, 11, 294),
        ("authorship", 841, 70, 4, 17),
        ("housing", 506, 6, 6, 112),
        ("stock", 950, 5, 5, 51),
        ("sushi", 5000, 10, 10, 4926),
    ],
)
def test_the_sets_of_label_ranking_have_their_published_counts(name, n_rows, n_columns, n_labels, n_distinct):
    try:
        rows = read_ranked_rows(find("label_ranking") / f"{name}.csv")
    except DataNotFound as error:
        pytest.skip(str(error))
    assert (rows.n_rows, rows.rankings.n_labels) == (n_rows, n_labels)
    assert len({feature.split("=")[0] for feature in rows.feature_names}) == n_columns
    assert rows.rankings.is_complete
    assert len(set(rows.rankings.texts())) == n_distinct
    assert np.isfinite(rows.X).all()
