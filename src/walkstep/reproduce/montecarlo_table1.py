"""Table 1 of Singh, Wick and McCallum (2012): how many factors it takes to resolve the citations of Cora.

A pairwise model is trained by SampleRank on all of Cora, as in the paper. The walk begins with every mention alone
and moves a random mention to a random entity, under a temperature that falls with the number of moves, the same for
all rows. Counted are the factors looked at until B-cubed F1 is first seen at 0.90; it is looked at every few
thousand moves. Baseline rows look at all factors of a move, the others at a sample of them.
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
from walkstep.features.default_comparators import default_comparators
from walkstep.features.encodings import encode
from walkstep.inference.annealing import Schedule, geometric
from walkstep.inference.metropolis import metropolis
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.worlds.partition import PartitionWorld, at_truth, partition_world
from walkstep.worlds.partition_proposers import uniform_mention
from walkstep.worlds.randomness import stream

NAME = "montecarlo-table1"
TARGET = 0.90
# The paper's speed-ups: shares of the factors, and widths of the confidence interval.
_SHARES = {1.0: 1.0, 0.75: 1.64, 0.5: 2.04, 0.3: 3.22, 0.2: 4.44, 0.1: 7.29}
_WIDTHS = {0.001: 1.09, 0.01: 1.11, 0.1: 1.21, 0.5: 1.74, 1.0: 3.02, 2.0: 5.14, 5.0: 5.83, 10.0: 6.60, 20.0: 6.90}
_N_PLACES = 1 << 22  # every pair of Cora stays remembered


class Setting(NamedTuple):
    """How the factors of a move are sampled, and the paper's speed-up."""

    share: float | None
    width: float | None
    paper: float | None

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"p = {self.share:g}" if self.width is None else f"i = {self.width:g}"


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
    score: Callable[[NDArray[np.integer]], float],
    *,
    target: float,
    n_moves: int,
    max_moves: int,
    schedule: Schedule,
    seed: int,
) -> Climb:
    """Walk from singletons until the score is first seen at the target.

    Parameters
    ----------
    world : PartitionWorld
    weights : float array (n_weights,)
    setting : Setting
    score : callable
        Of the cluster of each mention.
    target : float
    n_moves : int
        Moves between two looks at the score.
    max_moves : int
        Where the walk gives up.
    schedule : callable
        The temperature, by the share of ``max_moves`` that is made.
    seed : int
    """
    sampler = metropolis(world, weights, share=setting.share, width=setting.width, n_moves=n_moves)
    state, rng = sampler.init(np.arange(len(world.truth))), stream(seed)
    n_factors, made, seconds, best = 0, 0, 0.0, 0.0
    while made < max_moves:
        began = time.process_time()
        state, info = sampler.step(rng, state, schedule(made / max_moves))
        seconds += time.process_time() - began
        made += n_moves
        n_factors += info.n_factors
        now = score(state.values)
        best = max(best, now)
        if now >= target:
            return Climb(True, n_factors, made, seconds, best)
    return Climb(False, n_factors, made, seconds, best)


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
    n_sweeps, n_epochs = (100, 2) if quick else (300, 8)
    trainer = Trainer(at_truth(world), sampler="metropolis", rule="mira", n_sweeps=n_sweeps, rng=seed)
    for _ in range(n_epochs):
        trainer.epoch()
    say(f"{len(truth):,} mentions of {truth.max() + 1} entities, {world.model.n_weights} weights trained")
    rows = settings(_SHARES, _WIDTHS)
    if quick:
        rows = [row for row in rows if row.name in ("p = 1", "p = 0.1", "i = 20")]
    climbs: dict[str, list[Climb]] = {
        row.name: [
            climb(
                world,
                trainer.weights,
                row,
                lambda values: b_cubed(values, truth).f1,
                target=TARGET,
                n_moves=len(truth) * 4,
                max_moves=len(truth) * (200 if quick else 5000),
                schedule=geometric(1.0, 0.01),
                seed=seed + k,
            )
            for k in range(1 if quick else 3)
        ]
        for row in rows
    }
    lines, speedups = table(rows, climbs, say)
    best = max(speedups, key=lambda name: speedups[name], default=None)
    if best is not None:
        lines.append({"row": f"best ({best})", "metric": "speed-up in factors", "paper": 7.29, "ours": speedups[best]})
    return {
        "name": NAME,
        "seed": seed,
        "seconds": time.perf_counter() - began,
        "rows": lines,
        "bars": [{"id": "mc-cora", "ours": speedups.get("p = 0.1")}],
    }


def cora_world(frame: Any, truth: NDArray[np.int32]) -> PartitionWorld:
    """Citations, each alone, under a pairwise model of the usual comparators."""
    encoded = encode(frame, default_comparators(infer_kinds(frame), frame))
    grounded = ground_partition([Affinity()], {c.name: c.n_levels for c in encoded.comparators})
    return partition_world(grounded.model, encoded.comparisons, truth, proposer=uniform_mention(), n_places=_N_PLACES)
