"""Log ratios that are left until a move is priced: most moves are turned down by then, and ratios are dear.

A jump writes down what its ratio depends on; nothing moves before it is settled.
"""

import numpy as np

from walkstep.compiled import compiled
from walkstep.separate import separate
from walkstep.worlds.block_mates import pull_of_members
from walkstep.worlds.likeness_sides import log_sides

NOTHING, MATE, MERGE, SEVERAL = range(4)


@compiled(inline=True)
def leave(proposer, what, one, two):
    """Note what is to be settled: of a mention that goes to a mate, or of the two that a larger jump is about."""
    proposer.unsettled[0] = what
    proposer.unsettled[1] = one
    proposer.unsettled[2] = two


@separate
def settle_transfer(proposer, world, move, ratio):
    """The whole log ratio of the transfer suggested last."""
    what, one, two = proposer.unsettled[0], proposer.unsettled[1], proposer.unsettled[2]
    if what == NOTHING or move.n == 0:
        return ratio
    if what == MATE:
        # There by any mate in the target, back by any mate among those left.
        size = world.clusters.size
        there = pull_of_members(proposer, world, one, move.target, 0, np.int64(size[move.target]))
        back = pull_of_members(proposer, world, one, move.source, 0, np.int64(size[move.source] - move.n))
        return ratio + np.log(back / there)
    # Who is in the target now would have to be drawn to its side on the way back; in a merge, who comes there too.
    ratio += log_sides(proposer, world, move.target, one, two, False)
    if what == MERGE:
        ratio += log_sides(proposer, world, move.source, one, two, True)
    return ratio
