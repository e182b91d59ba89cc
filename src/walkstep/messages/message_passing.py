"""Messages between variables and factors, in JAX: sum-product and max-product, flooding, with damping.

Arrays end in two axes, (..., place, copy): places are variables or factors of one
structure, copies are graphs that share it, last so that they are contiguous. A union of unlike graphs is one copy.
"""

from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike
from numpy.typing import NDArray

from walkstep.messages.folds import combine, fold_max, log_sum, mix
from walkstep.messages.incidence import by_factor, hear
from walkstep.messages.log_odds import as_message, as_odds, odds_factors, pass_odds
from walkstep.messages.tree_schedule import TreeSchedule

_DEPTH = 1e4  # how far down minus infinity is put: far enough to weigh nothing, near enough not to swallow the rest
_SPANS = 100.0  # and so many times further than finite scores reach


class Wiring(NamedTuple):
    """Which variables each factor joins: the structure of a graph, or of many alike.

    Factors are sorted into classes by the sizes of their domains. Factors of one variable are no part of it: what they
    say is the variable's own score.
    """

    allowed: Array | NDArray[np.bool_]  # bool (K, V): which of K values each variable has
    scopes: tuple[Array | NDArray[np.int32], ...]  # int32 (arity, F) of each class: the variables of its factors


class Scores(NamedTuple):
    """What factors say, as scores (logs of potentials)."""

    own: Array  # (K, V, B) of each value of each variable by itself
    tables: tuple[Array, ...]  # (k1, ..., ka, F or 1, B or 1) of each class: of joint values; 1 where all share it


class Terms(NamedTuple):
    """What a number that is said of whole graphs is the sum of, place by place."""

    of_variables: Array  # (V, B)
    of_factors: tuple[Array, ...]  # (F, B) of each class

    def total(self) -> Array:
        """Of each copy: (B,)."""
        return sum((part.sum(axis=0) for part in self.of_factors), self.of_variables.sum(axis=0))


Messages = tuple[tuple[Array, ...], ...]
"""From factors to variables, their largest entry 0: of each class, of each slot of its scopes, (k, F, B)."""


class Passed(NamedTuple):
    """Where messages have come to."""

    messages: Messages
    change: Array  # the largest change of a message in the last round, each copy by itself: (B,)
    n_rounds: Array  # how many rounds were made


def wiring(n_values: ArrayLike, scopes: Sequence[ArrayLike]) -> Wiring:
    """A structure of variables with so many values each, and of factors by class.

    Examples
    --------
    >>> made = wiring([2, 3], [[[0], [1]]])
    >>> np.asarray(made.allowed).astype(int).tolist(), made.scopes[0].shape
    ([[1, 1], [1, 1], [0, 1]], (2, 1))
    """
    sizes = np.asarray(n_values)
    allowed = np.arange(int(sizes.max(initial=1)))[:, None] < sizes
    return Wiring(allowed, tuple(np.asarray(scope, dtype=np.int32) for scope in scopes))


def no_messages(wired: Wiring, scores: Scores) -> Messages:
    """Messages that say nothing, where passing begins."""
    n_copies = n_copies_of(scores)
    return tuple(
        tuple(jnp.zeros((k, jnp.shape(scope)[1], n_copies), scores.own.dtype) for k in table.shape[:-2])
        for scope, table in zip(wired.scopes, scores.tables, strict=True)
    )


def n_copies_of(scores: Scores) -> int:
    """How many graphs share the structure."""
    return max([scores.own.shape[-1], *(table.shape[-1] for table in scores.tables)])


