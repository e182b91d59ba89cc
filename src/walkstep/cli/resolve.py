"""``walkstep resolve``: records in, entities out; or, of several clean tables, links between them."""

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from walkstep.cli.files import check_inputs, check_outputs, size_of
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
    from walkstep.apps.resolution import Resolution

INTERRUPTED = 130


def resolve(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDS...", help="A table of records: CSV, TSV, JSON lines or Parquet; or several, to be linked."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the entities, or the links.")
    ],
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A model that `walkstep fit resolve` saved; without it, no labels are used."),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write how probable it is that two records are one.")
    ] = None,
    links: Links = None,
    update: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What an earlier run wrote: add the records to it, and keep its entities."),
    ] = None,
    id: Id = None,
    source: Source = None,
    ignore: Ignore = None,
    kinds: Kinds = None,
    config: Config = None,
    encoding: Encoding = "utf-8",
    samples: Annotated[
        int | None, typer.Option(help="Partitions drawn for probabilities and confidence (100).")
    ] = None,
    no_samples: Annotated[
        bool, typer.Option("--no-samples", help="Draw none: quicker, and says nothing of how sure it is.")
    ] = False,
    moves: Annotated[float | None, typer.Option(help="Moves of the search for each record.")] = None,
    coarse: Annotated[
        float | None, typer.Option(help="Begin the search with this share of the factors (Monte Carlo MCMC).")
    ] = None,
    jumps: Annotated[
        Literal["guided", "single", "adaptive"] | None,
        typer.Option(help="How the search moves: guided (by default), single, or adaptive."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random acts.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Find the records that mean the same thing in the world, or link the records of clean tables."""
    from walkstep.apps.jump_report import jump_lines

    inputs = (*records, model, links, update, config)
    check_inputs(*inputs)
    check_outputs(output, pairs, inputs=inputs)
    check_table_names(*records, output, pairs, links, update)
    n_samples = _n_samples(samples, no_samples, pairs)
    _check_together(records, model, update, source=source, ignore=ignore, kinds=kinds, config=config)
    settings: dict[str, Any] = {"n_samples": n_samples, "moves": moves, "coarse": coarse, "jumps": jumps}

    began = time.perf_counter()
    frames = [read_records(path, encoding) for path in records]
    if not quiet:
        shown = ", ".join(f"{f.height:,} records of {path}" for f, path in zip(frames, records, strict=True))
        sys.stderr.write(f"read {shown}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of giant blocks, which the notes tell as well
        if model is None:
            resolver = make_resolver(config, id=id, source=source, ignore=ignore, kinds=kinds, **settings)
        else:
            resolver = _loaded(model, id=id, source=source, **settings)
        resolver.set_params(random_state=seed)
        if len(records) > 1:
            from walkstep.cli.link_tables import link_tables

            answer = link_tables(resolver, records, frames, links, encoding)
            result, entities, likely = answer.result, answer.links, answer.pairs
        else:
            held = None if links is None else read_records(links, encoding)
            before = None if update is None else earlier_result(resolver, update)
            with named(*records):
                result = _grouped(resolver, frames[0], held, before)
            entities, likely = result.entities, None if result.samples is None else result.pairs
    _write(result, entities, output, likely, pairs)
    what = f"{entities.height:,} links" if len(records) > 1 else f"{result.n_entities:,} entities"
    typer.echo(
        f"{len(result.ids):,} records: {what}, {result.n_moves:,} moves, {time.perf_counter() - began:.1f} s\n"
        f"saved {output} ({size_of(output)})"
    )
    if pairs is not None and likely is not None:
        typer.echo(f"saved {pairs} ({size_of(pairs)})")
    for line in jump_lines(result.jumps):
        typer.echo(line)
    for note in result.notes:
        sys.stderr.write(f"note: {note}\n")
    _stop_if_interrupted(result, output, pairs)


def _n_samples(samples: int | None, no_samples: bool, pairs: Path | None) -> int | None:
    """How many partitions to draw; None where nothing is said."""
    if samples is not None and samples < 1:
        raise ValueError(f"--samples is {samples}; give 1 or more, or --no-samples")
    if no_samples and samples is not None:
        raise ValueError("--samples and --no-samples cannot be combined; give one of them")
    if no_samples and pairs is not None:
        raise ValueError("--pairs tells probabilities, which come from samples; leave out --no-samples, or --pairs")
    return 0 if no_samples else samples


def _check_together(records: list[Path], model: Path | None, update: Path | None, **options: Any) -> None:
    """Refuse options that cannot be combined."""
    if model is not None:
        for name in ("ignore", "kinds", "config"):
            if options[name]:
                option = name.removesuffix("s") if name == "kinds" else name
                raise ValueError(
                    f"--{option} says what is compared, which {model} knows already; leave it out, or fit anew"
                )
    if update is not None and model is None:
        raise ValueError("--update takes the model that the earlier run had; give --model")
    if len(records) > 1:
        if update is not None:
            raise ValueError("--update adds one table to an earlier result; give one table, or leave it out")
        if options["source"] is not None:
            raise ValueError("--source is for one table with records of several sources; of several, each is one")


def _loaded(model: Path, **settings: Any) -> "EntityResolver":
    """A saved model, some of its settings replaced."""
    from walkstep.apps.entity_resolver import EntityResolver

    resolver = EntityResolver.load(model)
    return resolver.set_params(**{name: value for name, value in settings.items() if value is not None})


def _grouped(
    resolver: "EntityResolver", frame: "pl.DataFrame", links: "pl.DataFrame | None", before: "Resolution | None"
) -> "Resolution":
    """The entities of one table, by themselves or beside those of an earlier run."""
    if before is not None:
        return resolver.update(before, frame, links=links)
    if not hasattr(resolver, "weights_"):
        resolver.fit(frame)
    return resolver.resolve(frame, links=links)


def earlier_result(resolver: "EntityResolver", path: Path) -> "Resolution":
    """What an earlier run wrote, as far as records can be added to it."""
    import polars as pl

    from walkstep.apps.record_tables import HeldLinks
    from walkstep.apps.resolution import Resolution
    from walkstep.data.records import as_frame, check_id

    with named(path):
        written = as_frame(path)
        if "entity" not in written.columns:
            raise ValueError("there is no column 'entity'; give the file that `walkstep resolve -o` wrote")
        entity = written["entity"].cast(pl.Int64, strict=False)
        wrong = entity.is_null().arg_true()
        if len(wrong):
            raise ValueError(
                f"column 'entity' holds {written['entity'][wrong[0]]!r} in row {wrong[0]}; "
                "give the file that `walkstep resolve -o` wrote, where entities are numbers"
            )
        before = written.drop("entity", "confidence", strict=False)
        before = before.rename({f"{name}_given": name for name in ("entity", "confidence")}, strict=False)
        if resolver.id is not None:
            check_id(before, resolver.id)
        ids = list(range(before.height)) if resolver.id is None else before[resolver.id].to_list()
        prepared = resolver.model_.prepare(before)
    held = HeldLinks.none(resolver.source)
    return Resolution(
        before, ids, entity.to_numpy(), float("nan"), 0, 0, (), False, [], prepared, resolver.weights_, held, None
    )


def _write(
    result: "Resolution", entities: "pl.DataFrame", output: Path, likely: "pl.DataFrame | None", pairs: Path | None
) -> None:
    """Write what was asked for and could be found."""
    from walkstep.data.readers.tables import write_table

    write_table(entities, output)
    if pairs is not None and likely is not None:
        write_table(likely, pairs)


def _stop_if_interrupted(result: "Resolution", output: Path, pairs: Path | None) -> None:
    """Say what Ctrl-C has cost."""
    if result.interrupted:
        lost = "" if pairs is None else f"; {pairs} was not written, for no samples were drawn"
        sys.stderr.write(f"interrupted; {output} holds the best partition until then{lost}\n")
        raise typer.Exit(INTERRUPTED)
    if result.samples is not None and result.samples.interrupted:
        n = len(result.samples.draws)
        sys.stderr.write(f"interrupted; how sure {output} is comes from {n} samples only\n")
        raise typer.Exit(INTERRUPTED)
