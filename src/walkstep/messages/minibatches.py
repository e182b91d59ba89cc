"""Documents dealt to minibatches of one shape."""

import numpy as np

from walkstep.messages.batch import Batch
from walkstep.messages.padding import pad
from walkstep.messages.selection import select_each


def minibatches(batch: Batch, size: int, rng: np.random.Generator) -> list[Batch]:
    """The documents of a batch, about ``size`` at a time; one compiled function serves all parts.

    Documents of a union are dealt by their number of variables, so that parts are about equally large.

    Parameters
    ----------
    batch : Batch
        Of NumPy arrays.
    size : int
        Documents a part.
    rng : Generator
        Which documents meet.
    """
    n = batch.n_documents
    n_parts = max(1, -(-n // max(size, 1)))
    if batch.n_copies > 1:
        order = rng.permutation(n)
        length = -(-n // n_parts)
        firsts = range(0, n, length)
        filled = np.resize(order, len(firsts) * length)  # with documents that do not count
        parts = select_each(batch, [filled[first : first + length] for first in firsts])
        parts[-1].weight[:, n - firsts[-1] :] = 0.0
        return pad(parts)
    if n_parts == 1:
        return pad([batch])
    lengths = np.bincount(np.asarray(batch.document)[:, 0], minlength=n)
    order = rng.permutation(n)
    order = order[np.argsort(-lengths[order], kind="stable")]
    # Long ones first, to and fro over the parts.
    turn = np.arange(n) % (2 * n_parts)
    part_of = np.where(turn < n_parts, turn, 2 * n_parts - 1 - turn)
    return pad(select_each(batch, [np.sort(order[part_of == p]) for p in range(n_parts)]))
