"""Helpers that are compiled only as far as their callers need, and what a loop from disk needs of others."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from walkstep.compiled import compiled

LOOP = """
from typing import NamedTuple
import numpy as np
from walkstep.compiled import compiled
from walkstep.references import LARGE, refer
from walkstep.separate import separate

class Numbers(NamedTuple):
    values: np.ndarray

LARGE.add(Numbers)

@separate
def first(numbers):
    return numbers.values[0]

@separate
def first_but_one(numbers):
    return first(numbers) + numbers.values[1]

@compiled(inline=True)
def through_a_part(numbers):
    return first_but_one(numbers) + 1.0

@compiled(allocates=False)
def loop(numbers):
    return through_a_part(refer(numbers))

@compiled(allocates=False)
def loop_of_a_loop(numbers):
    return 10.0 * loop(numbers)

numbers = Numbers(np.array([2.0, 3.0]))
"""


@compiled(inline=True)
def doubled(x, by):
    return x * by


@compiled(part=True, allocates=False)
def summed(values, first):
    total = 0.0
    for k in range(first, len(values)):
        total += doubled(values[k], 2)
    return total


@compiled(allocates=False)
def all_and_some(values, first):
    return summed(values, 0) + summed(values, first)


def test_parts_work_in_loops_and_a_constant_makes_no_other_one():
    assert all_and_some(np.arange(4.0), 2) == 12.0 + 10.0
    all_and_some.recompile()  # a loop that an earlier run has left on disk needs no parts
    assert len(summed.signatures) == 1


def test_parts_can_be_called_from_python_too():
    assert summed(np.arange(4.0), 1) == 12.0
    assert doubled(3, 4) == 12


@pytest.mark.parametrize("is_enabled", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(is_enabled):
    loop = compiled(lambda x: x + 1)
    before = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        assert loop(1) == 2
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_a_loop_from_disk_brings_the_separate_functions_it_calls(tmp_path):
    (tmp_path / "a_loop.py").write_text(LOOP)
    environment = os.environ | {"WALKSTEP_CACHE": str(tmp_path / "cache")}

    def said(name):
        code = f"from a_loop import {name}, numbers; print({name}(numbers), sum({name}.stats.cache_hits.values()))"
        command = [sys.executable, "-c", code]
        made = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return made.stdout.split()

    assert said("loop") == ["6.0", "0"]
    assert said("loop") == ["6.0", "1"]
    # Compiled while what it calls comes from disk, then itself from there.
    assert said("loop_of_a_loop") == ["60.0", "0"]
    assert said("loop_of_a_loop") == ["60.0", "1"]
