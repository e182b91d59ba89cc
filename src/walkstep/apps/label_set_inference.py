"""Answers for many small models at once: a label set for each row, every pair of labels joined.

The score of a label set y of a row is ``sum_k y_k a_k + sum_{j<k} y_j y_k C_jk``, with the row's own log odds
``a`` and couplings ``C`` that all rows share. Few labels are enumerated, many are sampled.
"""

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import Seed, stream, uniform

MAX_ENUMERATED = 14
"""Up to so many labels all sets are enumerated: 16,384 of them."""

_CELLS_AT_ONCE = 1 << 22
# A climb ends by itself; the bound is for rounding errors that would let two equal sets take turns.
_MAX_CLIMB = 100
_SCHEDULE = np.concatenate([np.geomspace(2.0, 0.05, 20), np.zeros(1)])


def best_label_sets(
    log_odds: NDArray[np.float64],
    coupling: NDArray[np.float64],
    *,
    n_restarts: int = 4,
    max_enumerated: int = MAX_ENUMERATED,
    rng: Seed = 0,
) -> NDArray[np.int64]:
    """The label set of the highest score for each row: exact up to ``max_enumerated`` labels, by annealing beyond.

    Parameters
    ----------
    log_odds : float array (n_rows, n_labels)
    coupling : float array (n_labels, n_labels)
        Symmetric, with zeros on the diagonal. Labels coupled to none are answered on their own.
    n_restarts : int
        Annealed walks for each row, after a first climb from its own log odds.
    max_enumerated : int
    rng : seed
        Each row's answer depends on it and on that row alone.

    Examples
    --------
    >>> coupling = np.array([[0.0, -3.0], [-3.0, 0.0]])
    >>> best_label_sets(np.array([[1.0, 2.0], [-1.0, -2.0]]), coupling)
    array([[0, 1],
           [0, 0]])
    """
    answer = (log_odds > 0.0).astype(np.int64)
    joined = np.flatnonzero(coupling.any(axis=1))
    if len(joined) == 0 or len(log_odds) == 0:
        return answer
    own = np.ascontiguousarray(log_odds[:, joined])
    between = np.ascontiguousarray(coupling[np.ix_(joined, joined)])
    if len(joined) <= max_enumerated:
        sets, prior = _all_sets(between)
        for rows in _portions(len(own), len(sets)):
            answer[rows, joined] = sets[(own[rows.ravel()] @ sets.T + prior).argmax(axis=1)]
        return answer
    found = np.zeros(own.shape, np.int64)
    n = len(joined)
    _anneal(
        own,
        between,
        _SCHEDULE,
        n_restarts,
        stream(rng),
        np.zeros(4, np.uint64),
        np.zeros(n),
        np.zeros(n, np.int64),
        found,
    )
    answer[:, joined] = found
    return answer


def label_marginals(
    log_odds: NDArray[np.float64],
    coupling: NDArray[np.float64],
    *,
    temperature: float = 1.0,
    burn_in: int = 20,
    n_sweeps: int = 200,
    max_enumerated: int = MAX_ENUMERATED,
    rng: Seed = 0,
) -> NDArray[np.float64]:
    """How probable each label of each row is: exact up to ``max_enumerated`` labels, from Gibbs samples beyond.

    Parameters
    ----------
    log_odds, coupling, max_enumerated, rng
        As for `best_label_sets`.
    temperature : float
        Scores are divided by it.
    burn_in, n_sweeps : int
        Sweeps of the sampler that are not counted, and that are.

    Returns
    -------
    float array (n_rows, n_labels)

    Examples
    --------
    >>> coupling = np.array([[0.0, -3.0], [-3.0, 0.0]])
    >>> label_marginals(np.array([[1.0, 2.0]]), coupling).round(2)
    array([[0.31, 0.69]])
    """
    answer = _logistic(log_odds / temperature)
    joined = np.flatnonzero(coupling.any(axis=1))
    if len(joined) == 0 or len(log_odds) == 0:
        return answer
    own = np.ascontiguousarray(log_odds[:, joined]) / temperature
    between = np.ascontiguousarray(coupling[np.ix_(joined, joined)]) / temperature
    if len(joined) <= max_enumerated:
        sets, prior = _all_sets(between)
        for rows in _portions(len(own), len(sets)):
            scores = own[rows.ravel()] @ sets.T + prior
            weight = np.exp(scores - scores.max(axis=1, keepdims=True))
            answer[rows, joined] = (weight @ sets) / weight.sum(axis=1, keepdims=True)
        return answer
    chance = np.zeros(own.shape)
    n = len(joined)
    _sample(
        own, between, burn_in, n_sweeps, stream(rng), np.zeros(4, np.uint64), np.zeros(n), np.zeros(n, np.int64), chance
    )
    answer[:, joined] = chance
    return answer


