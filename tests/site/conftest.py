"""The built site, for tests that look at it; without it they are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / place for place in ("docs", "examples", "src/kernelight", "tools/docs_site")]
READ = {".md", ".py", ".rst", ".css"}
HTML = ROOT / "build" / "site" / "html"
sys.path.append(str(ROOT / "tools" / "docs_site"))


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built pages."""
    built = HTML.parent / "built"
    if not built.exists():
        pytest.skip("the site is not built: make docs builds it")
    sources = (path for place in SOURCES for path in place.rglob("*") if path.is_file())
    if any(path.stat().st_mtime > built.stat().st_mtime for path in sources if path.suffix in READ):
        pytest.skip("the site is older than its sources: make docs builds it again")
    return HTML
