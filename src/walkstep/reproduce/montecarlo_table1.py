"""Table 1 of Singh, Wick and McCallum (2012): how many factors it takes to resolve the citations of Cora.

A pairwise model is trained by SampleRank on all of Cora, as in the paper; it looks at a twentieth of the factors while
it learns, so that every single pair has to be right, and not only the sum over a cluster. A constant is then added to
the score of every pair, the one with the best F1 of pairs taken one by one. The same weights serve all rows.

The walk begins with every mention alone, and moves a random mention to the entity of another one that shares a
block with it; blocks are those that the resolver makes by default. The paper's own proposal, any entity at all, takes
some thirty times the factors, and is run for comparison. The temperature is low, and the same for all rows. Counted are
the factors looked at until B-cubed F1 is first seen at 0.90; it is looked at five times a sweep, and
once where any entity may be proposed.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.data.catalogue import find
from walkstep.data.records import as_frame, truth_codes
from walkstep.evaluation.clusters import b_cubed
from walkstep.features.column_kinds import infer_kinds
from walkstep.features.comparisons import compare_pairs
from walkstep.features.default_blocking import default_blocking
from walkstep.features.default_comparators import default_comparators
from walkstep.features.encodings import encode
from walkstep.inference.annealing import Schedule, constant
from walkstep.inference.metropolis import metropolis
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, PartitionModel, ground_partition
from walkstep.worlds.partition import PartitionWorld, at_truth, partition_world
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from walkstep.worlds.randomness import stream

NAME = "montecarlo-table1"
TARGET = 0.90
# The paper's speed-ups: shares of the factors, and widths of the confidence interval.
_SHARES = {1.0: 1.0, 0.75: 1.64, 0.5: 2.04, 0.3: 3.22, 0.2: 4.44, 0.1: 7.29}
_WIDTHS = {0.001: 1.09, 0.01: 1.11, 0.1: 1.21, 0.5: 1.74, 1.0: 3.02, 2.0: 5.14, 5.0: 5.83, 10.0: 6.60, 20.0: 6.90}
_N_PLACES = 1 << 22  # every pair of Cora stays remembered
_CONJUNCTIONS = (
    ("cosine(title)", "names(author)"),
    ("cosine(title)", "cosine(venue)"),
    ("cosine(title)", "number(year)"),
    ("cosine(title)", "number(pages)"),
    ("names(author)", "cosine(venue)"),
    ("number(year)", "cosine(venue)"),
)
_TEMPERATURE = 0.1
_MEAN_SCORE = 4.0  # the mean size of a pair's score, that of log odds; widths and temperatures go with it
LEARNING_SHARE = 0.05
"""Of the factors of a move, in training: mostly one of either side."""


def learning_rule():
    """Small steps and a steady pull to zero keep the scores of pairs alike: a sample of alike scores is a good one."""
    return step_rule("mira", rate=0.001, l2=1e-4)


class Setting(NamedTuple):
    """How the factors of a move are sampled, and the paper's speed-up."""

    share: float | None
    width: float | None
    paper: float | None
    by_side: bool = True
    screen: bool = False
    merges: bool = False  # whether entities are merged and split too

    @property
    def name(self) -> str:
        """As the paper writes it, and what differs from there."""
        name = f"p = {self.share:g}" if self.width is None else f"i = {self.width:g}"
        differs = {"sides alike": not self.by_side, "screened": self.screen, "merges": self.merges}
        return ", ".join([name, *(what for what, does in differs.items() if does)])


class Climb(NamedTuple):
    """What it took to reach a target, or to give up."""

    is_reached: bool
    n_factors: int
    n_moves: int
    seconds: float  # CPU time of the walk alone
    best: float  # the highest F1 seen


def settings(shares: dict[float, float], widths: dict[float, float]) -> list[Setting]:
    """Rows of a table, the baseline first."""
    by_share = [Setting(share, None, paper) for share, paper in shares.items()]
    return by_share + [Setting(None, width, paper) for width, paper in widths.items()]


