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
    learner: Learner = None,
    step: Step = None,
    rate: Rate = None,
    temperature: Temperature = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training data (10).")] = None,
    threads: Threads = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a tagger on sentences in CoNLL columns."""
    check_counts(epochs=epochs, threads=threads, min_count=min_count, buckets=buckets)
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
        "n_epochs": epochs,
        "n_threads": threads,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    _check_learner(learner, step, rate)
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
    done, wanted = len(tagger.epochs_), tagger.n_epochs
    typer.echo(
        f"trained on {corpus.n_sentences:,} sentences: {len(tagger.classes_)} tags, {len(tagger.weights_):,} weights, "
        f"{done} epochs, {time.perf_counter() - began:.1f} s"
    )
    if tagger.dev_scores_:
        best = max(tagger.dev_scores_)
        typer.echo(f"development F1 {best:.4f}, after epoch {tagger.dev_scores_.index(best) + 1}")
    _saved(model, done, wanted)


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
        Literal["map", "marginals", "auto"] | None,
        typer.Option(help="Predict the best set, each label on its own, or what held-out rows favour."),
    ] = None,
    signal: Annotated[Literal["hamming", "f1"] | None, typer.Option(help="The metric to train on.")] = None,
    l2: Annotated[float | None, typer.Option(help="Share by which weights shrink at each step.")] = None,
    learner: Learner = None,
    step: Step = None,
    rate: Rate = None,
    temperature: Temperature = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training data (60).")] = None,
    threads: Threads = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on feature rows with label sets."""
    check_counts(epochs=epochs, threads=threads)
    check_inputs(data)
    check_outputs(model, inputs=(data,))
    _check_learner(learner, step, rate)
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.cli.label_sets import read_labelled

    began = time.perf_counter()
    rows = read_labelled(data, labels)
    _say(quiet, f"read {rows.n_rows:,} rows of {data}: {rows.n_features:,} features, {rows.n_labels:,} labels")
    settings: dict[str, Any] = {
        "features": features,
        "decision": decision,
        "signal": signal,
        "l2": l2,
        "learner": learner,
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
    done, wanted = len(classifier.epochs_), classifier.n_epochs
    typer.echo(
        f"trained on {rows.n_rows:,} rows: {rows.n_labels:,} labels, {rows.n_features:,} features, "
        f"{done} epochs, {time.perf_counter() - began:.1f} s"
    )
    _saved(model, done, wanted)


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
