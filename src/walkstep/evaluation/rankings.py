"""How well predicted rankings agree with the truth: Kendall's tau, Spearman's rho, best labels, pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from walkstep.data.rankings import Rankings
from walkstep.evaluation.rank_agreement import (
    Places,
    as_places,
    kendall_taus,
    ordered_pairs,
    rhos_of_places,
    spearman_rhos,
)

__all__ = ["RankingScores", "kendall_taus", "ranking_scores", "spearman_rhos"]


@dataclass(frozen=True)
class RankingScores:
    """Agreement of predicted rankings with true ones, overall and by label.

    Only what the truth says counts: labels that it ties, or does not rank, may stand in any order.

    Parameters
    ----------
    label_names : tuple of str (n_labels,)
        The labels.
    n_rows, n_ranked : int
        How many rows were compared, and in how many of them the truth orders any two labels; only these count.
    n_exact : int
        In how many rows every ordered pair is right.
    n_with_best, n_best_right : int
        How many rows have one best label in truth, and in how many of them it was predicted before all others.
    kendall_tau, spearman : float
        Means over rows of `kendall_taus` and `spearman_rhos`.
    n_right, n_ordered : int64 arrays (n_labels,)
        How many ordered pairs of each label with another were predicted rightly, and how many there are.
    """

    label_names: tuple[str, ...]
    n_rows: int
    n_ranked: int
    n_exact: int
    n_with_best: int
    n_best_right: int
    kendall_tau: float
    spearman: float
    n_right: NDArray[np.int64]
    n_ordered: NDArray[np.int64]

    @property
    def exact(self) -> float:
        """Share of the rows whose every ordered pair is right."""
        return self.n_exact / self.n_ranked

    @property
    def top(self) -> float:
        """Share of the rows with one best label in which it was predicted; 0 if no row has one."""
        return self.n_best_right / max(self.n_with_best, 1)

    @property
    def pair_accuracy(self) -> float:
        """Share of all ordered pairs of labels that are right; a predicted tie is wrong."""
        return int(self.n_right.sum()) / int(self.n_ordered.sum())

    @property
    def pair_accuracy_of_label(self) -> NDArray[np.float64]:
        """Share of each label's ordered pairs that are right (n_labels,); 0 for a label that has none."""
        return self.n_right / np.maximum(self.n_ordered, 1)

    def to_dict(self) -> dict:
        """All figures as plain numbers, for JSON."""
        return {
            "kendall_tau": self.kendall_tau,
            "spearman": self.spearman,
            "exact": self.exact,
            "top": self.top,
            "pair_accuracy": self.pair_accuracy,
            "n_rows": self.n_rows,
            "n_ranked": self.n_ranked,
            "by_label": {
                name: {
                    "pair_accuracy": float(self.pair_accuracy_of_label[k]),
                    "n_right": int(self.n_right[k]),
                    "n_ordered": int(self.n_ordered[k]),
                }
                for k, name in enumerate(self.label_names)
            },
        }

    def table(self) -> str:
        """All figures as plain text: a line for each label, then those over all rows.

        Examples
        --------
        >>> print(ranking_scores([[0, 1, 2], [2, 1, 0]], [[0, 1, 2], [2, 0, 1]], ("red", "green", "blue")).table())
        label  pairs right  accuracy
        red        4     4    1.0000
        green      4     3    0.7500
        blue       4     3    0.7500
        Kendall's tau 0.6667, Spearman's rho 0.7500, pairs right 0.8333
        best label right 0.5000 (1 of 2 rows), all right 0.5000 (1 of 2 rows)
        """
        width = max([5, *map(len, self.label_names)])
        lines = [f"{'label':<{width}}  pairs right  accuracy"]
        for name, one in self.to_dict()["by_label"].items():
            lines.append(f"{name:<{width}} {one['n_ordered']:>6} {one['n_right']:>5}  {one['pair_accuracy']:>8.4f}")
        lines.append(
            f"Kendall's tau {self.kendall_tau:.4f}, Spearman's rho {self.spearman:.4f}, "
            f"pairs right {self.pair_accuracy:.4f}"
        )
        lines.append(
            f"best label right {self.top:.4f} ({self.n_best_right} of {self.n_with_best} rows), "
            f"all right {self.exact:.4f} ({self.n_exact} of {self.n_ranked} rows)"
        )
        return "\n".join(lines)


def ranking_scores(truth: Places, predicted: Places, label_names: Sequence[str] | None = None) -> RankingScores:
    """Compare predicted rankings with true ones.

    Parameters
    ----------
    truth, predicted : Rankings, or arrays (n_rows, n_labels)
        The place of each label; the smaller is the better, equal ones are a tie, NaN in ``truth`` is a label that is
        not ranked.
    label_names : sequence of str (n_labels,), optional
        Names of the labels; if not given, those of the rankings, or numbers.

    Examples
    --------
    >>> scores = ranking_scores([[0, 1, 2], [2, 1, 0]], [[0, 1, 2], [2, 0, 1]])
    >>> round(scores.kendall_tau, 4), scores.spearman, scores.exact
    (0.6667, 0.75, 0.5)
    """
    true, guessed = as_places(truth, predicted)
    n_rows, n_labels = true.shape
    if label_names is None:
        known = [one.label_names for one in (truth, predicted) if isinstance(one, Rankings)]
        label_names = known[0] if known else tuple(map(str, range(n_labels)))
    if len(label_names) != n_labels:
        raise ValueError(f"truth has {n_labels} labels but label_names has {len(label_names)}; give one name each")
    pairs = ordered_pairs(true, guessed)
    is_ranked = pairs.n_ordered > 0
    if not is_ranked.any():
        raise ValueError("truth orders no two labels in any row; give at least one row that does")
    # The best label is right where all labels that the truth ranks come after it, in truth and as predicted.
    best = np.nan_to_num(true, nan=np.inf).argmin(axis=1)[:, None]
    has_best = is_ranked & (np.sum(true == 0, axis=1) == 1)
    n_not_after = np.sum(~np.isnan(true) & (guessed <= np.take_along_axis(guessed, best, axis=1)), axis=1)
    return RankingScores(
        label_names=tuple(label_names),
        n_rows=n_rows,
        n_ranked=int(is_ranked.sum()),
        n_exact=int(np.sum(is_ranked & (pairs.n_right == pairs.n_ordered))),
        n_with_best=int(has_best.sum()),
        n_best_right=int(np.sum(has_best & (n_not_after == 1))),
        kendall_tau=float(np.mean(pairs.taus[is_ranked])),
        spearman=float(np.mean(rhos_of_places(true, guessed)[is_ranked])),
        n_right=pairs.n_right_of_label,
        n_ordered=pairs.n_ordered_of_label,
    )
