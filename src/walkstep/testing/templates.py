"""A check of templates: that they ground the same way every time, are scored rightly, and can be saved."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from walkstep.compiled import compiled
from walkstep.data.archive import load_archive, save_archive
from walkstep.data.sequences import Sequences
from walkstep.model.domains import Domain
from walkstep.model.graph import Graph
from walkstep.model.grounding import Grounding
from walkstep.model.score import score, statistics
from walkstep.model.templates import Template
from walkstep.worlds.base import delta, difference
from walkstep.worlds.labels import label_world
from walkstep.worlds.moves import Flip
from walkstep.worlds.randomness import Seed, as_generator
from walkstep.worlds.sparse import clear, sparse_vector


def check_template(
    template: Template | Iterable[Template],
    sequences: Sequences,
    *domains: Domain,
    n_flips: int = 30,
    rng: Seed = 0,
    **settings: Any,
) -> None:
    """Check one template, or a model of several, on data.

    It must make factors, make the same ones when asked again, and come back from a file as it was; and the
    fast differences of statistics and score must be those of :mod:`walkstep.model.score`, which looks at whole
    worlds. That one is slow: give tens of tokens, not thousands.

    Parameters
    ----------
    template : Template or iterable of Template
    sequences : Sequences
        Data on which every template makes a factor.
    *domains : Domain
        The label variables.
    n_flips : int
        How many single changes to compare.
    rng : int or Generator
    **settings
        As for :class:`~walkstep.model.grounding.Grounding`: functions, gazetteers, clusters, ...

    Examples
    --------
    >>> from walkstep.model import Site
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She", "wrote", "well"]])
    >>> check_template(Template((Site("tag", offset=-1), Site("tag")), ("lower",)), corpus, Domain("tag", ("O", "X")))
    """
    templates = (template,) if isinstance(template, Template) else tuple(template)
    grounding = Grounding(templates, **settings)
    graph, _ = grounding.fit_ground(sequences, *domains)
    made = {group.name for group in grounding.factors(sequences)}
    for block, described in zip(grounding.block_names, templates, strict=True):
        assert block in made, (
            f"template '{described.label}' makes no factor on these {sequences.n_tokens} tokens; "
            "give data on which its condition holds and its sites lie inside a sentence"
        )
    _check_same(graph, grounding.ground(sequences)[0], "grounded again", "let its functions depend on the word alone")
    _check_saving(grounding, graph, sequences)
    _check_flips(graph, ", ".join(described.label for described in templates), n_flips, as_generator(rng))


def _check_same(one: Graph, other: Graph, when: str, way_out: str) -> None:
    """Two graphs must be equal, array by array."""
    for name, mine, others in zip(one._fields, one, other, strict=True):
        assert np.array_equal(mine, others), f"the graph has another {name} when {when}; {way_out}"


def _check_saving(grounding: Grounding, graph: Graph, sequences: Sequences) -> None:
    """What comes back from a file must ground as what was saved."""
    description, arrays = grounding.state(without_functions=True)
    assert json.loads(json.dumps(description)) == description, (
        f"the description of templates {grounding.block_names} changes on its way through JSON; "
        "use texts, numbers and lists alone"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grounding"
        save_archive(path, "Grounding", description, arrays)
        restored = Grounding.from_state(*load_archive(path, "Grounding"), functions=grounding.functions)
    for before, after in zip(grounding.templates, restored.templates, strict=True):
        assert after == before, f"template '{before}' comes back from a file as '{after}'; report this"
    way_out = "let its functions depend on the word alone"
    _check_same(graph, restored.ground(sequences)[0], "saved, loaded and grounded", way_out)


def _check_flips(graph: Graph, name: str, n_flips: int, rng: np.random.Generator) -> None:
    """Single changes must be priced as whole worlds are."""
    weights = rng.normal(size=graph.n_weights)
    world = label_world(graph, values=rng.integers(0, graph.n_values))
    phi = sparse_vector(graph.n_weights)
    before = statistics(graph, world.values)
    for _ in range(n_flips):
        site = int(rng.integers(graph.n_variables))
        old, value = int(world.values[site]), int(rng.integers(graph.n_values[site]))
        change = _price(world, site, value, weights, phi)
        old_score = score(graph, weights, world.values)
        world.values[site] = value
        after = statistics(graph, world.values)
        where = f"template '{name}': variable {site} going from {old} to {value} changes"
        dense = np.zeros(graph.n_weights)
        for index, amount in phi.to_dict().items():
            dense[index] = amount
        at = int(np.argmax(np.abs(dense - (after - before))))
        assert np.allclose(dense, after - before, atol=1e-9), (
            f"{where} statistic {at} by {dense[at]:g}, but whole worlds differ there by {(after - before)[at]:g}; "
            "compare walkstep.worlds.labels with walkstep.model.score"
        )
        expected = score(graph, weights, world.values) - old_score
        assert np.isclose(change, expected, atol=1e-9), (
            f"{where} the score by {change:g}, but whole worlds differ by {expected:g}; "
            "compare walkstep.worlds.labels with walkstep.model.score"
        )
        before = after


@compiled(allocates=False)
def _price(world, site, value, weights, phi):
    """The change of score of a flip; its change of statistics goes to phi."""
    move = Flip(site, value)
    change = delta(world, move, weights, phi)
    clear(phi)
    difference(world, move, phi)
    return change
