"""Spaces: structured outputs that can be drawn uniformly, whatever else can be done with them.

A space says which structures there are and what is counted of each: its statistics psi(y). A model gives each statistic
a score, and the probability of a structure is proportional to exp(scores . psi(y)); where there are rows of features,
the scores are linear in them, so that phi(x, y) of the paper (Vembu, Gaertner and Boley, 2009) is the product of psi(y)
and x.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from math import log, log10

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import Seed, stream
from walkstep.worlds.structure import Structure

MAX_ENUMERATED = 1_000_000


class Space(ABC):
    """What every space knows; `as_space` makes one of a user's own functions.

    Attributes
    ----------
    size : int
        How many values a structure is written in.
    n_statistics : int
    n_seen : int
        How many of the statistics, the first ones, see a row of features; the rest have one score for all rows.
    radius : float
        R: no structure's statistics are longer (section 1 of the paper).
    importance : float array (n_statistics,)
        What a difference of one in each statistic costs, where a structure is compared with the true one.
    """

    size: int
    n_statistics: int
    n_seen: int
    radius: float
    importance: NDArray[np.float64]

    @cached_property
    def structure(self) -> Structure:
        """The space in compiled code."""
        return self._compile()

    @abstractmethod
    def _compile(self) -> Structure:
        """Put together what compiled loops call."""

    @abstractmethod
    def count(self) -> int:
        """How many structures there are, exactly."""

    @property
    def log_count(self) -> float:
        """Log of how many structures there are: ln Z at scores of zero."""
        return log(self.count())

    @abstractmethod
    def all_structures(self) -> NDArray[np.int32]:
        """Every structure there is, for small spaces: (n_structures, size)."""

    @abstractmethod
    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """psi(y) of structures, in plain NumPy: (..., size) to (..., n_statistics)."""

    @abstractmethod
    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Structures (n_structures, size), or an error that names the first which is none of this space."""

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """Two numbers between which all structures' scores lie; here by Cauchy and Schwarz, ± R |scores|."""
        reach = self.radius * float(np.linalg.norm(scores))
        return -reach, reach

    def draw(self, n: int, rng: Seed = None) -> NDArray[np.int32]:
        """Structures drawn uniformly: (n, size)."""
        if n < 0:
            raise ValueError(f"n is {n}; give 0 or more")
        drawn = np.empty((n, self.size), np.int32)
        _draw(self.structure, stream(rng), drawn)
        return drawn

    def _check_shape(self, values: ArrayLike) -> NDArray[np.int32]:
        """Structures as an array of whole numbers."""
        given = np.asarray(values)
        if given.ndim != 2 or given.shape[1] != self.size:
            raise ValueError(f"structures have shape {given.shape}; give (n_structures, {self.size})")
        whole = given.astype(np.int32)
        if (whole != given).any():
            row = int(np.flatnonzero((whole != given).any(axis=1))[0])
            raise ValueError(f"structure {row} is {given[row].tolist()}; give whole numbers")
        return whole

    def _check_enumerable(self) -> None:
        """An error for a space that is too large to be listed."""
        n = self.count()
        if n > MAX_ENUMERATED:
            many = f"{n:,}" if n < 10**15 else f"about 1e{n.bit_length() * log10(2.0):.0f}"
            raise ValueError(
                f"there are {many} structures, more than the {MAX_ENUMERATED:,} that enumeration allows; "
                "draw them instead"
            )


def first_wrong(name: str, values: NDArray[np.int32], is_right: NDArray[np.bool_], what: str) -> None:
    """An error that names the first structure which is none."""
    wrong = np.flatnonzero(~is_right)
    if len(wrong):
        shown = values[wrong[0]].tolist()
        text = str(shown) if len(shown) <= 20 else f"{str(shown[:20])[:-1]}, ...]"
        raise ValueError(f"structure {wrong[0]} is no {name}: {text}; {what}")


@compiled(allocates=False)
def _draw(structure, rng, drawn):
    for k in range(len(drawn)):
        structure.draw(structure.ints, structure.floats, drawn[k], rng)
