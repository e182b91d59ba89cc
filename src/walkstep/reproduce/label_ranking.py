"""Rankings of nine published sets, ten-fold: maximum a posteriori over permutations beside what ranks without them.

The paper (Vembu, Gaertner and Boley, 2009) has no experiments; label ranking is one of its settings (section 6). Eight
of the sets are those that Cheng, Huehn and Huellermeier (2009) made of classification and regression sets; the ninth is
Kamishima's survey of sushi.

Every model gets the same folds, standardised columns, and an inner three-fold cross-validation on the training rows for
what it leaves open. `LabelRanker` comes as it is. Beside it stand:

- logistic per label: the place of each label by multinomial logistic regression, labels sorted by the expected place;
- logistic per pair: the order of every two labels by logistic regression, labels sorted by how many others they are
  expected to beat (ranking by pairwise comparison, Huellermeier et al., 2008);
- instance-based Mallows: the centre of a Mallows model of the nearest training rows, by maximum likelihood;
- what the features that were chosen for `LabelRanker` give by other ways of learning: from samples, the paper's, and by
  SampleRank.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from walkstep.apps.label_ranker import LabelRanker
from walkstep.data.catalogue import find
from walkstep.data.readers import read_ranked_rows
from walkstep.evaluation.rankings import kendall_taus
from walkstep.evaluation.significance import permutation_test
from walkstep.inference.ranking_lattice import best_rankings
from walkstep.worlds.permutation import Permutations

NAME = "label-ranking"
METRIC = "Kendall tau"
N_FOLDS, N_INNER = 10, 3

SETS = ("iris", "wine", "glass", "vehicle", "authorship", "housing", "stock", "vowel", "sushi")

OURS = "LabelRanker"
LOGISTIC = ("logistic per label", "logistic per pair")
MALLOWS = "instance-based Mallows"
OTHERS = {"sampled MAP": "sampled-map", "SampleRank": "samplerank"}
"""Other ways of learning, with the features and the prior that were chosen for `LabelRanker`."""

COSTS = (0.03, 0.3, 3.0, 30.0)  # C, one over what squared weights of logistic regression cost
NEIGHBOURS = (5, 10, 20, 40, 80, 160)
_MAX_INNER = 2000  # rows of the inner cross-validation, as `LabelRanker` has them

Places = NDArray[np.float64]
Ranker = Callable[[NDArray[np.float64], Places, NDArray[np.float64]], Places]
Baseline = Callable[[NDArray[np.float64], Places, NDArray[np.float64], float], Places]


def run(seed: int, quick: bool = False, progress: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Train every model on every fold of every set.

    Parameters
    ----------
    seed : int
        Of the folds and of what is random in training.
    quick : bool
        Two small sets, three folds: figures for no table.
    progress : callable, optional
        Called with a line of text for each set.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. The mean Kendall tau of held-out rows; the bar counts the sets on which
        `LabelRanker` is above both logistic baselines.
    """
    began = time.perf_counter()
    folder = find("label_ranking")
    rows: list[dict[str, Any]] = []
    n_wins = 0
    for name in ("iris", "glass") if quick else SETS:
        table = read_ranked_rows(folder / f"{name}.csv")
        assert table.rankings is not None
        found = cross_validated(table.X, table.rankings.places, seed, 3 if quick else N_FOLDS)
        best = max(LOGISTIC, key=lambda one: found[one].mean())
        n_wins += bool(found[OURS].mean() > found[best].mean())
        rows += _rows(name, found, best, seed)
        if progress is not None:
            progress(f"{name}: " + ", ".join(f"{model} {taus.mean():.4f}" for model, taus in found.items()))
    bars = [{"id": "ranking-wins", "ours": n_wins}]
    return {"name": NAME, "seed": seed, "seconds": round(time.perf_counter() - began, 1), "rows": rows, "bars": bars}


def _rows(name: str, found: dict[str, NDArray[np.float64]], best: str, seed: int) -> list[dict[str, Any]]:
    """The rows of one set."""
    rows = []
    for model, taus in found.items():
        note = f"± {taus.std(ddof=1) / np.sqrt(len(taus)):.4f}"
        if model == OURS:
            note += f"; p = {_by_chance(taus, found[best], seed):.4f} against {best}"
        rows.append(
            {
                "row": f"{name} {model}",
                "metric": METRIC,
                "paper": None,
                "ours": round(float(taus.mean()), 4),
                "note": note,
            }
        )
    return rows


def _by_chance(taus: NDArray[np.float64], others: NDArray[np.float64], seed: int) -> float:
    """How likely so large a difference of two means over the same rows is if models do not differ."""
    one, other = (np.stack([of, np.ones(len(of))], axis=1) for of in (taus, others))
    return permutation_test(one, other, metric=lambda sums: float(sums[0] / sums[1]), seed=seed).p_value


