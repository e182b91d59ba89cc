"""A user's own likeness of two texts, as compiled loops call it."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import objmode, types
from numpy.typing import NDArray

from walkstep.compiled import Pointer, pointer

N_FUNCTIONS = 4
"""How many there is room for; a fixed number, so that one compiled loop serves all."""

_LETTERS = types.Array(types.int32, 1, "C", readonly=True)
SIGNATURE = types.float64(_LETTERS, _LETTERS)
"""The code points of two normalised texts, to read only."""

_PYTHON_LIKENESSES: list[Callable[[str, str], float]] = []


def as_likeness(function: Callable[..., float], *, compile: bool = True) -> Pointer:
    """Let a user's function be called from compiled loops.

    Parameters
    ----------
    function : callable
        ``(a, b) -> float`` of two arrays of code points; with ``compile=False`` of two strings.
    compile : bool
        Whether to compile it under Numba; with False it stays plain Python and may use anything, at microseconds a
        call, and holds the interpreter lock meanwhile.
    """
    if not compile:
        _PYTHON_LIKENESSES.append(function)
        at = len(_PYTHON_LIKENESSES) - 1

        def ask_python(a, b):
            with objmode(answer="float64"):
                answer = float(_PYTHON_LIKENESSES[at](_text(a), _text(b)))
            return answer

        ask_python.__name__ = getattr(function, "__name__", "function")
        function = ask_python
    return pointer(function, SIGNATURE, "likeness", "(a, b) -> float", nogil=compile)


def _text(codes: NDArray[np.int32]) -> str:
    """The string of these code points."""
    return codes.tobytes().decode("utf-32-le")


def _never_called(a, b):  # pragma: no cover - stands where a user gave no function
    return 0.0


@cache
def no_likeness() -> Pointer:
    """What stands where there is none."""
    return as_likeness(_never_called)
