"""Saved models: plain arrays and a description, in one file from which no code can run."""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

FORMAT = "1"


class ArchiveError(ValueError):
    """A file that is not a model, or not one that this version or this class reads."""


def save_archive(
    path: str | os.PathLike[str], kind: str, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model whole or not at all.

    Parameters
    ----------
    path : path
        Where to; an existing file is replaced at the last moment.
    kind : str
        What it is a model of; asked for again when loading.
    description : mapping
        Anything that JSON holds.
    arrays : mapping of str to array
    """
    # One entry alone: several would be written in any order, and equal models should be equal files.
    metadata = {"walkstep": json.dumps({"format": FORMAT, "kind": kind, "description": description})}
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata=metadata)
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file to save the model in")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {path.parent} does not exist; create it, or save the model elsewhere")
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a file is a model of."""
    return _open(path)[0]["kind"]


def load_archive(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `save_archive` wrote.

    Returns
    -------
    description : dict
    arrays : dict of str to array
    """
    metadata, file = _open(path)
    if metadata["kind"] != kind:
        raise ArchiveError(f"{path} holds a {metadata['kind']}, not a {kind}; load it with {metadata['kind']}.load")
    return metadata["description"], {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _open(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Any]:
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no model at {path}; check the name, or train one with `walkstep fit`")
    if Path(path).is_dir():
        raise ArchiveError(f"{path} is a folder, not a model; give the file that `save` wrote")
    try:
        file = safe_open(os.fspath(path), framework="numpy")
        metadata = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise ArchiveError(f"{path} is not a Walkstep model, or it is damaged ({error}); train it again") from error
    if "walkstep" not in metadata:
        raise ArchiveError(f"{path} is a file of arrays, but not a Walkstep model; train one with `walkstep fit`")
    about = json.loads(metadata["walkstep"])
    if about.get("format") != FORMAT:
        raise ArchiveError(
            f"{path} was saved in format {about.get('format')}, but this version reads format {FORMAT}; "
            "load it with the version that wrote it, or train it again"
        )
    return about, file
