"""Rankings on the command line: rows read, answered and judged by a ranker."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from walkstep.cli.feature_columns import check_column, columns_of_model, ending, names_of_model
from walkstep.cli.resolver_settings import named

if TYPE_CHECKING:
    from walkstep.apps.label_ranker import LabelRanker
    from walkstep.data.ranked_rows import RankedRows
    from walkstep.evaluation.rankings import RankingScores

RANKING = "ranking"
"""The column of rankings, unless the user says otherwise."""


def read_ranked(path: Path, column: str, option: str, **known: Any) -> "RankedRows":
    """The rows of a file and their rankings.

    Parameters
    ----------
    path : Path
    column : str
        That of rankings.
    option : str
        The one that names it.
    known : optional
        What a model knows: ``label_names`` and ``categories``.
    """
    from walkstep.data.readers import read_ranked_rows

    _check_ending(path)
    try:
        return read_ranked_rows(path, column, **known)
    except ValueError:
        check_column(path, column, "rankings", option)
        raise


def predict_rankings(model: Path, data: Path, *, marginals: bool) -> tuple[list[str], list[list[str]]]:
    """A table with a ranking for each row, or with how probable it is that one label comes before another."""
    from walkstep.apps.label_ranker import LabelRanker
    from walkstep.data.rankings import as_given
    from walkstep.data.readers import read_ranked_rows

    _check_ending(data)
    ranker = LabelRanker.load(model)
    rows = read_ranked_rows(data, None, categories=_categories(ranker, data, RANKING))
    X = columns_of_model(ranker, data, rows.X, rows.feature_names)
    names = ranker.label_names_
    if not marginals:
        return [RANKING], [[text] for text in as_given(ranker.predict_places(X), names, "texts")]
    first, second = ranker.space_.first, ranker.space_.second
    header = [f"{names[i]}>{names[j]}" for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    chances = ranker.predict_pairs(X)[:, first, second]
    return header, [[f"{p:.4f}" for p in row] for row in chances.tolist()]


def evaluate_rankings(model: Path, data: Path, truth: str | None) -> "RankingScores":
    """How well the rankings of a file are predicted."""
    from walkstep.apps.label_ranker import LabelRanker

    ranker = LabelRanker.load(model)
    column = truth or RANKING
    _check_ending(data)
    categories = _categories(ranker, data, column)
    rows = read_ranked(data, column, "--truth", label_names=ranker.label_names_, categories=categories)
    with named(data):
        return ranker.evaluate(columns_of_model(ranker, data, rows.X, rows.feature_names), rows.rankings)


def _categories(ranker: "LabelRanker", path: Path, ranking: str) -> dict[str, list[str]] | None:
    """The columns of a file that hold words, and the values of each that a model knows.

    A column of words that it does not know gets no values, and so is left out.
    """
    from walkstep.data.readers._csv_cells import is_number_column, read_cells

    known = names_of_model(ranker)
    if known is None:
        return None
    categories = {}
    for column, cells in read_cells(path).columns.items():
        if column == ranking or column in known:
            continue
        values = [name.removeprefix(f"{column}=") for name in known if name.startswith(f"{column}=")]
        if values or not is_number_column(cells):
            categories[column] = values
    return categories


def _check_ending(path: Path) -> None:
    """Refuse files that are no CSV tables."""
    if ending(path) != ".csv":
        raise ValueError(
            f"{path} ends in {ending(path)!r}, but rankings are read from .csv or .csv.gz; save it as that"
        )
