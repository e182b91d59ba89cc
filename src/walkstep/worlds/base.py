"""The verbs that every world answers, and how a world joins them.

A world is a ``NamedTuple`` of arrays. Compiled loops call the verbs below on whatever world they are
handed; Numba picks the implementation by the world's class, so that one loop serves every world and is found
again on disk in the next process. A new world is a ``NamedTuple`` and one call of `register`.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from walkstep.compiled import INLINE, compiled
from walkstep.references import class_of
from walkstep.separate import is_separate
from walkstep.worlds.sparse import clear, dot

VERBS = {
    "enter": "(world, document) -> int: turn to one document; how many sites a sweep over it visits",
    "propose": "(world, rng) -> (move, float): a move, and log q(back) - log q(there)",
    "draft": "(world, rng) -> (move, float): the same, where the ratio may leave out what settle adds to it",
    "settle": "(world, move, float) -> float: the whole log ratio of the move drafted last, from what draft gave",
    "n_factors": "(world, move) -> int: how many factors the move touches",
    "n_leaving": "(world, move) -> int: how many of them, the first ones, are about what the move leaves behind",
    "factor": "(world, move, k, phi): add the k-th touched factor's change of statistics to phi",
    "factor_score": "(world, move, k, weights, phi) -> float: the k-th touched factor's change of score",
    "forbids": "(world, move) -> bool: whether the move leads to a world that hard constraints forbid",
    "difference": "(world, move, phi): add phi(y') - phi(y) to the sparse vector phi",
    "delta": "(world, move, weights, phi) -> float: score after minus before; phi is scratch",
    "signal": "(world, move) -> float: the task metric after minus before",
    "is_silent": "(world, move) -> bool: whether the truth says nothing of what the move changes",
    "note": "(world, move, change, accepted): look at a move that was tried, before it is made or left",
    "commit": "(world, move): make it so",
    "retrace": "(world, goal, phi): add phi(goal) - phi(world), over the document entered; return the gap in metric",
    "restart": "(world, goal): go back to the goal, undoing what was committed since the last restart",
}

_WORLDS: dict[type, dict[str, Any]] = {}


def register(world: type, **verbs: Callable) -> None:
    """Teach the verbs a new world.

    Parameters
    ----------
    world : type
        A ``NamedTuple`` class.
    **verbs : callable
        One function for each verb, taking what `VERBS` says. ``difference``, ``delta`` and ``factor_score`` may
        be left out: they are then made from ``n_factors`` and ``factor``. A world without ``forbids`` forbids
        nothing; one without ``n_leaving`` does not tell the sides of a move apart; one without ``note`` does not look
        back. Walks price a move before they ask for its ratio: a world whose ratios are dear answers ``draft`` and
        ``settle`` besides ``propose``, and settles only what is not turned down anyway. Learners that compare with the
        truth need ``retrace``, ``restart`` and ``is_silent``; plain walks do not.
    """
    for name in verbs:
        if name not in VERBS:
            raise ValueError(f"{name!r} is not a verb of worlds; there are {', '.join(VERBS)}")
    if not (issubclass(world, tuple) and hasattr(world, "_fields")):
        raise TypeError(f"world {world.__name__!r} must be a NamedTuple of arrays and numbers")
    table = {
        name: function if is_separate(function) else compiled(function, inline=True) for name, function in verbs.items()
    }
    if "factor" in verbs and "n_factors" in verbs:
        table.setdefault("difference", _sum_of_factors)
        table.setdefault("delta", _score_of_difference)
        table.setdefault("factor_score", _score_of_factor)
    _WORLDS[world] = table


def verbs_of(world: type) -> dict[str, Any]:
    """The compiled verbs of a world, by name."""
    if world not in _WORLDS:
        raise TypeError(
            f"{world.__name__} is not a registered world; call "
            f"walkstep.worlds.register({world.__name__}, propose=..., ...)"
        )
    return _WORLDS[world]


def _verb(world: type, name: str) -> Any:
    table = verbs_of(world)
    if name not in table:
        raise TypeError(f"world {world.__name__} does not answer {name!r}: {VERBS[name]}")
    return table[name]


def enter(world, document):
    """Turn to one document of the world; returns how many sites a sweep over it visits."""
    return _verb(type(world), "enter")(world, document)


def propose(world, rng):
    """A move, and log q(back) - log q(there)."""
    return _verb(type(world), "propose")(world, rng)


def draft(world, rng):
    """A move, and as much of its log ratio as is known before it is priced."""
    verbs = verbs_of(type(world))
    return (verbs.get("draft") or _verb(type(world), "propose"))(world, rng)


def settle(world, move, ratio):
    """The whole log ratio of the move drafted last, before it is made."""
    f = verbs_of(type(world)).get("settle")
    return ratio if f is None else f(world, move, ratio)


def n_factors(world, move):
    """How many factors the move touches."""
    return _verb(type(world), "n_factors")(world, move)


def n_leaving(world, move):
    """How many of the touched factors, the first ones, are about what the move leaves behind."""
    return _verb(type(world), "n_leaving")(world, move)


def factor(world, move, k, phi):
    """Add the k-th touched factor's change of statistics to phi."""
    return _verb(type(world), "factor")(world, move, k, phi)


def factor_score(world, move, k, weights, phi):
    """The k-th touched factor's change of score; ``phi`` is scratch."""
    return _verb(type(world), "factor_score")(world, move, k, weights, phi)


def forbids(world, move):
    """Whether the move leads to a world that hard constraints forbid."""
    return _verb(type(world), "forbids")(world, move)


