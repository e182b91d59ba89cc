"""Draw the curve of `bench_move_cost` for the documentation: ``python -m benchmarks.plot_move_cost FILE.svg``."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "walkstep"  # the same figures give the same file
from matplotlib import pyplot as plt  # noqa: E402


def main() -> None:
    """Nanoseconds a move against the number of variables, walks drawn through and their controls dashed."""
    curve = json.loads((Path(__file__).parent / "move_cost.json").read_text(encoding="utf-8"))
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for walk, colour, name in (("metropolis", "C0", "Metropolis-Hastings"), ("gibbs", "C1", "Gibbs, random order")):
        axes.plot(curve["n_variables"], curve[f"{walk}_ns"], "o-", color=colour, label=name)
        axes.plot(curve["n_variables"], curve[f"{walk}_control_ns"], "s--", color=colour, label="as many random reads")
    axes.set(xscale="log", yscale="log", xlabel="variables in the world", ylabel="nanoseconds a move")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
