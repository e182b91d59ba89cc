"""Progress of long work: a bar on a terminal, quiet lines elsewhere, nothing when silenced."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class EpochProgress:
    """Shows epochs of training as they pass.

    Parameters
    ----------
    n_epochs : int
    verbose : int
        0 is silent.
    """

    def __init__(self, n_epochs: int, verbose: int):
        self._n_epochs = n_epochs
        self._verbose = verbose
        self._bar: Progress | None = None
        self._console = Console(stderr=True)

    def __enter__(self) -> Self:
        if self._verbose and self._console.is_terminal:
            self._bar = Progress(
                TextColumn("epoch"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=self._n_epochs)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        if self._bar is not None:
            self._bar.stop()

    def show(self, epoch: int, text: str) -> None:
        """An epoch has passed."""
        if self._bar is not None:
            self._bar.update(self._task, completed=epoch, description=text)
        elif self._verbose:
            sys.stderr.write(f"epoch {epoch}/{self._n_epochs}  {text}\n")
            sys.stderr.flush()