def difference(world, move, phi):
    """Add phi(y') - phi(y) to phi (Eq. 10 of the SampleRank paper)."""
    return _verb(type(world), "difference")(world, move, phi)


def delta(world, move, weights, phi):
    """Score after the move minus score before; ``phi`` is scratch."""
    return _verb(type(world), "delta")(world, move, weights, phi)


def signal(world, move):
    """The task metric after the move minus before: omega(y') - omega(y)."""
    return _verb(type(world), "signal")(world, move)


def is_silent(world, move):
    """Whether the truth says nothing of what the move changes."""
    return _verb(type(world), "is_silent")(world, move)


def note(world, move, change, accepted):
    """Look at a move that was tried, with its change of score, before it is made or left."""
    return _verb(type(world), "note")(world, move, change, accepted)


def commit(world, move):
    """Make the move."""
    return _verb(type(world), "commit")(world, move)


def retrace(world, goal, phi):
    """Add phi(goal) - phi(world) over the document entered; returns omega(goal) - omega(world)."""
    return _verb(type(world), "retrace")(world, goal, phi)


def restart(world, goal):
    """Go back to the goal, undoing what was committed since the last restart."""
    return _verb(type(world), "restart")(world, goal)


@overload(enter, jit_options=INLINE)
def _enter(world, document):
    f = _verb(class_of(world), "enter")
    return lambda world, document: f(world, document)


@overload(propose, jit_options=INLINE)
def _propose(world, rng):
    f = _verb(class_of(world), "propose")
    return lambda world, rng: f(world, rng)


@overload(draft, jit_options=INLINE)
def _draft(world, rng):
    f = verbs_of(class_of(world)).get("draft") or _verb(class_of(world), "propose")
    return lambda world, rng: f(world, rng)


@overload(settle, jit_options=INLINE)
def _settle(world, move, ratio):
    f = verbs_of(class_of(world)).get("settle")
    return (lambda world, move, ratio: ratio) if f is None else (lambda world, move, ratio: f(world, move, ratio))


@overload(n_factors, jit_options=INLINE)
def _n_factors(world, move):
    f = _verb(class_of(world), "n_factors")
    return lambda world, move: f(world, move)


@overload(n_leaving, jit_options=INLINE)
def _n_leaving(world, move):
    f = verbs_of(class_of(world)).get("n_leaving")
    return (lambda world, move: 0) if f is None else (lambda world, move: f(world, move))


@overload(factor, jit_options=INLINE)
def _factor(world, move, k, phi):
    f = _verb(class_of(world), "factor")
    return lambda world, move, k, phi: f(world, move, k, phi)


@overload(factor_score, jit_options=INLINE)
def _factor_score(world, move, k, weights, phi):
    f = _verb(class_of(world), "factor_score")
    return lambda world, move, k, weights, phi: f(world, move, k, weights, phi)


@overload(forbids, jit_options=INLINE)
def _forbids(world, move):
    f = verbs_of(class_of(world)).get("forbids")
    return (lambda world, move: False) if f is None else (lambda world, move: f(world, move))


@overload(difference, jit_options=INLINE)
def _difference(world, move, phi):
    f = _verb(class_of(world), "difference")
    return lambda world, move, phi: f(world, move, phi)


@overload(delta, jit_options=INLINE)
def _delta(world, move, weights, phi):
    f = _verb(class_of(world), "delta")
    return lambda world, move, weights, phi: f(world, move, weights, phi)


@overload(signal, jit_options=INLINE)
def _signal(world, move):
    f = _verb(class_of(world), "signal")
    return lambda world, move: f(world, move)


# What only learners that compare with the truth ask may be missing; asking it all the same is an error of the walk.


@overload(is_silent, jit_options=INLINE)
def _is_silent(world, move):
    f = verbs_of(class_of(world)).get("is_silent")
    return (lambda world, move: False) if f is None else (lambda world, move: f(world, move))


@overload(note, jit_options=INLINE)
def _note(world, move, change, accepted):
    f = verbs_of(class_of(world)).get("note")
    if f is None:
        return lambda world, move, change, accepted: None
    return lambda world, move, change, accepted: f(world, move, change, accepted)


@overload(commit, jit_options=INLINE)
def _commit(world, move):
    f = _verb(class_of(world), "commit")
    return lambda world, move: f(world, move)


@overload(retrace, jit_options=INLINE)
def _retrace(world, goal, phi):
    f = verbs_of(class_of(world)).get("retrace")
    if f is not None:
        return lambda world, goal, phi: f(world, goal, phi)

    def missing(world, goal, phi):
        if phi.size[0] >= 0:
            raise TypeError("this world does not answer 'retrace', which learners that compare with the truth need")
        return 0.0

    return missing


@overload(restart, jit_options=INLINE)
def _restart(world, goal):
    f = verbs_of(class_of(world)).get("restart")
    if f is not None:
        return lambda world, goal: f(world, goal)

    def missing(world, goal):
        raise TypeError("this world does not answer 'restart', which learners that go back to the truth need")

    return missing


@compiled(inline=True)
def _sum_of_factors(world, move, phi):
    """Sum the touched factors' changes: the difference of a world that does not say its own."""
    for k in range(n_factors(world, move)):
        factor(world, move, k, phi)


@compiled(inline=True)
def _score_of_factor(world, move, k, weights, phi):
    """Score one factor's change."""
    clear(phi)
    factor(world, move, k, phi)
    return dot(phi, weights)


@compiled(inline=True)
def _score_of_difference(world, move, weights, phi):
    """Score the difference: the delta of a world that has no quicker way."""
    clear(phi)
    difference(world, move, phi)
    return dot(phi, weights)
