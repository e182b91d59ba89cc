"""Weights from truth by passing messages: likelihood, margins, and minimum risk (Stoyanov and Eisner, 2012)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from walkstep.lbfgs import lbfgs
from walkstep.learning.descent import descend_once, over_all, stepper
from walkstep.messages.batch import Batch
from walkstep.messages.forbidden_truth import refuse_forbidden_truth
from walkstep.messages.losses import Loss, as_loss
from walkstep.messages.minibatches import minibatches
from walkstep.messages.objectives import OBJECTIVES, Dials, Inference, Kind, Objective

_COLDEST = 0.1  # the temperature at which annealed training ends; max-product is its limit
_SPREAD = 0.1  # of weights that a restart begins with
_STAGES = 4  # of the continuation, where L-BFGS is run once for each


@dataclass(frozen=True)
class MessageEpoch:
    """What one pass over the documents did."""

    number: int  # counted from 1
    objective: float  # mean over batches, where each step began
    dev: float | None  # the loss on development data
    seconds: float


@dataclass(frozen=True)
class Learned:
    """Weights, and how training went."""

    weights: NDArray[np.float64]
    epochs: list[MessageEpoch]
    interrupted: bool = False


@dataclass(frozen=True)
class MessageLearner:
    """How to train by messages.

    Parameters
    ----------
    learner : {"risk", "likelihood", "softmax-margin", "svm", "perceptron"}
    loss : str or callable
        What risk is about: see `walkstep.messages.losses`.
    inference : {"sum-product", "max-product"}
        What the weights are to be used with. For max-product, risk is annealed: the temperature of sum-product falls
        from 1 to near 0 as training proceeds (section 3.2 of the paper).
    n_rounds : int
        Rounds of flooding, where the graph has cycles.
    damping : float
    decode_temperature : float
        Of the soft decoder.
    cost : float
        Of margins: what a wrong value costs.
    optimiser : {"adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"}
    rate : float
        Of the optimiser's steps.
    n_epochs : int
        Passes over the documents; iterations of L-BFGS.
    n_first_epochs : int
        Of risk: so many passes of likelihood before, to get to a good part of the space (section 5.1).
    batch_size : int
        Documents a step looks at; L-BFGS looks at all.
    l1, l2 : float
        What absolute and squared weights cost.
    patience : int, optional
        Stop after so many epochs without a better development loss.
    n_restarts : int
        Further trainings from weights drawn at random; the best on development data, else by the objective, is kept.
    average : bool
        Use the mean of the weights over the last half of the steps.
    precise : bool
        In double precision.
    random_state : int
    """

    learner: str = "risk"
    loss: str | Callable[..., Any] = "accuracy"
    inference: Kind = "sum-product"
    n_rounds: int = 10
    damping: float = 0.0
    decode_temperature: float = 0.1
    cost: float = 1.0
    optimiser: str = "adam"
    rate: float = 0.05
    n_epochs: int = 20
    n_first_epochs: int = 10
    batch_size: int = 32
    l1: float = 0.0
    l2: float = 0.0
    patience: int | None = None
    n_restarts: int = 0
    average: bool = False
    precise: bool = False
    random_state: int = 0

    def check(self, n_values: int = 2) -> Loss:
        """Refuse settings that make no sense, before any work; returns the loss.

        Parameters
        ----------
        n_values : int
            The number of values that a loss of the user's is tried with.
        """
        if self.learner not in OBJECTIVES:
            raise ValueError(f"learner is {self.learner!r}; choose one of {', '.join(OBJECTIVES)}")
        if self.inference not in ("sum-product", "max-product"):
            raise ValueError(f"inference is {self.inference!r}; choose 'sum-product' or 'max-product'")
        for name in ("n_rounds", "n_epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give 1 or more")
        for name in ("n_first_epochs", "l1", "l2", "n_restarts", "cost"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give 0 or more")
        if not 0.0 <= self.damping < 1.0:
            raise ValueError(f"damping is {self.damping}; give a number from 0 to below 1")
        if not self.decode_temperature > 0.0:
            raise ValueError(f"decode_temperature is {self.decode_temperature}; give a number above 0")
        stepper(self.optimiser, self.rate, self.l2)
        return as_loss(self.loss, n_values)

    @property
    def is_annealed(self) -> bool:
        """Whether the temperature of inference falls."""
        return self.learner == "risk" and self.inference == "max-product"

    def test_inference(self) -> Inference:
        """What the weights are to be used with."""
        return Inference(self.inference, self.n_rounds, self.damping, is_wide=True)

    def learn(
        self,
        batch: Batch,
        *,
        start: NDArray[np.float64] | None = None,
        dev: Callable[[NDArray[np.float64]], float] | None = None,
        show: Callable[[MessageEpoch], None] | None = None,
    ) -> Learned:
        """Train on the documents of a batch.

        Parameters
        ----------
        batch : Batch
            Of NumPy arrays: all documents.
        start : float array, optional
            Where weights begin; by default at zero.
        dev : callable, optional
            The loss of weights on development data; the weights of the best epoch are kept.
        show : callable, optional
            Called after each epoch.
        """
        loss = self.check(batch.tables.n_values)
        n_weights = batch.tables.n_weights
        first = np.zeros(n_weights) if start is None else np.asarray(start, np.float64)
        _check_weights(first, n_weights)
        if not np.sum(batch.weight) > 0.0:
            raise ValueError("no truth is known of any variable that counts; give graph_batch a truth to learn from")
        refuse_forbidden_truth(batch)
        rng = np.random.default_rng(self.random_state)
        with jax.enable_x64(self.precise):
            size = batch.n_documents if self.optimiser == "lbfgs" else self.batch_size
            parts = minibatches(batch, size, rng)
            best: Learned | None = None
            for attempt in range(1 + self.n_restarts):
                begin = first + rng.normal(0.0, _SPREAD, n_weights) if attempt else first
                try:
                    learned = _Run(self, loss, parts, rng, dev, show).learn(begin)
                except KeyboardInterrupt:
                    if best is None:
                        raise
                    return replace(best, interrupted=True)
                if best is None or _merit(learned) < _merit(best):
                    best = learned
                if learned.interrupted:
                    return replace(best, interrupted=True)
        assert best is not None
        return best


def _check_weights(weights: NDArray[np.float64], n_weights: int) -> None:
    if weights.shape != (n_weights,):
        raise ValueError(f"weights have shape {weights.shape}; the graphs of this batch take ({n_weights},)")
    if len(bad := np.flatnonzero(~np.isfinite(weights))):
        raise ValueError(f"weight {bad[0]} is {weights[bad[0]]}; weights must be finite numbers")


def _merit(learned: Learned) -> float:
    """The best development loss, else where the objective came to; lower is better."""
    found = [epoch.dev for epoch in learned.epochs if epoch.dev is not None]
    return min(found) if found else learned.epochs[-1].objective


@dataclass
class _Phase:
    """Some epochs with one objective."""

    objective: Objective
    n_epochs: int
    is_risk: bool


class _Run:
    """One training from given weights."""

    def __init__(self, settings: MessageLearner, loss: Loss, parts: list[Batch], rng, dev, show):
        self._settings, self._parts, self._rng, self._dev, self._show = settings, parts, rng, dev, show
        self._epochs: list[MessageEpoch] = []
        self._best: tuple[float, NDArray[np.float64]] | None = None
        self._began = time.perf_counter()
        self._dtype = jnp.float64 if settings.precise else jnp.float32
        is_risk = settings.learner == "risk"
        inference = Inference("sum-product", settings.n_rounds, settings.damping)
        self._phases = []
        if is_risk and settings.n_first_epochs:
            self._phases.append(_Phase(Objective("likelihood", inference), settings.n_first_epochs, False))
        inference = replace(inference, is_wide=settings.is_annealed)
        main = Objective(settings.learner, inference, loss, settings.decode_temperature, settings.cost)
        self._phases.append(_Phase(main, settings.n_epochs, is_risk))

    def learn(self, weights: NDArray[np.float64]) -> Learned:
        interrupted = False
        walk = self._by_lbfgs if self._settings.optimiser == "lbfgs" else self._by_steps
        latest = weights
        try:
            for phase in self._phases:
                latest = walk(phase, latest)
        except KeyboardInterrupt:
            if not self._epochs:
                raise
            interrupted, latest = True, self._latest
        found = latest if self._best is None else self._best[1]
        return Learned(np.asarray(found, np.float64), self._epochs, interrupted)

    def _dials(self, phase: _Phase, done: float) -> Dials:
        """How far the temperature has fallen and the loss taken over, when so much of a phase is done."""
        if not phase.is_risk:
            return Dials(jnp.asarray(1.0, self._dtype), jnp.asarray(1.0, self._dtype))
        temperature = _COLDEST**done if self._settings.is_annealed else 1.0
        # The last third is for the loss alone.
        blend = min(1.0, 1.5 * done)
        return Dials(jnp.asarray(temperature, self._dtype), jnp.asarray(blend, self._dtype))

    def _by_steps(self, phase: _Phase, start: NDArray[np.float64]) -> NDArray[np.float64]:
        settings = self._settings
        steps = stepper(settings.optimiser, settings.rate, settings.l2)
        weights = jnp.asarray(start, self._dtype)
        state = steps.init(weights)
        mean, n_summed = jnp.zeros_like(weights), 0
        for e in range(phase.n_epochs):
            dials = self._dials(phase, e / max(phase.n_epochs - 1, 1))
            total = 0.0
            for k in self._rng.permutation(len(self._parts)):
                weights, state, value = descend_once(
                    phase.objective, steps, weights, state, self._parts[k], dials, settings.l1, settings.l2
                )
                total += float(value) / len(self._parts)
                if settings.average and 2 * e >= phase.n_epochs:
                    n_summed += 1
                    mean = mean + (weights - mean) / n_summed
            used = mean if n_summed else weights
            self._latest = np.asarray(used, np.float64)
            if self._ended(total, phase):
                break
        return self._latest

    def _by_lbfgs(self, phase: _Phase, start: NDArray[np.float64]) -> NDArray[np.float64]:
        settings = self._settings
        stages = _STAGES if phase.is_risk else 1
        self._latest = start
        for stage in range(stages):
            dials = self._dials(phase, stage / max(stages - 1, 1))
            function = over_all(phase.objective, self._parts, dials=dials, l2=settings.l2, dtype=self._dtype)
            max_iter = max(1, phase.n_epochs // stages)
            tolerance = 1e-9 if settings.precise else 1e-5
            for iterate in lbfgs(function, self._latest, l1=settings.l1, max_iter=max_iter, tolerance=tolerance):
                self._latest = iterate.weights
                if self._ended(iterate.loss, phase):
                    return self._latest
        return self._latest

    def _ended(self, objective: float, phase: _Phase) -> bool:
        """Write down how an epoch went; whether it is time to stop."""
        if not np.isfinite(objective):
            raise ValueError(
                f"the objective became {objective} in epoch {len(self._epochs) + 1}; lower the rate "
                f"(it is {self._settings.rate}), or raise l2"
            )
        loss = None if self._dev is None else float(self._dev(self._latest))
        epoch = MessageEpoch(len(self._epochs) + 1, objective, loss, time.perf_counter() - self._began)
        self._began = time.perf_counter()
        self._epochs.append(epoch)
        if self._show is not None:
            self._show(epoch)
        if loss is None:
            return False
        if self._best is None or loss < self._best[0]:
            self._best, self._best_at = (loss, self._latest.copy()), epoch.number
        patience = self._settings.patience
        return patience is not None and phase is self._phases[-1] and epoch.number - self._best_at >= patience
