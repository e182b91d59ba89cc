"""The README and every page of the docs: their code runs, their links lead somewhere, none is forgotten."""

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("**/*.md")])
FENCE = re.compile(r"^```python(?P<options>.*)\n(?P<code>(?:.*\n)*?)```", re.MULTILINE)
ANY_FENCE = re.compile(r"^(?P<mark>`{3,}).*\n(?:.*\n)*?(?P=mark)`*$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def needs_data(options: str) -> bool:
    return 'title="needs ' in options


def run(page: Path, monkeypatch, folder: Path, *, with_data: bool) -> None:
    """Run a page's blocks in order, as one module; an error's traceback points into the page."""
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(folder)
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if with_data or not needs_data(block["options"]):
            lines_before = text.count("\n", 0, block.start("code"))
            exec(compile("\n" * lines_before + block["code"], page, "exec"), vars(module))


def test_an_error_points_into_the_page(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\n```python\nassert x == 1\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run(page, monkeypatch, tmp_path, with_data=False)
    last = caught.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (str(page), 9)


def names_of(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_the_code_of_a_page_runs(page, monkeypatch, tmp_path):
    run(page, monkeypatch, tmp_path, with_data=False)


WITH_DATA = [p for p in PAGES if any(needs_data(b["options"]) for b in FENCE.finditer(p.read_text(encoding="utf-8")))]


@pytest.mark.real_data
@pytest.mark.skipif("WALKSTEP_DATA" not in os.environ, reason="WALKSTEP_DATA is not set")
@pytest.mark.parametrize("page", WITH_DATA, ids=names_of(WITH_DATA))
def test_the_code_of_a_page_runs_on_real_data(page, monkeypatch, tmp_path):
    run(page, monkeypatch, tmp_path, with_data=True)


def pages_in(nav: list | dict | str) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages_in(part)]


def test_every_page_stands_in_the_navigation_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(pages_in(settings["nav"])) == sorted(p.relative_to(DOCS).as_posix() for p in DOCS.glob("**/*.md"))


def anchors_of(page: Path) -> set[str]:
    text = ANY_FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {slugify(re.sub(r"[`*]", "", heading), "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_the_links_of_a_page_lead_somewhere(page):
    for link in LINK.finditer(ANY_FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link["target"].partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link['target']}, and there is no such file"
        if anchor:
            assert anchor in anchors_of(target), f"{page.name} links to {link['target']}: no such heading"
