"""Objects of a JSON lines file, each with the place that errors name."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from walkstep.data.readers._files import read_lines


def json_objects(path: str | os.PathLike, keys: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """File and line of each object, and the object, which has all of ``keys``; blank lines are passed over.

    Raises
    ------
    ValueError
        If the file has no object, or a line is cut off, is no object, or lacks a key.
    """
    empty = True
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        empty = False
        where = f"{path}, line {number}"
        try:
            content = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{where} is no JSON ({error}); write one object a line, or fetch the file again if it is cut off"
            ) from error
        if not isinstance(content, dict):
            raise ValueError(f"{where} is {line[:40]!r}; write an object with {', '.join(keys)}")
        lacking = [key for key in keys if key not in content]
        if lacking:
            raise ValueError(f"{where} lacks {', '.join(map(repr, lacking))}; complete the object")
        yield where, content
    if empty:
        raise ValueError(f"{path} holds nothing; give a file with one JSON object a line")


def text_of(where: str, content: Mapping[str, Any], key: str) -> str:
    """A string of an object, or an error that names what stands in its place."""
    if not isinstance(content[key], str):
        raise ValueError(f"{where}: {key} is {content[key]!r:.60}; write a string")
    return content[key]
