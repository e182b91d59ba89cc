"""Which learners of label sets walk, pass messages or draw samples, and what they need."""

from importlib import import_module
from types import ModuleType
from typing import Literal

from walkstep.first_use import missing_extra
from walkstep.learning.walk import LEARNERS, learner_row

BY_MESSAGES = ("risk", "likelihood", "softmax-margin", "svm", "perceptron")
"""Learners that train by passing messages, in JAX."""

BY_SAMPLES = ("sampled-map",)
"""Learners that estimate from samples; all others walk."""

Way = Literal["walk", "messages", "samples"]

_MARGINS = ("svm", "perceptron")


def way_of_learning(learner: str) -> Way:
    """How a learner trains; an error for one that is not known.

    Examples
    --------
    >>> way_of_learning("risk"), way_of_learning("sampled-map"), way_of_learning("cd-5")
    ('messages', 'samples', 'walk')
    """
    if learner in BY_MESSAGES:
        return "messages"
    if learner in BY_SAMPLES:
        return "samples"
    try:
        learner_row(learner)
    except ValueError as error:
        known = ", ".join([*LEARNERS, *BY_SAMPLES, *BY_MESSAGES])
        raise ValueError(f"learner {learner!r} is not known; choose one of {known}, or cd-k") from error
    return "walk"


def passes_messages(learner: str) -> bool:
    """Whether a learner trains by passing messages; an error for one that is not known.

    Examples
    --------
    >>> passes_messages("risk"), passes_messages("samplerank")
    (True, False)
    """
    return way_of_learning(learner) == "messages"


def suiting_inference(learner: str, decision: str) -> Literal["sum-product", "max-product"]:
    """What weights are trained to be used with, where the user does not say.

    Margins compare best sets, which max-product finds; otherwise it is what the wanted answer is made of.

    Examples
    --------
    >>> suiting_inference("risk", "auto"), suiting_inference("risk", "map"), suiting_inference("svm", "auto")
    ('sum-product', 'max-product', 'max-product')
    """
    if decision == "map" or (decision == "auto" and learner in _MARGINS):
        return "max-product"
    return "sum-product"


def in_jax(module: str, who: str) -> ModuleType:
    """A module that takes JAX, or an error that says who asks for it and where it comes from.

    Parameters
    ----------
    module : str
        Its full name.
    who : str
        The setting that asks for it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = missing_extra(who, error)
        if missing is None:
            raise
        raise missing from error
