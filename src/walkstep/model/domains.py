"""What a label variable can be: a named list of values."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""Code of a value that the truth does not say."""


@dataclass(frozen=True)
class Domain:
    """The values a label variable can take, in a fixed order.

    Parameters
    ----------
    name : str
        What the variables are called in templates: ``tag``, ``label``, ...
    values : tuple of str
        The values; a variable holds the position of one of them.

    Examples
    --------
    >>> tag = Domain("tag", ("O", "B-PER", "I-PER"))
    >>> tag.encode(["O", "I-PER", None])
    array([ 0,  2, -1], dtype=int32)
    >>> tag.decode([2, 0])
    ['I-PER', 'O']
    """

    name: str
    values: tuple[str, ...]
    _code_of: dict[str | None, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if not self.values:
            raise ValueError(f"domain {self.name!r} has no values; give it at least one")
        code_of: dict[str | None, int] = {value: code for code, value in enumerate(self.values)}
        if len(code_of) != len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise ValueError(f"domain {self.name!r} names the value {twice!r} twice; name it once")
        code_of[None] = UNKNOWN
        object.__setattr__(self, "_code_of", code_of)

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, values: Iterable[str | None]) -> NDArray[np.int32]:
        """Codes of values; ``None`` becomes ``UNKNOWN``."""
        values = list(values)
        try:
            return np.fromiter(map(self._code_of.__getitem__, values), dtype=np.int32, count=len(values))
        except KeyError as error:
            at = values.index(error.args[0])
            known = ", ".join(self.values[:12]) + (", ..." if len(self.values) > 12 else "")
            raise ValueError(
                f"value {error.args[0]!r} at position {at} is not in domain {self.name!r} ({known}); "
                "train on data that shows it, or pass None where the truth is unknown"
            ) from None

    def decode(self, codes: Iterable[int]) -> list[str]:
        """Values of codes."""
        values = self.values
        return [values[code] for code in np.asarray(codes).tolist()]
