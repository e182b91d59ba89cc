"""Where Walkstep keeps on disk what was costly to compile."""

import os
import tempfile
from pathlib import Path


def base_folder() -> Path:
    """The folder that holds all of Walkstep's caches, as the user or the platform would have it.

    Set the environment variable ``WALKSTEP_CACHE`` to move it.
    """
    chosen = os.environ.get("WALKSTEP_CACHE")
    if chosen:
        return Path(chosen)
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]) / "walkstep"
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(root) / "walkstep"


def made_writable(folder: Path) -> Path | None:
    """A folder, made where it is not there; None where nothing can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None
