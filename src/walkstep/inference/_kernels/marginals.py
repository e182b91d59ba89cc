"""Loops that find the probability of every value in a forest."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.inference._kernels.forest_scores import FINE, NOT_A_NUMBER, fill_clique, fill_tree, score_below


@compiled(inline=True)
def _log_sum(scores, n):
    """log sum exp, -inf where all are forbidden."""
    top = -np.inf
    for k in range(n):
        top = max(scores[k], top)
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(n):
        total += np.exp(scores[k] - top)
    return top + np.log(total)


@compiled(allocates=False)
def marginals_forest(
    forest, weights, clamp, start, transition, end, is_kept, belief, best, total, table, probabilities, log_partition
):  # fmt: skip
    """Sum-product from the leaves up, in log space, then probabilities from the roots down.

    On the way up each table becomes p(below | top); on the way down, times p(top), the joint of
    its clique. Nothing is ever divided out again, so forbidden values do no harm.
    """
    for t in range(len(forest.tree_ptr) - 1):
        if not fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        offset = np.int64(0) if is_kept else forest.table_ptr[first]
        for c in range(first, last):
            cells = table[forest.table_ptr[c] - offset : forest.table_ptr[c + 1] - offset]
            if not fill_clique(forest, c, weights, transition, cells):
                return NOT_A_NUMBER
            top = forest.clique_variables[forest.clique_ptr[c + 1] - 1]
            n = forest.graph.n_values[top]
            n_rows = len(cells) // n
            for k in range(n):
                best[k] = -np.inf
                total[k] = 0.0
            for row in range(n_rows):
                below = score_below(forest, c, row, belief)
                own = cells[row * n : (row + 1) * n]
                for k in range(n):
                    own[k] += below
                    best[k] = max(own[k], best[k])
            for k in range(n):
                # Where all is forbidden, count from 0: every exponential below is then 0.
                belief[forest.value_ptr[top] + k] += best[k]
                best[k] = 0.0 if best[k] == -np.inf else best[k]
            for row in range(n_rows):
                own = cells[row * n : (row + 1) * n]
                for k in range(n):
                    own[k] = np.exp(own[k] - best[k])
                    total[k] += own[k]
            for k in range(n):
                if total[k] > 0.0:
                    belief[forest.value_ptr[top] + k] += np.log(total[k])
                    total[k] = 1.0 / total[k]
            for row in range(n_rows):
                own = cells[row * n : (row + 1) * n]
                for k in range(n):
                    own[k] *= total[k]
        root = forest.variable_order[forest.tree_ptr[t + 1] - 1]
        own = belief[forest.value_ptr[root] : forest.value_ptr[root + 1]]
        log_partition[t] = _log_sum(own, len(own))
        if log_partition[t] == -np.inf:
            return t
        for k in range(len(own)):
            probabilities[forest.value_ptr[root] + k] = np.exp(own[k] - log_partition[t])
        for c in range(last - 1, first - 1, -1):
            cells = table[forest.table_ptr[c] - offset : forest.table_ptr[c + 1] - offset]
            _spread(forest, c, cells, probabilities)
    return FINE


@compiled(inline=True)
def _spread(forest, c, cells, probabilities):
    """From p(below | top) and p(top) to the joint of a clique and the marginals below it."""
    graph = forest.graph
    first, top = forest.clique_ptr[c], forest.clique_ptr[c + 1] - 1
    n = graph.n_values[forest.clique_variables[top]]
    above = probabilities[forest.value_ptr[forest.clique_variables[top]] :]
    for row in range(len(cells) // n):
        own = cells[row * n : (row + 1) * n]
        total = 0.0
        for k in range(n):
            own[k] *= above[k]
            total += own[k]
        rest = row
        for q in range(top - 1, first - 1, -1):
            v = forest.clique_variables[q]
            size = graph.n_values[v]
            probabilities[forest.value_ptr[v] + rest % size] += total
            rest //= size
