"""Table 3 of the SampleRank paper (Wick et al., 2011): named entities of CoNLL-2003.

Span F1 after one and after ten epochs; no epoch is chosen by its score. Rows without a remark use the tagger as it
comes; *skip-chain* adds factors between words that recur in a document; *paper's steps* are MIRA on the value that
the walk drew, as in the paper, on our features; *MaxLike-L2* is exact maximum likelihood by L-BFGS, to its end or
100 iterations; *SVM* is a structured support vector machine by Pegasos with exact loss-augmented inference, of three
costs the one that does best on Test-A. Test-B is scored where ``eng.testb`` lies beside the other two files.
"""

import time
from collections.abc import Callable
from typing import Any

from walkstep.apps.sequence_tagger import SequenceTagger
from walkstep.data.catalogue import find
from walkstep.data.readers.conll import read_conll
from walkstep.data.sequences import Sequences

NAME = "samplerank-table3"
_FILES = {"Test-A": "eng.testa", "Test-B": "eng.testb"}
_PAPER: dict[str, dict[str, float | None]] = {
    "SampleRank, 10 epochs": {"Test-A": 0.913, "Test-B": 0.851},
    "SampleRank, 1 epoch": {"Test-A": 0.888, "Test-B": 0.825},
    "MaxLike-L2": {"Test-A": 0.896, "Test-B": 0.832},
    "SVM (c = 0.1, 1, 10)": {"Test-A": 0.886, "Test-B": 0.828},
}
_SVM_COSTS = (0.1, 1.0, 10.0)
_SVM: dict[str, Any] = {
    **{"learner": "svm", "inference": "max-product", "optimiser": "pegasos", "rate": 20.0},
    **{"n_epochs": 12, "batch_size": 16, "min_count": 2},
}

# The tagger as it comes; with agreement across a document; the paper's own way, MIRA steps against the value drawn; and
# the paper's rival without a walk.
_WALKS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "": ({}, (10, 1)),
    " (skip-chain)": ({"templates": "skip-chain"}, (10,)),
    " (paper's steps)": ({"step": "mira", "rate": 0.1, "rival": "drawn", "temperature": 0.3}, (10, 1)),
}
_LIKELIHOOD: dict[str, Any] = {"learner": "likelihood"}


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train for one and for ten epochs, in three ways, by likelihood and by margins, and score each.

    Parameters
    ----------
    seed : int
    quick : bool
        Train on the first 1,500 sentences or so and score on 500 of each test set: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    folder = find("conll2003")
    train = read_conll(folder / "eng.train")
    tests = {name: read_conll(folder / file) for name, file in _FILES.items() if (folder / file).is_file()}
    if quick:
        train, tests = train.head(1500), {name: corpus.head(500) for name, corpus in tests.items()}
    say(f"read {train.n_tokens:,} tokens to train on, and {', '.join(tests)}")
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []

    def score(name: str, way: str, **settings: Any) -> None:
        started = time.perf_counter()
        tagger = SequenceTagger(random_state=seed, **settings).fit(train)
        seconds = time.perf_counter() - started
        for test, corpus in tests.items():
            f1 = tagger.evaluate(corpus).f1
            say(f"{name}{way}: {test} F1 {f1:.4f}, {seconds:.1f} s to train")
            rows.append({"row": name + way, "metric": f"{test} F1", "paper": _PAPER[name][test], "ours": f1})
            if test == "Test-A" and not way and "n_epochs" in settings:
                bars.append({"id": f"conll-testa-{settings['n_epochs']}", "ours": f1})

    for way, (settings, epochs) in _WALKS.items():
        for n_epochs in epochs:
            score(f"SampleRank, {n_epochs} epoch{'s' if n_epochs > 1 else ''}", way, n_epochs=n_epochs, **settings)
    score("MaxLike-L2", "", **_LIKELIHOOD)
    rows += _svm_rows(train, tests, seed, quick, say)
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def _svm_rows(
    train: Sequences, tests: dict[str, Sequences], seed: int, quick: bool, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The support vector machine of the cost that does best on Test-A; a quick run tries one cost."""
    name = "SVM (c = 0.1, 1, 10)"
    scores: dict[float, dict[str, float]] = {}
    for cost in _SVM_COSTS[1:2] if quick else _SVM_COSTS:
        started = time.perf_counter()
        # |w|² / 2 + c Σ violations, divided by c and the number of tokens.
        settings = {**_SVM, "l2": 0.5 / (cost * train.n_tokens), **({"n_epochs": 1} if quick else {})}
        tagger = SequenceTagger(random_state=seed, **settings).fit(train)
        scores[cost] = {test: tagger.evaluate(corpus).f1 for test, corpus in tests.items()}
        shown = ", ".join(f"{test} F1 {f1:.4f}" for test, f1 in scores[cost].items())
        say(f"SVM, c = {cost}: {shown}, {time.perf_counter() - started:.1f} s to train")
    best = max(scores, key=lambda cost: scores[cost]["Test-A"])
    note = "; ".join(f"c = {cost}: {found['Test-A']:.4f}" for cost, found in scores.items())
    return [
        {"row": name, "metric": f"{test} F1", "paper": _PAPER[name][test], "ours": f1, "note": f"on Test-A {note}"}
        for test, f1 in scores[best].items()
    ]
