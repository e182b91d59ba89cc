"""Linked items on the command line: tables read, answered and judged by a classifier."""

from pathlib import Path
from typing import TYPE_CHECKING

from walkstep.cli.resolver_settings import named, read_records

if TYPE_CHECKING:
    import polars as pl

    from walkstep.apps.collective_classifier import CollectiveClassifier
    from walkstep.data.linked_items import LinkedItems
    from walkstep.evaluation.classes import ClassScores


def read_linked(
    classifier: "CollectiveClassifier", items: Path, links: Path | None, encoding: str, *, with_labels: bool = True
) -> "LinkedItems":
    """The items and links of two files, by the columns that a classifier knows."""
    frame = read_records(items, encoding)
    joined = None if links is None else read_records(links, encoding)
    with named(*files_of(items, links)):
        return classifier.read(frame, joined, with_labels=with_labels)


def files_of(items: Path, links: Path | None) -> list[Path]:
    """The files there are."""
    return [items] if links is None else [items, links]


def predict_linked(
    model: Path, items: Path, links: Path | None, *, marginals: bool, hold_labels: bool, encoding: str = "utf-8"
) -> "pl.DataFrame":
    """A table of ids with labels, or with the probability of each."""
    from walkstep import CollectiveClassifier

    classifier = CollectiveClassifier.load(model)
    linked = read_linked(classifier, items, links, encoding, with_labels=hold_labels)
    with named(*files_of(items, links)):
        answer = classifier.predict_marginals if marginals else classifier.predict
        return answer(linked, hold_labels=hold_labels)


def evaluate_linked(
    model: Path, items: Path, links: Path | None, *, truth: str | None = None, encoding: str = "utf-8"
) -> "ClassScores":
    """Accuracy of the labels of a file; those of unknown truth are not counted.

    Parameters
    ----------
    model, items, links : Path
    truth : str, optional
        The column of labels, where it is called otherwise than in the training data.
    encoding : str
    """
    from walkstep import CollectiveClassifier

    classifier = CollectiveClassifier.load(model)
    if truth is not None:
        classifier.set_params(label=truth)
    linked = read_linked(classifier, items, links, encoding)
    with named(*files_of(items, links)):
        return classifier.evaluate(linked)
