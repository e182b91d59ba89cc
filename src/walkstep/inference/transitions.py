"""One step of a walk: Metropolis-Hastings on any world, Gibbs on label worlds.

Walks that only answer and walks that learn share these; a transition is a ``NamedTuple`` that
answers `attempt` and `rival`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from walkstep.compiled import INLINE, compiled
from walkstep.worlds.base import delta, difference, draft, settle, signal
from walkstep.worlds.labels import LabelWorld, conditional, prefetch
from walkstep.worlds.moves import Flip
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.signals import Hamming


class Metropolis(NamedTuple):
    """Take the world's proposal with probability min(1, exp(delta / T) q(back) / q(there))."""

    temperature: NDArray[np.float64]  # (1,)


class Gibbs(NamedTuple):
    """Draw a site's value from its conditional; the site is the next one, or any."""

    temperature: NDArray[np.float64]  # (1,)
    scores: NDArray[np.float64]  # scratch: the score of each value of the site
    cursor: NDArray[np.int64]  # (1,) the last site visited, counted from the document's first
    is_random: bool
    is_violating: bool  # learn from the worst-ranked neighbour instead of the one drawn


def metropolis_transition(temperature: float = 1.0) -> Metropolis:
    """Metropolis-Hastings with the world's own proposer."""
    return Metropolis(np.array([temperature], dtype=np.float64))


def gibbs_transition(
    world: LabelWorld, temperature: float = 1.0, *, scan: str = "systematic", rival: str = "drawn"
) -> Gibbs:
    """Gibbs sampling of a label world.

    Parameters
    ----------
    world : LabelWorld
    temperature : float
        1 samples the model, lower is greedier, 0 always takes the best value.
    scan : {"systematic", "random"}
        Sites in order, or drawn uniformly.
    rival : {"drawn", "violating"}
        Which neighbour a learner compares the present world with: the one that was drawn, or, of all
        values of the site, the one whose ranking is most at fault.
    """
    if scan not in ("systematic", "random"):
        raise ValueError(f"scan is {scan!r}; choose 'systematic' or 'random'")
    if rival not in ("drawn", "violating"):
        raise ValueError(f"rival is {rival!r}; choose 'drawn' or 'violating'")
    largest = int(world.graph.n_values.max()) if world.graph.n_variables else 1
    return Gibbs(
        np.array([temperature], dtype=np.float64),
        np.zeros(largest),
        np.full(1, -1, np.int64),
        scan == "random",
        rival == "violating",
    )


def attempt(transition, world, weights, scale, phi, rng) -> Any:  # pragma: no cover - overloaded
    """A move, its change of score under ``scale * weights``, and whether it is accepted."""
    raise TypeError(transition)


def gradient(transition, world, move, phi) -> Any:  # pragma: no cover - overloaded
    """Add the change of statistics that the learner follows: exact, or from the factors that were looked at."""
    raise TypeError(transition)


def rival(transition, world, move, change) -> Any:  # pragma: no cover - overloaded
    """The move that a learner looks at, and its change of score."""
    raise TypeError(transition)


def turn(transition) -> None:  # pragma: no cover - overloaded
    """Begin a new document."""
    raise TypeError(transition)


@compiled(inline=True)
def _turn_gibbs(transition):
    transition.cursor[0] = -1


@overload(turn, jit_options=INLINE)
def _turn(transition):
    if transition.instance_class is Gibbs:
        return lambda transition: _turn_gibbs(transition)
    return lambda transition: None


@compiled(inline=True)
def accepts(change, ratio, temperature, rng):
    """The Metropolis-Hastings test; at temperature 0 only what does not lose is taken."""
    if temperature <= 0.0:
        return change >= 0.0
    log_odds = change / temperature + ratio
    return log_odds >= 0.0 or uniform(rng) < np.exp(log_odds)


@compiled(inline=True)
def draw(scores, n, temperature, rng):
    """A value with probability proportional to exp(score / temperature)."""
    return pick(scores, n, temperature, uniform(rng))


@compiled(inline=True)
def pick(scores, n, temperature, u):
    """The value that a number ``u`` from [0, 1) falls on, each as wide as its probability."""
    best = 0
    for k in range(1, n):
        if scores[k] > scores[best]:
            best = k
    if temperature <= 0.0:
        return best
    total = 0.0
    top = scores[best]
    inverse = 1.0 / temperature
    for k in range(n):
        x = (scores[k] - top) * inverse
        if x > -40.0:  # below, less than one draw in 10**17
            total += np.exp(x)
    threshold = u * total
    for k in range(n):
        x = (scores[k] - top) * inverse
        if x > -40.0:
            threshold -= np.exp(x)
            if threshold < 0.0:
                return k
    return best


