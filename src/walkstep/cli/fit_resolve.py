"""``walkstep fit resolve``: from records, with or without known entities, to a model file."""

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from walkstep.cli.files import check_inputs, check_outputs
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
from walkstep.cli.training import Model, Quiet, Seed, say, say_saved
from walkstep.cli.walk_options import Learner, Rate, Step, check_walk

if TYPE_CHECKING:
    import polars as pl

    from walkstep.apps.entity_resolver import EntityResolver


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
    check_walk(learner, step, rate)
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
    say(quiet, f"read {table.height:,} records of {records}: {', '.join(table.columns)}")
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
    say_saved(model, done, resolver.n_epochs)


def _lost(resolver: "EntityResolver", table: "pl.DataFrame", truth: str) -> str:
    """How many true pairs never meet in a block, in words."""
    from walkstep.features.lost_pairs import lost_pairs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it was shown before
        index = resolver.model_.blocking.build(table)
    found = lost_pairs(index.blocks, table[truth])
    return f"blocks keep {found.lost:.2%} of {found.n_pairs:,} true pairs apart, {found.unchained:.2%} for good"
