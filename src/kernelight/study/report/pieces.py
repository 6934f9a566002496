"""Pieces that the pages of reports share: the page around them, tiles, code and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from kernelight.study.report.svg import Chart
from kernelight.study.report.terms import explained
from kernelight.study.text import held_together


def document(title: str, parts: Sequence[str]) -> str:
    """A page of HTML that loads nothing else; ``title`` is not escaped yet, the parts are."""
    style = files("kernelight.study.report").joinpath("style.css").read_text(encoding="utf-8")
    script = files("kernelight.study.report").joinpath("script.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body><main>{''.join(parts)}</main>"
        f'<div id="tip" role="status"></div><script>{script}</script></body></html>\n'
    )


def tiles(values: Sequence[tuple[str, str]]) -> str:
    """Numbers in large type, each with what it is."""
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{prose(what)}</span></div>'
        for value, what in values
    )
    return f'<div class="tiles">{shown}</div>'


def prose(text: str) -> str:
    """Escaped text, with numbers and their units held together."""
    return escape(held_together(text))


def code(text: str) -> str:
    """A box of code with a button to copy it; names of options are not broken at their hyphens."""
    inside = re.sub(r"(?<!\S)--?[a-z][\w-]*", r'<span class="word">\g<0></span>', escape(text))
    button = '<button class="copy" type="button">Copy</button>'
    return f'<div class="code"><pre>{inside}</pre>{button}</div>'


def figure(title: str, caption: str, chart: Chart | None, identity: str) -> str:
    """A chart with its title and caption; nothing without a chart."""
    if chart is None:
        return ""
    together = chart.coinciding()
    note = f'<p class="together soft">{escape(together)}</p>' if together else ""
    return framed(title, caption, chart.svg() + note, identity)


def framed(title: str, caption: str, inside: str, identity: str) -> str:
    """A figure of HTML with a title and a caption."""
    text = explained(escape(caption))
    return (
        f'<figure id="{identity}"><h3>{escape(title)}</h3><figcaption>{text}</figcaption>'
        f"{inside}</figure>"
    )
