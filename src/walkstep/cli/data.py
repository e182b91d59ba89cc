"""``walkstep data``: the data sets known by name, and which of their files are on this machine."""

import os
import textwrap

import typer


def data() -> None:
    """List the known data sets: what each is, whose, its licence, and which of its files are found."""
    from walkstep.data.catalogue import VARIABLE, listing

    root = os.environ.get(VARIABLE)
    if root:
        typer.echo(f"{VARIABLE} is {root}")
    else:
        typer.echo(f"{VARIABLE} is not set; set it to the folder that holds the data sets below")
    rows = listing()
    for row in rows:
        typer.echo("")
        state = "found" if row.is_complete else ("incomplete" if row.found else "not found")
        typer.echo(f"{row.data_set.name}: {state}")
        _field("what", row.data_set.what)
        _field("whose", row.data_set.whose)
        _field("licence", row.data_set.licence)
        if row.found:
            _field("found", ", ".join(row.found))
        if row.missing:
            _field("missing", ", ".join(row.missing))
    typer.echo(f"\n{sum(row.is_complete for row in rows)} of {len(rows)} data sets found")


def _field(name: str, text: str) -> None:
    """A line such as ``whose    Tjong Kim Sang ...``, broken where it is long."""
    typer.echo(textwrap.fill(text, 110, initial_indent=f"    {name:<9}", subsequent_indent=" " * 13))
