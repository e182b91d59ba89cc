"""Branches of three published hierarchies: maximum a posteriori over subtrees beside nodes that decide for themselves.

The paper (Vembu, Gaertner and Boley, 2009) has no experiments; rooted subtrees of a tree are one of its settings
(section 6). The sets are those of Vens et al. (2008) and Dimitrovski et al. (2011): the functions of yeast genes, with
several branches to a gene, and two sets of images, with one branch to an image.

`HierarchyClassifier` comes as it is. Beside it stand:

- independent nodes: a logistic regression for each node, on standardised columns, and one threshold for all nodes; C
  and the threshold by three-fold cross-validation for the very F1 that is reported, after repair. Answers are repaired
  either by taking parents in, or by taking out nodes whose parents are out; the better one is the baseline of the bar;
- what the features that were chosen for `HierarchyClassifier` give by other ways of learning: without scores for
  stopping and forking, from samples, the paper's, and by SampleRank.

The area under the precision-recall curve of all cells together is shown too, on genes beside the figure of coherent
networks (Giunchiglia and Lukasiewicz, 2020).
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from walkstep.apps.hierarchy_classifier import HierarchyClassifier, best_threshold
from walkstep.data.catalogue import find
from walkstep.data.hierarchical_rows import HierarchicalRows
from walkstep.data.readers import read_hierarchical
from walkstep.data.trees import Tree
from walkstep.evaluation.hierarchies import hierarchy_counts, hierarchy_scores
from walkstep.evaluation.significance import permutation_test

NAME = "hierarchy"
METRIC, AREA = "hierarchical F1", "area under PRC"


class Sources(NamedTuple):
    """The files of a set, and what is published of it."""

    train: tuple[str, ...]
    test: str
    published_area: float | None


SETS = {
    "cellcycle": Sources(("cellcycle_FUN.train", "cellcycle_FUN.valid"), "cellcycle_FUN.test", 0.255),
    "imclef07a": Sources(("ImCLEF07A_Train",), "ImCLEF07A_Test", None),
    "diatoms": Sources(("Diatoms_train",), "Diatoms_test", None),
}

OURS = "HierarchyClassifier"
OTHERS: dict[str, dict[str, Any]] = {
    "without stops and forks": {"branching": False},
    "sampled MAP": {"learner": "sampled-map"},
    "SampleRank": {"learner": "samplerank"},
}
"""Other ways of learning, with the features and the prior that were chosen for `HierarchyClassifier`."""

REPAIRS = ("parents taken in", "orphans taken out")
INDEPENDENT = {repair: f"independent nodes, {repair}" for repair in REPAIRS}
COSTS = (0.01, 0.1, 1.0, 10.0)  # C, one over what squared weights of logistic regression cost
N_INNER = 3
_MAX_INNER = 2000  # rows of the inner cross-validation, as `HierarchyClassifier` has them


class Split(NamedTuple):
    """Rows to learn from and rows to score, with 1 for each node that a row has, the root among them."""

    tree: Tree
    X: NDArray[np.float64]
    Y: NDArray[np.int8]
    X_new: NDArray[np.float64]
    Y_new: NDArray[np.int8]


def run(seed: int, quick: bool = False, progress: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Train every model on every set, and score it on the set's test file.

    Parameters
    ----------
    seed : int
        Of what is random in training.
    quick : bool
        One set, a fifth of its rows: figures for no table.
    progress : callable, optional
        Called with a line of text for each model.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. Hierarchical F1 as a fraction; the bar counts the sets on which
        `HierarchyClassifier` is above independent nodes, whichever way they are repaired.
    """
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    n_wins = 0
    for name in ("imclef07a",) if quick else SETS:
        split = _split(name, 5 if quick else 1)
        found, area = _answers(split, seed, lambda text, name=name: progress and progress(f"{name} {text}"))
        scores = {model: hierarchy_scores(split.Y_new, values, split.tree) for model, values in found.items()}
        best = max(INDEPENDENT.values(), key=lambda model: scores[model].f1)
        n_wins += scores[OURS].f1 > scores[best].f1
        for model, values in found.items():
            note = f"wrong {scores[model].hamming_error:.4f}; H-loss {scores[model].h_loss:.4f}"
            if model == OURS:
                ours, theirs = (hierarchy_counts(split.Y_new, of) for of in (values, found[best]))
                note += f"; p = {permutation_test(ours, theirs, seed=seed).p_value:.4f} against {best}"
            rows.append(_row(f"{name} {model}", METRIC, None, scores[model].f1, note))
        rows.append(_row(f"{name} {OURS}", AREA, SETS[name].published_area, area))
    bars = [{"id": "hierarchy-wins", "ours": n_wins}]
    return {"name": NAME, "seed": seed, "seconds": round(time.perf_counter() - began, 1), "rows": rows, "bars": bars}


def _row(name: str, metric: str, paper: float | None, ours: float, note: str = "") -> dict[str, Any]:
    row = {"row": name, "metric": metric, "paper": paper, "ours": round(float(ours), 4)}
    return {**row, "note": note} if note else row


