"""Loops that find the best world of a forest."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.inference._kernels.forest_scores import (
    FINE,
    NOT_A_NUMBER,
    fill_clique,
    fill_tree,
    fill_variable,
    prefetch_variable,
    score_below,
)


@compiled(allocates=False)
def viterbi_forest(forest, weights, clamp, start, transition, end, belief, back, best, arg, table, values, scores):
    """Max-product from the leaves up, then the choices from the roots down."""
    for t in range(len(forest.tree_ptr) - 1):
        if not fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        for c in range(first, last):
            if not fill_clique(forest, c, weights, transition, table):
                return NOT_A_NUMBER
            top = forest.clique_variables[forest.clique_ptr[c + 1] - 1]
            n = forest.graph.n_values[top]
            for k in range(n):
                best[k] = -np.inf
                arg[k] = 0
            n_rows = (forest.table_ptr[c + 1] - forest.table_ptr[c]) // n
            for row in range(n_rows):
                below = score_below(forest, c, row, belief)
                cells = table[row * n :]
                for k in range(n):
                    x = below + cells[k]
                    better = x > best[k]
                    best[k] = x if better else best[k]
                    arg[k] = row if better else arg[k]
            for k in range(n):
                belief[forest.value_ptr[top] + k] += best[k]
                back[forest.message_ptr[c] + k] = arg[k]
        root = forest.variable_order[forest.tree_ptr[t + 1] - 1]
        at = forest.value_ptr[root]
        chosen = 0
        for k in range(1, forest.graph.n_values[root]):
            if belief[at + k] > belief[at + chosen]:
                chosen = k
        if belief[at + chosen] == -np.inf:
            return t
        scores[t] = belief[at + chosen]
        values[root] = chosen
        for c in range(last - 1, first - 1, -1):
            end_of_scope = forest.clique_ptr[c + 1] - 1
            row = back[forest.message_ptr[c] + values[forest.clique_variables[end_of_scope]]]
            for q in range(end_of_scope - 1, forest.clique_ptr[c] - 1, -1):
                v = forest.clique_variables[q]
                values[v] = row % forest.graph.n_values[v]
                row //= forest.graph.n_values[v]
    return FINE


@compiled(inline=True)
def _step(alpha, i, table, own):
    """alpha[i, k] = own[k] + max over j of alpha[i - 1, j] + table[j, k]."""
    n = len(own)
    before, now = alpha[i - 1], alpha[i]
    for k in range(n):
        now[k] = -np.inf
    j = 0
    while j + 3 <= n:
        a, b, c = table[j], table[j + 1], table[j + 2]
        x, y, z = before[j], before[j + 1], before[j + 2]
        for k in range(n):
            best = max(x + a[k], y + b[k])
            last = max(z + c[k], now[k])
            now[k] = max(best, last)
        j += 3
    while j < n:
        a, x = table[j], before[j]
        for k in range(n):
            now[k] = max(x + a[k], now[k])
        j += 1
    for k in range(n):
        now[k] += own[k]


@compiled(inline=True)
def _trace(alpha, table, end, values):
    """The best path back through ``alpha``; its score.

    The choices are found again along the one path taken, which is cheaper than noting all of them.
    """
    n = len(table)
    last = alpha[len(values) - 1]
    best = 0
    for k in range(n):
        if len(end):
            last[k] += end[k]
        if last[k] > last[best]:
            best = k
    values[len(values) - 1] = best
    for i in range(len(values) - 2, -1, -1):
        to, best = best, 0
        top = alpha[i, 0] + table[0, to]
        for j in range(1, n):
            x = alpha[i, j] + table[j, to]
            if x > top:
                top, best = x, j
        values[i] = best
    return last[values[len(values) - 1]]


@compiled(inline=True)
def _begin(alpha, start, own):
    """The first token of a sentence."""
    for k in range(len(own)):
        alpha[0, k] = own[k] + start[k] if len(start) else own[k]


@compiled(allocates=False)
def viterbi_chains(forest, weights, clamp, start, table, end, own, alpha, values, scores):
    """Chains whose transitions are the same everywhere: scoring and recursion in one, sentence by sentence."""
    for t in range(len(forest.tree_ptr) - 1):
        first, last = forest.tree_ptr[t], forest.tree_ptr[t + 1]
        is_fine = True
        for v in range(first, last):
            if v + 1 < len(values):
                prefetch_variable(forest, v + 1, weights)
            is_fine &= fill_variable(forest, v, weights, clamp, own)
            if v == first:
                _begin(alpha, start, own)
            else:
                _step(alpha, v - first, table, own)
        if not is_fine:
            return NOT_A_NUMBER
        scores[t] = _trace(alpha, table, end, values[first:last])
        if scores[t] == -np.inf:
            return t
    return FINE
