"""The parsers of text once more, slowly: regular expressions and Python's float."""

from __future__ import annotations

import math
import re

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LABEL, INDEX, COLON, VALUE, ORDER, BELOW, BEYOND = range(1, 8)
FEW, MANY, NOT_NUMBER, OPEN, AFTER = range(1, 6)
SKIP, FEATURE, ASIDE, WORD = range(4)


class Wrong(Exception):  # noqa: N818
    """kind, byte of the text, and column or number of fields."""


def libsvm_rows(text: bytes, base: int, limit: int):
    """A list of (label, indices, values)."""
    rows, line_start = [], 0
    for line in text.split(b"\n"):
        row = _libsvm_row(line, line_start, base, limit)
        if row is not None:
            rows.append(row)
        line_start += len(line) + 1
    return rows


def _libsvm_row(line, line_start, base, limit):
    body = line.split(b"#")[0]
    tokens = [
        (match.start() + line_start, match.group())
        for match in re.finditer(rb"[^ \t\r\v\f]+", body)
    ]
    if not tokens:
        return None
    at, token = tokens.pop(0)
    if not NUMBER.fullmatch(token) or not math.isfinite(float(token)):
        raise Wrong(LABEL, at)
    label, indices, values = float(token), [], []
    if tokens and re.match(rb"qid:.", tokens[0][1]) and len(line) + line_start > tokens[0][0] + 4:
        at, token = tokens.pop(0)
        if not re.fullmatch(rb"qid:[0-9]+", token) or int(token[4:]) > 2**62:
            raise Wrong(INDEX, at)
    for at, token in tokens:
        match = re.match(rb"([0-9]+)(:?)", token)
        if not match:
            raise Wrong(INDEX, at)
        if not match[2]:
            raise Wrong(COLON if match.end() == len(token) else INDEX, at)
        index, value = int(match[1]) - base, token[match.end() :]
        if index < 0:
            raise Wrong(BELOW, at)
        if index >= limit:
            raise Wrong(BEYOND, at)
        if indices and index <= indices[-1]:
            raise Wrong(ORDER, at)
        if not NUMBER.fullmatch(value) or not math.isfinite(float(value)):
            raise Wrong(VALUE, at)
        indices.append(index)
        values.append(float(value))
    return label, indices, values


def lines_that_are(line: bytes, text: bytes, final: bool):
    """Where lines begin that are this one; the last has a line end, or the text is all there is."""
    ends = rb"\r?\n|\r?\Z" if final else rb"\r?\n"
    return [
        match.start()
        for match in re.finditer(
            rb"^" + re.escape(line) + rb"(?=" + ends + rb")", text, re.MULTILINE
        )
    ]


def csv_rows(text: bytes, delimiter: bytes, kinds, missing, n_anywhere):
    """Rows of fields: a number (NaN: missing), a word (None: missing), or "skipped".

    Of ``missing`` the first ``n_anywhere`` stand for a missing word, all for a missing number.
    """
    rows, at = [], 0
    while at < len(text):
        blank = re.match(
            rb"[ \t]*(?:\r?\n|\r?\Z)".replace(b"\\t" if delimiter == b"\t" else b"\0", b""),
            text[at:],
        )
        if blank:
            at += max(1, blank.end())
            continue
        row, at = _csv_row(text, at, delimiter, kinds, missing, n_anywhere)
        rows.append(row)
    return rows


def _csv_row(text, at, delimiter, kinds, missing, n_anywhere):
    start, row, count = at, [], 0
    while True:
        cell, quote, content, problem, at = _csv_field(text, at, delimiter)
        if count < len(kinds):
            kind = kinds[count]
            if problem:
                raise Wrong(problem, quote, count)
            if kind == SKIP:
                row.append("skipped")
            elif kind == WORD:
                row.append(None if cell == b"" or cell in missing[:n_anywhere] else cell)
            else:
                row.append(_csv_number(cell, content, count, missing))
        count += 1
        if text[at : at + 1] == delimiter:
            at += 1
            continue
        if count < len(kinds):
            raise Wrong(FEW, start, count)
        if count > len(kinds):
            raise Wrong(MANY, start, count)
        end = re.match(rb"\r?\n|\r?\Z", text[at:])
        return row, at + end.end()


def _csv_number(cell, content, column, missing):
    word = cell.strip(b" \t")
    if NUMBER.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    if not NUMBER.fullmatch(word) and (word == b"" or word in missing):
        return math.nan
    raise Wrong(NOT_NUMBER, content, column)


def _csv_field(text, at, delimiter):
    """Its content, place of the quote, place of the content, kind of error, and where it ends."""
    blanks = b" \t".replace(delimiter, b"")
    while text[at : at + 1] and text[at : at + 1] in (
        blanks[i : i + 1] for i in range(len(blanks))
    ):
        at += 1
    rest = re.compile(rb"(?:(?!" + re.escape(delimiter) + rb"|\n|\r\n|\r\Z)[\s\S])*")
    if text[at : at + 1] != b'"':
        end = rest.match(text, at).end()
        return text[at:end].strip(blanks), None, at, 0, end
    match = re.compile(rb'"((?:[^"]|"")*)"(?!")').match(text, at)
    if not match:
        return b"", at, at + 1, OPEN, len(text)
    end = rest.match(text, match.end()).end()
    problem = AFTER if text[match.end() : end].strip(blanks) else 0
    return match[1].replace(b'""', b'"'), at, at + 1, problem, end
