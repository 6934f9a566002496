"""The report of a de-duplication in a real browser: charts seen, texts escaped, no network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelight.data.texts import TextShingles
from kernelight.study import write_dedup_report
from kernelight.tables.dedup_summary import summarised
from kernelight.tables.deduplication import DedupSettings, deduplicate_rows, open_rows

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def report(folder: Path) -> Path:
    random = np.random.default_rng(0)
    words = [f"w{at}" for at in range(300)]
    texts = [" ".join(random.choice(words, 20)) for _ in range(60)]
    for _ in range(60):
        some = texts[int(random.integers(0, 60))].split()
        some[int(random.integers(0, 20))] = str(random.choice(words))
        texts.append(" ".join(some))
    texts += ["<img src=x onerror=alert(1)> " + " ".join(words[:20])] * 30
    texts += ["<img src=x onerror=alert(1)> " + " ".join(words[:19])] * 2
    path = folder / "texts.csv"
    path.write_text("said\n" + "\n".join(texts) + "\n")
    rows = open_rows(path, texts=["said"], shingles=TextShingles())
    found = deduplicate_rows(rows, DedupSettings(0.7, method="bands"))
    summary = summarised(found, rows, command="kernelight dedup texts.csv --text said")
    return write_dedup_report(summary, folder / "report.html")


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page(browser: Any, tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    path = report(tmp_path)
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, offline=True
    )
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append("a text was run"), dialog.dismiss()))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert not wrong
    assert asked == [path.as_uri()]
    for name in ("similarities", "sizes", "recall"):
        box = page.locator(f"#chart-{name} svg").bounding_box()
        assert box is not None
        assert box["width"] > 250
    assert page.locator("#chart-sizes rect.mark").count() >= 2
    assert page.locator("img").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.inner_text("main")
    assert page.locator("#borderline tbody tr").count() == 12
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size[0]
    page.close()
