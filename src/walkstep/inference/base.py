"""What a sampler is, and the one loop that runs them all.

A sampler is a pair of functions, `init` and `step`. One step is a whole sweep or block of moves in
compiled code; loops, thinning, callbacks, chains and interrupts live here.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.worlds.randomness import Seed, as_generator, stream


def _own_values(state: Any) -> NDArray[np.integer]:
    return state.values


class Sampler(NamedTuple):
    """A way to draw worlds, weights held fixed.

    ``step`` takes the state over: the one handed in is spent. A ``temperature`` given to it counts for that
    step alone; that is how annealing runs any sampler.
    """

    init: Callable[..., Any]  # (values or None) -> state
    step: Callable[..., Any]  # (rng, state, temperature=its own) -> (state, info); rng is a walkstep.worlds.stream
    score: Callable[[Any], float]  # (state) -> float
    n_values: NDArray[np.int32] | None = None  # size of each variable's domain, where there are such
    values: Callable[[Any], NDArray[np.integer]] = _own_values  # (state) -> what a draw keeps of the world


Callback = Callable[[int, Any, Any], Any]


class Samples(NamedTuple):
    """What chains have seen."""

    draws: NDArray[np.integer] | None  # (chain, draw, variable); None where they were not kept
    scores: NDArray[np.float64]  # (chain, draw)
    counts: NDArray[np.int64] | None  # (variable, value) how often; None without domains
    best_values: NDArray[np.integer]  # the world of the highest score among the draws and the starts
    best_score: float
    states: list[Any]  # where each chain stands, to go on from
    interrupted: bool  # whether Ctrl-C ended it early; chains that were left far behind are then not among the draws

    def marginals(self) -> NDArray[np.float64]:
        """How often each variable took each value: (variable, value), rows sum to one."""
        if self.counts is None:
            raise ValueError("this world has no domains to count over; work on draws instead")
        total = self.counts.sum(axis=1, keepdims=True)
        if not total.all():
            raise ValueError("no draw was made, so there are no marginals; raise n_steps, or lower thin")
        return self.counts / total


def run(
    sampler: Sampler,
    start: Any,
    n_steps: int,
    *,
    rng: Seed,
    burn_in: int = 0,
    thin: int = 1,
    keep: bool = True,
    callback: Callback | None = None,
) -> Samples:
    """Run one chain.

    Parameters
    ----------
    sampler : Sampler
    start : int array (n_variables,), state, or None
        Values to start from, the state of an earlier run to go on from, or the sampler's own choice.
    n_steps : int
        Steps after the burn-in.
    rng : int or numpy Generator
        The same seed gives the same chain.
    burn_in : int
        Steps that are made first and not counted.
    thin : int
        Only every ``thin``-th step is a draw.
    keep : bool
        Whether to keep the draws; without, only marginals, scores and the best world are.
    callback : callable, optional
        ``(steps made, state, info)``, called after every step.

    Returns
    -------
    Samples
        With a chain axis of length one. Ctrl-C ends the run early; what was seen until then is returned, with
        ``interrupted`` set.

    Examples
    --------
    >>> from walkstep.inference import gibbs
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> samples = run(gibbs(graph, np.array([2.0, 0.0, 0.0, 2.0])), [0, 1], 100, rng=0)
    >>> samples.draws.shape, samples.best_score
    ((1, 100, 2), 2.0)
    """
    return _run([_Chain(sampler, start, stream(rng))], n_steps, burn_in, thin, keep, callback, 1)


def run_chains(
    sampler: Sampler,
    starts: Sequence[Any] | None,
    n_chains: int,
    n_steps: int,
    *,
    rng: Seed,
    burn_in: int = 0,
    thin: int = 1,
    keep: bool = True,
    callback: Callback | None = None,
    n_threads: int = 1,
) -> Samples:
    """Run several chains, each with its own stream of random numbers.

    Parameters
    ----------
    sampler : Sampler
    starts : sequence of starts, or None
        One for each chain, as `run` takes it; None draws them uniformly.
    n_chains : int
    n_threads : int
        Chains run side by side in so many threads; the result is the same for any number.
    n_steps, rng, burn_in, thin, keep, callback
        As for `run`; the callback is called from the thread of its chain.

    Examples
    --------
    >>> from walkstep.inference import gibbs
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 3], [Factors("edge", [[0, 1]])])
    >>> run_chains(gibbs(graph, np.zeros(6)), None, 4, 50, rng=0).marginals().shape
    (2, 3)
    """
    if n_chains < 1:
        raise ValueError(f"n_chains is {n_chains}; give at least 1")
    if starts is not None and len(starts) != n_chains:
        raise ValueError(f"there are {len(starts)} starts for {n_chains} chains; give one for each, or None")
    chains = []
    for c, own in enumerate(as_generator(rng).spawn(n_chains)):
        start = starts[c] if starts is not None else None
        if starts is None and sampler.n_values is not None:
            start = own.integers(0, sampler.n_values)
        chains.append(_Chain(sampler, start, stream(own)))
    return _run(chains, n_steps, burn_in, thin, keep, callback, n_threads)


class _Chain:
    """One chain and what it has seen."""

    def __init__(self, sampler: Sampler, start: Any, rng: NDArray[np.uint64]):
        self.sampler, self.rng = sampler, rng
        self.state = start if isinstance(start, tuple) else sampler.init(start)
        self.best_values = np.array(sampler.values(self.state))
        self.best_score = sampler.score(self.state)
        self.draws, self.scores, self.counts = [], [], None
        if sampler.n_values is not None:
            sizes = sampler.n_values
            self.counts = np.zeros((len(sizes), int(sizes.max(initial=1))), np.int64)
            self.rows = np.arange(len(sizes))

    def step(self) -> Any:
        self.state, info = self.sampler.step(self.rng, self.state)
        return info

    def look(self, keep: bool) -> None:
        values, score = np.array(self.sampler.values(self.state)), self.sampler.score(self.state)
        if keep:
            largest = 1 if self.counts is None else self.counts.shape[1]
            small = largest <= 128 and self.counts is not None
            self.draws.append(values.astype(np.int8) if small else values)
        if self.counts is not None:
            self.counts[self.rows, values] += 1
        self.scores.append(score)
        if score > self.best_score:
            self.best_values, self.best_score = values, score


def _run(chains, n_steps, burn_in, thin, keep, callback, n_threads) -> Samples:
    """Run chains in step with each other, so that an interrupt leaves them equally long."""
    for name, value, least in (
        ("n_steps", n_steps, 0),
        ("burn_in", burn_in, 0),
        ("thin", thin, 1),
        ("n_threads", n_threads, 1),
    ):
        if value < least:
            raise ValueError(f"{name} is {value}; give at least {least}")
    stop = Event()

    def advance(own):
        for t in range(burn_in + n_steps):
            for chain in own:
                if stop.is_set():
                    return
                info = chain.step()
                if t >= burn_in and (t - burn_in + 1) % thin == 0:
                    chain.look(keep)
                if callback is not None:
                    callback(t + 1, chain.state, info)

    interrupted = False
    n_threads = min(n_threads, len(chains))
    try:
        if n_threads == 1:
            advance(chains)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                futures = [pool.submit(advance, chains[k::n_threads]) for k in range(n_threads)]
                try:
                    for future in futures:
                        future.result()
                except BaseException:
                    stop.set()
                    raise
    except KeyboardInterrupt:
        interrupted = True
    return _gather(chains, keep, interrupted)


def _gather(chains: list[_Chain], keep: bool, interrupted: bool) -> Samples:
    best = max(chains, key=lambda chain: chain.best_score)
    # Threads that were interrupted leave chains of unequal length: keep the most draws that fill a rectangle.
    lengths = sorted((len(chain.scores) for chain in chains), reverse=True)
    n = lengths[int(np.argmax([(k + 1) * length for k, length in enumerate(lengths)]))]
    full = [chain for chain in chains if len(chain.scores) >= n]
    draws = None
    if keep:
        draws = np.array([chain.draws[:n] for chain in full])
        if n == 0:
            draws = np.zeros((len(full), 0, *best.best_values.shape), best.best_values.dtype)
    counted = [chain.counts for chain in chains if chain.counts is not None]
    return Samples(
        draws,
        np.array([chain.scores[:n] for chain in full], dtype=np.float64),
        np.sum(counted, axis=0) if counted else None,
        best.best_values,
        best.best_score,
        [chain.state for chain in chains],
        interrupted,
    )
