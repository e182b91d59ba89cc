"""What is claimed about the world: domains, factors, the graph they make, and their weights."""

from walkstep.model.domains import UNKNOWN, Domain
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, Kind, ground
from walkstep.model.weights import Block, Layout

__all__ = ["UNKNOWN", "Block", "Domain", "Factors", "Graph", "Kind", "Layout", "ground"]
