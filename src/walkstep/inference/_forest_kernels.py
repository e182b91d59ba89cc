"""Compiled loops of exact inference on forests: arrays in, arrays out.

A *clique* is a set of variables that factors join, with all the factors over it or over a part of it.
Of its variables the last is its *top*, and the others hang below that; a tree's last variable is its root.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.model.graph import Kind
from walkstep.worlds.scores import add_rows, cell_score, prefetch_factor, prefetch_rows

_BARE, _BINARY, _REAL, _DENSE, _FIXED = (int(kind) for kind in Kind)

# What the loops say instead of the number of a tree: all is well, or a score is not a number.
FINE, NOT_A_NUMBER = -1, -2


# --- structure -----------------------------------------------------------------------------------------------


@compiled(inline=True)
def _find(parent, v):
    """The representative of a variable's tree (union-find, halving paths)."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@compiled(inline=True)
def _join(scope, first, last, parent, head, degree, next_entry, clique_of_entry, ptr, variables, n_cliques):
    """The clique that holds a scope, found or made; ``-1 - v`` where variable ``v`` is on a cycle.

    A scope either joins as many trees as it has variables, or lies within a clique already made,
    or closes a cycle.
    """
    for e in range(first + 1, last):
        a, b = _find(parent, scope[first]), _find(parent, scope[e])
        if a != b:
            parent[a] = b
            continue
        if e > first + 1:
            return -1 - scope[e]
        entry = head[scope[e]] if degree[scope[e]] < degree[scope[first]] else head[scope[first]]
        while entry >= 0:
            c = clique_of_entry[entry]
            n_found = 0
            for p in range(first, last):
                for q in range(ptr[c], ptr[c + 1]):
                    n_found += variables[q] == scope[p]
            if n_found == last - first:
                return np.int64(c)
            entry = next_entry[entry]
        return -1 - scope[e]
    at = ptr[n_cliques]
    for e in range(first, last):
        v = scope[e]
        variables[at] = v
        clique_of_entry[at] = n_cliques
        next_entry[at] = head[v]
        head[v] = at
        degree[v] += 1
        at += 1
    ptr[n_cliques + 1] = at
    return n_cliques


@compiled
def merge_scopes(n_variables, group_first, group_last, factor_ptr, factor_variables, pairs):
    """Cliques out of scopes, the largest arity first; ``-1 - v`` instead of their number where there is a cycle."""
    parent = np.arange(n_variables)
    head = np.full(n_variables, -1, np.int64)
    degree = np.zeros(n_variables, np.int32)
    # Every clique of n variables joins n trees into one, so there can be no more than these.
    next_entry = np.empty(2 * n_variables, np.int64)
    clique_of_entry = np.empty(2 * n_variables, np.int64)
    ptr = np.zeros(n_variables + 1, np.int64)
    variables = np.empty(2 * n_variables, np.int32)
    clique_of_factor = np.full(len(factor_ptr) - 1, -1, np.int64)
    n = np.int64(0)
    for g in range(len(group_first)):
        for f in range(group_first[g], group_last[g]):
            c = _join(
                factor_variables, factor_ptr[f], factor_ptr[f + 1],
                parent, head, degree, next_entry, clique_of_entry, ptr, variables, n,
            )  # fmt: skip
            if c < 0:
                return c, ptr, variables, clique_of_factor
            clique_of_factor[f] = c
            n = max(n, c + 1)
    for p in range(0, len(pairs), 2):
        c = _join(
            pairs, p, p + 2, parent, head, degree, next_entry, clique_of_entry, ptr, variables, n
        )  # fmt: skip
        if c < 0:
            return c, ptr, variables, clique_of_factor
        n = max(n, c + 1)
    return n, ptr[: n + 1], variables[: ptr[n]], clique_of_factor


