"""``walkstep fit``: from labelled data to a model file."""

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from walkstep.cli.files import check_counts, check_inputs, check_outputs, size_of
from walkstep.cli.resolver_settings import (
    Config,
    Encoding,
    Id,
    Ignore,
    Kinds,
    Links,
    Source,
    check_table_names,
    make_resolver,
    named,
    read_records,
)

if TYPE_CHECKING:
    import polars as pl

    from walkstep.apps.entity_resolver import EntityResolver
    from walkstep.data.sequences import Sequences

app = typer.Typer(
    help="Train a model and save it.", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)

_SHAPES = ("chain", "skip-chain", "second-order")
_INTERRUPTED = 130

Model = Annotated[Path, typer.Option(metavar="FILE", help="Where to save the model.")]
Threads = Annotated[int | None, typer.Option(help="Shards that train side by side.")]
Seed = Annotated[int, typer.Option(help="Seed of all random acts.")]
Learner = Annotated[
    str | None,
    typer.Option(help="samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-K or sr-learn."),
]
Step = Annotated[
    Literal["arow", "mira", "adagrad", "constant", "perceptron"] | None,
    typer.Option(help="How far each correction goes."),
]
Rate = Annotated[float | None, typer.Option(help="Of that step.")]
Temperature = Annotated[float | None, typer.Option(help="Of the training walk.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.command("tag")
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
            help="samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-K, sr-learn (walks); likelihood; "
            "risk, softmax-margin, svm or perceptron (by messages)."
        ),
    ] = None,
    loss: Annotated[
        Literal["accuracy", "f1", "mse", "l1", "log-likelihood"] | None,
        typer.Option(help="What risk is about: the share of wrong tags, or the F-measure of tokens by type."),
    ] = None,
    inference: Annotated[
        Literal["sum-product", "max-product"] | None,
        typer.Option(help="By messages: how tags are found, and what weights are trained for."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Of messages, where the model has cycles (8).")] = None,
    damping: Annotated[float | None, typer.Option(help="Share of its last message that a factor keeps (0).")] = None,
    optimiser: Annotated[
        Literal["adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"] | None,
        typer.Option(help="By messages: how steps are made."),
    ] = None,
    first_epochs: Annotated[int | None, typer.Option(help="For risk: passes of likelihood before (8).")] = None,
    batch_size: Annotated[int | None, typer.Option(help="By messages: documents that a step looks at (16).")] = None,
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
        "loss": loss,
        "inference": inference,
        "n_rounds": rounds,
        "damping": damping,
        "optimiser": optimiser,
        "n_first_epochs": first_epochs,
        "batch_size": batch_size,
        "n_epochs": epochs,
        "n_threads": threads,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    _check_tag_learner(
        learner,
        templates,
        walks_by={"step": step, "rate": rate, "temperature": temperature, "signal": signal},
        messages_by={
            "loss": loss,
            "inference": inference,
            "rounds": rounds,
            "damping": damping,
            "optimiser": optimiser,
            "first-epochs": first_epochs,
            "batch-size": batch_size,
        },
    )
    _check_penalties(learner, l2, l1)
    from walkstep.apps.sequence_tagger import SequenceTagger
    from walkstep.model.notation import LanguageError

    began = time.perf_counter()
    corpus = _read_tagged(data)
    held_out = None if dev is None else _read_tagged(dev)
    _say(quiet, f"read {corpus.n_tokens:,} tokens in {corpus.n_sentences:,} sentences of {data}")
    tagger = SequenceTagger(**_given(settings))
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
    _saved(model, done, tagger.n_epochs_ if tagger.interrupted_ else done)


@app.command("multilabel")
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
        Literal["linear", "rbf"] | None, typer.Option(help="What a label sees: the columns, or a Gaussian kernel.")
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
        typer.Option(help="Share by which weights shrink at each step; by messages, penalty on squared weights."),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-K, sr-learn (walks); risk, likelihood, "
            "softmax-margin, svm or perceptron (by messages)."
        ),
    ] = None,
    loss: Annotated[
        Literal["accuracy", "f1", "label-set-f1", "mse", "l1", "log-likelihood"] | None,
        typer.Option(help="What risk is about: wrong labels, F1 of all labels, or of each row."),
    ] = None,
    inference: Annotated[
        Literal["sum-product", "max-product"] | None,
        typer.Option(help="By messages: how labels are found, and what weights are trained for."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Of messages (10).")] = None,
    damping: Annotated[float | None, typer.Option(help="Share of its last message that a pair keeps (0).")] = None,
    optimiser: Annotated[
        Literal["adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"] | None,
        typer.Option(help="By messages: how steps are made."),
    ] = None,
    first_epochs: Annotated[
        int | None, typer.Option(help="For risk: passes of likelihood before (half as many).")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="By messages: rows that a step looks at (64).")] = None,
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
    by_messages: dict[str, Any] = {
        "loss": loss,
        "inference": inference,
        "rounds": rounds,
        "damping": damping,
        "optimiser": optimiser,
        "first-epochs": first_epochs,
        "batch-size": batch_size,
    }
    by_walks = {"step": step, "signal": signal, "temperature": temperature, "threads": threads}
    _check_label_learner(learner, rate, by_walks, by_messages)
    joined = _pairwise(pairs)
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.cli.label_sets import read_labelled

    began = time.perf_counter()
    rows = read_labelled(data, labels)
    _say(quiet, f"read {rows.n_rows:,} rows of {data}: {rows.n_features:,} features, {rows.n_labels:,} labels")
    settings: dict[str, Any] = {
        "features": features,
        "decision": decision,
        "pairwise": joined,
        "signal": signal,
        "l2": l2,
        "learner": learner,
        "loss": loss,
        "inference": inference,
        "n_rounds": rounds,
        "damping": damping,
        "optimiser": optimiser,
        "n_first_epochs": first_epochs,
        "batch_size": batch_size,
        "step": step,
        "rate": rate,
        "temperature": temperature,
        "n_epochs": epochs,
        "n_threads": threads,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    classifier = MultiLabelClassifier(**_given(settings))
    classifier.fit(rows.X, rows.Y, label_names=rows.label_names)
    classifier.save(model)
    done = len(classifier.epochs_)
    typer.echo(
        f"trained on {rows.n_rows:,} rows: {rows.n_labels:,} labels, {rows.n_features:,} features, "
        f"{done} epochs, {time.perf_counter() - began:.1f} s"
    )
    _saved(model, done, classifier.n_epochs_asked if classifier.interrupted_ else done)


@app.command("resolve")
def resolve(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A table of records: CSV, TSV, JSON lines or Parquet.")
    ],
    model: Model,
    truth: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which entity each record is; empty where nobody knows.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled pairs instead: two ids, and 1 (the same) or 0.")
    ] = None,
    links: Links = None,
    id: Id = None,
    source: Source = None,
    ignore: Ignore = None,
    kinds: Kinds = None,
    config: Config = None,
    encoding: Encoding = "utf-8",
    signal: Annotated[
        Literal["pair-accuracy", "pair-f1", "b-cubed"] | None, typer.Option(help="The metric to train on.")
    ] = None,
    learner: Learner = None,
    step: Step = None,
    rate: Rate = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes of a walk that learns on whole groups, once pairs are learned from."),
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Learn from records with known entities, from labelled pairs, or from records alone."""
    if epochs is not None and epochs < 0:
        raise ValueError(f"--epochs is {epochs}; give 0 or more")
    check_inputs(records, pairs, links, config)
    check_outputs(model, inputs=(records, pairs, links, config))
    check_table_names(records, pairs, links)
    if truth is not None and pairs is not None:
        raise ValueError("--truth and --pairs cannot be combined; learn from the one or the other")
    _check_learner(learner, step, rate)
    began = time.perf_counter()
    resolver = make_resolver(
        config,
        id=id,
        source=source,
        ignore=ignore,
        kinds=kinds,
        signal=signal,
        learner=learner,
        step=step,
        rate=rate,
        n_epochs=epochs,
        random_state=seed,
        verbose=int(not quiet),
    )
    table = read_records(records, encoding)
    labelled, held = (None if path is None else read_records(path, encoding) for path in (pairs, links))
    _say(quiet, f"read {table.height:,} records of {records}: {', '.join(table.columns)}")
    with named(records), warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", UserWarning)
        resolver.fit(table, entity=truth, pairs=labelled, links=held)
    resolver.save(model)
    for one in noticed:
        sys.stderr.write(f"note: {one.message}\n")
    if truth is None and pairs is None:
        sys.stderr.write(f"note: weights come from {resolver.learned_from_}\n")
    typer.echo(
        f"learned from {resolver.learned_from_}: {len(resolver.model_.comparators)} comparators, "
        f"{len(resolver.weights_):,} weights, {time.perf_counter() - began:.1f} s"
    )
    if truth is not None:
        typer.echo(_lost(resolver, table, truth))
    done = len(resolver.epochs_) if truth is not None else resolver.n_epochs
    _saved(model, done, resolver.n_epochs)


def _lost(resolver: "EntityResolver", table: "pl.DataFrame", truth: str) -> str:
    """How many true pairs never meet in a block, in words."""
    from walkstep.features.lost_pairs import lost_pairs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it was shown before
        index = resolver.model_.blocking.build(table)
    found = lost_pairs(index.blocks, table[truth])
    return f"blocks keep {found.lost:.2%} of {found.n_pairs:,} true pairs apart, {found.unchained:.2%} for good"


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """What the user has set; an estimator's own rate goes with its own step only."""
    given = {name: value for name, value in settings.items() if value is not None}
    if "step" in given and "rate" not in given:
        given["rate"] = None
    return given


def _read_tagged(path: Path) -> "Sequences":
    """Tagged sentences of a file."""
    from walkstep.data.readers.conll import read_conll

    return read_conll(path)


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


def _check_learner(learner: str | None, step: str | None, rate: float | None) -> None:
    """Refuse unknown learners and impossible rates before any data is read."""
    from walkstep.learning.steps import step_rule
    from walkstep.learning.walk import learner_row

    if learner is not None:
        learner_row(learner)
    if rate is not None:
        step_rule(step or "mira", rate=rate)


def _check_tag_learner(
    learner: str | None, templates: str, *, walks_by: dict[str, Any], messages_by: dict[str, Any]
) -> None:
    """Refuse options that do not go with the learner of a tagger, before any data is read."""
    from walkstep.apps.tag_learners import WAYS, way_of
    from walkstep.apps.tag_message_way import MessageWay

    name = learner or "samplerank"
    # A file of templates may have cycles; the estimator looks.
    way = way_of(name, is_chain=templates == "chain" or templates not in _SHAPES)
    by_messages = isinstance(way, MessageWay)
    given = [option for option, value in messages_by.items() if value is not None]
    if given and not by_messages and templates in _SHAPES:
        what = "is exact on a chain" if name in WAYS else "walks"
        raise ValueError(f"--{given[0]} is for learners by messages, but {name!r} {what}; leave it out, or use risk")
    if name not in WAYS:
        _check_learner(learner, walks_by["step"], walks_by["rate"])
        return
    given = [
        option for option, value in walks_by.items() if value is not None and (option != "rate" or not by_messages)
    ]
    if given:
        raise ValueError(f"--{given[0]} is for learners that walk, and {name!r} does not; leave it out")
    if messages_by["loss"] is not None and name != "risk":
        raise ValueError(f"--loss is for the learner risk, and {name!r} has one of its own; leave it out")


def _check_label_learner(
    learner: str | None, rate: float | None, by_walks: dict[str, Any], by_messages: dict[str, Any]
) -> None:
    """Refuse options that do not go with the learner of label sets, before any data is read."""
    from walkstep.apps.label_set_learners import passes_messages

    name = learner or "samplerank-svm"
    if not passes_messages(name):
        given = [option for option, value in by_messages.items() if value is not None]
        if given:
            raise ValueError(f"--{given[0]} is for learners by messages, but {name!r} walks; leave it out, or use risk")
        _check_learner(learner, by_walks["step"], rate)
        return
    given = [option for option, value in by_walks.items() if value is not None]
    if given:
        raise ValueError(f"--{given[0]} is for learners that walk, and {name!r} does not; leave it out")
    if by_messages["loss"] is not None and name != "risk":
        raise ValueError(f"--loss is for the learner risk, and {name!r} has one of its own; leave it out")


def _pairwise(given: str | None) -> bool | int | str | None:
    """Which pairs of labels are joined, from words or a number."""
    named = {"all": True, "none": False, "seen": "seen"}
    if given is None or given in named:
        return None if given is None else named[given]
    if not given.isdecimal():
        raise ValueError(f"--pairs is {given!r}; give all, none, seen, or how many pairs are joined")
    return int(given)


def _check_penalties(learner: str | None, l2: float | None, l1: float | None) -> None:
    """Refuse penalties that are none."""
    from walkstep.apps.tag_learners import WAYS

    for option, value in (("l2", l2), ("l1", l1)):
        if value is not None and not 0.0 <= value < float("inf"):
            raise ValueError(f"--{option} is {value}; give 0 or more")
    if l1 and learner not in WAYS:
        raise ValueError(f"--l1 is {l1}, but learner {learner or 'samplerank'!r} has no such penalty; use --l2")


def _say(quiet: bool, text: str) -> None:
    """Progress, on stderr."""
    if not quiet:
        sys.stderr.write(f"{text}\n")


def _saved(model: Path, n_epochs: int, wanted: int) -> None:
    """Say what lies where; after an interrupt, also that it is not all that was asked for."""
    typer.echo(f"saved {model} ({size_of(model)})")
    if n_epochs < wanted:
        sys.stderr.write(f"interrupted after {n_epochs} of {wanted} epochs; {model} holds what was learned so far\n")
        raise typer.Exit(_INTERRUPTED)
