"""Spaces that are small enough to be listed, and a model over each: what sampling is tried on.

The three of section 6 of the paper (Vembu, Gaertner and Boley, 2009) and the hard case of its section 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.inference.exact_space import ExactSpace, enumerate_space
from walkstep.worlds.cycle import Cycles
from walkstep.worlds.hypercube import Hypercube
from walkstep.worlds.permutation import Permutations
from walkstep.worlds.space import Space
from walkstep.worlds.subtree import Subtrees

_TREE = (-1, 0, 1, 1, 3, 0, 5, 5, 7, 7, 0, 10, 11, 11, 10)  # the parent of each of fifteen nodes


class DrawnSpace(NamedTuple):
    """A space, the scores of a model over it, and what enumeration says of the model."""

    space: Space
    scores: NDArray[np.float64]
    exact: ExactSpace


def drawn_spaces(seed: int, reach: float) -> dict[str, DrawnSpace]:
    """Spaces by name, with normal scores.

    Parameters
    ----------
    seed : int
        Of the scores.
    reach : float
        R |theta|, what they are brought to: no structure's score is further from 0.

    Examples
    --------
    >>> for name, (space, scores, exact) in drawn_spaces(0, reach=2.0).items():
    ...     print(name, space.count(), f"{space.radius * np.linalg.norm(scores):.1f}")
    hypercube 256 2.0
    permutations 720 2.0
    subtrees 847 2.0
    cycles 2344 2.0
    """
    spaces = {
        "hypercube": Hypercube(8, np.array(np.triu_indices(8, 1))),
        "permutations": Permutations(6),
        "subtrees": Subtrees(_TREE, branching=True),
        "cycles": Cycles(7),
    }
    found = {}
    for (name, space), rng in zip(spaces.items(), np.random.default_rng(seed).spawn(len(spaces)), strict=True):
        scores = rng.normal(size=space.n_statistics)
        scores *= reach / (space.radius * float(np.linalg.norm(scores)))
        found[name] = DrawnSpace(space, scores, enumerate_space(space, scores))
    return found
