"""Votes of ConVote's debates: the first column of Table 1 of the minimum-risk paper (Stoyanov and Eisner, 2012).

A variable for each representative of a debate, a factor for what they say, and a factor for each reference from one to
another (section 4.1). What is said enters by scores: regressions on the words of speeches, for the vote, and on the
words around a reference, for agreement. The scores of training debates come from regressions that have not seen the
debate, so that the factor graph learns how far they can be trusted where they are new. Party is not used.

Settings are the same for all rows. They were looked at by five folds of the training debates, with the development
debates in sight; those folds (`cross_validated_accuracy`) chose which pair of training and inference is the bar.
Accuracy is that of speeches of stage three, as in the published figures: on the development debates and, where
``speeches.test.jsonl.gz`` lies beside them, on those of the test.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from walkstep.apps.collective_classifier import CollectiveClassifier
from walkstep.data.catalogue import find
from walkstep.data.readers.convote import Debates, read_convote_splits
from walkstep.evaluation.significance import bootstrap_interval, permutation_test

NAME = "erma-table1-convote"
METRIC = "accuracy, %"
INFERENCES = ("max-product", "sum-product")
_N_FOLDS = 5  # of the regressions' scores

# Table 1 of the paper, in percent of the test speeches; its baseline is the minimum cut of Thomas et al. (2006).
PAPER = {
    ("MLE", "max-product"): 78.2,
    ("MLE", "sum-product"): 78.2,
    ("softmax-margin", "max-product"): 79.0,
    ("softmax-margin", "sum-product"): 79.0,
    ("min-risk (max-product)", "max-product"): 85.1,
    ("min-risk (max-product)", "sum-product"): 80.1,
    ("min-risk (sum-product)", "max-product"): 83.6,
    ("min-risk (sum-product)", "sum-product"): 84.5,
}
_PAPER_BASELINE = 71.2

_SHARED: dict[str, Any] = {
    "n_rounds": 10,
    "damping": 0.3,
    "batch_size": 100,
    "rate": 0.05,
    "n_epochs": 60,
    "n_first_epochs": 30,
    "l2": 1e-4,
}
TRAININGS: dict[str, dict[str, Any]] = {
    "MLE": {"learner": "likelihood", "inference": "sum-product"},
    "softmax-margin": {"learner": "softmax-margin", "inference": "sum-product"},
    "min-risk (max-product)": {"learner": "risk", "inference": "max-product"},
    "min-risk (sum-product)": {"learner": "risk", "inference": "sum-product"},
}
_BAR = ("min-risk (sum-product)", "sum-product")
_MATCHED = {"min-risk (max-product)": "max-product", "min-risk (sum-product)": "sum-product"}


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train every row on the training debates and score it on the others.

    Parameters
    ----------
    seed : int
        Of training.
    quick : bool
        Ten training debates and few epochs: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    splits = {name: debate_tables(debates) for name, debates in read_convote_splits(find("convote")).items()}
    train = splits.pop("training")
    if quick:
        some = train.items["debate"].unique(maintain_order=True)[:10]
        train = train.of_debates(some)
    scored, scorer = fit_scores(train)
    tests = {name: scorer(tables) for name, tables in splits.items()}
    say(f"scored {train.items.height:,} representatives and {train.links.height:,} references of the training debates")
    settings = _SHARED | ({"n_epochs": 6, "n_first_epochs": 4} if quick else {})
    rows, bars, right = [], [], {}
    for name, ways in {
        "no references, MLE": {"learner": "likelihood", "inference": "sum-product"},
        **TRAININGS,
    }.items():
        is_linked = name in TRAININGS
        made = _classifier(seed, **settings, **ways).fit(scored.items, scored.links if is_linked else None)
        for inference in INFERENCES if is_linked else INFERENCES[1:]:
            made.set_params(inference=inference)
            for test, tables in tests.items():
                counts = counts_by_debate(made, tables, is_linked)
                right[name, inference, test] = counts
                paper = PAPER.get((name, inference), _PAPER_BASELINE) if test == "test" else None
                rows.append(_row(f"{name}, {inference}, {test}", counts, paper))
                say(f"{name}, {inference}: {test} {rows[-1]['ours']}")
    for name, inference in _MATCHED.items():
        for test in tests:
            other = permutation_test(right[name, inference, test], right["MLE", inference, test], accuracy, seed=seed)
            gain = _percent(right[name, inference, test]) - _percent(right["MLE", inference, test])
            row = f"{name} over MLE, {inference}, {test}"
            rows.append(
                {"row": row, "metric": "points", "paper": None, "ours": gain, "note": f"p = {other.p_value:.4f}"}
            )
    for test in tests:
        id = "convote" if test == "development" else f"convote-{test}"
        bars.append({"id": id, "ours": _percent(right[*_BAR, test])})
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def cross_validated_accuracy(seed: int = 0) -> dict[tuple[str, str], float]:
    """Percent of right speeches by training and inference, over five folds of the training debates alone."""
    train = debate_tables(read_convote_splits(find("convote"))["training"])
    names = train.items["debate"].unique(maintain_order=True)
    fold = np.random.default_rng(seed).permutation(len(names)) % _N_FOLDS
    counts = {(name, inference): np.zeros(2) for name in TRAININGS for inference in INFERENCES}
    for k in range(_N_FOLDS):
        scored, scorer = fit_scores(train.of_debates(names.filter(pl.Series(fold != k))))
        held_out = scorer(train.of_debates(names.filter(pl.Series(fold == k))))
        for name, ways in TRAININGS.items():
            made = _classifier(seed, **_SHARED, **ways).fit(scored.items, scored.links)
            for inference in INFERENCES:
                made.set_params(inference=inference)
                counts[name, inference] += counts_by_debate(made, held_out, True).sum(axis=0)
    return {row: round(100.0 * accuracy(of), 2) for row, of in counts.items()}


def _classifier(seed: int, **settings: Any) -> CollectiveClassifier:
    columns: dict[str, Any] = {"label": "vote", "group": "debate", "weight": "n_speeches"}
    return CollectiveClassifier(random_state=seed, **columns, **settings)


def accuracy(totals: NDArray[np.float64]) -> float:
    """The share of speeches whose speaker's vote is right, of (right, all)."""
    return float(totals[0] / max(totals[1], 1.0))


