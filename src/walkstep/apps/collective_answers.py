"""What is believed of linked items, and what is answered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from walkstep.apps.collective_model import CollectiveModel
from walkstep.data.linked_items import LinkedItems
from walkstep.evaluation.calibration import best_temperature
from walkstep.inference.graph_batch import graph_batch
from walkstep.messages.answers import log_beliefs
from walkstep.messages.decoders import best_f1
from walkstep.messages.losses import as_loss
from walkstep.messages.objectives import Inference
from walkstep.model.domains import UNKNOWN

_SOFT = ("mse", "log-likelihood")  # losses of beliefs, not of answers


class Answers:
    """Linked items made ready to be answered, whatever the weights.

    Parameters
    ----------
    model : CollectiveModel
    linked : LinkedItems
    inference : Inference
        By which answers are found; chances are those of sum-product.
    loss : str or callable
        What answers are judged by.
    truth : int array (n_items,), optional
        -1 where it is unknown.
    weight : float array (n_items,), optional
        How much each item counts in the loss.
    hold : bool
        Whether the truth is held to, and the other items are answered given it.
    """

    def __init__(
        self,
        model: CollectiveModel,
        linked: LinkedItems,
        inference: Inference,
        loss: str | Callable[..., Any],
        *,
        truth: NDArray[np.int32] | None = None,
        weight: NDArray[np.float64] | None = None,
        hold: bool = False,
    ):
        self._inference, self._loss = inference, loss
        self._truth = np.full(linked.n_items, UNKNOWN, np.int32) if truth is None else truth
        grounded = model.ground(linked, held=truth if hold else None)
        self._variable_of_item = grounded.variable_of_item
        self._document_of_item = grounded.document_of_item
        values = np.full(grounded.graph.n_variables, UNKNOWN, np.int32)
        values[grounded.variable_of_item] = self._truth
        one, other = self._truth[grounded.pairs].T
        values[grounded.variable_of_pair] = np.where((one < 0) | (other < 0), UNKNOWN, one == other)
        counts = np.zeros(len(values))
        counts[grounded.variable_of_item] = 1.0 if weight is None else weight
        self.batch = graph_batch(grounded.graph, values, document_ptr=grounded.document_ptr, weight=counts)

    def chances(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How probable each class of each item is, by sum-product (n_items, n_classes)."""
        return self._of_items(self._beliefs(weights, replace(self._inference, kind="sum-product")))

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int32]:
        """The class of each item (n_items,)."""
        return self._decided(self._of_items(self._beliefs(weights, self._inference)))

    def loss(self, weights: NDArray[np.float64]) -> float:
        """What answers cost, against the truth that is known."""
        beliefs = self._beliefs(weights, self._inference)
        if self._loss not in _SOFT:
            certain = np.zeros((self.batch.truth.size, len(beliefs)))
            certain[self._variable_of_item] = np.eye(len(beliefs))[self._decided(self._of_items(beliefs))]
            beliefs = certain.reshape(self.batch.n_copies, -1, len(beliefs)).transpose(2, 1, 0)
        return float(as_loss(self._loss)(jnp.asarray(beliefs), self.batch))

    def temperature(self, weights: NDArray[np.float64]) -> float:
        """By what to divide weights so that chances fit the truth; risk and margins fix answers, not their sureness."""
        known = np.flatnonzero(self._truth >= 0)

        def unlikeliness(temperature: float) -> float:
            chances = self.chances(weights / temperature)[known, self._truth[known]]
            return -float(np.log(np.maximum(chances, 1e-12)).mean())

        return best_temperature(unlikeliness) if len(known) else 1.0

    def _beliefs(self, weights: NDArray[np.float64], inference: Inference) -> NDArray[np.float64]:
        """(K, V, B), normalised in double precision."""
        found = np.asarray(log_beliefs(self.batch, weights, inference), np.float64)
        return np.exp(found - np.logaddexp.reduce(found, axis=0))

    def _of_items(self, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_items, n_classes)"""
        return beliefs.transpose(2, 1, 0).reshape(-1, len(beliefs))[self._variable_of_item]

    def _decided(self, chances: NDArray[np.float64]) -> NDArray[np.int32]:
        """The answer of the least expected loss (Eq. 2 of the paper), item by item.

        Max-product beliefs are not chances: of these the best value is the answer, whatever the loss.
        """
        if self._inference.kind == "sum-product" and self._loss == "f1":
            return best_f1(chances)
        if self._inference.kind == "sum-product" and self._loss == "label-set-f1":
            answer = np.empty(len(chances), np.int32)
            for document in np.unique(self._document_of_item):
                mine = self._document_of_item == document
                answer[mine] = best_f1(chances[mine])
            return answer
        return chances.argmax(axis=1).astype(np.int32)
