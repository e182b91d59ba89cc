"""Invented rows for label ranking and hierarchical classification, made on the spot.

What is behind the rows is the same for every seed: rows of different seeds serve as training and test data.
"""

import numpy as np

from walkstep.data.hierarchical_rows import HierarchicalRows
from walkstep.data.ranked_rows import RankedRows
from walkstep.data.rankings import Rankings
from walkstep.data.trees import tree_from

_INSTRUMENTS = {
    "strings": {"bowed": ["violin", "cello"], "plucked": ["harp", "lute", "guitar"]},
    "winds": {"reeds": ["oboe", "clarinet"], "brass": ["trumpet", "horn"]},
    "percussion": ["drum", "bells", "rattle"],
}
_SOUNDS = ("attack", "decay", "brightness", "breath", "vibrato", "pitch", "loudness", "noise")


def generate_rankings(n_rows: int, n_labels: int = 5, n_features: int = 6, seed: int = 0) -> RankedRows:
    """Make feature rows, each with a ranking of all labels that depends on the features.

    A row likes label ``k`` by ``x · w_k + tanh(x · v_k) + noise``, and ranks labels by that.

    Parameters
    ----------
    n_rows, n_labels, n_features : int
        The sizes; at least 2 labels. The weights ``w`` and ``v`` depend on ``n_labels`` and ``n_features`` alone.
    seed : int
        The same seed and sizes give the same rows.

    Examples
    --------
    >>> rows = generate_rankings(100, 4, seed=1)
    >>> rows.X.shape, rows.rankings.is_complete, rows.rankings.label_names
    ((100, 6), True, ('label0', 'label1', 'label2', 'label3'))
    """
    for name, value, least in (("n_rows", n_rows, 1), ("n_labels", n_labels, 2), ("n_features", n_features, 1)):
        if value < least:
            raise ValueError(f"{name} is {value}; ask for at least {least}")
    weights, bent = np.random.default_rng([n_labels, n_features]).normal(size=(2, n_features, n_labels))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    liking = X @ weights + np.tanh(X @ bent) + rng.normal(scale=0.6, size=(n_rows, n_labels))
    places = np.argsort(np.argsort(-liking, axis=1), axis=1).astype(np.float64)
    return RankedRows(
        X=X,
        rankings=Rankings(places, tuple(f"label{k}" for k in range(n_labels))),
        feature_names=tuple(f"feature{c}" for c in range(n_features)),
    )


def generate_hierarchy(n_rows: int, seed: int = 0) -> HierarchicalRows:
    """Make recordings of which eight properties of the sound are measured, with the instruments that play in each.

    The instruments form a tree, and several of them may play, of one branch or of more. A class is there where its
    parent is, and its own score ``x · w + noise`` is above a threshold or the best among its siblings.

    Parameters
    ----------
    n_rows : int
    seed : int
        The same seed gives the same rows.

    Examples
    --------
    >>> rows = generate_hierarchy(50, seed=1)
    >>> rows.X.shape, rows.tree.n_nodes, rows.tree.has_own_root
    ((50, 8), 20, False)
    """
    if n_rows < 1:
        raise ValueError(f"n_rows is {n_rows}; ask for at least 1")
    tree = tree_from(_INSTRUMENTS)
    weights = np.random.default_rng(8).normal(size=(len(_SOUNDS), tree.n_nodes))
    weights /= np.linalg.norm(weights, axis=0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(_SOUNDS)))
    scores = X @ weights + rng.normal(scale=0.4, size=(n_rows, tree.n_nodes))
    values = np.zeros(scores.shape, np.int8)
    values[:, 0] = 1
    for node in np.flatnonzero(~tree.is_leaf).tolist():  # parents come before their children
        children = tree.children(node)
        ours = scores[:, children]
        plays = (ours > 1.2) | (ours == ours.max(axis=1, keepdims=True))
        values[:, children] = plays & (values[:, [node]] == 1)
    # Some recordings tell the kind of instrument only.
    is_vague = rng.random(n_rows) < 0.15
    values[np.ix_(is_vague, tree.is_leaf & (tree.depth > 1))] = 0
    return HierarchicalRows(X=X, values=values, tree=tree, feature_names=_SOUNDS)
