"""What a walk moves through: worlds, the moves between them, and the metric by difference."""

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

__all__ = [
    "VERBS",
    "Flip",
    "Hamming",
    "LabelWorld",
    "LinkConstraints",
    "PartitionWorld",
    "Relabel",
    "SparseVector",
    "UniformFlip",
    "add",
    "as_generator",
    "as_jump",
    "as_metric",
    "as_proposer",
    "as_signal",
    "below",
    "block_guided",
    "conditional",
    "goal_of",
    "label_world",
    "link_constraints",
    "members_of",
    "partition_world",
    "register",
    "span_f1",
    "sparse_vector",
    "stream",
    "token_f1",
    "uniform",
    "uniform_mention",
    "verbs_of",
]
