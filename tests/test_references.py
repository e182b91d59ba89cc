from typing import NamedTuple

import numpy as np
import pytest
from numba import int64, typeof
from numba.core.errors import TypingError

from walkstep.compiled import compiled
from walkstep.references import LARGE, Reference, class_of, refer
from walkstep.separate import is_separate, separate


class Inner(NamedTuple):
    counts: np.ndarray
    scale: float


class Outer(NamedTuple):
    values: np.ndarray
    inner: Inner
    size: int


class Small(NamedTuple):
    values: np.ndarray
    size: int


@pytest.fixture(autouse=True)
def outer_is_large():
    LARGE.add(Outer)
    yield
    LARGE.discard(Outer)


def outer():
    return Outer(np.arange(4.0), Inner(np.zeros(3, np.int64), 2.5), 7)


@compiled(allocates=False)
def read(struct, k):
    here = refer(struct)
    return here.values[k] * here.inner.scale + here.size


@compiled(allocates=False)
def write(struct, k):
    here = refer(struct)
    inner = here.inner
    inner.counts[k] += 1
    here.values[k] = -1.0


@compiled(allocates=False)
def read_small(struct, k):
    here = refer(struct)
    return here.values[k] + here.size


@separate
def add_up(struct, scale):
    """The sum of the values."""
    total = 0.0
    for x in struct.values:
        total += x
    return total * scale


@separate
def refuse(struct, limit):
    if struct.size > limit:
        raise ValueError("too large")
    return struct.size


@compiled(allocates=False)
def call_add_up(struct, scale):
    return add_up(refer(struct), scale)


@compiled(allocates=False)
def call_refuse(struct, limit):
    return refuse(refer(struct), limit) + 1


@compiled(allocates=False)
def misnamed(struct):
    return refer(struct).nothing


def test_fields_are_read_through_an_address():
    assert [read(outer(), k) for k in range(4)] == [7.0, 9.5, 12.0, 14.5]


def test_arrays_are_written_through_an_address_also_of_a_struct_within():
    struct = outer()
    write(struct, 2)
    assert struct.values.tolist() == [0.0, 1.0, -1.0, 3.0]
    assert struct.inner.counts.tolist() == [0, 0, 1]


def test_a_struct_that_is_not_large_is_handed_on_as_it_is():
    assert read_small(Small(np.arange(3.0), 5), 2) == 7.0


def test_a_field_that_is_not_there_does_not_compile():
    with pytest.raises(TypingError, match="nothing"):
        misnamed(outer())


def test_the_class_behind_an_address_is_known():
    assert class_of(Reference(typeof(outer()))) is Outer
    assert class_of(typeof(Small(np.zeros(1), 1))) is Small
    with pytest.raises(TypeError, match="a world is a NamedTuple, not int64"):
        class_of(int64)


def test_separate_functions_are_called_by_name():
    struct = outer()
    assert call_add_up(struct, 2.0) == 12.0
    assert is_separate(add_up)
    assert not is_separate(read)
    assert add_up.__doc__ == "The sum of the values."


def test_errors_raised_in_separate_functions_reach_the_caller():
    struct = outer()
    assert call_refuse(struct, 10) == 8
    with pytest.raises(ValueError, match="too large"):
        call_refuse(struct, 3)
