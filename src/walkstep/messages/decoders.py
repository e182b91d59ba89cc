"""From beliefs to answers: soft ones to learn through, certain ones to give."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from numpy.typing import NDArray

from walkstep.messages.folds import log_sum

_MOST_EXACT = 256  # variables of which counts are taken one by one, at cubic cost


def soften(log_beliefs: Array, temperature: ArrayLike) -> Array:
    """The stochastic decoder: each value in proportion to its chance to the power 1 / temperature (section 5.1).

    At temperature 1 answers are the beliefs themselves; towards 0 it picks the most probable value.

    Parameters
    ----------
    log_beliefs : Array (K, V, B)
    temperature : float
    """
    given = log_beliefs / temperature
    return jnp.exp(given - log_sum(given))


def most_probable(log_beliefs: Array) -> Array:
    """The best value of each variable by itself (V, B).

    Of sum-product beliefs it has the least expected number of wrong values (Eq. 2 for accuracy); of max-product
    beliefs it is the best world.
    """
    return jnp.argmax(log_beliefs, axis=0).astype(jnp.int32)


def best_f1(chances: NDArray[np.floating], *, outside: int = 0) -> NDArray[np.int32]:
    """Values with the best F-measure to be expected (Eq. 2), variables taken to be independent given their chances.

    With k values found and W wanted, the expected F-measure is the sum over what is found of its chance times
    E[2 / (k + W)] where it is right: for each k the k largest terms are the best (Dembczyński et al., 2011). An answer
    of nothing has F-measure 1 where nothing is wanted. Of very many variables W is taken to be what is expected of it.

    Parameters
    ----------
    chances : float array (n_variables, n_values)
        Of one document, or of all that are pooled.
    outside : int
        The value that is not counted.

    Examples
    --------
    >>> best_f1(np.array([[0.2, 0.8], [0.55, 0.45], [0.95, 0.05]]))
    array([1, 1, 0], dtype=int32)
    """
    given = np.asarray(chances, dtype=np.float64)
    inner = given.copy()
    inner[:, outside] = -np.inf
    values = inner.argmax(axis=1)
    gain = inner[np.arange(len(inner)), values]  # the chance to be right
    is_wanted = 1.0 - given[:, outside]
    exact = len(given) <= _MOST_EXACT
    best, chosen = float(np.prod(given[:, outside])), np.zeros(0, np.int64)
    n = np.arange(len(given)) + 1
    if exact:
        terms = 2.0 * gain[:, None] * _mean_inverse(is_wanted)
        order = np.argsort(-terms, axis=0, kind="stable")
        score = np.take_along_axis(terms, order, axis=0).cumsum(axis=0).diagonal()
    else:
        order = np.argsort(-gain, kind="stable")
        score = 2.0 * np.cumsum(gain[order]) / (n + is_wanted.sum())
    k = int(score.argmax()) if len(score) else 0
    if len(score) and score[k] >= best:
        chosen = (order[:, k] if exact else order)[: k + 1]
    answer = np.full(len(given), outside, np.int32)
    answer[chosen] = values[chosen]
    return answer


def _mean_inverse(is_wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[1 / (k + 1 + how many of the other variables are wanted)] for each variable and k = 1, 2, ...: (V, V)."""
    n = len(is_wanted)
    chance = np.zeros((n, n))  # of each number of wanted ones among the others of each variable
    chance[:, :1] = 1.0
    for v, p in enumerate(is_wanted):
        others = np.arange(n) != v
        fresh = chance[others] * (1.0 - p)
        fresh[:, 1:] += chance[others, :-1] * p
        chance[others] = fresh
    count = np.arange(n)
    return chance @ (1.0 / (count[:, None] + count + 2.0))
