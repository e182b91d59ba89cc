"""How many threads multiply matrices: one where they are small, for threads that wait for each other do more harm."""

from threadpoolctl import threadpool_limits

_FEW = 50_000_000


def suiting_threads(n_products: int) -> threadpool_limits:
    """A context in which BLAS has one thread, if there are few products, and otherwise as many as before.

    Small matrices that are multiplied over and over gain little from many threads, and on a machine that is busy with
    other things lose most of their time to them.

    Parameters
    ----------
    n_products : int
        Of the largest matrices that are multiplied often.

    Examples
    --------
    >>> import numpy as np
    >>> with suiting_threads(1000):
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    return threadpool_limits(1 if n_products < _FEW else None, user_api="blas")
