"""Moves of label worlds: one variable takes another value, or several do."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from walkstep.compiled import INLINE


class Flip(NamedTuple):
    """One variable takes another value."""

    site: Any  # int; numpy's whole numbers inside loops
    value: Any


class Relabel(NamedTuple):
    """Several variables take other values at once."""

    sites: NDArray[np.int64]
    values: NDArray[np.int32]
    size: NDArray[np.int64]  # (1,) how many entries of the two are meant


def n_changed(move) -> Any:  # pragma: no cover - replaced by its overload in compiled code
    """How many variables a move changes."""
    raise TypeError(move)


def site_of(move, j) -> Any:  # pragma: no cover
    """The j-th variable that it changes."""
    raise TypeError(move)


def value_of(move, j) -> Any:  # pragma: no cover
    """The value that the j-th variable takes."""
    raise TypeError(move)


def is_flip(move) -> bool:
    """Whether a Numba type is that of a flip."""
    return move.instance_class is Flip


@overload(n_changed, jit_options=INLINE)
def _n_changed(move):
    return (lambda move: 1) if is_flip(move) else (lambda move: move.size[0])


@overload(site_of, jit_options=INLINE)
def _site_of(move, j):
    return (lambda move, j: move.site) if is_flip(move) else (lambda move, j: move.sites[j])


@overload(value_of, jit_options=INLINE)
def _value_of(move, j):
    return (lambda move, j: move.value) if is_flip(move) else (lambda move, j: move.values[j])
