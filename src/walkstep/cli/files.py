"""What verbs share: options and files looked at before any work begins, files written whole or not at all."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def check_inputs(*paths: Path | None) -> None:
    """Refuse files that are not there."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{path} is a folder; give a file")
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}; check the name")


def check_outputs(*paths: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse places where no file can be written, before any time is spent on what would go there."""
    read = {os.path.realpath(path) for path in inputs if path is not None}
    seen: set[str] = set()
    for path in paths:
        if path is None:
            continue
        place = os.path.realpath(path)
        folder = Path(place).parent
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; give the name of a file to write")
        if not folder.is_dir():
            raise FileNotFoundError(f"folder {folder} does not exist; create it, or write {path.name} elsewhere")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise PermissionError(f"{path} cannot be written; change its permissions, or write elsewhere")
        if place in read:
            raise ValueError(f"{path} is also an input, which would be overwritten; write elsewhere")
        if place in seen:
            raise ValueError(f"{path} is named for two outputs; give each its own file")
        seen.add(place)


def check_counts(**counts: int | None) -> None:
    """Refuse options that count something but are below 1."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {count}; give 1 or more")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    from walkstep.data.readers._files import written_whole

    with written_whole(path) as file:
        file.write(text)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def size_of(path: Path) -> str:
    """How large a file is, in words."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
