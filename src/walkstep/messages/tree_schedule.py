"""The order in which messages are passed where no cycle is closed: from the leaves inwards, and back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TreeSchedule(NamedTuple):
    """Which factors send inwards in each step, and to which of their variables.

    ``inward[c][slot]`` (L, W) holds factors of class c; those of a step have heard from all their variables but the
    one in that slot. Rows are filled up with a number that no factor has.
    """

    inward: tuple[tuple[NDArray[np.int32], ...], ...]

    @property
    def n_steps(self) -> int:
        """How many steps it takes to the middle of the deepest tree."""
        return next((rows.shape[0] for of in self.inward for rows in of), 0)


def tree_schedule(n_variables: int, scopes: tuple[NDArray[np.integer], ...]) -> TreeSchedule | None:
    """An exact schedule of two passes, or None where the factors close a cycle.

    Parameters
    ----------
    n_variables : int
    scopes : tuple of int arrays (arity, F)
        The variables of each factor, class by class.

    Examples
    --------
    >>> chain = np.array([[0, 1, 2], [1, 2, 3]])  # 0 - 1 - 2 - 3
    >>> [rows.tolist() for rows in tree_schedule(4, (chain,)).inward[0]]
    [[[2], [3]], [[0], [1]]]
    >>> tree_schedule(3, (np.array([[0, 1, 2], [1, 2, 0]]),)) is None
    True
    """
    if not scopes:
        return TreeSchedule(())
    first = np.concatenate([[0], np.cumsum([scope.shape[1] for scope in scopes])]).astype(np.int64)
    n_factors = int(first[-1])
    if not n_factors:
        return TreeSchedule(tuple((np.zeros((0, 0), np.int32),) * scope.shape[0] for scope in scopes))
    arity = np.repeat([scope.shape[0] for scope in scopes], np.diff(first))
    factor_ptr = np.concatenate([[0], np.cumsum(arity)]).astype(np.int64)
    flat = np.concatenate([scope.T.ravel() for scope in scopes])
    factor_of = np.repeat(np.arange(n_factors), arity)
    by_variable = np.argsort(flat, kind="stable")
    variable_ptr = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=n_variables))]).astype(np.int64)

    waiting = np.diff(variable_ptr)  # factors that each variable has not been through yet
    done = np.zeros(n_factors, bool)
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    looked_at = np.arange(n_factors)
    while len(looked_at):
        at = _ranges(factor_ptr[looked_at], arity[looked_at])
        is_open = waiting[flat[at]] > 1
        owner = np.repeat(np.arange(len(looked_at)), arity[looked_at])
        n_open = np.bincount(owner, is_open, len(looked_at))
        ready = looked_at[n_open <= 1]
        if len(ready) == 0:
            break
        # Towards the open variable; where all are closed the tree ends here, in the last one.
        slot = arity[looked_at] - 1
        place = at - factor_ptr[looked_at][owner]
        slot[owner[is_open]] = place[is_open]
        towards = slot[n_open <= 1]
        steps.append((ready, towards))
        done[ready] = True
        touched = flat[_ranges(factor_ptr[ready], arity[ready])]
        np.subtract.at(waiting, touched, 1)
        around = by_variable[_ranges(variable_ptr[touched], np.diff(variable_ptr)[touched])]
        looked_at = np.unique(factor_of[around])
        looked_at = looked_at[~done[looked_at]]
    if not done.all():
        return None
    step = np.repeat(np.arange(len(steps)), [len(ready) for ready, _ in steps])
    factor, towards = (np.concatenate([one[k] for one in steps]) for k in (0, 1))
    inward = []
    for c, scope in enumerate(scopes):
        of_class = (factor >= first[c]) & (factor < first[c + 1])
        slots = (of_class & (towards == slot) for slot in range(scope.shape[0]))
        inward.append(tuple(_rows(step[of], factor[of] - first[c], len(steps), scope.shape[1]) for of in slots))
    return TreeSchedule(tuple(inward))


def _rows(step: NDArray[np.int64], factor: NDArray[np.int64], n_steps: int, filler: int) -> NDArray[np.int32]:
    """The factors of each step, in rows of equal length."""
    count = np.bincount(step, minlength=n_steps)
    rows = np.full((n_steps, int(count.max(initial=0))), filler, np.int32)
    rows[step, np.arange(len(step)) - np.repeat(np.cumsum(count) - count, count)] = factor
    return rows


def _ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[0]``, ``start[0] + 1``, ..., ``length[0]`` of them, and so on."""
    ends = np.cumsum(length)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(start - ends + length, length)
