"""Templates as plain data, to be saved."""

from dataclasses import fields, is_dataclass
from typing import Any

from walkstep.features.expression import Atom, Bag, Conjunction
from walkstep.model.conditions import And, Compare, Distance, Holds, Not, Or, SameSentence, Value
from walkstep.model.templates import Default, Site, Template

_CLASSES = {
    kind.__name__: kind
    for kind in (
        *(Template, Site, Value, Default, Atom, Bag, Conjunction),
        *(Holds, Compare, Distance, SameSentence, Not, And, Or),
    )
}


def to_plain(thing: Any) -> Any:
    """Dataclasses as dictionaries, tuples as lists."""
    if is_dataclass(thing):
        held = {f.name: to_plain(getattr(thing, f.name)) for f in fields(thing) if f.compare}
        return {"is": type(thing).__name__, **held}
    return [to_plain(entry) for entry in thing] if isinstance(thing, tuple) else thing


def from_plain(plain: Any) -> Any:
    """What :func:`to_plain` was given."""
    if isinstance(plain, list):
        return tuple(from_plain(entry) for entry in plain)
    if not isinstance(plain, dict):
        return plain
    kind = _CLASSES.get(plain.get("is", ""))
    if kind is None:
        raise ValueError(f"the saved model has a part {plain.get('is')!r}, unknown here; update walkstep")
    try:
        return kind(**{name: from_plain(entry) for name, entry in plain.items() if name != "is"})
    except TypeError as error:
        raise ValueError(f"the saved model has a damaged part {plain['is']!r} ({error}); save it again") from None
