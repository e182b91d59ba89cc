"""Table 2 of Singh, Wick and McCallum (2012): how many factors it takes to resolve five million author mentions.

The paper's mentions are DBLP's, with the labels of a small corpus among them: 2,833 mentions of a few names that many
authors share. Ours are invented ones, all of them labelled, in the sizes of DBLP; and, in another table, the authors of
real publications, of which a part is labelled and scored. A pairwise model is trained by SampleRank on some whole
blocks, by a small share of the factors (see `montecarlo_table1`); a block is a surname with an initial, and is cut
where it is large. The walk begins with every mention alone and moves single mentions to the entities of others in
their block. Counted are the factors looked at until B-cubed F1 is first seen at 0.80: of all mentions, and, in rows
of their own, of names as ambiguous as those that the paper has labels for.

Some rows go beyond the paper: screened moves (see `walkstep.inference.monte_carlo`), and merges of whole entities. A
merge touches as many factors as there are pairs, so that a sample saves most there. Every speed-up is against the
exact walk that takes the fewest factors, be it with merges or without.
"""

import gzip
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.author_mentions import generate_author_mentions
from walkstep.data.catalogue import find
from walkstep.data.records import truth_codes
from walkstep.evaluation.clusters import b_cubed
from walkstep.features.block_keys import Same
from walkstep.features.blocking import Blocking
from walkstep.features.comparators import categories, exact, jaccard, lists, names, number
from walkstep.features.encodings import encode
from walkstep.inference.annealing import constant
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.reproduce.montecarlo_table1 import Climb, Setting, climb, settings, table
from walkstep.worlds.partition import PartitionWorld, at_truth, partition_world
from walkstep.worlds.partition_proposers import block_guided

NAME = "montecarlo-table2"
TARGET = 0.80
N_MENTIONS = 5_000_000
_SHARES = {1.0: 1.0, 0.5: 2.02, 0.2: 4.26, 0.1: 6.77, 0.05: 9.17, 0.02: 9.78}
_WIDTHS = {1e-5: 0.96, 1e-4: 0.98, 1e-3: 1.01, 0.1: 1.38, 1.0: 5.26, 10.0: 7.76, 100.0: 13.16}
_BEYOND = (
    Setting(0.02, None, None, screen=True),
    Setting(1.0, None, None, merges=True),
    Setting(0.02, None, None, merges=True),
    Setting(0.02, None, None, screen=True, merges=True),
    Setting(0.005, None, None, screen=True, merges=True),
    Setting(0.001, None, None, screen=True, merges=True),
    Setting(None, 100.0, None, screen=True, merges=True),
)
_SHARE_MERGE = 0.2  # of the moves, merges and splits, in the rows that have them
# At full size only some of the rows are run: a width that is next to nothing asks for all factors, and as long a walk.
_AT_FULL_SIZE = (
    "p = 1",
    "p = 0.02",
    "i = 100",
    "p = 1, merges",
    "p = 0.001, screened, merges",
    "i = 100, screened, merges",
)
_ALL_SETTINGS = 250_000  # mentions, those of whole blocks, on which every row is run
_N_TRAIN = 100_000
_TEMPERATURE = 0.1
_MAX_SWEEPS = 30
_MAX_BLOCK = 200
_AMBIGUOUS = (200, 600)  # mentions of a surname and initial; the paper's labelled names have 350 each
_SAMPLE = 0.1  # of the blocks, on which F1 is taken while it is far from the target
_FAR = 0.01
_LARGEST_WEIGHT = 4.0  # weights are scaled to it; temperature and widths go with the scale
# Few columns, each in one form: five million records of them take little memory.
COMPARATORS = (
    names("name", (0.35, 0.45, 0.78, 0.83, 0.88, 0.93, 0.97)),
    lists("coauthors", (0.01, 0.1, 0.2, 0.35, 0.6)),
    jaccard("title", (0.05, 0.1, 0.2, 0.35)),
    exact("venue"),
    number("year"),
    categories("mentions", ("1", "2", "3", "4", "5")),
)
_CONJUNCTIONS = (
    ("names(name)", "lists(coauthors)"),
    ("names(name)", "exact(venue)"),
    ("names(name)", "jaccard(title)"),
    ("names(name)", "number(year)"),
    ("jaccard(title)", "exact(venue)"),
    # That two mentions have the same name says little where the name is common.
    ("names(name)", "categories(mentions)"),
    ("names(name)", "lists(coauthors)", "categories(mentions)"),
)


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train on some blocks, then race the settings to an F1 of 0.80, on invented and on real mentions.

    Parameters
    ----------
    seed : int
    quick : bool
        Twenty thousand invented mentions and three settings: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()

    def say(text: str) -> None:
        if progress is not None:
            progress(f"[{time.perf_counter() - began:.0f} s] {text}")

    rows: list[dict[str, Any]] = []
    n = 20_000 if quick else N_MENTIONS
    invented = generate_author_mentions(n, seed)
    rng = np.random.default_rng(seed)
    weights = learned(some_blocks(invented, _N_TRAIN, rng), seed=seed, quick=quick)
    say(f"{n:,} mentions invented, weights trained")
    if not quick:
        some = some_blocks(invented, _ALL_SETTINGS, rng)
        rows += race(some, f"{_ALL_SETTINGS:,} invented", weights, seed=seed, names=None, say=say)[0]
    lines, speedups = race(invented, f"{n:,} invented", weights, seed=seed, names=_AT_FULL_SIZE, say=say)
    rows += lines
    del invented
    if not quick:
        real = real_mentions()
        weights = learned(some_blocks(real.drop_nulls("entity"), _N_TRAIN, rng), seed=seed, quick=quick)
        rows += race(real, "real", weights, seed=seed, names=_AT_FULL_SIZE, say=say)[0]
    bars = [{"id": "mc-authors", "ours": max(speedups.values(), default=None)}]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def learned(sample: pl.DataFrame, *, seed: int, quick: bool) -> NDArray[np.float64]:
    """Weights of the pairwise model, from some whole blocks."""
    world = author_world(sample, truth_codes(sample, "entity"))
    world = world._replace(proposer=world.proposer._replace(share_merge=0.0))
    trainer = Trainer(
        at_truth(world),
        sampler="metropolis",
        rule=step_rule("mira", rate=0.0002),
        share=0.02,
        n_sweeps=5 if quick else 30,
        rng=seed,
    )
    for _ in range(2 if quick else 4):
        trainer.epoch()
    return trainer.weights * (_LARGEST_WEIGHT / np.abs(trainer.weights).max())