def pass_messages(
    wired: Wiring,
    scores: Scores,
    *,
    n_rounds: int,
    damping: float = 0.0,
    is_max: bool = False,
    is_wide: bool = False,
    start: Messages | None = None,
    is_general: bool = False,
) -> Passed:
    """So many rounds of flooding: all variables tell all their factors, then all factors tell their variables.

    Parameters
    ----------
    wired : Wiring
    scores : Scores
        Finite, or minus infinity for what is forbidden. Divide them by a temperature for inference at that one.
    n_rounds : int
    damping : float
        The share of its last message that a factor keeps, in scores.
    is_max : bool
        Max-product in place of sum-product.
    is_wide : bool
        Whether scores differ by more than some tens: sums are then taken with care for each, at K times the cost.
    start : Messages, optional
        From an earlier call.
    is_general : bool
        Whole messages also where log odds would do: slower, the same otherwise.

    It can be differentiated whole; what it keeps for that are the messages of each round.
    """
    held = held_within(wired, scores)
    first = no_messages(wired, held) if start is None else start
    if n_rounds and is_binary(held) and not is_general:
        before, after = _passed_as_odds(wired, held, first, n_rounds, damping, is_max, is_wide)
        return Passed(after, largest_change(before, after, n_copies_of(held)), jnp.asarray(n_rounds))
    factors = [_Factors(table, is_max, is_wide) for table in held.tables]

    @partial(jax.checkpoint, prevent_cse=False)
    def one_round(messages: Messages, _):
        told = tell(wired, held, messages)
        fresh = tuple(
            tuple(_damped(_shifted(factor.out(of, i)), old[i], damping) for i in range(len(of)))
            for factor, of, old in zip(factors, told, messages, strict=True)
        )
        return fresh, None

    # All but the last round in a loop, and how much it changed from there.
    before, _ = lax.scan(one_round, first, None, length=max(n_rounds - 1, 0))
    after = one_round(before, None)[0] if n_rounds else before
    return Passed(after, largest_change(before, after, n_copies_of(held)), jnp.asarray(n_rounds))


def is_binary(scores: Scores) -> bool:
    """Whether every variable has two values and every factor joins two: messages are then one number each."""
    return bool(scores.tables) and scores.own.shape[0] == 2 and all(t.shape[:-2] == (2, 2) for t in scores.tables)


def _passed_as_odds(
    wired: Wiring, held: Scores, first: Messages, n_rounds: int, damping: float, is_max: bool, is_wide: bool
) -> tuple[Messages, Messages]:
    n_copies = n_copies_of(held)
    own = jnp.broadcast_to(held.own[1] - held.own[0], (held.own.shape[1], n_copies))
    factors = [odds_factors(table, is_max, is_wide) for table in held.tables]
    start = [(as_odds(one), as_odds(other)) for one, other in first]
    both = pass_odds(wired.scopes, own, factors, start, n_rounds, damping)
    before, after = (tuple(tuple(as_message(x) for x in of) for of in messages) for messages in both)
    return before, after


def settle(
    wired: Wiring,
    scores: Scores,
    *,
    max_rounds: int,
    tolerance: float,
    damping: float = 0.0,
    is_max: bool = False,
    is_wide: bool = False,
    start: Messages | None = None,
) -> Passed:
    """Rounds until no message changes by more than ``tolerance``, or ``max_rounds``; not to be differentiated."""
    first = no_messages(wired, held_within(wired, scores)) if start is None else start

    def one_more(passed: Passed) -> Passed:
        made = pass_messages(
            wired, scores, n_rounds=1, damping=damping, is_max=is_max, is_wide=is_wide, start=passed.messages
        )
        return made._replace(n_rounds=passed.n_rounds + 1)

    def goes_on(passed: Passed) -> Array:
        return (passed.change.max(initial=0.0) > tolerance) & (passed.n_rounds < max_rounds)

    n_copies = n_copies_of(scores)
    return lax.while_loop(
        goes_on, one_more, Passed(first, jnp.full(n_copies, jnp.inf, scores.own.dtype), jnp.asarray(0))
    )


def pass_inwards_and_back(
    wired: Wiring, scores: Scores, schedule: TreeSchedule, *, is_max: bool = False, is_wide: bool = False
) -> Passed:
    """Exact messages of graphs without cycles, in two passes: each factor tells each of its variables once."""
    held = held_within(wired, scores)
    factors = [_Factors(table, is_max, is_wide) for table in held.tables]
    heard = jnp.broadcast_to(held.own, (*held.own.shape[:2], n_copies_of(held)))
    # A row's fillers are factors that are not there: what they would hear is read anywhere, what they say is dropped.
    scopes = [jnp.pad(jnp.asarray(scope), ((0, 0), (0, 1)), constant_values=heard.shape[1]) for scope in wired.scopes]

    def send(state, c: int, rows: Array, told: list[Array], slot: int):
        messages, heard = state
        out = _shifted(factors[c].out(tuple(told), slot, rows))
        messages[c][slot] = messages[c][slot].at[:, rows].set(out, mode="drop")
        return messages, heard.at[: out.shape[0], scopes[c][slot][rows]].add(out, mode="drop")

    def each_row(state, step):
        """Classes and slots in turn, the factors of this step that face there, and what they have heard."""
        for c, of in enumerate(step):
            for slot, rows in enumerate(of):
                if rows.shape[0]:
                    m = state[0][c]
                    told = [state[1].at[: one.shape[0], scopes[c][j][rows]].get(mode="clip") for j, one in enumerate(m)]
                    yield c, slot, rows, told

    def inwards(state, step):
        for c, slot, rows, told in each_row(state, step):
            state = send(state, c, rows, told, slot)
        return state, None

    def outwards(state, step):
        for c, slot, rows, told in each_row(state, step):
            told[slot] = told[slot] - state[0][c][slot].at[:, rows].get(mode="clip")
            for other in range(len(told)):
                if other != slot:
                    state = send(state, c, rows, [_shifted(q) for q in told], other)
        return state, None

    state = ([list(of) for of in no_messages(wired, held)], heard)
    state, _ = lax.scan(inwards, state, schedule.inward, length=schedule.n_steps)
    (messages, _), _ = lax.scan(outwards, state, schedule.inward, length=schedule.n_steps, reverse=True)
    n_steps = jnp.asarray(2 * schedule.n_steps)
    return Passed(tuple(tuple(of) for of in messages), jnp.zeros(heard.shape[-1], heard.dtype), n_steps)


