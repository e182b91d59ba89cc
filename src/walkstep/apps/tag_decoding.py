"""Tags of sentences, the best and how probable: what of a tagger's model is a chain, and what its scheme forbids."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import Scheme, allowed_transitions
from walkstep.evaluation.calibration import best_temperature
from walkstep.inference.forest import Constraints, Forest, forest
from walkstep.inference.loopy import best_near, sampled_marginals
from walkstep.inference.marginals import marginals
from walkstep.inference.viterbi import viterbi
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground
from walkstep.model.grounding import Grounding
from walkstep.model.templates import Template


@dataclass(frozen=True)
class TagDecoder:
    """A fitted model over tags, ready to be decoded.

    Parameters
    ----------
    grounding : Grounding
        Fitted on the training data.
    classes : list of str
        The tags as the model knows them.
    scheme : str or None
        The scheme whose rules every answer keeps; None where there are none to keep.
    """

    grounding: Grounding
    classes: list[str]
    scheme: Scheme | None

    @property
    def is_forest(self) -> bool:
        """Whether the model joins neighbours alone, so that answers are exact."""
        return all(_is_local(template) for template in self.grounding.templates)

    @property
    def constraints(self) -> Constraints | None:
        """What the scheme allows at both ends of a sentence and between neighbours."""
        if self.scheme not in ("bio", "bilou"):
            return None
        return Constraints(*allowed_transitions(self.classes, self.scheme))

    def best(self, corpus: Sequences, weights: NDArray[np.float64], seed: int) -> NDArray[np.int32]:
        """The best world of a corpus: exact where the model is a forest, by annealing where not."""
        graph, constraints = self.constrained_graph(corpus)
        if self.is_forest:
            plan = forest(graph, sentence_ptr=corpus.sentence_ptr)
            return viterbi(plan, weights, constraints=constraints).values
        # Begin at the best world of the part without cycles, which is a legal one.
        start = viterbi(self.chains(corpus), weights, constraints=self.constraints).values
        return best_near(graph, weights, start, rng=seed)

    def chances(
        self, corpus: Sequences, weights: NDArray[np.float64], temperature: float, seed: int
    ) -> NDArray[np.float64]:
        """How probable each tag is (n_tokens, n_tags): exact on a forest, from Gibbs samples elsewhere."""
        graph, constraints = self.constrained_graph(corpus)
        if self.is_forest:
            plan = forest(graph, sentence_ptr=corpus.sentence_ptr)
            return marginals(plan, weights / temperature, constraints=constraints).probabilities
        return sampled_marginals(graph, weights / temperature, self.best(corpus, weights, seed), rng=seed)

    def temperature(self, corpus: Sequences, weights: NDArray[np.float64], truth: NDArray[np.integer]) -> float:
        """That at which the truth is most probable by the part of the model without cycles.

        Parameters
        ----------
        corpus : Sequences
        weights : float array
        truth : int array (n_tokens,)
            Codes of `classes`, -1 where nobody knows; somewhere it is known.
        """
        plan, constraints = self.chains(corpus), self.constraints
        known = np.flatnonzero(truth >= 0)

        def loss(temperature: float) -> float:
            found = marginals(plan, weights / temperature, constraints=constraints).probabilities
            return -float(np.log(np.maximum(found[known, truth[known]], 1e-12)).mean())

        return best_temperature(loss)

    def chains(self, corpus: Sequences) -> Forest:
        """The part of the model that joins neighbours alone."""
        named = zip(self.grounding.block_names, self.grounding.templates, strict=True)
        local = {name for name, template in named if _is_local(template)}
        groups = [group for group in self.grounding.factors(corpus) if group.name in local]
        graph, _ = ground(np.full(corpus.n_tokens, len(self.classes)), groups, self.grounding.layout)
        return forest(graph, sentence_ptr=corpus.sentence_ptr)

    def constrained_graph(self, corpus: Sequences) -> tuple[Graph, Constraints | None]:
        """The graph to decode; without a chain to hold them, the constraints become factors of it."""
        if self.is_forest:
            return self.grounding.ground(corpus)[0], self.constraints
        return self.ruled_graph(corpus), None

    def ruled_graph(self, corpus: Sequences) -> Graph:
        """The graph with the constraints as factors of it."""
        constraints = self.constraints
        if constraints is None:
            return self.grounding.ground(corpus)[0]
        is_first = np.zeros(corpus.n_tokens, bool)
        is_first[corpus.sentence_ptr[:-1]] = True
        right = np.flatnonzero(~is_first)
        last = corpus.sentence_ptr[1:] - 1
        groups = self.grounding.factors(corpus)
        for name, scopes, allowed in (
            ("start", corpus.sentence_ptr[:-1, None], constraints.start),
            ("end", last[:, None], constraints.end),
            ("legal", np.stack([right - 1, right], axis=1), constraints.transition),
        ):
            if len(scopes):
                groups.append(Factors(name, scopes, fixed=np.where(allowed, 0.0, -np.inf)))
        return ground(np.full(corpus.n_tokens, len(self.classes)), groups, self.grounding.layout)[0]

    def tokens_alone(self, corpus: Sequences) -> Forest:
        """Chains without a model: a weight for each tag of each token, token after token."""
        tokens = np.arange(corpus.n_tokens)
        alone = Factors("alone", tokens[:, None], sets=tokens, n_sets=corpus.n_tokens)
        graph, _ = ground(np.full(corpus.n_tokens, len(self.classes)), [alone])
        return forest(graph, sentence_ptr=corpus.sentence_ptr)


def _is_local(template: Template) -> bool:
    """Whether it joins at most a tag and its neighbour, so that all such templates together make chains."""
    offsets = [site.offset for site in template.scope]
    return not template.joins_pairs and max(offsets) - min(offsets) <= 1
