"""The compiled parsers of text against their slow twins.

Valid files, thousands of damaged ones, and files cut at every place.
"""

from __future__ import annotations

import math
import struct
from itertools import pairwise

import numpy as np
import pytest
from oracles import data_twin as twin

from kernelight import _core

MISSING = [b"NA", b"nan", b"?", b"-", b"none"]
N_ANYWHERE = 3  # of these are missing among words too


def as_text(content: bytes):
    return np.frombuffer(content, np.uint8)


def libsvm(content, base=1, limit=2**31 - 1, threads=1, value=np.float64, index=np.int32):
    text = as_text(content)
    rows, entries = np.zeros((2, _core.text_pieces(len(text)) + 1), np.int64)
    _core.libsvm_layout(text, rows, entries, threads)
    labels, starts = np.full(rows[-1], 7.0), np.zeros(rows[-1] + 1, np.int64)
    indices, values = np.zeros(entries[-1], index), np.zeros(entries[-1], value)
    n, nnz, width, kind, at = _core.libsvm_parse(
        text, rows, entries, base, limit, labels, starts, indices, values, threads
    )
    if kind:
        return kind, at
    assert width == (max(indices[:nnz], default=-1) + 1)
    assert starts[0] == 0
    assert starts[n] == nnz
    return [
        (labels[i], indices[a:b].tolist(), values[a:b].tolist())
        for i, (a, b) in enumerate(pairwise(starts[: n + 1]))
    ]


def libsvm_twin(content, base=1, limit=2**31 - 1):
    try:
        return twin.libsvm_rows(content, base, limit)
    except twin.Wrong as wrong:
        return wrong.args


def csv(content, kinds, delimiter=b",", threads=1):
    text, n = as_text(content), len(kinds)
    starts, rows = np.zeros((2, _core.text_pieces(len(text)) + 1), np.int64)
    end = _core.csv_layout(text, ord(delimiter), True, starts, rows, threads)
    assert end == len(content)
    count, slots = rows[-1], np.zeros(n, np.int64)
    for kind in range(4):
        mine = np.array(kinds) == kind
        slots[mine] = np.arange(mine.sum())
    total = [kinds.count(kind) for kind in range(4)]
    features, aside = np.zeros((count, total[1])), np.zeros((total[2], count))
    places, lengths = np.zeros((total[3], count), np.int64), np.zeros((total[3], count), np.int32)
    kind, at, column = _core.csv_parse(
        text,
        ord(delimiter),
        as_text(b"".join(MISSING)),
        np.cumsum([len(word) for word in MISSING]),
        N_ANYWHERE,
        starts,
        rows,
        np.array(kinds, np.int8),
        slots,
        features,
        aside,
        places,
        lengths,
        threads,
    )
    if kind:
        return kind, at, column

    def cell(row, kind, slot):
        if kind == twin.SKIP:
            return "skipped"
        if kind == twin.WORD:
            start, length = int(places[slot, row]), int(lengths[slot, row])
            if start < 0:
                return None
            word = content[start : start + (length if length >= 0 else -1 - length)]
            return word if length >= 0 else word.replace(b'""', b'"')
        return features[row, slot] if kind == twin.FEATURE else aside[slot, row]

    return [[cell(row, k, s) for k, s in zip(kinds, slots, strict=True)] for row in range(count)]


def csv_twin(content, kinds, delimiter=b","):
    try:
        return twin.csv_rows(content, delimiter, kinds, MISSING, N_ANYWHERE)
    except twin.Wrong as wrong:
        return wrong.args


