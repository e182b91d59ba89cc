"""What ``fit rank`` and ``fit hierarchy`` share: options of features and training, and how training is summed up."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from walkstep.cli.files import check_counts
from walkstep.cli.training import counted, say_saved
from walkstep.cli.walk_options import WALKS

if TYPE_CHECKING:
    from walkstep.apps.structured_estimator import StructuredEstimator

STRUCTURES = ("LabelRanker", "HierarchyClassifier")
"""Kinds of models whose answers are structures."""

FeatureKind = Literal["auto", "linear", "rbf", "both"]
Learner = Annotated[
    str | None,
    typer.Option(help=f"map, sampled-map, sampled-map-sgd or auto (by likelihood); {WALKS} or sr-learn (walks)."),
]
Sigma = Annotated[
    float | None, typer.Option(help="By likelihood: how far weights may be from 0 (cross-validation chooses).")
]
Samples = Annotated[int | None, typer.Option(help="Structures drawn for each row at each iteration (20).")]
Moves = Annotated[
    Literal["auto", "local", "uniform"] | None,
    typer.Option(help="How structures are drawn: by small changes of the last one, or anew."),
]
Step = Annotated[
    Literal["arow", "mira", "adagrad", "constant", "perceptron"] | None,
    typer.Option(help="Of walks: how far each correction goes (adagrad)."),
]
Rate = Annotated[
    float | None, typer.Option(help="Of walks: that of the step; of sampled-map-sgd: of its steps (0.05).")
]
BatchSize = Annotated[int | None, typer.Option(help="Of sampled-map-sgd: rows that a step looks at (64).")]
Epochs = Annotated[
    int | None,
    typer.Option(
        help="Iterations: at most 100 of map, 30 of sampled-map, 60 of sampled-map-sgd; passes of walks (30)."
    ),
]
Folds = Annotated[
    int | None, typer.Option(help="Of the cross-validation that chooses what is left open (3; 5 or 10 of few rows).")
]
NoStandardize = Annotated[
    bool, typer.Option("--no-standardize", help="Leave columns as they are, whatever their means and variances.")
]
Bandwidth = Annotated[
    float | None,
    typer.Option(help="Of the kernel, in median distances between rows (cross-validation chooses)."),
]
Landmarks = Annotated[int | None, typer.Option(help="Of the kernel: how many training rows it is told by (2000).")]
Components = Annotated[int | None, typer.Option(help="Of the kernel: how many of its components are kept (300).")]

_OF_LEARNER = {
    "auto": ("sigma", "samples", "moves"),
    "map": ("sigma",),
    "sampled-map": ("sigma", "samples", "moves"),
    "sampled-map-sgd": ("sigma", "samples", "moves", "rate", "batch_size"),
}
_OF_WALKS = ("moves", "step", "rate")
_OF_KERNELS = ("bandwidth", "landmarks", "components")
_COUNTS = ("epochs", "samples", "folds", "landmarks", "components")


class StructureOptions(NamedTuple):
    """What the user has said of features and training, None where he has not."""

    features: str | None
    learner: str | None
    sigma: float | None
    samples: int | None
    moves: str | None
    step: str | None
    rate: float | None
    batch_size: int | None
    epochs: int | None
    folds: int | None
    no_standardize: bool
    bandwidth: float | None
    landmarks: int | None
    components: int | None

    def check(self) -> None:
        """Refuse values that cannot be, and options that say nothing to the learner or the features."""
        from walkstep.apps.structured_learners import check_learner

        given = {name: value for name, value in self._asdict().items() if value is not None}
        check_counts(**{name: given.get(name) for name in (*_COUNTS, "batch_size")})
        if self.folds == 1:
            raise ValueError("--folds is 1; give 2 or more")
        for name in ("sigma", "rate", "bandwidth"):
            if name in given and not 0.0 < given[name] < float("inf"):
                raise ValueError(f"--{name} is {given[name]}; give a positive number")
        learner = self.learner or "auto"
        check_learner(learner)
        of_learner = _OF_LEARNER.get(learner, _OF_WALKS)
        for name in ("sigma", "samples", "moves", "step", "rate", "batch_size"):
            if name in given and name not in of_learner:
                taken = ", ".join(_option(other) for other in of_learner)
                raise ValueError(
                    f"{_option(name)} says nothing to learner {learner!r}, which takes {taken}; leave it out"
                )
        for name in _OF_KERNELS:
            if name in given and self.features == "linear":
                raise ValueError(
                    f"{_option(name)} is of the kernel, but features are linear; add --features rbf or auto"
                )

    def settings(self) -> dict[str, Any]:
        """What the user has set, by the names that estimators have for it.

        Examples
        --------
        >>> given = dict.fromkeys(StructureOptions._fields) | {"samples": 5, "no_standardize": True}
        >>> StructureOptions(**given).settings()
        {'n_samples': 5, 'standardize': False}
        """
        given = {name: value for name, value in self._asdict().items() if value is not None}
        standardize = {"standardize": False} if given.pop("no_standardize", False) else {}
        return {f"n_{name}" if name in _COUNTS else name: value for name, value in given.items()} | standardize


def say_trained(
    model: Path, estimator: "StructuredEstimator", n_rows: int, what: str, seconds: float, seen: str | None
) -> None:
    """Say how training went, with which settings, and where the model lies.

    Parameters
    ----------
    model : Path
    estimator : StructuredEstimator
    n_rows : int
    what : str
        What there is in a row, in words.
    seconds : float
    seen : str or None
        What cross-validation saw, in words; None where there was nothing to choose.
    """
    from walkstep.apps.structured_learners import is_by_likelihood, n_epochs_of, suiting_learner

    learner, done = suiting_learner(estimator.learner, estimator.space_), len(estimator.epochs_)
    typer.echo(f"trained on {counted(n_rows, 'row')}: {what}, {counted(done, 'epoch')} of {learner}, {seconds:.1f} s")
    if seen is not None:
        found = [f"{estimator.features_.kind} features"]
        if is_by_likelihood(learner):
            found.append(f"sigma {estimator.sigma_:g}")
        typer.echo(f"{', '.join(found)}: {seen} in cross-validation")
    say_saved(model, done, n_epochs_of(estimator, estimator.space_, n_rows) if estimator.interrupted_ else done)


def _option(name: str) -> str:
    """An option as the user writes it."""
    return f"--{name.replace('_', '-')}"
