"""Answers for rows of scores: the best structure, expected statistics, and scores whose best structure risks least."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from walkstep.inference.annealing import geometric
from walkstep.inference.row_walks import RowWalks
from walkstep.inference.structured_answers import best_structures, expectations, has_exact_answers
from walkstep.worlds.randomness import Seed, as_generator
from walkstep.worlds.space import Space
from walkstep.worlds.subtree import Subtrees

_N_COOLING, _HOT = 10, 8.0  # temperatures on the way down to the model, and the first of them


def decode(
    space: Space,
    scores: NDArray[np.float64],
    *,
    way: Literal["auto", "exact", "anneal"] = "auto",
    n_restarts: int = 4,
    n_steps: int = 30,
    n_moves: int = 10,
    rng: Seed = 0,
) -> NDArray[np.int32]:
    """The structure of the highest score for each row: (n_rows, size).

    Parameters
    ----------
    space : Space
    scores : float array (n_rows, n_statistics)
    way : {"auto", "exact", "anneal"}
        By default exact where the space has a short way, otherwise the best of some annealed walks.
    n_restarts, n_steps : int
        Walks for each row, and the temperatures of each.
    n_moves : int
        Moves at each temperature, for each value of a structure.
    rng : seed
        A row's answer depends on it and on that row alone.

    Examples
    --------
    >>> from walkstep.worlds import Permutations
    >>> decode(Permutations(3), np.array([[1.0, 1.0, 1.0]]), way="anneal")
    array([[0, 1, 2]], dtype=int32)
    """
    if way not in ("auto", "exact", "anneal"):
        raise ValueError(f"way is {way!r}; choose 'auto', 'exact' or 'anneal'")
    if way == "exact" or (way == "auto" and has_exact_answers(space)):
        return best_structures(space, scores)
    if len(scores) == 0:
        return np.zeros((0, space.size), np.int32)
    # Temperatures are told in the scores' own size, so that it does not matter what they are multiplied with.
    size = np.abs(scores).mean(axis=1, keepdims=True)
    table = scores / np.where(size > 0.0, size, 1.0)
    schedule = geometric(4.0, 0.05)
    seed = int(as_generator(rng).integers(2**31))
    best = np.full(len(scores), -np.inf)
    found = np.zeros((len(scores), space.size), np.int32)
    for restart in range(n_restarts):
        own = np.random.default_rng([seed, restart])
        walks = RowWalks(space, len(scores), are_alike=True, rng=own)
        for t in range(n_steps + 1):
            temperature = 0.0 if t == n_steps else schedule(t / max(n_steps - 1, 1))
            walks.move(table, n_moves * space.size, temperature=temperature)
            now = (space.statistics(walks.values) * table).sum(axis=1)
            better = now > best
            found[better], best[better] = walks.values[better], now[better]
    return found


def chances(
    space: Space,
    scores: NDArray[np.float64],
    *,
    way: Literal["auto", "exact", "chains"] = "auto",
    n_samples: int = 200,
    rng: Seed = 0,
) -> NDArray[np.float64]:
    """Expected statistics for each row of scores: (n_rows, n_statistics).

    Parameters
    ----------
    space : Space
    scores : float array (n_rows, n_statistics)
    way : {"auto", "exact", "chains"}
        By default exact where the space has a short way, otherwise from chains that cool down to the model first.
    n_samples : int
        Of each row's chain, two moves for each value of a structure apart.
    rng : seed
        A row's answer depends on it and on that row alone.

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> chances(Hypercube(2), np.array([[0.0, 2.0]])).round(3).tolist()
    [[0.5, 0.881]]
    """
    if way not in ("auto", "exact", "chains"):
        raise ValueError(f"way is {way!r}; choose 'auto', 'exact' or 'chains'")
    if way == "exact" or (way == "auto" and has_exact_answers(space)):
        return expectations(space, scores).statistics
    walks = RowWalks(space, len(scores), are_alike=True, rng=rng)
    for progress in np.linspace(0.0, 1.0, _N_COOLING):
        walks.move(scores, 4 * space.size, temperature=float(_HOT ** (1.0 - progress)))
    drawn = walks.sample(scores, 2 * space.size, n_samples)
    found = np.empty(scores.shape)
    for row, structures in enumerate(drawn):
        found[row] = space.statistics(structures).mean(axis=0)
    return found


def risk_scores(space: Space, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores whose best structure has the least expected loss, by what each statistic's difference costs.

    The statistics that count take two values, a half apart from their middle; so the expected loss of a structure falls
    by what each costs times how far the mean lies on its side. That is half of Kendall's distance for rankings and the
    number of wrong nodes for subtrees.

    Parameters
    ----------
    space : Space
    expected : float array (n_rows, n_statistics)
        E[psi] of each row.

    Examples
    --------
    >>> from walkstep.worlds import Hypercube
    >>> risk_scores(Hypercube(2), np.array([[0.9, 0.2]])).round(6).tolist()
    [[0.8, -0.6]]
    """
    middle = _middle(space)
    return np.where(space.importance > 0.0, 2.0 * space.importance * (expected - middle), 0.0)


def hierarchical_risk_scores(space: Subtrees, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for the hierarchical loss, which counts a mistake only where no ancestor is mistaken already.

    Wrong at a node whose parent is right costs its parent's cost over its number of siblings (H-loss; Cesa-Bianchi,
    Gentile and Zaniboni, 2006). In a subtree that holds the parent, to take the node in risks cost (P(parent) -
    P(node)) and to leave it out cost P(node): differences that add up along the branches.

    Examples
    --------
    >>> space = Subtrees([-1, 0, 1])
    >>> hierarchical_risk_scores(space, np.array([[1.0, 0.9, 0.3]])).round(3).tolist()
    [[-0.9, 0.5, -0.3]]
    """
    parent, n = space.parent, space.size
    chance = expected[:, :n]
    n_siblings = np.bincount(parent[1:], minlength=n)
    cost = np.ones(n)
    for node in range(1, n):
        cost[node] = cost[parent[node]] / n_siblings[parent[node]]
    found = np.zeros(expected.shape)
    found[:, 1:n] = cost[1:] * (2.0 * chance[:, 1:] - chance[:, parent[1:]])
    np.add.at(found.T, parent[1:], -(cost[1:] * chance[:, 1:]).T)
    return found


def _middle(space: Space) -> NDArray[np.float64]:
    """Halfway between a statistic's two values."""
    low_high = np.array([space.score_range(row) for row in np.eye(space.n_statistics)])
    return low_high.mean(axis=1)
