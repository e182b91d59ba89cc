"""Loops that are called again and again on the same structs."""

from typing import NamedTuple

import numpy as np
import pytest

from walkstep.compiled import Again, compiled


class Held(NamedTuple):
    values: np.ndarray


@compiled(allocates=False)
def add_up(held, weight):
    total = 0.0
    for k in range(len(held.values)):
        if held.values[k] < 0:
            raise ValueError("a value is negative")
        total += weight * held.values[k]
    return total


def test_the_same_struct_is_read_anew_at_every_call():
    again, held = Again(add_up), Held(np.arange(3.0))
    assert again(held, 2.0) == 6.0
    held.values[0] = 10.0
    assert again(held, 3.0) == 39.0


def test_another_struct_may_have_other_types():
    again = Again(add_up)
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    for values in (np.arange(3.0), np.arange(3), frozen, np.arange(6.0)[::2], np.arange(3.0)):
        for _ in range(2):
            assert again(Held(values), 1.0) == values.sum()


def test_errors_raised_in_the_loop_reach_the_caller_at_every_call():
    again, held = Again(add_up), Held(np.array([-1.0]))
    for _ in range(2):
        with pytest.raises(ValueError, match="a value is negative"):
            again(held, 1.0)
