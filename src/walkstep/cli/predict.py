"""``walkstep predict``: answers for new data, from a saved model of any kind."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from walkstep.cli.files import check_counts, check_inputs, check_outputs, write_text
from walkstep.cli.structures import STRUCTURES

if TYPE_CHECKING:
    from walkstep.apps.sequence_tagger import SequenceTagger
    from walkstep.data.sequences import Sequences


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `walkstep fit` saved.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Text or columns to tag; feature rows (ARFF, LIBSVM, CSV); or a table of linked items."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; the terminal by default.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add how probable each tag is; for rows and items, write probabilities.")
    ] = False,
    k_best: Annotated[
        int | None, typer.Option("--k-best", metavar="N", help="The N best taggings of each sentence.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="For label sets, write the names of labels instead of 0 and 1.")
    ] = False,
    links: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For linked items, a table of the links between them.")
    ] = None,
    hold_labels: Annotated[
        bool, typer.Option("--hold-labels", help="For linked items, take the labels that are there as known.")
    ] = False,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of tables of items: how their text is encoded (utf-8).")
    ] = None,
) -> None:
    """Tag text, or predict label sets, rankings or classes of rows, or the labels of linked items."""
    from walkstep.data.archive import kind_of

    check_counts(k_best=k_best)
    check_inputs(data, links)
    check_outputs(output, inputs=(model, data, links))
    kind = kind_of(model)
    for option, is_given in (("links", links), ("hold-labels", hold_labels), ("encoding", encoding)):
        if is_given and kind != "CollectiveClassifier":
            raise ValueError(f"--{option} is for linked items, but {model} holds a {kind}; leave it out")
    if kind == "SequenceTagger":
        if names:
            raise ValueError(f"--names is for label sets, but {model} is a tagger; leave it out")
        text = _tagged(model, data, marginals, k_best)
    elif kind == "MultiLabelClassifier":
        if k_best is not None:
            raise ValueError(f"--k-best is for taggers, but {model} predicts label sets; leave it out")
        text = _label_sets(model, data, marginals, names)
    elif kind in STRUCTURES:
        if names or k_best is not None:
            raise ValueError(f"--names and --k-best say nothing to the {kind} in {model}; leave them out")
        text = _csv(*_structures(kind, model, data, marginals))
    elif kind == "CollectiveClassifier":
        if names or k_best is not None:
            raise ValueError(f"--names and --k-best are not for linked items, which {model} labels; leave them out")
        _linked(model, data, output, links, marginals, hold_labels, encoding or "utf-8")
        return
    else:
        raise ValueError(f"{model} holds a {kind}, which `walkstep predict` does not know; use {kind}.load in Python")
    if output is not None:
        write_text(output, text)
    else:
        sys.stdout.write(text)


def _tagged(model: Path, data: Path, marginals: bool, k_best: int | None) -> str:
    """Columns with the predicted tags."""
    from walkstep.apps.sequence_tagger import SequenceTagger

    if marginals and k_best is not None:
        raise ValueError("--marginals and --k-best cannot be combined; ask for one of them")
    tagger = SequenceTagger.load(model)
    corpus = read_unseen(tagger, data)
    if k_best is not None:
        return _best_taggings(corpus, tagger.predict_k_best(corpus, k_best))
    tags = _flat(tagger.predict(corpus))
    if marginals:
        tables = tagger.predict_marginals(corpus)
        shown = (_probabilities(tagger.classes_, row) for table in tables for row in table.tolist())
        tags = [f"{tag}\t{row}" for tag, row in zip(tags, shown, strict=True)]
        return _columns(corpus, tags, "\t")
    from io import StringIO

    from walkstep.data.readers.conll import write_conll

    text = StringIO()
    write_conll(text, corpus, tags)
    return text.getvalue()


def read_unseen(tagger: "SequenceTagger", data: Path) -> "Sequences":
    """Tokens of a file, with columns named as those of the training data were."""
    from walkstep.data.readers.conll import read_tokens

    corpus = read_tokens(data)
    needed = set(tagger.columns_)
    if not needed <= set(corpus.columns) and len(corpus.columns) > len(needed):
        # The file also has tags, as training data does; they are not looked at.
        tagged = read_tokens(data, tag_column=-1)
        if needed <= set(tagged.columns):
            return tagged
    return corpus


def _flat(nested: Iterable[Sequence[str]]) -> list[str]:
    """All entries in one list."""
    return [entry for part in nested for entry in part]


def _probabilities(classes: Sequence[str], row: Sequence[float]) -> str:
    """Each tag with its probability, such as ``O=0.9713``."""
    return "\t".join(f"{tag}={p:.4f}" for tag, p in zip(classes, row, strict=True))


def _columns(corpus: "Sequences", last: Sequence[str], separator: str) -> str:
    """The words, their further columns, and a last one; a blank line after each sentence."""
    rows = zip(corpus.tokens, *corpus.columns.values(), last, strict=True)
    sentences = corpus.split([separator.join(row) for row in rows])
    return "".join("\n".join(lines) + "\n\n" for lines in sentences)


def _best_taggings(corpus: "Sequences", answers: Sequence[Sequence[tuple[list[str], float]]]) -> str:
    """Each sentence once for every tagging, under a line with its rank and score."""
    blocks = []
    words = corpus.split(list(zip(corpus.tokens, *corpus.columns.values(), strict=True)))
    for sentence, taggings in zip(words, answers, strict=True):
        for rank, (tags, score) in enumerate(taggings):
            lines = [" ".join((*row, tag)) for row, tag in zip(sentence, tags, strict=True)]
            blocks.append(f"# {rank + 1} {score:.4f}\n" + "\n".join(lines) + "\n\n")
    return "".join(blocks)


def _label_sets(model: Path, data: Path, marginals: bool, names: bool) -> str:
    """A CSV table with a column for each label, or a line of names for each row."""
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.cli.label_sets import read_unlabelled

    if marginals and names:
        raise ValueError("--marginals and --names cannot be combined; ask for one of them")
    classifier = MultiLabelClassifier.load(model)
    labels = classifier.label_names_
    X = read_unlabelled(classifier, data)
    if marginals:
        return _csv(labels, [[f"{p:.4f}" for p in row] for row in classifier.predict_proba(X).tolist()])
    predicted = classifier.predict(X).tolist()
    if names:
        sets = ([label for label, borne in zip(labels, row, strict=True) if borne] for row in predicted)
        return "".join(" ".join(one) + "\n" for one in sets)
    return _csv(labels, [[str(int(cell)) for cell in row] for row in predicted])


def _structures(kind: str, model: Path, data: Path, marginals: bool) -> tuple[list[str], list[list[str]]]:
    """A table with a ranking or the classes of each row, or with probabilities."""
    if kind == "LabelRanker":
        from walkstep.cli.rankings import predict_rankings

        return predict_rankings(model, data, marginals=marginals)
    from walkstep.cli.hierarchies import predict_hierarchies

    return predict_hierarchies(model, data, marginals=marginals)


def _linked(
    model: Path, data: Path, output: Path | None, links: Path | None, marginals: bool, hold: bool, encoding: str
) -> None:
    """A table of items and their labels, in the format that the name of the output tells."""
    from walkstep.cli.linked_tables import predict_linked
    from walkstep.data.readers.tables import table_ending, write_table

    if output is not None:
        table_ending(output)
    answers = predict_linked(model, data, links, marginals=marginals, hold_labels=hold, encoding=encoding)
    if output is not None:
        write_table(answers, output)
    else:
        sys.stdout.write(answers.write_csv())


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as text."""
    import csv
    from io import StringIO

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
