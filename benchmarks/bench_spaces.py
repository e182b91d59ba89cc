"""Spaces: structures drawn uniformly and exactly from a model, and sums over all of them, per CPU-second of one core.

Peers are what one would write with NumPy, or in plain Python where whole numbers have thousands of digits.
"""

from collections.abc import Callable
from math import comb, factorial
from random import Random
from typing import Any

import numpy as np
from numba import njit

from benchmarks.measure import Record, measure_in_subprocess, record, repeat
from walkstep.inference import coupling_from_the_past, enumerate_space
from walkstep.inference.ranking_lattice import sum_rankings
from walkstep.inference.tree_sums import sum_subtrees
from walkstep.worlds import Cycles, Hypercube, Permutations, Space, Subtrees, stream
from walkstep.worlds.randomness import next_word

N_NODES, N_NODES_OF_SUMS = 5000, 500
N_RANKED, N_TOURED, N_ON_OFF = 10, 20, 20
TREES = ("random", "path", "star", "binary")
PLAIN = "plain Python, whole numbers"


def run(quick: bool) -> list[Record]:
    """Each figure and its peer's in processes of their own."""
    return [*_subtree_bars(quick), *_draw_bars(quick), _exact_bar(quick), *_ranking_bars(quick), _tree_bar(quick)]


def _measured(function: str, **kwargs: Any) -> Any:
    return measure_in_subprocess("benchmarks.bench_spaces", function, **kwargs)


# Uniform draws --------------------------------------------------------------------------------------


def _subtree_bars(quick: bool) -> list[Record]:
    bars = []
    for name in TREES:
        ours = _measured("subtrees_per_second", name=name, n_draws=200 if quick else 2000)
        plain = _measured("plain_subtrees_per_second", name=name, n_draws=5 if quick else 20)
        about = f"{N_NODES:,} nodes, depth {ours['depth']}, {ours['n_in']:,.0f} in on average"
        if name == "random":
            limits = _measured("limits_of_subtrees")
            about += "; " + ", ".join(f"{what} {1e6 * seconds:.1f} µs" for what, seconds in limits.items())
        ending = "" if name == "random" else f"-{name}"
        bars.append(record(f"subtree-draws{ending}", ours["rate"], PLAIN, plain, reason=about))
        print(f"  subtrees, {name}: {ours['rate']:,.0f} draws a CPU-second ({about})")
    return bars


def tree_parents(name: str, n: int, seed: int = 0) -> np.ndarray:
    """The parents of a tree in preorder.

    In the random one, a node hangs below one that is drawn from the half of those before it that came last.
    """
    if name == "path":
        return np.arange(-1, n - 1)
    if name == "star":
        return np.concatenate([[-1], np.zeros(n - 1, np.int64)])
    nodes = np.arange(1, n)
    if name == "binary":
        above = (nodes - 1) // 2
    else:
        above = np.random.default_rng(seed).integers(nodes // 2, nodes)
    children: list[list[int]] = [[] for _ in range(n)]
    for node, parent in zip(nodes.tolist(), above.tolist(), strict=True):
        children[parent].append(node)
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1]][::-1]
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    return np.concatenate([[-1], number[above[np.array(order[1:]) - 1]]])


def subtrees_per_second(name: str, n_draws: int, n_repeats: int = 7) -> dict[str, float]:
    """Draws of `Subtrees`, to fresh memory each time."""
    space = Subtrees(tree_parents(name, N_NODES))
    timings = repeat(lambda: space.draw(n_draws, rng=0), n_repeats, n_warm_up=1)
    depth = np.zeros(space.size, np.int64)
    for node in range(1, space.size):
        depth[node] = depth[space.parent[node]] + 1
    n_in = float(space.draw(n_draws, rng=0).sum(axis=1).mean())
    return {"rate": n_draws / timings.best, "depth": int(depth.max()), "n_in": n_in}


def plain_subtrees_per_second(name: str, n_draws: int, n_repeats: int = 3) -> float:
    """The sampler of the paper, as it is written: the suffixes with and without a node are counted exactly."""
    space, rng = Subtrees(tree_parents(name, N_NODES)), Random(0)
    ends, counts = space.branch_end.tolist(), [1] * space.size
    for node in range(space.size - 1, 0, -1):
        counts[space.parent[node]] *= 1 + counts[node]

    def draw() -> list[int]:
        values = [0] * space.size
        values[0], node = 1, 1
        while node < space.size:
            if rng.randrange(1 + counts[node]) < counts[node]:
                values[node] = 1
                node += 1
            else:
                node = ends[node]
        return values

    space.check([draw()])
    return n_draws / repeat(lambda: [draw() for _ in range(n_draws)], n_repeats).best


