"""PGMax (loopy belief propagation in JAX), many graphs at once, in both ways it has.

Either all graphs are one disjoint union, or one graph is mapped over the scores of all by ``jax.vmap``. Both are
measured and the faster counts. It starts with sum-product (temperature 1) and without damping, as ours does.
"""

import dataclasses

import jax
import jax.extend.backend
import jax.numpy as jnp
import numpy as np

from benchmarks.measure import cpu_timer, repeat
from benchmarks.messages import N_ROUNDS, check_marginals, problem

# PGMax 0.6.1 asks under a name that JAX has since dropped which device it runs on.
jax.lib.xla_bridge = jax.extend.backend

from pgmax import fgraph, fgroup, infer, vgroup  # noqa: E402


def messages_per_second(shape: str, n_copies: int, with_gradient: bool, n_repeats: int = 5) -> dict:
    """Messages per CPU-second from scores to marginals, or to the gradient of their error by the scores."""
    found = [_measured(shape, n_copies, with_gradient, n_repeats, is_union) for is_union in (False, True)]
    return max(found, key=lambda one: one["messages_per_second"])


def _measured(shape: str, n_copies: int, with_gradient: bool, n_repeats: int, is_union: bool) -> dict:
    given = problem(shape, n_copies)
    n_values, n_variables, _ = given.own.shape
    n_graphs = n_copies if is_union else 1
    with cpu_timer() as build:
        variables = vgroup.NDVarArray(num_states=n_values, shape=(n_graphs, n_variables))
        graph = fgraph.FactorGraph(variables)
        pairs = [[variables[b, left], variables[b, right]] for b in range(n_graphs) for left, right in given.scope.T]
        graph.add_factors(
            fgroup.PairwiseFactorGroup(
                variables_for_factors=pairs, log_potential_matrix=np.zeros((n_values, n_values), np.float32)
            )
        )
        passing = infer.build_inferer(graph.bp_state, backend="bp")
        arrays = passing.init()

    def marginals_of(own, table):
        start = dataclasses.replace(arrays, evidence=own, log_potentials=table)
        passed = passing.run(start, num_iters=N_ROUNDS, damping=0.0, temperature=1.0)
        return infer.get_marginals(passing.get_beliefs(passed))[variables]

    # By graph, then variable or factor, then value.
    own = jnp.asarray(given.own.transpose(2, 1, 0).reshape(n_copies, -1))
    table = jnp.asarray(given.table.transpose(3, 2, 0, 1).reshape(n_copies, -1))
    if is_union:
        marginals, own, table = marginals_of, own.ravel(), table.ravel()
    else:
        marginals = jax.vmap(marginals_of)

    def expected_error(own, table):
        return (1.0 - marginals(own, table)[..., 0]).sum()

    answer = jax.jit(jax.value_and_grad(expected_error, (0, 1)) if with_gradient else marginals)
    with cpu_timer() as compilation:
        jax.block_until_ready(answer(own, table))
    timings = repeat(lambda: jax.block_until_ready(answer(own, table)), n_repeats)
    found = np.asarray(jax.jit(marginals)(own, table)).reshape(n_copies, n_variables, n_values)
    check_marginals(found.transpose(2, 1, 0), given)
    work = given.n_messages * N_ROUNDS
    return {
        "messages_per_second": work / timings.best,
        "messages_per_second_median": work / timings.median,
        "build_seconds": build.seconds,
        "first_run_seconds": compilation.seconds,
        "remark": "; as one union" if is_union else "; one graph, mapped",
    }
