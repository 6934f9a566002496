"""Make docs/images/report.png, the picture of the README, from a study of handwritten digits.

    python tools/readme_picture.py

It needs the extra `test` (playwright) and a Chromium. The picture is the report itself with some
sections hidden: the recommendation with its numbers, the accuracy against the number of components,
and the test rows as the model sees them. The study takes less than a minute; its choices depend on
the seed and the data, its times on the machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from kernelight import open_dataset
from kernelight.study import compare, write_report

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "report.png"
# few enough to be told apart in the charts at a glance
KERNELS = ["gmm", "gaussian", "acos", "mm_acos", "gmm_nystroem"]
WIDTH = 900
# the report has more sections than fit into a picture: the recommendation, its numbers and two
# charts are kept
HIDDEN = """
  main > *:not(header):not(.tiles):not(section:has(#chart-k)), header .soft, section > h2 {
    display: none !important;
  }
  header h1, header .lead { max-width: none; }
  header h1 { font-size: 28px; }
  main { padding-bottom: 12px; }
  main > section { margin-top: 20px; }
"""
SECOND_CHART = (
    "document.querySelector('#chart-c').replaceWith(document.querySelector('#chart-rows'))"
)


def browser_path() -> str:
    """Where Chromium is."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (path := shutil.which(name)) is not None:
            return path
    sys.exit("There is no Chromium on this machine: install chromium or google-chrome.")


def take_picture(report: Path, picture: Path) -> None:
    """Open a report in a browser, hide what is too long for a picture, and take one."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 600}, device_scale_factor=1.5)
        page.goto(report.as_uri())
        page.evaluate(SECOND_CHART)
        page.add_style_tag(content=HIDDEN)
        page.locator("main").screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    browser_path()
    study = compare(open_dataset("digits"), budget="5m", kernels=KERNELS, name="digits")
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = write_report(study, Path(folder) / "report.html")
        take_picture(report, PICTURE)
    print(f"{study.recommendation.headline}\nThe picture is {PICTURE}.")
