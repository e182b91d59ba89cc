"""Between variables and the factors that join them: what each variable hears, and what of it is told to each factor.

Scatters and gathers along the axis of places. On a GPU a table of places that each variable gathers from was a tenth
faster forward and a third slower with gradients, which is not worth a second way.
"""

from collections.abc import Sequence

import numpy as np
from jax import Array
from numpy.typing import NDArray

Scopes = Sequence[Array | NDArray[np.integer]]
"""Of each class of factors, (arity, F): its variables."""


def hear(own: Array, scopes: Scopes, messages: Sequence[Sequence[Array]]) -> Array:
    """Own scores (..., V, B) with all messages to each variable added.

    Parameters
    ----------
    own : Array (..., V, B)
    scopes : sequence of int arrays (arity, F)
    messages : of each class, of each slot, (..., F, B)
        Those of variables with fewer values than others are shorter than ``own`` along the first axis.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> chain = [np.array([[0, 1], [1, 2]])]  # 0 - 1 - 2
    >>> to_left, to_right = jnp.array([[1.0], [2.0]]), jnp.array([[10.0], [20.0]])
    >>> hear(jnp.zeros((3, 1)), chain, [(to_left, to_right)]).ravel().tolist()
    [1.0, 12.0, 20.0]
    """
    for scope, of in zip(scopes, messages, strict=True):
        for variables, m in zip(scope, of, strict=True):
            at = own.at[variables] if own.ndim == 2 else own.at[: m.shape[0], variables]
            own = at.add(m)
    return own


def by_factor(of_variables: Array, scopes: Scopes) -> list[list[Array]]:
    """What is said of variables (..., V, B), for the variables of each class, slot by slot: (..., F, B).

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> one, other = by_factor(jnp.array([[1.0], [2.0], [3.0]]), [np.array([[0, 1], [1, 2]])])[0]
    >>> one.ravel().tolist(), other.ravel().tolist()
    ([1.0, 2.0], [2.0, 3.0])
    """
    return [[of_variables[..., variables, :] for variables in scope] for scope in scopes]
