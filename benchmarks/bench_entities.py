"""Entities on Cora and DBLP-ACM beside dedupe and Splink: accuracy, seconds and memory, from the same records.

Each tool runs in a process of its own. Walkstep is given the tables as they are, the peers the fields, blocking and
thresholds that their documentation recommends. Metrics are computed here, on every record.
"""

import csv
import json
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.measure import ChildError, Record, measure_in_subprocess, record
from benchmarks.peers_entities import Table, costs
from walkstep.apps.entity_resolver import EntityResolver
from walkstep.data.catalogue import DataNotFound, find
from walkstep.evaluation.clusters import cluster_scores

ASKED = {"cora-0-b3": 0.88, "cora-200-b3": 0.915, "cora-200-pairwise": 0.885}  # the best figures known of peers
N_LABELLED = 200  # of DBLP-ACM, half of them matches, as in the list that comes with Cora
_HERE, _PEERS = "benchmarks.bench_entities", "benchmarks.peers_entities"
_SPLINK_CORA = {
    "texts": ["title", "author", "venue"],
    "exact": ["year", "pages"],
    "numbers": ["year", "pages"],
    "training": [["title"], ["author"]],
    "blocking": [["substr(title, 1, 5)"], ["substr(author, 1, 5)"], ["year", "pages"]],
    "certain": [["title", "author"], ["title", "year"]],
}
_SPLINK_DBLP_ACM = {
    "texts": ["title", "authors", "venue"],
    "exact": ["year"],
    "numbers": ["year"],
    "training": [["title"], ["authors"]],
    "blocking": [["substr(title, 1, 5)"], ["substr(authors, 1, 5)"], ["year", "substr(title, 1, 2)"]],
    "certain": [["title", "authors"], ["title", "year"]],
}


class Task(NamedTuple):
    """Records to resolve; those of all tables, one after the other, are numbered from 0."""

    name: str
    tables: list[Table]
    truth: np.ndarray
    pairs: list[list[int]]  # number, number, same
    fields: list[str]  # what dedupe compares
    splink: dict[str, list]


class Tool(NamedTuple):
    """A way to resolve a task: the function called in a process of its own, and what it is given beside the tables."""

    name: str
    module: str
    function: str
    given: dict[str, Any]


def run(quick: bool) -> list[Record]:
    """F1 of the best peer beside ours, for each data set with labelled pairs and without; all rows in ``tools``."""
    bars = []
    for name, read in (("cora", cora), ("dblp-acm", dblp_acm)):
        try:
            task = read(quick)
        except DataNotFound as error:
            bars += [_bar(f"{name}-{n}-{metric}", None, None, str(error)) for n in (0, N_LABELLED) for metric in _F1]
            continue
        # Compiled loops are kept on disk; runs that nobody looks at put them there.
        few = _few(task, 30)
        _rows(few, [_ours("no labels", few, False), _ours("pairs", few, True)])
        labelled = [
            _ours(f"Walkstep, {len(task.pairs)} pairs", task, True),
            _dedupe("dedupe, logistic regression", task, True),
            _dedupe("dedupe as it comes", task, False),
        ]
        unlabelled = [
            _ours("Walkstep, no labels", task, False),
            Tool("Splink, no labels", _PEERS, "splink_entities", task.splink),
        ]
        bars += _bars(f"{name}-0", task, unlabelled)
        bars += _bars(f"{name}-{N_LABELLED}", task, labelled)
    return bars


# Tools -----------------------------------------------------------------------------------------------


def walkstep_entities(tables: list[Table], pairs: list[list[int]] | None) -> dict[str, Any]:
    """Resolve by Walkstep with nothing set, learning from labelled pairs or from the records alone."""
    frames, first = [], 0
    for table in tables:
        rows = [{**row, "id": first + k} for k, row in enumerate(table)]
        frames.append(pl.DataFrame(rows, infer_schema_length=None))
        first += len(rows)
    both = frames[0]
    if len(frames) > 1:
        sources = [frame.with_columns(source=pl.lit(f"table{k}")) for k, frame in enumerate(frames)]
        both = pl.concat(sources, how="diagonal_relaxed")
    resolver = EntityResolver(id="id", source="source" if len(frames) > 1 else None, random_state=0)
    with costs() as found:
        resolver.fit(both, pairs=pairs)
        result = resolver.resolve(*frames)
    return {"assignment": result.assignment, **found}


def _ours(name: str, task: Task, is_labelled: bool) -> Tool:
    return Tool(name, _HERE, "walkstep_entities", {"pairs": task.pairs if is_labelled else None})


def _dedupe(name: str, task: Task, is_plain: bool) -> Tool:
    given = {"fields": task.fields, "pairs": task.pairs, "is_plain": is_plain}
    return Tool(name, _PEERS, "dedupe_entities", given)


# Tables of results -----------------------------------------------------------------------------------

_F1 = ("b3", "pairwise")


def _rows(task: Task, tools: list[Tool]) -> list[dict[str, Any]]:
    """What each tool reached and what it took; why, where it did not run."""
    rows = []
    for tool in tools:
        try:
            result = measure_in_subprocess(tool.module, tool.function, tables=task.tables, **tool.given)
        except ChildError as error:
            rows.append({"tool": tool.name, "reason": str(error)})
            continue
        scores = cluster_scores(result.pop("assignment"), task.truth)
        rows.append({"tool": tool.name, "b3": scores.b_cubed.f1, "pairwise": scores.pairwise.f1, **result})
    return rows


