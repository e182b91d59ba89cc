"""What ``fit resolve`` and ``resolve`` both ask: what tables and their columns are, and settings from a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from walkstep.apps.entity_resolver import EntityResolver

Id = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="What records are called; without it, their row numbers from 0.")
]
Ignore = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column not to be compared; may be repeated.")
]
Source = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Where records come from, each source clean: no two of its records are one."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="COLUMN=KIND", help="What a column is, such as year=number; may be repeated."),
]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings in TOML; options given here win.")]
Links = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Pairs that must (1) or must not (0) be one entity: two ids and which of these."),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="How the text of the given tables is encoded, such as latin-1.")
]


def make_resolver(
    config: Path | None, *, ignore: list[str] | None = None, kinds: list[str] | None = None, **settings: Any
) -> "EntityResolver":
    """A resolver that is not trained yet, from a file of settings and from options; None leaves what the file says."""
    from walkstep.apps.entity_resolver import EntityResolver

    resolver = EntityResolver()
    if config is not None:
        with named(config):
            resolver = EntityResolver.from_toml(config)
    resolver.set_params(**{name: value for name, value in settings.items() if value is not None})
    if kinds:
        resolver.set_params(kinds={**(resolver.kinds or {}), **_kinds(kinds)})
    if ignore:
        resolver.set_params(ignore=[*resolver.ignore, *ignore])
    if "step" in settings and settings["step"] is not None and settings.get("rate") is None:
        resolver.set_params(rate=None)  # a rate from the file goes with the step from the file
    return resolver


def _kinds(given: list[str]) -> dict[str, str]:
    """Kinds by column, from ``COLUMN=KIND``."""
    from walkstep.features.column_kinds import Kind

    kinds: dict[str, str] = {}
    for entry in given:
        column, equals, kind = entry.rpartition("=")
        if not (column and equals):
            raise ValueError(f"--kind is {entry!r}; write COLUMN=KIND, such as year=number")
        if kind not in list(Kind):
            raise ValueError(f"--kind is {entry!r}; choose a kind among {', '.join(Kind)}")
        kinds[column] = kind
    return kinds


@contextmanager
def named(*files: Path) -> Iterator[None]:
    """Put the name of the file in front of an error about its content, unless it is named already."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if any(str(file) in text for file in files):
            raise
        raise ValueError(f"{' and '.join(map(str, files))}: {text}") from error


def read_records(path: Path, encoding: str) -> "pl.DataFrame":
    """The table of a file."""
    from walkstep.data.records import as_frame

    with named(path):
        return as_frame(path, encoding=encoding)


def check_table_names(*paths: Path | None) -> None:
    """Refuse names of tables that tell no format, before any time is spent on what would go there."""
    from walkstep.data.readers.tables import table_ending

    for path in paths:
        if path is not None:
            table_ending(path)
