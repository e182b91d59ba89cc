"""What conditions find in a corpus, asked of many positions at once."""

import operator
import re
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from walkstep.features.grounding import values_of
from walkstep.features.observation import Observation
from walkstep.features.properties import kind_of
from walkstep.features.texts import encode
from walkstep.model.conditions import COMPARE, And, Compare, Condition, Distance, Holds, Not, Or, SameSentence, Value

Positions = NDArray[np.int64]


class Evidence:
    """A corpus as arrays, to ask conditions of many positions at once."""

    def __init__(self, observation: Observation) -> None:
        sequences, ptr = observation.sequences, observation.sentence_ptr
        lengths = np.diff(ptr)
        document_start = ptr[sequences.document_ptr]
        self.n_tokens = sequences.n_tokens
        self.sentence = np.repeat(np.arange(len(lengths)), lengths)
        self.document = np.repeat(np.arange(len(document_start) - 1), np.diff(document_start))
        self._start, self._stop = np.repeat(ptr[:-1], lengths), np.repeat(ptr[1:], lengths)
        self._observation = observation
        self._flags: dict[tuple, NDArray[np.bool_]] = {}
        self._keys: dict[tuple, tuple[NDArray[np.uint64], NDArray[np.bool_]]] = {}

    def is_inside(self, positions: Positions, offset: int) -> NDArray[np.bool_]:
        """Whether the sentence reaches that far."""
        at = positions + offset
        return (at >= self._start[positions]) & (at < self._stop[positions])

    def holds(self, condition: Condition, i: Positions, j: Positions) -> NDArray[np.bool_]:
        """Whether a condition holds of each pair of positions."""
        match condition:
            case And(parts):
                return reduce(operator.and_, (self.holds(part, i, j) for part in parts))
            case Or(parts):
                return reduce(operator.or_, (self.holds(part, i, j) for part in parts))
            case Not(part):
                return ~self.holds(part, i, j)
            case Distance(sign, limit):
                return COMPARE[sign](j - i, limit)
            case SameSentence():
                return self.sentence[i] == self.sentence[j]
            case Holds(value):
                return self._ask(value, None, None, i, j)
            case Compare(left, sign, Value() as right):
                (key, is_there), (other, has_other) = self.keys(left, i, j), self.keys(right, i, j)
                equal = is_there & has_other & (key == other)
                return equal if sign == "==" else ~equal
            case Compare(left, sign, str() | int() as right):
                if sign == "!=":
                    return ~self._ask(left, "==", right, i, j)
                return self._ask(left, sign, right, i, j)
        raise TypeError(f"{condition!r} is no condition; build it from the classes of walkstep.model.conditions")

    def keys(self, value: Value, i: Positions, j: Positions) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The key of a value at each position, and whether it is there."""
        wanted = (value.name, value.argument)
        if wanted not in self._keys:
            self._keys[wanted] = self._find_keys(*wanted)
        key, is_there = self._keys[wanted]
        at, is_inside = self._reach(value, i, j)
        return key[at], is_there[at] & is_inside

    def _reach(self, value: Value, i: Positions, j: Positions) -> tuple[Positions, NDArray[np.bool_]]:
        """Where a value stands, and whether that is inside the sentence."""
        positions = i if value.index == "i" else j
        is_inside = self.is_inside(positions, value.offset)
        return np.where(is_inside, positions + value.offset, 0), is_inside

    def _find_keys(self, name: str, argument: int | None) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The key of each token's one value; a flag has one whether it is there or not."""
        layer, ptr, symbol, hash_of_symbol, *_ = values_of(self._observation, name, argument)
        counts = np.diff(ptr)
        rows = self._observation.rows(layer)
        if kind_of(name) == "flag":
            return (counts > 0).astype(np.uint64)[rows], np.ones(self.n_tokens, np.bool_)
        if counts.max(initial=0) > 1:
            raise ValueError(
                f"{name!r} gives several values for one token, so two tokens cannot be compared by it; "
                f'compare it with a text, such as {name}[i] == "..."'
            )
        key = np.zeros(len(counts), np.uint64)
        key[counts > 0] = hash_of_symbol[symbol]
        return key[rows], (counts > 0)[rows]

    def _ask(
        self, value: Value, sign: str | None, literal: str | int | None, i: Positions, j: Positions
    ) -> NDArray[np.bool_]:
        """Whether any value of the property passes; without a sign, whether there is any."""
        question = (value.name, value.argument, sign, literal)
        if question not in self._flags:
            values = values_of(self._observation, value.name, value.argument)
            if sign is None:
                passes = np.ones(len(values.hash_of_symbol), np.bool_)
            elif isinstance(literal, str):
                passes = values.hash_of_symbol == encode([literal]).keys()[0]
            else:
                numbers = np.array([_number(text) for text in values.texts(self._observation)], np.float64)
                passes = COMPARE[sign](numbers, literal)
            row_of_entry = np.repeat(np.arange(len(values.ptr) - 1), np.diff(values.ptr))
            is_hit = np.zeros(len(values.ptr) - 1, np.bool_)
            is_hit[row_of_entry[passes[values.symbol]]] = True
            self._flags[question] = is_hit[self._observation.rows(values.layer)]
        at, is_inside = self._reach(value, i, j)
        return self._flags[question][at] & is_inside


def _number(text: str) -> float:
    """The whole number that a text is; none otherwise."""
    return float(text) if re.fullmatch(r"[+-]?[0-9]{1,15}", text) else float("nan")
