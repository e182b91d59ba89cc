"""pgmpy, whose message passing goes through trees only: its own functions for one message each, in rounds of ours.

A message costs it the same in any graph, so a few graphs are enough. Factors of one variable are given to variables as
a message, the way its ``virtual_evidence`` is.
"""

import warnings

import numpy as np

from benchmarks.measure import cpu_timer, repeat
from benchmarks.messages import N_ROUNDS, Problem, check_marginals, problem

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagationWithMessagePassing
    from pgmpy.models import FactorGraph

MOST_COPIES = 3


def messages_per_second(shape: str, n_copies: int, with_gradient: bool, n_repeats: int = 3) -> dict:
    """Messages per CPU-second from scores to marginals, in the first few graphs."""
    if with_gradient:
        raise NotImplementedError("pgmpy has no gradients")
    whole = problem(shape, n_copies)
    few = min(n_copies, MOST_COPIES)
    given = Problem(whole.scope, whole.own[..., :few], whole.table[..., :few])
    with cpu_timer() as build:
        graphs = [_graph(given, b) for b in range(few)]
    timings = repeat(lambda: [_marginals(*graph) for graph in graphs], n_repeats)
    found = np.stack([_marginals(*graph) for graph in graphs], axis=-1)
    check_marginals(found, given)
    work = given.n_messages * N_ROUNDS
    return {
        "messages_per_second": work / timings.best,
        "messages_per_second_median": work / timings.median,
        "build_seconds": build.seconds,
        "first_run_seconds": 0.0,
        "remark": f"; {few} of the graphs",
    }


def _graph(given: Problem, copy: int) -> tuple:
    names = [f"y{v}" for v in range(given.own.shape[1])]
    graph = FactorGraph()
    graph.add_nodes_from(names)
    factors = []
    for f, (left, right) in enumerate(given.scope.T):
        table = np.exp(given.table[:, :, f, copy].astype(np.float64))
        factors.append(DiscreteFactor([names[left], names[right]], table.shape, table))
    graph.add_factors(*factors)
    graph.add_edges_from([(name, factor) for factor in factors for name in factor.variables])
    own = np.exp(given.own[:, :, copy].astype(np.float64))
    return BeliefPropagationWithMessagePassing(graph), names, factors, dict(zip(names, own.T, strict=True))


def _marginals(passing, names: list[str], factors: list, own: dict[str, np.ndarray]) -> np.ndarray:
    to_variable = {name: {} for name in names}
    for f, factor in enumerate(factors):
        for name in factor.variables:
            to_variable[name][f] = passing.model.get_uniform_message(name)
    for _ in range(N_ROUNDS):
        fresh = {name: {} for name in names}
        for f, factor in enumerate(factors):
            for name, other in (factor.variables, factor.variables[::-1]):
                heard = [own[other], *(m for g, m in to_variable[other].items() if g != f)]
                told = passing.calc_variable_node_message(other, heard)
                fresh[name][f] = passing.calc_factor_node_message(factor, [told], name)
        to_variable = fresh
    believed = [passing.calc_variable_node_message(name, [own[name], *to_variable[name].values()]) for name in names]
    return np.stack(believed, axis=1)