def _all_sets(coupling: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every label set as a row of 0 and 1, and what couplings add to its score."""
    n = len(coupling)
    sets = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    return sets, 0.5 * ((sets @ coupling) * sets).sum(axis=1)


def _portions(n_rows: int, n_sets: int) -> list[NDArray[np.int64]]:
    """Row numbers (rows, 1), in portions whose table of scores stays small."""
    size = max(1, _CELLS_AT_ONCE // n_sets)
    return [np.arange(first, min(first + size, n_rows))[:, None] for first in range(0, n_rows, size)]


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


@compiled(inline=True)
def _reseed(seed, rng):
    """Every row draws the same numbers, so that no row's answer depends on the others."""
    for word in range(len(seed)):
        rng[word] = seed[word]


@compiled(inline=True)
def _begin(log_odds, coupling, r, field, values):
    """Stand where each label follows its own log odds; ``field`` is each label's log odds given the others."""
    n = log_odds.shape[1]
    for k in range(n):
        values[k] = log_odds[r, k] > 0.0
    for k in range(n):
        field[k] = log_odds[r, k]
        for j in range(n):
            field[k] += coupling[k, j] * values[j]


@compiled(inline=True)
def _set(coupling, k, value, field, values):
    """Give one label a value, and tell the others."""
    change = np.float64(value - values[k])
    values[k] = value
    for j in range(len(field)):
        field[j] += change * coupling[k, j]


@compiled(inline=True)
def _sweep(coupling, temperature, rng, field, values):
    """Draw every label in turn, the best value at temperature 0; how many changed."""
    changed = 0
    for k in range(len(field)):
        if temperature > 0.0:
            value = np.int64(uniform(rng) * (1.0 + np.exp(-field[k] / temperature)) < 1.0)
        else:
            value = np.int64(field[k] > 0.0)
        if value != values[k]:
            changed += 1
            _set(coupling, k, value, field, values)
    return changed


@compiled(allocates=False)
def _sample(log_odds, coupling, burn_in, n_sweeps, seed, rng, field, values, out):
    """Gibbs walks, one for each row; ``out`` is the mean chance of each label given the others."""
    n_rows, n_labels = log_odds.shape
    for r in range(n_rows):
        _reseed(seed, rng)
        _begin(log_odds, coupling, r, field, values)
        for t in range(burn_in + n_sweeps):
            for k in range(n_labels):
                chance = 1.0 / (1.0 + np.exp(-field[k]))
                if t >= burn_in:
                    out[r, k] += chance / n_sweeps
                value = np.int64(uniform(rng) < chance)
                if value != values[k]:
                    _set(coupling, k, value, field, values)


@compiled(allocates=False)
def _anneal(log_odds, coupling, temperatures, n_restarts, seed, rng, field, values, out):
    """Climb from each row's own log odds, then from where annealed walks end; keep the best set."""
    n_rows, n_labels = log_odds.shape
    for r in range(n_rows):
        _reseed(seed, rng)
        best = -np.inf
        for walk in range(1 + n_restarts):
            _begin(log_odds, coupling, r, field, values)
            if walk > 0:
                for t in range(len(temperatures)):
                    _sweep(coupling, temperatures[t], rng, field, values)
            for _ in range(_MAX_CLIMB):
                if _sweep(coupling, 0.0, rng, field, values) == 0:
                    break
            score = 0.0
            for k in range(n_labels):
                score += 0.5 * values[k] * (log_odds[r, k] + field[k])
            if score > best + 1e-12:
                best = score
                for k in range(n_labels):
                    out[r, k] = values[k]
