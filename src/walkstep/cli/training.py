"""What every ``walkstep fit`` asks and says: where the model goes, seeds and progress, and how training ended."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from walkstep.cli.files import size_of

Model = Annotated[Path, typer.Option(metavar="FILE", help="Where to save the model.")]
Threads = Annotated[int | None, typer.Option(help="Shards that train side by side.")]
Seed = Annotated[int, typer.Option(help="Seed of all random acts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

_INTERRUPTED = 130


def say(quiet: bool, text: str) -> None:
    """Progress, on stderr."""
    if not quiet:
        sys.stderr.write(f"{text}\n")


def counted(n: int, what: str, plural: str | None = None) -> str:
    """How many there are of something, in words.

    Examples
    --------
    >>> counted(1, "link"), counted(1200, "link"), counted(0, "class", "classes")
    ('1 link', '1,200 links', '0 classes')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def say_saved(model: Path, n_epochs: int, wanted: int) -> None:
    """Say what lies where; after an interrupt, also that it is not all that was asked for."""
    typer.echo(f"saved {model} ({size_of(model)})")
    if n_epochs < wanted:
        sys.stderr.write(f"interrupted after {n_epochs} of {wanted} epochs; {model} holds what was learned so far\n")
        raise typer.Exit(_INTERRUPTED)
