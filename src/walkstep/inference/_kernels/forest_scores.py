"""Loops that add up the scores of a forest's variables and cliques, whatever is then done with them."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.model.graph import Kind
from walkstep.worlds.scores import add_rows, cell_score, prefetch_factor

_BINARY, _REAL, _DENSE, _FIXED = int(Kind.BINARY), int(Kind.REAL), int(Kind.DENSE), int(Kind.FIXED)

# What the loops over trees say instead of the number of a tree: all is well, or a score is not a number.
FINE, NOT_A_NUMBER = -1, -2


@compiled(inline=True)
def _hold(clamp, v, n, out):
    """Forbid all values but the one a variable is held at."""
    if len(clamp) and clamp[v] >= 0:
        for k in range(n):
            if k != clamp[v]:
                out[k] = -np.inf


@compiled(inline=True)
def _is_number(scores, n):
    """Whether all of them are numbers below infinity; -inf, which forbids, is welcome."""
    is_fine = True
    for k in range(n):
        is_fine &= scores[k] < np.inf
    return is_fine


@compiled(inline=True)
def _add_row(weights, at, n, x, out):
    """Add ``n`` weights, times a number."""
    own = weights[at:]
    for k in range(n):
        out[k] += own[k] * x


@compiled(inline=True)
def _add_factor(graph, f, n, weights, out):
    """Add the scores of a factor at all its ``n`` joint values."""
    g = graph.factor_group[f]
    kind, at, row = graph.group_kind[g], graph.factor_weight[f], graph.factor_row[f]
    if kind == _FIXED:
        _add_row(graph.fixed_value, at, n, 1.0, out)
        return
    if graph.group_bias[g] >= 0:
        _add_row(weights, at + graph.group_bias[g] * n, n, 1.0, out)
    if kind == _BINARY:
        add_rows(weights, at, n, graph.row_index, graph.row_ptr[row], graph.row_ptr[row + 1], n, out)
    elif kind == _REAL:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            _add_row(weights, at + graph.row_index[p] * n, n, graph.row_value[p], out)
    elif kind == _DENSE:
        for column in range(graph.group_columns[g]):
            _add_row(weights, at + column * n, n, graph.dense_value[row + column], out)


@compiled(inline=True)
def prefetch_variable(forest, v, weights):
    """Ask for the weights that `fill_variable` will want."""
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        prefetch_factor(forest.graph, forest.unary_factor[p], forest.graph.n_values[v], weights)


@compiled(inline=True)
def fill_variable(forest, v, weights, clamp, out):
    """What the factors of one variable alone say of its values."""
    n = forest.graph.n_values[v]
    for k in range(n):
        out[k] = 0.0
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        _add_factor(forest.graph, forest.unary_factor[p], n, weights, out)
    _hold(clamp, v, n, out)
    return _is_number(out, n)


@compiled(inline=True)
def fill_clique(forest, c, weights, transition, table):
    """The table of one clique, the values of its top contiguous."""
    graph = forest.graph
    first, last = forest.clique_ptr[c], forest.clique_ptr[c + 1]
    cells = forest.table_ptr[c + 1] - forest.table_ptr[c]
    for k in range(cells):
        table[k] = transition[k] if len(transition) else 0.0
    for m in range(forest.member_ptr[c], forest.member_ptr[c + 1]):
        f = forest.member_factor[m]
        if forest.is_aligned[m]:
            _add_factor(graph, f, cells, weights, table)
            continue
        for cell in range(cells):
            theirs, rest = np.int64(0), cell
            for q in range(last - 1, first - 1, -1):
                size = graph.n_values[forest.clique_variables[q]]
                theirs += (rest % size) * forest.member_stride[m, q - first]
                rest //= size
            table[cell] += cell_score(graph, f, theirs, weights)
    return _is_number(table, cells)


@compiled(inline=True)
def score_below(forest, c, row, belief):
    """The sum of what lies below a clique, at a joint value of all its variables but the top."""
    first, top = forest.clique_ptr[c], forest.clique_ptr[c + 1] - 1
    if top - first == 1:
        return belief[forest.value_ptr[forest.clique_variables[first]] + row]
    total, rest = 0.0, row
    for q in range(top - 1, first - 1, -1):
        v = forest.clique_variables[q]
        size = forest.graph.n_values[v]
        total += belief[forest.value_ptr[v] + rest % size]
        rest //= size
    return total


@compiled(inline=True)
def fill_tree(forest, t, weights, clamp, start, end, belief):
    """What the factors of single variables say, for all variables of a tree."""
    is_fine = True
    for p in range(forest.tree_ptr[t], forest.tree_ptr[t + 1]):
        v = forest.variable_order[p]
        if p + 1 < len(forest.variable_order):
            prefetch_variable(forest, forest.variable_order[p + 1], weights)
        own = belief[forest.value_ptr[v] : forest.value_ptr[v + 1]]
        is_fine &= fill_variable(forest, v, weights, clamp, own)
        if len(start):
            if p == forest.tree_ptr[t]:
                for k in range(len(start)):
                    own[k] += start[k]
            if p == forest.tree_ptr[t + 1] - 1:
                for k in range(len(end)):
                    own[k] += end[k]
    return is_fine
