"""A space as compiled loops see it: functions behind their addresses, and the arrays they read.

Every space has the same Numba type, so that a loop compiled once serves them all, a user's own included, and is found
again on disk.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from walkstep.compiled import compiled, own_pointer


class Structure(NamedTuple):
    """What a space answers in compiled code; ``ints`` and ``floats`` are what its own functions read."""

    draw: Any  # (ints, floats, values, rng): write a structure that is as likely as any other
    statistics: Any  # (ints, floats, values, out): write psi(y), (n_statistics,)
    move: Any  # (ints, floats, values, sites, new_values, size, rng) -> log q(back) - log q(there)
    difference: Any  # (ints, floats, values, sites, new_values, size, index, amount) -> how many statistics change
    ints: NDArray[np.int64]
    floats: NDArray[np.float64]
    has_move: bool
    has_difference: bool


_INTS = types.Array(types.int64, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_VALUES, _RNG = types.int32[::1], types.uint64[::1]
_CHANGE = (types.int64[::1], types.int32[::1], types.int64[::1])  # sites, new values, size
_ENTRIES = (types.int64[::1], types.float64[::1])  # index, amount

# What users write has no arrays of ours before it.
OWN_DRAW = types.void(_VALUES, _RNG)
OWN_STATISTICS = types.void(_VALUES, types.float64[::1])
OWN_MOVE = types.float64(_VALUES, *_CHANGE, _RNG)
OWN_DIFFERENCE = types.int64(_VALUES, *_CHANGE, *_ENTRIES)

DRAW = types.void(_INTS, _FLOATS, *OWN_DRAW.args)
STATISTICS = types.void(_INTS, _FLOATS, *OWN_STATISTICS.args)
MOVE = types.float64(_INTS, _FLOATS, *OWN_MOVE.args)
DIFFERENCE = types.int64(_INTS, _FLOATS, *OWN_DIFFERENCE.args)


def structure(
    draw: Any,
    statistics: Any,
    move: Any = None,
    difference: Any = None,
    ints: NDArray[np.int64] | None = None,
    floats: NDArray[np.float64] | None = None,
) -> Structure:
    """Put together what a space of Walkstep's answers, of loops that `compiled` made."""
    return structure_of_pointers(
        own_pointer(draw, DRAW),
        own_pointer(statistics, STATISTICS),
        None if move is None else own_pointer(move, MOVE),
        None if difference is None else own_pointer(difference, DIFFERENCE),
        ints,
        floats,
    )


def structure_of_pointers(
    draw: Any,
    statistics: Any,
    move: Any = None,
    difference: Any = None,
    ints: NDArray[np.int64] | None = None,
    floats: NDArray[np.float64] | None = None,
) -> Structure:
    """Put together what a space answers, of functions that are compiled for their signatures already."""
    return Structure(
        draw,
        statistics,
        own_pointer(_no_move, MOVE) if move is None else move,
        own_pointer(_no_difference, DIFFERENCE) if difference is None else difference,
        frozen(np.zeros(0, np.int64) if ints is None else ints),
        frozen(np.zeros(0) if floats is None else floats),
        move is not None,
        difference is not None,
    )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that nobody writes to: walks share it, and its type says so."""
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


@compiled(allocates=False)
def _no_move(ints, floats, values, sites, new_values, size, rng):
    size[0] = 0
    return 0.0


@compiled(allocates=False)
def _no_difference(ints, floats, values, sites, new_values, size, index, amount):
    return 0
