"""``walkstep fit rank``: from feature rows with rankings of labels to a model file."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from walkstep.cli.files import check_inputs, check_outputs
from walkstep.cli.rankings import RANKING, read_ranked
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


def rank(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Feature rows, each with a ranking such as c>a=b: CSV with a header.")
    ],
    model: Model,
    ranking: Annotated[str, typer.Option(metavar="COLUMN", help="The column of rankings.")] = RANKING,
    features: Annotated[
        FeatureKind | None,
        typer.Option(
            help="What pairs of labels see: the columns, or a Gaussian kernel (auto: cross-validation chooses)."
        ),
    ] = None,
    decision: Annotated[
        Literal["auto", "risk", "map"] | None,
        typer.Option(help="Predict the ranking of the least expected Kendall distance, or the most probable one."),
    ] = None,
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
    """Train a ranker on feature rows with rankings of labels."""
    check_inputs(data)
    check_outputs(model, inputs=(data,))
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
    from walkstep.apps.label_ranker import LabelRanker
    from walkstep.cli.feature_columns import named_columns

    began = time.perf_counter()
    rows = read_ranked(data, ranking, "--ranking")
    assert rows.rankings is not None
    what = f"{counted(rows.rankings.n_labels, 'label')}, {counted(rows.n_features, 'feature')}"
    say(quiet, f"read {counted(rows.n_rows, 'row')} of {data}: {what}")
    ranker = LabelRanker(decision=decision or "auto", random_state=seed, verbose=int(not quiet), **options.settings())
    with named(data):
        X = named_columns(data, rows.X, rows.feature_names)
        ranker.fit(X, rows.rankings.texts(), label_names=rows.rankings.label_names)
    ranker.save(model)
    seen = None if ranker.cross_validated_ is None else f"Kendall's tau {ranker.cross_validated_:.4f}"
    say_trained(model, ranker, rows.n_rows, what, time.perf_counter() - began, seen)
