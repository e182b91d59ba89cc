"""How well predicted classes of a tree agree with the truth: hierarchical precision, recall and F, H-loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.trees import Tree


@dataclass(frozen=True)
class HierarchyScores:
    """Agreement of predicted classes with true ones, overall and by level; the root never counts.

    Parameters
    ----------
    tree : Tree
        The classes.
    n_rows, n_exact : int
        How many rows were compared, and how many of them are entirely right.
    row_f1 : float
        The mean over rows of F1; a row with no class, true or predicted, counts as 1.
    h_loss : float
        The mean over rows of the H-loss (see `hierarchy_scores`).
    n_correct, n_predicted, n_true : int64 arrays (n_nodes,)
        In how many rows each node was rightly predicted, predicted, and truly borne; 0 at the root.
    """

    tree: Tree
    n_rows: int
    n_exact: int
    row_f1: float
    h_loss: float
    n_correct: NDArray[np.int64]
    n_predicted: NDArray[np.int64]
    n_true: NDArray[np.int64]

    @property
    def precision(self) -> float:
        """Hierarchical precision: share of all predicted classes, ancestors among them, that are true."""
        return _ratio(int(self.n_correct.sum()), int(self.n_predicted.sum()))

    @property
    def recall(self) -> float:
        """Hierarchical recall: share of all true classes, ancestors among them, that were predicted."""
        return _ratio(int(self.n_correct.sum()), int(self.n_true.sum()))

    @property
    def f1(self) -> float:
        """Hierarchical F1: 2 correct / (predicted + true), summed over rows; 0 if there are none."""
        return _ratio(2 * int(self.n_correct.sum()), int(self.n_predicted.sum() + self.n_true.sum()))

    @property
    def hamming_error(self) -> float:
        """Share of all (row, class) cells that are wrong."""
        n_wrong = int((self.n_predicted + self.n_true - 2 * self.n_correct).sum())
        return _ratio(n_wrong, self.n_rows * (self.tree.n_nodes - 1))

    @property
    def exact(self) -> float:
        """Share of the rows that are entirely right."""
        return _ratio(self.n_exact, self.n_rows)

    def by_level(self) -> list[dict]:
        """Precision, recall and F1 of the classes of each level, those below the root first."""
        depth = self.tree.depth
        n_levels = int(depth.max())
        n_nodes = np.bincount(depth, minlength=n_levels + 1)
        correct, predicted, true = (
            np.bincount(depth, counts, n_levels + 1).astype(np.int64).tolist()
            for counts in (self.n_correct, self.n_predicted, self.n_true)
        )
        return [
            {
                "level": level,
                "n_classes": int(n_nodes[level]),
                "precision": _ratio(correct[level], predicted[level]),
                "recall": _ratio(correct[level], true[level]),
                "f1": _ratio(2 * correct[level], predicted[level] + true[level]),
                "n_correct": correct[level],
                "n_predicted": predicted[level],
                "n_true": true[level],
            }
            for level in range(1, n_levels + 1)
        ]

    def to_dict(self) -> dict:
        """All figures as plain numbers, for JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "row_f1": self.row_f1,
            "h_loss": self.h_loss,
            "hamming_error": self.hamming_error,
            "exact": self.exact,
            "n_rows": self.n_rows,
            "by_level": self.by_level(),
        }

    def table(self) -> str:
        """All figures as plain text: a line for each level, then those over all classes.

        Examples
        --------
        >>> from walkstep.data.trees import tree_from_paths
        >>> tree = tree_from_paths(["a/b", "c"])
        >>> print(hierarchy_scores([[1, 1, 1, 0]], [[1, 1, 0, 1]], tree).table())
        level  classes  precision  recall      F1     true  predicted  correct
            1        2     0.5000  1.0000  0.6667        1          2        1
            2        1     0.0000  0.0000  0.0000        1          0        0
        hierarchical F1 0.5000 (precision 0.5000, recall 0.5000), mean of rows 0.5000
        H-loss 1.0000, Hamming error 0.6667, all right 0.0000 (0 of 1 rows)
        """
        lines = ["level  classes  precision  recall      F1     true  predicted  correct"]
        lines += [
            f"{one['level']:>5}  {one['n_classes']:>7}  {one['precision']:>9.4f}  {one['recall']:.4f}  {one['f1']:.4f}"
            f"  {one['n_true']:>7}  {one['n_predicted']:>9}  {one['n_correct']:>7}"
            for one in self.by_level()
        ]
        lines.append(
            f"hierarchical F1 {self.f1:.4f} (precision {self.precision:.4f}, recall {self.recall:.4f}), "
            f"mean of rows {self.row_f1:.4f}"
        )
        lines.append(
            f"H-loss {self.h_loss:.4f}, Hamming error {self.hamming_error:.4f}, "
            f"all right {self.exact:.4f} ({self.n_exact} of {self.n_rows} rows)"
        )
        return "\n".join(lines)


