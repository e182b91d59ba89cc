"""Published tables, run again by one command each.

A reproduction is a module with ``run(seed, quick=False, progress=None) -> dict`` that returns
``{name, seed, seconds, rows: [{row, metric, paper, ours}], bars: [{id, ours}]}``.
"""

from importlib import import_module
from types import ModuleType

REPRODUCTIONS = {
    "cora": "Citation matching of Cora, three folds by entity",
    "samplerank-table2": "Multi-label classification of Scene and Yeast (SampleRank paper, Table 2)",
    "samplerank-table3": "Named entities of CoNLL-2003 (SampleRank paper, Table 3)",
    "samplerank-table1": "Coreference of GUM and LitBank, six learners (SampleRank paper, Table 1)",
    "montecarlo-figure2": "Marginals of star models by sampled factors (Monte Carlo MCMC paper, Figure 2)",
    "montecarlo-table1": "Citations of Cora by sampled factors (Monte Carlo MCMC paper, Table 1)",
    "montecarlo-table2": "Five million author mentions by sampled factors (Monte Carlo MCMC paper, Table 2)",
    "uai-marginals": "Models of the UAI 2014 competition by belief propagation and Gibbs sampling",
    "erma-table1-convote": "Votes of the debates of ConVote by minimum risk (ERMA paper, Table 1)",
    "erma-table1-multilabel": "Label sets of Reuters, Scene and Yeast by minimum risk (ERMA paper, Table 1)",
    "erma-table1-seminars": "Fields of seminar announcements by minimum risk (ERMA paper, Table 1)",
    "cem-table1": "Jumps that learned splits and merges save (adaptive proposals paper, Table 1)",
    "cem-experiment2": "How often a learned proposer picks the wrong cluster (adaptive proposals paper, section 5)",
    "sampling-partition": "Partition functions by the telescoping product and by bridges (MAP by sampling paper)",
    "sampling-exact": "Coupling from the past against enumeration (MAP by sampling paper, section 5)",
    "label-ranking": "Rankings of nine published sets, ten-fold (MAP by sampling paper, section 6)",
    "hierarchy": "Branches of three published hierarchies (MAP by sampling paper, section 6)",
    "srlearn-bound": "Errors of SR-Learn on separable data stay below R^2 / delta^2 (Theorem 1)",
}


def load(name: str) -> ModuleType:
    """The module of a reproduction."""
    if name not in REPRODUCTIONS:
        raise ValueError(f"there is no reproduction called {name!r}; there are {', '.join(REPRODUCTIONS)}")
    return import_module(f"walkstep.reproduce.{name.replace('-', '_')}")
