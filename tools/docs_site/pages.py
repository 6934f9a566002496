"""Documents that have another place on the site than in the repository."""

from __future__ import annotations

# search.html is the search of the site itself
PAGES = {
    "docs/search.md": "similar-rows.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "examples/gallery": "gallery/index.rst",
}


def page_name(stem: str) -> str:
    """The name on the site of docs/STEM.md."""
    return PAGES.get(f"docs/{stem}.md", f"{stem}.md").removesuffix(".md")
