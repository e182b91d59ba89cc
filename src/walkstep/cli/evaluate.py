"""``walkstep evaluate``: how well a saved model does on labelled data."""

from pathlib import Path
from typing import Annotated

import typer

from walkstep.cli.files import check_inputs, check_outputs, write_json
from walkstep.cli.structures import STRUCTURES

_OF_TABLES = ("EntityResolver", "CollectiveClassifier")


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `walkstep fit` saved.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled data of the kind it was trained on.")],
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to this file.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Of records: which entity each one is; of linked items, rankings and classes: where these are.",
        ),
    ] = None,
    links: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of linked items: a table of the links between them.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of tables: how their text is encoded, such as latin-1 (utf-8).")
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Count tags that the model never learned as missed.")
    ] = False,
) -> None:
    """Compare a model's answers with the truth: precision, recall and F1, by type and overall."""
    from walkstep.data.archive import kind_of

    check_inputs(data, links)
    check_outputs(json_file, inputs=(model, data, links))
    kind = kind_of(model)
    if truth is not None and kind not in (*_OF_TABLES, *STRUCTURES):
        raise ValueError(f"--truth names a column, but {model} holds a {kind}; leave it out")
    if encoding is not None and kind not in _OF_TABLES:
        raise ValueError(f"--encoding is for tables of records, but {model} holds a {kind}; save {data} as UTF-8")
    if links is not None and kind != "CollectiveClassifier":
        raise ValueError(f"--links is for linked items, but {model} holds a {kind}; leave it out")
    if kind == "SequenceTagger":
        from walkstep.apps.sequence_tagger import SequenceTagger
        from walkstep.data.readers.conll import read_conll

        tagger, corpus = SequenceTagger.load(model), read_conll(data)
        try:
            scores = tagger.evaluate(corpus, allow_unknown=allow_unknown)
        except ValueError as error:
            raise ValueError(f"{data}: {error}") from error
    elif kind == "MultiLabelClassifier":
        from walkstep.apps.multi_label_classifier import MultiLabelClassifier
        from walkstep.cli.label_sets import read_truth

        classifier = MultiLabelClassifier.load(model)
        scores = classifier.evaluate(*read_truth(classifier, data))
    elif kind == "LabelRanker":
        from walkstep.cli.rankings import evaluate_rankings

        scores = evaluate_rankings(model, data, truth)
    elif kind == "HierarchyClassifier":
        from walkstep.cli.hierarchies import evaluate_hierarchies

        scores = evaluate_hierarchies(model, data, truth)
    elif kind == "EntityResolver":
        from walkstep.cli.evaluate_entities import evaluate_entities

        if truth is None:
            raise ValueError(f"{model} resolves records; name the column of their true entities with --truth")
        scores = evaluate_entities(model, data, truth, encoding or "utf-8")
    elif kind == "CollectiveClassifier":
        from walkstep.cli.linked_tables import evaluate_linked

        scores = evaluate_linked(model, data, links, truth=truth, encoding=encoding or "utf-8")
    else:
        raise ValueError(f"{model} holds a {kind}, which `walkstep evaluate` does not know; use {kind}.load in Python")
    typer.echo(scores.table())
    if json_file is not None:
        write_json(json_file, scores.to_dict())
