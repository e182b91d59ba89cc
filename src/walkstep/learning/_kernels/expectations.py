"""Loops that turn probabilities of values into expected statistics, the gradient of a likelihood."""

from walkstep.compiled import compiled
from walkstep.model.graph import Kind
from walkstep.worlds.scores import prefetch_factor

_BINARY, _REAL, _DENSE, _FIXED = int(Kind.BINARY), int(Kind.REAL), int(Kind.DENSE), int(Kind.FIXED)


@compiled(inline=True)
def _add_row(gradient, at, n, x, amounts):
    """Add ``n`` amounts, times a number."""
    own = gradient[at:]
    for k in range(n):
        own[k] += x * amounts[k]


@compiled(inline=True)
def _add_factor(graph, f, n, amounts, gradient):
    """Add a factor's features times the amount of each of its ``n`` joint values."""
    g = graph.factor_group[f]
    kind, at, row = graph.group_kind[g], graph.factor_weight[f], graph.factor_row[f]
    if kind == _FIXED:
        return
    if graph.group_bias[g] >= 0:
        _add_row(gradient, at + graph.group_bias[g] * n, n, 1.0, amounts)
    if kind == _BINARY:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            _add_row(gradient, at + graph.row_index[p] * n, n, 1.0, amounts)
    elif kind == _REAL:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            _add_row(gradient, at + graph.row_index[p] * n, n, graph.row_value[p], amounts)
    elif kind == _DENSE:
        for column in range(graph.group_columns[g]):
            _add_row(gradient, at + column * n, n, graph.dense_value[row + column], amounts)


@compiled(inline=True)
def prefetch_gradient(forest, v, gradient):
    """Ask for the entries that `add_variable` will change."""
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        prefetch_factor(forest.graph, forest.unary_factor[p], forest.graph.n_values[v], gradient)


@compiled(inline=True)
def add_variable(forest, v, amounts, gradient):
    """Add the statistics of the factors of one variable alone, times the amount of each of its values."""
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        _add_factor(forest.graph, forest.unary_factor[p], forest.graph.n_values[v], amounts, gradient)


@compiled(inline=True)
def _add_clique(forest, c, amounts, theirs, gradient):
    """Add the statistics of the factors of one clique; ``theirs`` is scratch for those that see a part of it."""
    graph = forest.graph
    first, last = forest.clique_ptr[c], forest.clique_ptr[c + 1]
    for m in range(forest.member_ptr[c], forest.member_ptr[c + 1]):
        f = forest.member_factor[m]
        cells = graph.group_cells[graph.factor_group[f]]
        if forest.is_aligned[m]:
            _add_factor(graph, f, cells, amounts, gradient)
            continue
        for cell in range(cells):
            theirs[cell] = 0.0
        for cell in range(len(amounts)):
            at, rest = 0, cell
            for q in range(last - 1, first - 1, -1):
                size = graph.n_values[forest.clique_variables[q]]
                at += (rest % size) * forest.member_stride[m, q - first]
                rest //= size
            theirs[at] += amounts[cell]
        _add_factor(graph, f, cells, theirs, gradient)


@compiled(allocates=False)
def add_expectations(forest, probabilities, joints, theirs, gradient):
    """Add the expected statistics of a whole forest to ``gradient``."""
    for v in range(len(forest.graph.n_values)):
        add_variable(forest, v, probabilities[forest.value_ptr[v] : forest.value_ptr[v + 1]], gradient)
    for c in range(len(forest.clique_ptr) - 1):
        _add_clique(forest, c, joints[forest.table_ptr[c] : forest.table_ptr[c + 1]], theirs, gradient)
