"""Answers, weights held fixed: samplers, searches for the best world, and how far to trust them."""

from typing import TYPE_CHECKING

from walkstep.first_use import first_use
from walkstep.inference.annealing import BestWorld, Outcome, anneal, constant, geometric, linear
from walkstep.inference.base import Sampler, Samples, run, run_chains
from walkstep.inference.cross_entropy import CrossEntropy, CrossEntropyInfo, Ending, cross_entropy
from walkstep.inference.diagnostics import effective_sample_size, monte_carlo_error, split_r_hat
from walkstep.inference.exact import Exact, enumerate_worlds
from walkstep.inference.families import Bernoulli, Categorical, Family, Gaussian, LogDensity
from walkstep.inference.forest import Constraints, Forest, forest
from walkstep.inference.gibbs import GibbsInfo, GibbsState, gibbs
from walkstep.inference.hill_climbing import hill_climbing
from walkstep.inference.k_best import KBest, k_best
from walkstep.inference.marginals import Marginals, marginals
from walkstep.inference.metropolis import MetropolisInfo, MetropolisState, metropolis
from walkstep.inference.partition_search import Found, coarse_to_fine, partition_sampler, search
from walkstep.inference.potentials import Potentials, potentials, total_score
from walkstep.inference.viterbi import Best, viterbi

if TYPE_CHECKING:
    from walkstep.inference.beliefs import Beliefs, Settled, belief_propagation
    from walkstep.inference.wired_graph import WiredGraph, wire

__all__ = [
    "Beliefs",
    "Bernoulli",
    "Best",
    "BestWorld",
    "Categorical",
    "Constraints",
    "CrossEntropy",
    "CrossEntropyInfo",
    "Ending",
    "Exact",
    "Family",
    "Forest",
    "Found",
    "Gaussian",
    "GibbsInfo",
    "GibbsState",
    "KBest",
    "LogDensity",
    "Marginals",
    "MetropolisInfo",
    "MetropolisState",
    "Outcome",
    "Potentials",
    "Sampler",
    "Samples",
    "Settled",
    "WiredGraph",
    "anneal",
    "belief_propagation",
    "coarse_to_fine",
    "constant",
    "cross_entropy",
    "effective_sample_size",
    "enumerate_worlds",
    "forest",
    "geometric",
    "gibbs",
    "hill_climbing",
    "k_best",
    "linear",
    "marginals",
    "metropolis",
    "monte_carlo_error",
    "partition_sampler",
    "potentials",
    "run",
    "run_chains",
    "search",
    "split_r_hat",
    "total_score",
    "viterbi",
    "wire",
]

# What takes JAX is loaded at first use.
_HOMES = {"beliefs": ("Beliefs", "Settled", "belief_propagation"), "wired_graph": ("WiredGraph", "wire")}
__getattr__, __dir__ = first_use("walkstep.inference", _HOMES, *globals())
