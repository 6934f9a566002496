"""Pieces of C: tables of numbers, filled-in templates, and the random words of the hashes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.maps.projections.splitmix import mixed_words

_COLUMNS = 96
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
# of the standard headers that an exported header includes, and of C and C++ themselves
_RESERVED = """
alignas alignof and asm auto bool break case catch char class const constexpr continue default
delete do double else enum explicit export extern false float for friend goto if inline int long
main memcpy memset mutable namespace new noexcept not nullptr operator or private protected public
register restrict return short signed sizeof static stdint stdio stdlib struct switch template this
throw true try typedef typename union unsigned using virtual void volatile while xor
"""


def check_name(name: Any) -> str:
    """A name that C identifiers and files can begin with."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name):
        raise ValueError(
            "name must be a C identifier of at most 63 letters, digits and underscores that "
            f"begins with a letter, got {name!r}."
        )
    if name in _RESERVED.split() or "__" in name:
        raise ValueError(f"name must not be a word that C or C++ reserves, got {name!r}.")
    return name


def table(ctype: str, name: str, values: Iterable[Any], text: Callable[[Any], str] = str) -> str:
    """A constant array, as many numbers to a line as fit."""
    lines, line = [], " "
    numbers = [text(value) for value in values]
    for number in numbers:
        if len(line) + len(number) + 2 > _COLUMNS:
            lines.append(line)
            line = " "
        line += f" {number},"
    return (
        f"static const {ctype} {name}[{len(numbers)}] = {{\n" + "\n".join([*lines, line]) + "\n};\n"
    )


def filled(template: str, **values: Any) -> str:
    """A template with its $names replaced; one that is missing is an error."""
    return Template(template).substitute({key: str(value) for key, value in values.items()})


def float_text(value: Any) -> str:
    """A float32 so that a compiler reads the same; C++11 has no hexadecimal ones."""
    return f"{float(np.float32(value)):.9e}f"


def double_text(value: Any) -> str:
    """A double so that a compiler reads the same."""
    return f"{float(value):.17e}"


def hex_text(value: Any) -> str:
    """An unsigned number of 32 bits."""
    return f"0x{int(value):08x}u"


def key_text(value: int) -> str:
    """An unsigned number of 64 bits."""
    return f"UINT64_C(0x{value:016x})"


def text_literal(text: str) -> str:
    """A string in ASCII: other bytes of its UTF-8 in octal, which ends after three digits."""
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    )
    return '"' + "".join(plain) + '"'


# -- Random words (docs/hash-spec.md, section 1), here and in C


def children(key: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """child(key, n) for each number n."""
    words = np.uint64(key) + np.asarray(numbers, dtype=np.uint64) * np.uint64(_GOLDEN)
    return mixed_words(words)


def child(key: int, number: int) -> int:
    """child(key, number)."""
    return int(children(key, np.array([number & _WORD], dtype=np.uint64))[0])


def stream_key(seed: int, stream: int) -> int:
    """stream(seed, stream)."""
    return child(child(0, seed), stream)


CHILD = """\
/* Random word n of a key: what follows from the seed is made again, not stored. */
static inline uint64_t ${n}_child(uint64_t key, uint64_t n) {
    uint64_t z = key + UINT64_C(0x9E3779B97F4A7C15) * (n + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

"""
