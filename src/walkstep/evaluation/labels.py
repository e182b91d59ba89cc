"""How well predicted label sets agree with the truth: Hamming, subset accuracy, micro and macro F1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse, sparray, spmatrix

LabelMatrix = ArrayLike | spmatrix | sparray


@dataclass(frozen=True)
class LabelSetScores:
    """Agreement of predicted label sets with true ones, overall and by label.

    Parameters
    ----------
    label_names : tuple of str (n_labels,)
        The labels.
    n_rows : int
        How many label sets were compared.
    n_exact : int
        How many of them are entirely right.
    n_correct, n_predicted, n_true : int64 arrays (n_labels,)
        In how many rows each label was rightly predicted, predicted, and truly borne.
    """

    label_names: tuple[str, ...]
    n_rows: int
    n_exact: int
    n_correct: NDArray[np.int64]
    n_predicted: NDArray[np.int64]
    n_true: NDArray[np.int64]

    @property
    def hamming_error(self) -> float:
        """Share of all (row, label) cells that are wrong."""
        return _ratio(int((self.n_predicted + self.n_true - 2 * self.n_correct).sum()), self._n_cells)

    @property
    def hamming_accuracy(self) -> float:
        """Share of all (row, label) cells that are right."""
        return 1.0 - self.hamming_error

    @property
    def subset_accuracy(self) -> float:
        """Share of the rows whose label set is entirely right."""
        return _ratio(self.n_exact, self.n_rows)

    @property
    def precision(self) -> float:
        """Share of all predicted labels that are true."""
        return _ratio(int(self.n_correct.sum()), int(self.n_predicted.sum()))

    @property
    def recall(self) -> float:
        """Share of all true labels that were predicted."""
        return _ratio(int(self.n_correct.sum()), int(self.n_true.sum()))

    @property
    def micro_f1(self) -> float:
        """F1 of all labels together: 2 correct / (predicted + true); 0 if there are none."""
        return _ratio(2 * int(self.n_correct.sum()), int(self.n_predicted.sum() + self.n_true.sum()))

    @property
    def macro_f1(self) -> float:
        """Mean of the labels' own F1; a label neither borne nor predicted counts as 0."""
        return float(self.f1_of_label.mean())

    @property
    def f1_of_label(self) -> NDArray[np.float64]:
        """F1 of each label (n_labels,); 0 for a label neither borne nor predicted."""
        return 2 * self.n_correct / np.maximum(self.n_predicted + self.n_true, 1)

    @property
    def _n_cells(self) -> int:
        """How many (row, label) cells were compared."""
        return self.n_rows * len(self.label_names)

    def to_dict(self) -> dict:
        """All figures as plain numbers, for JSON."""
        return {
            "hamming_error": self.hamming_error,
            "hamming_accuracy": self.hamming_accuracy,
            "subset_accuracy": self.subset_accuracy,
            "precision": self.precision,
            "recall": self.recall,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            "n_rows": self.n_rows,
            "by_label": {
                name: {
                    "precision": _ratio(int(self.n_correct[k]), int(self.n_predicted[k])),
                    "recall": _ratio(int(self.n_correct[k]), int(self.n_true[k])),
                    "f1": float(self.f1_of_label[k]),
                    "n_correct": int(self.n_correct[k]),
                    "n_predicted": int(self.n_predicted[k]),
                    "n_true": int(self.n_true[k]),
                }
                for k, name in enumerate(self.label_names)
            },
        }

    def table(self) -> str:
        """All figures as plain text: a line for each label, then those over all labels.

        Examples
        --------
        >>> print(label_set_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]], ("red", "round")).table())
        label  precision  recall      F1     true  predicted  correct
        red       1.0000  1.0000  1.0000        2          2        2
        round     0.0000  0.0000  0.0000        1          0        0
        micro F1 0.8000, macro F1 0.5000
        Hamming accuracy 0.7500, subset accuracy 0.5000 (1 of 2 rows)
        """
        width = max([5, *map(len, self.label_names)])
        lines = [f"{'label':<{width}}  precision  recall      F1     true  predicted  correct"]
        for name, one in self.to_dict()["by_label"].items():
            lines.append(
                f"{name:<{width}}  {one['precision']:>9.4f}  {one['recall']:.4f}  {one['f1']:.4f}"
                f"  {one['n_true']:>7}  {one['n_predicted']:>9}  {one['n_correct']:>7}"
            )
        lines.append(f"micro F1 {self.micro_f1:.4f}, macro F1 {self.macro_f1:.4f}")
        lines.append(
            f"Hamming accuracy {self.hamming_accuracy:.4f}, subset accuracy {self.subset_accuracy:.4f} "
            f"({self.n_exact} of {self.n_rows} rows)"
        )
        return "\n".join(lines)


