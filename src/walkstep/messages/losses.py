"""What an answer costs: differentiable where answers are distributions, and the metric itself where they are certain.

A loss is a function of what was decoded (K, V, B), a distribution over the values of each variable, and of the batch
with the truth; it gives one number, lower is better. Values whose truth is not known count nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.errors import ConcretizationTypeError, TracerArrayConversionError

from walkstep.messages.batch import Batch
from walkstep.messages.folds import fold_sum

Loss = Callable[[Array, Batch], Array]
TINY = 1e-30


def is_true(decoded: Array, batch: Batch) -> Array:
    """1 at the right value of each variable (K, V, B); nowhere where it is not known."""
    values = jnp.arange(decoded.shape[0])[:, None, None]
    return (values == batch.truth).astype(decoded.dtype)


def _mean(of_variable: Array, batch: Batch) -> Array:
    """By weight, over variables."""
    weight = jnp.asarray(batch.weight, of_variable.dtype)
    return (weight * of_variable).sum() / jnp.maximum(weight.sum(), TINY)


def _over_values(x: Array) -> Array:
    return fold_sum(x)[0]


def accuracy(decoded: Array, batch: Batch) -> Array:
    """The expected share of wrong values."""
    return _mean(1.0 - _over_values(decoded * is_true(decoded, batch)), batch)


def squared_error(decoded: Array, batch: Batch) -> Array:
    """The squared distance of distributions from the truth."""
    return _mean(_over_values((decoded - is_true(decoded, batch)) ** 2), batch)


def absolute_error(decoded: Array, batch: Batch) -> Array:
    """The L1 distance of distributions from the truth, which is twice the expected share of wrong values."""
    return _mean(_over_values(jnp.abs(decoded - is_true(decoded, batch))), batch)


def log_loss(decoded: Array, batch: Batch) -> Array:
    """Minus the log probability of the right value of each variable by itself."""
    right = _over_values(decoded * is_true(decoded, batch))
    return _mean(-jnp.log(jnp.maximum(right, TINY)), batch)


def f_measure(decoded: Array, batch: Batch, *, outside: int = 0, beta: float = 1.0, by_document: bool = False) -> Array:
    """One minus the F-measure of values other than ``outside``, counts in place of which expected ones stand.

    Of certain answers it is the F-measure itself. All documents are pooled or, ``by_document``, it is the mean over
    them; a document where nothing is to be found and nothing is found has F-measure 1.
    """
    weight = jnp.asarray(batch.weight, decoded.dtype)
    inside = jnp.asarray((np.arange(decoded.shape[0]) != outside)[:, None, None], decoded.dtype)
    truth = is_true(decoded, batch) * inside
    hits, found, wanted = (_over_values(part) * weight for part in (decoded * truth, decoded * inside, truth))
    if by_document:
        hits, found, wanted = map(batch.by_document, (hits, found, wanted))
        counts = (batch.by_document(weight) > 0.0).astype(weight.dtype)
    else:
        hits, found, wanted = hits.sum(), found.sum(), wanted.sum()
        counts = jnp.ones(())
    below = beta**2 * wanted + found
    score = jnp.where(below > 0.0, (1.0 + beta**2) * hits / jnp.where(below > 0.0, below, 1.0), 1.0)
    return (counts * (1.0 - score)).sum() / jnp.maximum(counts.sum(), TINY)


LOSSES: dict[str, Loss] = {
    "accuracy": accuracy,
    "mse": squared_error,
    "l1": absolute_error,
    "log-likelihood": log_loss,
    "f1": f_measure,
    "label-set-f1": partial(f_measure, by_document=True),
}


def as_loss(given: str | Callable[..., Any], n_values: int = 2) -> Loss:
    """A loss by name, or a function of the user's, ``(decoded, truth, weight) -> number`` in JAX, tried once.

    Parameters
    ----------
    given : str or callable
        ``decoded`` (K, V, B) are distributions over K values, ``truth`` (V, B) is -1 where it is not known, and
        ``weight`` (V, B) 0 where a variable does not count.
    n_values : int
        The K that a function is tried with.

    Examples
    --------
    >>> as_loss("acuracy")
    Traceback (most recent call last):
    ...
    ValueError: loss is 'acuracy'; choose one of accuracy, mse, l1, log-likelihood, f1, label-set-f1, or pass a function
    """
    if isinstance(given, str):
        if given not in LOSSES:
            raise ValueError(f"loss is {given!r}; choose one of {', '.join(LOSSES)}, or pass a function")
        return LOSSES[given]
    loss = _UserLoss(given)
    loss.check(n_values)
    return loss


class _UserLoss:
    """A function of the user's; equal to others of the same function, so that it is compiled once."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._name = getattr(function, "__name__", repr(function))

    def __call__(self, decoded: Array, batch: Batch) -> Array:
        return self._function(decoded, jnp.asarray(batch.truth), jnp.asarray(batch.weight, decoded.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UserLoss) and self._function is other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def check(self, n_values: int) -> None:
        """Refuse what has no gradient that could be followed."""
        rng = np.random.default_rng(0)
        chances = jnp.asarray(rng.dirichlet(np.ones(n_values), size=(3, 4)).transpose(2, 0, 1))
        truth, weight = jnp.asarray(rng.integers(0, n_values, (3, 4))), jnp.ones((3, 4), chances.dtype)
        way_out = "compose it of jax.numpy functions of the distributions, without argmax, rounding or NumPy"
        try:
            shape = jax.eval_shape(self._function, chances, truth, weight).shape
            if shape != ():
                raise ValueError(f"loss {self._name!r} gives an array of shape {shape}; give one number, as a mean is")
            value, slope = jax.jit(jax.value_and_grad(self._function))(chances, truth, weight)
        except (TracerArrayConversionError, ConcretizationTypeError, TypeError) as error:
            raise TypeError(f"loss {self._name!r} cannot be differentiated by JAX; {way_out}") from error
        if not np.isfinite(value):
            raise ValueError(f"loss {self._name!r} is {value} of ordinary distributions; {way_out}")
        if not np.isfinite(slope).all():
            raise ValueError(f"loss {self._name!r} has a slope that is not finite; {way_out}")
        if not np.asarray(slope).any():
            raise ValueError(f"the slope of loss {self._name!r} is 0 everywhere, so nothing is learned; {way_out}")
