"""The jumps of a partition world, whatever draws them."""

from typing import Any

from numba.extending import overload

from walkstep.compiled import INLINE
from walkstep.references import class_of
from walkstep.worlds.own_jumps import OwnJump, suggest_own
from walkstep.worlds.partition_proposers import TransferProposer, suggest_transfer
from walkstep.worlds.split_merge import SplitMerge, suggest_split_merge

JUMPS: dict[type, Any] = {
    TransferProposer: suggest_transfer,
    SplitMerge: suggest_split_merge,
    OwnJump: suggest_own,
}
"""What draws a move, by the class of the proposer."""


def suggest_jump(proposer, world, rng) -> Any:  # pragma: no cover - replaced by its overload in compiled code
    """A transfer, and log q(back) - log q(there)."""
    raise TypeError(proposer)


@overload(suggest_jump, jit_options=INLINE)
def _suggest_jump(proposer, world, rng):
    f = JUMPS[class_of(proposer)]
    return lambda proposer, world, rng: f(proposer, world, rng)
