"""``walkstep demo``: all jobs on invented data, from training to a report, in seconds."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from walkstep.cli.files import check_outputs, size_of, write_text

if TYPE_CHECKING:
    from walkstep.cli.demo_entities import EntitiesResult
    from walkstep.cli.demo_page import LabelsResult, NewsResult

_N_TRAIN, _N_TEST = 1200, 400  # sentences
_N_ROWS, _N_TRAIN_ROWS = 900, 600


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.")] = Path(
        "walkstep-demo.html"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the data and of the training.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Train and test on invented news, label sets, rankings, hierarchies and citations, and write a report."""
    from walkstep.cli.demo_page import page
    from walkstep.cli.demo_structures import learn_structures

    check_outputs(output)
    began = time.perf_counter()
    _say(quiet, "the first run compiles the inner loops, which takes a minute; later ones find them on disk")
    news = _tag_news(seed, quiet)
    typer.echo(f"named entities in {_N_TEST} sentences of invented news, not seen in training")
    typer.echo(news.chain.table())
    typer.echo(f"with recurring words joined across the document (skip-chain): F1 {news.skip_chain.f1:.4f}\n")
    labels = _label_rows(seed, quiet)
    typer.echo(f"label sets of {_N_ROWS - _N_TRAIN_ROWS} invented rows, not seen in training")
    typer.echo(labels.scores.table())
    _say(quiet, "training on invented rows with rankings of labels, and on others with classes of a tree")
    structures = learn_structures(seed)
    typer.echo(f"\nrankings of labels for {structures.ranking_scores.n_rows} invented rows, not seen in training")
    typer.echo(structures.ranking_scores.table())
    typer.echo(f"\ninstruments in {structures.class_scores.n_rows} invented recordings, not seen in training")
    typer.echo(structures.class_scores.table())
    entities = _resolve_citations(seed, quiet)
    typer.echo(f"\npapers behind {entities.scores.n_records} invented citations, not seen in training")
    typer.echo(entities.scores.table())
    write_text(output, page(news, labels, structures, entities, seed))
    typer.echo(f"\nreport: {output.resolve()} ({size_of(output)})")
    _say(quiet, f"{time.perf_counter() - began:.1f} s")


def _tag_news(seed: int, quiet: bool) -> "NewsResult":
    """Train a chain and a skip-chain on invented news, and tag more of it."""
    from walkstep.apps.sequence_tagger import SequenceTagger
    from walkstep.cli.demo_page import NewsResult
    from walkstep.data.demo import generate_news

    train, test = generate_news(_N_TRAIN, 2 * seed), generate_news(_N_TEST, 2 * seed + 1)
    _say(quiet, f"training a tagger on {train.n_tokens:,} tokens of invented news")
    tagger = SequenceTagger(n_epochs=8, random_state=seed).fit(train)
    _say(quiet, "training a skip-chain on the same")
    skip = SequenceTagger(n_epochs=8, random_state=seed, templates="skip-chain").fit(train)
    marginals = tagger.predict_marginals(test)
    return NewsResult(
        test=test,
        predicted=tagger.predict(test),
        certainty=[table.max(axis=1).tolist() for table in marginals],
        corrected=[epoch.violations for epoch in tagger.epochs_],
        chain=tagger.evaluate(test),
        skip_chain=skip.evaluate(test),
    )


def _label_rows(seed: int, quiet: bool) -> "LabelsResult":
    """Train on invented rows with label sets, and predict the sets of others."""
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.cli.demo_page import LabelsResult
    from walkstep.data.demo import generate_rows
    from walkstep.evaluation.labels import label_set_scores

    rows = generate_rows(_N_ROWS, seed=seed)
    X, Y = rows.X, rows.Y
    assert Y is not None
    _say(quiet, f"training on {_N_TRAIN_ROWS} invented rows with {rows.n_labels} labels")
    classifier = MultiLabelClassifier(random_state=seed).fit(X[:_N_TRAIN_ROWS], Y[:_N_TRAIN_ROWS])
    predicted = classifier.predict(X[_N_TRAIN_ROWS:])
    return LabelsResult(label_set_scores(Y[_N_TRAIN_ROWS:], predicted, rows.label_names))


def _resolve_citations(seed: int, quiet: bool) -> "EntitiesResult":
    """Learn which citations are of the same paper, and tell it of others."""
    from walkstep.cli.demo_entities import N_PAPERS, resolve_bibliography

    _say(quiet, f"learning from citations of {N_PAPERS} invented papers, and resolving those of {N_PAPERS} others")
    return resolve_bibliography(seed)


def _say(quiet: bool, text: str) -> None:
    """Progress, on stderr."""
    if not quiet:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
