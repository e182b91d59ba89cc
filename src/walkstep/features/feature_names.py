"""Names of features, kept as parts and put together when asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.features.expression import Conjunction, Expression
from walkstep.features.grounding import Ground, decode_parts, values_of
from walkstep.features.observation import Observation
from walkstep.features.properties import PROPERTIES, parts_of
from walkstep.features.texts import pack, unpack


class FeatureNames:
    """For each expression, the texts of its features' parts, each distinct text stored once."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._parts: list[NDArray[np.int32]] = []  # one array a part of each expression, one entry a feature

    def add(
        self,
        observation: Observation,
        expression: Expression,
        grounded: Ground,
        is_kept: NDArray[np.bool_],
    ) -> None:
        """Note the features of the next expression."""
        if isinstance(expression, Conjunction):
            symbols = [part[is_kept] for part in decode_parts(observation, expression, grounded)]
        else:
            symbols = [np.flatnonzero(is_kept)]
        for part, symbol in zip(parts_of(expression), symbols, strict=True):
            values = values_of(observation, part.name, part.argument)
            texts = values.beyond(getattr(part, "offset", 0)).texts(observation)
            number = self._number
            distinct, place = np.unique(symbol, return_inverse=True)
            numbers = [number.setdefault(texts[s], len(number)) for s in distinct.tolist()]
            self._parts.append(np.array(numbers, np.int32)[place])

    def render(self, expressions: Sequence[Expression]) -> list[str]:
        """All names, in the features' order."""
        texts = list(self._number)
        names: list[str] = []
        columns = iter(self._parts)
        for expression in expressions:
            labelled = []
            for part in parts_of(expression):
                known = PROPERTIES.get(part.name)
                is_flag = known is not None and known.kind == "flag"
                label = str(part)
                labelled.append([label if is_flag else f"{label}={texts[number]}" for number in next(columns).tolist()])
            names += labelled[0] if len(labelled) == 1 else map("&".join, zip(*labelled, strict=True))
        return names

    def state(self) -> dict[str, NDArray[Any]]:
        """Plain arrays that :meth:`from_state` rebuilds the names from."""
        lengths = np.array([len(part) for part in self._parts], np.int64)
        return {
            **pack(list(self._number)),
            "part": np.concatenate([np.zeros(0, np.int32), *self._parts]),
            "part_lengths": lengths,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> "FeatureNames":
        """The names that :meth:`state` described."""
        names = cls()
        names._number = {text: k for k, text in enumerate(unpack(state))}
        names._parts = np.split(np.asarray(state["part"]), np.cumsum(state["part_lengths"])[:-1])
        return names