def log_partition(wired: Wiring, scores: Scores, messages: Messages) -> Array:
    """The log of Bethe's approximation of the partition function, of each copy; exact where there is no cycle: (B,).

    Where messages have settled its slope does not depend on them (they are at a stationary point), so that with
    messages held its gradient is what factors are expected to be.
    """
    return log_partition_terms(wired, scores, messages).total()


def log_partition_terms(wired: Wiring, scores: Scores, messages: Messages) -> Terms:
    """What each variable and each factor adds to that log: the sum over the places of a document is its own."""
    held = held_within(wired, scores)
    told = tell(wired, held, messages)
    of_variables = (log_sum(_heard(wired, held, messages)) + _own_top(wired, scores))[0]
    of_factors = []
    for given, table, of_told, of_messages in zip(scores.tables, held.tables, told, messages, strict=True):
        facing = _Factors(table, False, True).out(of_told, len(of_told) - 1)
        joint = log_sum(facing + of_told[-1])[0] + _table_top(given).reshape(given.shape[-2:])
        apart = [log_sum(q + m)[0] for q, m in zip(of_told, of_messages, strict=True)]
        of_factors.append(reduce(jnp.subtract, apart, joint))
    return Terms(of_variables, tuple(of_factors))


def is_contradictory(wired: Wiring, scores: Scores, messages: Messages) -> Array:
    """Whether a variable, or a factor, has come to find everything forbidden, in each copy: (B,)."""
    held = held_within(wired, scores)
    lowest = [fold_max(_heard(wired, held, messages)).min(axis=(0, 1))]
    for table, told in zip(held.tables, tell(wired, held, messages), strict=True):
        if table.shape[-2]:
            lowest.append(fold_max(_Factors(table, True, False).out(told, 0) + told[0]).min(axis=(0, 1)))
    deepest = reduce(jnp.minimum, [part.min(initial=0.0) for part in (held.own, *held.tables)])
    return reduce(jnp.minimum, lowest) < 0.5 * jnp.minimum(deepest, -_DEPTH)


def score_of(wired: Wiring, scores: Scores, values: ArrayLike) -> Array:
    """The score of one world of each copy: values (V, B) give (B,)."""
    return score_terms(wired, scores, values).total()


def score_terms(wired: Wiring, scores: Scores, values: ArrayLike) -> Terms:
    """What each variable by itself and each factor adds to that score."""
    values = jnp.asarray(values)
    of_factors = []
    for scope, table in zip(wired.scopes, scores.tables, strict=True):
        shape = (*table.shape[:-2], jnp.shape(scope)[1], values.shape[1])
        full = jnp.broadcast_to(table, shape).reshape(-1, *shape[-2:])
        at = jnp.zeros(shape[-2:], values.dtype)
        for i, k in enumerate(table.shape[:-2]):
            at = at * k + values[scope[i]]
        of_factors.append(jnp.take_along_axis(full, at[None], axis=0)[0])
    return Terms(jnp.take_along_axis(scores.own, values[None], axis=0)[0], tuple(of_factors))


def held_within(wired: Wiring, scores: Scores) -> Scores:
    """Scores, the best of each factor 0, with what is forbidden far down and finite."""
    own = jnp.where(jnp.asarray(wired.allowed)[:, :, None], scores.own, -jnp.inf) - _own_top(wired, scores)
    tables = [table - _table_top(table) for table in scores.tables]
    floor = _floor(own, tables)
    return Scores(jnp.maximum(own, floor), tuple(jnp.maximum(table, floor) for table in tables))


