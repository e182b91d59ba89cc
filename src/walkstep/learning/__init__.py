"""Weights from truth: the learning walk, the table of learners, step rules."""

from walkstep.learning.steps import RULES, StepRule, step_rule
from walkstep.learning.train import Epoch, Trainer, Training, train
from walkstep.learning.walk import LEARNERS, Learner, Tally, learner_row

__all__ = [
    "LEARNERS",
    "RULES",
    "Epoch",
    "Learner",
    "StepRule",
    "Tally",
    "Trainer",
    "Training",
    "learner_row",
    "step_rule",
    "train",
]