@compiled
def schedule(n_values, ptr, variables, clique_of_factor):
    """Root every tree at its last variable and number the cliques so that each comes before the one above it."""
    n_variables, n_cliques = len(n_values), len(ptr) - 1
    at = np.zeros(n_variables + 1, np.int64)
    for e in range(len(variables)):
        at[variables[e] + 1] += 1
    for v in range(n_variables):
        at[v + 1] += at[v]
    fill = at[:-1].copy()
    clique_of_edge = np.empty(len(variables), np.int64)
    for c in range(n_cliques):
        for e in range(ptr[c], ptr[c + 1]):
            clique_of_edge[fill[variables[e]]] = c
            fill[variables[e]] += 1

    n_trees = n_variables - (len(variables) - n_cliques)
    tree_ptr = np.zeros(n_trees + 1, np.int64)
    tree_clique_ptr = np.zeros(n_trees + 1, np.int64)
    order = np.empty(n_variables, np.int32)
    is_seen = np.zeros(n_variables, np.bool_)
    old_of_new = np.empty(n_cliques, np.int64)
    new_of_old = np.full(n_cliques, -1, np.int64)
    top = np.empty(n_cliques, np.int32)
    # Breadth first from the roots, written from the back, so that what hangs below comes before.
    reading = writing = n_variables
    next_clique, tree = n_cliques, n_trees
    for root in range(n_variables - 1, -1, -1):
        if is_seen[root]:
            continue
        tree_ptr[tree], tree_clique_ptr[tree] = writing, next_clique
        tree -= 1
        writing -= 1
        order[writing] = root
        is_seen[root] = True
        while reading > writing:
            reading -= 1
            v = order[reading]
            for edge in range(at[v + 1] - 1, at[v] - 1, -1):
                c = clique_of_edge[edge]
                if new_of_old[c] >= 0:
                    continue
                next_clique -= 1
                new_of_old[c], old_of_new[next_clique], top[next_clique] = next_clique, c, v
                for e in range(ptr[c + 1] - 1, ptr[c] - 1, -1):
                    if not is_seen[variables[e]]:
                        is_seen[variables[e]] = True
                        writing -= 1
                        order[writing] = variables[e]

    clique_ptr = np.zeros(n_cliques + 1, np.int64)
    clique_variables = np.empty(len(variables), np.int32)
    message_ptr = np.zeros(n_cliques + 1, np.int64)
    table_ptr = np.zeros(n_cliques + 1, np.int64)
    e = 0
    for c in range(n_cliques):
        old = old_of_new[c]
        cells = np.int64(1)
        for q in range(ptr[old], ptr[old + 1]):
            cells *= n_values[variables[q]]
            if variables[q] != top[c]:
                clique_variables[e] = variables[q]
                e += 1
        clique_variables[e] = top[c]
        e += 1
        clique_ptr[c + 1] = e
        message_ptr[c + 1] = message_ptr[c] + n_values[top[c]]
        table_ptr[c + 1] = table_ptr[c] + cells
    for f in range(len(clique_of_factor)):
        if clique_of_factor[f] >= 0:
            clique_of_factor[f] = new_of_old[clique_of_factor[f]]
    return order, tree_ptr, tree_clique_ptr, clique_ptr, clique_variables, message_ptr, table_ptr


@compiled
def members(graph, clique_ptr, clique_variables, clique_of_factor):
    """The factors of each clique and of each variable alone, and the strides of theirs in its table."""
    n_cliques, n_variables = len(clique_ptr) - 1, len(graph.n_values)
    member_ptr = np.zeros(n_cliques + 1, np.int64)
    unary_ptr = np.zeros(n_variables + 1, np.int64)
    for f in range(len(clique_of_factor)):
        if clique_of_factor[f] >= 0:
            member_ptr[clique_of_factor[f] + 1] += 1
        else:
            unary_ptr[graph.factor_variables[graph.factor_ptr[f]] + 1] += 1
    for c in range(n_cliques):
        member_ptr[c + 1] += member_ptr[c]
    for v in range(n_variables):
        unary_ptr[v + 1] += unary_ptr[v]
    largest = 1
    for c in range(n_cliques):
        largest = max(largest, clique_ptr[c + 1] - clique_ptr[c])
    member_factor = np.empty(member_ptr[-1], np.int32)
    member_stride = np.zeros((member_ptr[-1], largest), np.int64)
    is_aligned = np.empty(member_ptr[-1], np.bool_)
    unary_factor = np.empty(unary_ptr[-1], np.int32)
    fill, fill_unary = member_ptr[:-1].copy(), unary_ptr[:-1].copy()
    for f in range(len(clique_of_factor)):
        first, last = graph.factor_ptr[f], graph.factor_ptr[f + 1]
        c = clique_of_factor[f]
        if c < 0:
            v = graph.factor_variables[first]
            unary_factor[fill_unary[v]] = f
            fill_unary[v] += 1
            continue
        m = fill[c]
        fill[c] += 1
        member_factor[m] = f
        aligned = last - first == clique_ptr[c + 1] - clique_ptr[c]
        for q in range(clique_ptr[c], clique_ptr[c + 1]):
            slot = q - clique_ptr[c]
            for e in range(first, last):
                if graph.factor_variables[e] == clique_variables[q]:
                    member_stride[m, slot] = graph.group_stride[graph.factor_group[f], e - first]
                    aligned &= e - first == slot
        is_aligned[m] = aligned
    return member_ptr, member_factor, member_stride, is_aligned, unary_ptr, unary_factor


