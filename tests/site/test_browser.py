"""The built site in a real browser, wide and narrow: navigation, search, formulas, no errors."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

SIZES = [(1280, 900), (390, 844)]
# one page of each kind besides those at the top
OTHERS = [
    "reference/index.html",
    "reference/theory.html",
    "reference/generated/kernelight.GCWS.html",
    "reference/generated/kernelight.KernelClassifier.html",
    "reference/generated/kernelight.theory.bbit_variance.html",
    "gallery/index.html",
    "code/tools/start_picture.py.html",
]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    """The site, as a server gives it."""
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser, address):
    """A function that opens a page; errors, and requests to other hosts, are in ``page.wrong``."""
    pages = []

    def opened(name, size=SIZES[0], scheme="light"):
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        pages.append(page)
        page.wrong = []
        page.on("console", lambda said: said.type == "error" and page.wrong.append(said.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("requestfailed", lambda asked: _note_failed(page, asked))
        page.on("request", lambda asked: _note_outside(page, asked.url, address))
        page.goto(f"{address}/{name}", wait_until="load")
        return page

    yield opened
    for page in pages:
        page.close()


def _note_failed(page, asked):
    if asked.failure != "net::ERR_ABORTED":  # the browser went to another page
        page.wrong.append(f"failed: {asked.url}")


def _note_outside(page, url, address):
    if not url.startswith((address, "data:", "blob:")):
        page.wrong.append(f"asked for {url}")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}px")
def test_no_page_is_wider_than_the_window_or_has_an_error(visit, site, size):
    """Wide tables, code and formulas scroll within their own box."""
    page = visit("index.html", size)
    address = page.url.rsplit("/", 1)[0]
    names = sorted(path.name for path in site.glob("*.html"))
    wide = []
    for name in [*names, *(other for other in OTHERS if (site / other).exists())]:
        page.goto(f"{address}/{name}", wait_until="load")
        page.evaluate("window.MathJax?.startup?.promise")
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > size[0]:
            wide.append(f"{name}: {width}")
    assert wide == []
    assert page.wrong == []


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}px")
def test_search_finds_gcws(visit, size):
    page = visit("search.html?q=GCWS", size)
    page.wait_for_selector("#search-results li a", timeout=20_000)
    links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    assert any("kernelight.GCWS.html" in link for link in links[:5])
    assert page.wrong == []


def test_search_from_a_page(visit):
    page = visit("theory.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("GCWS")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=GCWS**")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.wrong == []


def test_navigation_of_a_wide_window(visit):
    """From the first page by the bar at the top, and by the list at the side, to a class."""
    page = visit("index.html")
    bar = page.locator(".bd-header .navbar-nav").first
    assert bar.locator("a.nav-link").count() >= 6
    bar.get_by_text("Reference", exact=True).click()
    page.wait_for_url("**/reference/index.html")
    page.locator(".bd-sidebar-primary").get_by_text("Feature maps", exact=True).click()
    page.wait_for_url("**/reference/maps.html")
    page.locator("table").get_by_role("link", name="GCWS", exact=True).click()
    page.wait_for_url("**/kernelight.GCWS.html*")
    assert page.locator("h1").inner_text().startswith("GCWS")
    assert page.wrong == []


def test_navigation_of_a_phone(visit):
    """By the menu that the button opens."""
    page = visit("index.html", SIZES[1])
    page.locator("button.primary-toggle").click()
    menu = page.locator("dialog[open], .bd-sidebar-primary").first
    menu.get_by_text("User guide", exact=True).click()
    page.wait_for_url("**/guide.html")
    assert page.wrong == []


def test_cards_stand_side_by_side_or_below_each_other(visit):
    for size, columns in ((SIZES[0], 2), (SIZES[1], 1)):
        page = visit("index.html", size)
        lefts = page.locator("#what-are-you-here-for > section").evaluate_all(
            "cards => cards.map(card => Math.round(card.getBoundingClientRect().left))"
        )
        assert len(lefts) == 4
        assert len(set(lefts)) == columns


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_formulas_are_drawn_in_the_colour_of_the_text(visit, scheme):
    page = visit("theory.html", SIZES[1], scheme)
    page.wait_for_selector("mjx-container")
    colours = page.evaluate("""() => [document.querySelector("mjx-container"),
      document.querySelector(".bd-article p")].map(node => getComputedStyle(node).color)""")
    assert colours[0] == colours[1]
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.wrong == []