def cross_validated(X: NDArray[np.float64], places: Places, seed: int, n_folds: int) -> dict[str, NDArray[np.float64]]:
    """The tau of every row as each model has it that has not seen the row's fold."""
    found: dict[str, NDArray[np.float64]] = {}
    for train, held_out in KFold(n_folds, shuffle=True, random_state=seed).split(X):
        for model, guessed in _answers(X[train], places[train], X[held_out], seed):
            found.setdefault(model, np.zeros(len(X)))[held_out] = kendall_taus(places[held_out], guessed)
    return found


def _answers(X: NDArray[np.float64], places: Places, X_new: NDArray[np.float64], seed: int) -> list[tuple[str, Any]]:
    """The places of labels in new rows, by every model."""
    ours = LabelRanker(random_state=seed).fit(X, places)
    chosen = {"features": ours.features_.kind, "bandwidth": ours.bandwidth_, "sigma": ours.sigma_}
    answers: list[tuple[str, Any]] = [(OURS, ours.predict_places(X_new))]
    for name, learner in OTHERS.items():
        other = LabelRanker(learner=learner, random_state=seed, **chosen).fit(X, places)
        answers.append((name, other.predict_places(X_new)))
    scale = StandardScaler().fit(X)
    rows, new_rows = np.asarray(scale.transform(X)), np.asarray(scale.transform(X_new))
    baselines: list[tuple[str, Baseline, Sequence[float]]] = [
        (LOGISTIC[0], logistic_per_label, COSTS),
        (LOGISTIC[1], logistic_per_pair, COSTS),
        (MALLOWS, mallows_of_neighbours, NEIGHBOURS),
    ]
    for name, rank, settings in baselines:
        answers.append((name, _tuned(rank, settings, rows, places, seed)(rows, places, new_rows)))
    return answers


def _tuned(rank: Baseline, settings: Sequence[float], X: NDArray[np.float64], places: Places, seed: int) -> Ranker:
    """A baseline with the setting that an inner cross-validation prefers."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(X))[:_MAX_INNER])
    X, places = X[kept], places[kept]
    folds = list(KFold(N_INNER, shuffle=True, random_state=seed).split(X))
    quality = [
        np.mean([kendall_taus(places[out], rank(X[t], places[t], X[out], setting)).mean() for t, out in folds])
        for setting in settings
    ]
    best = settings[int(np.argmax(quality))]
    return lambda rows, known, new_rows: rank(rows, known, new_rows, best)


# What ranks without a model of rankings


def logistic_per_label(X: NDArray[np.float64], places: Places, X_new: NDArray[np.float64], cost: float) -> Places:
    """Labels by their expected place, that of each by a regression of its own."""
    expected = [_chances(X, place, X_new, cost) for place in places.T]
    return _places(np.stack([chance @ values for chance, values in expected], axis=1))


def logistic_per_pair(X: NDArray[np.float64], places: Places, X_new: NDArray[np.float64], cost: float) -> Places:
    """Labels by how many others they are expected to beat, every two by a regression of their own."""
    n_labels = places.shape[1]
    beaten_by = np.zeros((len(X_new), n_labels))
    for first, second in zip(*np.triu_indices(n_labels, 1), strict=True):
        chance, values = _chances(X, (places[:, first] < places[:, second]).astype(float), X_new, cost)
        wins = chance @ values
        beaten_by[:, first] += 1.0 - wins
        beaten_by[:, second] += wins
    return _places(beaten_by)


def mallows_of_neighbours(X: NDArray[np.float64], places: Places, X_new: NDArray[np.float64], k: float) -> Places:
    """The ranking that disagrees least with those of the nearest rows: the centre of their Mallows model."""
    near = NearestNeighbors(n_neighbors=min(int(k), len(X))).fit(X).kneighbors(X_new, return_distance=False)
    agreed = Permutations(places.shape[1]).statistics(places)[near].sum(axis=1)
    return best_rankings(agreed, places.shape[1]).astype(float)


def _chances(
    X: NDArray[np.float64], target: NDArray[np.float64], X_new: NDArray[np.float64], cost: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How likely each value is in new rows, and the values."""
    values = np.unique(target)
    if len(values) == 1:
        return np.ones((len(X_new), 1)), values
    model = LogisticRegression(C=cost, max_iter=1000).fit(X, target.astype(int))
    return np.asarray(model.predict_proba(X_new)), values


def _places(burden: NDArray[np.float64]) -> Places:
    """The place of each label, the one with the least first."""
    return np.argsort(np.argsort(burden, axis=1, kind="stable"), axis=1, kind="stable").astype(float)
