"""Permutations: rankings of labels, each label at a place of its own."""

from functools import cached_property
from itertools import combinations, permutations
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import below
from walkstep.worlds.space import Space, first_wrong
from walkstep.worlds.structure import Structure, structure

_MOST_IN_CYCLES = 64  # labels among which all triples are looked at


class Permutations(Space):
    """Rankings of ``n`` labels: the place of each, 0 being the best.

    There is a statistic for every two labels, one half where the first of them is ranked better and minus one half
    where the second is; half of the sum of what differs is Kendall's distance.

    Parameters
    ----------
    n : int
        How many labels.
    given : int array (n,), optional
        Only rankings that agree with this partial one: labels of a lower number come before those of a higher one,
        those of the same number in any order, and labels of number -1 are anywhere.

    Examples
    --------
    >>> space = Permutations(3)
    >>> space.count(), space.statistics([[1, 0, 2]]).tolist()
    (6, [[-0.5, 0.5, 0.5]])
    >>> Permutations(3, given=[0, 1, -1]).all_structures().tolist()
    [[0, 1, 2], [0, 2, 1], [1, 2, 0]]
    """

    def __init__(self, n: int, given: ArrayLike | None = None):
        if n < 2:
            raise ValueError(f"n is {n}; a ranking is of at least 2 labels")
        self.given = np.full(n, -1) if given is None else np.asarray(given)
        if self.given.shape != (n,):
            raise ValueError(f"given has shape {self.given.shape}; give one number for each of the {n} labels")
        self.size = n
        self.first, self.second = np.triu_indices(n, 1)
        self.n_statistics = self.n_seen = len(self.first)
        self.radius = 0.5 * float(np.sqrt(self.n_statistics))
        self.importance = np.ones(self.n_statistics)

    def count(self) -> int:
        """All orders, or those that agree with what is given."""
        ranked = self.given[self.given >= 0]
        orders = factorial(self.size) // factorial(len(ranked))
        for n_alike in np.unique(ranked, return_counts=True)[1].tolist():
            orders *= factorial(n_alike)
        return orders

    def all_structures(self) -> NDArray[np.int32]:
        """Every ranking, in lexical order of places."""
        if factorial(self.size) > 10 * factorial(8):  # nine labels; a partial ranking of more may leave few orders
            self._check_enumerable()
        places = np.array(list(permutations(range(self.size))), np.int32)
        return places[self._agrees(places)]

    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """One half with the sign of every two labels' order."""
        places = np.asarray(values)
        return 0.5 * np.sign(places[..., self.second] - places[..., self.first])

    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Rankings, each a row of places."""
        places = self._check_shape(values)
        is_right = (np.sort(places, axis=1) == np.arange(self.size)).all(axis=1)
        first_wrong("ranking", places, is_right, f"give the places 0 to {self.size - 1}, each once")
        first_wrong("ranking of this space", places, self._agrees(places), "let it agree with the order that is given")
        return places

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """Half of all pairs' scores, lost or gained, as if each pair had its way where three labels allow it."""
        reach = 0.5 * float(np.abs(scores).sum()) - self._lost_to_cycles(scores)
        return -reach, reach

    @cached_property
    def _triples(self) -> NDArray[np.int64]:
        """The pairs that three labels i < j < k make, (i, j), (j, k) and (i, k), by their numbers."""
        number = np.zeros((self.size, self.size), np.int64)
        number[self.first, self.second] = np.arange(self.n_statistics)
        i, j, k = np.array(list(combinations(range(self.size), 3)), np.int64).reshape(-1, 3).T
        return np.stack([number[i, j], number[j, k], number[i, k]], axis=1)

    def _lost_to_cycles(self, scores: NDArray[np.float64]) -> float:
        """What every ranking loses: where each of three labels should beat the next, one pair at least does not.

        Cycles are taken one after the other, the dearest first. Each counts the least that those before have left of
        its pairs' scores, so that no score counts for more than it is.
        """
        if self.size > _MOST_IN_CYCLES or np.count_nonzero(scores) < 3:
            return 0.0
        one, next_one, across = np.sign(scores)[self._triples].T
        cycles = self._triples[(one == next_one) & (one == -across) & (one != 0.0)]
        left = np.abs(scores)
        dearest = np.argsort(-left[cycles].min(axis=1), kind="stable")
        remains, lost = left.tolist(), 0.0
        for a, b, c in cycles[dearest].tolist():
            least = min(remains[a], remains[b], remains[c])
            remains[a] -= least
            remains[b] -= least
            remains[c] -= least
            lost += least
        return lost

    def _agrees(self, places: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which rankings agree with what is given."""
        before = (self.given[:, None] >= 0) & (self.given[:, None] < self.given)
        one, other = np.nonzero(before)
        return np.all(places[:, one] < places[:, other], axis=1)

    def _compile(self) -> Structure:
        """The space in compiled code."""
        return structure(_draw, _statistics, _insert, _difference, self.given.astype(np.int64))


@compiled(allocates=False)
def _draw(ints, floats, values, rng):
    n = len(values)
    n_ranked = 0
    for i in range(n):
        values[i] = i
        n_ranked += ints[i] >= 0
    if n_ranked == 0:  # without replacement (section 6 of the paper)
        for i in range(n - 1, 0, -1):
            j = below(rng, i + 1)
            kept = values[i]
            values[i] = values[j]
            values[j] = kept
        return
    # Place by place: a free label as often as there are such among those left, else one of the group whose turn it is.
    for i in range(n):
        values[i] = -1
    n_free = n - n_ranked
    for place in range(n):
        is_free = below(rng, n - place) < n_free
        turn, n_waiting = np.int64(-1), 0
        for i in range(n):
            if values[i] < 0 and (ints[i] < 0) == is_free:
                if turn < 0 or is_free or ints[i] < turn:
                    n_waiting = 0 if ints[i] != turn else n_waiting
                    turn = ints[i]
                n_waiting += ints[i] == turn
        chosen = below(rng, n_waiting)
        for i in range(n):
            if values[i] < 0 and ints[i] == turn:
                if chosen == 0:
                    values[i] = place
                    break
                chosen -= 1
        n_free -= is_free


@compiled(allocates=False)
def _statistics(ints, floats, values, out):
    k = 0
    for i in range(len(values)):
        place = values[i]
        for j in range(i + 1, len(values)):
            out[k] = np.float64(place < values[j]) - 0.5
            k += 1


@compiled(allocates=False)
def _insert(ints, floats, values, sites, new_values, size, rng):
    """Take a label out and put it in at any place, perhaps its own; those between make room."""
    n = len(values)
    moved = below(rng, n)
    here = values[moved]
    there = np.int32(below(rng, n))
    size[0] = 0
    if there == here:
        return 0.0
    sites[0], new_values[0], size[0] = moved, there, 1
    for j in range(n):
        place = values[j]
        if here < place <= there or there <= place < here:
            if ints[moved] >= 0 and ints[j] >= 0 and ints[j] != ints[moved]:
                size[0] = 0  # their order is given
                return 0.0
            sites[size[0]] = j
            new_values[size[0]] = place - 1 if place > here else place + 1
            size[0] += 1
    return 0.0


@compiled(allocates=False)
def _difference(ints, floats, values, sites, new_values, size, index, amount):
    n = len(values)
    moved = sites[0]
    rises = new_values[0] < values[moved]
    for e in range(1, size[0]):
        i, j = min(moved, sites[e]), max(moved, sites[e])
        index[e - 1] = i * n - i * (i + 1) // 2 + j - i - 1
        amount[e - 1] = 1.0 if rises == (moved == i) else -1.0
    return max(size[0] - 1, 0)