def limits_of_subtrees(n_draws: int = 2000) -> dict[str, float]:
    """CPU-seconds that no sampler of so many nodes goes below: its random words alone, and its writes alone."""
    rng = stream(0)

    def to_fresh_memory(loop: Callable[..., None]) -> float:
        return repeat(lambda: loop(np.empty((n_draws, N_NODES), np.int32), rng), 7, n_warm_up=1).best / n_draws

    return {"words alone": to_fresh_memory(_draw_words), "writes alone": to_fresh_memory(_write)}


@njit
def _draw_words(values, rng):
    for k in range(len(values)):
        word = np.uint64(0)
        for _ in range(values.shape[1] // 4):
            word ^= next_word(rng)
        values[k, 0] = np.int32(word & np.uint64(1))


@njit
def _write(values, rng):
    for k in range(len(values)):
        for i in range(values.shape[1]):
            values[k, i] = 1


def _draw_bars(quick: bool) -> list[Record]:
    n_draws, bars = 20_000 if quick else 200_000, []
    for name, (peer, _, _) in DRAWN.items():
        ours, theirs = (_measured("draws_per_second", name=name, n_draws=n_draws, is_peer=p) for p in (False, True))
        bars.append(record(f"{name}-draws", ours, peer, theirs))
        print(f"  {name}: {ours:,.0f} draws a CPU-second, {peer} {theirs:,.0f}")
    return bars


def draws_per_second(name: str, n_draws: int, is_peer: bool, n_repeats: int = 7) -> float:
    """Draws of a space, or what NumPy makes of the same: a batch at once."""
    _, make, batch = DRAWN[name]
    space, generator = make(), np.random.default_rng(0)
    space.check(batch(generator, 1000))
    return (
        n_draws
        / repeat(
            lambda: batch(generator, n_draws) if is_peer else space.draw(n_draws, generator), n_repeats, n_warm_up=1
        ).best
    )


def permutations_by_numpy(rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Rankings, each row of a batch shuffled."""
    return rng.permuted(np.tile(np.arange(N_RANKED, dtype=np.int32), (n_draws, 1)), axis=1)


def cycles_by_numpy(rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Tours: how long each is, who is in, and in which order."""
    n = N_TOURED
    n_tours = np.array([comb(n, k) * factorial(k - 1) for k in range(3, n + 1)], float)
    length = 3 + np.searchsorted(np.cumsum(n_tours / n_tours.sum()), rng.random(n_draws))[:, None]
    order = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (n_draws, 1)), axis=1)
    place = np.arange(n)
    follower = np.where(place < length - 1, place + 1, np.where(place == length - 1, 0, place))
    after = np.empty((n_draws, n), np.int32)
    np.put_along_axis(after, order, np.take_along_axis(order, follower, axis=1), axis=1)
    return after


