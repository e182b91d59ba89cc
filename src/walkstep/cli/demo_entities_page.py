"""The part of the demo's report on entities: how good, how sure, and why."""

from collections.abc import Mapping, Sequence
from html import escape

import polars as pl

from walkstep.cli.demo_entities import EntitiesResult, UncertainPair
from walkstep.evaluation.clusters import ClusterScores

_COLUMNS = ("author", "title", "venue", "year", "pages")
_N_FACTORS, _N_RECORDS = 8, 6


def entities_section(found: EntitiesResult) -> str:
    """The section as HTML."""
    scores = found.scores
    shown = "".join(entity_table(confidence, records) for confidence, records in found.shown)
    return f"""
<h2>Citations of the same paper</h2>
<p>Trained on {found.n_train:,} citations whose papers are known, then given {scores.n_records:,} others: they are
grouped into {scores.n_predicted:,} papers, where there are {scores.n_true:,}. B-cubed F1 is
{scores.b_cubed.f1:.4f}.</p>
{_scores_table(scores)}

<h2>Some papers, the least certain first</h2>
<p class="soft">Confidence is the share of an entity's other records that a record is with when partitions are drawn
from the posterior.</p>
{shown}

<h2>Pairs that could go either way</h2>
<p class="soft">What the model knows of two citations, and how much each comparison pulls them together (to the right)
or pushes them apart.</p>
{"".join(uncertain_pair(pair) for pair in found.uncertain)}
"""


def signed_bars(title: str, bars: Sequence[tuple[str, float]]) -> str:
    """Numbers of either sign as horizontal bars from a middle line, in inline SVG.

    Examples
    --------
    >>> "&lt;b&gt;" in signed_bars("why", [("<b>", -0.5)])
    True
    """
    height = 24 * len(bars) + 4
    top = max((abs(value) for _, value in bars), default=0.0) or 1.0
    lines = [f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 640 {height}" width="640" height="{height}">']
    lines.append(f'<line x1="450" y1="0" x2="450" y2="{height}"/>')
    for k, (name, value) in enumerate(bars):
        y, width = 24 * k + 4, 120 * abs(value) / top
        x = 450 - width if value < 0 else 450
        side = ' class="against"' if value < 0 else ""
        lines += [
            f'<text x="0" y="{y + 13}">{escape(name)}</text>',
            f'<rect{side} x="{x:.1f}" y="{y}" width="{width:.1f}" height="17" rx="2"/>',
            f'<text class="soft" x="590" y="{y + 13}">{value:+.2f}</text>',
        ]
    return f"<figure><figcaption>{escape(title)}</figcaption>{''.join(lines)}</svg></figure>"


def _scores_table(scores: ClusterScores) -> str:
    named = {
        "pairwise": scores.pairwise,
        "B-cubed": scores.b_cubed,
        "MUC": scores.muc,
        "CEAF-e": scores.ceaf_e,
        "LEA": scores.lea,
    }
    rows = "".join(
        f"<tr><td>{name}</td><td>{one.precision:.4f}</td><td>{one.recall:.4f}</td><td>{one.f1:.4f}</td></tr>"
        for name, one in named.items()
    )
    return f"<table><tr><th>metric</th><th>precision</th><th>recall</th><th>F1</th></tr>{rows}</table>"


def entity_table(confidence: float, records: pl.DataFrame) -> str:
    """One entity as a table of its records."""
    rows = list(records.iter_rows(named=True))
    more = f'<p class="soft">and {len(rows) - _N_RECORDS} more</p>' if len(rows) > _N_RECORDS else ""
    body = "".join(_row(row, f"{row['confidence']:.0%}") for row in rows[:_N_RECORDS])
    return f"<h3>{len(rows)} citations, {confidence:.0%} sure</h3>{_table(body, 'confidence')}{more}"


def uncertain_pair(pair: UncertainPair) -> str:
    """Two records, and the factors between them."""
    said = "cite the same paper" if pair.is_same else "cite two papers"
    factors = [(f"{one.name}: {one.level}", one.score) for one in pair.explanation.factors[:_N_FACTORS]]
    table = _table(_row(pair.left, "") + _row(pair.right, ""), "")
    answer = "together" if pair.explanation.together else "apart"
    return (
        f"<h3>{pair.probability:.0%} to be the same; answered: {answer}; in truth they {said}</h3>{table}"
        f"{signed_bars('Weights of their comparisons', factors)}"
    )


def _table(body: str, last: str) -> str:
    head = "".join(f"<th>{name}</th>" for name in (*_COLUMNS, last))
    return f'<table class="records"><tr>{head}</tr>{body}</table>'


def _row(record: Mapping[str, object], last: str) -> str:
    cells = "".join(f"<td>{'' if record[name] is None else escape(str(record[name]))}</td>" for name in _COLUMNS)
    return f"<tr>{cells}<td>{escape(last)}</td></tr>"
