"""What is claimed about the world: domains, templates, the graph they make on data, and their weights."""

from typing import TYPE_CHECKING

from walkstep.first_use import first_use
from walkstep.model.domains import UNKNOWN, Domain
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, Kind, ground
from walkstep.model.weights import Block, Layout

if TYPE_CHECKING:
    from walkstep.model.conditions import (
        And,
        Compare,
        Condition,
        Distance,
        Holds,
        Not,
        Or,
        SameSentence,
        Value,
    )
    from walkstep.model.grounding import Grounding
    from walkstep.model.language import format_model, parse_condition, parse_model
    from walkstep.model.notation import LanguageError
    from walkstep.model.templates import Site, Template, linear_chain, second_order_chain, skip_chain

__all__ = [
    "UNKNOWN",
    "And",
    "Block",
    "Compare",
    "Condition",
    "Distance",
    "Domain",
    "Factors",
    "Graph",
    "Grounding",
    "Holds",
    "Kind",
    "LanguageError",
    "Layout",
    "Not",
    "Or",
    "SameSentence",
    "Site",
    "Template",
    "Value",
    "format_model",
    "ground",
    "linear_chain",
    "parse_condition",
    "parse_model",
    "second_order_chain",
    "skip_chain",
]

# Templates, and the parser of their text above all, are loaded at first use.
_HOMES = {
    "conditions": ("And", "Compare", "Condition", "Distance", "Holds", "Not", "Or", "SameSentence", "Value"),
    "grounding": ("Grounding",),
    "language": ("format_model", "parse_condition", "parse_model"),
    "notation": ("LanguageError",),
    "templates": ("Site", "Template", "linear_chain", "second_order_chain", "skip_chain"),
}
_LOADED = ("UNKNOWN", "Block", "Domain", "Factors", "Graph", "Kind", "Layout", "ground")
__getattr__, __dir__ = first_use("walkstep.model", _HOMES, *_LOADED)
