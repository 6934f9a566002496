"""The report in a real browser, on phone and desktop: all charts seen, no errors, no network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelight.study import Study, compare, write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

SIZES = [(390, 844), (1280, 900)]
SCHEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {
        "budget": "60s",
        "components": [32, 128],
        "progress": False,
        "n_jobs": 1,
    }
    digits = compare(
        X[:250], y[:250], kernels=["gmm", "gaussian", "gmm_nystroem"], name="digits", **settings
    )
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    numbers = compare(
        X, np.sin(6 * X[:, 0]) + X[:, 1], kernels=["gmm", "acos"], name="<waves> & 'co'", **settings
    )
    return {"digits": digits, "waves": numbers}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, studies: dict[str, Study], tmp_path: Path) -> Iterator[Any]:
    """A function that opens the report of a study; errors are listed in ``page.wrong``."""
    pages = []

    def opened(name: str, size: tuple[int, int] = SIZES[1], scheme: str = "light") -> Any:
        path = write_report(studies[name], tmp_path / f"{name}.html")
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        pages.append(page)
        page.wrong = []
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: _note_request(page, request.url, path))
        page.goto(path.as_uri())
        return page

    yield opened
    for page in pages:
        page.close()


def _note_request(page: Any, url: str, path: Path) -> None:
    if url != path.as_uri() and not url.startswith("data:"):
        page.wrong.append(f"asked for {url}")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}px")
@pytest.mark.parametrize("name", ["digits", "waves"])
def test_everything_is_seen(visit: Any, name: str, size: tuple[int, int], scheme: str) -> None:
    page = visit(name, size, scheme)
    figures = page.query_selector_all("figure")
    assert len(figures) >= 6
    for figure in figures:
        drawing = figure.query_selector(":scope > svg")
        box = drawing.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 150
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth + 1)"
    )
    assert page.wrong == []


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}px")
@pytest.mark.parametrize("name", ["digits", "waves"])
def test_no_labels_overlap(visit: Any, name: str, size: tuple[int, int]) -> None:
    page = visit(name, size)
    overlaps = page.evaluate("""() => {
      const found = [];
      for (const svg of document.querySelectorAll("figure > svg")) {
        const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent);
        const boxes = texts.map(t => t.getBoundingClientRect());
        for (let a = 0; a < boxes.length; a++) for (let b = 0; b < a; b++) {
          const [p, q] = [boxes[a], boxes[b]];
          const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
          const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
          if (wide > 1 && high > 3) {
            const both = texts[a].textContent + " / " + texts[b].textContent;
            found.push(svg.parentElement.id + ": " + both);
          }
        }
      }
      return found;
    }""")
    assert overlaps == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_counts_can_be_read(visit: Any, scheme: str) -> None:
    """Every number in the confusion matrix has a contrast (as WCAG defines it) of 4.5 or more."""
    page = visit("digits", SIZES[0], scheme)
    contrasts = page.evaluate("""() => {
      const parts = colour => colour.match(/[0-9.]+/g).map(Number);
      const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = rgb => rgb.map(v => linear(v / 255))
        .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
      const figure = document.querySelector("#chart-confusion");
      const card = parts(getComputedStyle(figure).backgroundColor).slice(0, 3);
      return [...figure.querySelectorAll("text.count")].map(text => {
        const look = getComputedStyle(text.previousElementSibling);
        const opacity = Number(look.fillOpacity);
        const behind = parts(look.fill).slice(0, 3)
          .map((v, at) => opacity * v + (1 - opacity) * card[at]);
        const ink = parts(getComputedStyle(text).fill).slice(0, 3);
        const [a, b] = [light(behind), light(ink)].sort((p, q) => q - p);
        return (a + 0.05) / (b + 0.05);
      });
    }""")
    assert len(contrasts) >= 10
    assert min(contrasts) >= 4.5


def test_options_are_not_broken_at_their_hyphens(visit: Any, studies: dict[str, Study]) -> None:
    studies["digits"].settings["command"] = (
        "kernelight compare digits --budget 75s --output report.html --jobs 2"
    )
    page = visit("digits", SIZES[0])
    lines = page.locator(".word").evaluate_all(
        "words => words.map(word => word.getClientRects().length)"
    )
    assert lines == [1, 1, 1]
    copied = page.locator("pre").last.text_content()
    assert copied == studies["digits"].settings["command"]


def test_tables_are_sorted_by_a_click(visit: Any) -> None:
    page = visit("digits")
    for column, down_first in ((1, True), (3, False), (5, True), (8, False), (0, False)):
        head = page.locator("#models thead th").nth(column)
        values = []
        for _ in range(2):
            head.locator("button").click()
            cells = page.locator("#models tbody tr").evaluate_all(
                "(rows, column) => rows.map(row => row.cells[column].dataset.value)", column
            )
            values.append([float(value) for value in cells] if column else cells)
        first, second = (values[0], values[1]) if down_first else (values[1], values[0])
        assert first == sorted(first, reverse=True) or not column
        assert second == sorted(second) or not column
        assert head.get_attribute("aria-sort") in ("ascending", "descending")
    assert page.wrong == []


def test_a_mark_says_its_values(visit: Any) -> None:
    page = visit("digits")
    mark = page.locator("#chart-time .mark.s0:has(.touch)").first
    mark.scroll_into_view_if_needed()
    # Scrolling hides the tip, and the scroll event comes with the next frame: wait for it.
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    mark.locator(".touch").hover(force=True)
    tip = page.locator("#tip")
    playwright.expect(tip).to_have_class("on")
    assert "%" in (tip.text_content() or "")


def test_names_are_text_not_code(visit: Any) -> None:
    page = visit("waves")
    assert "<waves> & 'co'" in page.locator(".eyebrow").text_content()


def test_it_prints(visit: Any) -> None:
    page = visit("digits", SIZES[1], "dark")
    assert len(page.pdf(format="A4")) > 10_000
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.wrong == []
