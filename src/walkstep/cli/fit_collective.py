"""``walkstep fit collective``: from linked items, some of them labelled, to a model file."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from walkstep.cli.files import check_counts, check_inputs, check_outputs
from walkstep.cli.linked_tables import files_of, read_linked
from walkstep.cli.message_options import (
    Inference,
    LabelLoss,
    MessageOptions,
    Optimiser,
    damping_option,
    first_epochs_option,
    rounds_option,
)
from walkstep.cli.resolver_settings import Encoding, check_table_names, named
from walkstep.cli.training import Model, Quiet, Seed, counted, say, say_saved


def collective(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="A table, one row an item: CSV, TSV, JSON lines or Parquet.")
    ],
    model: Model,
    links: Annotated[
        Path | None, typer.Argument(metavar="LINKS", help="A table, one row a link between two items.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Development items: the epoch best on them is kept.")
    ] = None,
    dev_links: Annotated[Path | None, typer.Option(metavar="FILE", help="The links of those.")] = None,
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="What items are called (id).")] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Their labels, empty where nobody knows (label).")
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="What items say (text, if there is one).")] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which of several separate collections an item is of.")
    ] = None,
    agree: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Items with the same value there tend to agree; may be repeated."),
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="How much each item counts in the loss.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column of numbers not to look at; may be repeated.")
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="COLUMN", help="Of links: the first item (source).")] = None,
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="Of links: the second item (target).")] = None,
    type: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of links: of what kind they are (type, if there is one).")
    ] = None,
    link_text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of links: what they say (text, if there is one).")
    ] = None,
    encoding: Encoding = "utf-8",
    learner: Annotated[
        Literal["risk", "likelihood", "softmax-margin", "svm", "perceptron"] | None,
        typer.Option(help="What training makes small."),
    ] = None,
    loss: Annotated[
        LabelLoss | None,
        typer.Option(help="What risk is about, and development items are judged by."),
    ] = None,
    outside: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label that F-measure does not count (the first).")
    ] = None,
    inference: Annotated[Inference | None, typer.Option(help="By which labels are found.")] = None,
    rounds: Annotated[int | None, rounds_option(10, ", where links close cycles")] = None,
    damping: Annotated[float | None, damping_option("a factor")] = None,
    optimiser: Annotated[Optimiser | None, typer.Option(help="How steps are made.")] = None,
    rate: Annotated[float | None, typer.Option(help="Of the optimiser's steps (0.01).")] = None,
    l2: Annotated[float | None, typer.Option(help="What squared weights cost (0.0001).")] = None,
    l1: Annotated[float | None, typer.Option(help="What absolute weights cost (0).")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the graphs (20).")] = None,
    first_epochs: Annotated[int | None, first_epochs_option(10)] = None,
    batch_size: Annotated[int | None, typer.Option(help="Graphs that a step looks at (8).")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many epochs without a better loss on development items.")
    ] = None,
    min_count: Annotated[int | None, typer.Option(help="Leave out words of fewer items or links (2).")] = None,
    pairs: Annotated[
        Literal["table", "agreement"] | None,
        typer.Option(help="What links speak for: each pair of labels, or whether the two are the same."),
    ] = None,
    weighting: Annotated[
        Literal["binary", "normalised"] | None, typer.Option(help="Words are there or not; or counts of length 1.")
    ] = None,
    n_grams: Annotated[int | None, typer.Option(help="Runs of up to so many words are words too (1).")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on items that are linked to each other."""
    counts = {"epochs": epochs, "rounds": rounds, "batch_size": batch_size, "patience": patience}
    check_counts(**counts, min_count=min_count, n_grams=n_grams)
    if dev_links is not None and dev is None:
        raise ValueError(f"--dev-links is {dev_links}, but there is no --dev; name the items that it links")
    files = [path for path in (items, links, dev, dev_links) if path is not None]
    check_inputs(*files)
    check_outputs(model, inputs=files)
    check_table_names(*files)
    messages = MessageOptions(loss, inference, rounds, damping, optimiser, first_epochs, batch_size)
    settings: dict[str, Any] = {
        "id": id,
        "label": label,
        "text": text,
        "group": group,
        "agree": agree,
        "weight": weight,
        "ignore": ignore,
        "source": source,
        "target": target,
        "type": type,
        "link_text": link_text,
        "learner": learner,
        **messages.settings(),
        "outside": outside,
        "rate": rate,
        "l2": l2,
        "l1": l1,
        "n_epochs": epochs,
        "patience": patience,
        "pairs": pairs,
        "min_count": min_count,
        "weighting": weighting,
        "n_grams": n_grams,
    }
    from walkstep import CollectiveClassifier

    began = time.perf_counter()
    given = {name: value for name, value in settings.items() if value is not None}
    classifier = CollectiveClassifier(**given, random_state=seed, verbose=int(not quiet))
    linked = read_linked(classifier, items, links, encoding)
    held_out = None if dev is None else read_linked(classifier, dev, dev_links, encoding)
    n_items, n_links = counted(linked.n_items, "item"), counted(linked.n_links, "link")
    say(quiet, f"read {n_items} of {items}, {linked.n_known:,} with labels, and {n_links}")
    with named(*files_of(items, links)):
        classifier.fit(linked, dev=held_out)
    classifier.save(model)
    seen = classifier.model_.items
    n_words = counted(0 if seen.words is None else len(seen.words.words), "word")
    say(quiet, f"an item sees {n_words} and the columns {', '.join(seen.numbers.names) or '(none)'}")
    done = len(classifier.epochs_)
    typer.echo(
        f"trained on {n_items} and {n_links}: {counted(len(classifier.classes_), 'class', 'classes')}, "
        f"{counted(len(classifier.weights_), 'weight')}, {counted(done, 'epoch')}, {time.perf_counter() - began:.1f} s"
    )
    if dev is not None:
        dev_loss, number = min((epoch.dev, epoch.number) for epoch in classifier.epochs_)
        typer.echo(f"development loss {dev_loss:.4f}, after epoch {number}")
    wanted = classifier.n_epochs + (classifier.n_first_epochs if classifier.learner == "risk" else 0)
    say_saved(model, done, wanted if classifier.interrupted_ else done)
