"""thrml (block Gibbs in JAX, here on the CPU) on an Ising torus, in two colours.

Only the coupling factor is given to it: ``IsingEBM`` would add a bias per site, which costs time and
changes nothing here (3 % slower). The default generator of JAX is kept; ``rbg`` and ``unsafe_rbg`` ran
at half its speed. A call has a fixed cost of two to three sweeps at 1000 × 1000, so short calls would
understate the peer: 5 sweeps a call gave 0.7 of the rate of 60, 20 gave 0.93, 200 no more than 60.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from thrml import Block, BlockGibbsSpec, SamplingSchedule, SpinNode, sample_states
from thrml.factor import FactorSamplingProgram
from thrml.models.discrete_ebm import SpinEBMFactor, SpinGibbsConditional

from benchmarks.ising import BETA, bond_sum, check_bond_sum
from benchmarks.measure import cpu_timer, repeat


def updates_per_second(side: int, n_sweeps: int = 60, n_repeats: int = 5, beta: float = BETA, seed: int = 0) -> dict:
    """Spin updates per CPU-second on a ``side`` × ``side`` torus, building and compilation not counted.

    ``side`` is even, so that two colours do. The warm-up is one call of the compiled ``n_sweeps``.
    """
    if side % 2:
        raise ValueError(f"side={side} is odd: the torus has no two-colouring; give an even side")
    with cpu_timer() as build:
        program, blocks, is_odd = _torus(side, beta)
    schedule = SamplingSchedule(n_warmup=n_sweeps, n_samples=1, steps_per_sample=1)

    @eqx.filter_jit
    def run(key, program, state):
        return [samples[0] for samples in sample_states(key, program, schedule, state, [], blocks)]

    init_key, key = jax.random.split(jax.random.key(seed))
    state = [
        jax.random.bernoulli(block_key, shape=(len(block),))
        for block_key, block in zip(jax.random.split(init_key), blocks, strict=True)
    ]

    def step():
        nonlocal key, state
        key, now = jax.random.split(key)
        state = jax.block_until_ready(run(now, program, state))

    with cpu_timer() as compilation:
        step()
    timings = repeat(step, n_repeats)
    spins = np.empty((side, side), np.int8)
    for colour, values in enumerate(state):
        spins[is_odd == colour] = 2 * np.asarray(values).astype(np.int8) - 1
    check_bond_sum(bond_sum(spins), side, beta)
    work = n_sweeps * side * side
    return {
        "updates_per_second": work / timings.best,
        "updates_per_second_median": work / timings.median,
        "build_seconds": build.seconds,
        "first_run_seconds": compilation.seconds,
        "bond_sum": bond_sum(spins),
    }


def _torus(side, beta):
    nodes = np.array([SpinNode() for _ in range(side * side)], dtype=object).reshape(side, side)
    is_odd = np.indices((side, side)).sum(axis=0) % 2
    blocks = [Block(list(nodes[is_odd == colour])) for colour in (0, 1)]
    here = [*nodes.ravel(), *nodes.ravel()]
    there = [*np.roll(nodes, -1, 1).ravel(), *np.roll(nodes, -1, 0).ravel()]
    coupling = SpinEBMFactor([Block(here), Block(there)], jnp.full(len(here), beta))
    spec = BlockGibbsSpec(blocks, [], {SpinNode: jax.ShapeDtypeStruct((), jnp.bool_)})
    samplers = [SpinGibbsConditional(), SpinGibbsConditional()]
    return FactorSamplingProgram(spec, samplers, [coupling], []), blocks, is_odd
