"""``walkstep reproduce``: published tables, run again."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from walkstep.cli.files import check_outputs, write_json


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which table; --list shows them.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the tables that can be run.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of all random acts.")] = 0,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write rows and bars to this file.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of the work, to see that it runs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a published table again: the paper's figure, ours, and the difference."""
    from walkstep.reproduce import REPRODUCTIONS, load

    if show_list:
        width = max(map(len, REPRODUCTIONS))
        for known, what in REPRODUCTIONS.items():
            typer.echo(f"{known:<{width}}  {what}")
        return
    if name is None:
        raise ValueError(f"no table is named; name one of {', '.join(REPRODUCTIONS)}, or ask for --list")
    check_outputs(json_file)
    module = load(name)
    result = module.run(seed, quick=quick, progress=None if quiet else _show)
    typer.echo(table_of(result))
    if json_file is not None:
        write_json(json_file, result)
        typer.echo(f"wrote {json_file}")


def table_of(result: dict[str, Any]) -> str:
    """A reproduction's result as plain text."""
    rows = result["rows"]
    width = max([3, *(len(row["row"]) for row in rows)])
    metric_width = max([6, *(len(row["metric"]) for row in rows)])
    lines = [f"{'row':<{width}}  {'metric':<{metric_width}}  {'paper':>9}  {'ours':>9}  {'difference':>10}"]
    for row in rows:
        paper, ours = row["paper"], row["ours"]
        both = isinstance(paper, int | float) and isinstance(ours, int | float)
        difference = f"{_figure(ours - paper, '+'):>10}" if both else f"{'':>10}"
        lines.append(
            f"{row['row']:<{width}}  {row['metric']:<{metric_width}}  {_figure(paper)}  {_figure(ours)}  {difference}"
            + (f"  {row['note']}" if row.get("note") else "")
        )
    lines += [f"bar {bar['id']}: {_figure(bar['ours']).strip()}" for bar in result["bars"]]
    lines.append(f"{result['name']}, seed {result['seed']}: {result['seconds']:.1f} s")
    return "\n".join(lines)


def _figure(value: Any, sign: str = "") -> str:
    """A number to four decimals, a large one to one, a dash for none."""
    if value is None:
        return f"{'-':>9}"
    return f"{value:{sign}9.4f}" if abs(value) < 1000 else f"{value:{sign}9,.1f}"


def _show(text: str) -> None:
    """Progress, on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