def label_sets_by_numpy(rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Label sets: coins."""
    return rng.integers(0, 2, (n_draws, N_ON_OFF), dtype=np.int32)


Batch = Callable[[np.random.Generator, int], np.ndarray]
DRAWN: dict[str, tuple[str, Callable[[], Space], Batch]] = {
    "permutation": ("Generator.permuted", lambda: Permutations(N_RANKED), permutations_by_numpy),
    "cycle": ("Generator.permuted, and NumPy", lambda: Cycles(N_TOURED), cycles_by_numpy),
    "hypercube": ("Generator.integers", lambda: Hypercube(N_ON_OFF), label_sets_by_numpy),
}


# Exact draws ----------------------------------------------------------------------------------------


def _exact_bar(quick: bool) -> Record:
    n_draws = 2000 if quick else 50_000
    ours, theirs = (_measured("exact_draws_per_second", n_draws=n_draws, is_peer=p) for p in (False, True))
    about = f"permutations of 6 labels, {ours['n_tries']:.0f} steps a sample; the peer {theirs['n_tries']:.0f} tries"
    print(f"  exact draws: {ours['rate']:,.0f} a CPU-second ({about})")
    return record("exact-draws", ours["rate"], "rejection sampling, NumPy", theirs["rate"], reason=about)


def exact_draws_per_second(n_draws: int, is_peer: bool, n_repeats: int = 5) -> dict[str, float]:
    """Samples from a model of rankings: by coupling from the past, or what NumPy takes out of uniform draws."""
    space = Permutations(6)
    scores = np.random.default_rng(0).normal(scale=0.5, size=space.n_statistics)
    rng, last = np.random.default_rng(1), {}

    def draw() -> None:
        if is_peer:
            last["values"], last["n_tries"] = _rejection(space, scores, n_draws, rng)
        else:
            drawn = coupling_from_the_past(space, scores, n_draws, rng=rng)
            last["values"], last["n_tries"] = drawn.values, drawn.n_steps

    timings = repeat(draw, n_repeats, n_warm_up=1)
    exact = enumerate_space(space, scores)
    mean = exact.expected_statistics()
    gap = np.abs(space.statistics(last["values"]).mean(axis=0) - mean)
    if (gap > 5 * np.sqrt((0.25 - mean**2) / n_draws)).any():
        raise ArithmeticError("the samples are not from the model")
    return {"rate": n_draws / timings.best, "n_tries": last["n_tries"] / n_draws}


def _rejection(space: Space, scores: np.ndarray, n_draws: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Uniform draws, taken with probability exp(score - highest score)."""
    top, labels = space.score_range(scores)[1], np.arange(space.size, dtype=np.int32)
    first, second = np.triu_indices(space.size, 1)
    taken, n_taken, n_tries = [], 0, 0
    while n_taken < n_draws:
        places = rng.permuted(np.tile(labels, (10_000, 1)), axis=1)
        signs = np.where(places[:, first] < places[:, second], 0.5, -0.5)
        taken.append(places[rng.random(len(places)) < np.exp(signs @ scores - top)])
        n_taken, n_tries = n_taken + len(taken[-1]), n_tries + len(places)
    return np.concatenate(taken)[:n_draws], n_tries


# Sums -----------------------------------------------------------------------------------------------


def _ranking_bars(quick: bool) -> list[Record]:
    ten = _measured("ranking_sums_per_second", n_labels=10, n_rows=10 if quick else 60)
    six, listed = (
        _measured("ranking_sums_per_second", n_labels=6, n_rows=60, n_times=1 if quick else 20, is_peer=p)
        for p in (False, True)
    )
    for mine, theirs in zip(six["sums"], listed["sums"], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    print(f"  sums over rankings: {ten['rate']:,.0f} rows a CPU-second of 10 labels, {six['rate']:,.0f} of 6")
    return [
        record("ranking-sums", ten["rate"], reason="10 labels, 3,628,800 rankings: not listed in memory"),
        record("ranking-sums-six", six["rate"], "all 720 listed, NumPy", listed["rate"]),
    ]


def ranking_sums_per_second(
    n_labels: int, n_rows: int, n_times: int = 1, is_peer: bool = False, n_repeats: int = 5
) -> dict[str, Any]:
    """Rows of scores for which ln Z and its gradient are computed."""
    space = Permutations(n_labels)
    scores = np.random.default_rng(0).normal(size=(n_rows, space.n_statistics))
    listed = space.statistics(space.all_structures()) if is_peer else None

    def work() -> tuple[np.ndarray, np.ndarray]:
        if listed is None:
            return sum_rankings(scores, n_labels)
        scored = scores @ listed.T
        top = scored.max(axis=1, keepdims=True)
        weights = np.exp(scored - top)
        z = weights.sum(axis=1, keepdims=True)
        return (top + np.log(z))[:, 0], (weights / z) @ listed

    timings = repeat(lambda: [work() for _ in range(n_times)], n_repeats, n_warm_up=1)
    return {"rate": n_times * n_rows / timings.best, "sums": work()}


def _tree_bar(quick: bool) -> Record:
    n_rows = 10 if quick else 60
    ours, theirs, branching = (
        _measured("tree_sums_per_second", n_rows=n_rows, is_peer=p, branching=b)
        for p, b in ((False, False), (True, False), (False, True))
    )
    for mine, other in zip(ours["sums"], theirs["sums"], strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)
    about = f"{N_NODES_OF_SUMS} nodes; {branching['rate']:,.0f} with stops and forks"
    print(f"  sums over subtrees: {ours['rate']:,.0f} rows a CPU-second ({about})")
    return record("tree-sums", ours["rate"], "NumPy, node by node for all rows", theirs["rate"], reason=about)


def tree_sums_per_second(n_rows: int, is_peer: bool, branching: bool, n_repeats: int = 5) -> dict[str, Any]:
    """Rows of scores for which ln Z and its gradient are computed, over subtrees of a random tree."""
    space = Subtrees(tree_parents("random", N_NODES_OF_SUMS), branching=branching)
    scores = np.random.default_rng(0).normal(size=(n_rows, space.n_statistics))
    work = (lambda: _sums_by_numpy(space, scores)) if is_peer else (lambda: sum_subtrees(space, scores))
    timings = repeat(work, n_repeats, n_warm_up=1)
    return {"rate": n_rows / timings.best, "sums": work()}


def _sums_by_numpy(space: Subtrees, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the leaves up, and back down: all rows at once."""
    whole = scores.T.copy()
    for node in range(space.size - 1, 0, -1):
        whole[space.parent[node]] += np.logaddexp(0.0, whole[node])
    chance = np.exp(-np.logaddexp(0.0, -whole))
    chance[0] = 1.0
    for node in range(1, space.size):
        chance[node] *= chance[space.parent[node]]
    return whole[0], chance.T
