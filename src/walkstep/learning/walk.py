"""The one learner kernel: a walk that corrects its weights as it goes, and the table of its settings."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.transitions import attempt, gradient, rival, turn
from walkstep.learning.steps import tick, update
from walkstep.references import refer
from walkstep.worlds.base import commit, delta, difference, enter, is_silent, restart, retrace, signal
from walkstep.worlds.sparse import add_scaled, clear, dot


class Learner(NamedTuple):
    """A row of the table: which worlds are compared, when weights change, when the chain goes home."""

    neighbours: bool  # compare y_t with y_t+1
    truth: bool  # compare the truth with y_t+1
    always: bool  # change the weights whether or not the margin is violated
    restart: int  # go back to the truth after so many steps; 0 is never
    margin: float  # how much of the signal's difference the scores must differ by


LEARNERS = {
    "samplerank": Learner(True, False, False, 0, 1.0),
    "samplerank-svm": Learner(False, True, False, 0, 1.0),
    "samplerank-svm-1": Learner(False, True, False, 1, 1.0),
    "hybrid": Learner(True, True, False, 0, 1.0),
    "pcd": Learner(False, True, True, 0, 0.0),
    "cd-1": Learner(False, True, True, 1, 0.0),
    "sr-learn": Learner(True, False, False, 0, 0.0),
}


def learner_row(name: str) -> Learner:
    """A learner by name; ``cd-k`` restarts every k steps.

    Examples
    --------
    >>> learner_row("cd-5").restart
    5
    """
    if name.startswith("cd-") and name[3:].isdigit() and int(name[3:]) > 0:
        return LEARNERS["cd-1"]._replace(restart=int(name[3:]))
    if name not in LEARNERS:
        raise ValueError(f"learner {name!r} is not known; choose one of {', '.join(LEARNERS)}, or cd-k")
    return LEARNERS[name]


class Tally(NamedTuple):
    """What happened on the walk, counted."""

    steps: int
    accepted: int
    compared: int  # pairs of worlds that the signal ranks
    violated: int  # pairs that changed the weights
    active: int  # features in those gradients, summed


def empty_tally() -> NDArray[np.int64]:
    """Counters for the kernel to fill."""
    return np.zeros(len(Tally._fields), np.int64)


@compiled(inline=True)
def _is_violated(gap, margin, learner):
    """Line 9 of Algorithm 1 (SampleRank paper): theta' grad < omega(y+) - omega(y-).

    Without a margin a tie is an error too, or weights that start at zero would never move.
    """
    return learner.always or gap < margin or (gap == 0.0 and margin == 0.0)


@compiled(inline=True)
def _correct(phi, gap, margin, rule, state, tally):
    """Change the weights along ``phi``, and count it."""
    tally[3] += 1
    tally[4] += phi.size[0]
    update(state, rule, phi, gap, margin)


@compiled(inline=True)
def _shift(home, world, goal, move, silent, sign, phi):
    """Carry phi(truth) - phi(y_t) along with a move (or, with the other sign, back again).

    Where the truth says nothing it goes along with the chain, so that only what it says is compared.
    """
    clear(phi)
    difference(world, move, phi)
    add_scaled(home, phi, sign)
    if silent:
        clear(phi)
        difference(goal, move, phi)
        add_scaled(home, phi, -sign)


@compiled(allocates=False)
def learn(world, goal, transition, learner, rule, state, documents, n_sweeps, phi, home, rng, tally):
    """Walk through documents, comparing worlds and correcting the weights at every step (Algorithm 1).

    Parameters
    ----------
    world, goal : worlds
        Where the walk is, and the truth.
    transition : Metropolis or Gibbs
    learner, rule : Learner, StepRule
    state : WeightState
    documents : int64 array
        Which documents, in which order.
    n_sweeps : float
        Steps in each document, as a multiple of its sites.
    phi, home : SparseVector
        Scratch for the move's gradient; and the gradient between truth and chain, which is accumulated from
        the moves accepted, never recomputed within a document (section 3.5).
    rng : uint64 array
    tally : int64 array
    """
    here, truth = refer(world), refer(goal)
    for d in documents:
        n_steps = np.int64(np.ceil(n_sweeps * enter(here, d)))
        turn(transition)
        distance = 0.0  # omega(truth) - omega(y_t)
        if learner.truth:
            enter(truth, d)
            clear(home)
            distance = retrace(here, truth, home)
        since_restart = 0
        for _ in range(n_steps):
            tick(state, rule.shrink)
            tally[0] += 1
            move, change, accepted = attempt(transition, here, state.values, state.scalars[0], phi, rng)
            if learner.neighbours:
                pair, pair_change = rival(transition, here, move, change)
                omega = signal(here, pair)
                if omega != 0.0:
                    tally[2] += 1
                    sign = 1.0 if omega > 0.0 else -1.0
                    margin = learner.margin * abs(omega)
                    if _is_violated(sign * pair_change, margin, learner):
                        # Only now is the gradient needed (Eq. 10): most pairs are ranked well already.
                        clear(phi)
                        gradient(transition, here, pair, phi)
                        for e in range(phi.size[0]):
                            phi.value[e] *= sign
                        _correct(phi, sign * pair_change, margin, rule, state, tally)
            if learner.truth:
                silent = is_silent(here, move)
                # Contrastive divergence compares with where the chain is, so what was rejected does not count;
                # margins are asked of every world that was proposed.
                is_seen = accepted or not learner.always
                omega = 0.0
                if is_seen:
                    omega = signal(here, move)
                    _shift(home, here, truth, move, silent, -1.0, phi)
                if distance - omega != 0.0 or learner.always:
                    tally[2] += 1
                    gap = state.scalars[0] * dot(home, state.values)
                    margin = learner.margin * (distance - omega)
                    if _is_violated(gap, margin, learner):
                        _correct(home, gap, margin, rule, state, tally)
                if accepted:
                    distance -= omega
                    if silent:
                        commit(truth, move)
                elif is_seen:
                    _shift(home, here, truth, move, silent, 1.0, phi)
            if accepted:
                tally[1] += 1
                commit(here, move)
            since_restart += 1
            if learner.restart > 0 and since_restart == learner.restart:
                restart(here, truth)
                clear(home)
                distance = 0.0
                since_restart = 0
        if learner.restart > 0:
            restart(here, truth)


@compiled
def score_of_move(world, move, weights, phi):
    """The change of score of one move (for those who look at single moves from Python)."""
    return delta(world, move, weights, phi)
