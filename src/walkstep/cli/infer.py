"""``walkstep infer``: marginals, or the partition function, of a model in UAI format."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from walkstep.cli.files import check_inputs, check_outputs, write_text


class Task(StrEnum):
    """What is asked."""

    MAR = "MAR"
    PR = "PR"


def infer(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model in UAI format.")],
    evidence: Annotated[
        Path | None, typer.Option("--evidence", "-e", metavar="FILE", help="What is observed, in UAI format.")
    ] = None,
    task: Annotated[Task, typer.Option(help="Marginals (MAR), or log10 of the partition function (PR).")] = Task.MAR,
    damping: Annotated[float, typer.Option(help="The share of its last message that each factor keeps.")] = 0.3,
    max_rounds: Annotated[int, typer.Option(help="At most so many rounds of messages.")] = 1000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; the terminal by default.")
    ] = None,
) -> None:
    """Answer by belief propagation: exactly where the model closes no cycle, otherwise nearly."""
    inputs = [path for path in (model, evidence) if path is not None]
    check_inputs(*inputs)
    check_outputs(output, inputs=tuple(inputs))
    from walkstep.data.readers.uai import read_uai, read_uai_evidence, write_uai_marginals, write_uai_partition
    from walkstep.inference import belief_propagation
    from walkstep.model.uai import uai_graph

    read = read_uai(model)
    seen = None if evidence is None else read_uai_evidence(evidence, read.n_values)
    found = belief_propagation(uai_graph(read, seen), [], damping=damping, max_rounds=max_rounds)
    sys.stderr.write(f"{found.outcome.value} ({found.n_rounds} rounds)\n")
    if task is Task.PR:
        assert found.log_partition is not None
        text = write_uai_partition(found.log_partition)
    else:
        text = write_uai_marginals(found.marginals, read.n_values)
    if output is not None:
        write_text(output, text)
    else:
        sys.stdout.write(text)
