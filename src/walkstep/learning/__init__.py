"""Weights from truth: the learning walk, the table of learners, step rules, exact likelihood."""

from walkstep.learning.chain_likelihood import ChainLikelihood
from walkstep.learning.maximum_likelihood import maximum_likelihood
from walkstep.learning.steps import RULES, StepRule, step_rule
from walkstep.learning.train import Epoch, Trainer, Training, train
from walkstep.learning.walk import LEARNERS, Learner, Tally, learner_row

__all__ = [
    "LEARNERS",
    "RULES",
    "ChainLikelihood",
    "Epoch",
    "Learner",
    "StepRule",
    "Tally",
    "Trainer",
    "Training",
    "learner_row",
    "maximum_likelihood",
    "step_rule",
    "train",
]