def counts_by_debate(made: CollectiveClassifier, tables: "DebateTables", is_linked: bool) -> NDArray[np.float64]:
    """How many speeches of each debate are right, and how many there are: (n_debates, 2)."""
    answer = made.predict(tables.items, tables.links if is_linked else None)
    is_right = (answer["label"] == tables.items["vote"]).cast(pl.Float64) * tables.items["n_speeches"]
    found = pl.DataFrame({"debate": tables.items["debate"], "right": is_right, "all": tables.items["n_speeches"]})
    return found.group_by("debate", maintain_order=True).sum().select("right", "all").to_numpy().astype(np.float64)


def _percent(counts: NDArray[np.float64]) -> float:
    return round(100.0 * accuracy(counts.sum(axis=0)), 2)


def _row(name: str, counts: NDArray[np.float64], paper: float | None) -> dict[str, Any]:
    interval = bootstrap_interval(counts, accuracy)
    note = f"95 % of debates drawn again: {100 * interval.low:.1f} to {100 * interval.high:.1f}"
    return {"row": name, "metric": METRIC, "paper": paper, "ours": _percent(counts), "note": note}


# Tables --------------------------------------------------------------------------------------------


class DebateTables(NamedTuple):
    """Representatives of debates, and references between them; words apart from what is learned from."""

    items: pl.DataFrame  # id, debate, vote, n_speeches (of stage three); scores once they are made
    links: pl.DataFrame  # source, target; scores
    speeches: list[str]  # what each representative says in stages one and two
    contexts: list[str]  # the words around each reference, marked by their side

    def of_debates(self, names: pl.Series) -> "DebateTables":
        """Some debates alone."""
        kept = self.items["debate"].is_in(names.implode())
        of_link = self.links["source"].is_in(self.items["id"].filter(kept).implode())
        return DebateTables(
            self.items.filter(kept),
            self.links.filter(of_link),
            [text for text, is_kept in zip(self.speeches, kept, strict=True) if is_kept],
            [text for text, is_kept in zip(self.contexts, of_link, strict=True) if is_kept],
        )


def debate_tables(debates: Debates) -> DebateTables:
    """A row for each representative of each debate, a link for each reference to another who speaks there."""
    texts: dict[tuple[str, str], list[str]] = {}
    votes: dict[tuple[str, str], str] = {}
    n_speeches: dict[tuple[str, str], int] = {}
    for speech in sorted(debates.speeches, key=lambda speech: (speech.debate, speech.page, speech.position)):
        who = speech.debate, speech.speaker
        texts.setdefault(who, []).append(speech.full_text)
        votes[who] = speech.vote
        n_speeches[who] = n_speeches.get(who, 0) + (speech.text is not None)
    items = pl.DataFrame(
        {
            "id": [f"{debate}/{speaker}" for debate, speaker in texts],
            "debate": [debate for debate, _ in texts],
            "vote": list(votes.values()),
            "n_speeches": list(n_speeches.values()),
        }
    )
    references = [
        reference
        for reference in debates.references
        if reference.target != reference.speaker and (reference.debate, reference.target) in texts
    ]
    links = pl.DataFrame(
        {
            "source": [f"{reference.debate}/{reference.speaker}" for reference in references],
            "target": [f"{reference.debate}/{reference.target}" for reference in references],
        },
        schema={"source": pl.String, "target": pl.String},
    )
    contexts = [
        " ".join([*(f"before:{word}" for word in reference.left), *(f"after:{word}" for word in reference.right)])
        for reference in references
    ]
    return DebateTables(items, links, [" ".join(of) for of in texts.values()], contexts)


