"""Answers, weights held fixed: samplers, searches for the best world, and how far to trust them."""

from walkstep.inference.annealing import BestWorld, Outcome, anneal, constant, geometric, linear
from walkstep.inference.base import Sampler, Samples, run, run_chains
from walkstep.inference.diagnostics import effective_sample_size, monte_carlo_error, split_r_hat
from walkstep.inference.exact import Exact, enumerate_worlds
from walkstep.inference.forest import Constraints, Forest, forest
from walkstep.inference.gibbs import GibbsInfo, GibbsState, gibbs
from walkstep.inference.hill_climbing import hill_climbing
from walkstep.inference.k_best import KBest, k_best
from walkstep.inference.marginals import Marginals, marginals
from walkstep.inference.metropolis import MetropolisInfo, MetropolisState, metropolis
from walkstep.inference.partition_search import Found, coarse_to_fine, partition_sampler, search
from walkstep.inference.potentials import Potentials, potentials, total_score
from walkstep.inference.viterbi import Best, viterbi

__all__ = [
    "Best",
    "BestWorld",
    "Constraints",
    "Exact",
    "Forest",
    "Found",
    "GibbsInfo",
    "GibbsState",
    "KBest",
    "Marginals",
    "MetropolisInfo",
    "MetropolisState",
    "Outcome",
    "Potentials",
    "Sampler",
    "Samples",
    "anneal",
    "coarse_to_fine",
    "constant",
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
]
