"""Rows dealt to threads: each row's answer is its own, so that the result is the same for any number of them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise


def in_shares(work: Callable[[slice], None], n_rows: int, *, least: int = 64) -> None:
    """Do the work of all rows, in as many threads as there are processors and rows are worth.

    Parameters
    ----------
    work : callable
        ``(rows)``: does the work of a slice of the rows; compiled loops release the interpreter while they do.
    n_rows : int
    least : int
        A thread gets at least so many rows.

    Examples
    --------
    >>> done = []
    >>> in_shares(done.append, 10)
    >>> done
    [slice(0, 10, None)]
    """
    n = max(1, min(os.cpu_count() or 1, n_rows // least))
    ends = [n_rows * k // n for k in range(n + 1)]
    shares = [slice(first, end) for first, end in pairwise(ends)]
    if n == 1:
        work(shares[0])
        return
    with ThreadPoolExecutor(n) as pool:
        for future in [pool.submit(work, share) for share in shares]:
            future.result()
