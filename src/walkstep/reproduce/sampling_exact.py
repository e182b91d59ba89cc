"""Coupling from the past against enumeration: whether samples are from the model, and what they cost.

Section 5 of the paper (Vembu, Gaertner and Boley, 2009): exact samples in at most exp(2BR) steps each, on average.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from walkstep.inference.coupling import coupling_cost, coupling_from_the_past
from walkstep.reproduce.drawn_spaces import DrawnSpace, drawn_spaces

NAME = "sampling-exact"
REACHES = (2.0, 5.0, 8.0)  # R |theta|
N_DRAWS = 100_000
_FEWEST = 5.0  # structures that are expected less often count together


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Draw from models of every space, and compare how often each structure comes with how often it should.

    Parameters
    ----------
    seed : int
        Of the models' scores, and of the draws.
    quick : bool
        A tenth of the draws, from the mildest models: figures for no table.
    progress : callable, optional
        Called with a line of text for each model.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. The paper's column is exp(2BR), the most steps that a sample takes on
        average by Theorem 5.1. The bar is the least p-value of all models, by a chi-square test.
    """
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    p_values: list[float] = []
    for reach in REACHES[:1] if quick else REACHES:
        for name, model in drawn_spaces(seed, reach).items():
            n_draws = N_DRAWS // 10 if quick else N_DRAWS
            cost = coupling_cost(model.space, model.scores, rng=seed)
            draws = coupling_from_the_past(model.space, model.scores, n_draws, rng=seed, max_steps=1e10)
            p_value, n_cells = chi_square(draws.values, model)
            p_values.append(p_value)
            n_steps = draws.n_steps / n_draws
            row = f"{name}, R |theta| = {reach:g}"
            note = f"{cost.likely:.2f} expected before; at most {math.exp(cost.log_bound):,.1f} by the range of scores"
            bound = math.exp(cost.log_paper_bound)
            rows.append({"row": row, "metric": "steps a sample", "paper": bound, "ours": n_steps, "note": note})
            note = f"{n_draws:,} samples, {n_cells:,} cells of {model.space.count():,} structures"
            rows.append({"row": row, "metric": "p of chi-square", "paper": None, "ours": p_value, "note": note})
            if progress is not None:
                progress(f"{row}: p = {p_value:.4f}, {n_steps:.2f} steps a sample")
    bars = [{"id": "cftp", "ours": min(p_values)}]
    return {"name": NAME, "seed": seed, "seconds": round(time.perf_counter() - began, 1), "rows": rows, "bars": bars}


def chi_square(values: NDArray[np.int32], model: DrawnSpace) -> tuple[float, int]:
    """How likely counts so far from the model's are by chance, and how many cells are compared.

    Parameters
    ----------
    values : int array (n, size)
    model : DrawnSpace
    """
    number = {structure.tobytes(): k for k, structure in enumerate(model.exact.values)}
    seen = np.bincount([number[row.tobytes()] for row in values], minlength=len(number)).astype(float)
    expected = model.exact.probabilities * len(values)
    rare = expected < _FEWEST
    if rare.any():
        seen, expected = (np.append(of[~rare], of[rare].sum()) for of in (seen, expected))
    return float(chisquare(seen, expected * seen.sum() / expected.sum()).pvalue), len(seen)
