"""The rules that records are blocked by, and what they give: each rule has a file of its own."""

from walkstep.features.block_values import Values, normalised
from walkstep.features.rare_tokens import RareTokens
from walkstep.features.record_keys import Keys, Rule
from walkstep.features.same_values import Same
from walkstep.features.sorted_neighbourhood import SortedNeighbourhood

__all__ = ["Keys", "RareTokens", "Rule", "Same", "SortedNeighbourhood", "Values", "normalised"]
