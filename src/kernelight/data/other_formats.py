"""Files that are no table that is read here: what they are, and what makes a table of them.

A file is judged by its first bytes, whatever its name is. JSON must be unmistakable: a CSV file may
begin with a brace too.
"""

from __future__ import annotations

import json
import re

from kernelight.data.errors import DataError, shown

_AS_CSV = "save it as CSV, and read that"
_UNPACK = "unpack it, and read the file inside"
# what a file begins with -> what it is, and what to do
_MAGIC: dict[bytes, tuple[str, str]] = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("a spreadsheet of old Excel", _AS_CSV),
    b"%PDF-": ("a PDF document", "export its table as CSV, and read that"),
    b"SQLite format 3\0": ("an SQLite database", "export a table of it as CSV, and read that"),
    b"\x89HDF\r\n": ("HDF5", "save the table in it as CSV or Parquet, and read that"),
    b"\x93NUMPY": (
        "a single array of NumPy",
        "numpy.savez with X= and y= stores a table as NPZ, which is read",
    ),
    b"RDX": ("data of R", "write.csv in R saves it as CSV, which is read"),
    b"RDA": ("data of R", "write.csv in R saves it as CSV, which is read"),
    b"$FL2": ("a file of SPSS", _AS_CSV),
    b"<stata_dta>": ("a file of Stata", _AS_CSV),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", _UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", _UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", _UNPACK),
}
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x8c}\]ccq]")
_MARKUP = re.compile(rb"<(?:(\?xml)|!doctype html|html|table|head|body|meta)\b", re.IGNORECASE)
_ARFF = re.compile(rb"(?:%[^\n]*\n|\s)*@relation\s", re.IGNORECASE)
# an object whose first key is there, or an array of objects or arrays
_DOCUMENT = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:|\[\s*[{\[]')
_DECODER = json.JSONDecoder()
JSON, JSON_LINES = "JSON", "JSON lines"


def refuse_other_formats(label: str, start: bytes) -> None:
    """Raise an error that says what a file is and what to do, if it is of a known other format.

    ``start`` is the beginning of its content, unpacked.
    """
    for magic, (what, remedy) in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{label} is {what}: {remedy}.")
    if _PICKLE.match(start):
        raise DataError(
            f"{label} is a pickle of Python, which is not read because that could run code: save "
            f"the table as CSV or Parquet, and read that."
        )
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    markup = _MARKUP.match(text)
    if markup is not None:
        raise DataError(
            f"{label} is {'XML' if markup[1] else 'a web page (HTML)'}, whatever its name says: "
            f"open it in a spreadsheet, save it as CSV, and read that."
        )
    if _ARFF.match(text):
        raise DataError(f"{label} is ARFF: {_AS_CSV} (scipy.io.arff.loadarff reads it in Python).")
    kind = json_kind(text)
    if kind is not None:
        lines = ", lines=True" if kind == JSON_LINES else ""
        raise DataError(
            f"{label} is {kind}, not a table: save it as CSV, in Python by "
            f"pandas.read_json({shown(label)}{lines}).to_csv('table.csv', index=False), and read "
            f"that."
        )


def json_kind(text: bytes) -> str | None:
    """`JSON` or `JSON_LINES`, if the beginning of a text is one of them for certain.

    >>> from kernelight.data.other_formats import json_kind
    >>> json_kind(b'{"a": 1}\\n{"a": 2}\\n'), json_kind(b'[{"a": 1}, {"b'), json_kind(b"{")
    ('JSON lines', 'JSON', None)
    >>> print(json_kind(b'{"a": 1},5\\n{"a": 2},6\\n'), json_kind(b"[kg],[m]\\n"))
    None None
    """
    content = text.decode(errors="replace").rstrip()
    whole = _DOCUMENT.match(content) is not None
    if content[:1] not in ("{", "["):
        return None
    try:
        _, end = _DECODER.raw_decode(content)
    except json.JSONDecodeError as error:  # it may be the beginning of a long document
        cut = error.pos >= len(content) or error.msg.startswith("Unterminated string")
        return JSON if whole and cut else None
    except RecursionError:
        return JSON if whole else None
    rest = content[end:]
    if not rest:
        return JSON if whole else None
    next_line = rest.lstrip(" \t\r")
    return JSON_LINES if next_line[0] == "\n" and next_line.lstrip()[0] == content[0] else None
