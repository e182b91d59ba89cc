"""Forward-backward on chains whose transitions are the same everywhere, with probabilities instead of logarithms.

A token's scores are turned into probabilities by one exponential a value, the transitions by one each for the
whole corpus, and what is passed along a chain is kept at a sum of 1. That is safe as long as nothing comes near the
smallest number there is; the loops watch for it and give up (`UNSAFE`) before anything is lost.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.inference._kernels.forest_scores import FINE, NOT_A_NUMBER, fill_variable, prefetch_variable
from walkstep.learning._kernels.expectations import add_variable, prefetch_gradient

# What the loops say beside the number of a chain, `FINE` and `NOT_A_NUMBER`: use logarithms instead.
UNSAFE = -3

# Messages are no smaller than the one, scores of a token no further apart than the other, so that with transitions
# no further apart than `MAX_SPREAD` no product falls below exp(-650), and the smallest number is exp(-708).
MAX_SPREAD = 100.0
_SMALLEST, _MAX_SPREAD_OF_TOKEN = 1e-150, 200.0


@compiled(inline=True)
def _exponentials(scores, out):
    """exp(score - the largest), whether they are close enough, and the largest; 0 stays for what is forbidden."""
    top, low = -np.inf, np.inf
    for k in range(len(scores)):
        top = max(scores[k], top)
        low = min(np.inf if scores[k] == -np.inf else scores[k], low)
    if top == -np.inf:
        top = 0.0
    for k in range(len(scores)):
        out[k] = np.exp(scores[k] - top)
    return top, not top - low > _MAX_SPREAD_OF_TOKEN


@compiled(inline=True)
def _normalise(message):
    """Divide by the sum; the sum, and whether all that is not 0 is large enough."""
    total = 0.0
    for k in range(len(message)):
        total += message[k]
    low = total
    if total > 0.0:
        share = 1.0 / total
        for k in range(len(message)):
            message[k] *= share
            low = min(1.0 if message[k] == 0.0 else message[k], low)
    return total, low >= _SMALLEST or total == 0.0


@compiled(inline=True)
def _multiply(vector, table, out):
    """out[k] = sum over j of vector[j] table[j, k]."""
    n = len(out)
    for k in range(n):
        out[k] = 0.0
    for j in range(len(vector)):
        x, row = vector[j], table[j]
        for k in range(n):
            out[k] += x * row[k]


@compiled(inline=True)
def _forward(emission, table, alpha):
    """alpha[i] is p(value of token i | tokens up to i); log of what the sums were, and whether that is safe."""
    log_total, is_safe = 0.0, True
    for i in range(len(emission)):
        now = alpha[i]
        if i == 0:
            for k in range(len(now)):
                now[k] = emission[0, k]
        else:
            _multiply(alpha[i - 1], table, now)
            for k in range(len(now)):
                now[k] *= emission[i, k]
        total, is_fine = _normalise(now)
        is_safe &= is_fine
        log_total += np.log(total)
    return log_total, is_safe


@compiled(inline=True)
def _backward(emission, transposed, alpha, sign, beta, ahead, amounts, pairs):
    """Add the probability of each value of each token to ``amounts``, and that of each pair to ``pairs``.

    The former times ``sign``, the latter also over the pair's factor; returns whether that is safe.
    """
    n = emission.shape[1]
    is_safe = True
    for k in range(n):
        beta[k] = 1.0
    for i in range(len(emission) - 1, -1, -1):
        total = 0.0
        for k in range(n):
            total += alpha[i, k] * beta[k]
        is_safe &= total >= _SMALLEST
        share = sign / total
        for k in range(n):
            amounts[i, k] += share * alpha[i, k] * beta[k]
        if i == 0:
            break
        for k in range(n):
            ahead[k] = emission[i, k] * beta[k]
        _multiply(ahead, transposed, beta)
        total = 0.0
        for k in range(n):
            total += alpha[i - 1, k] * beta[k]
        share = sign / total
        for j in range(n):
            x, row = share * alpha[i - 1, j], pairs[j]
            for k in range(n):
                row[k] += x * ahead[k]
        _, is_fine = _normalise(beta)
        is_safe &= is_fine
    return is_safe


@compiled(inline=True)
def _score_of_truth(scores, table, truth, amounts, seen):
    """The score of a chain whose values are all known; takes them off the amounts, and counts the pairs."""
    total = 0.0
    for i in range(len(truth)):
        total += scores[i, truth[i]]
        amounts[i, truth[i]] -= 1.0
        if i > 0:
            total += table[truth[i - 1], truth[i]]
            seen[truth[i - 1], truth[i]] += 1.0
    return total


@compiled(allocates=False)
def chains_loss(
    forest, first_tree, last_tree, weights, truth, start, end, table, top, factors, transposed,
    scores, emission, alpha, beta, ahead, amounts, pairs, seen, no_clamp, loss, gradient,
):  # fmt: skip
    """Add up -log p(truth) and its gradient over some of the chains, those of single variables in ``gradient``.

    ``table`` holds the scores of transitions, the largest finite one being ``top``, and ``factors`` their exponentials
    less that. The expected number of each pair is ``pairs * factors``, the true one ``seen``.
    """
    n = len(table)
    total = 0.0
    for t in range(first_tree, last_tree):
        first, last = forest.tree_ptr[t], forest.tree_ptr[t + 1]
        size = last - first
        n_known = 0
        for v in range(first, last):
            n_known += truth[v] >= 0
        if n_known == 0:
            continue
        is_fine, is_safe, log_total = True, True, top * (size - 1)
        for i in range(size):
            v = first + i
            if v + 1 < len(truth):
                prefetch_variable(forest, v + 1, weights)
            is_fine &= fill_variable(forest, v, weights, no_clamp, scores[i])
            if i == 0:
                for k in range(len(start)):
                    scores[i, k] += start[k]
            if i == size - 1:
                for k in range(len(end)):
                    scores[i, k] += end[k]
            shift, is_close = _exponentials(scores[i], emission[i])
            log_total += shift
            is_safe &= is_close
            for k in range(n):
                amounts[i, k] = 0.0
        if not is_fine:
            return NOT_A_NUMBER
        log_sum, is_close = _forward(emission[:size], factors, alpha)
        if not (is_safe and is_close):
            return UNSAFE
        if log_sum == -np.inf:
            return t
        if not _backward(emission[:size], transposed, alpha, 1.0, beta, ahead, amounts, pairs):
            return UNSAFE
        if n_known == size:
            total += log_total + log_sum
            score = _score_of_truth(scores, table, truth[first:last], amounts, seen)
            if score == -np.inf:
                return t
            total -= score
        else:
            for i in range(size):
                for k in range(n):
                    if truth[first + i] >= 0 and truth[first + i] != k:
                        emission[i, k] = 0.0
            log_held, is_close = _forward(emission[:size], factors, alpha)
            if not is_close:
                return UNSAFE
            if log_held == -np.inf:
                return t
            if not _backward(emission[:size], transposed, alpha, -1.0, beta, ahead, amounts, pairs):
                return UNSAFE
            total += log_sum - log_held
        for i in range(size):
            if first + i + 1 < len(truth):
                prefetch_gradient(forest, first + i + 1, gradient)
            add_variable(forest, first + i, amounts[i], gradient)
    loss[0] = total
    return FINE
