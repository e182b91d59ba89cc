"""Expected statistics of many rows from chains, and the same samples again while the weights change little.

Samples drawn under one set of scores serve others near to it: each counts as much more or less as it has become more or
less likely (Geyer and Thompson, 1992). So one draw makes a smooth function of the weights, with the same random numbers
wherever it is asked, which L-BFGS can descend; how many samples are still as good as independent says how far.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.row_walks import RowWalks
from walkstep.worlds.randomness import Seed
from walkstep.worlds.space import Space

_MOST_MOVES = 100  # between samples, where nobody has said


class Reweighted(NamedTuple):
    """What samples say of each row under other scores than those they were drawn with."""

    log_ratio: NDArray[np.float64]  # (n_rows,) how much larger ln Z is than when they were drawn
    statistics: NDArray[np.float64]  # (n_rows, n_statistics) E[psi]
    effective: NDArray[np.float64]  # (n_rows,) which share of the samples is as good as independent


class SampledExpectations:
    """A chain for each row, and the samples that it drew last.

    Parameters
    ----------
    space : Space
    n_rows : int
    starts : int array (n_rows, size), optional
        Where chains begin; by default structures that are drawn uniformly.
    n_samples : int
        Of each row.
    n_moves : int, optional
        Between samples; by default two for each value of a structure, but no more than a hundred: of large structures
        little is open, and chains go on from draw to draw.
    moves : {"auto", "local", "uniform"}
        Local moves, or META's (section 5 of Vembu et al., 2009).
    rng : seed

    Attributes
    ----------
    scores : float array (n_rows, n_statistics)
        Those that samples were drawn under last.
    n_steps : int
        Steps of chains so far.

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> samples = SampledExpectations(Permutations(3), 1, n_samples=2000, rng=0)
    >>> samples.draw(np.zeros((1, 3)))
    >>> found = samples.under(np.array([[0.5, 0.5, 0.5]]))
    >>> bool((abs(found.statistics - 0.16) < 0.05).all()), bool(found.effective[0] > 0.5)
    (True, True)
    """

    def __init__(
        self,
        space: Space,
        n_rows: int,
        *,
        starts: NDArray[np.int32] | None = None,
        n_samples: int = 20,
        n_moves: int | None = None,
        moves: str = "auto",
        rng: Seed = None,
    ):
        if n_samples < 1:
            raise ValueError(f"n_samples is {n_samples}; give at least 1")
        self.space, self.n_samples = space, n_samples
        self.n_moves = min(2 * space.size, _MOST_MOVES) if n_moves is None else n_moves
        self._walks = RowWalks(space, n_rows, values=starts, moves=moves, rng=rng)
        self._drawn = np.zeros((n_rows, n_samples, space.size), np.int32)
        self.scores = np.zeros((n_rows, space.n_statistics))
        self.n_steps = 0

    def draw(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None = None) -> None:
        """Let chains go on under these scores (n_rows, n_statistics), and keep what they pass.

        Parameters
        ----------
        scores : float array (n_rows, n_statistics)
            Of the rows that are drawn for.
        rows : int array, optional
            By default all.
        """
        at = slice(None) if rows is None else rows
        self._drawn[at] = self._walks.sample(scores, self.n_moves, self.n_samples, rows=rows)
        self.scores[at] = scores
        self.n_steps += len(scores) * self.n_samples * self.n_moves

    def under(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None = None) -> Reweighted:
        """What the samples say under scores (n_rows, n_statistics), of some rows or of all."""
        at = slice(None) if rows is None else rows
        change = scores - self.scores[at]
        found = Reweighted(np.zeros(len(scores)), np.zeros(scores.shape), np.zeros(len(scores)))
        drawn = self._drawn[at]
        counted, weight = np.zeros((drawn.shape[1], self.space.n_statistics)), np.zeros(drawn.shape[1])
        _reweigh(self.space.structure, drawn, change, counted, weight, *found)
        return found


@compiled
def _reweigh(structure, drawn, change, counted, weight, log_ratio, expected, effective):
    n_samples, n_statistics = counted.shape
    for r in range(len(drawn)):
        top = -np.inf
        for s in range(n_samples):
            structure.statistics(structure.ints, structure.floats, drawn[r, s], counted[s])
            weight[s] = 0.0
            for k in range(n_statistics):
                weight[s] += change[r, k] * counted[s, k]
            top = max(top, weight[s])
        total, squares = 0.0, 0.0
        for s in range(n_samples):
            weight[s] = np.exp(weight[s] - top)
            total += weight[s]
            squares += weight[s] * weight[s]
        log_ratio[r] = top + np.log(total / n_samples)
        effective[r] = total * total / squares / n_samples
        for s in range(n_samples):
            for k in range(n_statistics):
                expected[r, k] += weight[s] / total * counted[s, k]
