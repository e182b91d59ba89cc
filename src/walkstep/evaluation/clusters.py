"""How well predicted entities agree with true ones: pairwise, B-cubed, MUC, CEAF and LEA."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.evaluation.overlaps import Entities, Overlaps, best_assignment, overlaps


class Score(NamedTuple):
    """Precision, recall, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class ClusterScores:
    """Agreement of predicted entities with true ones, by every metric.

    Parameters
    ----------
    pairwise, b_cubed, muc, ceaf_m, ceaf_e, lea : Score
        As the functions of these names give them.
    rand_index : float
        Share of all pairs of records that are rightly joined or rightly kept apart.
    n_records : int
        How many records were compared: those whose true entity is known.
    n_unknown : int
        How many records were left out, their true entity being unknown.
    n_predicted, n_true : int
        How many entities the compared records make.
    """

    pairwise: Score
    b_cubed: Score
    muc: Score
    ceaf_m: Score
    ceaf_e: Score
    lea: Score
    rand_index: float
    n_records: int
    n_unknown: int
    n_predicted: int
    n_true: int

    @property
    def conll(self) -> float:
        """The CoNLL-2012 score: mean F1 of MUC, B-cubed and CEAF-e."""
        return (self.muc.f1 + self.b_cubed.f1 + self.ceaf_e.f1) / 3

    def to_dict(self) -> dict:
        """All figures as plain numbers, for JSON."""
        figures = {name: one._asdict() if isinstance(one, Score) else one for name, one in vars(self).items()}
        return {**figures, "conll": self.conll}

    def table(self) -> str:
        """All figures as plain text, a line for each metric.

        Examples
        --------
        >>> print(cluster_scores(["x", "x", "y", "y"], ["a", "a", "a", None]).table())
        metric    precision  recall      F1
        pairwise     1.0000  0.3333  0.5000
        B-cubed      1.0000  0.5556  0.7143
        MUC          1.0000  0.5000  0.6667
        CEAF-m       0.6667  0.6667  0.6667
        CEAF-e       0.4000  0.8000  0.5333
        LEA          0.6667  0.3333  0.4444
        CoNLL mean 0.6381, Rand index 0.3333
        3 records (1 of unknown truth left out): 2 entities predicted, 1 true
        """
        named = {
            "pairwise": self.pairwise,
            "B-cubed": self.b_cubed,
            "MUC": self.muc,
            "CEAF-m": self.ceaf_m,
            "CEAF-e": self.ceaf_e,
            "LEA": self.lea,
        }
        lines = ["metric    precision  recall      F1"]
        lines += [f"{name:<8}  {one.precision:>9.4f}  {one.recall:.4f}  {one.f1:.4f}" for name, one in named.items()]
        lines.append(f"CoNLL mean {self.conll:.4f}, Rand index {self.rand_index:.4f}")
        left_out = f" ({self.n_unknown} of unknown truth left out)" if self.n_unknown else ""
        lines.append(f"{self.n_records} records{left_out}: {self.n_predicted} entities predicted, {self.n_true} true")
        return "\n".join(lines)


def cluster_scores(predicted: Entities, truth: Entities) -> ClusterScores:
    """Compare predicted entities with true ones by every metric.

    Parameters
    ----------
    predicted, truth : arrays, Polars series or iterables of hashables (n_records,)
        The entity of each record; only which records share one matters. ``None``, NaN and -1 mean unknown.
        A record of unknown truth is left out, as if it had never been clustered; one of known truth must
        have a prediction.

    Examples
    --------
    >>> scores = cluster_scores([0, 0, 1, 1], [5, 5, 5, 6])
    >>> round(scores.b_cubed.f1, 4), round(scores.conll, 4), scores.n_records
    (0.7059, 0.6464, 4)
    """
    table = overlaps(predicted, truth)
    return ClusterScores(
        pairwise=_pairwise(table),
        b_cubed=_b_cubed(table),
        muc=_muc(table),
        ceaf_m=_ceaf_m(table),
        ceaf_e=_ceaf_e(table),
        lea=_lea(table),
        rand_index=_rand_index(table),
        n_records=table.n_records,
        n_unknown=table.n_unknown,
        n_predicted=len(table.predicted_size),
        n_true=len(table.true_size),
    )


