"""``walkstep fit``: from labelled data to a model file; each kind of data has a file of its own."""

import typer

from walkstep.cli.fit_collective import collective
from walkstep.cli.fit_hierarchy import hierarchy
from walkstep.cli.fit_multilabel import multilabel
from walkstep.cli.fit_rank import rank
from walkstep.cli.fit_resolve import resolve
from walkstep.cli.fit_tag import tag

app = typer.Typer(
    help="Train a model and save it.", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)
for _verb in (tag, multilabel, rank, hierarchy, resolve, collective):
    app.command(_verb.__name__)(_verb)