@compiled(allocates=False)
def is_chain(n_values, order, clique_ptr, clique_variables):
    """Whether every clique joins a variable with the next one, and all domains are equal."""
    if len(clique_variables) != 2 * (len(clique_ptr) - 1):
        return False
    for v in range(len(n_values)):
        if n_values[v] != n_values[0] or order[v] != v:
            return False
    for e in range(0, len(clique_variables), 2):
        if clique_variables[e] + 1 != clique_variables[e + 1]:
            return False
    return True


@compiled(allocates=False)
def is_uniform(graph, member_ptr, member_factor, is_aligned):
    """Whether the cliques of a chain all have the same table."""
    if len(member_ptr) == 1:
        return False
    n = member_ptr[1]
    for c in range(len(member_ptr) - 1):
        if member_ptr[c + 1] - member_ptr[c] != n:
            return False
        for m in range(n):
            f, g = member_factor[member_ptr[c] + m], member_factor[m]
            kind = graph.group_kind[graph.factor_group[f]]
            if (
                (kind != _BARE and kind != _FIXED)
                or graph.factor_group[f] != graph.factor_group[g]
                or graph.factor_weight[f] != graph.factor_weight[g]
                or is_aligned[member_ptr[c] + m] != is_aligned[m]
            ):
                return False
    return True


# --- scores --------------------------------------------------------------------------------------------------


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
def _prefetch_variable(forest, v, weights):
    """Ask for the weights that `_fill_variable` will want."""
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        prefetch_factor(forest.graph, forest.unary_factor[p], forest.graph.n_values[v], weights)


@compiled(inline=True)
def _fill_variable(forest, v, weights, clamp, out):
    """What the factors of one variable alone say of its values."""
    n = forest.graph.n_values[v]
    for k in range(n):
        out[k] = 0.0
    for p in range(forest.unary_ptr[v], forest.unary_ptr[v + 1]):
        _add_factor(forest.graph, forest.unary_factor[p], n, weights, out)
    _hold(clamp, v, n, out)
    return _is_number(out, n)


@compiled(inline=True)
def _fill_clique(forest, c, weights, transition, table):
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
def _below(forest, c, row, belief):
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
def _fill_tree(forest, t, weights, clamp, start, end, belief):
    """What the factors of single variables say, for all variables of a tree."""
    is_fine = True
    for p in range(forest.tree_ptr[t], forest.tree_ptr[t + 1]):
        v = forest.variable_order[p]
        if p + 1 < len(forest.variable_order):
            _prefetch_variable(forest, forest.variable_order[p + 1], weights)
        own = belief[forest.value_ptr[v] : forest.value_ptr[v + 1]]
        is_fine &= _fill_variable(forest, v, weights, clamp, own)
        if len(start):
            if p == forest.tree_ptr[t]:
                for k in range(len(start)):
                    own[k] += start[k]
            if p == forest.tree_ptr[t + 1] - 1:
                for k in range(len(end)):
                    own[k] += end[k]
    return is_fine


# --- the best world ------------------------------------------------------------------------------------------


@compiled(allocates=False)
def viterbi_forest(forest, weights, clamp, start, transition, end, belief, back, best, arg, table, values, scores):
    """Max-product from the leaves up, then the choices from the roots down."""
    for t in range(len(forest.tree_ptr) - 1):
        if not _fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        for c in range(first, last):
            if not _fill_clique(forest, c, weights, transition, table):
                return NOT_A_NUMBER
            top = forest.clique_variables[forest.clique_ptr[c + 1] - 1]
            n = forest.graph.n_values[top]
            for k in range(n):
                best[k] = -np.inf
                arg[k] = 0
            n_rows = (forest.table_ptr[c + 1] - forest.table_ptr[c]) // n
            for row in range(n_rows):
                below = _below(forest, c, row, belief)
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
                _prefetch_variable(forest, v + 1, weights)
            is_fine &= _fill_variable(forest, v, weights, clamp, own)
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


