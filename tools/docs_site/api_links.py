"""Names in the text become links to the reference, and formulas stand below summaries.

In a docstring the role of plain backticks is `api`: `GCWS`, `theory.rff_variance` or a method of
the class at hand. In Markdown a name in backticks becomes a link if it cannot mean anything else.
What is not public stays code.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from formulas import FORMULAS
from pages import page_name
from reference import public_objects
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxRole

# words of prose and of the command that are functions as well: no links in Markdown
AMBIGUOUS = {"compare", "fit", "encode", "score", "load", "get", "machine", "versions", "register"}
CALL = re.compile(r"^([A-Za-z_][\w.]*)(?:\(.*\))?$", re.DOTALL)


@cache
def full_names() -> dict[str, str]:
    """From each way to write a public name to its full name; what is ambiguous is left out."""
    found: dict[str, set[str]] = {}
    for full in public_objects():
        parts = full.split(".")
        for start in range(len(parts)):
            found.setdefault(".".join(parts[start:]), set()).add(full)
    names = {short: next(iter(fulls)) for short, fulls in found.items() if len(fulls) == 1}
    for short in list(names):
        value = public_objects()[names[short]]
        if inspect.isclass(value):
            for member in vars(value) | dict.fromkeys(dir(value)):
                if not member.startswith("_") and _is_ours(value, member):
                    names[f"{short}.{member}"] = f"{names[short]}.{member}"
    return names


def _is_ours(cls: type, member: str) -> bool:
    value = inspect.getattr_static(cls, member)
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def target_of(text: str, current_class: str | None = None) -> str | None:
    """The full name that a text in backticks stands for, if it is one."""
    call = CALL.match(text)
    if call is None:
        return None
    if current_class:
        own = full_names().get(f"{current_class}.{call[1]}")
        if own:
            return own
    return full_names().get(call[1])


def link(text: str, target: str, document: str) -> addnodes.pending_xref:
    """A reference to a public name, which looks like code."""
    node = addnodes.pending_xref(
        "", refdomain="py", reftype="obj", reftarget=target, refdoc=document, refwarn=False
    )
    node += nodes.literal(text, text, classes=["xref", "py", "py-obj"])
    return node


class ApiRole(SphinxRole):
    """`Name` in a docstring."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        current = self.env.ref_context.get("py:class")
        target = target_of(self.text, current)
        if target is None:
            return [nodes.literal(self.rawtext, self.text)], []
        return [link(self.text, target, self.env.docname)], []


class LinkNames(SphinxTransform):
    """Names in backticks of a Markdown page."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        if not str(self.env.doc2path(self.env.docname)).endswith(".md"):
            return
        for node in list(self.document.findall(nodes.literal)):
            if isinstance(node.parent, (nodes.reference, addnodes.pending_xref, nodes.title)):
                continue
            text = node.astext()
            target = None if text.partition("(")[0] in AMBIGUOUS else target_of(text)
            if target is not None:
                node.replace_self(link(text, target, self.env.docname))


MARKUP = re.compile(r"(``.+?``|`[^`]*`_?)")  # spans of a line that are no plain text
PAGE = re.compile(r"\bdocs/([\w-]+)\.md\b")
TRAILING = re.compile(r"(?<=\w)_(?!\w)")


def escape_plain_text(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep |u| and names that end with an underscore as they are: docstrings are plain text.

    They would be a substitution and a reference. Examples, code and formulas stay untouched.
    """
    block: int | None = None  # the indentation of the line that begins code or a formula
    example = False
    for at, line in enumerate(lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        example = bool(text) and (example or text.startswith(">>>"))
        if block is not None and text and indent <= block:
            block = None
        if block is None and not example:
            parts = MARKUP.split(line)
            parts[::2] = [_plain(part) for part in parts[::2]]
            lines[at] = "".join(parts)
            if text.startswith((".. math::", ".. code")) or text.endswith("::"):
                block = indent


def _plain(text: str) -> str:
    """Text that holds no markup; a page that it names becomes a link."""
    text = TRAILING.sub(r"\\_", text.replace("|", r"\|"))
    return PAGE.sub(lambda found: f":doc:`/{page_name(found[1])}`", text)


def add_formula(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Put the formula of a name below its summary."""
    if what in {"class", "function"} and name in FORMULAS:
        start = next(at for at, line in enumerate(lines) if line.strip())
        ends = (at for at, line in enumerate(lines) if at > start and not line.strip())
        summary_end = next(ends, len(lines))
        lines[summary_end:summary_end] = ["", ".. math::", "", f"   {FORMULAS[name]}", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """The role and the transform."""
    app.add_role("api", ApiRole())
    app.add_transform(LinkNames)
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)  # after numpydoc
    app.connect("autodoc-process-docstring", add_formula, priority=950)
    # what this folder says is in every page: Sphinx reads all again when it has changed
    texts = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {
        "env_version": int(hashlib.sha256(texts).hexdigest()[:12], 16),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
