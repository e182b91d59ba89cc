"""L-BFGS, and OWL-QN where the sum of absolute weights is penalised too: minima of smooth functions of many weights.

SciPy's routine also obeys bounds, which costs it more time an iteration than a likelihood of CoNLL-2003 takes.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]

# A step must lower the loss by this share of what the slope promises, and leave no more than that share of the slope.
_ARMIJO, _WOLFE = 1e-4, 0.9
_MAX_TRIALS = 40


class Iterate(NamedTuple):
    """Where the search stands after an iteration."""

    number: int  # counted from 1
    weights: NDArray[np.float64]
    loss: float  # penalties counted
    slope: float  # the length of the gradient over that of the weights (at least 1)
    n_evaluations: int  # so far, a line search taking one or more an iteration
    is_last: bool  # nothing more can be gained


def lbfgs(
    objective: Objective,
    start: ArrayLike,
    *,
    l1: ArrayLike = 0.0,
    memory: int = 6,
    max_iter: int = 100,
    tolerance: float = 1e-5,
    period: int = 10,
) -> Iterator[Iterate]:
    """Minimise a function, an iteration at a time.

    Parameters
    ----------
    objective : callable
        ``weights -> (loss, gradient)``; both new objects.
    start : float array (n_weights,)
    l1 : float or float array (n_weights,)
        Adds ``sum(l1 * abs(weights))`` to the loss (OWL-QN; Andrew and Gao, 2007): many weights become exactly 0.
    memory : int
        How many past steps the curvature is estimated from.
    max_iter : int
    tolerance : float
        The search ends where the gradient's length is below this share of that of the weights, or the last ``period``
        iterations have lowered the loss by less than this share of it.
    period : int

    Yields
    ------
    Iterate
        After every iteration. The last one is marked, unless ``max_iter`` ends the search; at a start that is a
        minimum already it is the only one, with number 0.

    Examples
    --------
    >>> def bowl(w):
    ...     return float(((w - [1.0, 0.1]) ** 2).sum()), 2.0 * (w - [1.0, 0.1])
    >>> [*lbfgs(bowl, np.zeros(2))][-1].weights.round(3)
    array([1. , 0.1])
    >>> [*lbfgs(bowl, np.zeros(2), l1=0.4)][-1].weights.round(3)
    array([0.8, 0. ])
    """
    weights = np.array(start, dtype=np.float64)
    share = np.asarray(l1, dtype=np.float64)
    if (share < 0.0).any() or not np.isfinite(share).all():
        raise ValueError(f"l1 is {l1}; give 0 or more")
    share = share if share.any() else None
    history = _History(len(weights), memory)
    loss, gradient = objective(weights)
    loss, downhill = loss + _absolute(weights, share), _steepest(weights, gradient, share)
    n_evaluations, losses = 1, [loss]
    if _slope(downhill, weights) <= tolerance:
        yield Iterate(0, weights, loss, _slope(downhill, weights), n_evaluations, True)
        return
    for number in range(1, max_iter + 1):
        direction = history.direction(downhill)
        if share is not None:
            direction[direction * downhill <= 0.0] = 0.0  # never against the slope, where a weight may change sign
        first = 1.0 if number > 1 else 1.0 / max(1.0, float(np.linalg.norm(direction)))
        found = _search(objective, weights, loss, downhill, direction, first, share)
        if found is None and len(history):
            # Rounding has spoilt the curvature; begin again with the slope alone.
            history, direction = _History(len(weights), memory), downhill
            first = 1.0 / max(1.0, float(np.linalg.norm(direction)))
            found = _search(objective, weights, loss, downhill, direction, first, share)
        if found is None:
            yield Iterate(number, weights, loss, _slope(downhill, weights), n_evaluations, True)
            return
        new, loss, new_gradient, n_trials = found
        n_evaluations += n_trials
        history.add(new, weights, new_gradient, gradient)
        weights, gradient = new, new_gradient
        downhill = _steepest(weights, gradient, share)
        losses.append(loss)
        slope = _slope(downhill, weights)
        has_settled = number >= period and losses[-1 - period] - loss <= tolerance * abs(loss)
        is_last = slope <= tolerance or has_settled
        yield Iterate(number, weights, loss, slope, n_evaluations, is_last)
        if is_last:
            return


class _History:
    """The last steps and the changes of the gradient that they brought, in one array so that it is read in one go."""

    def __init__(self, n_weights: int, memory: int):
        self._steps = np.empty((memory, n_weights))
        self._changes = np.empty((memory, n_weights))
        self._among = np.zeros((2, memory, memory))  # step by change, change by change
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._order)

    def add(self, new, old, new_gradient, old_gradient) -> None:
        """Remember a step, unless the curvature along it is not positive."""
        memory = len(self._steps)
        slot = len(self._order) if len(self._order) < memory else self._order[0]
        step, change = new - old, new_gradient - old_gradient
        if not step @ change > 1e-12 * (change @ change):
            return
        self._order = [s for s in self._order if s != slot] + [slot]
        self._steps[slot], self._changes[slot] = step, change
        n = len(self._order)
        self._among[0, :n, slot] = self._steps[:n] @ change
        self._among[0, slot, :n] = self._changes[:n] @ step
        self._among[1, :n, slot] = self._among[1, slot, :n] = self._changes[:n] @ change

    def direction(self, downhill: NDArray[np.float64]) -> NDArray[np.float64]:
        """The way to go: the two loops of L-BFGS (Nocedal, 1980) on inner products, which are known but for 2m.

        Every vector in the loops is a sum of ``downhill``, steps and changes, so that only its coefficients change.
        """
        n = len(self._order)
        if n == 0:
            return downhill.copy()
        on_step, on_change = self._steps[:n] @ downhill, self._changes[:n] @ downhill
        by_change, among_changes = self._among[0], self._among[1]
        of_change, of_step, alpha = np.zeros(n), np.zeros(n), np.zeros(n)
        for s in reversed(self._order):
            alpha[s] = (on_step[s] + by_change[s, :n] @ of_change) / by_change[s, s]
            of_change[s] -= alpha[s]
        newest = self._order[-1]
        scale = by_change[newest, newest] / among_changes[newest, newest]
        of_change *= scale
        for s in self._order:
            inner = scale * on_change[s] + among_changes[s, :n] @ of_change + of_step @ by_change[:n, s]
            of_step[s] += alpha[s] - inner / by_change[s, s]
        found = of_step @ self._steps[:n]
        found += of_change @ self._changes[:n]
        found += scale * downhill
        return found


def _search(objective, weights, loss, downhill, direction, first, share):
    """A step that keeps the weak Wolfe conditions, by halving and doubling (Lewis and Overton, 2013).

    Where absolute weights are penalised, no weight passes 0, and only the fall of the loss is asked for. Returns None
    where no step lowers the loss.
    """
    promise = float(downhill @ direction)
    if not promise > 0.0:
        return None
    low, high, length = 0.0, np.inf, first
    for n_trials in range(1, _MAX_TRIALS + 1):
        new = weights + length * direction
        if share is not None:
            side = np.where(weights != 0.0, weights, downhill)
            new[(new * side < 0.0) & (share > 0.0)] = 0.0
            fall = float(downhill @ (new - weights))
        else:
            fall = length * promise
        new_loss, gradient = objective(new)
        new_loss += _absolute(new, share)
        if not new_loss <= loss - _ARMIJO * fall:
            high = length
        elif share is None and -float(gradient @ direction) > _WOLFE * promise:
            low = length
        else:
            return new, new_loss, gradient, n_trials
        length = (low + high) / 2.0 if np.isfinite(high) else 2.0 * length
    return None


def _absolute(weights: NDArray[np.float64], share: NDArray[np.float64] | None) -> float:
    return 0.0 if share is None else float((share * np.abs(weights)).sum())


def _steepest(weights, gradient, share) -> NDArray[np.float64]:
    """The way in which the loss falls fastest; at 0 a penalised weight moves only if that pays on one side."""
    if share is None:
        return -gradient
    at_zero = -np.sign(gradient) * np.maximum(np.abs(gradient) - share, 0.0)
    return np.where(weights != 0.0, -(gradient + share * np.sign(weights)), at_zero)


def _slope(downhill: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(downhill) / max(1.0, float(np.linalg.norm(weights))))
