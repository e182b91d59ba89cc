"""Random small graphs with every kind of factor, for tests that compare fast paths with slow twins."""

import numpy as np

from walkstep.features.rows import SparseRows
from walkstep.model import Factors, Graph, ground

KINDS = ("bare", "binary", "real", "dense", "fixed")


def random_graph(seed: int, n_variables: int = 4, n_groups: int = 4) -> tuple[Graph, np.ndarray]:
    """A graph over mixed domains with factors of arity 1 to 3 of all kinds, and weights for it.

    Fixed tables forbid at most the joint value of all zeros, so that the world of all ones is possible and
    every possible world is reached from every other one a variable at a time.
    """
    rng = np.random.default_rng(seed)
    n_values = rng.integers(2, 4, n_variables)
    groups = []
    for g in range(n_groups):
        kind = KINDS[(seed + g) % len(KINDS)]
        arity = int(rng.integers(1, min(3, n_variables) + 1))
        groups.append(_group(f"{kind}-{g}", kind, _scopes(rng, n_values, arity), n_values, rng))
    graph, layout = ground(n_values, groups)
    return graph, rng.normal(size=layout.size)


def random_binary_graph(seed: int, n_variables: int = 6, *, tied: bool) -> tuple[Graph, np.ndarray]:
    """A binary pairwise graph: weights shared by all pairs, or one set of them for each."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(n_variables) for b in range(a) if rng.random() < 0.6] or [(0, 1)]
    pairs += pairs[:2]  # two factors on one pair
    sites = np.arange(n_variables)[:, None]
    if tied:
        groups = [Factors("pair", pairs), Factors("site", sites, sets=rng.integers(0, 2, n_variables), n_sets=2)]
    else:
        groups = [
            Factors("pair", pairs, features=rng.normal(size=(len(pairs), 2))),
            Factors("site", sites, features=rng.normal(size=(n_variables, 2)), bias=True),
        ]
    graph, layout = ground(np.full(n_variables, 2), groups)
    return graph, rng.normal(size=layout.size)


def random_world(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Values drawn uniformly."""
    return rng.integers(0, graph.n_values).astype(np.int32)


def _scopes(rng, n_values, arity):
    """Scopes over the same domains, slot by slot."""
    first = rng.permutation(len(n_values))[:arity]
    scopes = [first]
    for _ in range(5):
        scope = rng.permutation(len(n_values))[:arity]
        if (n_values[scope] == n_values[first]).all():
            scopes.append(scope)
    return np.array(scopes)


def _group(name, kind, scopes, n_values, rng):
    n = len(scopes)
    bias = bool(rng.random() < 0.5)
    if kind == "fixed":
        table = rng.normal(size=n_values[scopes[0]])
        if rng.random() < 0.7:
            table[(0,) * table.ndim] = -np.inf
        return Factors(name, scopes, fixed=table)
    sets = rng.integers(0, 2, n)
    if kind == "bare":
        return Factors(name, scopes, sets=sets, n_sets=2)
    dense = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.7)
    if kind == "dense":
        return Factors(name, scopes, features=dense, bias=bias, sets=sets, n_sets=2)
    ptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    value = dense[dense != 0] if kind == "real" else np.zeros(0)
    rows = SparseRows(ptr.astype(np.int64), np.nonzero(dense)[1].astype(np.int32), value, 3)
    return Factors(name, scopes[::-1], features=rows, rows=np.arange(n)[::-1], bias=bias)
