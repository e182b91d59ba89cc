"""The command ``walkstep``: verbs first, each in a file of its own.

Nothing heavy is imported before the verb that needs it runs, so that the command answers at once.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from walkstep import __version__
from walkstep.cli import data, demo, evaluate, fit, infer, predict, reproduce, resolve

FAILED, INTERRUPTED = 2, 130


class Verbs(TyperGroup):
    """Runs a verb; what is known to go wrong ends in a line on stderr instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that the command line names."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read our output has seen enough: typer ends quietly
        except (ValueError, OSError, ImportError) as error:  # extras that are not installed are told by name
            if ctx.params["debug"]:
                raise
            sys.stderr.write(f"error: {_message(error)}\n")
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            sys.stderr.write("interrupted; nothing was written\n")
            raise typer.Exit(INTERRUPTED) from None


def _message(error: Exception) -> str:
    """What an error says; those of the operating system with the file first, and a way out."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the name and the permissions"
    return str(error) or type(error).__name__


app = typer.Typer(
    name="walkstep",
    cls=Verbs,
    help="Tag sequences, label rows and linked items, rank labels, place rows in a hierarchy, resolve records: "
    "factor graphs, trained on the metric you are judged by.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(fit.app, name="fit")
app.command("predict")(predict.predict)
app.command("resolve")(resolve.resolve)
app.command("evaluate")(evaluate.evaluate)
app.command("infer")(infer.infer)
app.command("reproduce")(reproduce.reproduce)
app.command("data")(data.data)
app.command("demo")(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"walkstep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error was raised.")] = False,
) -> None:
    """Options that stand before the verb."""


def main() -> None:
    """Run the command."""
    app()


if __name__ == "__main__":
    main()
