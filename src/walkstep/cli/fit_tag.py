"""``walkstep fit tag``: from tagged sentences to a model file."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from walkstep.cli.files import check_counts, check_inputs, check_outputs
from walkstep.cli.message_options import (
    Inference,
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

_SHAPES = ("chain", "skip-chain", "second-order")


def tag(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Columns, one token a line: the word first, its tag last.")
    ],
    model: Model,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Development data: the epoch best on it is kept.")
    ] = None,
    templates: Annotated[
        str, typer.Option(metavar="SHAPE|FILE", help="chain, skip-chain, second-order, or a file of templates.")
    ] = "chain",
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="FEATURES", help="What a tag sees, such as 'word,lower[-1],prefix(3)'; may be repeated."),
    ] = None,
    use_columns: Annotated[
        bool, typer.Option("--use-columns", help="Let tags also see further columns; text to tag must then have them.")
    ] = False,
    gazetteer: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A list of known phrases; may be repeated.")
    ] = None,
    clusters: Annotated[Path | None, typer.Option(metavar="FILE", help="Word clusters in Brown's format.")] = None,
    scheme: Annotated[
        Literal["auto", "bio", "bilou", "raw"] | None, typer.Option(help="How spans are written inside the model.")
    ] = None,
    min_count: Annotated[int | None, typer.Option(help="Leave out features seen less often.")] = None,
    buckets: Annotated[int | None, typer.Option(help="Hash features into so many buckets.")] = None,
    signal: Annotated[
        Literal["hamming", "token-f1", "span-f1"] | None, typer.Option(help="The metric to train on.")
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help=f"{WALKS}, sr-learn (walks); likelihood; risk, softmax-margin, svm or perceptron (by messages)."
        ),
    ] = None,
    loss: Annotated[
        Literal["accuracy", "f1", "mse", "l1", "log-likelihood"] | None,
        typer.Option(help="What risk is about: the share of wrong tags, or the F-measure of tokens by type."),
    ] = None,
    inference: Annotated[Inference | None, inference_option("tags")] = None,
    rounds: Annotated[int | None, rounds_option(8, ", where the model has cycles")] = None,
    damping: Annotated[float | None, damping_option("a factor")] = None,
    optimiser: OptimiserByMessages = None,
    first_epochs: Annotated[int | None, first_epochs_option(8)] = None,
    batch_size: Annotated[int | None, batch_size_option("documents", 16)] = None,
    step: Step = None,
    rate: Rate = None,
    temperature: Temperature = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Penalty on squared weights (1; by messages, beside a mean over tokens, 1e-6); for a walk, the share "
            "that each step takes (0)."
        ),
    ] = None,
    l1: Annotated[
        float | None, typer.Option(help="Penalty on absolute weights, but for walks: many are then 0.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the training data (10; by messages 12); for the likelihood, iterations (100)."),
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a tagger on sentences in CoNLL columns."""
    check_counts(
        epochs=epochs, threads=threads, min_count=min_count, buckets=buckets, rounds=rounds, batch_size=batch_size
    )
    check_inputs(data, dev, clusters)
    check_outputs(model, inputs=(data, dev, clusters))
    lists = _gazetteers(gazetteer)
    messages = MessageOptions(loss, inference, rounds, damping, optimiser, first_epochs, batch_size)
    settings: dict[str, Any] = {
        "templates": _templates(templates, features),
        "features": None if features is None else [name.strip() for part in features for name in part.split(",")],
        "use_columns": use_columns,
        "gazetteers": lists or None,
        "clusters": clusters,
        "scheme": scheme,
        "min_count": min_count,
        "n_buckets": buckets,
        "signal": signal,
        "learner": learner,
        "step": step,
        "rate": rate,
        "temperature": temperature,
        "l2": l2,
        "l1": l1,
        **messages.settings(),
        "n_epochs": epochs,
        "n_threads": threads,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    walk = {"step": step, "rate": rate, "temperature": temperature, "signal": signal}
    _check_learner(learner, templates, walk, messages)
    _check_penalties(learner, l2, l1)
    from walkstep.apps.sequence_tagger import SequenceTagger
    from walkstep.data.readers.conll import read_conll
    from walkstep.model.notation import LanguageError

    began = time.perf_counter()
    corpus = read_conll(data)
    held_out = None if dev is None else read_conll(dev)
    say(quiet, f"read {corpus.n_tokens:,} tokens in {corpus.n_sentences:,} sentences of {data}")
    tagger = SequenceTagger(**given_settings(settings))
    try:
        tagger.fit(corpus, dev=held_out)
    except LanguageError as error:
        raise ValueError(f"{templates}, {error}") from error
    tagger.save(model)
    done = len(tagger.epochs_)
    typer.echo(
        f"trained on {corpus.n_sentences:,} sentences: {len(tagger.classes_)} tags, {len(tagger.weights_):,} weights, "
        f"{done} epochs, {time.perf_counter() - began:.1f} s"
    )
    if tagger.dev_scores_:
        typer.echo(f"development F1 {max(tagger.dev_scores_):.4f}, after epoch {tagger.best_epoch_}")
    say_saved(model, done, tagger.n_epochs_ if tagger.interrupted_ else done)


def _templates(given: str, features: list[str] | None) -> str:
    """A ready-made shape by name, or the text of a file of templates."""
    if given in _SHAPES:
        return given
    if not Path(given).is_file():
        raise ValueError(
            f"--templates is {given!r}, which is neither one of {', '.join(_SHAPES)} nor a file; "
            "name a shape, or a file with one template a line"
        )
    if features is not None:
        raise ValueError(f"--features goes with a ready-made shape, but --templates is {given}; name them in that file")
    return Path(given).read_text(encoding="utf-8")


def _gazetteers(given: list[str] | None) -> dict[str, Path]:
    """Files by name, from ``NAME=FILE``."""
    lists: dict[str, Path] = {}
    for entry in given or ():
        name, equals, file = entry.partition("=")
        if not (name and equals and file):
            raise ValueError(f"--gazetteer is {entry!r}; write NAME=FILE, such as towns=towns.txt")
        if name in lists:
            raise ValueError(f"--gazetteer names {name!r} twice; give each list its own name")
        check_inputs(Path(file))
        lists[name] = Path(file)
    return lists


def _check_learner(learner: str | None, templates: str, walk: dict[str, Any], messages: MessageOptions) -> None:
    """Refuse options that do not go with the learner, before any data is read."""
    from walkstep.apps.tag_learners import WAYS, way_of
    from walkstep.apps.tag_message_way import MessageWay

    name = learner or "samplerank"
    # A file of templates may have cycles; the estimator looks.
    way = way_of(name, is_chain=templates == "chain" or templates not in _SHAPES)
    by_messages = isinstance(way, MessageWay)
    if not by_messages and templates in _SHAPES:
        messages.refuse_all(name, "is exact on a chain" if name in WAYS else "walks")
    if name not in WAYS:
        check_walk(learner, walk["step"], walk["rate"])
        return
    refuse_walk_options(name, **(walk | {"rate": None} if by_messages else walk))
    messages.check_loss(name)


def _check_penalties(learner: str | None, l2: float | None, l1: float | None) -> None:
    """Refuse penalties that are none."""
    from walkstep.apps.tag_learners import WAYS

    for option, value in (("l2", l2), ("l1", l1)):
        if value is not None and not 0.0 <= value < float("inf"):
            raise ValueError(f"--{option} is {value}; give 0 or more")
    if l1 and learner not in WAYS:
        raise ValueError(f"--l1 is {l1}, but learner {learner or 'samplerank'!r} has no such penalty; use --l2")