@compiled(allocates=False)
def viterbi_rows(rows, ptr, weights, bias, clamp, start, table, end, own, alpha, values, scores):
    """The same straight from rows of features, one for each token."""
    n = len(own)
    for s in range(len(ptr) - 1):
        first, last = ptr[s], ptr[s + 1]
        scores[s] = 0.0
        if first == last:
            continue
        is_fine = True
        for v in range(first, last):
            if v + 1 < len(values):
                prefetch_rows(weights, 0, n, rows.index, rows.ptr[v + 1], rows.ptr[v + 2], n)
            for k in range(n):
                own[k] = bias[k]
            if len(rows.value):
                for p in range(rows.ptr[v], rows.ptr[v + 1]):
                    _add_row(weights, rows.index[p] * n, n, rows.value[p], own)
            else:
                add_rows(weights, 0, n, rows.index, rows.ptr[v], rows.ptr[v + 1], n, own)
            _hold(clamp, v, n, own)
            is_fine &= _is_number(own, n)
            if v == first:
                _begin(alpha, start, own)
            else:
                _step(alpha, v - first, table, own)
        if not is_fine:
            return NOT_A_NUMBER
        scores[s] = _trace(alpha, table, end, values[first:last])
        if scores[s] == -np.inf:
            return s
    return FINE


# --- marginals -----------------------------------------------------------------------------------------------


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
        if not _fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        offset = np.int64(0) if is_kept else forest.table_ptr[first]
        for c in range(first, last):
            cells = table[forest.table_ptr[c] - offset : forest.table_ptr[c + 1] - offset]
            if not _fill_clique(forest, c, weights, transition, cells):
                return NOT_A_NUMBER
            top = forest.clique_variables[forest.clique_ptr[c + 1] - 1]
            n = forest.graph.n_values[top]
            n_rows = len(cells) // n
            for k in range(n):
                best[k] = -np.inf
                total[k] = 0.0
            for row in range(n_rows):
                below = _below(forest, c, row, belief)
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


# --- the k best worlds ---------------------------------------------------------------------------------------


@compiled(inline=True)
def _rank(scores, first, n, k, score):
    """Make room for a score in a list kept in falling order, at most k long; its rank, or -1."""
    if score == -np.inf or (n == k and score <= scores[first + k - 1]):
        return -1
    r = n if n < k else k - 1
    while r > 0 and scores[first + r - 1] < score:
        scores[first + r] = scores[first + r - 1]
        r -= 1
    scores[first + r] = score
    return r


@compiled(inline=True)
def _shift(array, first, n, k, r, entry):
    """Move what goes with the scores as `_rank` moved them (n counted before)."""
    for q in range(n if n < k else k - 1, r, -1):
        array[first + q] = array[first + q - 1]
    array[first + r] = entry


