"""How well predicted classes agree with the truth: accuracy, and precision, recall and F1 of each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from walkstep.evaluation.spans import Agreement


@dataclass(frozen=True)
class ClassScores:
    """Agreement of predicted classes with true ones, overall and by class.

    Parameters
    ----------
    by_class : dict of str to Agreement
    n_items : int
        How many answers were compared: those whose truth is known.
    n_correct : int
    """

    by_class: dict[str, Agreement]
    n_items: int
    n_correct: int

    @property
    def accuracy(self) -> float:
        """Share of the answers that are right."""
        return self.n_correct / self.n_items if self.n_items else 0.0

    @property
    def macro_f1(self) -> float:
        """Mean of the classes' own F1; a class neither true nor predicted counts as 0."""
        return float(np.mean([one.f1 for one in self.by_class.values()]))

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, for JSON."""
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "n_items": self.n_items,
            "n_correct": self.n_correct,
            "by_class": {name: one.to_dict() for name, one in self.by_class.items()},
        }

    def table(self) -> str:
        """All figures as plain text: a line for each class, then those over all.

        Examples
        --------
        >>> print(class_scores([0, 1, 1, -1], [0, 1, 0, 0], ["no", "yes"]).table())
        class  precision  recall      F1     true  predicted  correct
        no        0.5000  1.0000  0.6667        1          2        1
        yes       1.0000  0.5000  0.6667        2          1        1
        accuracy 0.6667 (2 of 3), macro F1 0.6667
        """
        width = max([5, *map(len, self.by_class)])
        lines = [f"{'class':<{width}}  precision  recall      F1     true  predicted  correct"]
        for name, one in self.by_class.items():
            lines.append(
                f"{name:<{width}}  {one.precision:>9.4f}  {one.recall:.4f}  {one.f1:.4f}"
                f"  {one.n_true:>7}  {one.n_predicted:>9}  {one.n_correct:>7}"
            )
        lines.append(f"accuracy {self.accuracy:.4f} ({self.n_correct} of {self.n_items}), macro F1 {self.macro_f1:.4f}")
        return "\n".join(lines)


def class_scores(truth: ArrayLike, predicted: ArrayLike, classes: Sequence[Any]) -> ClassScores:
    """Compare predicted classes with true ones.

    Parameters
    ----------
    truth : int array (n,)
        Numbers of classes, -1 where the truth is unknown: not counted.
    predicted : int array (n,)
    classes : sequence
        Their names.

    Examples
    --------
    >>> class_scores([0, 1, 1], [0, 1, 0], ["no", "yes"]).by_class["yes"].recall
    0.5
    """
    true, guessed = np.asarray(truth), np.asarray(predicted)
    if true.shape != guessed.shape or true.ndim != 1:
        raise ValueError(
            f"truth has shape {true.shape} and predicted {guessed.shape}; give two lists of the same length"
        )
    known = true >= 0
    true, guessed = true[known], guessed[known]
    by_class = {
        str(name): Agreement(
            int(((true == k) & (guessed == k)).sum()), int((guessed == k).sum()), int((true == k).sum())
        )
        for k, name in enumerate(classes)
    }
    return ClassScores(by_class, len(true), int((true == guessed).sum()))
