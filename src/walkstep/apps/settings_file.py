"""Settings of a resolver, from a TOML file."""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from walkstep.apps.record_model import RecordModel

_PARTS = ("comparators", "blocking", "templates")
_NO_PARTS: dict[str, Any] = {
    "kinds": {},
    "comparators": [],
    "templates": [],
    "blocking": {"rules": [{"type": "Same", "parts": ["any"]}], "max_block": 2},
}


def read_settings(path: str | os.PathLike[str], known: Sequence[str]) -> dict[str, Any]:
    """The settings of a file by name; comparators, blocking and templates made from their descriptions.

    Parameters
    ----------
    path : path
    known : sequence of str
        The names that settings may have.
    """
    with Path(path).open("rb") as file:
        try:
            plain = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
    for name in plain:
        if name not in known:
            raise ValueError(f"{path} sets {name!r}; EntityResolver has {', '.join(known)}")
    parts = {name: plain.pop(name) for name in _PARTS if name in plain}
    try:
        made = RecordModel.from_dict(_NO_PARTS | parts)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} describes a part that cannot be made: {error!r}") from None
    return plain | {name: getattr(made, name) for name in parts}
