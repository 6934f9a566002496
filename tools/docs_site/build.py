"""Build the documentation site in build/site/html; `make docs` calls it.

    python tools/docs_site/build.py [--no-gallery] [--fresh]

Warnings are errors. A page that takes a script, a style, a font or a picture from another host is
an error too: the site works without a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

from assets import outside_assets
from sources import ROOT, remove_pages_without_source, write_sources

SITE = ROOT / "build" / "site"
SOURCE, HTML, TREES = SITE / "source", SITE / "html", SITE / "doctrees"


def main() -> int:
    """Write the sources, let Sphinx make pages of them, and look at what the pages ask for."""
    arguments = set(sys.argv[1:])
    if unknown := arguments - {"--no-gallery", "--fresh"}:
        sys.exit(f"Unknown option {min(unknown)}: there are --no-gallery and --fresh.")
    if "--fresh" in arguments:
        shutil.rmtree(SITE, ignore_errors=True)
    begun = time.perf_counter()
    (SITE / "built").unlink(missing_ok=True)
    write_sources(SOURCE)
    environment = {**os.environ, "KERNELIGHT_GALLERY": "0" if "--no-gallery" in arguments else "1"}
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    command += ["--jobs", "auto", "-b", "html", "-c", str(ROOT / "docs"), "-d", str(TREES)]
    status = subprocess.run(
        [*command, str(SOURCE), str(HTML)], env=environment, cwd=ROOT
    ).returncode
    if status:
        print("The site has warnings, which count as errors: they are above.", file=sys.stderr)
        return status
    remove_pages_without_source(HTML, SOURCE)
    if found := list(outside_assets(HTML)):
        print("The site must work without a network, but takes from others:", file=sys.stderr)
        print(*(f"  {page}: {asset}" for page, asset in found), sep="\n", file=sys.stderr)
        return 1
    (SITE / "built").touch()  # tests compare its time with that of the sources
    pages = sum(1 for _ in HTML.rglob("*.html"))
    print(f"{pages} pages in {time.perf_counter() - begun:.0f} s: {HTML / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
