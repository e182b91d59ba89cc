"""Gibbs sampling: every variable in turn is drawn given all the others."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.inference.base import Sampler
from walkstep.inference.boltzmann import (
    CHUNK,
    MAX_TYPES,
    Boltzmann,
    blocks,
    boltzmann,
    chances_at_random,
    chances_of_sites,
    draw_at_random,
    sweep_colours,
    sweep_sites,
    thresholds,
    word_at,
)
from walkstep.inference.colouring import colours
from walkstep.inference.potentials import Potentials, frozen_graph, potentials, total_score
from walkstep.inference.transitions import pick
from walkstep.model.domains import UNKNOWN
from walkstep.model.graph import Graph
from walkstep.worlds.labels import conditional, label_world
from walkstep.worlds.randomness import below, next_word, uniform

# Handing half a colour to another thread costs about as much as drawing so many sites.
MIN_SHARED = 8192


class GibbsState(NamedTuple):
    """The values of all variables, in the order in which the sampler keeps them."""

    sites: NDArray[np.integer]  # (V,) int8 where all variables are binary
    position: NDArray[np.int32]  # (V,) where each variable lies among them
    scratch: tuple[Any, ...]

    @property
    def values(self) -> NDArray[np.int32]:
        """The values in order of variables, a fresh array."""
        return self.sites[self.position].astype(np.int32)


class GibbsInfo(NamedTuple):
    """What one sweep did."""

    n_updates: int
    temperature: float


def gibbs(
    graph: Graph,
    weights: ArrayLike,
    *,
    temperature: float = 1.0,
    scan: str = "systematic",
    n_threads: int = 1,
    clamp: ArrayLike | Mapping[int, int] | None = None,
) -> Sampler:
    """Draw worlds from p(y) ~ exp(score(y) / temperature), a variable at a time; one step is one sweep.

    Parameters
    ----------
    graph : Graph
    weights : float array (n_weights,)
    temperature : float
        1 samples the model, lower is greedier, 0 always takes the best value.
    scan : {"systematic", "random", "chromatic"}
        Every variable once a sweep, in a fixed order; as many variables as there are, drawn at random; or
        variables that share no factor at the same time. The fixed order goes colour by colour too, so that
        "chromatic" gives the same chain as "systematic" and differs in using ``n_threads``.
    n_threads : int
        Threads for "chromatic"; the result is the same for any number.
    clamp : int array (n_variables,) or mapping from variable to value, optional
        Evidence: variables held at a value, `UNKNOWN` (-1) where they are free.

    Examples
    --------
    >>> from walkstep.inference import run
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> sampler = gibbs(graph, np.array([50.0, 0.0, 0.0, 50.0]), clamp={0: 1})
    >>> run(sampler, [1, 0, 0], 3, rng=0).best_values
    array([1, 1, 1], dtype=int32)
    """
    check_temperature(temperature)
    if scan not in ("systematic", "random", "chromatic"):
        raise ValueError(f"scan is {scan!r}; choose 'systematic', 'random' or 'chromatic'")
    if n_threads < 1 or (n_threads > 1 and scan != "chromatic"):
        raise ValueError(
            f"n_threads is {n_threads} with scan {scan!r}; choose scan='chromatic' for several threads, or run_chains"
        )
    held = potentials(graph, np.asarray(weights, dtype=np.float64))
    evidence = as_evidence(graph, clamp)
    walk = plan(held, evidence, scan, n_threads)

    def init(values=None):
        start = np.zeros(graph.n_variables, np.int32) if values is None else check_values(graph, values)
        return walk.init(np.where(evidence >= 0, evidence, start).astype(np.int32))

    def step(rng, state, temperature=temperature):
        walk.sweep(state, temperature, rng)
        return state, GibbsInfo(walk.n_free, temperature)

    def score(state):
        return total_score(held, state.values)

    return Sampler(init, step, score, graph.n_values)


def check_temperature(temperature: float) -> None:
    """Refuse what is no temperature."""
    if not 0.0 <= temperature < np.inf:
        raise ValueError(f"temperature is {temperature}; give a finite number, 0 or above")


def check_values(graph: Graph, values: ArrayLike) -> NDArray[np.int32]:
    """Values of all variables, each within its domain."""
    return label_world(graph, values=values).values


def as_evidence(graph: Graph, clamp: ArrayLike | Mapping[int, int] | None) -> NDArray[np.int32]:
    """Evidence as one value for each variable, `UNKNOWN` where it is free.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> as_evidence(graph, {1: 0})
    array([-1,  0], dtype=int32)
    """
    evidence = np.full(graph.n_variables, UNKNOWN, np.int32)
    if isinstance(clamp, Mapping):
        for variable, value in clamp.items():
            if not 0 <= variable < graph.n_variables:
                raise ValueError(
                    f"clamp names variable {variable}, but variables run from 0 to {graph.n_variables - 1}"
                )
            evidence[variable] = value
    elif clamp is not None:
        evidence = np.array(clamp, dtype=np.int32)
        if evidence.shape != (graph.n_variables,):
            raise ValueError(
                f"clamp has shape {evidence.shape}; give a value or -1 for each of the {graph.n_variables} variables"
            )
    bad = np.flatnonzero((evidence < UNKNOWN) | (evidence >= graph.n_values))
    if len(bad):
        raise ValueError(
            f"clamp holds variable {bad[0]} at {evidence[bad[0]]}, but it has values 0 to {graph.n_values[bad[0]] - 1}"
        )
    return evidence


def plan(held: Potentials, evidence: NDArray[np.int32], scan: str, n_threads: int = 1) -> Any:
    """The quickest way to sweep a graph: binary pairwise ones have one of their own."""
    machine = boltzmann(held)
    if scan == "random":
        return _RandomLabels(held, evidence) if machine is None else _RandomBinary(machine, evidence)
    colour = colours(held.graph, evidence < 0)
    if machine is None:
        return _Labels(held, colour, n_threads)
    return _Binary(machine, colour, n_threads)


def _share(n_threads: int) -> Any:
    """A place where parts of a colour are drawn side by side."""
    return ThreadPoolExecutor(n_threads) if n_threads > 1 else None


class _Binary:
    """Sweeps over a Boltzmann machine."""

    def __init__(self, machine: Boltzmann, colour: NDArray[np.int32], n_threads: int, max_types: int = MAX_TYPES):
        self.blocks = blocks(machine, colour, max_types=max_types)
        self.n_free = self.blocks.n_free
        self.n_threads, self.pool = n_threads, _share(n_threads)
        self.position = np.empty(len(colour), np.int32)
        self.position[self.blocks.order] = np.arange(len(colour))
        ptr = self.blocks.colour_block
        self.n_of_colour = [int(self.blocks.size[a:b].sum()) for a, b in pairwise(ptr)]

    def init(self, values: NDArray[np.int32]) -> GibbsState:
        chance = np.zeros(len(self.blocks.log_odds), np.uint64)
        parts = [
            (np.zeros(CHUNK, np.uint32), np.zeros(CHUNK), np.zeros(CHUNK, np.uint64)) for _ in range(self.n_threads)
        ]
        at = np.full(1, np.nan)  # the temperature that chance belongs to
        return GibbsState(values[self.blocks.order].astype(np.int8), self.position, (chance, at, parts))

    def _chance(self, state: GibbsState, temperature: float) -> NDArray[np.uint64]:
        chance, at, _ = state.scratch
        if at[0] != temperature:
            thresholds(self.blocks.log_odds, temperature, chance)
            at[0] = temperature
        return chance

    def sweep(self, state: GibbsState, temperature: float, rng: NDArray[np.uint64]) -> None:
        chance = self._chance(state, temperature)
        parts = state.scratch[2]
        if self.pool is None:
            sweep_colours(self.blocks, state.sites, chance, temperature, rng, *parts[0])
            return
        for c, key in enumerate(_keys(rng, np.empty(len(self.n_of_colour), np.uint64))):
            n = self.n_threads if self.n_of_colour[c] >= MIN_SHARED else 1
            _side_by_side(
                self.pool,
                n,
                lambda k, c=c, n=n, key=key: sweep_sites(
                    self.blocks, c, k, n, state.sites, chance, temperature, key, *parts[k]
                ),
            )

    def chances(self, state: GibbsState, temperature: float) -> NDArray[np.float64]:
        one = np.full(len(state.sites), np.nan)
        code, log_odds, _ = state.scratch[2][0]
        chance = self._chance(state, temperature)
        chances_of_sites(self.blocks, state.sites, chance, temperature, code, log_odds, one)
        one = one[self.position]
        return np.stack([1 - one, one], axis=1)


class _RandomBinary:
    """Draws of random variables of a Boltzmann machine."""

    def __init__(self, machine: Boltzmann, evidence: NDArray[np.int32]):
        self.machine = machine
        self.free = np.flatnonzero(evidence < 0).astype(np.uint32)
        self.n_free = len(self.free)
        self.position = np.arange(len(evidence), dtype=np.int32)

    def init(self, values: NDArray[np.int32]) -> GibbsState:
        return GibbsState(values.astype(np.int8), self.position, ())

    def sweep(self, state: GibbsState, temperature: float, rng: NDArray[np.uint64]) -> None:
        draw_at_random(self.machine, self.free, state.sites, temperature, self.n_free, rng)

    def chances(self, state: GibbsState, temperature: float) -> NDArray[np.float64]:
        one = np.full(len(state.sites), np.nan)
        chances_at_random(self.machine, self.free, state.sites, temperature, one)
        return np.stack([1 - one, one], axis=1)


class _Labels:
    """Sweeps over any graph."""

    def __init__(self, held: Potentials, colour: NDArray[np.int32], n_threads: int):
        self.graph = frozen_graph(held)
        free = np.flatnonzero(colour >= 0)
        self.order = free[np.argsort(colour[free], kind="stable")]
        self.colour_ptr = np.searchsorted(colour[self.order], np.arange(colour.max(initial=-1) + 2))
        self.n_free = len(free)
        self.n_threads, self.pool = n_threads, _share(n_threads)
        self.position = np.arange(len(colour), dtype=np.int32)
        self.largest = int(self.graph.n_values.max(initial=1))

    def init(self, values: NDArray[np.int32]) -> GibbsState:
        world = label_world(self.graph, values=values)
        scratch = (world, np.zeros(0), [np.zeros(self.largest) for _ in range(self.n_threads)])
        return GibbsState(world.values, self.position, scratch)

    def sweep(self, state: GibbsState, temperature: float, rng: NDArray[np.uint64]) -> None:
        world, weights, parts = state.scratch
        if self.pool is None:
            _sweep_labels(world, weights, self.order, self.colour_ptr, temperature, rng, parts[0])
            return
        for c, key in enumerate(_keys(rng, np.empty(len(self.colour_ptr) - 1, np.uint64))):
            first, last = self.colour_ptr[c], self.colour_ptr[c + 1]
            n = self.n_threads if last - first >= MIN_SHARED else 1
            ends = [first + (last - first) * k // n for k in range(n + 1)]
            _side_by_side(
                self.pool,
                n,
                lambda k, ends=ends, key=key: _sweep_range(
                    world, weights, self.order, ends[k], ends[k + 1], temperature, key, parts[k]
                ),
            )

    def chances(self, state: GibbsState, temperature: float) -> NDArray[np.float64]:
        world, weights, parts = state.scratch
        out = np.full((len(state.sites), self.largest), np.nan)
        _chances_of_labels(world, weights, self.order, temperature, parts[0], out)
        return out


class _RandomLabels(_Labels):
    """Draws of random variables of any graph."""

    def __init__(self, held: Potentials, evidence: NDArray[np.int32]):
        super().__init__(held, np.where(evidence < 0, 0, -1).astype(np.int32), 1)

    def sweep(self, state: GibbsState, temperature: float, rng: NDArray[np.uint64]) -> None:
        world, weights, parts = state.scratch
        _draw_labels_at_random(world, weights, self.order, temperature, self.n_free, rng, parts[0])


def _side_by_side(pool: ThreadPoolExecutor, n_parts: int, part: Any) -> None:
    """Do all parts, the first of them here, and wait for the others."""
    others = [pool.submit(part, k) for k in range(1, n_parts)]
    part(0)
    for other in others:
        other.result()


# --- loops ---------------------------------------------------------------------------------------------------


@compiled(allocates=False)
def _keys(rng, out):
    """A key for each colour of a sweep."""
    for c in range(len(out)):
        out[c] = next_word(rng)
    return out


@compiled(inline=True)
def _draw_range(world, weights, order, first, last, temperature, key, scores):
    for p in range(first, last):
        site = order[p]
        n = world.graph.n_values[site]
        conditional(world, site, weights, scores)
        u = np.float64(word_at(key, p) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        world.values[site] = pick(scores, n, temperature, u)


@compiled(allocates=False)
def _sweep_range(world, weights, order, first, last, temperature, key, scores):
    """Draw the sites of a part of a colour."""
    _draw_range(world, weights, order, first, last, temperature, key, scores)


@compiled(allocates=False)
def _sweep_labels(world, weights, order, colour_ptr, temperature, rng, scores):
    """One sweep, colour after colour, in one thread."""
    for c in range(len(colour_ptr) - 1):
        key = next_word(rng)
        _draw_range(world, weights, order, colour_ptr[c], colour_ptr[c + 1], temperature, key, scores)


@compiled(allocates=False)
def _draw_labels_at_random(world, weights, order, temperature, n_draws, rng, scores):
    """Draw sites chosen at random, one after the other."""
    for _ in range(n_draws):
        site = order[below(rng, len(order))]
        conditional(world, site, weights, scores)
        world.values[site] = pick(scores, world.graph.n_values[site], temperature, uniform(rng))


@compiled(allocates=False)
def _chances_of_labels(world, weights, order, temperature, scores, out):
    """The probability of each value of each site, given the others."""
    for p in range(len(order)):
        site = order[p]
        n = world.graph.n_values[site]
        conditional(world, site, weights, scores)
        top = scores[0]
        for k in range(n):
            top = max(top, scores[k])
        total = 0.0
        for k in range(n):
            out[site, k] = np.exp((scores[k] - top) / temperature)
            total += out[site, k]
        for k in range(n):
            out[site, k] /= total