# Scores --------------------------------------------------------------------------------------------


class _Regression(NamedTuple):
    """Words, and how strictly their weights are held small."""

    name: str
    n_grams: int
    min_count: int
    strength: float  # scikit-learn's C
    is_normalised: bool  # word counts brought to length 1, in place of 0 and 1


_OF_SPEECHES = (
    _Regression("words", 1, 3, 0.1, False),
    _Regression("shares of words", 1, 3, 10.0, True),
    _Regression("pairs of words", 2, 5, 0.03, False),
)
_OF_REFERENCES = (_Regression("words around", 1, 5, 0.03, False),)

Scorer = Callable[[DebateTables], DebateTables]


def fit_scores(train: DebateTables) -> tuple[DebateTables, Scorer]:
    """The training debates with scores by regressions that have not seen them, and a scorer for others."""
    group = train.items["debate"].to_numpy()
    votes = (train.items["vote"] == "Y").to_numpy()
    # Who has no speech to be classified still tells something.
    weight = np.maximum(train.items["n_speeches"].to_numpy(), 0.3)
    place = {name: i for i, name in enumerate(train.items["id"])}
    ends = np.array([[place[a], place[b]] for a, b in train.links.select("source", "target").iter_rows()])
    agrees = votes[ends[:, 0]] == votes[ends[:, 1]]
    said = [_fitted(kind, train.speeches, votes, group, weight) for kind in _OF_SPEECHES]
    told = [_fitted(kind, train.contexts, agrees, group[ends[:, 0]], np.ones(len(ends))) for kind in _OF_REFERENCES]

    def scored(tables: DebateTables, of_items: list[NDArray], of_links: list[NDArray]) -> DebateTables:
        items = [pl.Series(kind.name, found) for kind, found in zip(_OF_SPEECHES, of_items, strict=True)]
        links = [pl.Series(kind.name, found) for kind, found in zip(_OF_REFERENCES, of_links, strict=True)]
        return tables._replace(items=tables.items.with_columns(items), links=tables.links.with_columns(links))

    def score(tables: DebateTables) -> DebateTables:
        return scored(tables, [of(tables.speeches) for _, of in said], [of(tables.contexts) for _, of in told])

    return scored(train, [held_out for held_out, _ in said], [held_out for held_out, _ in told]), score


def _fitted(
    kind: _Regression, texts: list[str], truth: NDArray, group: NDArray, weight: NDArray
) -> tuple[NDArray[np.float64], Callable[[list[str]], NDArray[np.float64]]]:
    """Log odds of the training texts by regressions on other debates, and of any text by one on all."""
    counter = CountVectorizer(
        binary=not kind.is_normalised,
        min_df=kind.min_count,
        ngram_range=(1, kind.n_grams),
        token_pattern=r"\S*[a-z]\S*",
    )
    counts = counter.fit_transform(texts)
    rows = _normalised(counts) if kind.is_normalised else csr_array(counts, dtype=np.float64)

    def regression(chosen: NDArray) -> LogisticRegression:
        made = LogisticRegression(C=kind.strength, max_iter=300)
        return made.fit(rows[chosen], truth[chosen], sample_weight=weight[chosen])

    held_out = np.zeros(len(texts))
    for others, mine in GroupKFold(_N_FOLDS).split(rows, truth, group):
        held_out[mine] = regression(others).decision_function(rows[mine])
    whole = regression(np.arange(len(texts)))

    def log_odds(new: list[str]) -> NDArray[np.float64]:
        if not new:
            return np.zeros(0)
        found = counter.transform(new)
        return whole.decision_function(_normalised(found) if kind.is_normalised else csr_array(found, dtype=np.float64))

    return held_out, log_odds


def _normalised(counts: Any) -> csr_array:
    rows = csr_array(counts, dtype=np.float64)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.maximum(np.repeat(length, np.diff(rows.indptr)), 1e-9)
    return rows
