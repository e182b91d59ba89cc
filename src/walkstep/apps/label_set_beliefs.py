"""What is believed of the labels of rows after so many rounds of messages, in NumPy.

It is the inference that weights were trained for by messages (`label_set_messages`), without JAX.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

_CELLS_AT_ONCE = 1 << 19


def believed_log_odds(
    log_odds: NDArray[np.float64],
    coupling: NDArray[np.float64],
    *,
    inference: Literal["sum-product", "max-product"] = "sum-product",
    n_rounds: int = 10,
    damping: float = 0.0,
) -> NDArray[np.float64]:
    """The log odds of each label of each row (n_rows, n_labels); of max-product, of the best sets with and without it.

    All labels tell all labels that they are coupled to, so many times; exact where couplings close no cycle and there
    are rounds enough to get from end to end.

    Parameters
    ----------
    log_odds : float array (n_rows, n_labels)
        With all other labels off.
    coupling : float array (n_labels, n_labels)
        Symmetric, with zeros on the diagonal.
    inference : {"sum-product", "max-product"}
    n_rounds : int
    damping : float
        The share of its last message that is kept.

    Examples
    --------
    >>> coupling = np.array([[0.0, -3.0], [-3.0, 0.0]])
    >>> chances = 1.0 / (1.0 + np.exp(-believed_log_odds(np.array([[1.0, 2.0]]), coupling)))
    >>> chances.round(2)
    array([[0.31, 0.69]])
    """
    first, second = np.nonzero(np.triu(coupling, 1))
    if len(first) == 0:
        return np.array(log_odds, dtype=np.float64)
    n_labels, n_pairs = len(coupling), len(first)
    between = coupling[first, second][:, None]
    said = _maximum if inference == "max-product" else _sum
    # Which messages each label hears: those to the first of a pair, then those to the second.
    ends = np.concatenate([first, second])
    hears = csr_array((np.ones(2 * n_pairs), (ends, np.arange(2 * n_pairs))), shape=(n_labels, 2 * n_pairs))
    others = np.concatenate([np.arange(n_pairs, 2 * n_pairs), np.arange(n_pairs)])
    both = np.concatenate([between, between])
    answer = np.empty(log_odds.shape)
    size = max(1, _CELLS_AT_ONCE // n_pairs)
    for begin in range(0, len(log_odds), size):
        own = np.ascontiguousarray(log_odds[begin : begin + size].T)
        messages = np.zeros((2 * n_pairs, own.shape[1]))
        heard = own
        for _ in range(n_rounds):
            told = heard[ends] - messages
            fresh = said(told[others], both)
            messages = fresh if damping == 0.0 else (1.0 - damping) * fresh + damping * messages
            heard = own + hears @ messages
        answer[begin : begin + size] = heard.T
    return answer


def _sum(told: NDArray[np.float64], between: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(0.0, told + between) - np.logaddexp(0.0, told)


def _maximum(told: NDArray[np.float64], between: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(told + between, 0.0) - np.maximum(told, 0.0)
