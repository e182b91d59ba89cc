"""``walkstep fit hierarchy``: from feature rows with classes of a tree to a model file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from walkstep.cli.files import check_inputs, check_outputs
from walkstep.cli.hierarchies import read_classified, read_tree
from walkstep.cli.resolver_settings import named
from walkstep.cli.structures import (
    Bandwidth,
    BatchSize,
    Components,
    Epochs,
    FeatureKind,
    Folds,
    Landmarks,
    Learner,
    Moves,
    NoStandardize,
    Rate,
    Samples,
    Sigma,
    Step,
    StructureOptions,
    say_trained,
)
from walkstep.cli.training import Model, Quiet, Seed, counted, say

if TYPE_CHECKING:
    from walkstep.apps.hierarchy_classifier import HierarchyClassifier


def hierarchy(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Feature rows, each with classes such as 6/2/0@1: ARFF, or CSV with a header."
        ),
    ],
    model: Model,
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The classes: CSV with columns parent and child, or JSON of nested objects; ARFF holds them itself.",
        ),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of classes in a CSV table (classes).")
    ] = None,
    features: Annotated[
        FeatureKind | None,
        typer.Option(help="What a class sees: the columns, or a Gaussian kernel (auto: cross-validation chooses)."),
    ] = None,
    decision: Annotated[
        Literal["auto", "f1", "hamming", "h-loss", "map"] | None,
        typer.Option(
            help="Predict for F1, for the fewest wrong classes, for the least H-loss, or the most probable subtree."
        ),
    ] = None,
    no_branching: Annotated[
        bool, typer.Option("--no-branching", help="Give stopping and forking no scores of their own.")
    ] = False,
    learner: Learner = None,
    sigma: Sigma = None,
    samples: Samples = None,
    moves: Moves = None,
    step: Step = None,
    rate: Rate = None,
    batch_size: BatchSize = None,
    epochs: Epochs = None,
    folds: Folds = None,
    no_standardize: NoStandardize = False,
    bandwidth: Bandwidth = None,
    landmarks: Landmarks = None,
    components: Components = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on feature rows with classes of a tree."""
    check_inputs(data, tree)
    check_outputs(model, inputs=(data, tree))
    options = StructureOptions(
        features=features,
        learner=learner,
        sigma=sigma,
        samples=samples,
        moves=moves,
        step=step,
        rate=rate,
        batch_size=batch_size,
        epochs=epochs,
        folds=folds,
        no_standardize=no_standardize,
        bandwidth=bandwidth,
        landmarks=landmarks,
        components=components,
    )
    options.check()
    from walkstep.apps.hierarchy_classifier import HierarchyClassifier
    from walkstep.cli.feature_columns import named_columns
    from walkstep.data.subtrees import subtrees_as_given

    began = time.perf_counter()
    rows = read_classified(data, classes, "--classes", None if tree is None else read_tree(tree))
    assert rows.values is not None
    what = f"{counted(len(rows.tree.labels), 'class', 'classes')}, {counted(rows.n_features, 'feature')}"
    say(quiet, f"read {counted(rows.n_rows, 'row')} of {data}: {what}")
    classifier = HierarchyClassifier(
        rows.tree,
        decision=decision or "auto",
        branching=not no_branching,
        random_state=seed,
        verbose=int(not quiet),
        **options.settings(),
    )
    with named(data):
        X = named_columns(data, rows.X, rows.feature_names)
        classifier.fit(X, subtrees_as_given(rows.values, rows.tree, "texts"))
    classifier.save(model)
    say_trained(model, classifier, rows.n_rows, what, time.perf_counter() - began, _seen(classifier))


def _seen(classifier: "HierarchyClassifier") -> str | None:
    """What cross-validation saw, in words: the figure that the decision is about."""
    from walkstep.apps.structured_learners import is_by_likelihood

    quality, decision = classifier.cross_validated_, classifier.decision
    if quality is None:
        return None
    if decision == "hamming":
        return f"Hamming error {1.0 - quality:.4f}"
    if decision == "h-loss":
        return f"H-loss {abs(quality):.4f}"
    by_threshold = decision == "f1" or (decision == "auto" and is_by_likelihood(classifier.learner))
    return f"F1 {quality:.4f}" + (f" at threshold {classifier.threshold_:.3g}" if by_threshold else "")
