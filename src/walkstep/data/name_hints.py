"""How errors speak of names: those that there are, and those that may be meant."""

from collections.abc import Sequence
from difflib import get_close_matches


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, not too many of them.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def hint(name: object, names: Sequence[str]) -> str:
    """The names that are near to one that is not there; if none is, some of those that there are.

    Examples
    --------
    >>> hint("dgo", ["cat", "dog"]), hint("oak", ["cat", "dog"])
    ("near it: 'dog'", "there are 'cat', 'dog'")
    """
    near = get_close_matches(str(name), names, n=3)
    return f"near it: {listed(near)}" if near else f"there are {listed(names)}"
