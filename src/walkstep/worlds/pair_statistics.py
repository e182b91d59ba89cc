"""What one pair of mentions adds to the statistics and to the score."""

from walkstep.compiled import compiled
from walkstep.worlds.sparse import add


@compiled(inline=True)
def add_pair(model, pairs, at, amount, phi):
    """Add the statistics of the pair whose levels lie at ``at``, so many times."""
    for c in range(len(model.pair_offset)):
        if model.pair_offset[c] >= 0:
            add(phi, model.pair_offset[c] + pairs.levels[at, c], amount)
    for q in range(len(model.conjunction_offset)):
        index = model.conjunction_offset[q]
        for e in range(model.conjunction_ptr[q], model.conjunction_ptr[q + 1]):
            index += model.conjunction_stride[e] * pairs.levels[at, model.conjunction_of[e]]
        add(phi, index, amount)