def _bars(id: str, task: Task, tools: list[Tool]) -> list[Record]:
    """Two bars of a data set: ours, the first tool, against the best of the others."""
    rows = _rows(task, tools)
    print(f"  {task.name}: {len(task.truth):,} records, {len(np.unique(task.truth)):,} entities")
    print(f"  {'':28}  B³ F1  pairwise  seconds      CPU    memory")
    for row in rows:
        print(f"  {row['tool']:28}  {_line(row)}")
    ours, *peers = rows
    ran = [row for row in peers if "b3" in row]
    best = max(ran, key=lambda row: row["b3"]) if ran else None
    reason = ours.get("reason") or (None if best else peers[0]["reason"])
    bars = [
        _bar(f"{id}-{metric}", ours.get(metric), (best["tool"], best[metric]) if best else None, reason)
        for metric in _F1
    ]
    bars[0]["tools"] = rows
    return bars


def _line(row: dict[str, Any]) -> str:
    if "reason" in row:
        return row["reason"]
    return (
        f"{row['b3']:.4f}    {row['pairwise']:.4f}  {row['wall']:7.1f}  {row['cpu']:7.1f}  "
        f"{row['peak'] / 2**20:5.0f} MiB"
    )


def _bar(id: str, ours: float | None, peer: tuple[str, float] | None, reason: str | None) -> Record:
    name, value = peer or (None, None)
    if reason is None and id in ASKED:
        reason = f"{ASKED[id]} is asked"
    return record(id, ours, name, value, reason=reason)


# Data sets -------------------------------------------------------------------------------------------


def cora(quick: bool) -> Task:
    """Citations of 112 papers, and the 200 labelled pairs that come with them."""
    folder = find("cora")
    rows = [json.loads(line) for line in (folder / "cora1295.jsonl").read_text(encoding="utf-8").splitlines()]
    number = {row["id"]: k for k, row in enumerate(rows)}
    with (folder / "labelled_pairs_200.csv").open(newline="", encoding="utf-8") as file:
        pairs = [[number[int(row["id_a"])], number[int(row["id_b"])], int(row["same"])] for row in csv.DictReader(file)]
    truth = np.array([row.pop("entity") for row in rows])
    fields = ["author", "title", "venue", "year", "pages"]
    task = Task("Cora", [rows], truth, pairs, fields, _SPLINK_CORA)
    return _few(task, 30) if quick else task


def dblp_acm(quick: bool) -> Task:
    """Papers of two clean tables."""
    folder = find("er_dblp_acm")
    files = (folder / "DBLP2.csv", folder / "ACM.csv")
    tables = [pl.read_csv(file, schema_overrides={"id": pl.String}).to_dicts() for file in files]
    names = [row["id"] for table in tables for row in table]
    number = {name: k for k, name in enumerate(names)}
    truth = np.arange(len(names))
    for a, b in pl.read_csv(folder / "perfectMapping.csv", schema_overrides=[pl.String, pl.String]).rows():
        truth[number[b]] = number[a]
    pairs = _labelled(tables, truth, N_LABELLED, np.random.default_rng(0))
    task = Task("DBLP-ACM", tables, truth, pairs, ["title", "authors", "venue", "year"], _SPLINK_DBLP_ACM)
    return _few(task, 400) if quick else task


def _labelled(tables: list[Table], truth: np.ndarray, n_pairs: int, rng: np.random.Generator) -> list[list[int]]:
    """Half of them matches drawn at random, half of them a random record and the likest title that is not its match."""
    n_left = len(tables[0])
    matched = n_left + np.flatnonzero(truth[n_left:] < n_left)
    pairs = [[int(truth[k]), int(k), 1] for k in rng.choice(matched, n_pairs // 2, replace=False)]
    words = [set(row["title"].lower().split()) for row in tables[1]]
    for k in rng.choice(n_left, n_pairs - len(pairs), replace=False):
        title = set(tables[0][k]["title"].lower().split())
        likeness = np.array([len(title & other) / len(title | other) for other in words])
        likeness[truth[n_left:] == truth[k]] = -1.0
        pairs.append([int(k), n_left + int(likeness.argmax()), 0])
    return rng.permutation(pairs).tolist()


def _few(task: Task, n_entities: int) -> Task:
    """The same with the records of some entities only, and the labelled pairs among them."""
    entities, first = np.unique(task.truth, return_index=True)
    chosen = entities[np.argsort(first)][:n_entities] if len(task.tables) == 1 else _shared(task)[:n_entities]
    kept = np.flatnonzero(np.isin(task.truth, chosen))
    new = {int(k): place for place, k in enumerate(kept)}
    ends = np.cumsum([0, *map(len, task.tables)])
    tables = [
        [table[k - start] for k in kept if start <= k < end]
        for table, start, end in zip(task.tables, ends[:-1], ends[1:], strict=True)
    ]
    pairs = [[new[a], new[b], same] for a, b, same in task.pairs if a in new and b in new]
    return task._replace(tables=tables, truth=task.truth[kept], pairs=pairs)


def _shared(task: Task) -> np.ndarray:
    """Entities of more than one record, those of labelled pairs first, so that some pairs are left."""
    labelled = [int(task.truth[k]) for a, b, _ in task.pairs for k in (a, b)]
    entities, counts = np.unique(task.truth, return_counts=True)
    return np.array(list(dict.fromkeys([*labelled, *entities[counts > 1].tolist()])))
