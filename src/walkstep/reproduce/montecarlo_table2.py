"""Table 2 of Singh, Wick and McCallum (2012): how many factors it takes to resolve five million author mentions.

The paper's mentions are DBLP's, with the labels of a small corpus among them. Ours are invented ones, all of them
labelled, in the sizes of DBLP; and, in a second table, the authors of real publications, of which a part is labelled
and scored. A pairwise model is trained by SampleRank on some whole blocks; a block is a surname with an initial. The
walk begins with every mention alone and moves single mentions to entities of their block. Counted are the factors
looked at until B-cubed F1 is first seen at 0.80.
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
from walkstep.features.comparators import exact, jaccard, lists, names, number
from walkstep.features.encodings import encode
from walkstep.inference.annealing import constant
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.reproduce.montecarlo_table1 import Climb, climb, settings, table
from walkstep.worlds.partition import PartitionWorld, at_truth, partition_world
from walkstep.worlds.partition_proposers import block_guided

NAME = "montecarlo-table2"
TARGET = 0.80
N_MENTIONS = 5_000_000
_SHARES = {1.0: 1.0, 0.5: 2.02, 0.2: 4.26, 0.1: 6.77, 0.05: 9.17, 0.02: 9.78}
_WIDTHS = {1e-5: 0.96, 1e-4: 0.98, 1e-3: 1.01, 0.1: 1.38, 1.0: 5.26, 10.0: 7.76, 100.0: 13.16}
_N_TRAIN = 20_000
_TEMPERATURE = 0.1
_MAX_SWEEPS = 60
# Few columns, each in one form: five million records of them take less than a gigabyte.
COMPARATORS = (
    names("given"),
    lists("coauthors", (0.01, 0.1, 0.2, 0.35, 0.6)),
    jaccard("title", (0.05, 0.1, 0.2, 0.35)),
    exact("venue"),
    number("year"),
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
    say = progress or (lambda text: None)
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
    invented = generate_author_mentions(20_000 if quick else N_MENTIONS, seed)
    lines, speedups = race(invented, "invented", seed=seed, quick=quick, say=say)
    rows += lines
    bars.append({"id": "mc-authors", "ours": max(speedups.values(), default=None)})
    del invented
    if not quick:
        rows += race(real_mentions(), "real", seed=seed, quick=quick, say=say)[0]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def race(
    frame: pl.DataFrame, what: str, *, seed: int, quick: bool, say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """One table: its rows, and the speed-ups by name."""
    truth = truth_codes(frame, "entity")
    sample = some_blocks(frame, _N_TRAIN, np.random.default_rng(seed))
    learned = author_world(sample, truth_codes(sample, "entity"))
    n_sweeps, n_epochs = (5, 2) if quick else (10, 4)
    trainer = Trainer(at_truth(learned), sampler="metropolis", rule="mira", n_sweeps=n_sweeps, rng=seed)
    for _ in range(n_epochs):
        trainer.epoch()
    world = author_world(frame, truth)
    del learned, sample, frame
    known = truth >= 0
    say(f"{what}: {len(truth):,} mentions, {known.sum():,} of them labelled, of {truth.max() + 1:,} entities")
    chosen = settings(_SHARES, _WIDTHS)
    if quick:
        chosen = [row for row in chosen if row.name in ("p = 1", "p = 0.1", "i = 100")]
    climbs: dict[str, list[Climb]] = {}
    for row in chosen:
        climbs[row.name] = [
            climb(
                world,
                trainer.weights,
                row,
                lambda values: b_cubed(values[known], truth[known]).f1,
                target=TARGET,
                n_moves=max(len(truth) // 5, 1000),
                max_moves=len(truth) * _MAX_SWEEPS,
                schedule=constant(_TEMPERATURE),
                seed=seed,
            )
        ]
    lines, speedups = table(chosen, climbs, say)
    best = max(speedups, key=lambda name: speedups[name], default=None)
    if best is not None:
        ours = speedups[best]
        lines.append({"row": f"best ({best})", "metric": "speed-up in factors", "paper": 13.16, "ours": ours})
    return [line | {"row": f"{what}, {line['row']}"} for line in lines], speedups


def author_world(frame: pl.DataFrame, truth: NDArray[np.int32]) -> PartitionWorld:
    """Author mentions, each alone, in blocks of surname and initial."""
    blocking = Blocking([Same("surname", "initial:given")], max_block=1 << 15)
    blocks = blocking.build(frame.select("surname", "given")).blocks
    encoded = encode(frame.select({c.column: pl.col(c.column) for c in COMPARATORS}.values()), COMPARATORS)
    grounded = ground_partition([Affinity()], {c.name: c.n_levels for c in encoded.comparators})
    proposer = block_guided(blocks, share_merge=0.0)
    return partition_world(grounded.model, encoded.comparisons, truth, proposer=proposer)


def some_blocks(frame: pl.DataFrame, n_mentions: int, rng: np.random.Generator) -> pl.DataFrame:
    """The mentions of randomly chosen surnames and initials, about so many."""
    key = frame.select(pl.struct("surname", pl.col("given").str.head(1)).hash(0)).to_series().to_numpy()
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
