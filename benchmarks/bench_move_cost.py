"""The cost of one move as the world grows, beside as many random reads in arrays of the same sizes.

A move touches the same few factors however many variables there are; but they lie ever further apart, and a
cache line that is not in the cache costs what it costs. The control reads, at a random site, one entry of each
array that a move reads, each read waiting for the one before it.
"""

import json
from pathlib import Path

import numba
import numpy as np

from benchmarks.measure import Record, measure_in_subprocess, record, repeat
from walkstep.inference import gibbs, metropolis
from walkstep.model import Factors, ground
from walkstep.worlds import below, stream

CURVE = Path(__file__).resolve().parent / "move_cost.json"
SIZES = [10**4, 10**5, 10**6, 10**7]

# Bytes an entry of each array that a move reads. Metropolis: domain, value, from the variable to its factors (2),
# their scopes (2) and group, the tables, the neighbours' values. Gibbs: site, bias, where the neighbours are (2),
# couplings, values.
READS = {"metropolis": (4, 4, 8, 4, 8, 4, 2, 8, 4), "gibbs": (4, 8, 8, 8, 16, 1)}


def run(quick: bool) -> list[Record]:
    """Cost at the largest size over that at the smallest, for Metropolis-Hastings and for random-scan Gibbs."""
    sizes = SIZES[:2] if quick else SIZES
    points = [measure_in_subprocess("benchmarks.bench_move_cost", "nanoseconds_per_move", n_variables=n) for n in sizes]
    curve = {"n_variables": sizes} | {key: [point[key] for point in points] for key in points[0]}
    for key, values in curve.items():
        print(f"  {key}: " + ", ".join(f"{value:,.1f}" for value in values))
    if not quick:
        CURVE.write_text(json.dumps(curve, indent=2) + "\n", encoding="utf-8")
    bars = []
    for id, walk in (("move-cost", "metropolis"), ("move-cost-gibbs", "gibbs")):
        ours, control = (curve[f"{walk}{what}_ns"] for what in ("", "_control"))
        bars.append(
            record(
                id,
                ours[-1] / ours[0],
                "the same random reads",
                control[-1] / control[0],
                lower_is_better=True,
                reason=f"{ours[0]:.0f} ns a move at {sizes[0]:.0e} variables, {ours[-1]:.0f} at {sizes[-1]:.0e}",
            )
        )
    return bars


def nanoseconds_per_move(n_variables: int, n_moves: int = 1_000_000, n_repeats: int = 5) -> dict:
    """Nanoseconds a move on a ring of binary variables, and a turn of the control, on one size."""
    ring = np.stack([np.arange(n_variables), (np.arange(n_variables) + 1) % n_variables], axis=1)
    graph, _ = ground(np.full(n_variables, 2), [Factors("pair", ring)])
    weights = np.array([0.3, -0.3, -0.3, 0.3])
    start = np.random.default_rng(0).integers(0, 2, n_variables)
    rng = stream(0)
    result = {}
    for name, sampler in (
        ("metropolis", metropolis(graph, weights, n_moves=n_moves)),
        ("gibbs", gibbs(graph, weights, scan="random")),
    ):
        state = sampler.init(start)
        n_steps = 1 if name == "metropolis" else max(n_moves // n_variables, 1)

        def walk(sampler=sampler, state=state, n_steps=n_steps):
            for _ in range(n_steps):
                sampler.step(rng, state)

        made = n_steps * (n_moves if name == "metropolis" else n_variables)
        result[f"{name}_ns"] = repeat(walk, n_repeats, n_warm_up=1).best / made * 1e9
        del sampler, state
    del graph, ring, start
    for name, widths in READS.items():
        arrays = tuple(np.full(n_variables * width, 0, np.uint8) for width in widths)
        control = repeat(lambda arrays=arrays: read(arrays, n_variables, n_moves, rng), n_repeats, n_warm_up=1)
        result[f"{name}_control_ns"] = control.best / n_moves * 1e9
    return result


@numba.njit
def read(arrays, n_variables, n_turns, rng):
    """One entry of each array at a random site, ``n_turns`` times."""
    total = 0
    for _ in range(n_turns):
        at = below(rng, n_variables)
        for array in arrays:
            at += array[at * (len(array) // n_variables)]  # a zero: the same site, but known only once it is read
        total += at
    return total
