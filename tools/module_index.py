"""Write docs/modules.md: every module of the package and of the core, with what it holds.

The text of a module is the first line of its docstring, of a header its first comment. A test
compares the page with what this script would write, so that it cannot go stale:

    python tools/module_index.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "modules.md"
PACKAGE = ROOT / "src" / "kernelight"
HEAD = """# Modules

Every file of the package and of the core, and what it holds.
Written by `python tools/module_index.py` from the first line of each file.
[architecture.md](architecture.md) says how they belong together.
"""


def page() -> str:
    """The page as it should be."""
    sections = [*_python_sections(), *_core_sections()]
    return "\n".join([HEAD, *sections])


def _python_sections() -> Iterator[str]:
    top = [path for path in sorted(PACKAGE.glob("*.py")) if path.stem != "__main__"]
    yield _section("src/kernelight", None, [(path.name, summary(path)) for path in top])
    rooms = sorted({path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE})
    for room in rooms:
        files = [path for path in sorted(room.glob("*.py")) if path.stem != "__init__"]
        title = str(room.relative_to(PACKAGE))
        yield _section(
            title, summary(room / "__init__.py"), [(path.name, summary(path)) for path in files]
        )


def _core_sections() -> Iterator[str]:
    for folder in ("core/portable", "core", "core/simd", "bindings"):
        files = sorted(path for path in (ROOT / folder).iterdir() if path.suffix in {".h", ".cpp"})
        yield _section(folder, None, [(path.name, first_comment(path)) for path in files])


def _section(title: str, text: str | None, files: list[tuple[str, str]]) -> str:
    lines = [f"## {title}", ""]
    if text:
        lines += [text, ""]
    if files:
        lines += ["| file | what it holds |", "|---|---|"]
        # two underscores would be bold
        named = [(name.replace("__", r"\_\_"), what.replace("|", r"\|")) for name, what in files]
        lines += [f"| {name} | {what} |" for name, what in named]
        lines.append("")
    return "\n".join(lines)


def summary(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def first_comment(path: Path) -> str:
    """The first paragraph of the comment that a C or C++ file begins with, on one line."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("/*"):
        text = re.sub(r"^ ?\* ?", "", text[2:].partition("*/")[0], flags=re.MULTILINE)
    else:
        lines = text.splitlines()
        count = next((at for at, line in enumerate(lines) if not line.startswith("//")), len(lines))
        text = "\n".join(line[2:].strip() for line in lines[:count])
    first = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", first)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
