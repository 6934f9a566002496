"""Documents: their code runs and prints what they say, links lead somewhere, lines are short."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
RUNNABLE = [
    *DOCUMENTS[:2],
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "codes-files.md",
    ROOT / "docs" / "data.md",
    ROOT / "docs" / "devices.md",
    ROOT / "docs" / "errata.md",
    ROOT / "docs" / "front-door.md",
    ROOT / "docs" / "maps.md",
    ROOT / "docs" / "onnx.md",
    ROOT / "docs" / "search.md",
    ROOT / "docs" / "start.md",
    ROOT / "docs" / "study.md",
    ROOT / "docs" / "ternary.md",
    ROOT / "docs" / "theory.md",
    ROOT / "docs" / "when-it-is-not-good-enough.md",
]
# Their examples take seconds each.
NIGHTLY = {"study", "when-it-is-not-good-enough"}
# a block of Python, and the block of text below it, if there is one
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)

EXAMPLES = [
    pytest.param(
        code,
        output,
        id=f"{document.stem}-{at}",
        marks=[pytest.mark.nightly] if document.stem in NIGHTLY else [],
    )
    for document in RUNNABLE
    for at, (code, output) in enumerate(EXAMPLE.findall(document.read_text()))
]


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_it_says(
    code: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("example")  # dataclasses look for their module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), module.__dict__)
    assert printed.getvalue() == output


def test_readme_has_an_example() -> None:
    code = EXAMPLE.search(RUNNABLE[0].read_text())
    assert code is not None
    assert len(code.group(1).strip().splitlines()) <= 12


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), (
            f"{document.name} links to {target}, which is not there"
        )


WIDTH = 100
CODE = re.compile(r"^\s*```.*?^\s*```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_lines_of_prose_are_short(document: Path) -> None:
    """Blocks of code, rows of tables and images cannot be broken."""
    text = CODE.sub("", document.read_text())
    long = [
        line
        for line in text.splitlines()
        if len(line) > WIDTH and not line.lstrip().startswith(("|", "!["))
    ]
    assert not long, f"{document.name}: {len(long)} lines are too long, the first is: {long[0]}"


NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
CITING = re.compile(r"^\|.*\]\((?:docs/)?benchmarks\.md#(\w+)\).*\|$", re.MULTILINE)


def numbers_of(text: str) -> set[str]:
    return {number.replace(",", "") for number in NUMBER.findall(text)}


@pytest.mark.parametrize("document", ["README.md", "docs/compare.md", "docs/tables.md"])
def test_numbers_of_the_readme_stand_in_the_benchmarks(document: str) -> None:
    """The numbers of a row that cites a section are in that section.

    They must be in the lines that have all words of the row in backticks.
    """
    readme = (ROOT / document).read_text()
    report = (ROOT / "docs" / "benchmarks.md").read_text()
    sections = {part.split("\n", 1)[0]: part for part in report.split("\n## ")}
    rows = list(CITING.finditer(readme))
    assert len(rows) >= 8
    for row in rows:
        words = re.findall(r"`([^`]+)`", row.group())
        lines = [
            line for line in sections[row.group(1)].splitlines() if all(w in line for w in words)
        ]
        missing = numbers_of(row.group()) - numbers_of("\n".join(lines))
        assert words, row.group()
        assert not missing, f"{row.group()}: docs/benchmarks.md does not say {sorted(missing)}"


def test_the_picture_of_the_readme_is_small() -> None:
    picture = ROOT / "docs" / "images" / "report.png"
    assert f"]({picture.relative_to(ROOT).as_posix()})" in (ROOT / "README.md").read_text()
    assert picture.stat().st_size < 300_000


def test_the_list_of_modules_is_that_of_the_tree() -> None:
    """docs/modules.md is what tools/module_index.py writes, and every file says what it holds."""
    spec = importlib.util.spec_from_file_location("module_index", ROOT / "tools/module_index.py")
    assert spec is not None
    assert spec.loader is not None
    index = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(index)
    assert index.page() == index.PAGE.read_text(encoding="utf-8"), (
        "docs/modules.md is stale: run python tools/module_index.py"
    )
    silent = [path for path in index.PACKAGE.rglob("*.py") if not index.summary(path)]
    assert [path.name for path in silent] == ["__main__.py"] * len(silent)


def test_the_architecture_names_what_is_there() -> None:
    """Every file and every identifier in backticks is found in the tree."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = [ROOT / place for place in ("src", "core", "bindings", "tests")]
    paths = [path for place in places for path in place.rglob("*")]
    files = set(re.findall(r"[\w/]*?(\w+\.(?:py|h|cpp|css|js))\b", text))
    assert files - {path.name for path in paths} == set()
    sources = [path for path in paths if path.suffix in {".py", ".h", ".cpp"}]
    known = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in sources)))
    quoted = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", text)
    assert {word for name in quoted for word in name.split(".")} - known == set()
