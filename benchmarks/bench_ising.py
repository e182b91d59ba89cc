"""Gibbs on an Ising torus, written with ordinary factors, beside thrml, Numbskull and a bare Numba loop."""

import numpy as np

from benchmarks.ising import BETA, bond_sum, check_bond_sum
from benchmarks.measure import ChildError, Record, cpu_timer, measure_in_subprocess, record, repeat

PEERS = {
    "ising-updates": ("thrml", "thrml_ising"),
    "ising-updates-numbskull": ("Numbskull", "numbskull_ising"),
    "ising-updates-bare": ("bare Numba loop", "bare_numba_ising"),
}


def run(quick: bool) -> list[Record]:
    """Ours and all peers one after the other, each in a process of its own, single-threaded."""
    side = 200 if quick else 1000
    bars = []
    for id, (peer, module) in PEERS.items():
        # Ours again beside each peer: a neighbour on the machine then disturbs both alike.
        ours = measure_in_subprocess("benchmarks.bench_ising", "updates_per_second", side=side)
        try:
            theirs = measure_in_subprocess(f"benchmarks.peers.{module}", "updates_per_second", side=side)
        except ChildError as error:
            bars.append(record(id, ours["updates_per_second"], peer, None, reason=str(error)))
            continue
        bars.append(record(id, ours["updates_per_second"], peer, theirs["updates_per_second"]))
    own = measure_in_subprocess("benchmarks.bench_ising", "updates_per_second", side=side, tied=False)
    reason = "as many weights as bonds: log odds added up, not looked up"
    bars.append(record("ising-updates-untied", own["updates_per_second"], reason=reason))
    return bars


def updates_per_second(
    side: int,
    n_sweeps: int = 60,
    n_repeats: int = 5,
    beta: float = BETA,
    seed: int = 0,
    tied: bool = True,
) -> dict:
    """Spin updates per CPU-second on a ``side`` × ``side`` torus, grounding and compilation not counted."""
    from walkstep.inference import gibbs
    from walkstep.model import Factors, ground
    from walkstep.worlds import stream

    site = np.arange(side * side).reshape(side, side)
    bonds = np.concatenate([np.stack([site.ravel(), np.roll(site, -1, axis).ravel()], axis=1) for axis in (0, 1)])
    table = np.array([beta, -beta, -beta, beta])
    weights = table
    with cpu_timer() as build:
        if tied:
            graph, _ = ground(np.full(side * side, 2), [Factors("bond", bonds)])
        else:
            sets = np.arange(len(bonds))
            graph, _ = ground(np.full(side * side, 2), [Factors("bond", bonds, sets=sets, n_sets=len(bonds))])
            # Differences far below what a sample shows, so that no two couplings are equal.
            weights = (table * (1 + 1e-9 * sets[:, None] / len(bonds))).ravel()
        sampler = gibbs(graph, weights)
    rng = stream(seed)
    state = sampler.init(np.random.default_rng(seed).integers(0, 2, side * side))

    def sweeps():
        nonlocal state
        for _ in range(n_sweeps):
            state, _ = sampler.step(rng, state)

    sweeps()
    timings = repeat(sweeps, n_repeats)
    spins = 2 * state.values.reshape(side, side) - 1
    check_bond_sum(bond_sum(spins), side, beta)
    work = n_sweeps * side * side
    return {
        "updates_per_second": work / timings.best,
        "updates_per_second_median": work / timings.median,
        "build_seconds": build.seconds,
        "bond_sum": bond_sum(spins),
    }
