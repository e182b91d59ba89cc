"""Compilation of the inner loops, and where the compiled code is kept.

Numba looks for edits only in the file of the function it caches, so a loop that calls a helper from
another file would go on running yesterday's helper. The cache folder is therefore named by a hash of
every source file of the package: any edit starts a fresh folder.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import config

Function = TypeVar("Function", bound=Callable[..., Any])


def _base_folder() -> Path:
    """The folder that holds all of Walkstep's caches, as the user or the platform would have it."""
    chosen = os.environ.get("WALKSTEP_CACHE")
    if chosen:
        return Path(chosen)
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]) / "walkstep"
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(root) / "walkstep"


@cache
def cache_folder() -> Path | None:
    """Folder of this version's compiled code, or None where nothing can be written.

    Set the environment variable ``WALKSTEP_CACHE`` to move it.
    """
    digest = hashlib.blake2b(digest_size=8)
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    folder = _base_folder() / f"{digest.hexdigest()}-numba{numba.__version__}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def compiled(function: Function | None = None, *, inline: bool = False) -> Any:
    """Compile a loop at its first call, releasing the interpreter lock, and keep the result on disk.

    Parameters
    ----------
    function : callable
        Plain loops over arrays and scalars.
    inline : bool
        A helper that is only ever called from other loops: it gets no cache entry of its own.
    """
    if function is None:
        return lambda inner: compiled(inner, inline=inline)
    # -inf scores mark forbidden worlds, so the flags that assume finite numbers stay off.
    dispatcher = numba.njit(
        nogil=True,
        error_model="numpy",
        fastmath={"nsz", "arcp", "contract", "afn", "reassoc"},
        boundscheck=None,
    )(function)
    folder = None if inline else cache_folder()
    if folder is not None:
        before = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
        config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]
    return dispatcher