def race(
    frame: pl.DataFrame,
    what: str,
    weights: NDArray[np.float64],
    *,
    seed: int,
    names: tuple[str, ...] | None,
    say: Callable[[str], None],
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """One table: its rows, and the speed-ups by name; ``names`` are the settings to run, None for all."""
    truth = truth_codes(frame, "entity")
    block, size = np.unique(block_keys(frame), return_inverse=True, return_counts=True)[1:]
    world = author_world(frame, truth)
    single_moves = world._replace(proposer=world.proposer._replace(share_merge=0.0))
    del frame
    known = truth >= 0
    is_ambiguous = (size[block] >= _AMBIGUOUS[0]) & (size[block] <= _AMBIGUOUS[1]) & known
    say(f"{what}: {len(truth):,} mentions, {known.sum():,} of them labelled, of {truth.max() + 1:,} entities")
    in_sample = np.random.default_rng(seed).random(len(size))[block] < _SAMPLE

    def f1_of_all(values: NDArray[np.integer]) -> float:
        """Of all that is labelled; of a sample of the blocks where that is plainly too low."""
        if len(truth) > _ALL_SETTINGS * 4:
            some = in_sample & known
            f1 = b_cubed(values[some], truth[some]).f1
            if f1 < TARGET - _FAR:
                return f1
        return b_cubed(values[known], truth[known]).f1

    def f1_of_ambiguous(values: NDArray[np.integer]) -> float:
        return b_cubed(values[is_ambiguous], truth[is_ambiguous]).f1

    kinds = {what: f1_of_all, f"{what}, ambiguous names": f1_of_ambiguous}
    if not is_ambiguous.any():
        kinds.popitem()
    rows = [*settings(_SHARES, _WIDTHS), *_BEYOND]
    chosen = [row for row in rows if names is None or row.name in names]
    climbs: dict[str, dict[str, list[Climb]]] = {kind: {} for kind in kinds}
    for row in chosen:
        found = climb(
            world if row.merges else single_moves,
            weights,
            row,
            list(kinds.values()),
            target=TARGET,
            n_moves=max(len(truth) // 5, 1000),
            max_moves=len(truth) * _MAX_SWEEPS,
            schedule=constant(_TEMPERATURE),
            seed=seed,
        )
        for kind, one in zip(kinds, found, strict=True):
            climbs[kind][row.name] = [one]
            say(f"{kind}, {row.name}: F1 {one.best:.3f}, {one.n_factors:,} factors, {one.seconds:.0f} s")
    lines: list[dict[str, Any]] = []
    speedups: dict[str, float] = {}
    for kind in reversed(kinds):  # so that what is left over is of all mentions
        # The table's baseline is its first row.
        exact_rows = [row for row in chosen if row.share == 1.0]
        baseline = min(exact_rows, key=lambda row: _cost(climbs[kind][row.name][0]))
        ordered = [baseline, *(row for row in chosen if row != baseline)]
        rows, speedups = table(ordered, climbs[kind], lambda text: None)
        best = max(speedups, key=lambda name: speedups[name], default=None)
        if best is not None:
            ours = speedups[best]
            rows.append({"row": f"best ({best})", "metric": "speed-up in factors", "paper": 13.16, "ours": ours})
        lines = [line | {"row": f"{kind}, {line['row']}"} for line in rows] + lines
    return lines, speedups


def _cost(climb: Climb) -> tuple[bool, int]:
    """Climbs that arrived before those that did not, then by factors."""
    return not climb.is_reached, climb.n_factors


def author_world(frame: pl.DataFrame, truth: NDArray[np.int32]) -> PartitionWorld:
    """Author mentions, each alone, in blocks of surname and initial; a share of the moves merges or splits."""
    blocking = Blocking([Same("surname", "initial:given")], max_block=_MAX_BLOCK)
    blocks = blocking.build(frame.select("surname", "given")).blocks
    # Coins decide the splits, so that no move looks at a pair that is not counted.
    proposer = block_guided(blocks, share_merge=_SHARE_MERGE, even_splits=True, rarity=0.0)
    # Given names alone do not tell a middle initial from a surname.
    frame = frame.with_columns(name=pl.col("given") + " " + pl.col("surname"), mentions=_commonness())
    encoded = encode(frame.select({c.column: pl.col(c.column) for c in COMPARATORS}.values()), COMPARATORS)
    templates = [Affinity(conjunctions=_CONJUNCTIONS)]
    grounded = ground_partition(templates, {c.name: c.n_levels for c in encoded.comparators})
    return partition_world(grounded.model, encoded.comparisons, truth, proposer=proposer)


def _commonness() -> pl.Expr:
    """How common a surname with its initial is: "1" below 50 mentions, then a step for each factor of four."""
    n_mentions = pl.len().over("surname", pl.col("given").str.head(1))
    return (1 + (n_mentions / 12.5).log(4.0).floor().clip(0, 4)).cast(pl.Int8).cast(pl.String)


def block_keys(frame: pl.DataFrame) -> NDArray[np.uint64]:
    """A number for each surname with its initial."""
    return frame.select(pl.struct("surname", pl.col("given").str.head(1)).hash(0)).to_series().to_numpy()


def some_blocks(frame: pl.DataFrame, n_mentions: int, rng: np.random.Generator) -> pl.DataFrame:
    """The mentions of randomly chosen surnames and initials, about so many."""
    key = block_keys(frame)
    keys, size = np.unique(key, return_counts=True)
    order = rng.permutation(len(keys))
    n_chosen = int(np.searchsorted(np.cumsum(size[order]), n_mentions)) + 1
    return frame.filter(pl.Series(np.isin(key, keys[order[:n_chosen]])))


def real_mentions() -> pl.DataFrame:
    """Authors in the ACL Anthology, part of them labelled, among those of other publications, who count as unlabelled.

    Labels of the other publications come from publishers and from the authors themselves: a person who is in both
    would have two, so they are left aside.
    """
    return pl.concat([_cs_mentions(), _acl_mentions()])


def _read_publications(name: str) -> pl.DataFrame:
    """One row an author of a paper, as they stand in the file."""
    with gzip.open(find(name) / "publications.jsonl.gz") as file:
        papers = pl.read_ndjson(file.read(), infer_schema_length=None)
    papers = papers.with_columns(
        paper=pl.lit(f"{name} ") + pl.col("id"), year=pl.col("year").cast(pl.Int16, strict=False)
    )
    return papers.drop("id")


def _finished(papers: pl.DataFrame, surname: pl.Expr, given: pl.Expr, entity: pl.Expr) -> pl.DataFrame:
    """The columns that are compared, from one row an author."""
    mentions = papers.with_columns(surname=surname, given=given.fill_null(""))
    short = pl.col("surname") + " " + pl.col("given").str.head(1)
    team = mentions.group_by("paper").agg(team=short)
    mentions = mentions.join(team, on="paper", maintain_order="left")
    others = pl.col("team").list.set_difference(pl.concat_list(short))
    return mentions.select(
        "surname", "given", "title", others.alias("coauthors"), "venue", "year", entity.alias("entity")
    )


def _acl_mentions() -> pl.DataFrame:
    papers = _read_publications("acl_authors").with_columns(venue=pl.col("venue").list.first())
    papers = papers.explode("authors").unnest("authors")
    return _finished(papers, pl.col("last"), pl.col("first"), pl.lit("acl ") + pl.col("id"))


def _cs_mentions() -> pl.DataFrame:
    papers = _read_publications("cs_publications").explode("authors").unnest("authors")
    papers = papers.filter(pl.col("name").str.strip_chars().str.len_chars() > 0)
    words = pl.col("name").str.strip_chars().str.split(" ")
    given = words.list.slice(0, words.list.len() - 1).list.join(" ")
    return _finished(papers, words.list.last(), given, pl.lit(None, pl.String))
