import numpy as np
import pytest

from walkstep.model import Factors, ground


@pytest.fixture
def chain():
    """A chain of six variables with three values: dense features, a transition, and one factor of three."""
    rng = np.random.default_rng(3)
    n = 6
    graph, layout = ground(
        np.full(n, 3),
        [
            Factors("emission", np.arange(n)[:, None], features=rng.normal(size=(n, 4))),
            Factors("transition", np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)),
            Factors("triple", [[0, 2, 4]]),
        ],
    )
    return graph, layout, rng.integers(0, 3, n)
