"""Files that are no table: the error says what they are and what to do."""

from __future__ import annotations

import gzip
import json
import pickle

import pytest
from cli.in_process import called

from kernelight.data import DataError, open_dataset

RECORDS = [{"a": i, "b": f"word {i}", "c": [i, {"d": None}], "e": 'ü"\\\n'} for i in range(400)]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(name, content, **options):
    with open(name, "wb") as file:
        file.write(content)
    with pytest.raises(DataError) as error:
        open_dataset(name, **options)
    return str(error.value)


JSON = {
    "records": json.dumps(RECORDS),
    "indented": json.dumps(RECORDS, indent=2),
    "one object": json.dumps({"data": RECORDS}),
    "columns": json.dumps({"a": [1, 2], "b": [3, 4]}),
    "rows": json.dumps([[1, 2], [3, 4]]),
    "cut off": json.dumps(RECORDS)[:2000],
    "long": json.dumps(RECORDS * 20),
    "one record": json.dumps(RECORDS[0]),
    "with a mark": "\ufeff\n" + json.dumps(RECORDS),
    "deep": '{"a":' + "[" * 30_000,
}


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("name", ["x.json", "x.csv", "x"])
def test_json(kind, name):
    assert refused(name, JSON[kind].encode()) == (
        f"{name} is JSON, not a table: save it as CSV, in Python by "
        f"pandas.read_json('{name}').to_csv('table.csv', index=False), and read that."
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_json_lines(end):
    for some in (RECORDS, [[1, 2], [3, 4]], [{"a": "x" * 70_000}] * 3):
        text = "".join(json.dumps(record) + end for record in some)
        said = refused("x.jsonl", text.encode())
        long = len(text) > 100_000 and some is not RECORDS  # the second line is not seen
        assert said.startswith(f"x.jsonl is {'JSON' if long else 'JSON lines'}, not a table")
    said = refused("x.jsonl.gz", gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    assert "pandas.read_json('x.jsonl.gz', lines=True).to_csv(" in said


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1},5\n{"a": 2},6\n',
        "[kg],[m]\n1,2\n3,4\n",
        "{id},{name}\n1,a\n2,b\n",
        "[1;2\n3;4\n",
        '"{""a"": 1}",5\n"{""a"": 2}",6\n',
    ],
)
def test_delimited_text_that_begins_like_json_is_read(text):
    with open("x.csv", "w") as file:
        file.write(text)
    assert open_dataset("x.csv", target=None).materialise()[0].shape[0] >= 1


def test_a_format_that_is_named_is_not_judged():
    with open("x.csv", "w") as file:
        file.write('{"a": 1}\n{"a": 2}\n')
    assert open_dataset("x.csv", target=None, format="csv").materialise()[0].shape[0] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is a spreadsheet of old Excel: save"),
        (b"%PDF-1.7\n%\xe2", "is a PDF document: export"),
        (b"SQLite format 3\0" + bytes(80), "is an SQLite database: export"),
        (b"\x89HDF\r\n\x1a\n" + bytes(80), "is HDF5: save"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "is a single array of NumPy: numpy.savez"),
        (pickle.dumps(RECORDS), "is a pickle of Python, which is not read because"),
        (b"\n<html><body><table><tr><td>1", "is a web page \\(HTML\\), whatever its name says"),
        (b'<?xml version="1.0"?>\n<data>', "is XML, whatever its name says"),
        (b"% a comment\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n", "is ARFF: save it as CSV"),
        (b"\x28\xb5\x2f\xfd\x04", "is compressed by zstd: unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "is a 7z archive: unpack it"),
    ],
)
def test_other_formats(content, said):
    with open("x.csv", "wb") as file:
        file.write(content)
    with pytest.raises(DataError, match=f"^x.csv {said}"):
        open_dataset("x.csv")


def test_the_command_says_it():
    with open("x.json", "w") as file:
        json.dump(RECORDS, file)
    status, out, said = called("fit", "x.json", "-o", "m.klt")
    assert (status, out) == (2, "")
    assert said.startswith("kernelight: x.json is JSON, not a table: save it as CSV")
