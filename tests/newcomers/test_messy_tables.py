"""Tables as people have them: one command or call each, with notes on what was decided."""

from __future__ import annotations

import shlex
import warnings

import numpy as np
import pytest
from cli.in_process import called

from kernelight import TableModel
from kernelight.data import DataError, DataWarning, Encoding, open_dataset

SMALL = ("--kernel", "gmm", "-k", "16", "-C", "1", "--scale", "none")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return name


def messy(rows=200):
    """An id, dates, prices, a column twice, and rows without a target."""
    lines = ["name,when,price,a,a,kind"]
    for i in range(rows):
        price = f'"${i % 7 + 1},{i % 1000:03d}.50"'
        when = f"{i % 12 + 1:02d}/{i % 28 + 1:02d}/2024"
        kind = "" if i % 50 == 7 else "yes" if i % 5 > 2 else "no"
        lines.append(f"person {i},{when},{price},{i % 5},{i % 3},{kind}")
    return "\n".join(lines) + "\n"


def read(name, **options):
    """X, y, notes of a data set, the same at once and in batches.

    Whether the target is a guess is no matter here.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        data = open_dataset(name, **options)
        X, y = data.materialise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = list(open_dataset(name, **options).batches(7))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    if y is not None:
        np.testing.assert_array_equal(
            np.concatenate([part.y for part in parts if part.y is not None]), y
        )
    assert len(told) <= 1
    assert all(issubclass(w.category, DataWarning) for w in told)
    notes = [note for w in told for note in w.message.notes]
    return data, X, y, [note for note in notes if "taken as the target" not in note]


def test_a_messy_table_needs_one_command():
    write("x.csv", messy())
    status, out, said = called("fit", "x.csv", "-o", "m.klt", *SMALL)
    assert status == 0
    notes = said.splitlines()
    assert len(notes) == 7
    assert "column 'kind' is taken as the target because it is the last" in notes[0]
    assert any("column 'a' tells the target 'kind' exactly" in n for n in notes)
    for start, words in (
        ("'a'", "it is called 'a.1' here"),
        ("'name'", "all 200 words are different"),
        ("'when'", "dates such as '01/01/2024'; they become numbers"),
        ("'price'", "numbers such as '$1,000.50' are read as 1000.5"),
    ):
        assert any(
            n.startswith(f"kernelight: note: x.csv: column {start}: ") and words in n for n in notes
        ), notes
    assert notes[-1] == "kernelight: note: x.csv: 4 rows have no target and are left out"
    assert called("fit", "x.csv", "-o", "q.klt", *SMALL, "--quiet").said == ""
    status, out, _ = called("predict", "m.klt", "x.csv")
    assert (status, out.count("\n")) == (0, 201)  # every row, and the header
    status, out, _ = called("evaluate", "m.klt", "x.csv")
    assert status == 0
    assert "rows left out, without a target" in out
    assert TableModel.load("m.klt").n_rows_ == 196


def test_strict_lists_every_column_and_a_command_that_works():
    write("x.csv", messy().replace("a,a,", "a,b,"))
    status, _, said = called("fit", "x.csv", "-o", "m.klt", *SMALL, "--strict")
    assert status == 2
    assert said.startswith("kernelight: x.csv: 3 columns need a decision: ")
    advice = "--ignore name --ignore when --ignore price"
    assert advice in said
    options = (*advice.split(), "--ignore", "b")
    assert (
        "the target is missing"
        in called("fit", "x.csv", "-o", "m.klt", *SMALL, "--strict", *options).said
    )


def test_dates_become_the_parts_that_vary():
    rows = "".join(f"2024-0{1 + i % 3}-1{i % 7} 1{i % 9}:30,{i % 2}\n" for i in range(60)) + ",1\n"
    data, X, _, notes = read(write("x.csv", "when,y\n" + rows))
    since = "when: days since 2024-01-10"
    assert data.feature_names == ["when: month", "when: weekday", "when: hour", since]
    assert X[0].tolist() == [1, 2, 10.5, 0]  # 2024-01-10 was a Wednesday
    assert np.isfinite(X[-1]).all()
    assert notes == ["column 'when': dates such as '2024-01-10 10:30'; they become numbers"]
    plain = data.encoding.to_plain()
    assert plain["version"] == 2
    again = Encoding.from_plain(plain)
    assert again == data.encoding
    new, _ = open_dataset(write("n.csv", "when\n2025-01-10 10:30\n"), encoding=again).materialise()
    assert new.tolist() == [[1, 4, 10.5, 366]]
    assert "column 'when': dates, month, weekday, hour, days since 2024-01-10" in data.describe()


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["03/01/2024", "03/31/2024"], "month first"),
        (["03/01/2024", "31/03/2024"], "day first"),
        (["03/01/2024", "04/01/2024"], "month first"),
        (["03.01.2024", "04.01.2024"], "day first"),
        (["1 Mar 2024", "Feb 2, 2023"], "named month"),
        (["14:30", "2:15 PM"], "time"),
        (["2024-03-01T10:00:00Z", "2024-03-01T10:00:00+02:00"], "year first"),
        (["79,00", "3,5"], "decimal comma"),
        (["1,234", "1,5"], "decimal comma"),
        (["1,234", "512"], "decimal point"),
        (["$26,313.93", "$1"], "decimal point"),
        (["26 313,93 €", "5 €"], "decimal comma"),
        (["12 %", "3%"], "decimal point"),
    ],
)
def test_the_whole_column_decides_how_it_is_written(texts, form):
    """The format is that of all rows, though the first ones fit another as well."""
    rows = [texts[0]] * 59 + texts[1:]
    text = "v,b,y\n" + "".join(f'"{value}",{i},{i % 2}\n' for i, value in enumerate(rows))
    data, _, _, _ = read(write("x.csv", text))
    assert data.encoding.columns[0].format == form


def test_semicolons_make_commas_decimal():
    data, X, _, _ = read(write("x.csv", "v;y\n" + "1,234;0\n2,500;1\n" * 20))
    assert X[:2, 0].tolist() == [1.234, 2.5]
    assert data.encoding.columns[0].format == "decimal comma"


def test_a_target_with_currency_is_a_quantity():
    write("x.csv", "a,y\n" + "".join(f'{i},"${i},000.25"\n' for i in range(1, 60)))
    data, _, y, _ = read("x.csv")
    assert data.task == "regression"
    assert y[0] == 1000.25
    _, _, same, _ = read("x.csv", encoding=Encoding.from_plain(data.encoding.to_plain()))
    np.testing.assert_array_equal(same, y)


def test_codes_are_no_numbers():
    rows = "".join(f"AB{i % 9},v1.{i % 9}.0,{i % 2}\n" for i in range(60))
    data, _, _, notes = read(write("x.csv", "code,version,y\n" + rows))
    assert [column.kind for column in data.encoding.columns] == ["words", "words"]
    assert notes == []


def test_few_rows_and_whole_numbers_are_no_ids():
    data, X, _, notes = read(
        write("x.csv", "w,n,y\n" + "".join(f"w{i},{i},{i % 2}\n" for i in range(10)))
    )
    assert X.shape == (10, 11)
    assert notes == []
    data, X, _, notes = read(
        write("y.csv", "w,n,y\n" + "".join(f"w{i},{i},{i % 2}\n" for i in range(30)))
    )
    assert data.feature_names == ["n"]
    assert data.encoding.ignored == ("w",)
    assert read("y.csv", categorical=["w"])[1].shape == (30, 31)


def test_columns_that_the_model_does_not_know():
    encoding = open_dataset(write("x.csv", "a,y\n1,0\n2,1\n")).encoding
    write("n.csv", "b,a,c\n5,1,6\n")
    _, X, _, notes = read("n.csv", encoding=encoding)
    assert X.tolist() == [[1]]
    assert notes == ["columns 'b', 'c': not known to the model; left out"]
    with pytest.raises(DataError, match="'b', 'c' not known to the model"):
        open_dataset("n.csv", encoding=encoding, strict=True)


def test_every_target_missing():
    write("x.csv", "a,y\n" + "1,\n" * 30)
    with pytest.raises(DataError, match="no value"):
        open_dataset("x.csv").materialise()
    with pytest.raises(DataError, match="is missing in every row"):
        open_dataset("x.csv", task="regression").materialise()


def test_dates_of_parquet():
    pa = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    import pyarrow.parquet as pq

    moments = np.datetime64("2024-01-01", "us") + np.arange(40) * np.timedelta64(90_000, "s")
    pq.write_table(
        pa.table(
            {
                "when": pa.array(moments, pa.timestamp("ns", "Europe/Berlin")),
                "day": pa.array(moments.astype("datetime64[D]"), pa.date32()),
                "at": pa.array([i * 1000 for i in range(40)], pa.time32("s")),
                "y": [i % 2 for i in range(40)],
            }
        ),
        "x.parquet",
    )
    data, X, _, notes = read("x.parquet")
    assert len(notes) == 3
    assert "at: hour" in data.feature_names
    encoding = data.encoding
    seconds = [1000 * i for i in range(len(moments))]
    times = [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]
    days = [m.astype("datetime64[D]") for m in moments]
    lines = [f"{m},{day},{time}" for m, day, time in zip(moments, days, times, strict=True)]
    write("x.csv", "when,day,at\n" + "\n".join(lines))
    with pytest.raises(DataError, match="column 'at'"):  # times of day are not year first
        open_dataset("x.csv", encoding=encoding).materialise()
    text, _ = open_dataset("x.csv", target=None).materialise()
    np.testing.assert_allclose(text, X)


def test_missing_words_of_the_command():
    write("x.csv", "a,y\n" + "".join(f"{'xx' if i % 4 == 0 else i},{i % 2}\n" for i in range(40)))
    assert called("fit", "x.csv", "-o", "m.klt", *SMALL).status == 2
    assert called("fit", "x.csv", "-o", "m.klt", *SMALL, "--missing", "xx,yy").status == 0
    words = TableModel.load("m.klt").encoding_.missing_words
    assert words[-2:] == ("xx", "yy")
    assert "NA" in words


def test_a_word_among_numbers_is_missing_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", 300)
    lines = [
        f"{'abc' if i in (90, 95) else i},{i * 2 if i != 40 else 'x'},{i % 2}" for i in range(200)
    ]
    write("x.csv", "age,b,y\n" + "\n".join(lines) + "\n")
    data, X, _, notes = read("x.csv")
    assert notes == [
        "column 'age': 2 of 200 values are not a number ('abc' in line 92 first); taken as missing",
        "column 'b': 1 of 200 values is not a number ('x' in line 42 first); taken as missing",
    ]
    assert X[90, 0] == X[95, 0] == np.median([i for i in range(200) if i not in (90, 95)])
    assert X[41].tolist() == [41, 82]
    write("n.csv", "age,b\n" + "".join(f"{i},{'?!' if i % 20 == 3 else i}\n" for i in range(40)))
    _, X, _, notes = read("n.csv", encoding=data.encoding)
    assert X.shape == (40, 2)
    assert notes == [
        "column 'b': 2 of 40 values are not a number ('?!' in line 5 first); taken as missing"
    ]
    write("m.csv", "age,b\n" + "".join(f"{i},{'?!' if i % 5 == 3 else i}\n" for i in range(40)))
    odd = r"^m.csv, line 5, column 'b': '\?!' is not a number \(of 40 values 8 are not\), where"
    with pytest.raises(DataError, match=odd):
        open_dataset("m.csv", encoding=data.encoding).materialise()


def test_a_decimal_comma_is_for_the_whole_file():
    rows = "".join(
        f"{i % 9 + 1},{i:03d};1.{i % 9}00;{i % 50};{'ab'[i % 2]};{i % 5 % 2}\n" for i in range(100)
    )
    name = write("x.csv", "price;big;count;word;y\n" + rows)
    data, X, y, notes = read(name, decimal=",", strict=True)
    assert notes == []
    assert X[7].tolist() == [8.007, 1700, 7, 0, 1]
    assert y[:5].tolist() == [0, 1, 0, 1, 0]
    assert [c.format for c in data.encoding.columns] == ["decimal comma"] * 3 + [None]
    again = Encoding.from_plain(data.encoding.to_plain())
    new = write("n.csv", "price;big;count;word\n7,5;2.500;3,5;b\n")
    assert open_dataset(new, encoding=again).materialise()[0].tolist() == [[7.5, 2500, 3.5, 0, 1]]
    new = write("n.csv", "price,big,count,word\n7.5,2500,3.5,b\n")  # another file may have points
    assert open_dataset(new, encoding=again, decimal=".").materialise()[0].tolist() == [
        [7.5, 2500, 3.5, 0, 1]
    ]
    assert (
        called("fit", "x.csv", "-o", "m.klt", "--target", "y", *SMALL, "--decimal", ",").said == ""
    )
    assert called("predict", "m.klt", "x.csv").status == 0
    said = called("fit", "x.csv", "-o", "m.klt", *SMALL, "--decimal", "x").said
    assert said.startswith("kernelight: --decimal must be")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("decimal", "first"), [(",", 1.234), (".", 1234.0)])
def test_the_decimal_separator_settles_what_is_ambiguous(decimal, first):
    write("x.csv", "a;y\n" + "".join(f"{i % 3 + 1},234;{i % 2}\n" for i in range(60)))
    assert read("x.csv", decimal=decimal)[1][0].tolist() == [first]


def test_a_decimal_comma_in_a_table_without_names():
    write("x.csv", "".join(f"{i},5;{i % 3},25\n" for i in range(60)))
    _, X, y, _ = read("x.csv", decimal=",")
    assert X[:2].tolist() == [[0.5], [1.5]]
    assert y[:4].tolist() == [0.25, 1.25, 2.25, 0.25]
    # quoted, between commas
    write("q.csv", "a,y\n" + "".join(f'"{i},5",{i % 2}\n' for i in range(60)))
    assert read("q.csv", decimal=",")[1][1].tolist() == [1.5]


def test_large_classes_with_a_decimal_comma():
    write("x.csv", "a;y\n" + "".join(f"{i},5;{2**53 + i % 2}\n" for i in range(60)))
    assert read("x.csv", decimal=",")[2][:2].tolist() == [2**53, 2**53 + 1]


def test_points_in_a_file_with_decimal_commas():
    write("x.csv", "a;b;y\n" + "".join(f"{i},5;1.{i % 10};{i % 2}\n" for i in range(60)))
    _, X, _, notes = read("x.csv", decimal=",")
    assert X[3].tolist() == [3.5, 1.3]
    assert notes == [
        "column 'b': numbers such as '1.0' have no decimal comma; read with a decimal point"
    ]


def test_strict_lists_words_among_numbers_names_and_targets_too():
    lines = [
        f"p {i},{'x' if i == 9 else i},{'z' if i == 5 else i % 3},{i % 4},{'' if i == 7 else i % 2}"
        for i in range(60)
    ]
    write("x.csv", "name,a,it's,a,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError) as caught:
        open_dataset("x.csv", strict=True)
    said = str(caught.value)
    assert said.startswith("x.csv: 4 columns need a decision: ")
    for words in (
        "column 'a': another column has this name; it is called 'a.1' here",
        "column 'a': of the first 60 values 1 is not a number, such as 'x'; taken as missing",
        "column \"it's\": of the first 60 values 1 is not a number, such as 'z'",
        "column 'name': all 60 words are different",
        "column 'y': the target is missing in 1 of the first 60 rows; they are left out",
        "ignore=['a.1', 'name', 'a', \"it's\"] leaves out",
    ):
        assert words in said
    said = called("fit", "x.csv", "-o", "m.klt", *SMALL, "--strict").said
    advice = "--ignore a.1 --ignore name --ignore a --ignore 'it'\"'\"'s'"
    assert advice in said
    write(
        "x.csv",
        "name,a,it's,a,b,y\n"
        + "\n".join(f"p {i},{i % 9 or 'x'},1,2,{i},{i % 2}" for i in range(60))
        + "\n",
    )
    assert (
        called("fit", "x.csv", "-o", "m.klt", *SMALL, "--strict", *shlex.split(advice)).status == 0
    )


def test_names_that_are_there_twice_in_parquet_and_arrow():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    columns = [
        pa.array(np.arange(40) % 7),
        pa.array(["u", "v"] * 20),
        pa.array(np.arange(40) / 2),
        pa.array(np.arange(40) % 2),
    ]
    table = pa.Table.from_arrays(columns, names=["a", "b", "a", "y"])
    pyarrow.parquet.write_table(table, "x.parquet")
    pyarrow.feather.write_feather(table, "x.arrow")
    for name in ("x.parquet", "x.arrow"):
        data, X, y, notes = read(name)
        assert notes == ["column 'a': another column has this name; it is called 'a.1' here"]
        assert data.feature_names == ["a", "b=u", "b=v", "a.1"]
        assert X[9].tolist() == [2, 0, 1, 4.5]
        assert y[:3].tolist() == [0, 1, 0]
        only = open_dataset(name, ignore=["a", "b"], strict=False)
        assert only.feature_names == ["a.1"]
        with pytest.raises(
            DataError, match=r"1 column needs a decision: .*ignore=\['a\.1'\] leaves out"
        ):
            open_dataset(name, strict=True)
        again = open_dataset(name, encoding=data.encoding, strict=True)  # the model knows both
        np.testing.assert_array_equal(again.materialise()[0], X)


def test_numbers_that_name_the_rows_are_left_out():
    lines = [f"{i},{1000 + i},{i % 5},{7 * i},{i % 9}.5,{i % 2}" for i in range(60)]
    write("x.csv", "Unnamed: 0,customer_id,shop_id,count,id,y\n" + "\n".join(lines) + "\n")
    data, X, _, notes = read("x.csv")
    # some are there twice, not called so, not whole
    assert data.feature_names == ["shop_id", "count", "id"]
    said = "all 60 numbers are different, as ids are; left out"
    assert notes == [f"column 'Unnamed: 0': {said}", f"column 'customer_id': {said}"]
    assert open_dataset("x.csv", encoding=data.encoding).materialise()[0].tolist() == X.tolist()
    with pytest.raises(
        DataError, match=r"2 columns need a decision: .*ignore=\['Unnamed: 0', 'customer_id'\]"
    ):
        open_dataset("x.csv", strict=True)
    data = open_dataset("x.csv", ids="customer_id", target="Unnamed: 0")
    assert data.notes == []
    assert data.target_name == "Unnamed: 0"
    write("x.csv", "id,a,y\n" + "\n".join(lines[0][-7:] for _ in range(5)) + "\n")
    assert open_dataset("x.csv", target=None).notes == []


def test_every_column_is_described():
    write("x.csv", messy())
    lines = open_dataset("x.csv", ignore=["a.1"]).describe().splitlines()
    assert lines[:6] == [
        "x.csv: 5 features",
        "column 'a': a number",
        "column 'when': dates, month, weekday, days since 2024-01-01",
        "column 'price': numbers written with a decimal point",
        "column 'a.1': left out",
        "target 'kind': classification, 2 classes: 'no', 'yes'",
    ]
    assert [line.split(":")[0] for line in lines[6:]] == [
        "column 'kind' is taken as the target because it is the last; target='NAME' names another",
        "column 'name'",
        "column 'when'",
        "column 'price'",
        "column 'a' tells the target 'kind' exactly",
    ]


def test_constant_and_empty_columns_are_named_in_one_note():
    lines = [
        f"7,,{i % 3},one,{'one' if i % 9 else ''},{'' if i % 2 else 5},{i % 2}" for i in range(60)
    ]
    write("x.csv", "a,b,c,d,e,f,y\n" + "\n".join(lines) + "\n")
    blank = "column 'b': no value in 60 rows; left out"
    note = (
        "columns 'a', 'f', 'd': every value is the same or missing; nothing can be learned from "
        "them"
    )
    assert read("x.csv")[3] == [blank, note]
    assert note in open_dataset("x.csv").describe()
    said = called("fit", "x.csv", "-o", "m.klt", "--target", "y", *SMALL).said
    assert said == "".join(f"kernelight: note: x.csv: {each}\n" for each in (blank, note))
    assert called("predict", "m.klt", "x.csv").said == ""
    write("x.csv", "a,b,c,d,e,f,y\n" + "\n".join(lines[:10]) + "\n")
    assert read("x.csv")[3] == []


def test_the_index_that_pandas_writes_is_left_out():
    write(
        "x.csv", ",a,y\n" + "".join(f"{i},{i % 7},{'u' if i < 50 else 'v'}\n" for i in range(100))
    )
    data, X, _, notes = read("x.csv", target="y")
    assert data.feature_names == ["a"]
    assert X.shape == (100, 1)
    assert notes == ["column 'column_1': all 100 numbers are different, as ids are; left out"]


def test_columns_without_a_value_are_left_out_and_not_asked_for():
    write("x.csv", "a,b,y,,\n" + "".join(f"{i % 7},,{'uv'[i % 2]},,\n" for i in range(60)))
    write("new.csv", "a\n1\n2\n")
    data, _, _, notes = read("x.csv", target="y")
    assert data.feature_names == ["a"]
    trailing = "it has no name and no value, as if each row ended with a delimiter; left out"
    assert notes == [
        "column 'b': no value in 60 rows; left out",
        *(f"column '{name}': {trailing}" for name in ("column_4", "column_5")),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(TableModel().fit("x.csv", target="y").predict("new.csv")) == 2


def test_a_column_whose_values_come_late_is_kept():
    write(
        "x.csv",
        "a,b,y\n" + "".join(f"{i % 7},{i if i > 700 else ''},{'uv'[i % 2]}\n" for i in range(800)),
    )
    assert read("x.csv", target="y")[0].feature_names == ["a", "b"]


def test_the_command_takes_the_place_of_a_target():
    rows = "".join(f"{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'},{i % 3}\n" for i in range(60))
    write("t.csv", "a,b,kind,1\n" + rows)
    # a name comes before a place
    for place, name in (("2", "kind"), ("-2", "kind"), ("1", "1"), ("0", "a")):
        assert (
            called(
                "fit", "t.csv", "--target", place, "--header", "-o", "m.klt", "-q", *SMALL
            ).status
            == 0
        )
        assert TableModel.load("m.klt").encoding_.target.name == name
    status, _, said = called("fit", "t.csv", "--target", "4", "--header", "-o", "n.klt")
    assert (status, "t.csv has 4 columns" in said) == (2, True)


def test_classes_that_differ_in_spelling_are_named(tmp_path):
    path = tmp_path / "spelt.csv"
    path.write_text(
        "a,late\n" + "".join(f"{at},{('Yes', 'YES', 'no')[at % 3]}\n" for at in range(30))
    )
    with pytest.warns(DataWarning, match=r"classes 'YES', 'Yes' differ in spelling only"):
        open_dataset(path).materialise()
