"""What is believed of the variables of a batch, under given weights."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from walkstep.messages.batch import Batch
from walkstep.messages.objectives import Inference
from walkstep.messages.padding import bucket, pad
from walkstep.messages.selection import select


def log_beliefs(batch: Batch, weights: ArrayLike, inference: Inference, *, precise: bool = False) -> NDArray:
    """The log of each value's chance, (K, V, B); of max-product, of the best world with that value, normalised alike.

    Batches are brought to sizes of which there are few, so that little is compiled.

    Parameters
    ----------
    batch : Batch
        Of NumPy arrays.
    weights : float array (n_weights,)
    inference : Inference
    precise : bool
        In double precision.
    """
    n_variables, n_copies = batch.truth.shape
    more = select(batch, np.arange(bucket(n_copies)) % n_copies) if n_copies > 1 else batch
    padded = pad([more])[0]
    with jax.enable_x64(precise):
        found = _log_beliefs(jnp.asarray(weights, float if precise else jnp.float32), padded, inference)
        return np.asarray(found)[:, :n_variables, :n_copies]


@partial(jax.jit, static_argnames="inference")
def _log_beliefs(weights: Array, batch: Batch, inference: Inference) -> Array:
    return inference.log_beliefs(batch, batch.tables.scores(weights))
