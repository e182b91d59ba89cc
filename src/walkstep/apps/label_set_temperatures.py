"""Which answers suit a model that walked: whole sets or single labels, and how sharp, asked of rows held out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from walkstep.apps.label_set_inference import best_label_sets, label_marginals
from walkstep.apps.label_set_training import LabelSetTraining
from walkstep.model.domains import UNKNOWN

# Candidates: 0 is the best whole set, the others cut marginals at one half.
_TEMPERATURES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
_N_FOLDS = 3


class LabelSetTemperatures(NamedTuple):
    """Of marginals, those that are cut at one half (or 0 for the best whole set) and those that are given."""

    decision: float = 1.0
    proba: float = 1.0
    interrupted: bool = False  # some of the training was ended from the keyboard


def choose_temperatures(
    train: Callable[[Any, NDArray[np.int32], np.random.Generator], LabelSetTraining],
    X: Any,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    seed: int,
) -> LabelSetTemperatures:
    """Hold out a third of the rows at a time; see which answers would have been best there.

    Parameters
    ----------
    train : callable
        ``(X, truth, rng) -> LabelSetTraining``
    X : array or sparse matrix (n_rows, n_features)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    rng : Generator
    seed : int
        Of answers that are searched for.
    """
    n_rows = len(truth)
    if n_rows < 2 * _N_FOLDS:
        return LabelSetTemperatures()
    interrupted = False
    n_wrong = np.zeros(len(_TEMPERATURES))
    loss = np.zeros(len(_TEMPERATURES))
    for rest, held_out in KFold(_N_FOLDS).split(order := rng.permutation(n_rows)):
        rest, held_out = np.sort(order[rest]), np.sort(order[held_out])
        if (truth[rest] == UNKNOWN).all(axis=0).any():
            continue
        trained = train(X[rest], truth[rest], rng)
        interrupted |= trained.interrupted
        coupling = trained.model.coupling
        log_odds = trained.model.log_odds(trained.features.transform(X[held_out]))
        told = truth[held_out] != UNKNOWN
        is_on = truth[held_out] == 1
        for t, temperature in enumerate(_TEMPERATURES):
            if temperature == 0.0:
                guess, loss[t] = best_label_sets(log_odds, coupling, rng=seed) == 1, np.inf
            else:
                chance = label_marginals(log_odds, coupling, temperature=temperature, rng=seed)
                guess = chance > 0.5
                right = np.clip(np.where(is_on, chance, 1.0 - chance), 1e-12, 1.0)
                loss[t] -= np.log(right[told]).sum()
            n_wrong[t] += (guess != is_on)[told].sum()
    if not n_wrong.any():
        return LabelSetTemperatures(interrupted=interrupted)
    best = _TEMPERATURES[int(n_wrong.argmin())], _TEMPERATURES[int(loss.argmin())]
    return LabelSetTemperatures(*best, interrupted)
