"""Loops that find the k best worlds of every tree in a forest."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.inference._kernels.forest_scores import FINE, NOT_A_NUMBER, fill_clique, fill_tree


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
        if not fill_tree(forest, t, weights, clamp, start, end, belief):
            return NOT_A_NUMBER
        for p in range(forest.tree_ptr[t], forest.tree_ptr[t + 1]):
            v = forest.variable_order[p]
            for at in range(forest.value_ptr[v], forest.value_ptr[v + 1]):
                lists.score[at * k] = belief[at]
                lists.size[at] = 1 if belief[at] > -np.inf else 0
        first, last = forest.tree_clique_ptr[t], forest.tree_clique_ptr[t + 1]
        offset = forest.message_ptr[first]
        for c in range(first, last):
            if not fill_clique(forest, c, weights, transition, table):
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
