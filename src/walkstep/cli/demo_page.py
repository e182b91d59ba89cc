"""The demo's report: one HTML page that needs nothing from outside itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from walkstep import __version__
from walkstep.cli.demo_entities import EntitiesResult
from walkstep.cli.demo_entities_page import entities_section
from walkstep.cli.demo_structures import StructuresResult, structures_section
from walkstep.data.sequences import Sequences
from walkstep.evaluation.labels import LabelSetScores
from walkstep.evaluation.spans import SpanScores

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6675; --line: #d8dde5; --paper: #fff; --bar: #3b6fb6;
  --per: #ffd9a8; --org: #bfe3c3; --loc: #c4d9f7; --misc: #e6cdf0; --wrong: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa5b4; --line: #39414d; --paper: #171b21;
  --bar: #7aa7e8; --per: #6b4715; --org: #245a2d; --loc: #27477a; --misc: #57306a; --wrong: #ff8a7a; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2.5rem auto;
  max-width: 52rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } p.soft, td.soft { color: var(--soft); }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .2rem .9rem .2rem 0; text-align: right;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; } svg .soft { fill: var(--soft); }
svg rect { fill: var(--bar); } svg rect.against { fill: var(--wrong); }
svg polyline { fill: none; stroke: var(--bar); stroke-width: 2; }
svg line { stroke: var(--line); } .sentence { margin: .5rem 0; line-height: 2; }
mark { color: inherit; border-radius: .25rem; padding: .1rem .35rem; }
mark small { color: var(--soft); margin-left: .3rem; }
.PER { background: var(--per); } .ORG { background: var(--org); }
.LOC { background: var(--loc); } .MISC { background: var(--misc); }
mark.wrong { outline: 2px solid var(--wrong); }
h3 { font-size: 1rem; margin-top: 1.8rem; } table.records { font-size: .8rem; line-height: 1.35; }
table.records th, table.records td { text-align: left; vertical-align: top; }
"""


@dataclass(frozen=True)
class NewsResult:
    """Held-out news as it was tagged."""

    test: Sequences
    predicted: list[list[str]]
    certainty: list[list[float]]  # probability of the most probable tag, by sentence and token
    corrected: list[float]  # share of pairs corrected, by epoch
    chain: SpanScores
    skip_chain: SpanScores


@dataclass(frozen=True)
class LabelsResult:
    """Held-out label sets as they were predicted."""

    scores: LabelSetScores


def page(
    news: NewsResult, labels: LabelsResult, structures: StructuresResult, entities: EntitiesResult, seed: int
) -> str:
    """The whole report as HTML."""
    by_type = [(name, one.f1) for name, one in news.chain.by_type.items()]
    type_rows = [(name, one.precision, one.recall, one.f1, one.n_true) for name, one in news.chain.by_type.items()]
    chain, skip_chain = news.chain, news.skip_chain
    by_label = list(zip(labels.scores.label_names, labels.scores.f1_of_label.tolist(), strict=True))
    body = f"""
<h1>Walkstep demo</h1>
<p class="soft">Version {escape(__version__)}, seed {seed}. All data are invented on the spot, so the truth is known;
everything below is about data not seen in training.</p>

<h2>Names in news</h2>
<p>A linear chain tags {chain.n_correct_tokens:,} of {chain.n_tokens:,} tokens rightly; F1 of whole names is
{chain.f1:.4f}, and {skip_chain.f1:.4f} where words that recur in a document are joined to each other.</p>
{_agreement_table("type", type_rows)}
{bar_chart("F1 by type", [*by_type, ("all, chain", chain.f1), ("all, skip-chain", skip_chain.f1)])}
{line_chart("Share of pairs of worlds that each epoch of training corrected", news.corrected)}

<h2>Some sentences</h2>
<p class="soft">The least certain ones first. Colours are predicted names; a red frame marks where prediction and
truth differ; the percentage is how sure the model is.</p>
{_sentences(news, 12)}

<h2>Label sets of rows</h2>
<p>{labels.scores.hamming_accuracy:.1%} of all labels are right, and {labels.scores.subset_accuracy:.1%} of all sets
entirely so.</p>
{_agreement_table("label", _label_rows(labels.scores))}
{bar_chart("F1 by label", [*by_label, ("all (micro)", labels.scores.micro_f1)])}
{structures_section(structures)}
{entities_section(entities)}
"""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Walkstep demo</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>{body}</body></html>\n'


