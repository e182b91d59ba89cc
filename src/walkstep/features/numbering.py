"""Numbers of 64-bit keys that can be added to, again and again, at the cost of what is added."""

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import build_table, distinct_keys, find_keys


class Numbering:
    """A frozen numbering in layers; `add` makes the next one.

    Examples
    --------
    >>> number, new, numbering = Numbering().add(np.array([7, 9, 7], np.uint64), 0)
    >>> number.tolist(), new.tolist()
    ([0, 1, 0], [0, 1])
    >>> numbering.add(np.array([5, 9], np.uint64), 2)[0].tolist()
    [2, 1]
    """

    def __init__(self, layers: tuple["_Layer", ...] = ()) -> None:
        self.layers = layers

    def add(self, keys: NDArray[np.uint64], start: int) -> tuple[NDArray[np.int32], NDArray[np.int64], "Numbering"]:
        """The number of each key, which of them were first seen here, and the numbering that knows them.

        New keys are numbered from ``start`` on, in order of first sight.
        """
        number = np.full(len(keys), -1, np.int32)
        for layer in self.layers:
            unknown = np.flatnonzero(number < 0)
            found = find_keys(layer.table(), keys[unknown])
            number[unknown[found >= 0]] = layer.numbers[found[found >= 0]]
        unknown = np.flatnonzero(number < 0)
        among, first = distinct_keys(keys[unknown])
        number[unknown] = start + among
        new = unknown[first]
        if len(new) == 0:
            return number, new, self
        layers = [*self.layers, _Layer(keys[new], np.arange(start, start + len(new), dtype=np.int32))]
        # A layer is at least twice the next: few of them, and each key moves up a few times only.
        while len(layers) > 1 and len(layers[-2].keys) < 2 * len(layers[-1].keys):
            last, before = layers.pop(), layers.pop()
            merged = np.concatenate([before.keys, last.keys]), np.concatenate([before.numbers, last.numbers])
            layers.append(_Layer(*merged))
        return number, new, Numbering(tuple(layers))


class _Layer:
    """Some keys and their numbers, with a table made when first asked."""

    def __init__(self, keys: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        self.keys, self.numbers = keys, numbers
        self._table: NDArray[np.uint64] | None = None

    def table(self) -> NDArray[np.uint64]:
        if self._table is None:
            self._table = build_table(self.keys)
        return self._table
