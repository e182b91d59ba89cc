"""Options of learners that pass messages, for every ``walkstep fit`` that has some: each is declared once.

What they do is the same everywhere; help names what is labelled there, and what the estimator does by itself.
"""

from typing import Annotated, Any, Literal, NamedTuple

import typer

LabelLoss = Literal["accuracy", "f1", "label-set-f1", "mse", "l1", "log-likelihood"]
Inference = Literal["sum-product", "max-product"]
Optimiser = Literal["adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"]
OptimiserByMessages = Annotated[Optimiser | None, typer.Option(help="By messages: how steps are made.")]


def inference_option(what: str) -> Any:
    """``--inference``, by which tags or labels are found."""
    return typer.Option(help=f"By messages: how {what} are found, and what weights are trained for.")


def rounds_option(default: int, where: str = "") -> Any:
    """``--rounds``, which matter where messages are not exact."""
    return typer.Option(help=f"Of messages{where} ({default}).")


def damping_option(who: str) -> Any:
    """``--damping`` of those who send messages."""
    return typer.Option(help=f"Share of its last message that {who} keeps (0).")


def first_epochs_option(default: int | str) -> Any:
    """``--first-epochs``, which risk begins with."""
    return typer.Option(help=f"For risk: passes of likelihood before ({default}).")


def batch_size_option(what: str, default: int) -> Any:
    """``--batch-size`` of a step."""
    return typer.Option(help=f"By messages: {what} that a step looks at ({default}).")


class MessageOptions(NamedTuple):
    """What the user has said to a learner by messages, None where he has not."""

    loss: str | None
    inference: str | None
    rounds: int | None
    damping: float | None
    optimiser: str | None
    first_epochs: int | None
    batch_size: int | None

    def settings(self) -> dict[str, Any]:
        """The same, by the names that estimators have for it.

        Examples
        --------
        >>> list(MessageOptions("f1", None, 5, None, None, None, None).settings())
        ['loss', 'inference', 'n_rounds', 'damping', 'optimiser', 'n_first_epochs', 'batch_size']
        """
        counts = {"rounds", "first_epochs"}
        return {f"n_{name}" if name in counts else name: value for name, value in self._asdict().items()}

    def refuse_all(self, learner: str, what: str) -> None:
        """Name an option that says nothing to a learner without messages.

        Parameters
        ----------
        learner : str
        what : str
            What the learner does instead.
        """
        for name, value in self._asdict().items():
            if value is not None:
                option = name.replace("_", "-")
                raise ValueError(
                    f"--{option} is for learners by messages, but {learner!r} {what}; leave it out, or use risk"
                )

    def check_loss(self, learner: str) -> None:
        """Refuse a loss where the learner has one of its own."""
        if self.loss is not None and learner != "risk":
            raise ValueError(f"--loss is for the learner risk, and {learner!r} has one of its own; leave it out")
