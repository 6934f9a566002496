"""What pages load from other hosts: nothing, or the site would need a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

# attributes that make a browser load something; a link that a reader may click is none
LOADING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
LOADING_RELATIONS = {"stylesheet", "preload", "icon", "shortcut", "modulepreload", "preconnect"}
OUTSIDE = re.compile(r"^(?:https?:)?//")
STYLE_ASSET = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)")


class _Page(HTMLParser):
    """Collects what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.assets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        asset = given.get(LOADING.get(tag, ""))
        if tag == "link" and LOADING_RELATIONS & set((given.get("rel") or "").split()):
            asset = given.get("href")
        if asset and OUTSIDE.match(asset):
            self.assets.append(asset)
        self.assets += STYLE_ASSET.findall(given.get("style") or "")


def outside_assets(folder: Path) -> Iterator[tuple[str, str]]:
    """Each page or style sheet below a folder, with what it loads from another host."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".html":
            page = _Page()
            page.feed(path.read_text(encoding="utf-8"))
            assets = page.assets
        elif path.suffix == ".css":
            assets = STYLE_ASSET.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        for asset in assets:
            yield path.relative_to(folder).as_posix(), asset
