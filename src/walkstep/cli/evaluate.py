"""``walkstep evaluate``: how well a saved model does on labelled data."""

from pathlib import Path
from typing import Annotated

import typer

from walkstep.cli.files import check_inputs, check_outputs, write_json


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `walkstep fit` saved.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled data of the kind it was trained on.")],
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to this file.")
    ] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of records: the column that says which entity each one is.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of records: how their text is encoded, such as latin-1 (utf-8).")
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Count tags that the model never learned as missed.")
    ] = False,
) -> None:
    """Compare a model's answers with the truth: precision, recall and F1, by type and overall."""
    from walkstep.data.archive import kind_of

    check_inputs(data)
    check_outputs(json_file, inputs=(model, data))
    kind = kind_of(model)
    if truth is not None and kind != "EntityResolver":
        raise ValueError(f"--truth names the column of true entities, but {model} holds a {kind}; leave it out")
    if encoding is not None and kind != "EntityResolver":
        raise ValueError(f"--encoding is for tables of records, but {model} holds a {kind}; save {data} as UTF-8")
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
    elif kind == "EntityResolver":
        from walkstep.cli.evaluate_entities import evaluate_entities

        if truth is None:
            raise ValueError(f"{model} resolves records; name the column of their true entities with --truth")
        scores = evaluate_entities(model, data, truth, encoding or "utf-8")
    else:
        raise ValueError(f"{model} holds a {kind}, which `walkstep evaluate` does not know; use {kind}.load in Python")
    typer.echo(scores.table())
    if json_file is not None:
        write_json(json_file, scores.to_dict())