def label_set_scores(
    truth: LabelMatrix, predicted: LabelMatrix, label_names: Sequence[str] | None = None
) -> LabelSetScores:
    """Compare predicted label sets with true ones.

    Parameters
    ----------
    truth, predicted : 0/1 arrays or sparse matrices (n_rows, n_labels)
        1 where a row bears a label.
    label_names : sequence of str (n_labels,), optional
        Names of the labels; their numbers if not given.

    Examples
    --------
    >>> scores = label_set_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    >>> scores.hamming_error, scores.subset_accuracy, scores.micro_f1, scores.macro_f1
    (0.25, 0.5, 0.8, 0.5)
    """
    true, guessed = _pair(truth, predicted)
    n_rows, n_labels = true.shape  # pyright: ignore[reportGeneralTypeIssues]
    names = tuple(map(str, range(n_labels))) if label_names is None else tuple(label_names)
    if len(names) != n_labels:
        raise ValueError(f"truth has {n_labels} labels but label_names has {len(names)}; give one name each")
    both = true.multiply(guessed).tocsr()
    n_wrong_of_row = _sums(true, 1) + _sums(guessed, 1) - 2 * _sums(both, 1)
    return LabelSetScores(
        label_names=names,
        n_rows=n_rows,
        n_exact=int(np.sum(n_wrong_of_row == 0)),
        n_correct=_sums(both, 0),
        n_predicted=_sums(guessed, 0),
        n_true=_sums(true, 0),
    )


def label_set_counts(truth: LabelMatrix, predicted: LabelMatrix) -> NDArray[np.int64]:
    """Counts of labels by row, for intervals and tests of significance.

    Returns
    -------
    int64 array (n_rows, 3)
        Correct, predicted and true labels, as `f1_of_counts` takes them.

    Examples
    --------
    >>> label_set_counts([[1, 0], [1, 1]], [[1, 0], [1, 0]]).tolist()
    [[1, 1, 1], [1, 1, 2]]
    """
    true, guessed = _pair(truth, predicted)
    return np.stack([_sums(one, 1) for one in (true.multiply(guessed).tocsr(), guessed, true)], axis=1)


def _pair(truth: LabelMatrix, predicted: LabelMatrix) -> tuple[csr_matrix, csr_matrix]:
    """Both sides as sparse 0/1 matrices of one shape."""
    true, guessed = _binary("truth", truth), _binary("predicted", predicted)
    if true.shape != guessed.shape:
        raise ValueError(
            f"truth has shape {true.shape} but predicted has {guessed.shape}; give the same rows and labels in both"
        )
    return true, guessed


def _binary(name: str, matrix: LabelMatrix) -> csr_matrix:
    """A sparse 0/1 matrix, or an error that names the cell which is neither."""
    if not issparse(matrix):
        matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise ValueError(f"{name} has shape {matrix.shape}; give a matrix (n_rows, n_labels)")
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {matrix.dtype} values; give 0 and 1, or False and True")
    sparse = csr_matrix(matrix)  # pyright: ignore[reportArgumentType]
    wrong = np.flatnonzero((sparse.data != 0) & (sparse.data != 1))
    if len(wrong):
        row = int(np.searchsorted(sparse.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"{name}[{row}, {sparse.indices[wrong[0]]}] is {sparse.data[wrong[0]]}; give 0 and 1 only "
            "(cut probabilities at a threshold first)"
        )
    return csr_matrix(sparse, dtype=np.int64)


def _sums(matrix: csr_matrix, axis: int) -> NDArray[np.int64]:
    """Row or column sums as a flat array."""
    return np.asarray(matrix.sum(axis=axis), dtype=np.int64).ravel()


def _ratio(part: int, whole: int) -> float:
    """A share, 0 of nothing."""
    return part / whole if whole else 0.0
