"""Training a tagger by passing messages, and answering with what was trained for; JAX is loaded when it is used."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.tag_decoding import TagDecoder
from walkstep.apps.tag_training import TagTraining, TagTruth
from walkstep.data.sequences import Sequences
from walkstep.first_use import first_use

MESSAGE_SETTINGS = ("loss", "inference", "n_rounds", "damping", "optimiser", "n_first_epochs", "batch_size")
"""Settings of a tagger that speak to learners by messages alone."""

_RATE = 0.02
_N_ROUNDS, _DAMPING = 8, 0.0
_N_FIRST_EPOCHS = 8
_BATCH_SIZE = 16

_find, _ = first_use(
    "walkstep.apps", {"tag_messages": ("MessageLearner", "TagBeliefs", "tag_loss", "train_by_messages")}
)


@dataclass(frozen=True)
class MessageWay:
    """A way of training by messages, and the settings that suit it where the user gives none.

    Parameters
    ----------
    learner : str
        Its name for `walkstep.learning.message_learning.MessageLearner`.
    n_epochs : int
    l2 : float
        What squared weights cost, beside the mean over tokens of what is made small.
    is_calibrated : bool
        Whether its scores say how sure they are.
    """

    learner: str
    n_epochs: int = 12
    l2: float = 1e-6
    is_calibrated: bool = False

    def train(
        self, tagger: Any, data: TagTruth, score: Callable[[NDArray[np.float64]], float] | None = None
    ) -> TagTraining:
        """Train a tagger; see `walkstep.apps.tag_training.Way.train`."""
        loss = tagger.loss or "accuracy"
        if tagger.loss is not None and self.learner != "risk":
            raise ValueError(
                f"loss is {tagger.loss!r}, but learner {self.learner!r} has one of its own; "
                "leave it out, or choose 'risk'"
            )
        decoder = TagDecoder(tagger.grounding_, data.classes, tagger.inner_scheme_ if tagger.constrained else None)
        settings = {
            "learner": self.learner,
            "loss": _find("tag_loss")(loss, data.classes, tagger.inner_scheme_),
            "rate": tagger.rate or _RATE,
            "optimiser": tagger.optimiser or "adam",
            "n_epochs": _given(tagger.n_epochs, self.n_epochs),
            "n_first_epochs": _given(tagger.n_first_epochs, _N_FIRST_EPOCHS),
            "batch_size": _given(tagger.batch_size, _BATCH_SIZE),
            "l1": tagger.l1,
            "l2": _given(tagger.l2, self.l2),
            "average": tagger.average,
            "random_state": tagger.random_state or 0,
        }
        learner = _find("MessageLearner")(**_inference_settings(tagger), **settings)
        return _find("train_by_messages")(learner, decoder, data, score, tagger.verbose)


def tag_beliefs(tagger: Any, decoder: TagDecoder, corpus: Sequences) -> Any:
    """Sentences made ready to be tagged with the inference that a tagger was trained for."""
    learner = _find("MessageLearner")(**_inference_settings(tagger))
    return _find("TagBeliefs")(decoder, corpus, learner.test_inference())


def refuse_message_settings(tagger: Any) -> None:
    """Name a setting that says nothing to a learner that passes no messages."""
    for name in MESSAGE_SETTINGS:
        if (value := getattr(tagger, name)) is not None:
            raise ValueError(
                f"{name} is {value!r}, which is for learners by messages, but learner {tagger.learner!r} is none; "
                "leave it out, or choose 'risk'"
            )


def _inference_settings(tagger: Any) -> dict[str, Any]:
    return {
        "inference": tagger.inference or "sum-product",
        "n_rounds": _given(tagger.n_rounds, _N_ROUNDS),
        "damping": _given(tagger.damping, _DAMPING),
    }


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value
