"""The sources of the site: the documents, and what they link to outside docs/.

A link of a document must lead somewhere both in the repository and on the site. Documents outside
docs/ become pages of the site (`PAGES`); every other file that a document links to becomes a page
that shows it, below code/. Links are rewritten accordingly; lines stay where they are, so that a
warning names the line of the document.
"""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from command_reference import command_page
from pages import PAGES
from reference import documented_names, reference_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NOT_COPIED = {"conf.py", "_static", "_templates", "__pycache__"}  # Sphinx reads them in docs/
GALLERY = ROOT / "examples" / "gallery"
# what MathJax needs to show formulas, of its package, which holds much more
MATHJAX_FILES = ["tex-chtml.js", "output/chtml/fonts"]

LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
# a link that says a file name: on the site it says the title of the page
FILE_NAME = re.compile(r"\[(?:docs/)?[\w-]+\.md\]\(")
FENCE = re.compile(r"^\s*(```|~~~)")
LANGUAGES = {".py": "python", ".h": "c", ".c": "c", ".cpp": "cpp", ".sh": "sh", ".toml": "toml"}
LANGUAGES |= {".json": "json", ".csv": "text", "": "text", ".cff": "yaml"}


def write_sources(target: Path) -> None:
    """Write all sources below ``target``; what has not changed keeps its time."""
    written: set[Path] = set()
    code: set[str] = set()
    documents = [path for path in sorted(DOCS.rglob("*")) if path.is_file() and _is_copied(path)]
    documents += [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    for path in documents:
        place = target / _name_on_site(path)
        if path.suffix == ".md":
            _write(place, _with_links_of_the_site(path, code))
        else:
            _copy(path, place)
        written.add(place)
    for name in sorted(code):
        place = target / "code" / f"{name}.rst"
        written.add(_write(place, _code_page(ROOT / name, place)))
    for name, text in reference_pages().items():
        written.add(_write(target / "reference" / f"{name}.rst", text))
    written.add(_write(target / "command-reference.rst", command_page()))
    written |= _copy_mathjax(target / "_assets" / "mathjax")
    _remove_others(target, written)


def _is_copied(path: Path) -> bool:
    return not NOT_COPIED & set(path.relative_to(DOCS).parts)


def _name_on_site(path: Path) -> str:
    """Where a document is, relative to the root of the site."""
    name = path.relative_to(ROOT).as_posix()
    return PAGES.get(name) or path.relative_to(DOCS).as_posix()


def _with_links_of_the_site(path: Path, code: set[str]) -> str:
    """The text of a document with links as the site has them; files it shows go to ``code``."""
    here = Path(_name_on_site(path)).parent

    def link(found: re.Match[str]) -> str:
        place = (path.parent / found[1]).resolve()
        name = place.relative_to(ROOT).as_posix()
        if name in PAGES:
            goal = PAGES[name]
        elif DOCS in place.parents:
            goal = place.relative_to(DOCS).as_posix()
        elif place.is_file():
            code.add(name)
            goal = f"code/{name}.rst"
        else:
            raise SystemExit(f"{path.relative_to(ROOT)} links to {found[1]}, which is no file.")
        return os.path.relpath(goal, here) + (found[2] or "")

    lines, fenced = [], False
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else FILE_NAME.sub("[](", LINK.sub(link, line)))
    return "".join(lines)


def _code_page(path: Path, place: Path) -> str:
    """The source of a page at ``place`` that shows a file."""
    title = path.relative_to(ROOT).as_posix()
    language = LANGUAGES.get(path.suffix, "text")
    return "\n".join(
        [
            ":orphan:",
            "",
            title,
            "=" * len(title),
            "",
            f".. literalinclude:: {os.path.relpath(path, place.parent)}",
            f"   :language: {language}",
            "   :linenos:" if language != "text" else "",
            "",
        ]
    )


def _copy_mathjax(target: Path) -> set[Path]:
    package = find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise SystemExit("sphinx-mathjax-offline is not installed: make docs installs it.")
    home = Path(package.origin).parent / "static" / "mathjax"
    copied = set()
    for name in MATHJAX_FILES:
        source = home / name
        files = [path for path in source.rglob("*") if path.is_file()] or [source]
        for file in files:
            copied.add(_copy(file, target / file.relative_to(home)))
    return copied


def _copy(path: Path, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or place.read_bytes() != path.read_bytes():
        shutil.copyfile(path, place)
    return place


def _write(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        place.write_text(text, encoding="utf-8")
    return place


def _remove_others(target: Path, written: set[Path]) -> None:
    """Remove what an earlier build wrote and this one did not, and what was generated for it."""
    names = set(documented_names())
    for path in target.rglob("*"):
        parts = path.relative_to(target).parts
        ours = parts[0] == "gallery" or ("generated" in parts and path.stem in names)
        if path.is_file() and path not in written and not ours:
            path.unlink()
    for path in (target / "gallery").glob("plot_*"):
        if not (GALLERY / path.name.split(".")[0]).with_suffix(".py").exists():
            path.unlink()


def remove_pages_without_source(html: Path, source: Path) -> None:
    """Remove pages of an earlier build whose source is gone."""
    for page in html.rglob("*.html"):
        name = page.relative_to(html).with_suffix("")
        sources = [source / f"{name}{suffix}" for suffix in (".md", ".rst")]
        by_sphinx = name.parts[0] in {"_modules", "genindex", "search", "py-modindex"}
        if not by_sphinx and not any(path.exists() for path in sources):
            page.unlink()
