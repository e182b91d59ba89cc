"""Scores and statistics of single factors, in compiled loops."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from walkstep.compiled import compiled
from walkstep.model.graph import Kind
from walkstep.worlds.sparse import add

_BARE, _BINARY, _REAL, _DENSE, _FIXED = (int(kind) for kind in Kind)


@compiled(inline=True)
def cell_score(graph, f, cell, weights):
    """The score of factor ``f`` at one joint value."""
    g = graph.factor_group[f]
    kind = graph.group_kind[g]
    at = graph.factor_weight[f] + cell
    if kind == _FIXED:
        return graph.fixed_value[at]
    cells = graph.group_cells[g]
    row = graph.factor_row[f]
    total = 0.0
    if graph.group_bias[g] >= 0:
        total += weights[at + graph.group_bias[g] * cells]
    if kind == _BINARY:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            total += weights[at + graph.row_index[p] * cells]
    elif kind == _REAL:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            total += weights[at + graph.row_index[p] * cells] * graph.row_value[p]
    elif kind == _DENSE:
        for column in range(graph.group_columns[g]):
            total += weights[at + column * cells] * graph.dense_value[row + column]
    return total


@compiled(inline=True)
def add_change(graph, f, before, after, phi):
    """Add the change of factor ``f``'s statistics from one joint value to another."""
    g = graph.factor_group[f]
    kind = graph.group_kind[g]
    if kind == _FIXED or before == after:
        return
    at = graph.factor_weight[f]
    cells = graph.group_cells[g]
    row = graph.factor_row[f]
    if graph.group_bias[g] >= 0:
        start = at + graph.group_bias[g] * cells
        add(phi, start + after, 1.0)
        add(phi, start + before, -1.0)
    if kind == _BINARY or kind == _REAL:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            start = at + graph.row_index[p] * cells
            x = graph.row_value[p] if kind == _REAL else 1.0
            add(phi, start + after, x)
            add(phi, start + before, -x)
    elif kind == _DENSE:
        for column in range(graph.group_columns[g]):
            start = at + column * cells
            x = graph.dense_value[row + column]
            add(phi, start + after, x)
            add(phi, start + before, -x)


@compiled(inline=True)
def add_rows(weights, base, cells, index, first, last, n, out):
    """Add the weights of binary features to all values; four features a turn spare traffic on ``out``.

    Slices, because ``weights[a + k]`` with an ``a`` that might be negative is not vectorised.
    """
    p = first
    while p + 4 <= last:
        a = weights[base + index[p] * cells :]
        b = weights[base + index[p + 1] * cells :]
        c = weights[base + index[p + 2] * cells :]
        d = weights[base + index[p + 3] * cells :]
        for k in range(n):
            out[k] += (a[k] + b[k]) + (c[k] + d[k])
        p += 4
    while p < last:
        a = weights[base + index[p] * cells :]
        for k in range(n):
            out[k] += a[k]
        p += 1


@intrinsic
def _prefetch(_typing, array, at):
    """Ask for the cache line of an entry ahead of its use."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(fetch, [place, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@compiled(inline=True)
def prefetch_rows(weights, base, cells, index, first, last, n):
    """Ask for the weights of binary features: they lie all over memory, and waiting for them took half the time."""
    for p in range(first, last):
        at = base + index[p] * cells
        for k in range(at, at + n, 8):
            _prefetch(weights, k)  # pyright: ignore[reportCallIssue]
        _prefetch(weights, at + n - 1)  # pyright: ignore[reportCallIssue]


@compiled(inline=True)
def prefetch_factor(graph, f, n, weights):
    """Ask for the weights of a factor of one variable, ahead of `add_scores`."""
    g = graph.factor_group[f]
    cells = graph.group_cells[g]
    if graph.group_kind[g] == _BINARY and cells == n:
        row = graph.factor_row[f]
        first, last = graph.row_ptr[row], graph.row_ptr[row + 1]
        prefetch_rows(weights, graph.factor_weight[f], cells, graph.row_index, first, last, n)


@compiled(inline=True)
def add_scores(graph, f, base, stride, n, weights, out):
    """Add to ``out`` the scores of factor ``f`` at cells ``base + k * stride``, for k below ``n``."""
    g = graph.factor_group[f]
    at = graph.factor_weight[f] + base
    kind = graph.group_kind[g]
    if kind == _FIXED:
        for k in range(n):
            out[k] += graph.fixed_value[at + k * stride]
        return
    cells = graph.group_cells[g]
    if graph.group_bias[g] >= 0:
        start = at + graph.group_bias[g] * cells
        for k in range(n):
            out[k] += weights[start + k * stride]
    row = graph.factor_row[f]
    if kind == _BINARY:
        if stride == 1:
            add_rows(weights, at, cells, graph.row_index, graph.row_ptr[row], graph.row_ptr[row + 1], n, out)
        else:
            for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
                start = at + graph.row_index[p] * cells
                for k in range(n):
                    out[k] += weights[start + k * stride]
    elif kind == _REAL:
        for p in range(graph.row_ptr[row], graph.row_ptr[row + 1]):
            start = at + graph.row_index[p] * cells
            x = graph.row_value[p]
            for k in range(n):
                out[k] += weights[start + k * stride] * x
    elif kind == _DENSE:
        for column in range(graph.group_columns[g]):
            start = at + column * cells
            x = graph.dense_value[row + column]
            for k in range(n):
                out[k] += weights[start + k * stride] * x
