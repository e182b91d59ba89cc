"""Step rules: how far to move along a gradient, and how weights are shrunk and averaged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.worlds.sparse import squared_norm

PERCEPTRON, CONSTANT, MIRA, ADAGRAD, AROW = range(5)
RULES = {"perceptron": PERCEPTRON, "constant": CONSTANT, "mira": MIRA, "adagrad": ADAGRAD, "arow": AROW}


class StepRule(NamedTuple):
    """A row of the table of step rules."""

    kind: int
    rate: float  # constant and AdaGrad: the step; MIRA: the cap on it; AROW: its r
    shrink: float  # L2: the share by which every step shrinks all weights


class WeightState(NamedTuple):
    """Weights as a learner holds them: ``scale * values``, with what averaging needs.

    The sum of the weights over all steps is ``summed + clock * values - lag``: an update at time ``clock``
    adds ``clock * change`` to ``lag``, so that averaging costs nothing on the steps that change nothing.
    """

    values: NDArray[np.float64]
    lag: NDArray[np.float64]
    summed: NDArray[np.float64]
    spread: NDArray[np.float64]  # AdaGrad: summed squares; AROW: variances; else empty
    scalars: NDArray[np.float64]  # scale, clock, steps

    @property
    def weights(self) -> NDArray[np.float64]:
        """The present weights."""
        return self.scalars[0] * self.values

    @property
    def total(self) -> NDArray[np.float64]:
        """The sum of the weights over all steps."""
        return self.summed + self.scalars[1] * self.values - self.lag


def step_rule(name: str = "mira", *, rate: float | None = None, l2: float = 0.0) -> StepRule:
    """A step rule by name.

    Parameters
    ----------
    name : {"perceptron", "constant", "mira", "adagrad", "arow"}
        ``perceptron`` adds the gradient as it is; ``constant`` times ``rate``; ``mira`` moves just far enough to
        meet the margin, at most ``rate`` (Crammer et al., 2006); ``adagrad`` scales each weight's step by
        its own history (Duchi et al., 2011); ``arow`` keeps a confidence in each weight (Crammer et al., 2009).
    rate : float, optional
        The constant step (default 0.1), MIRA's cap (1), AdaGrad's step (0.1) or AROW's r (10).
    l2 : float
        Weights shrink by this share at every step.

    Examples
    --------
    >>> step_rule("mira", rate=0.1).rate
    0.1
    """
    if name not in RULES:
        raise ValueError(f"step rule {name!r} is not known; choose one of {', '.join(RULES)}")
    defaults = {"perceptron": 1.0, "constant": 0.1, "mira": 1.0, "adagrad": 0.1, "arow": 10.0}
    rate = defaults[name] if rate is None else float(rate)
    if not rate > 0.0:
        raise ValueError(f"rate is {rate}; give a positive number")
    if not 0.0 <= l2 < 1.0:
        raise ValueError(f"l2 is {l2}; give the share of shrinking at each step, from 0 to below 1")
    return StepRule(RULES[name], rate, float(l2))


def weight_state(weights: NDArray[np.float64], rule: StepRule) -> WeightState:
    """A learner's state that starts at ``weights``."""
    n = len(weights)
    spread = np.zeros(0)
    if rule.kind == ADAGRAD:
        spread = np.zeros(n)
    elif rule.kind == AROW:
        spread = np.ones(n)
    return WeightState(np.array(weights, dtype=np.float64), np.zeros(n), np.zeros(n), spread, np.array([1.0, 0.0, 0.0]))


@compiled(inline=True)
def tick(state, shrink):
    """Let one step pass: the average counts the weights as they are, then L2 shrinks them."""
    state.scalars[1] += state.scalars[0]
    state.scalars[2] += 1.0
    if shrink > 0.0:
        state.scalars[0] *= 1.0 - shrink
        if state.scalars[0] < 1e-5:
            # Keep ``values`` within range; the weights and their sum do not change.
            for i in range(len(state.values)):
                state.summed[i] += state.scalars[1] * state.values[i] - state.lag[i]
                state.lag[i] = 0.0
                state.values[i] *= state.scalars[0]
            state.scalars[1] = 0.0
            state.scalars[0] = 1.0


@compiled(inline=True)
def _move(state, index, amount):
    change = amount / state.scalars[0]
    state.values[index] += change
    state.lag[index] += state.scalars[1] * change


@compiled(inline=True)
def update(state, rule, phi, gap, margin):
    """Move the weights along ``phi``, the better world's statistics minus the worse one's.

    ``gap`` is the present difference of scores and ``margin`` the one wanted.
    """
    n = phi.size[0]
    if rule.kind == ADAGRAD:
        for e in range(n):
            i, x = phi.index[e], phi.value[e]
            if x != 0.0:
                state.spread[i] += x * x
                _move(state, i, rule.rate * x / np.sqrt(state.spread[i]))
        return
    if rule.kind == AROW:
        variance = 0.0
        for e in range(n):
            variance += phi.value[e] * phi.value[e] * state.spread[phi.index[e]]
        if variance == 0.0:
            return
        beta = 1.0 / (variance + rule.rate)
        alpha = max(0.0, margin - gap) * beta
        for e in range(n):
            i, x = phi.index[e], phi.value[e]
            confidence = state.spread[i]
            _move(state, i, alpha * confidence * x)
            state.spread[i] = confidence - beta * confidence * confidence * x * x
        return
    step = rule.rate
    if rule.kind == MIRA:
        norm = squared_norm(phi)
        if norm == 0.0:
            return
        step = min(rule.rate, max(0.0, margin - gap) / norm)
    for e in range(n):
        if phi.value[e] != 0.0:
            _move(state, phi.index[e], step * phi.value[e])
