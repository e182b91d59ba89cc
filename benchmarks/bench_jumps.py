"""Time to the same answer: jumps that learn against moves of single mentions, on Cora and on coreference.

Both search with a ladder of budgets. The answer to reach is what single moves find with the usual one; the time of each
is that of the fastest whose answer is as good, on average over seeds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Record, cpu_timer, measure_in_subprocess, record
from walkstep.apps.coreference_resolver import CoreferenceResolver
from walkstep.apps.entity_resolver import EntityResolver
from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.mentions import MentionDocuments
from walkstep.data.readers.conll2012 import read_conll2012
from walkstep.data.readers.litbank import read_litbank
from walkstep.data.records import as_frame
from walkstep.evaluation.clusters import b_cubed
from walkstep.inference.partition_search import default_moves, search
from walkstep.reproduce.coreference_sets import read_books, read_gum

WALKS = ("single", "adaptive")
TOLERANCE = 0.001
"""Answers that differ by less are as good."""
SETS = {"cora": "Cora", "gum": "GUM", "litbank": "LitBank"}
_FOLDERS = {"cora": "cora", "gum": "gum_coref", "litbank": "litbank"}
ALLOWED = {"cora": 2.0, "gum": 1 / 1.1, "litbank": 1 / 1.1}
"""How many times as fast the bar asks it to be."""


def run(quick: bool) -> list[Record]:
    """CPU-seconds of one thread, to the same B³ F1."""
    bars = []
    for name, called in SETS.items():
        try:
            find(_FOLDERS[name])
            found = measure_in_subprocess("benchmarks.bench_jumps", "ladder", name=name, quick=quick)
        except DataNotFound as missing:
            bars.append(record(f"jumps-time-{name}", None, reason=str(missing)))
            continue
        for walk in WALKS:
            steps = zip(found["budgets"], found[f"{walk}_seconds"], found[f"{walk}_f1"], strict=True)
            print(f"  {called}, {walk}: " + "; ".join(f"{b:g}: {s:.2f} s, B³ F1 {f:.4f}" for b, s, f in steps))
        bars.append(_bar(name, called, found))
    return bars


def _bar(name: str, called: str, found: dict[str, Any]) -> Record:
    goal = found["single_f1"][found["budgets"].index(1.0)] - TOLERANCE
    seconds = {walk: _first(found[f"{walk}_seconds"], found[f"{walk}_f1"], goal) for walk in WALKS}
    if seconds["adaptive"] is None:
        return record(f"jumps-time-{name}", None, "single mentions", seconds["single"], reason="never as good")
    asked = f"{ALLOWED[name]:.2f}× as fast asked for"
    return record(
        f"jumps-time-{name}",
        seconds["adaptive"],
        "single mentions",
        seconds["single"],
        lower_is_better=True,
        reason=f"CPU-seconds to B³ F1 {goal:.4f} on {called}; {asked}",
    )


def _first(seconds: list[float], f1: list[float], goal: float) -> float | None:
    """The least time in which an answer is as good as asked for."""
    good = [s for s, f in zip(seconds, f1, strict=True) if f >= goal]
    return min(good) if good else None


def ladder(name: str, quick: bool) -> dict[str, Any]:
    """Seconds and B³ F1 of both walks for every budget."""
    n_seeds = 1 if quick else 10
    budgets = [0.5, 1.0] if quick else [0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 2.0]
    walks = _records(quick) if name == "cora" else _documents(name, quick)
    found: dict[str, Any] = {"budgets": budgets}
    for walk, go in walks.items():
        go(0.05, 0)  # compiled, or read from disk
        table = np.zeros((len(budgets), n_seeds, 2))
        for b, budget in enumerate(budgets):
            for seed in range(n_seeds):
                with cpu_timer() as timer:
                    answer = go(budget, seed)
                table[b, seed] = timer.seconds, answer()
        found[f"{walk}_seconds"], found[f"{walk}_f1"] = table.mean(axis=1).T.tolist()
    return found


Search = Callable[[float, int], Callable[[], float]]


def _records(quick: bool) -> dict[str, Search]:
    """Cora, all of it, under weights that a walk has learned from its own entities.

    What is compared are searches for one optimum, so its own truth may be learned from. Weights of the walk, not of the
    regression it starts from: under those the best partition is no better by B³ than worse ones, so that time to the
    same B³ would say nothing of a search.
    """
    records = as_frame(find("cora") / "cora1295.jsonl")
    if quick:
        records = records.head(300)
    resolver = EntityResolver(id="id", n_epochs=5, n_samples=0, random_state=0).fit(records, entity="entity")
    truth = records["entity"].rank("dense").to_numpy()
    prepared = resolver.model_.prepare(records.drop("entity", "id"))

    def walk(jumps: str) -> Search:
        def made(budget: float, seed: int) -> Callable[[], float]:
            world = prepared.world(guide=resolver.weights_, jumps=jumps)
            n_moves = max(1, int(budget * default_moves(world)))
            found = search(world, resolver.weights_, n_moves=n_moves, screen=True, rng=seed)
            return lambda: b_cubed(found.assignment, truth).f1

        return made

    return {jumps: walk(jumps) for jumps in WALKS}


def _documents(name: str, quick: bool) -> dict[str, Search]:
    """Coreference: weights from training documents, development documents resolved."""
    train = (read_gum() if name == "gum" else read_books()).head(10 if quick else 60)
    dev = _development(name).head(2 if quick else 10)

    def walk(jumps: str) -> Search:
        resolver = CoreferenceResolver(n_epochs=2, random_state=0, jumps=jumps).fit(train)
        sweeps = resolver.search_sweeps
        encoded = resolver.features_.encode(dev)

        def made(budget: float, seed: int) -> Callable[[], float]:
            resolver.set_params(n_search_sweeps=max(1, int(budget * sweeps)))
            answers = [resolver.search_document(encoded.document(d), seed) for d in range(len(dev))]
            bounds = zip(dev.document_ptr[:-1], dev.document_ptr[1:], strict=True)
            parts = list(zip(answers, bounds, strict=True))
            return lambda: float(np.mean([b_cubed(found, dev.entity[a:b]).f1 for found, (a, b) in parts]))

        return made

    return {jumps: walk(jumps) for jumps in WALKS}


def _development(name: str) -> MentionDocuments:
    if name == "gum":
        return read_conll2012(find("gum_coref") / "gum.dev.conll.gz", layer="gum")
    return read_litbank(find("litbank") / "litbank.dev.jsonl.gz")
