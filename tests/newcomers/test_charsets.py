"""Text in charsets other than UTF-8, guessed with a note or named."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import pytest
from cli.in_process import called

from kernelight import TableModel
from kernelight.data import DataError, Encoding, charsets, open_dataset, opening

SMALL = ("--kernel", "gmm", "-k", "16", "-C", "1", "--scale", "none")
NOTE = "the text is not UTF-8 and is read as {}; charset='NAME' names another encoding"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(rows=60):
    lines = [
        f"person {i} é,{'Zürich' if i % 3 else 'Köln'},{i % 7},{'für' if i % 2 else 'wider'}"
        for i in range(rows)
    ]
    return "\n".join(["naïve,größe,a,süß", *lines]) + "\n"


def write(name, text, charset):
    packed = gzip.compress if name.endswith(".gz") else bytes
    with open(name, "wb") as file:
        file.write(packed(text.encode(charset)))
    return name


def read(name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = open_dataset(name, ids="naïve", target="süß", **options)
        X, y = data.materialise()
        parts = list(data.batches(7))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    assert [i for part in parts for i in part.ids] == data.ids
    return data, X, y


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize(
    ("charset", "guess"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
    ],
)
def test_an_encoding_is_guessed_with_a_note(name, charset, guess):
    data, X, y = read(write(name, table(), charset))
    assert data.notes == ([] if guess is None else [NOTE.format(guess)])
    assert data.feature_names == ["größe=Köln", "größe=Zürich", "a"]
    assert data.target_name == "süß"
    assert y[:2].tolist() == ["wider", "für"]
    assert data.ids[3] == "person 3 é"
    assert X[1].tolist() == [0, 1, 1]


def test_an_encoding_that_is_named():
    text = "wort,y\n" + "".join(f"{'šč'[i % 2]},{i % 2}\n" for i in range(40))
    data = open_dataset(write("x.csv", text, "cp1250"), target="y", charset="cp1250", strict=True)
    assert data.feature_names == ["wort=č", "wort=š"]
    assert data.notes == []
    # a model remembers it for files that are not UTF-8
    again = Encoding.from_plain(data.encoding.to_plain())
    for charset in ("cp1250", "utf-8"):
        new = open_dataset(write("n.csv", "wort\nš\n", charset), encoding=again)
        assert new.notes == []
        assert new.materialise()[0].tolist() == [[0, 1]]
    assert "charset" not in open_dataset(write("x.csv", text, "utf-8")).encoding.to_plain()
    with pytest.raises(ValueError, match="is no encoding of text"):
        Encoding.from_plain({**data.encoding.to_plain(), "charset": "hex"})


TARGET = ("--target", "süß")


def test_commands():
    write("x.csv", table(), "latin-1")
    status, _, said = called("fit", "x.csv", "-o", "m.klt", *SMALL, "--ids", "naïve", *TARGET)
    assert status == 0
    assert said == (
        "kernelight: note: x.csv: the text is not UTF-8 and is read as cp1252; --encoding NAME "
        "names another encoding\n"
    )
    named = ("--ids", "naïve", *TARGET, "--encoding", "latin1")
    assert called("fit", "x.csv", "-o", "m.klt", *SMALL, *named).said == ""
    assert TableModel.load("m.klt").encoding_.charset == "iso8859-1"
    status, out, said = called("predict", "m.klt", "x.csv")
    assert (status, said) == (0, "")
    assert "person 5 é" in out
    for name in ("latin-99", "hex", "", "a\0b"):
        status, _, said = called("fit", "x.csv", "-o", "m.klt", *SMALL, "--encoding", name)
        assert (status, said.count("\n")) == (2, 1)
        assert "is no encoding of text that is known here" in said


def test_strict_refuses():
    write(
        "x.csv",
        "a,b,y\n" + "".join(f"{i % 9},x{'é' * (i % 2)},{i % 2}\n" for i in range(40)),
        "latin-1",
    )
    with pytest.raises(
        DataError, match=r"x\.csv, line 3, column 'b': b'x\\xe9' is not UTF-8; charset='cp1252'"
    ):
        open_dataset("x.csv", strict=True).materialise()
    write("x.csv", table(), "utf-16")
    assert (
        "x.csv is UTF-16; --encoding utf-16 reads it"
        in called("fit", "x.csv", "-o", "m.klt", "--strict").said
    )


def test_a_late_byte_is_an_error_that_names_the_option(monkeypatch):
    monkeypatch.setattr(opening, "HEAD", 1000)
    write(
        "x.csv",
        "b,y\n" + "".join(f"{'xé' if i == 900 else 'x'},{i % 2}\n" for i in range(1000)),
        "latin-1",
    )
    with pytest.raises(
        DataError, match=r"line 902, column 'b': .* is not UTF-8; charset='cp1252', or"
    ):
        open_dataset("x.csv").materialise()
    assert open_dataset("x.csv", charset="cp1252").feature_names == ["b=x", "b=xé"]


def test_damage_is_told_by_line(monkeypatch):
    write("x.csv", "b,y\n" + "x,1\n" * 5000, "ascii")
    with open("x.csv", "ab") as file:
        file.write(b"\x81\x20,1\n")
    with pytest.raises(
        DataError, match=r"x\.csv, line 5002: b'\\x81 .*' is not shift_jis; charset="
    ):
        open_dataset("x.csv", charset="shift_jis").materialise()
    with open("x.csv", "wb") as file:
        file.write("b,y\nx,1\n".encode("utf-16") + b"\x00")
    with pytest.raises(DataError, match=r"x\.csv, line 3: .* is not utf-16"):
        open_dataset("x.csv").materialise()


def test_the_head_may_end_within_a_character():
    assert charsets.guessed_charset("é".encode()[:1], ended=False) is None
    assert charsets.guessed_charset("é".encode()[:1], ended=True) == "cp1252"
    assert charsets.guessed_charset(b"\xe9\x81 a", ended=True) == "latin-1"
    assert charsets.guessed_charset(b"\xe9\x00", ended=True) is None
