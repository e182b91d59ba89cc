"""Sums and maxima over the values of variables, written out value by value.

On a CPU, XLA's own reductions over an axis that is not the last take ten to a hundred times as long, and so do the
gradients of slices. Here arrays are cut and joined, whose gradients are joins and cuts, and all between is elementwise.
Values come first in every array.
"""

from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp
from jax import Array, lax

_MOST_VALUES = 16  # more are left to XLA: what is written out grows with their square


def fold_max(x: Array) -> Array:
    """The largest along the first axis, which stays, with length 1."""
    return reduce(jnp.maximum, cut(x)) if x.shape[0] <= _MOST_VALUES else x.max(axis=0, keepdims=True)


def fold_sum(x: Array) -> Array:
    """The sum along the first axis, which stays, with length 1."""
    return reduce(jnp.add, cut(x)) if x.shape[0] <= _MOST_VALUES else x.sum(axis=0, keepdims=True)


def log_sum(x: Array) -> Array:
    """The log of the sum of exponentials along the first axis, which stays, with length 1."""
    top = lax.stop_gradient(fold_max(x))
    return top + jnp.log(fold_sum(jnp.exp(x - top)))


def cut(x: Array) -> Sequence[Array]:
    """Along the first axis, in parts of length 1."""
    return lax.split(x, [1] * x.shape[0], axis=0)


def mix(weights: Array, parts: Array) -> Array:
    """Sums of products, ``out[a] = sum_b weights[a, b] * parts[b]``: (k, r, ...) and (r, ...) give (k, ...).

    Examples
    --------
    >>> mix(jnp.array([[1.0, 2.0], [0.0, 1.0]]), jnp.array([3.0, 4.0])).tolist()
    [11.0, 4.0]
    """
    if max(weights.shape[:2]) > _MOST_VALUES:
        return (weights * parts).sum(axis=1)
    pieces = cut(parts)
    return lax.concatenate([reduce(jnp.add, map(jnp.multiply, row, pieces)) for row in _rows(weights)], 0)


def combine(table: Array, told: Array, is_max: bool) -> Array:
    """``out[a]``, the largest of ``table[a, b] + told[b]``, or the log of the sum of their exponentials.

    Examples
    --------
    >>> combine(jnp.array([[1.0, 2.0], [0.0, 1.0]]), jnp.array([3.0, 0.0]), is_max=True).tolist()
    [4.0, 3.0]
    """
    if max(table.shape[:2]) > _MOST_VALUES:
        total = table + told
        return total.max(axis=1) if is_max else jax.nn.logsumexp(total, axis=1)
    pieces = cut(told)
    found = []
    for row in _rows(table):
        terms = list(map(jnp.add, row, pieces))
        top = reduce(jnp.maximum, terms)
        if not is_max:
            top = lax.stop_gradient(top)
            top = top + jnp.log(reduce(jnp.add, [jnp.exp(term - top) for term in terms]))
        found.append(top)
    return lax.concatenate(found, 0)


def _rows(table: Array) -> list[Sequence[Array]]:
    """The entries of a table (k, r, ...), each (1, ...)."""
    return [cut(row[0]) for row in cut(table)]