def climb(
    world: PartitionWorld,
    weights: NDArray[np.float64],
    setting: Setting,
    scores: Sequence[Callable[[NDArray[np.integer]], float]],
    *,
    target: float,
    n_moves: int,
    max_moves: int,
    schedule: Schedule,
    seed: int,
) -> list[Climb]:
    """Walk from singletons until each of the scores was first seen at the target; what it took each of them.

    Parameters
    ----------
    world : PartitionWorld
    weights : float array (n_weights,)
    setting : Setting
    scores : sequence of callables
        Of the cluster of each mention.
    target : float
    n_moves : int
        Moves between two looks at the scores.
    max_moves : int
        Where the walk gives up.
    schedule : callable
        The temperature, by the share of ``max_moves`` that is made.
    seed : int
    """
    sampled = {"share": setting.share, "width": setting.width, "by_side": setting.by_side, "screen": setting.screen}
    sampler = metropolis(world, weights, n_moves=n_moves, **sampled)
    state, rng = sampler.init(np.arange(len(world.truth))), stream(seed)
    n_factors, made, seconds = 0, 0, 0.0
    found = [Climb(False, 0, 0, 0.0, 0.0) for _ in scores]
    while made < max_moves and not all(one.is_reached for one in found):
        began = time.process_time()
        state, info = sampler.step(rng, state, schedule(made / max_moves))
        seconds += time.process_time() - began
        made += n_moves
        n_factors += info.n_factors
        values = state.values
        for k, score in enumerate(scores):
            if not found[k].is_reached:
                now = score(values)
                found[k] = Climb(now >= target, n_factors, made, seconds, max(found[k].best, now))
    return found


