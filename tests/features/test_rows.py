import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from walkstep.features.rows import SparseRows, check_rows, rows_from_dense, rows_from_scipy

matrices = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=st.integers(-2, 2)
)


@given(matrices)
def test_dense_rows_come_back(matrix):
    rows = check_rows(rows_from_dense(matrix))
    np.testing.assert_array_equal(rows.to_scipy().toarray(), matrix)
    assert rows.ptr.dtype == np.int64
    assert rows.index.dtype == np.int32
    assert rows.value.dtype == np.float64


def test_repeated_entries_are_added_up_without_touching_the_original():
    matrix = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    rows = rows_from_scipy(matrix)
    assert (rows.index.tolist(), rows.value.tolist()) == ([1], [2.0])
    assert matrix.nnz == 2


def test_binary_rows_drop_their_numbers():
    rows = rows_from_scipy(sparse.coo_array([[0, 1], [1, 1]]), binary=True)
    assert rows.is_binary
    assert rows.to_scipy().toarray().tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(bad):
    matrix = np.zeros((3, 4))
    matrix[2, 1] = bad
    with pytest.raises(ValueError, match=f"row 2, column 1 holds {bad}"):
        rows_from_dense(matrix)
    with pytest.raises(ValueError, match=f"row 2, column 1 holds {bad}"):
        rows_from_scipy(sparse.csr_array(matrix))


@pytest.mark.parametrize(
    ("ptr", "index", "value", "message"),
    [
        ([0, 3], [0, 1], [], "there are 2 entries"),
        ([0, 2, 1, 2], [0, 1], [], "ptr falls after row 1"),
        ([0, 1, 2], [0, 5], [], "row 1 names column 5; there are 3"),
        ([0, 1, 2], [0, -1], [], "row 1 names column -1"),
        ([0, 1, 2], [0, 1], [1.0], "2 entries but 1 values"),
        ([0, 1, 2], [0, 1], [1.0, np.nan], "row 1, column 1 holds nan"),
        ([0, 1, 3], [0, 2, 2], [], "row 1 has column 2 twice"),
    ],
)
def test_rows_that_do_not_hold_together_are_refused(ptr, index, value, message):
    with pytest.raises(ValueError, match=message):
        check_rows(SparseRows(np.array(ptr), np.array(index, np.int32), np.array(value), 3))


def test_one_dimension_is_not_enough():
    with pytest.raises(ValueError, match=r"shape \(3,\); give two dimensions"):
        rows_from_dense([1.0, 2.0, 3.0])