@compiled(inline=True)
def _fold(a, a_first, a_n, b, b_first, b_n, k, out, left, right, first):
    """The k best sums of a member of one list and a member of another, and which members they are."""
    n = 0
    for i in range(a_n):
        # Sum (i, j) has (i + 1) * (j + 1) - 1 others that are no worse.
        for j in range(min(b_n, k // (i + 1))):
            r = _rank(out, first, n, k, a[a_first + i] + b[b_first + j])
            if r < 0:
                break
            _shift(left, first, n, k, r, i)
            _shift(right, first, n, k, r, j)
            n = min(n + 1, k)
    return n


@compiled(inline=True)
def _combine(forest, c, row, k, lists, scratch):
    """The k best of what lies below a clique at one joint value, with the rank each variable's list gives."""
    first, top = forest.clique_ptr[c], forest.clique_ptr[c + 1] - 1
    rest = row
    n = 0
    for q in range(top - 1, first - 1, -1):
        v = forest.clique_variables[q]
        size = forest.graph.n_values[v]
        at = forest.value_ptr[v] + rest % size
        rest //= size
        slot = q - first
        if q == top - 1:
            n = lists.size[at]
            for r in range(n):
                scratch.score[r] = lists.score[at * k + r]
                scratch.ranks[slot, r] = r
            continue
        n = _fold(
            scratch.score, 0, n, lists.score, at * k, lists.size[at], k,
            scratch.other, scratch.left, scratch.ranks[slot], 0,
        )  # fmt: skip
        for r in range(n):
            scratch.score[r] = scratch.other[r]
        for other in range(slot + 1, top - first):
            for r in range(n):
                scratch.other[r] = scratch.ranks[other, scratch.left[r]]
            for r in range(n):
                scratch.ranks[other, r] = np.int32(scratch.other[r])
    return n


@compiled(allocates=False)
def k_best_forest(
    forest, weights, clamp, start, transition, end, k, belief, table, lists, message, scratch, values, scores, counts
):  # fmt: skip
    """Viterbi with a list of the k best in place of every maximum."""
    for t in range(len(forest.tree_ptr) - 1):
        if not _fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        for p in range(forest.tree_ptr[t], forest.tree_ptr[t + 1]):
            v = forest.variable_order[p]
            for at in range(forest.value_ptr[v], forest.value_ptr[v + 1]):
                lists.score[at * k] = belief[at]
                lists.size[at] = 1 if belief[at] > -np.inf else 0
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        offset = forest.message_ptr[first]
        for c in range(first, last):
            if not _fill_clique(forest, c, weights, transition, table):
                return NOT_A_NUMBER
            _send(forest, c, offset, k, table, lists, message, scratch)
        root = forest.variable_order[forest.tree_ptr[t + 1] - 1]
        n = 0
        for x in range(forest.graph.n_values[root]):
            at = forest.value_ptr[root] + x
            for r in range(lists.size[at]):
                rank = _rank(scratch.other, 0, n, k, lists.score[at * k + r])
                if rank < 0:
                    break
                _shift(scratch.left, 0, n, k, rank, x)
                _shift(scratch.right, 0, n, k, rank, r)
                n = min(n + 1, k)
        if n == 0:
            return t
        counts[t] = n
        for r in range(n):
            scores[r, t] = scratch.other[r]
            values[r, root] = scratch.left[r]
            scratch.rank_of[root] = scratch.right[r]
            for c in range(last - 1, first - 1, -1):
                _choose(forest, c, offset, k, message, scratch.rank_of, values[r])
    return FINE


@compiled(inline=True)
def _send(forest, c, offset, k, table, lists, message, scratch):
    """Pass the k best of what lies below a clique to every value of its top."""
    scope, top = forest.clique_ptr[c], forest.clique_ptr[c + 1] - 1
    above = forest.clique_variables[top]
    n_top = forest.graph.n_values[above]
    begin = (forest.message_ptr[c] - offset) * k
    for x in range(n_top):
        scratch.size[x] = 0
    for row in range((forest.table_ptr[c + 1] - forest.table_ptr[c]) // n_top):
        n = _combine(forest, c, row, k, lists, scratch)
        for x in range(n_top):
            to, size = x * k, scratch.size[x]
            for i in range(n):
                r = _rank(scratch.sent, to, size, k, table[row * n_top + x] + scratch.score[i])
                if r < 0:
                    break
                _shift(message.row, begin + to, size, k, r, row)
                for slot in range(top - scope):
                    _shift(message.ranks[slot], begin + to, size, k, r, scratch.ranks[slot, i])
                size = min(size + 1, k)
            scratch.size[x] = size
    for x in range(n_top):
        at = forest.value_ptr[above] + x
        n = _fold(
            lists.score, at * k, lists.size[at], scratch.sent, x * k, scratch.size[x], k,
            scratch.other, scratch.left, scratch.right, 0,
        )  # fmt: skip
        lists.size[at] = n
        for r in range(n):
            lists.score[at * k + r] = scratch.other[r]
            message.before[begin + x * k + r] = scratch.left[r]
            message.rank[begin + x * k + r] = scratch.right[r]


@compiled(inline=True)
def _choose(forest, c, offset, k, message, rank_of, values):
    """Give the variables below a clique their values, from the value and the rank of its top."""
    scope, top = forest.clique_ptr[c], forest.clique_ptr[c + 1] - 1
    above = forest.clique_variables[top]
    begin = (forest.message_ptr[c] - offset + values[above]) * k
    entry = begin + rank_of[above]
    rank_of[above] = message.before[entry]
    entry = begin + message.rank[entry]
    rest = message.row[entry]
    for q in range(top - 1, scope - 1, -1):
        v = forest.clique_variables[q]
        size = forest.graph.n_values[v]
        values[v] = rest % size
        rest //= size
        rank_of[v] = message.ranks[q - scope, entry]
