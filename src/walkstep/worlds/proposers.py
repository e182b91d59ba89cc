"""Proposers of label worlds: where the moves of Metropolis-Hastings come from."""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from walkstep.compiled import INLINE, compiled, pointer
from walkstep.worlds.moves import Flip, Relabel
from walkstep.worlds.randomness import below


class UniformFlip(NamedTuple):
    """Propose another value for a variable of the document, both drawn uniformly: a symmetric proposer."""

    n_sites: int = 1


class UserProposer(NamedTuple):
    """Propose what a user's function says; see `as_proposer`."""

    function: Any
    move: Relabel


PROPOSE = types.float64(
    types.int32[::1],
    types.Array(types.int32, 1, "C", readonly=True),
    types.int64,
    types.int64,
    types.int64[::1],
    types.int32[::1],
    types.int64[::1],
    types.uint64[::1],
)


def as_proposer(function, *, max_sites: int = 16) -> UserProposer:
    """Let a user's function propose the moves of Metropolis-Hastings.

    Parameters
    ----------
    function : callable
        ``(values, n_values, first, last, sites, new_values, size, rng) -> log_q_ratio``. It writes the variables
        that change to ``sites``, their new values to ``new_values`` and their number to ``size[0]``,
        all within ``first <= site < last``, and returns log q(back) - log q(there). Randomness comes from
        `walkstep.worlds.uniform` and `walkstep.worlds.below`.
    max_sites : int
        The most variables one move changes.
    """
    arguments = "(values, n_values, first, last, sites, new_values, size, rng) -> float"
    move = Relabel(np.zeros(max_sites, np.int64), np.zeros(max_sites, np.int32), np.zeros(1, np.int64))
    return UserProposer(pointer(function, PROPOSE, "proposer", arguments), move)


def max_sites(proposer: Any) -> int:
    """The most variables that one of its moves changes."""
    return len(proposer.move.sites) if isinstance(proposer, UserProposer) else 1


def suggest(proposer, world, rng):  # pragma: no cover - replaced by its overload in compiled code
    """A move from the world's proposer."""
    raise TypeError


@compiled(inline=True)
def _uniform_flip(world, rng):
    first, last = world.window[0], world.window[1]
    site = first + below(rng, last - first)
    # One of the other values, each as likely: drawing v out of K-1 and skipping the present one.
    n = world.graph.n_values[site]
    if n == 1:
        return Flip(site, np.int64(0)), 0.0
    value = below(rng, n - 1)
    if value >= world.values[site]:
        value += 1
    return Flip(site, value), 0.0


@compiled(inline=True)
def _user_move(proposer, world, rng):
    move = proposer.move
    ratio = proposer.function(
        world.values,
        world.graph.n_values,
        world.window[0],
        world.window[1],
        move.sites,
        move.values,
        move.size,
        rng,
    )
    if move.size[0] < 1 or move.size[0] > len(move.sites):
        raise ValueError("the proposer changed no variable, or more than max_sites; see as_proposer")
    for j in range(move.size[0]):
        s = move.sites[j]
        if s < world.window[0] or s >= world.window[1]:
            raise ValueError("the proposer named a variable outside of the document entered")
        if move.values[j] < 0 or move.values[j] >= world.graph.n_values[s]:
            raise ValueError("the proposer gave a variable a value outside of its domain")
    return move, ratio


@overload(suggest, jit_options=INLINE)
def _suggest(proposer, world, rng):
    if proposer.instance_class is UniformFlip:
        return lambda proposer, world, rng: _uniform_flip(world, rng)
    return lambda proposer, world, rng: _user_move(proposer, world, rng)
