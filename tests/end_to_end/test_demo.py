import re
from html.parser import HTMLParser

import polars as pl
import pytest
from typer.testing import CliRunner

from walkstep.cli import demo_entities_page, demo_page
from walkstep.cli.demo_entities import UncertainPair
from walkstep.cli.main import app
from walkstep.inference.explanation import Explanation, PairFactor

pytestmark = pytest.mark.xdist_group("command")


class Page(HTMLParser):
    """Checks that tags close in order, and gathers what would be fetched from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.n_charts, self.n_marks = [], [], 0, 0

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        self.n_charts += tag == "svg"
        self.n_marks += tag == "mark"
        if tag in ("script", "link", "iframe", "img", "object"):
            self.fetched.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_demo_prints_metrics_and_writes_a_page_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    result = CliRunner().invoke(app, ["demo", "-q"])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    f1 = float(re.search(r"^all +\S+ +\S+ +(\S+)", result.stdout, re.MULTILINE)[1])
    assert f1 > 0.9
    assert float(re.search(r"Hamming accuracy (\S+),", result.stdout)[1]) > 0.7
    assert f"report: {tmp_path / 'walkstep-demo.html'} (" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["walkstep-demo.html"]
    text = (tmp_path / "walkstep-demo.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.fetched == []
    assert "url(" not in text
    assert "@import" not in text
    b_cubed = float(re.search(r"^B-cubed +\S+ +\S+ +(\S+)", result.stdout, re.MULTILINE)[1])
    assert b_cubed > 0.8
    assert f"{b_cubed:.4f}" in text
    assert 3 < page.n_charts <= 7
    assert re.search(r"citations, \d+% sure", text)
    assert page.n_marks > 0
    assert f"{f1:.4f}" in text


def test_everything_on_the_page_is_escaped():
    bad = '<script>"&'
    shown = demo_page.marked_sentence([bad, bad], ["O", "B-<b>"], ["B-<i>", "O"], [0.5, 0.5])
    shown += demo_page.bar_chart(bad, [(bad, 0.5)]) + demo_page.line_chart(bad, [0.2, 0.1])
    shown += demo_entities_page.signed_bars(bad, [(bad, -0.5)])
    record = dict.fromkeys(["author", "title", "venue", "year", "pages"], bad)
    explanation = Explanation(0, 1, False, (PairFactor(bad, bad, 1.0),), (), (), ())
    shown += demo_entities_page.uncertain_pair(UncertainPair(record, record, 0.5, True, explanation))
    shown += demo_entities_page.entity_table(0.5, pl.DataFrame([{**record, "confidence": 0.5}]))
    assert "<script" not in shown
    assert "<b>" not in shown
    assert "<i>" not in shown
    page = Page()
    page.feed(shown)
    assert page.open == []


def test_the_folder_of_the_page_is_checked_first(tmp_path, monkeypatch):
    monkeypatch.setattr("walkstep.cli.demo._tag_news", lambda *arguments: pytest.fail("training began"))
    result = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "none" / "page.html")])
    assert result.exit_code == 2
    assert f"error: folder {tmp_path / 'none'} does not exist; create it, or write page.html elsewhere" in result.stderr
