"""Messages of graphs whose variables have two values and whose factors join two: one number each, their log odds."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from numpy.typing import NDArray

from walkstep.messages.incidence import by_factor, hear

_MOST = 80.0  # log odds beyond which exponentials of single precision would overflow


class OddsFactors(NamedTuple):
    """Factors of one class: their tables entry by entry, (F or 1, B or 1), as scores or, for sums, exponentiated."""

    entries: tuple[Array, Array, Array, Array]  # of (0, 0), (0, 1), (1, 0), (1, 1)
    is_max: bool
    is_wide: bool

    def out(self, odds: Array, slot: int) -> Array:
        """The log odds that they tell the variables in one slot, from those that the others have told."""
        a, b, c, d = self.entries
        if slot == 1:  # seen from the other side
            b, c = c, b
        if self.is_max:
            return jnp.maximum(c, d + odds) - jnp.maximum(a, b + odds)
        if self.is_wide:
            return jnp.logaddexp(c, d + odds) - jnp.logaddexp(a, b + odds)
        ratio = jnp.exp(jnp.clip(odds, -_MOST, _MOST))
        tiny = float(jnp.finfo(odds.dtype).tiny)
        # Not the log of a quotient: the square that its gradient divides by would come to 0.
        return jnp.log(jnp.maximum(c + d * ratio, tiny)) - jnp.log(jnp.maximum(a + b * ratio, tiny))


def odds_factors(table: Array, is_max: bool, is_wide: bool) -> OddsFactors:
    """Factors whose tables (2, 2, ...) have their best score at 0."""
    given = table if is_max or is_wide else jnp.exp(table)
    return OddsFactors((given[0, 0], given[0, 1], given[1, 0], given[1, 1]), is_max, is_wide)


def as_odds(message: Array) -> Array:
    """A message (2, F, B) by its log odds (F, B)."""
    return message[1] - message[0]


def as_message(odds: Array) -> Array:
    """The other way, its largest entry 0."""
    return jnp.stack([-jnp.maximum(odds, 0.0), -jnp.maximum(-odds, 0.0)])


def pass_odds(
    scopes: tuple[Array | NDArray, ...],
    own: Array,
    factors: list[OddsFactors],
    start: list[tuple[Array, Array]],
    n_rounds: int,
    damping: float,
) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
    """So many rounds of flooding, on log odds: the messages before the last one, and after it.

    Parameters
    ----------
    scopes : tuple of int arrays (2, F)
    own : Array (V, B)
        Log odds of variables by themselves.
    factors : list of OddsFactors
    start : list of pairs of Arrays (F, B)
    n_rounds : int
        At least 1.
    damping : float
    """

    @partial(jax.checkpoint, prevent_cse=False)  # messages alone are kept; the rest is made again faster than read
    def one_round(messages, _):
        fresh = []
        believed = by_factor(hear(own, scopes, messages), scopes)
        for whole, of, factor in zip(believed, messages, factors, strict=True):
            told = [whole[i] - of[i] for i in range(2)]
            out = [factor.out(told[1 - i], i) for i in range(2)]
            fresh.append(
                tuple(
                    new if damping == 0.0 else (1.0 - damping) * new + damping * old
                    for new, old in zip(out, of, strict=True)
                )
            )
        return fresh, None

    before, _ = lax.scan(one_round, start, None, length=n_rounds - 1)
    return before, one_round(before, None)[0]
