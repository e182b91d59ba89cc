"""The graphs that all message passing is measured on, what counts as a message, and the answer to agree with.

A message is one from a factor to a variable, of K numbers (or their log odds), made once in each round: a factor of two
variables makes two. The message back, from the variable to the factor, is part of the same work and is not counted.
"""

from typing import NamedTuple

import numpy as np

N_ROUNDS = 10


class Problem(NamedTuple):
    """Graphs of one structure, with scores of their own, in single precision."""

    scope: np.ndarray  # int (2, F): the variables of each factor
    own: np.ndarray  # (K, V, B)
    table: np.ndarray  # (K, K, F, B)

    @property
    def n_messages(self) -> int:
        """In all graphs, in one round."""
        return self.scope.size * self.own.shape[-1]


def problem(shape: str, n_copies: int, seed: int = 0) -> Problem:
    """So many graphs of one of two shapes.

    "labels" is 14 labels, on or off, all joined (the Yeast set has 2,417 such rows); "tokens" is 100 tokens of 9 tags
    each, each joined to the next, and every other one to the one twenty places on.
    """
    if shape == "labels":
        n_values, n_variables = 2, 14
        scope = np.stack(np.triu_indices(n_variables, 1))
    else:
        n_values, n_variables = 9, 100
        chain, skip = np.arange(n_variables - 1), np.arange(0, n_variables - 20, 2)
        scope = np.stack([np.concatenate([chain, skip]), np.concatenate([chain + 1, skip + 20])])
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((n_values, n_variables, n_copies), dtype=np.float32)
    table = 0.3 * rng.standard_normal((n_values, n_values, scope.shape[1], n_copies), dtype=np.float32)
    return Problem(scope, own, table)


def exact_rounds(given: Problem, n_rounds: int = N_ROUNDS) -> np.ndarray:
    """Marginals (K, V, B) after so many rounds of flooding in double precision, factor by factor."""
    own, table = given.own.astype(np.float64), given.table.astype(np.float64)
    messages = np.zeros((2, given.scope.shape[1], own.shape[0], own.shape[2]))

    def heard():
        total = own.copy()
        for f, variables in enumerate(given.scope.T):
            total[:, variables] += messages[:, f].swapaxes(0, 1)
        return total

    for _ in range(n_rounds):
        believed = heard()
        for f, (left, right) in enumerate(given.scope.T):
            to_left, to_right = messages[:, f].copy()
            messages[0, f] = _log_sum(table[:, :, f] + (believed[:, right] - to_right)[None], 1)
            messages[1, f] = _log_sum(table[:, :, f] + (believed[:, left] - to_left)[:, None], 0)
        messages -= messages.max(axis=2, keepdims=True)
    believed = heard()
    return np.exp(believed - _log_sum(believed, 0))


def check_marginals(marginals: np.ndarray, given: Problem, n_copies: int = 5, atol: float = 2e-5) -> None:
    """Refuse the speed of messages that say something else: marginals (K, V, B or fewer) of the first graphs."""
    few = Problem(given.scope, given.own[..., :n_copies], given.table[..., :n_copies])
    gap = float(np.abs(marginals[..., :n_copies] - exact_rounds(few)[..., : marginals.shape[-1]]).max())
    if not gap <= atol:
        raise ValueError(f"marginals differ by {gap:.2g} from those of {N_ROUNDS} rounds, more than {atol:.2g}")


def _log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    top = x.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(x - top).sum(axis=axis))
