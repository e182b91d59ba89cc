"""The demo's jobs on structures: rankings of labels, and classes of a tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from walkstep.apps.hierarchy_classifier import HierarchyClassifier
from walkstep.apps.label_ranker import LabelRanker
from walkstep.data.demo_structures import generate_hierarchy, generate_rankings
from walkstep.data.subtrees import subtrees_as_given
from walkstep.evaluation.hierarchies import HierarchyScores, hierarchy_scores
from walkstep.evaluation.rankings import RankingScores, ranking_scores

_N_TRAIN, _N_TEST = 300, 150
_N_SHOWN = 6


@dataclass(frozen=True)
class StructuresResult:
    """Unseen rows as they were ranked and classified; of some, the true answer and the predicted one."""

    ranking_scores: RankingScores
    rankings: list[tuple[str, str]]
    class_scores: HierarchyScores
    classes: list[tuple[str, str]]


def learn_structures(seed: int) -> StructuresResult:
    """Train on invented rows with rankings and with classes of a tree, and predict those of others."""
    train, test = generate_rankings(_N_TRAIN, seed=2 * seed), generate_rankings(_N_TEST, seed=2 * seed + 1)
    assert train.rankings is not None
    assert test.rankings is not None
    ranker = LabelRanker(random_state=seed).fit(train.X, train.rankings)
    predicted = ranker.predict(test.X)
    known, unknown = generate_hierarchy(_N_TRAIN, 2 * seed), generate_hierarchy(_N_TEST, 2 * seed + 1)
    assert known.values is not None
    assert unknown.values is not None
    tree = known.tree
    classifier = HierarchyClassifier(tree, random_state=seed)
    chosen = classifier.fit(known.X, subtrees_as_given(known.values, tree, "matrix")).predict_subtrees(unknown.X)
    true, found = (subtrees_as_given(values, tree, "texts") for values in (unknown.values, chosen))
    return StructuresResult(
        ranking_scores(test.rankings, predicted),
        list(zip(test.rankings.texts()[:_N_SHOWN], predicted.texts(), strict=False)),
        hierarchy_scores(unknown.values, chosen, tree),
        list(zip(true[:_N_SHOWN], found, strict=False)),
    )


def structures_section(found: StructuresResult) -> str:
    """The part of the demo's report on both, as HTML."""
    rankings, classes = found.ranking_scores, found.class_scores
    return f"""
<h2>Rankings of labels</h2>
<p>{rankings.pair_accuracy:.1%} of all pairs of labels are in the right order, which makes Kendall's tau
{rankings.kendall_tau:.4f}; the best label is right in {rankings.top:.1%} of the rows.</p>
{_answers(found.rankings)}

<h2>Classes of a tree</h2>
<p>Which instruments play in a recording: with each of them comes its family. Hierarchical F1 is {classes.f1:.4f}, and
{classes.exact:.1%} of the recordings are entirely right.</p>
{_answers(found.classes)}
"""


def _answers(pairs: Sequence[tuple[str, str]]) -> str:
    """Some answers beside the truth."""
    rows = "".join(f"<tr><td>{escape(true)}</td><td>{escape(answer)}</td></tr>" for true, answer in pairs)
    return f'<table class="records"><tr><th>truth</th><th>predicted</th></tr>{rows}</table>'
