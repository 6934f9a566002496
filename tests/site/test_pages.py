"""The built pages: links and anchors lead somewhere, and nothing comes from another host."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from assets import outside_assets


class Page(HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        for name in ("href", "src"):
            if given.get(name):
                self.links.add(given[name])


@cache
def parsed(path: Path) -> Page:
    return Page(path)


def test_links_and_anchors_lead_somewhere(site):
    broken = []
    for path in sorted(site.rglob("*.html")):
        for link in parsed(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
                continue
            anchors = parsed(goal).anchors if goal.suffix == ".html" else set()
            if parts.fragment and unquote(parts.fragment) not in anchors:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(broken[:40])


def test_nothing_comes_from_another_host(site):
    assert list(outside_assets(site)) == []


def test_outside_assets_are_seen(tmp_path):
    """The check of the build finds each way to take something from elsewhere."""
    (tmp_path / "page.html").write_text(
        '<script src="https://a.example/x.js"></script><img src="//b.example/y.png">'
        '<link rel="stylesheet" href="http://c.example/z.css"><a href="https://fine.example">x</a>'
        "<p style=\"background: url('https://d.example/w.png')\">",
        encoding="utf-8",
    )
    (tmp_path / "style.css").write_text("@import url(https://e.example/v.css);", encoding="utf-8")
    found = [asset for _, asset in outside_assets(tmp_path)]
    assert [re.search(r"//(\w)\.", asset)[1] for asset in found] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    "word", ["gcws", "deduplicate", "rff_variance", "errata", "microcontrollers"]
)
def test_the_search_index_has_words_of_interest(site, word):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    terms = {*index["terms"], *index["titleterms"]}
    names = {entry[4] for entries in index["objects"].values() for entry in entries}
    assert any(term.startswith(word[:6]) for term in terms) or word in names


def test_formulas_are_formulas(site):
    """In the guide, the errata and the reference."""
    for name in ("theory", "errata", "similar-rows", "reference/generated/kernelight.GCWS"):
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert 'class="math notranslate nohighlight"' in page, name
        assert "_static/mathjax/tex-chtml.js" in page, name
    assert "tex-chtml.js" not in (site / "changelog.html").read_text(encoding="utf-8")


def test_tables_and_lists_are_not_text(site):
    """A table that a blank line cuts in two shows its bars as text."""
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<p>|" not in text, path.name
        assert not re.search(r"<p>[^<]*```", text), path.name
