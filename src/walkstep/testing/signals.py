"""A check of signals: that what they say of single changes is the whole metric after minus before."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import Seed, as_generator
from walkstep.worlds.signals import begin, gain, record


def check_signal(
    signal: Any,
    values: ArrayLike,
    truth: ArrayLike,
    document_ptr: ArrayLike,
    n_values: ArrayLike,
    metric: Callable[[NDArray[np.int32], NDArray[np.int32]], float],
    *,
    n_changes: int = 200,
    rng: Seed = 0,
) -> None:
    """Walk through random single changes of each document, and ask both the signal and the metric.

    Where the truth of a variable is unknown the signal must be 0, whatever the metric says.

    Parameters
    ----------
    signal : signal
        One of `walkstep.worlds.signals`, such as what `as_signal` gives.
    values, truth : int arrays (n_variables,)
        Where to start, and the truth, -1 where it is unknown.
    document_ptr : int array (n_documents + 1,)
        Documents as ranges of variables.
    n_values : int or int array (n_variables,)
        The size of each variable's domain.
    metric : callable
        ``(values, truth) -> float`` of one whole document, on the signal's own scale.
    n_changes : int
        How many changes to make in each document.
    rng : int or Generator

    Examples
    --------
    >>> from walkstep.worlds import Hamming
    >>> n_right = lambda values, truth: (values == truth).sum()
    >>> check_signal(Hamming(), [0, 1, 1], [0, 0, 1], [0, 3], 2, n_right)
    """
    rng = as_generator(rng)
    now = np.array(values, dtype=np.int32)
    true = np.array(truth, dtype=np.int32)
    sizes = np.broadcast_to(np.asarray(n_values), now.shape)
    ptr = np.asarray(document_ptr, dtype=np.int64)
    for document in np.flatnonzero(np.diff(ptr)):
        window = ptr[document : document + 2].copy()
        here = slice(*window.tolist())
        _begin(signal, now, true, window)
        for _ in range(n_changes):
            site = int(rng.integers(*window))
            value = int(rng.integers(sizes[site]))
            kept, old = now.copy(), int(now[site])
            before = metric(kept[here], true[here])
            said = _gain(signal, now, true, window, site, value)
            what = f"signal {type(signal).__name__}, document {document}, variable {site} from {old} to {value}"
            changed = np.flatnonzero(now != kept)
            assert not len(changed), (
                f"{what}: asking changed variable {changed[0]} to {now[changed[0]]}; leave the values as they were"
            )
            now[site] = value
            after = metric(now[here].copy(), true[here])
            expected = after - before if true[site] >= 0 else 0.0
            if not np.isclose(said, expected, rtol=1e-9, atol=1e-9):
                now[site] = old
                _begin(signal, now, true, window)
                is_stale = np.isclose(_gain(signal, now, true, window, site, value), expected, rtol=1e-9, atol=1e-9)
                way_out = (
                    "counting anew it is right, so keep the counts true in record" if is_stale else _way_out(true[site])
                )
                raise AssertionError(f"{what}: it says {said:g}, but the metric says {expected:g}; {way_out}")
            now[site] = old
            _record(signal, now, true, window, site, value)
            now[site] = value


def _way_out(true: int) -> str:
    """What to do about a wrong answer."""
    if true < 0:
        return "return 0 where the truth is unknown"
    return "return the metric after minus before, on the metric's scale"


@compiled(allocates=False)
def _begin(signal, values, truth, window):
    begin(signal, values, truth, window)


@compiled(allocates=False)
def _gain(signal, values, truth, window, site, value):
    return gain(signal, values, truth, window, site, value)


@compiled(allocates=False)
def _record(signal, values, truth, window, site, value):
    record(signal, values, truth, window, site, value)
