"""The table of learners of a tagger: which way of training goes by which name."""

from walkstep.apps.tag_likelihood import LIKELIHOOD
from walkstep.apps.tag_message_way import MessageWay
from walkstep.apps.tag_training import Way
from walkstep.apps.tag_walk import WALK
from walkstep.learning.walk import LEARNERS, learner_row

BY_MESSAGES: dict[str, MessageWay] = {
    "risk": MessageWay("risk"),
    "likelihood": MessageWay("likelihood", is_calibrated=True),
    "softmax-margin": MessageWay("softmax-margin"),
    "svm": MessageWay("svm"),
    "perceptron": MessageWay("perceptron"),
}
"""Learners that pass messages, on any model."""

WAYS: dict[str, Way | MessageWay] = {**BY_MESSAGES, "likelihood": LIKELIHOOD}
"""How a chain is trained, by the name of its learner; all other learners walk."""


def way_of(learner: str, *, is_chain: bool = True) -> Way | MessageWay:
    """The way of training that goes by a name: likelihood is exact where the model joins neighbours alone.

    Examples
    --------
    >>> way_of("likelihood").n_epochs, way_of("cd-5").n_epochs
    (100, 10)
    >>> way_of("likelihood", is_chain=False)
    MessageWay(learner='likelihood', n_epochs=12, l2=1e-06, is_calibrated=True)
    """
    if learner in WAYS:
        return WAYS[learner] if is_chain else BY_MESSAGES[learner]
    try:
        learner_row(learner)
    except ValueError as error:
        known = ", ".join([*LEARNERS, *WAYS])
        raise ValueError(f"learner {learner!r} is not known; choose one of {known}, or cd-k") from error
    return WALK
