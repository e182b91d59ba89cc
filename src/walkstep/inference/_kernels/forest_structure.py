"""Loops that find the trees of a graph and the order in which to visit them.

A *clique* is a set of variables that factors join, with all the factors over it or over a part of it.
Of its variables the last is its *top*, and the others hang below that; a tree's last variable is its root.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.model.graph import Kind

_BARE, _FIXED = int(Kind.BARE), int(Kind.FIXED)


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
