"""A space of a user's own: a function that draws a structure uniformly, and one that counts its statistics."""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled, pointer
from walkstep.worlds.space import Space, first_wrong
from walkstep.worlds.structure import (
    DIFFERENCE,
    DRAW,
    MOVE,
    OWN_DIFFERENCE,
    OWN_DRAW,
    OWN_MOVE,
    OWN_STATISTICS,
    STATISTICS,
    Structure,
    structure_of_pointers,
)


class OwnSpace(Space):
    """What `as_space` gives."""

    def __init__(
        self,
        pointers: tuple[Any, Any, Any, Any],
        size: int,
        n_statistics: int,
        n_seen: int,
        radius: float,
        n_structures: int | None,
        everything: NDArray[np.int32] | None,
        importance: NDArray[np.float64],
    ):
        self.size, self.n_statistics, self.n_seen, self.radius = size, n_statistics, n_seen, radius
        self.importance = importance
        self._pointers, self._n_structures, self._all = pointers, n_structures, everything

    def _compile(self) -> Structure:
        """The space in compiled code."""
        return structure_of_pointers(*self._pointers)

    def count(self) -> int:
        """How many structures there are, as was said."""
        if self._n_structures is None:
            raise ValueError("nobody has said how many structures this space has; pass n_structures to as_space")
        return self._n_structures

    @property
    def log_count(self) -> float:
        """Log of how many structures there are."""
        return log(self.count())

    def all_structures(self) -> NDArray[np.int32]:
        """Every structure, as was said."""
        if self._all is None:
            raise ValueError("nobody has listed the structures of this space; pass all_structures to as_space")
        return self._all

    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """psi(y) of structures, by the user's function."""
        given = np.ascontiguousarray(values, np.int32)
        flat = given.reshape(-1, self.size)
        found = np.empty((len(flat), self.n_statistics))
        _statistics_of_all(self.structure, flat, found)
        return found.reshape(*given.shape[:-1], self.n_statistics)

    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Structures; that they are of the space can only be told where all of them are listed."""
        given = self._check_shape(values)
        if self._all is not None:
            known = {row.tobytes() for row in self._all}
            is_right = np.array([row.tobytes() in known for row in given], dtype=bool)
            first_wrong("structure of this space", given, is_right, "give one of those that are listed")
        return given

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """By Cauchy and Schwarz, if a radius was given."""
        if not np.isfinite(self.radius):
            raise ValueError("nobody has said how long the statistics of a structure can be; pass radius to as_space")
        return super().score_range(scores)


def as_space(
    draw: Callable[..., Any],
    statistics: Callable[..., Any],
    *,
    size: int,
    n_statistics: int,
    move: Callable[..., Any] | None = None,
    difference: Callable[..., Any] | None = None,
    radius: float | None = None,
    n_structures: int | None = None,
    all_structures: ArrayLike | None = None,
    n_seen: int | None = None,
    importance: ArrayLike | None = None,
) -> OwnSpace:
    """Make a space of functions, which Numba compiles; arrays that they close over are frozen into them.

    Parameters
    ----------
    draw : callable
        ``(values, rng)``: write a structure to ``values``, int32 (size,), each as likely as any other. Randomness comes
        from `walkstep.worlds.uniform` and `walkstep.worlds.below`.
    statistics : callable
        ``(values, out)``: write the statistics of a structure to ``out``, float64 (n_statistics,).
    size : int
        How many values a structure is written in.
    n_statistics : int
    move : callable, optional
        ``(values, sites, new_values, size, rng) -> log_q_ratio``: write which values change to ``sites``, what they
        become to ``new_values`` and how many they are to ``size[0]``, 0 where nothing does, and return log q(back) -
        log q(there). Walks go by such local moves where there are some, and draw anew where there are none.
    difference : callable, optional
        ``(values, sites, new_values, size, index, amount) -> n``: write which statistics such a move changes, each
        once, and by how much. Without it the statistics of both structures are counted, which takes longer.
    radius : float, optional
        The length that no structure's statistics exceed; guarantees need it.
    n_structures : int, optional
        How many structures there are; partition functions need it.
    all_structures : int array (n_structures, size), optional
        All of them, for tests against enumeration.
    n_seen : int, optional
        How many of the statistics, the first ones, see a row of features; by default all.
    importance : float array (n_statistics,), optional
        What a difference of one in each statistic costs against the true structure; by default 1.

    Examples
    --------
    >>> from walkstep.worlds import below
    >>> def draw(values, rng):
    ...     values[0] = below(rng, 10)
    >>> def statistics(values, out):
    ...     out[0] = values[0]
    >>> dial = as_space(draw, statistics, size=1, n_statistics=1, radius=9.0, n_structures=10)
    >>> dial.statistics([[7]]).tolist(), int(dial.draw(100, rng=0).max())
    ([[7.0]], 9)
    """
    for name, value in (("size", size), ("n_statistics", n_statistics)):
        if value < 1:
            raise ValueError(f"{name} is {value}; give at least 1")
    seen = n_statistics if n_seen is None else n_seen
    if not 0 <= seen <= n_statistics:
        raise ValueError(f"n_seen is {seen}; give 0 to {n_statistics}")
    costs = np.ones(n_statistics) if importance is None else np.asarray(importance, np.float64)
    if costs.shape != (n_statistics,):
        raise ValueError(
            f"importance has shape {costs.shape}; give one number for each of the {n_statistics} statistics"
        )
    if difference is not None and move is None:
        raise ValueError("difference says what a move changes, and there is no move; pass both, or neither")
    everything = None
    if all_structures is not None:
        everything = np.array(all_structures, np.int32).reshape(-1, size)
        n_structures = len(everything) if n_structures is None else n_structures
        if n_structures != len(everything):
            raise ValueError(f"n_structures is {n_structures}, but all_structures lists {len(everything)}")
    pointers = (
        _wrapped(draw, OWN_DRAW, DRAW, "draw", "(values, rng)"),
        _wrapped(statistics, OWN_STATISTICS, STATISTICS, "statistics", "(values, out)"),
        None
        if move is None
        else _wrapped(move, OWN_MOVE, MOVE, "move", "(values, sites, new_values, size, rng) -> float"),
        None
        if difference is None
        else _wrapped(
            difference,
            OWN_DIFFERENCE,
            DIFFERENCE,
            "difference",
            "(values, sites, new_values, size, index, amount) -> int",
        ),
    )
    length = np.inf if radius is None else float(radius)
    return OwnSpace(pointers, size, n_statistics, seen, length, n_structures, everything, costs)


def _wrapped(function: Any, own: Any, full: Any, what: str, arguments: str) -> Any:
    """A user's function behind the signature that all spaces share."""
    pointer(function, own, what, arguments)  # what is wrong with it is said in its own words
    inner = njit(nogil=True)(getattr(function, "py_func", function))
    outer = {
        2: lambda ints, floats, a, b: inner(a, b),
        5: lambda ints, floats, a, b, c, d, e: inner(a, b, c, d, e),
        6: lambda ints, floats, a, b, c, d, e, f: inner(a, b, c, d, e, f),
    }
    return pointer(outer[len(own.args)], full, what, arguments)


@compiled
def _statistics_of_all(structure, values, found):
    for k in range(len(values)):
        structure.statistics(structure.ints, structure.floats, values[k], found[k])
