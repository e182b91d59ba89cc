"""The jumps of a partition world, whatever draws them."""

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from walkstep.compiled import INLINE
from walkstep.references import class_of
from walkstep.worlds.adaptive_jumps import AdaptiveJumps, note_jump, settle_adaptive, suggest_adaptive
from walkstep.worlds.own_jumps import OwnJump, suggest_own
from walkstep.worlds.partition_proposers import TransferProposer, suggest_transfer, uniform_mention
from walkstep.worlds.split_merge import SplitMerge, suggest_split_merge
from walkstep.worlds.unsettled import settle_transfer

JUMPS: dict[type, Any] = {
    TransferProposer: suggest_transfer,
    SplitMerge: suggest_split_merge,
    OwnJump: suggest_own,
    AdaptiveJumps: suggest_adaptive,
}
"""What draws a move, by the class of the proposer."""
_SETTLED: dict[type, Any] = {TransferProposer: settle_transfer, AdaptiveJumps: settle_adaptive}
"""What adds to a log ratio that was left until the move is priced; other proposers give it whole."""

Jumps = TransferProposer | SplitMerge | OwnJump | AdaptiveJumps
"""Where the moves of a partition world come from."""


def mates_of(jumps: Jumps) -> TransferProposer:
    """The proposer whose blocks say which mentions meet; one without blocks where all may."""
    if isinstance(jumps, AdaptiveJumps):
        return jumps.transfers
    return jumps if isinstance(jumps, TransferProposer) else uniform_mention()


def with_focus(jumps: Jumps, focus: NDArray[np.int32]) -> Jumps:
    """The same jumps of some mentions only (and, in larger jumps, of those with them)."""
    if isinstance(jumps, AdaptiveJumps):
        return jumps._replace(transfers=jumps.transfers._replace(focus=focus))
    return jumps._replace(focus=focus)


def may_swap(jumps: Jumps) -> bool:
    """Whether mentions may move both ways at once."""
    if isinstance(jumps, TransferProposer):
        return jumps.share_swap > 0.0
    return isinstance(jumps, AdaptiveJumps | OwnJump)


def suggest_jump(proposer, world, rng) -> Any:  # pragma: no cover - replaced by its overload in compiled code
    """A transfer, and log q(back) - log q(there)."""
    raise TypeError(proposer)


@overload(suggest_jump, jit_options=INLINE)
def _suggest_jump(proposer, world, rng):
    f = JUMPS[class_of(proposer)]
    return lambda proposer, world, rng: f(proposer, world, rng)


def settle_jump(proposer, world, move, ratio) -> Any:  # pragma: no cover - replaced by its overload
    """The whole log ratio of the move suggested last."""
    raise TypeError(proposer)


@overload(settle_jump, jit_options=INLINE)
def _settle_jump(proposer, world, move, ratio):
    f = _SETTLED.get(class_of(proposer))
    if f is None:
        return lambda proposer, world, move, ratio: ratio
    return lambda proposer, world, move, ratio: f(proposer, world, move, ratio)


def note_tried(proposer, world, move, change, accepted) -> Any:  # pragma: no cover - replaced by its overload
    """Let a proposer that learns know what became of its jump."""
    raise TypeError(proposer)


@overload(note_tried, jit_options=INLINE)
def _note_tried(proposer, world, move, change, accepted):
    if class_of(proposer) is AdaptiveJumps:
        return lambda proposer, world, move, change, accepted: note_jump(proposer, world, move, change, accepted)
    return lambda proposer, world, move, change, accepted: None
