"""Walks over a space for many rows at once: a structure for each, moved on under each row's own scores."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.inference.transitions import attempt, metropolis_transition
from walkstep.references import refer
from walkstep.worlds.base import commit
from walkstep.worlds.randomness import Seed, as_generator, stream
from walkstep.worlds.space import Space
from walkstep.worlds.space_worlds import count_now, space_world
from walkstep.worlds.sparse import sparse_vector


class RowWalks:
    """A chain for each row.

    Parameters
    ----------
    space : Space
    n_rows : int
    values : int array (n_rows, size), optional
        Where they start; by default structures that are drawn uniformly.
    moves : {"auto", "local", "uniform"}
        See `space_world`.
    are_alike : bool
        Whether all rows start at one structure and draw the same random numbers, so that what becomes of a row depends
        on its scores alone.
    rng : seed

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> walks = RowWalks(Permutations(3), 2, rng=0)
    >>> walks.move(np.array([[9.0, 9.0, 9.0], [-9.0, -9.0, -9.0]]), 100)
    >>> walks.values
    array([[0, 1, 2],
           [2, 1, 0]], dtype=int32)
    """

    def __init__(
        self,
        space: Space,
        n_rows: int,
        *,
        values: ArrayLike | None = None,
        moves: str = "auto",
        are_alike: bool = False,
        rng: Seed = None,
    ):
        generator = as_generator(rng)
        self.space = space
        if values is None:
            values = np.repeat(space.draw(1, generator), n_rows, axis=0) if are_alike else space.draw(n_rows, generator)
        self.values = space.check(values)
        self.are_alike = are_alike
        self._generator, self._words = generator, stream(generator)
        self._world: Any = space_world(space, space.draw(1, generator), moves=moves)
        self._transition = metropolis_transition()
        self._phi = sparse_vector(space.n_statistics)

    def move(self, scores: NDArray[np.float64], n_moves: int, *, temperature: float = 1.0) -> None:
        """Make so many moves in every row, under its scores (n_rows, n_statistics)."""
        self.sample(scores, n_moves, 1, temperature=temperature)

    def sample(
        self,
        scores: NDArray[np.float64],
        n_between: int,
        n_samples: int,
        *,
        rows: NDArray[np.int64] | None = None,
        temperature: float = 1.0,
    ) -> NDArray[np.int32]:
        """Structures that the chains pass, so many moves apart: (n_rows, n_samples, size).

        Parameters
        ----------
        scores : float array (n_rows, n_statistics)
            Of the rows that move.
        n_between, n_samples : int
        rows : int array, optional
            Which rows move; by default all.
        temperature : float
        """
        moving = np.arange(len(self.values)) if rows is None else rows
        if scores.shape != (len(moving), self.space.n_statistics):
            raise ValueError(f"scores have shape {scores.shape}; give ({len(moving)}, {self.space.n_statistics})")
        self._transition.temperature[0] = temperature
        drawn = np.empty((len(moving), n_samples, self.space.size), np.int32)
        held = self._world, self._transition, np.ascontiguousarray(scores)
        if self.are_alike:  # how many numbers the rows before have used must not matter
            self._words = stream(self._generator)
        first = self._words.copy()
        _walk_rows(*held, moving, n_between, self.values, self._phi, self._words, first, self.are_alike, drawn)
        return drawn


@compiled(allocates=False)
def _walk_rows(world, transition, scores, rows, n_between, values, phi, rng, first, are_alike, drawn):
    """Let the chain of each row walk, and write down where it is every so many moves."""
    here = refer(world)
    size = len(here.values)
    for r in range(len(rows)):
        row = rows[r]
        if are_alike:
            for word in range(len(rng)):
                rng[word] = first[word]
        for i in range(size):
            here.values[i] = values[row, i]
        count_now(here)
        for s in range(drawn.shape[1]):
            for _ in range(n_between):
                move, _, accepted = attempt(transition, here, scores[r], 1.0, phi, rng)
                if accepted:
                    commit(here, move)
            for i in range(size):
                drawn[r, s, i] = here.values[i]
        for i in range(size):
            values[row, i] = here.values[i]