def bar_chart(title: str, bars: Sequence[tuple[str, float]]) -> str:
    """Shares between 0 and 1 as horizontal bars, in inline SVG.

    Examples
    --------
    >>> "&lt;b&gt;" in bar_chart("F1", [("<b>", 0.5)])
    True
    """
    height = 24 * len(bars) + 4
    lines = [f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 640 {height}" width="640" height="{height}">']
    for k, (name, share) in enumerate(bars):
        y = 24 * k + 4
        lines += [
            f'<text x="0" y="{y + 13}">{escape(name)}</text>',
            f'<rect x="130" y="{y}" width="{max(0.0, min(1.0, share)) * 440:.1f}" height="17" rx="2"/>',
            f'<text class="soft" x="580" y="{y + 13}">{share:.4f}</text>',
        ]
    return f"<figure><figcaption>{escape(title)}</figcaption>{''.join(lines)}</svg></figure>"


def line_chart(title: str, values: Sequence[float]) -> str:
    """Values in order, as a line from zero up, in inline SVG."""
    top = max([*values, 1e-9])
    step = 560 / max(1, len(values) - 1)
    points = [(50 + step * k, 110 - 95 * value / top) for k, value in enumerate(values)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ticks = "".join(
        f'<text class="soft" x="{x:.1f}" y="128" text-anchor="middle">{k + 1}</text>' for k, (x, _) in enumerate(points)
    )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 640 132" width="640" height="132">'
        f'<line x1="50" y1="110" x2="610" y2="110"/><text class="soft" x="0" y="20">{top:.1%}</text>'
        f'<text class="soft" x="0" y="114">0</text><polyline points="{path}"/>{ticks}</svg></figure>'
    )


def _agreement_table(what: str, rows: Sequence[tuple[str, float, float, float, int]]) -> str:
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{precision:.4f}</td><td>{recall:.4f}</td><td>{f1:.4f}</td><td>{n:,}</td></tr>"
        for name, precision, recall, f1, n in rows
    )
    head = f"<tr><th>{escape(what)}</th><th>precision</th><th>recall</th><th>F1</th><th>true</th></tr>"
    return f"<table>{head}{cells}</table>"


def _label_rows(scores: LabelSetScores) -> list[tuple[str, float, float, float, int]]:
    by_label = scores.to_dict()["by_label"]
    return [(name, one["precision"], one["recall"], one["f1"], one["n_true"]) for name, one in by_label.items()]


def _sentences(news: NewsResult, n: int) -> str:
    """The sentences with the least certain token, names marked."""
    truth = news.test.split(news.test.tags or [])
    order = sorted(range(news.test.n_sentences), key=lambda s: min(news.certainty[s]))[:n]
    return "\n".join(
        marked_sentence(news.test.sentence(s), truth[s], news.predicted[s], news.certainty[s]) for s in order
    )


def marked_sentence(
    words: Sequence[str], truth: Sequence[str | None], predicted: Sequence[str], certainty: Sequence[float]
) -> str:
    """A sentence with its predicted names coloured, and what differs from the truth framed."""
    parts: list[str] = []
    t = 0
    while t < len(words):
        tag = predicted[t]
        stop = t + 1
        while tag != "O" and stop < len(words) and predicted[stop] == f"I-{tag[2:]}":
            stop += 1
        is_right = list(truth[t:stop]) == list(predicted[t:stop])
        text = escape(" ".join(words[t:stop]))
        if tag == "O" and is_right:
            parts.append(text)
        else:
            kind = escape("" if tag == "O" else tag[2:])
            meant = "" if is_right else f' title="truth: {escape(" ".join(tag or "?" for tag in truth[t:stop]))}"'
            shown = f"{kind} {min(certainty[t:stop]):.0%}".strip()
            parts.append(
                f'<mark class="{kind}{"" if is_right else " wrong"}"{meant}>{text}<small>{shown}</small></mark>'
            )
        t = stop
    return f'<div class="sentence">{" ".join(parts)}</div>'
