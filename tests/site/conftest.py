"""The built site, for tests that look at it; without it they are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "build" / "site" / "html"
sys.path.insert(0, str(ROOT / "tools" / "docs_site"))


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built pages."""
    if not (HTML / "searchindex.js").exists():
        pytest.skip("the site is not built: make docs builds it")
    return HTML
