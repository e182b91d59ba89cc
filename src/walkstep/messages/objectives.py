"""What training makes small: weights → scores → messages → one of several endings.

Likelihood, softmax-margin, margin and risk share everything but their ending. Likelihood and margins are taken of each
document and added up, those without a variable that counts left out. All are means over the variables that count, so
that they are comparable between batches.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike

from walkstep.messages.batch import Batch
from walkstep.messages.decoders import most_probable, soften
from walkstep.messages.folds import log_sum
from walkstep.messages.losses import TINY, Loss, accuracy, squared_error
from walkstep.messages.message_passing import (
    Messages,
    Scores,
    beliefs,
    log_partition_terms,
    pass_inwards_and_back,
    pass_messages,
    score_terms,
)

Kind = Literal["sum-product", "max-product"]
OBJECTIVES = ("likelihood", "softmax-margin", "svm", "perceptron", "risk")


@dataclass(frozen=True)
class Inference:
    """How messages are passed: in two passes where no cycle is closed, otherwise so many rounds of flooding."""

    kind: Kind = "sum-product"
    n_rounds: int = 10
    damping: float = 0.0
    is_wide: bool = False  # whether scores differ by more than some tens

    def messages(self, batch: Batch, scores: Scores) -> Messages:
        """Where messages have come to."""
        is_max = self.kind == "max-product"
        if batch.schedule is not None:
            return pass_inwards_and_back(
                batch.wired, scores, batch.schedule, is_max=is_max, is_wide=self.is_wide
            ).messages
        passed = pass_messages(
            batch.wired, scores, n_rounds=self.n_rounds, damping=self.damping, is_max=is_max, is_wide=self.is_wide
        )
        return passed.messages

    def log_beliefs(self, batch: Batch, scores: Scores) -> Array:
        """What is believed of each variable, normalised: (K, V, B)."""
        heard = beliefs(batch.wired, scores, self.messages(batch, scores))
        return heard - log_sum(heard)


class Dials(NamedTuple):
    """What changes while training goes on."""

    temperature: ArrayLike = 1.0  # of inference: max-product is reached as it falls to 0
    blend: ArrayLike = 1.0  # the share of the loss itself; the rest is the squared error


@dataclass(frozen=True)
class Objective:
    """What training makes small.

    Parameters
    ----------
    kind : {"likelihood", "softmax-margin", "svm", "perceptron", "risk"}
    inference : Inference
    loss : Loss
        Of risk.
    decode_temperature : float
        Of the soft decoder that risk is taken through.
    cost : float
        Of margins: what a wrong value costs, in scores.
    """

    kind: str = "risk"
    inference: Inference = Inference()
    loss: Loss = accuracy
    decode_temperature: float = 0.1
    cost: float = 1.0

    def __call__(self, weights: Array, batch: Batch, dials: Dials | None = None) -> Array:
        """One number, to be differentiated by ``weights``."""
        dials = Dials() if dials is None else dials
        scores = batch.tables.scores(weights)
        if self.kind == "risk":
            return self._risk(batch, scores, dials)
        if self.kind == "likelihood":
            total = _unlikeliness(self.inference, batch, scores)
        elif self.kind == "softmax-margin":
            total = _unlikeliness(self.inference, batch, scores, _with_cost(batch, scores, self.cost))
        else:
            total = self._violation(batch, scores, 0.0 if self.kind == "perceptron" else self.cost)
        weight = jnp.asarray(batch.weight, total.dtype)
        counts = batch.by_document(weight) > 0.0  # documents that are left out, or fill a batch up, do not
        return jnp.where(counts, total, 0.0).sum() / jnp.maximum(weight.sum(), TINY)

    def _risk(self, batch: Batch, scores: Scores, dials: Dials) -> Array:
        """Eq. 4 by way of the soft decoder, with the continuation of section 5.1."""
        cooled = _cooled(scores, dials.temperature)
        log_beliefs = self.inference.log_beliefs(batch, cooled)
        # Beliefs that inference has sharpened already are sharpened by so much less, or gradients would vanish.
        loss = self.loss(soften(log_beliefs, jnp.minimum(1.0, self.decode_temperature / dials.temperature)), batch)
        smooth = squared_error(jnp.exp(log_beliefs), batch)
        return jnp.asarray(dials.blend * loss + (1.0 - dials.blend) * smooth)

    def _violation(self, batch: Batch, scores: Scores, cost: float) -> Array:
        """By how much a world with its cost is better than the truth, of each document; exact on forests."""
        looking = Inference("max-product", self.inference.n_rounds, self.inference.damping)
        raised = _with_cost(batch, scores, cost) if cost else scores
        rival = most_probable(looking.log_beliefs(batch, lax.stop_gradient(raised)))
        truth = jnp.asarray(batch.truth)
        if batch.has_latent:
            held = _clamped(batch, scores)
            truth = most_probable(looking.log_beliefs(batch, lax.stop_gradient(held)))
        gap = _score(batch, raised, rival) - _score(batch, scores, truth)
        return jnp.maximum(gap, 0.0)  # of each by itself: one that is beyond its margin does not make up for others


def _cooled(scores: Scores, temperature: Any) -> Scores:
    """Inference under p(θ / T) (section 3.2)."""
    return Scores(scores.own / temperature, tuple(table / temperature for table in scores.tables))


def _unlikeliness(inference: Inference, batch: Batch, scores: Scores, raised: Scores | None = None) -> Array:
    """Minus the log likelihood of the truth (Eq. 3), of each document, by Bethe's log Z; exact on forests.

    With ``raised`` scores in the denominator it is softmax-margin.
    """
    free = scores if raised is None else raised
    below = _log_partition(inference, batch, free)
    if batch.has_latent:
        return below - _log_partition(inference, batch, _clamped(batch, scores))
    return below - _score(batch, scores, jnp.asarray(batch.truth))


def _log_partition(inference: Inference, batch: Batch, scores: Scores) -> Array:
    """Messages are held: where they have settled, log Z does not depend on them."""
    inference = replace(inference, kind="sum-product")
    messages = lax.stop_gradient(inference.messages(batch, lax.stop_gradient(scores)))
    return batch.by_document(*log_partition_terms(batch.wired, scores, messages))


def _score(batch: Batch, scores: Scores, values: Array) -> Array:
    return batch.by_document(*score_terms(batch.wired, scores, values))


def _clamped(batch: Batch, scores: Scores) -> Scores:
    """Scores with what is known held to the truth."""
    values = jnp.arange(scores.own.shape[0])[:, None, None]
    truth = jnp.asarray(batch.truth)
    return scores._replace(own=jnp.where((truth >= 0) & (values != truth), -jnp.inf, scores.own))


def _with_cost(batch: Batch, scores: Scores, cost: float) -> Scores:
    """Scores to which every wrong value adds its cost (Gimpel and Smith, 2010)."""
    values = jnp.arange(scores.own.shape[0])[:, None, None]
    wrong = (values != jnp.asarray(batch.truth)).astype(scores.own.dtype)
    return scores._replace(own=scores.own + cost * jnp.asarray(batch.weight, scores.own.dtype) * wrong)