def _split(name: str, every: int) -> Split:
    """The training and test rows of a set."""
    folder, sources = find("hmc"), SETS[name]
    parts = [read_hierarchical(folder / f"{part}.arff.gz") for part in (*sources.train, sources.test)]
    assert all(part.tree == parts[0].tree for part in parts)
    *known, new = [(part.X[::every], _values(part)[::every]) for part in parts]
    X, Y = (np.concatenate(tables) for tables in zip(*known, strict=True))
    return Split(parts[0].tree, X, Y, *new)


def _values(part: HierarchicalRows) -> NDArray[np.int8]:
    assert part.values is not None
    return np.asarray(part.values, np.int8)


def _answers(split: Split, seed: int, say: Callable[[str], Any]) -> tuple[dict[str, NDArray[Any]], float]:
    """The subtrees of new rows by every model, and the area of ours."""
    found: dict[str, NDArray[Any]] = {}

    def note(model: str, values: NDArray[Any]) -> None:
        found[model] = values
        say(f"{model}: {hierarchy_scores(split.Y_new, values, split.tree).f1:.4f}")

    ours = HierarchyClassifier(split.tree, random_state=seed).fit(split.X, split.Y[:, 1:])
    note(OURS, ours.predict_subtrees(split.X_new))
    area = average_precision_score(split.Y_new[:, 1:].ravel(), ours.predict_proba(split.X_new)[:, 1:].ravel())
    chosen = {"features": ours.features_.kind, "bandwidth": ours.bandwidth_, "sigma": ours.sigma_}
    for name, settings in OTHERS.items():
        other = HierarchyClassifier(split.tree, random_state=seed, **chosen, **settings)
        note(name, other.fit(split.X, split.Y[:, 1:]).predict_subtrees(split.X_new))
    for repair, (cost, threshold) in tuned_nodes(split, seed).items():
        chances = node_chances(split.X, split.Y, split.X_new, cost)
        note(INDEPENDENT[repair], repaired(chances > threshold, split.tree, repair))
    return found, float(area)


# Nodes by themselves


def tuned_nodes(split: Split, seed: int) -> dict[str, tuple[float, float]]:
    """For each way of repair, the C and the threshold of which cross-validation sees the best F1 after it."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(split.X))[:_MAX_INNER])
    X, Y = split.X[kept], split.Y[kept]
    folds = list(KFold(N_INNER, shuffle=True, random_state=seed).split(X))
    best = dict.fromkeys(REPAIRS, (-np.inf, 0.0, 0.0))
    for cost in COSTS:
        chances = np.zeros(Y.shape)
        for train, out in folds:
            chances[out] = node_chances(X[train], Y[train], X[out], cost)
        for repair in REPAIRS:
            # Repair after a threshold is a threshold on repaired chances.
            quality, threshold = best_threshold(Y, repaired_chances(chances, split.tree, repair))
            best[repair] = max(best[repair], (quality, cost, threshold))
    return {repair: (cost, threshold) for repair, (_, cost, threshold) in best.items()}


def node_chances(
    X: NDArray[np.float64], Y: NDArray[np.int8], X_new: NDArray[np.float64], cost: float
) -> NDArray[np.float64]:
    """How probable each node is by a regression of its own."""
    columns: Pipeline = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(X)
    rows, new_rows = columns.transform(X), columns.transform(X_new)
    chances = np.tile(Y.mean(axis=0), (len(X_new), 1))
    for node in np.flatnonzero((Y.min(axis=0) == 0) & (Y.max(axis=0) == 1)):
        model = LogisticRegression(C=cost, max_iter=200).fit(rows, Y[:, node])
        chances[:, node] = model.predict_proba(new_rows)[:, 1]
    return chances


def repaired_chances(chances: NDArray[np.float64], tree: Tree, repair: str) -> NDArray[np.float64]:
    """Chances no node of which is above its parent's: parents are raised, or children lowered.

    Examples
    --------
    >>> tree = Tree(("", "a", "a/b"), np.array([-1, 0, 1]))
    >>> repaired_chances(np.array([[1.0, 0.2, 0.7]]), tree, "parents taken in").tolist()
    [[1.0, 0.7, 0.7]]
    >>> repaired_chances(np.array([[1.0, 0.2, 0.7]]), tree, "orphans taken out").tolist()
    [[1.0, 0.2, 0.2]]
    """
    found = chances.copy()
    if repair == REPAIRS[0]:
        for node in range(tree.n_nodes - 1, 0, -1):
            above = tree.parent[node]
            found[:, above] = np.maximum(found[:, above], found[:, node])
    else:
        for node in range(1, tree.n_nodes):
            found[:, node] = np.minimum(found[:, node], found[:, tree.parent[node]])
    return found


def repaired(chosen: NDArray[np.bool_], tree: Tree, repair: str) -> NDArray[np.int32]:
    """Subtrees of nodes that were chosen each by itself; the root is always in."""
    found = chosen.astype(float)
    found[:, 0] = 1.0
    return repaired_chances(found, tree, repair).astype(np.int32)