def _floor(own: Array, tables: Sequence[Array]) -> Array:
    """Where minus infinity is put, of scores whose best is 0."""
    spans = [-jnp.where(jnp.isfinite(part), part, 0.0).min(initial=0.0) for part in (own, *tables)]
    return lax.stop_gradient(-(_DEPTH + _SPANS * reduce(jnp.maximum, spans)))


def _own_top(wired: Wiring, scores: Scores) -> Array:
    return _finite_top(jnp.where(jnp.asarray(wired.allowed)[:, :, None], scores.own, -jnp.inf))


def _table_top(table: Array) -> Array:
    top = _finite_top(table.reshape(-1, *table.shape[-2:]))
    return top.reshape(*([1] * (table.ndim - 2)), *top.shape[-2:])


def _finite_top(x: Array) -> Array:
    """The largest along the first axis; 0 where nothing is possible. A shift, through which no gradient goes."""
    top = lax.stop_gradient(fold_max(x))
    return jnp.where(jnp.isfinite(top), top, 0.0)


def beliefs(wired: Wiring, scores: Scores, messages: Messages) -> Array:
    """What each variable has heard, with its own score, unnormalised: (K, V, B)."""
    return _heard(wired, held_within(wired, scores), messages)


def tell(wired: Wiring, scores: Scores, messages: Messages) -> Messages:
    """What variables tell their factors: all that they believe but what the factor itself has said."""
    believed = by_factor(_heard(wired, scores, messages), wired.scopes)
    return tuple(
        tuple(_shifted(whole[: m.shape[0]] - m) for whole, m in zip(of_believed, of, strict=True))
        for of_believed, of in zip(believed, messages, strict=True)
    )


def _heard(wired: Wiring, scores: Scores, messages: Messages) -> Array:
    own = jnp.broadcast_to(scores.own, (*scores.own.shape[:2], n_copies_of(scores)))
    return hear(own, wired.scopes, messages)


def _shifted(message: Array) -> Array:
    """Its largest entry 0; that shift changes nothing that is asked of messages, so no gradient goes through it."""
    return message - lax.stop_gradient(fold_max(message))


def _damped(fresh: Array, old: Array, damping: float) -> Array:
    return fresh if damping == 0.0 else (1.0 - damping) * fresh + damping * old


def largest_change(before: Messages, after: Messages, n_copies: int) -> Array:
    """By how much a message has changed at most, in each copy."""
    changes = [
        jnp.abs(new - old).max(axis=(0, 1), initial=0.0)
        for of_old, of_new in zip(before, after, strict=True)
        for old, new in zip(of_old, of_new, strict=True)
    ]
    return jnp.stack(changes).max(axis=0) if changes else jnp.zeros(n_copies)


class _Factors:
    """Factors of one class, ready to tell each of their variables."""

    def __init__(self, table: Array, is_max: bool, is_wide: bool):
        arity = table.ndim - 2
        self._is_max, self._is_sum = is_max, not (is_max or is_wide)
        self._tables = [_facing(table, slot) for slot in range(arity)]
        if self._is_sum:  # exponentiated once, each row by itself so that none is lost
            self._tops = [lax.stop_gradient(fold_max(jnp.moveaxis(one, 1, 0)))[0] for one in self._tables]
            self._tables = [jnp.exp(one - top[:, None]) for one, top in zip(self._tables, self._tops, strict=True)]
        self._tiny = float(jnp.finfo(table.dtype).tiny)

    def out(self, told: tuple[Array, ...], slot: int, rows: Array | None = None) -> Array:
        """What they, or some of them, tell the variables in one slot of their scopes."""
        table = _of_rows(self._tables[slot], rows)
        others = [q for j, q in enumerate(told) if j != slot]
        joint = others[0]
        for q in others[1:]:
            joint = (joint[:, None] + q[None]).reshape(-1, *q.shape[1:])
        if self._is_sum:
            total = mix(table, jnp.exp(joint))
            return _of_rows(self._tops[slot], rows) + jnp.log(jnp.maximum(total, self._tiny))
        return combine(table, joint, self._is_max)


def _of_rows(table: Array, rows: Array | None) -> Array:
    """The part of a table (..., F, B) that is about some factors."""
    return table if rows is None or table.shape[-2] == 1 else table.at[..., rows, :].get(mode="clip")


def _facing(table: Array, slot: int) -> Array:
    """A table (k1, ..., ka, F, B) as (k of the slot, joint values of the others, F, B)."""
    return jnp.moveaxis(table, slot, 0).reshape(table.shape[slot], -1, *table.shape[-2:])