def hierarchy_scores(truth: ArrayLike, predicted: ArrayLike, tree: Tree) -> HierarchyScores:
    """Compare predicted classes of a tree with true ones.

    Hierarchical precision and recall (Kiritchenko et al., 2006) count a class with all its ancestors. The H-loss
    (Cesa-Bianchi, Gentile and Zaniboni, JMLR 7, 2006) counts only the first mistake on each way down::

        sum over nodes v of c_v [wrong at v, right at all ancestors of v]
        c_v = c_parent / (number of children of the parent), c_root = 1

    Parameters
    ----------
    truth, predicted : 0/1 arrays (n_rows, n_nodes)
        Closed: with a node, all its ancestors (see `Tree.closed`). The column of the root is not looked at.
    tree : Tree

    Examples
    --------
    >>> from walkstep.data.trees import tree_from_paths
    >>> tree = tree_from_paths(["a/b", "c"])
    >>> scores = hierarchy_scores([[1, 1, 1, 0], [1, 0, 0, 1]], [[1, 1, 0, 0], [1, 0, 0, 1]], tree)
    >>> scores.f1, scores.h_loss, scores.exact
    (0.8, 0.25, 0.5)
    """
    true, guessed = _pair(truth, predicted)
    for name, values in (("truth", true), ("predicted", guessed)):
        _check_closed(name, values, tree)
    is_wrong = true != guessed
    # Both sides are closed, so right at the parent means right at all ancestors.
    is_first = is_wrong & ~is_wrong[:, tree.parent]
    both = true & guessed
    correct, summed = both.sum(axis=1), true.sum(axis=1) + guessed.sum(axis=1)
    return HierarchyScores(
        tree=tree,
        n_rows=len(true),
        n_exact=int(np.sum(~is_wrong.any(axis=1))),
        row_f1=float(np.mean(np.where(summed > 0, 2 * correct / np.maximum(summed, 1), 1.0))),
        h_loss=float(np.mean(is_first @ _costs(tree))),
        n_correct=both.sum(axis=0),
        n_predicted=guessed.sum(axis=0),
        n_true=true.sum(axis=0),
    )


def hierarchy_counts(truth: ArrayLike, predicted: ArrayLike) -> NDArray[np.int64]:
    """Counts of classes by row, without the root, for intervals and tests of significance.

    Returns
    -------
    int64 array (n_rows, 3)
        Correct, predicted and true classes, as `f1_of_counts` takes them.

    Examples
    --------
    >>> hierarchy_counts([[1, 1, 1, 0]], [[1, 1, 0, 0]]).tolist()
    [[1, 1, 2]]
    """
    true, guessed = _pair(truth, predicted)
    return np.stack([one.sum(axis=1) for one in (true & guessed, guessed, true)], axis=1)


def _pair(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Both sides as matrices of one shape, nothing chosen at the root."""
    true, guessed = _chosen("truth", truth), _chosen("predicted", predicted)
    if true.shape != guessed.shape:
        raise ValueError(
            f"truth has shape {true.shape} but predicted has {guessed.shape}; give the same rows and nodes in both"
        )
    return true, guessed


def _chosen(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Which nodes but the root a 0/1 matrix chooses, or an error that names the cell which is neither."""
    matrix = np.asarray(values)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} has shape {matrix.shape}; give a matrix (n_rows, n_nodes) with rows")
    wrong = np.argwhere((matrix != 0) & (matrix != 1))
    if len(wrong):
        row, node = wrong[0].tolist()
        raise ValueError(f"{name}[{row}, {node}] is {matrix[row, node]}; give 0 and 1 only")
    chosen = matrix != 0
    chosen[:, 0] = False
    return chosen


def _check_closed(name: str, chosen: NDArray[np.bool_], tree: Tree) -> None:
    """An error that names a node which is chosen while its parent is not."""
    if chosen.shape[1] != tree.n_nodes:
        raise ValueError(
            f"{name} has {chosen.shape[1]} columns, but the tree has {tree.n_nodes} nodes; give a column for each"
        )
    wrong = np.argwhere(chosen & ~chosen[:, tree.parent] & (tree.parent > 0))
    if len(wrong):
        row, node = wrong[0].tolist()
        raise ValueError(
            f"row {row} of {name} has {tree.names[node]!r} but not its parent {tree.names[tree.parent[node]]!r}; "
            "add what is missing by tree.closed"
        )


def _costs(tree: Tree) -> NDArray[np.float64]:
    """What a first mistake costs at each node: 1 is shared equally by the root's children, and so on down."""
    costs, n_children, parent = [1.0] * tree.n_nodes, tree.n_children.tolist(), tree.parent.tolist()
    for node in range(1, tree.n_nodes):
        costs[node] = costs[parent[node]] / n_children[parent[node]]
    return np.array(costs)


def _ratio(part: int, whole: int) -> float:
    """A share, 0 of nothing."""
    return part / whole if whole else 0.0
