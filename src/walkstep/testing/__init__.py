"""Checks that users run on their own templates, worlds, jumps, signals and estimators.

Each raises an AssertionError that names what is wrong, with its value, and the way out.
"""

from walkstep.testing.estimators import check_estimator
from walkstep.testing.jumps import JumpChecks, check_jump
from walkstep.testing.signals import check_signal
from walkstep.testing.templates import check_template
from walkstep.testing.worlds import WorldChecks, check_world

__all__ = [
    "JumpChecks",
    "WorldChecks",
    "check_estimator",
    "check_jump",
    "check_signal",
    "check_template",
    "check_world",
]