def pairwise(predicted: Entities, truth: Entities) -> Score:
    """Precision and recall of the pairs of records that share an entity.

    Where neither side has any pair, all is 1; where one side has none, all is 0.

    Examples
    --------
    >>> pairwise([0, 0, 1, 1], [5, 5, 5, 6])
    Score(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    return _pairwise(overlaps(predicted, truth))


def rand_index(predicted: Entities, truth: Entities) -> float:
    """Share of all pairs of records on which both sides agree, joined or apart; 1 for a single record.

    Examples
    --------
    >>> rand_index([0, 0, 1, 1], [5, 5, 5, 6])
    0.5
    """
    return _rand_index(overlaps(predicted, truth))


def b_cubed(predicted: Entities, truth: Entities) -> Score:
    """Precision and recall of each record's cluster, averaged over records (Bagga and Baldwin, 1998).

    With ``P(r)`` and ``T(r)`` the predicted and the true cluster of record ``r``::

        precision = mean over r of |P(r) & T(r)| / |P(r)|
        recall    = mean over r of |P(r) & T(r)| / |T(r)|

    Examples
    --------
    >>> score = b_cubed([0, 0, 1, 1], [5, 5, 5, 6])
    >>> score.precision, round(score.recall, 4), round(score.f1, 4)
    (0.75, 0.6667, 0.7059)
    """
    return _b_cubed(overlaps(predicted, truth))


def muc(predicted: Entities, truth: Entities) -> Score:
    """Precision and recall of the fewest links that hold the clusters together (Vilain et al., 1995).

    A cluster of ``n`` records has ``n - 1`` links, so single records do not count; where either side has
    nothing but these, all is 0, as in the reference scorer.

    Examples
    --------
    >>> muc([0, 0, 1, 1], [5, 5, 5, 6])
    Score(precision=0.5, recall=0.5, f1=0.5)
    """
    return _muc(overlaps(predicted, truth))


def ceaf_m(predicted: Entities, truth: Entities) -> Score:
    """Share of records in the best one-to-one pairing of clusters (Luo, 2005; similarity phi 3).

    Both sides hold the same records, so precision and recall are equal.

    Examples
    --------
    >>> ceaf_m([0, 0, 1, 1], [5, 5, 5, 6])
    Score(precision=0.75, recall=0.75, f1=0.75)
    """
    return _ceaf_m(overlaps(predicted, truth))


def ceaf_e(predicted: Entities, truth: Entities) -> Score:
    """Likeness of clusters in the best one-to-one pairing, every cluster counting alike (Luo, 2005; phi 4).

    The likeness of a predicted and a true cluster is ``2 |P & T| / (|P| + |T|)``; precision divides the sum by
    the number of predicted clusters, recall by that of true ones.

    Examples
    --------
    >>> round(ceaf_e([0, 0, 1, 1], [5, 5, 5, 6]).f1, 4)
    0.7333
    """
    return _ceaf_e(overlaps(predicted, truth))


def lea(predicted: Entities, truth: Entities) -> Score:
    """Share of each cluster's pairs that the other side joins too, weighted by size (Moosavi and Strube, 2016).

    A single record has one link, to itself, which is found if the record is single on the other side too.

    Examples
    --------
    >>> lea([0, 0, 1, 1], [5, 5, 5, 6])
    Score(precision=0.5, recall=0.25, f1=0.3333333333333333)
    """
    return _lea(overlaps(predicted, truth))


def _pairwise(table: Overlaps) -> Score:
    both, predicted, true = (int(_pairs(n).sum()) for n in (table.count, table.predicted_size, table.true_size))
    return _score(_ratio(both, predicted), _ratio(both, true)) if predicted or true else Score(1.0, 1.0, 1.0)


def _rand_index(table: Overlaps) -> float:
    both, predicted, true = (int(_pairs(n).sum()) for n in (table.count, table.predicted_size, table.true_size))
    n_pairs = table.n_records * (table.n_records - 1) // 2
    return 1 - (predicted + true - 2 * both) / max(1, n_pairs)


def _b_cubed(table: Overlaps) -> Score:
    return _mean_share(table, table.count**2, np.square)


def _muc(table: Overlaps) -> Score:
    # A cluster cut into k cells by the other side keeps (size - 1) - (k - 1) of its links.
    kept = table.n_records - len(table.count)
    possible = (table.n_records - len(size) for size in (table.predicted_size, table.true_size))
    return _score(*(_ratio(kept, n) for n in possible))


def _ceaf_m(table: Overlaps) -> Score:
    share = _best_total(table, table.count.astype(np.float64)) / table.n_records
    return _score(share, share)


def _ceaf_e(table: Overlaps) -> Score:
    sizes = table.predicted_size[table.predicted_of_cell] + table.true_size[table.true_of_cell]
    total = _best_total(table, 2 * table.count / sizes)
    return _score(total / len(table.predicted_size), total / len(table.true_size))


def _lea(table: Overlaps) -> Score:
    is_single = (table.predicted_size[table.predicted_of_cell] == 1) & (table.true_size[table.true_of_cell] == 1)
    return _mean_share(table, np.where(is_single, 1, _pairs(table.count)), lambda size: np.maximum(_pairs(size), 1))


def _mean_share(table: Overlaps, found: NDArray[np.int64], links: Callable[[NDArray], NDArray]) -> Score:
    """Share of its cluster's links that are found, averaged over records; B-cubed's links are all of size squared."""
    found_of_predicted = np.add.reduceat(found, table.ptr[:-1])
    found_of_true = np.bincount(table.true_of_cell, found)
    precision = (table.predicted_size * (found_of_predicted / links(table.predicted_size))).sum() / table.n_records
    recall = (table.true_size * (found_of_true / links(table.true_size))).sum() / table.n_records
    return _score(float(precision), float(recall))


def _best_total(table: Overlaps, likeness: NDArray[np.float64]) -> float:
    """Summed likeness of the clusters in the best one-to-one pairing."""
    cell = best_assignment(table.ptr, table.true_of_cell, likeness, len(table.true_size))
    return float(likeness[cell[cell >= 0]].sum())


def _pairs(size: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many pairs clusters of these sizes hold."""
    return size * (size - 1) // 2


def _score(precision: float, recall: float) -> Score:
    """Both, and their harmonic mean, in a form that is exact where they are equal."""
    return Score(precision, recall, precision * _ratio(2 * recall, precision + recall))


def _ratio(part: float, whole: float) -> float:
    """A share, 0 of nothing."""
    return part / whole if whole else 0.0
