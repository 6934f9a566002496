"""What changes quietly between files, or is taken for something else: each has a note."""

from __future__ import annotations

import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelClassifier
from kernelight.data import open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, lines):
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return name


def trained():
    rows = [f"{i % 9},{('red', 'blue')[i % 3 == 0]},{i % 5 + 0.5},{'ab'[i % 2]}" for i in range(60)]
    return open_dataset(write("x.csv", ["n,colour,size,y", *rows]))


def test_a_few_new_words_are_named():
    encoding = trained().encoding
    rows = [f"3,{'green' if i == 7 else 'red'},1.5" for i in range(40)]
    write("n.csv", ["n,colour,size", *rows])
    with pytest.warns(UserWarning, match="'colour': 1 of 40 words never occurred in training"):
        open_dataset("n.csv", encoding=encoding).materialise()
    with pytest.warns(UserWarning, match="'green' first"):
        list(open_dataset("n.csv", encoding=encoding).batches(7))


def test_estimators_say_it_only_where_most_words_are_new(recwarn):
    frame = pd.DataFrame({"a": ["u", "v"] * 20, "b": range(40)})
    model = KernelClassifier(n_components=16, C=1.0, scale="none").fit(frame, [0, 1] * 20)
    recwarn.clear()
    model.predict(frame.assign(a=["u"] * 39 + ["w"]))
    assert not recwarn.list


def test_a_column_without_a_value_in_a_new_file_is_named():
    encoding = trained().encoding
    write("n.csv", ["n,colour,size", *["3,,"] * 30])
    said = "columns 'size', 'colour': no value in 30 rows"
    with pytest.warns(UserWarning, match=said):
        open_dataset("n.csv", encoding=encoding).materialise()
    with pytest.warns(UserWarning, match=said):
        list(open_dataset("n.csv", encoding=encoding).batches(7))


def test_one_row_may_lack_a_value(recwarn):
    encoding = trained().encoding
    recwarn.clear()
    open_dataset(write("n.csv", ["n,colour,size", "3,,"]), encoding=encoding).materialise()
    assert not recwarn.list


def test_whole_numbers_that_become_classes_are_named():
    write("x.csv", ["a,quality", *(f"{i % 7}.5,{3 + i % 6}" for i in range(60))])
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    note = "the target 'quality' has 6 different whole numbers, which are taken as classes; "
    assert f"{note}--task regression takes them as quantities" in said
    options = {"target": "quality", "task": "classification"}
    assert not any("taken as classes" in note for note in open_dataset("x.csv", **options).notes)
    data = open_dataset(write("y.csv", ["a,y", *(f"{i % 7}.5,{i % 2}" for i in range(60))]))
    data.materialise()
    assert not any("taken as classes" in note for note in data.notes)


def test_numbers_beyond_2_to_the_53_are_not_called_constant():
    rows = [f"{2**60 + i % 4},{i % 5}.5,{'ab'[i % 2]}" for i in range(60)]
    data = open_dataset(write("x.csv", ["big,n,y", *rows]))
    data.materialise()
    assert not any("every value is the same" in note for note in data.notes)
    assert (
        "column 'big': its numbers are beyond 2^53, where they are rounded, and then all the same; "
        "categorical=['big'] tells them apart if they differ" in data.notes
    )
    assert open_dataset("x.csv", categorical=["big"]).materialise()[0].shape == (60, 5)


def test_commas_of_a_new_file_with_semicolons_are_decimal_commas():
    """2,163 was read as 2163 where training had 2.163: in training a semicolon decides as well."""
    numbers = [f"{1 + i * 0.127:.3f}" for i in range(60)]
    old = write("x.csv", ["n,k,y", *(f"{n},{i},{'ab'[i % 2]}" for i, n in enumerate(numbers))])
    data = open_dataset(old, target="y", categorical=[])
    encoding, (X, _) = data.encoding, data.materialise()
    write("n.csv", ["n;k", *(f"{n.replace('.', ',')};{i}" for i, n in enumerate(numbers))])
    new = open_dataset("n.csv", encoding=encoding)
    with pytest.warns(UserWarning, match=r"'n'.*read as 1, with a decimal comma"):
        read, _ = new.materialise()
    assert (read == X).all()
