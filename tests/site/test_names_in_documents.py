"""What documents name in backticks is there: modules, classes, verbs and options."""

from __future__ import annotations

import builtins
import re
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from kernelight.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(r"^\s*```(\w*)\n(.*?)^\s*```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
DOTTED = re.compile(r"^(kernelight(?:\.\w+)+)(?:\(.*\))?$", re.DOTALL)
CLASS = re.compile(r"^([A-Z][a-z]\w*[A-Z]\w*)(?:\(.*\))?$", re.DOTALL)
NO_NAMES = {"kernelight.columns"}  # the key of the metadata of ONNX graphs
# classes of others that the sources do not name
OF_OTHERS = {"PolynomialCountSketch"}


def spans(document: Path) -> list[str]:
    """What stands in backticks, outside blocks of code."""
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    return [" ".join(span.split()) for span in SPAN.findall(text)]


def resolves(dotted: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for name in parts[cut:]:
            value = getattr(value, name, None)
        return value is not None
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_dotted_names_are_there(document):
    names = {found[1] for span in spans(document) if (found := DOTTED.match(span))}
    assert sorted(name for name in names - NO_NAMES if not resolves(name)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_classes_are_there(document):
    """A name written like a class is one of the package, of the core, or of a library in use."""
    known = identifiers() | OF_OTHERS | set(dir(builtins))
    names = {found[1] for span in spans(document) if (found := CLASS.match(span))}
    assert sorted(names - known) == []


def identifiers() -> set[str]:
    """Every word of the sources, which hold the names of their own and of what they import."""
    if not _words:
        for place in ("src", "core", "benchmarks", "papers", "tests"):
            for path in (ROOT / place).rglob("*"):
                if path.suffix in {".py", ".h", ".cpp"} and path != Path(__file__):
                    _words.update(re.findall(r"[A-Z]\w+", path.read_text(encoding="utf-8")))
    return _words


_words: set[str] = set()


def commands(document: Path) -> list[str]:
    """Calls of the command: in backticks, and the lines of shell blocks."""
    text = document.read_text(encoding="utf-8")
    lines = [span for span in spans(document) if span.startswith("kernelight ")]
    for language, code in BLOCK.findall(text):
        if language in {"sh", "bash", ""}:
            joined = code.replace("\\\n", " ")
            lines += re.findall(r"(?:^|[|;&] *)(kernelight [^|;&\n]*)", joined, re.MULTILINE)
    return lines


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_verbs_and_options_are_there(document):
    """`kernelight VERB --option`: a verb in capitals or dots stands for any."""
    for line in commands(document):
        wrong = unknown_part(line)
        assert wrong is None, f"`{line}`: there is no {wrong}"


def unknown_part(line: str) -> str | None:
    """The first word of a call of the command that is no verb or option of it."""
    command = get_command(app)
    context = typer.Context(command, info_name="kernelight")
    words = [word.strip("`,.[]()'\"") for word in line.split()[1:]]
    while words and getattr(command, "commands", None):
        if words[0].startswith("-") or not words[0] or not words[0].islower():
            break
        if "|" in words[0]:  # one verb or another
            return next(
                (verb for verb in words[0].split("|") if verb not in command.commands), None
            )
        if words[0] not in command.commands:
            return words[0]
        command = command.commands[words[0]]
        context = typer.Context(command, info_name=words[0], parent=context)
        words = words[1:]
    if getattr(command, "commands", None) and words and not words[0].startswith("-"):
        return None  # VERB, or ...
    parameters = command.get_params(context)
    known = {name for option in parameters for name in (*option.opts, *option.secondary_opts)}
    known |= {"-h", "--help"}
    for word in words:
        name = word.partition("=")[0]
        if re.match(r"^--?[a-zA-Z]", name) and name not in known:
            return name
    return None
