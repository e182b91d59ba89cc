"""Small graphs of several documents with every kind of factor, with cycles or without, for tests of learning."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import numpy as np

from walkstep.features.rows import SparseRows
from walkstep.inference.graph_batch import graph_batch
from walkstep.messages.batch import Batch
from walkstep.model import Factors, Graph, ground

quick_jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""Compiled fast rather than well: what small tests ask for."""


class Documents(NamedTuple):
    """A graph of several documents, what is true of it, and weights."""

    graph: Graph
    ptr: np.ndarray
    truth: np.ndarray
    weights: np.ndarray

    @property
    def batch(self) -> Batch:
        return graph_batch(self.graph, self.truth, document_ptr=self.ptr)


def documents(seed: int, sizes: list[int], *, cycles: bool, mixed: bool = True, latent: bool = False) -> Documents:
    """Documents of so many variables each; those of equal sizes are copies of one structure.

    The first variable of a ``mixed`` document has three values, the others two; then there are factors of three
    variables as well. Otherwise variables are binary and factors join two. Fixed tables forbid a joint value (0, 0) of
    the first two variables; it is never the truth.
    """
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    firsts = ptr[:-1]
    n_values = np.full(ptr[-1], 2)
    n_values[firsts] = 3 if mixed else 2
    rest = np.setdiff1d(np.arange(ptr[-1]), firsts)
    long = [a for a, b in pairwise(ptr) if b - a > 2]
    to_first = np.array([[a, a + 1] for a, b in pairwise(ptr) if b - a > 1])
    along = [(v, v + 1) for a, b in pairwise(ptr) for v in range(a + 1, b - 1)]
    groups = [
        Factors("first", firsts[:, None], features=rng.normal(size=(len(firsts), 2)), bias=True),
        Factors("tied", firsts[:, None], sets=np.arange(len(firsts)) % 2, n_sets=2),
        _sparse("real", rest[:, None], rng, real=True),
        _sparse("binary", rest[:, None], rng, real=False),
        Factors("edge", to_first, features=rng.normal(size=(len(to_first), 2)), bias=True),
        Factors("never", to_first, fixed=np.where(np.indices(n_values[to_first[0]]).sum(axis=0) == 0, -np.inf, 0.3)),
        Factors("chain", along),
    ]
    if cycles:
        skips = [(v, v + 2) for v in long] if not mixed else [(v + 2, v) for v in long]
        groups.append(Factors("skip", skips, features=rng.normal(size=(len(skips), 1))))
        if mixed:
            groups.append(Factors("triple", [(v + 1, v, v + 2) for v in long]))
    graph, layout = ground(n_values, groups)
    truth = rng.integers(1, n_values).astype(np.int64)
    truth[rest[::2]] = rng.integers(0, 2, len(rest[::2]))
    if latent:
        truth[ptr[1:] - 1] = -1
    return Documents(graph, ptr, truth, rng.normal(0.0, 0.7, layout.size))


def _sparse(name: str, scopes: np.ndarray, rng: np.random.Generator, *, real: bool) -> Factors:
    """Sparse features of three columns, of which the third is hardly ever there."""
    there = rng.random((len(scopes), 3)) < [0.7, 0.5, 0.1]
    ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    value = rng.normal(size=int(there.sum())) if real else np.zeros(0)
    rows = SparseRows(ptr, np.nonzero(there)[1].astype(np.int32), value, 3)
    return Factors(name, scopes, features=rows, bias=not real)


def plain_documents(seed: int, sizes: list[int], n_values: int, *, cycles: bool, latent: bool = False) -> Documents:
    """Chains, or rings, of one domain with dense features, one class of factors: little to compile."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    edges = [(v, v + 1) for a, b in pairwise(ptr) for v in range(a, b - 1)]
    edges += [(a, b - 1) for a, b in pairwise(ptr) if cycles and b - a > 2]
    sites = np.arange(ptr[-1])[:, None]
    groups = [Factors("site", sites, features=rng.normal(size=(len(sites), 2))), Factors("edge", edges)]
    graph, layout = ground(np.full(len(sites), n_values), groups)
    truth = rng.integers(0, n_values, len(sites))
    if latent:
        truth[ptr[1:] - 1] = -1
    return Documents(graph, ptr, truth, rng.normal(size=layout.size))


PLAIN = {
    "loopy union": (1, [4, 3, 1], 3, True),
    "loopy copies": (2, [3, 3, 3], 2, True),
    "forest union": (3, [3, 1, 4], 2, False),
    "forest copies": (4, [3, 3], 3, False),
}


def plain(name: str, *, latent: bool = False) -> Documents:
    """One of four small cases by name."""
    seed, sizes, n_values, cycles = PLAIN[name]
    return plain_documents(seed, sizes, n_values, cycles=cycles, latent=latent)
