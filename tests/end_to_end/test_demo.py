import re
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from walkstep.cli import demo_page
from walkstep.cli.main import app

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
    assert page.n_charts == 3
    assert page.n_marks > 0
    assert f"{f1:.4f}" in text


def test_everything_on_the_page_is_escaped():
    bad = '<script>"&'
    shown = demo_page.marked_sentence([bad, bad], ["O", "B-<b>"], ["B-<i>", "O"], [0.5, 0.5])
    shown += demo_page.bar_chart(bad, [(bad, 0.5)]) + demo_page.line_chart(bad, [0.2, 0.1])
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
