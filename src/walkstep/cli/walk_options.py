"""Options of learners that walk, refused before any data is read where they cannot be or do not go with the learner."""

from typing import Annotated, Any, Literal

import typer

WALKS = "samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-K"
"""Learners that walk, for help; sr-learn comes last."""

Learner = Annotated[str | None, typer.Option(help=f"{WALKS} or sr-learn.")]
Step = Annotated[
    Literal["arow", "mira", "adagrad", "constant", "perceptron"] | None,
    typer.Option(help="How far each correction goes."),
]
Rate = Annotated[float | None, typer.Option(help="Of that step.")]
Temperature = Annotated[float | None, typer.Option(help="Of the training walk.")]


def check_walk(learner: str | None, step: str | None, rate: float | None) -> None:
    """Refuse unknown learners and impossible rates."""
    from walkstep.learning.steps import step_rule
    from walkstep.learning.walk import learner_row

    if learner is not None:
        learner_row(learner)
    if rate is not None:
        step_rule(step or "mira", rate=rate)


def refuse_walk_options(learner: str, **options: Any) -> None:
    """Name an option that says nothing to a learner that does not walk."""
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"--{option} is for learners that walk, and {learner!r} does not; leave it out")


def given_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """What the user has set; an estimator's own rate goes with its own step only."""
    given = {name: value for name, value in settings.items() if value is not None}
    if "step" in given and "rate" not in given:
        given["rate"] = None
    return given