def mutated(content: bytes, rng, alphabet: bytes) -> bytes:
    """A few bytes replaced, removed, put in; pieces cut out, doubled, moved."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(changed) + 1))
        choice = rng.integers(6)
        some = (
            alphabet[int(rng.integers(len(alphabet)))]
            if rng.random() < 0.8
            else int(rng.integers(256))
        )
        if choice == 0 and at < len(changed):
            changed[at] = some
        elif choice == 1:
            changed.insert(at, some)
        elif choice == 2:
            del changed[at : at + int(rng.integers(1, 6))]
        elif choice == 3:
            changed[at:at] = changed[at : at + 9]
        elif choice == 4:
            del changed[at:]
        elif at < len(changed):
            changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def number(rng) -> str:
    value = float(rng.normal()) * 10.0 ** int(rng.integers(-8, 9))
    return rng.choice(
        [
            repr(value),
            f"{value:.3g}",
            f"{value:.4f}",
            f"{value:+e}",
            str(int(value)),
            "0",
            "1e-320",
            ".5",
            "5.",
        ]
    )


def libsvm_file(rng, rows=8) -> bytes:
    lines = []
    for _ in range(rows):
        indices = np.sort(rng.choice(40, rng.integers(0, 6), replace=False)) + 1
        entries = " ".join(f"{i}:{number(rng)}" for i in indices)
        lines.append(
            f"{rng.choice(['1', '-1', '+1', '2.5'])} "
            f"{rng.choice(['', 'qid:3 '])}{entries}{rng.choice(['', ' # why', ' '])}"
        )
    return rng.choice(["\n", "\r\n"]).join([*lines, rng.choice(["", "# end", " "])]).encode()


def csv_file(rng, kinds, rows=8, delimiter=",") -> bytes:
    words = [
        "red",
        "NA",
        "",
        '"a, b"',
        '"say ""hi"""',
        '" x "',
        "grün",
        '"two\nlines"',
        "?",
        "-",
        "none",
        'in"side',
        '"12"',
    ]
    lines = []
    for _ in range(rows):
        cells = [
            str(rng.choice(words))
            if kind in (twin.SKIP, twin.WORD)
            else rng.choice([number(rng), number(rng), "", "NA", "-", "none", ' "1.5"'])
            for kind in kinds
        ]
        lines.append(delimiter.join(cells))
    return (rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n", "\r", "\n\n"])).encode()


def same(fast, wanted):
    return repr(fast) == repr(wanted)  # NaN too, and the sign of zero


def plain(rows):
    """The same with NumPy's numbers as Python's."""
    return (
        [[float(c) if isinstance(c, float) else c for c in row] for row in rows]
        if isinstance(rows, list)
        else rows
    )


def test_libsvm_files_and_damaged_ones():
    rng = np.random.default_rng(0)
    kinds = set()
    for trial in range(2000):
        content = libsvm_file(rng)
        content = (
            content if trial % 10 == 0 else mutated(content, rng, b"0123456789:. \n#-+e\tqidnaf")
        )
        base = trial % 2
        fast, wanted = libsvm(content, base), libsvm_twin(content, base)
        fast = [(float(label), i, v) for label, i, v in fast] if isinstance(fast, list) else fast
        assert same(fast, wanted), content
        kinds.add(fast[0] if isinstance(fast, tuple) else 0)
    assert kinds == set(range(8))


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_csv_files_and_damaged_ones(delimiter):
    rng = np.random.default_rng(ord(delimiter))
    seen = set()
    for trial in range(700):
        kinds = rng.integers(0, 4, rng.integers(1, 6)).tolist()
        content = csv_file(rng, kinds, delimiter=delimiter)
        content = (
            content if trial % 10 == 0 else mutated(content, rng, b'0123456789.-+e," \n\r\t;NA?x')
        )
        fast, wanted = (
            csv(content, kinds, delimiter.encode()),
            csv_twin(content, kinds, delimiter.encode()),
        )
        assert same(plain(fast), wanted), (content, kinds)
        seen.add(fast[0] if isinstance(fast, tuple) else 0)
    assert seen == {0, *range(1, 6)}


def test_bytes_of_all_kinds():
    rng = np.random.default_rng(3)
    for _ in range(300):
        content = rng.integers(0, 256, rng.integers(0, 60), dtype=np.uint8).tobytes()
        fast = libsvm(content)
        fast = [(float(label), i, v) for label, i, v in fast] if isinstance(fast, list) else fast
        assert same(fast, libsvm_twin(content)), content
        assert same(plain(csv(content, [1, 3])), csv_twin(content, [1, 3])), content


def test_long_files_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    content = b"".join(libsvm_file(rng, 50).rstrip() + b"\n" for _ in range(60)) * 6
    kinds = [1, 3, 2]
    rows = b"".join(csv_file(rng, kinds, 50).rstrip() + b"\n" for _ in range(60)) * 16
    unquoted = rows.replace(b'"', b"")
    assert _core.text_pieces(len(content)) > 2
    assert _core.text_pieces(len(rows)) > 2
    wanted = libsvm(content)
    assert len(wanted) == 60 * 50 * 6
    wanted_csv = [csv(text, kinds) for text in (rows, unquoted)]
    broken = content + b"1 3:x\n" + content
    for threads in (1, 2, 5):
        assert same(libsvm(content, threads=threads), wanted)
        for text, wanted_rows in zip((rows, unquoted), wanted_csv, strict=True):
            assert same(csv(text, kinds, threads=threads), wanted_rows)
        assert libsvm(broken, threads=threads) == (twin.VALUE, len(content) + 2)
        assert csv(rows + b"1,2\n" + rows, kinds, threads=threads) == (twin.FEW, len(rows), 2)


def test_a_text_that_goes_on_is_cut_where_rows_end():
    content = b'1,"a\nb",2\n\n3,c,4\r\n5,"d ""e""",6'
    kinds = [1, 3, 2]
    wanted = csv(content, kinds)
    for at in range(len(content) + 1):
        text = as_text(content[:at])
        starts, rows = np.zeros((2, _core.text_pieces(at) + 1), np.int64)
        end = _core.csv_layout(text, ord(","), False, starts, rows, 1)
        assert same(csv(content[:end], kinds) + csv(content[end:], kinds), wanted), at
        assert len(csv(content[:end], kinds)) == rows[-1]


def one_number(text: str) -> float:
    fast = libsvm(f"1 1:{text}".encode())
    return fast[0][2][0] if isinstance(fast, list) else math.inf


def hard_numbers():
    rng = np.random.default_rng(4)
    hard = [
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062329e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "9007199254740993",
        "9007199254740992.5",
        "1e23",
        "8.5e-323",
        "0." + "0" * 400 + "1",
        "1" + "0" * 308,
        "0." + "0" * 400 + "1e401",
        "1" + "0" * 400 + "e-400",
        "1e999999999999",
        "1e-99999999999",
        "123456789012345678901234567890",
        "0.1",
        "-0",
        "-0.0",
        "1e22",
        "1e-22",
        "9007199254740992e22",
        "6.02214076e+23",
        "1." + "3" * 800,
        "0e25",
        "0e-26",
        "-0e99",
        "9007199254740993e1",
        "9007199254740993e-1",
        "1.00000000000000011102230246251565",
        "1.0000000000000001110",
        "4503599627370496.5",
        "4503599627370497.5",
        "9223372036854775808.0",
        "18446744073709551615e-27",
        "9999999999999999999",
        "9999999999999999999e27",
        "1e-27",
        "0.500000000000000166533453693773481063544750213623046875",
        "00000000000000000000000001.5",
    ]
    for bits in rng.integers(0, 2**64, 3000, dtype=np.uint64):
        value = struct.unpack("<d", struct.pack("<Q", int(bits)))[0]
        if math.isfinite(value):
            near = math.ldexp(math.frexp(value)[0], int(bits) % 80 - 40)
            hard += [repr(near), f"{near:.17e}", f"{near:.18e}", f"{near:.12f}", f"{near:.16f}"]
            hard += [repr(value), f"{value:.17e}", f"{value:.9e}", f"{value:.25e}"]
    return hard


def test_numbers_are_rounded_correctly():
    for text in hard_numbers():
        assert repr(float(one_number(text))) == repr(float(text)), text


def test_numbers_of_long_texts_are_rounded_correctly():
    """Numbers far from the end of a text are read eight digits at a time."""
    texts = [text for text in hard_numbers() if math.isfinite(float(text))]
    rng = np.random.default_rng(6)
    for _ in range(10_000):
        value = float(rng.normal()) * 10.0 ** int(rng.integers(-3, 8))
        texts.append(f"{value:.{rng.integers(0, 19)}f}")
        texts.append(f"{value:.{rng.integers(1, 19)}g}")
    wanted = [repr(float(text)) for text in texts]
    row = "1 " + " ".join(f"{at + 1}:{text}" for at, text in enumerate(texts))
    assert [repr(value) for value in libsvm(row.encode() + b"\n")[0][2]] == wanted
    for ending in ("\n", "\r\n"):
        rows = "".join(f"{text},{text}{ending}" for text in texts)
        read = csv(rows.encode(), [1, 2])
        assert [repr(float(value)) for value, _ in read] == wanted
        assert [repr(float(value)) for _, value in read] == wanted


def plain_number(rng) -> str:
    """Digits, mostly with a point among them, and more or fewer than are read at a time."""
    whole, fraction = rng.integers(1, 11), rng.integers(0, 20)
    text = "".join(map(str, rng.integers(0, 10, whole + fraction)))
    point = "." if fraction or rng.random() < 0.1 else ""
    return f"{rng.choice(['', '-'])}{text[:whole]}{point}{text[whole:]}"


def test_plain_numbers_and_damaged_ones():
    rng = np.random.default_rng(7)
    for trial in range(600):
        ending = rng.choice(["\n", "\r\n"])
        rows, entries = [], []
        for _ in range(12):
            rows.append(",".join(plain_number(rng) for _ in range(3)))
            indices = np.cumsum(10 ** rng.integers(0, 9, 4)).tolist()
            entries.append(" ".join(["1", *(f"{i}:{plain_number(rng)}" for i in indices)]))
        table, sparse = (ending.join([*lines, ""]).encode() for lines in (rows, entries))
        if trial % 3:
            table = mutated(table, rng, b'0123456789.-+e," \n\r\tNA')
            sparse = mutated(sparse, rng, b"0123456789:. \n#-+e\t")
        fast = libsvm(sparse)
        fast = [(float(label), i, v) for label, i, v in fast] if isinstance(fast, list) else fast
        assert same(fast, libsvm_twin(sparse)), sparse
        assert same(plain(csv(table, [1, 1, 2])), csv_twin(table, [1, 1, 2])), table


def test_bytes_are_counted_and_found():
    rng = np.random.default_rng(8)
    for length in (0, 1, 15, 16, 254, 255, 256, 3000):
        for letters in (b"a", b"ab", b"abc\n"):
            content = bytes(rng.choice(list(letters), length).tolist())
            for byte in b"ab\n":
                assert _core.count_byte(as_text(content), byte) == content.count(byte)
                assert _core.past_last(as_text(content), byte) == content.rfind(byte) + 1


def test_lines_are_found():
    rng = np.random.default_rng(9)
    found = 0
    for _ in range(3000):
        parts = ["ab", "ab", "a", "b", ",", "\n", "\n", "\r\n", "\r", "", "ab\r\n"]
        content = "".join(rng.choice(parts, rng.integers(0, 12))).encode()
        line = rng.choice(["a", "ab", "ab,", "abab"]).encode()
        for final in (False, True):
            wanted = twin.lines_that_are(line, content, final)
            got, end = [], 0
            while (at := _core.find_line(as_text(content), as_text(line), end, final)) >= 0:
                got.append(at)
                end = at + len(line)
            assert got == wanted, (content, line, final)
            found += len(got)
    assert found > 500
    with pytest.raises(ValueError, match="line must have a byte"):
        _core.find_line(as_text(b"a"), as_text(b""), 0, True)
    for start in (-1, 2):
        with pytest.raises(ValueError, match="start must be in the text"):
            _core.find_line(as_text(b"a"), as_text(b"a"), start, True)


def test_words_are_numbered_in_order():
    rng = np.random.default_rng(5)
    words = [f"word{i}".encode() for i in rng.integers(0, 3000, 20_000)]
    content = b"".join(words)
    lengths = np.array([len(word) for word in words], np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    starts[::50] = -1
    codes, firsts = np.zeros(len(words), np.int32), np.zeros(len(words), np.int64)
    known, stopped = _core.intern_words(as_text(content), starts, lengths, codes, firsts)
    numbers: dict[bytes, int] = {}
    wanted = [
        -1 if s < 0 else numbers.setdefault(word, len(numbers))
        for word, s in zip(words, starts, strict=True)
    ]
    assert (known, stopped) == (len(numbers), -1)
    np.testing.assert_array_equal(codes, wanted)
    assert [words[at] for at in firsts[:known]] == list(numbers)
    known, stopped = _core.intern_words(as_text(content), starts, lengths, codes, firsts[:10])
    assert known == 10
    assert wanted[stopped] == 10
    assert wanted.index(10) == stopped
