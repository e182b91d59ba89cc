"""``walkstep fit multilabel``: from feature rows with label sets to a model file."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from walkstep.cli.files import check_counts, check_inputs, check_outputs
from walkstep.cli.message_options import (
    Inference,
    LabelLoss,
    MessageOptions,
    OptimiserByMessages,
    batch_size_option,
    damping_option,
    first_epochs_option,
    inference_option,
    rounds_option,
)
from walkstep.cli.training import Model, Quiet, Seed, Threads, say, say_saved
from walkstep.cli.walk_options import (
    WALKS,
    Rate,
    Step,
    Temperature,
    check_walk,
    given_settings,
    refuse_walk_options,
)


def multilabel(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Feature rows with labels: ARFF, LIBSVM or CSV, by the file's name.")
    ],
    model: Model,
    labels: Annotated[
        str | None,
        typer.Option(help="Which columns are labels: how many at the end, names, how names begin, or a file of names."),
    ] = None,
    features: Annotated[
        Literal["linear", "rbf", "both"] | None,
        typer.Option(help="What a label sees: the columns, a Gaussian kernel, or both."),
    ] = None,
    decision: Annotated[
        Literal["map", "marginals", "f1", "auto"] | None,
        typer.Option(help="Predict the best set, each label on its own, for F1, or what held-out rows favour."),
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Which pairs of labels are joined: all, none, seen, or how many of the telling.")
    ] = None,
    signal: Annotated[Literal["hamming", "f1"] | None, typer.Option(help="The metric a walk trains on.")] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Share by which weights shrink at each step; by messages or from samples, penalty on squared weights."
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help=f"{WALKS}, sr-learn (walks); risk, likelihood, softmax-margin, svm or perceptron (by messages); "
            "sampled-map (from samples)."
        ),
    ] = None,
    loss: Annotated[
        LabelLoss | None,
        typer.Option(help="What risk is about: wrong labels, F1 of all labels, or of each row."),
    ] = None,
    inference: Annotated[Inference | None, inference_option("labels")] = None,
    rounds: Annotated[int | None, rounds_option(10)] = None,
    damping: Annotated[float | None, damping_option("a pair")] = None,
    optimiser: OptimiserByMessages = None,
    first_epochs: Annotated[int | None, first_epochs_option("half as many")] = None,
    batch_size: Annotated[int | None, batch_size_option("rows", 64)] = None,
    step: Step = None,
    rate: Rate = None,
    temperature: Temperature = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training data (60).")] = None,
    threads: Threads = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on feature rows with label sets."""
    check_counts(epochs=epochs, threads=threads, rounds=rounds, batch_size=batch_size)
    check_inputs(data)
    check_outputs(model, inputs=(data,))
    messages = MessageOptions(loss, inference, rounds, damping, optimiser, first_epochs, batch_size)
    walk = {"step": step, "signal": signal, "temperature": temperature, "threads": threads}
    _check_learner(learner, rate, walk, messages)
    joined = _pairwise(pairs)
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.cli.label_sets import read_labelled

    began = time.perf_counter()
    rows = read_labelled(data, labels)
    say(quiet, f"read {rows.n_rows:,} rows of {data}: {rows.n_features:,} features, {rows.n_labels:,} labels")
    settings: dict[str, Any] = {
        "features": features,
        "decision": decision,
        "pairwise": joined,
        "signal": signal,
        "l2": l2,
        "learner": learner,
        **messages.settings(),
        "step": step,
        "rate": rate,
        "temperature": temperature,
        "n_epochs": epochs,
        "n_threads": threads,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    classifier = MultiLabelClassifier(**given_settings(settings))
    classifier.fit(rows.X, rows.Y, label_names=rows.label_names)
    classifier.save(model)
    done = len(classifier.epochs_)
    typer.echo(
        f"trained on {rows.n_rows:,} rows: {rows.n_labels:,} labels, {rows.n_features:,} features, "
        f"{done} epochs, {time.perf_counter() - began:.1f} s"
    )
    say_saved(model, done, classifier.n_epochs_asked if classifier.interrupted_ else done)


def _check_learner(learner: str | None, rate: float | None, walk: dict[str, Any], messages: MessageOptions) -> None:
    """Refuse options that do not go with the learner, before any data is read."""
    from walkstep.apps.label_set_learners import way_of_learning

    name = learner or "samplerank-svm"
    way = way_of_learning(name)
    if way == "walk":
        messages.refuse_all(name, "walks")
        check_walk(learner, walk["step"], rate)
    elif way == "samples":
        messages.refuse_all(name, "draws samples")
        refuse_walk_options(name, **walk, rate=rate)
    else:
        refuse_walk_options(name, **walk)
        messages.check_loss(name)


def _pairwise(given: str | None) -> bool | int | str | None:
    """Which pairs of labels are joined, from words or a number."""
    named = {"all": True, "none": False, "seen": "seen"}
    if given is None or given in named:
        return None if given is None else named[given]
    if not given.isdecimal():
        raise ValueError(f"--pairs is {given!r}; give all, none, seen, or how many pairs are joined")
    return int(given)
