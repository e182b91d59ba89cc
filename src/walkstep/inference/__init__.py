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
    from walkstep.inference.coupling import (
        CouplingCost,
        ExactDraws,
        TooCostly,
        coupling_cost,
        coupling_from_the_past,
        mixing_time,
    )
    from walkstep.inference.decoding_structures import chances, decode, hierarchical_risk_scores, risk_scores
    from walkstep.inference.exact_space import ExactSpace, enumerate_space
    from walkstep.inference.moments import MomentEstimate, expected_statistics, hoeffding_samples
    from walkstep.inference.partition_function import (
        PartitionEstimate,
        SamplePlan,
        cooling_schedule,
        log_partition,
        sample_plan,
        scores_of,
    )
    from walkstep.inference.row_walks import RowWalks
    from walkstep.inference.structured_answers import Expectations, best_structures, expectations, has_exact_answers
    from walkstep.inference.wired_graph import WiredGraph, wire

__all__ = [
    "Beliefs",
    "Bernoulli",
    "Best",
    "BestWorld",
    "Categorical",
    "Constraints",
    "CouplingCost",
    "CrossEntropy",
    "CrossEntropyInfo",
    "Ending",
    "Exact",
    "ExactDraws",
    "ExactSpace",
    "Expectations",
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
    "MomentEstimate",
    "Outcome",
    "PartitionEstimate",
    "Potentials",
    "RowWalks",
    "SamplePlan",
    "Sampler",
    "Samples",
    "Settled",
    "TooCostly",
    "WiredGraph",
    "anneal",
    "belief_propagation",
    "best_structures",
    "chances",
    "coarse_to_fine",
    "constant",
    "cooling_schedule",
    "coupling_cost",
    "coupling_from_the_past",
    "cross_entropy",
    "decode",
    "effective_sample_size",
    "enumerate_space",
    "enumerate_worlds",
    "expectations",
    "expected_statistics",
    "forest",
    "geometric",
    "gibbs",
    "has_exact_answers",
    "hierarchical_risk_scores",
    "hill_climbing",
    "hoeffding_samples",
    "k_best",
    "linear",
    "log_partition",
    "marginals",
    "metropolis",
    "mixing_time",
    "monte_carlo_error",
    "partition_sampler",
    "potentials",
    "risk_scores",
    "run",
    "run_chains",
    "sample_plan",
    "scores_of",
    "search",
    "split_r_hat",
    "total_score",
    "viterbi",
    "wire",
]

# What takes JAX, and what few walks need, is loaded at first use.
_HOMES = {
    "beliefs": (
        "Beliefs",
        "Settled",
        "belief_propagation",
    ),
    "coupling": (
        "CouplingCost",
        "ExactDraws",
        "TooCostly",
        "coupling_cost",
        "coupling_from_the_past",
        "mixing_time",
    ),
    "decoding_structures": (
        "chances",
        "decode",
        "hierarchical_risk_scores",
        "risk_scores",
    ),
    "exact_space": (
        "ExactSpace",
        "enumerate_space",
    ),
    "moments": (
        "MomentEstimate",
        "expected_statistics",
        "hoeffding_samples",
    ),
    "partition_function": (
        "PartitionEstimate",
        "SamplePlan",
        "cooling_schedule",
        "log_partition",
        "sample_plan",
        "scores_of",
    ),
    "row_walks": ("RowWalks",),
    "structured_answers": (
        "Expectations",
        "best_structures",
        "expectations",
        "has_exact_answers",
    ),
    "wired_graph": (
        "WiredGraph",
        "wire",
    ),
}
__getattr__, __dir__ = first_use("walkstep.inference", _HOMES, *globals())