@compiled(inline=True)
def accepts_draft(world, move, change, ratio, temperature, rng):
    """The same for a move whose ratio is not settled yet: it is only where it tells."""
    if temperature <= 0.0 or change == -np.inf:
        return change >= 0.0
    return accepts(change, settle(world, move, ratio), temperature, rng)


@compiled(inline=True)
def _attempt_metropolis(transition, world, weights, scale, phi, rng):
    move, ratio = draft(world, rng)
    change = scale * delta(world, move, weights, phi)
    return move, change, accepts_draft(world, move, change, ratio, transition.temperature[0], rng)


@compiled(inline=True)
def _attempt_gibbs(transition, world, weights, scale, phi, rng):
    first, last = world.window[0], world.window[1]
    if transition.is_random:
        at = below(rng, last - first)
    else:
        at = transition.cursor[0] + 1
        if at >= last - first:
            at = np.int64(0)
    transition.cursor[0] = at
    site = first + at
    scores = transition.scores
    n = world.graph.n_values[site]
    if not transition.is_random and site + 1 < last:
        prefetch(world, site + 1, weights)
    conditional(world, site, weights, scores)
    if scale != 1.0:
        for k in range(n):
            scores[k] *= scale
    value = draw(scores, n, transition.temperature[0], rng)
    change = scores[value] - scores[world.values[site]]
    return Flip(site, np.int64(value)), change, True


@compiled(inline=True)
def _rival_gibbs(transition, world, move, change):
    if not transition.is_violating:
        return move, change
    # Of all values of the site, the one whose margin against the present value is violated most.
    scores = transition.scores
    now = np.int64(world.values[move.site])
    worst = now
    most = 0.0
    for k in range(world.graph.n_values[move.site]):
        if k == now:
            continue
        omega = signal(world, Flip(move.site, k))
        if omega == 0.0:
            continue
        gap = scores[k] - scores[now] if omega > 0.0 else scores[now] - scores[k]
        violation = abs(omega) - gap
        if worst == now or violation > most:
            most = violation
            worst = k
    return Flip(move.site, worst), scores[worst] - scores[now]


@compiled(inline=True)
def _exact_gradient(transition, world, move, phi):
    difference(world, move, phi)


TRANSITIONS: dict[type, tuple[Any, Any]] = {
    Metropolis: (_attempt_metropolis, _exact_gradient),
    Gibbs: (_attempt_gibbs, _exact_gradient),
}
"""How each kind of transition makes an attempt, and the gradient it offers."""


@overload(gradient, jit_options=INLINE)
def _gradient(transition, world, move, phi):
    f = TRANSITIONS[transition.instance_class][1]
    return lambda transition, world, move, phi: f(transition, world, move, phi)


@overload(attempt, jit_options=INLINE)
def _attempt(transition, world, weights, scale, phi, rng):
    f = TRANSITIONS[transition.instance_class][0]
    return lambda transition, world, weights, scale, phi, rng: f(transition, world, weights, scale, phi, rng)


def _signal_of(world) -> type:
    """The class of a label world's signal, from their Numba types."""
    return world.types[world.fields.index("signal")].instance_class


@compiled(inline=True)
def _rival_hamming(transition, world, move, change):
    """The same for Hamming accuracy, where it is either the truth or, at the truth, the best other value."""
    true = world.truth[move.site]
    if not transition.is_violating or true < 0:
        return move, change
    scores = transition.scores
    now = world.values[move.site]
    worst = true
    if now == true:
        worst = 1 if true == 0 and world.graph.n_values[move.site] > 1 else 0
        for k in range(world.graph.n_values[move.site]):
            if k != true and scores[k] > scores[worst]:
                worst = k
    return Flip(move.site, np.int64(worst)), scores[worst] - scores[now]


@overload(rival, jit_options=INLINE)
def _rival(transition, world, move, change):
    if transition.instance_class is Gibbs and _signal_of(world) is Hamming:
        return lambda transition, world, move, change: _rival_hamming(transition, world, move, change)
    if transition.instance_class is Gibbs:
        return lambda transition, world, move, change: _rival_gibbs(transition, world, move, change)
    return lambda transition, world, move, change: (move, change)
