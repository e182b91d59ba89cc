"""What a pair of mentions that are together adds to the score, by its levels."""

from walkstep.compiled import compiled
from walkstep.worlds.pair_levels import look


@compiled(inline=True)
def pair_score(model, pairs, place, weights):
    """The score of the pair whose levels lie at ``place``."""
    total = 0.0
    for c in range(len(model.pair_offset)):
        at = model.pair_offset[c]
        if at >= 0:
            total += weights[at + pairs.levels[place, c]]
    for q in range(len(model.conjunction_offset)):
        at = model.conjunction_offset[q]
        for e in range(model.conjunction_ptr[q], model.conjunction_ptr[q + 1]):
            at += model.conjunction_stride[e] * pairs.levels[place, model.conjunction_of[e]]
        total += weights[at]
    return total


@compiled(inline=True)
def score_of_pair(model, pairs, m, i, weights):
    """The score of two mentions together, remembered where weights are held; ``m`` is the one that moves."""
    at = look(pairs, m, i)
    if at >= len(pairs.score):
        return pair_score(model, pairs, at, weights)
    score = pairs.score[at]
    if score == 0.0:
        score = pair_score(model, pairs, at, weights)
        pairs.score[at] = score
    return score
