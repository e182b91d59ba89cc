"""What a walk moves through: worlds, the moves between them, and the metric by difference."""

from typing import TYPE_CHECKING

from walkstep.first_use import first_use
from walkstep.worlds.base import VERBS, register, verbs_of
from walkstep.worlds.labels import LabelWorld, conditional, goal_of, label_world
from walkstep.worlds.link_constraints import LinkConstraints, link_constraints
from walkstep.worlds.moves import Flip, Relabel
from walkstep.worlds.own_jumps import as_jump, members_of
from walkstep.worlds.partition import PartitionWorld, partition_world
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from walkstep.worlds.proposers import UniformFlip, as_proposer
from walkstep.worlds.randomness import as_generator, below, stream, uniform
from walkstep.worlds.signals import Hamming, as_metric, as_signal, span_f1, token_f1
from walkstep.worlds.sparse import SparseVector, add, sparse_vector

if TYPE_CHECKING:
    from walkstep.worlds.cycle import Cycles
    from walkstep.worlds.hypercube import Hypercube
    from walkstep.worlds.own_space import as_space
    from walkstep.worlds.permutation import Permutations
    from walkstep.worlds.space import Space
    from walkstep.worlds.space_worlds import SpaceWorld, space_world
    from walkstep.worlds.subtree import Subtrees

__all__ = [
    "VERBS",
    "Cycles",
    "Flip",
    "Hamming",
    "Hypercube",
    "LabelWorld",
    "LinkConstraints",
    "PartitionWorld",
    "Permutations",
    "Relabel",
    "Space",
    "SpaceWorld",
    "SparseVector",
    "Subtrees",
    "UniformFlip",
    "add",
    "as_generator",
    "as_jump",
    "as_metric",
    "as_proposer",
    "as_signal",
    "as_space",
    "below",
    "block_guided",
    "conditional",
    "goal_of",
    "label_world",
    "link_constraints",
    "members_of",
    "partition_world",
    "register",
    "space_world",
    "span_f1",
    "sparse_vector",
    "stream",
    "token_f1",
    "uniform",
    "uniform_mention",
    "verbs_of",
]

# Spaces are loaded at first use.
_HOMES = {
    "cycle": ("Cycles",),
    "hypercube": ("Hypercube",),
    "own_space": ("as_space",),
    "permutation": ("Permutations",),
    "space": ("Space",),
    "space_worlds": (
        "SpaceWorld",
        "space_world",
    ),
    "subtree": ("Subtrees",),
}
__getattr__, __dir__ = first_use("walkstep.worlds", _HOMES, *globals())