def table(
    rows: Sequence[Setting],
    climbs: dict[str, list[Climb]],
    say: Callable[[str], None],
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Factors, seconds and speed-up of each setting, means over seeds; and the speed-ups by name.

    A setting that missed the target from some seed has no speed-up, and a note.
    """
    lines: list[dict[str, Any]] = []
    speedups: dict[str, float] = {}
    first = climbs[rows[0].name]
    base = np.mean([c.n_factors for c in first]), np.mean([c.seconds for c in first])
    base_reached = all(c.is_reached for c in first)
    for setting in rows:
        own = climbs[setting.name]
        n_factors = float(np.mean([c.n_factors for c in own]))
        seconds = float(np.mean([c.seconds for c in own]))
        n_reached = sum(c.is_reached for c in own)
        line = {"row": setting.name, "metric": "speed-up in factors", "paper": setting.paper, "ours": None}
        if n_reached == len(own) and base_reached:
            line["ours"] = speedups[setting.name] = float(base[0] / n_factors)
            line["note"] = f"{n_factors:,.0f} factors, {np.mean([c.n_moves for c in own]):,.0f} moves, {seconds:.1f} s"
            line["note"] += f" ({base[1] / seconds:.1f}x)"
        else:
            best = min(c.best for c in own)
            line["note"] = (
                f"reached from {n_reached} of {len(own)} starts; F1 {best:.3f} after {n_factors:,.0f} factors"
            )
        lines.append(line)
        say(f"{setting.name}: {line['note']}" + (f", {line['ours']:.2f}x" if line["ours"] else ""))
    return lines, speedups


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train on Cora, then race the settings to an F1 of 0.90.

    Parameters
    ----------
    seed : int
    quick : bool
        A fifth of the mentions, three settings, one start: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    frame = as_frame(find("cora") / "cora1295.jsonl")
    if quick:
        frame = frame[:250]
    truth = truth_codes(frame, "entity")
    world = cora_world(frame.drop("entity", "id"), truth)
    trainer = Trainer(
        at_truth(world),
        sampler="metropolis",
        rule=learning_rule(),
        share=LEARNING_SHARE,
        n_sweeps=20 if quick else 200,
        rng=seed,
    )
    for _ in range(2 if quick else 5):
        trainer.epoch()
    weights = calibrated(world, trainer.weights, truth)
    say(f"{len(truth):,} mentions of {truth.max() + 1} entities, {world.model.n_weights} weights trained")
    rows = settings(_SHARES, _WIDTHS)
    others = [Setting(1.0, None, None), Setting(0.1, None, None)]
    if quick:
        rows, others = [row for row in rows if row.name in ("p = 1", "p = 0.1", "i = 20")], []
    rows += [Setting(0.1, None, None, by_side=False), Setting(0.1, None, None, screen=True)]

    def race(world: PartitionWorld, rows: list[Setting], n_starts: int, looks: int, max_sweeps: int):
        climbs = {
            row.name: [
                climb(
                    world,
                    weights,
                    row,
                    [lambda values: b_cubed(values, truth).f1],
                    target=TARGET,
                    n_moves=len(truth) // looks,
                    max_moves=len(truth) * max_sweeps,
                    schedule=constant(_TEMPERATURE),
                    seed=seed + k,
                )[0]
                for k in range(n_starts)
            ]
            for row in rows
        }
        return table(rows, climbs, say)

    lines, speedups = race(world, rows, 1 if quick else 10, 5, 100)
    best = max(speedups, key=lambda name: speedups[name], default=None)
    if best is not None:
        lines.append({"row": f"best ({best})", "metric": "speed-up in factors", "paper": 7.29, "ours": speedups[best]})
    if others:
        say("to any entity at all, as in the paper:")
        for line in race(world._replace(proposer=uniform_mention()), others, 2, 1, 2500)[0]:
            lines.append(line | {"row": f"any entity, {line['row']}"})
    return {
        "name": NAME,
        "seed": seed,
        "seconds": time.perf_counter() - began,
        "rows": lines,
        "bars": [{"id": "mc-cora", "ours": speedups.get("p = 0.1")}],
    }


def cora_world(frame: Any, truth: NDArray[np.int32]) -> PartitionWorld:
    """Citations, each alone, under a pairwise model of the usual comparators and some of them taken together."""
    kinds = infer_kinds(frame)
    encoded = encode(frame, default_comparators(kinds, frame))
    n_levels = {c.name: c.n_levels for c in encoded.comparators}
    joined = tuple(names for names in _CONJUNCTIONS if set(names) <= set(n_levels))
    grounded = ground_partition([Affinity(conjunctions=joined)], n_levels)
    proposer = block_guided(default_blocking(kinds).build(frame).blocks, share_merge=0.0)
    return partition_world(grounded.model, encoded.comparisons, truth, proposer=proposer, n_places=_N_PLACES)


def calibrated(world: PartitionWorld, weights: NDArray[np.float64], truth: NDArray[np.int32]) -> NDArray[np.float64]:
    """Weights with a constant for every pair, that of the best F1 of pairs, and scores of a usual size."""
    one, other = np.triu_indices(len(truth), 1)
    score = scores_of_pairs(world.model, weights, compare_pairs(world.pairs.comparisons, one, other))
    constant, size = best_constant(score, truth[one] == truth[other])
    made = weights.copy()
    first = int(np.flatnonzero(world.model.pair_offset >= 0)[0])
    # Every pair has one level of each comparator, so what all levels of one gain, all pairs do.
    at = world.model.pair_offset[first]
    made[at : at + world.pairs.comparisons.n_levels[first]] += constant
    return made * (_MEAN_SCORE / size)


def best_constant(score: NDArray[np.float64], same: NDArray[np.bool_]) -> tuple[float, float]:
    """What to add to scores so that the pairs above 0 have the best F1, and the mean size of a score then.

    Examples
    --------
    >>> best_constant(np.array([4.0, 3.0, 1.0, 0.0]), np.array([True, True, False, False]))
    (-2.0, 1.5)
    """
    order = np.argsort(-score, kind="stable")
    f1 = 2.0 * np.cumsum(same[order]) / (np.arange(1, len(score) + 1) + same.sum())
    last = int(f1[:-1].argmax())
    constant = -float(score[order[last : last + 2]].mean())
    return constant, float(np.abs(score + constant).mean())


def scores_of_pairs(
    model: PartitionModel, weights: NDArray[np.float64], levels: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """The score of each pair, from its levels."""
    score = np.zeros(len(levels))
    for c, at in enumerate(model.pair_offset):
        if at >= 0:
            score += weights[at + levels[:, c].astype(np.int64)]
    for q, at in enumerate(model.conjunction_offset):
        index = np.full(len(levels), at, np.int64)
        for e in range(model.conjunction_ptr[q], model.conjunction_ptr[q + 1]):
            index += model.conjunction_stride[e] * levels[:, model.conjunction_of[e]].astype(np.int64)
        score += weights[index]
    return score
