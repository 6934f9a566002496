"""What would go wrong without a word in tables as people have them.

A guessed target, a column that gives the target away, zip codes read as numbers, percents against
fractions, empty columns, and a title above the names. Long, because each of them is told in files,
frames and the command.
"""

from __future__ import annotations

import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.in_process import called

from kernelight import KernelClassifier, KernelRegressor, TableMap, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding

ROWS = 120
SMALL = ("-o", "m.klt", "-k", "16", "-C", "1", "--scale", "none")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "x.csv") -> str:
    with open(name, "w") as file:
        file.write(text)
    return name


def notes_of(table: object, **options: object) -> list[str]:
    """Every note of a data set, those of its rows included."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_dataset(table, **options).materialise()
    return [note for each in caught for note in getattr(each.message, "notes", ())]


def forms(frame: pd.DataFrame) -> dict[str, object]:
    """One table of text as a CSV file, as Parquet, Arrow and Feather files, and in memory."""
    frame.to_csv("t.csv", index=False)
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, "t.parquet")
    with pa.OSFile("t.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {
        "csv": "t.csv",
        "parquet": "t.parquet",
        "arrow file": "t.arrow",
        "pandas": frame,
        "polars": pl.from_arrow(table),
        "arrow": table,
    }


# -- The target


def test_a_guessed_target_is_named():
    frame = pd.DataFrame({"a": np.arange(60.0) / 2, "kind": ["u", "v", "w"] * 20})
    last = (
        "column 'kind' is taken as the target because it is the last; target='NAME' names another"
    )
    assert last in notes_of(frame)
    assert not any("taken as the target" in note for note in notes_of(frame, target="kind"))
    assert not any("taken as the target" in note for note in notes_of(frame, target=1))
    assert notes_of(frame, target=None) == []
    named = frame.rename(columns={"a": "Label"})
    assert (
        "column 'Label' is taken as the target because of its name; target='NAME' names another"
        in notes_of(named)
    )
    assert open_dataset(named).notes[0].startswith("column 'Label' is taken as the target")


def test_a_target_that_is_known_is_no_guess():
    write("1 1:0.5\n-1 2:1\n" * 20, "x.svm")
    assert notes_of("x.svm") == notes_of("iris") == []


def test_the_command_says_the_guess_once():
    write("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{'uv'[i % 2]}\n" for i in range(ROWS)))
    said = called("fit", "x.csv", *SMALL).said
    assert said.count("taken as the target") == 1
    assert "column 'kind' is taken as the target because it is the last; --target NAME" in said
    assert "taken as the target" not in called("predict", "m.klt", "x.csv").said
    assert "taken as the target" not in called("fit", "x.csv", "--target", "kind", *SMALL).said
    memory = called("fit", "x.csv", "--memory", "1G", *SMALL).said
    assert memory.count("taken as the target") == 1
    assert called("fit", "x.csv", "--strict", *SMALL).status == 0


def test_a_guess_that_is_left_out_is_named():
    frame = pd.DataFrame({"a": np.arange(60.0), "kind": ["u", "v", "w"] * 20})
    with pytest.warns(DataWarning, match="'kind' is taken as the target because it is the last"):
        TableMap(n_components=8).fit(open_dataset(frame))
    assert open_dataset(frame, target="kind").without_target.notes == []


def test_whole_numbers_that_may_be_quantities_are_named():
    def counting(n: int) -> pd.DataFrame:
        noise = np.random.default_rng(0).normal(size=600)
        return pd.DataFrame({"a": noise, "age": np.arange(600) % n})

    note = (
        "the target 'age' has {} different whole numbers, which are taken as classes; "
        "task='regression' takes them as quantities"
    )
    for n in (11, 23, 50):
        assert notes_of(counting(n), target="age") == [note.format(n)]
        assert notes_of(counting(n), target="age", task="classification") == []
        assert notes_of(counting(n), target="age", task="regression") == []
        assert notes_of(counting(n), target="age", categorical=["age"]) == []
    for n in (2, 10, 51, 600):
        assert notes_of(counting(n), target="age") == []
    counting(23).to_csv("x.csv", index=False)
    fit = ("fit", "x.csv", "--target", "age", *SMALL)
    assert called(*fit).said.count("taken as classes; --task regression takes them as") == 1
    assert "different whole numbers" not in called(*fit, "--task", "regression").said


# -- Columns that give the target away


def given_away(frame: pd.DataFrame, **options: object) -> list[str]:
    """The columns that notes call so."""
    notes = notes_of(frame, target="y", **options)
    return [name[1] for note in notes if (name := re.search(r"column '(.*)' tells the", note))]


def test_a_column_that_determines_the_class_is_named():
    random = np.random.default_rng(0)
    y = np.array(["stay", "leave"])[random.integers(0, 2, ROWS)]
    frame = pd.DataFrame(
        {
            "left": np.where(y == "leave", 1.0, 0.0),
            "reason": np.where(y == "leave", random.choice(["price", "moved"], ROWS), None),
            "near": np.where(np.arange(ROWS) == np.flatnonzero(y == "leave")[-1], "stay", y),
            "noise": random.normal(size=ROWS),
            "kind": random.choice(["u", "v"], ROWS),
            "y": y,
        }
    )
    assert given_away(frame) == ["left", "reason"]
    sentence = (
        "column 'left' tells the target 'y' exactly: if it is not known when predictions are made, "
        "leave it out (ignore=['left'])"
    )
    assert sentence in notes_of(frame, target="y")
    assert given_away(frame, ignore=["left", "reason"]) == []
    frame.to_csv("x.csv", index=False)
    assert given_away("x.csv") == ["left", "reason"]
    assert "(--ignore left)" in called("fit", "x.csv", "--target", "y", *SMALL).said
    assert sentence in open_dataset("x.csv", target="y").describe()
    batches = open_dataset("x.csv", target="y")
    with pytest.warns(DataWarning, match="tells the target 'y' exactly"):
        list(batches.batches(rows=10))


def test_a_column_that_determines_a_quantity_is_named():
    random = np.random.default_rng(1)
    y = random.normal(size=ROWS).cumsum()
    frame = pd.DataFrame(
        {
            "double": -2 * y + 5,
            "rounded": y.round(3),
            "part": y + random.normal(size=ROWS),
            "text": [f"$ {1000 + 3 * value:.4f}" for value in y],
            "y": y,
        }
    )
    assert given_away(frame) == ["double", "rounded", "text"]
    priced = pd.DataFrame({"product": list("abcdef") * 20, "n": np.arange(ROWS) % 7})
    prices = {"a": 1.5, "b": 2.25, "c": 9.0, "d": 4.0, "e": 7.5, "f": 8.25}
    priced["y"] = priced["product"].map(prices)
    assert given_away(priced) == ["product"]


@pytest.mark.parametrize(
    "frame",
    [
        # few rows
        pd.DataFrame({"a": [0.0, 1.0] * 20, "y": ["u", "v"] * 20}),
        # ids: every value is another one
        pd.DataFrame({"a": np.arange(500.0), "w": [f"{i}" for i in range(500)], "y": [0, 1] * 250}),
        # a rare class, which a rare value meets by chance
        pd.DataFrame({"a": [1] + [0] * 199, "y": ["v"] + ["u"] * 199}),
        # constant columns
        pd.DataFrame({"a": [1.0] * 100, "b": [np.nan] * 100, "y": [0, 1] * 50}),
        # a quantity that follows a column, and not exactly
        pd.DataFrame({"a": np.arange(100.0), "y": np.arange(100.0) ** 1.5}),
    ],
    ids=["few rows", "ids", "rare", "constant", "curved"],
)
def test_no_false_alarms(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert given_away(frame) == []


def test_a_value_that_contradicts_late_is_seen():
    y = np.arange(5_000) % 2
    frame = pd.DataFrame({"a": y.copy(), "b": y, "y": y})
    frame.loc[4_321, "a"] = 1 - frame.loc[4_321, "a"]
    assert given_away(frame) == ["b"]
    assert given_away(frame.astype(str)) == ["b"]


# -- Zip codes


def zipped(values: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"zip": values, "n": np.arange(len(values)) % 7}).assign(
        y=[i % 3 + 0.5 for i in range(len(values))]
    )


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_zip_codes_are_words_in_every_form():
    frame = zipped(["10001", "02139", "94103", "10001"] * 30)
    encodings = {}
    for form, table in forms(frame).items():
        note = (
            "column 'zip': digits with leading zeros such as '02139' are taken as words, "
            "as codes are; decimal='.' reads them as numbers"
        )
        assert note in notes_of(table, target="y"), form
        encodings[form] = open_dataset(table, target="y").encoding
        assert encodings[form].feature_names[:3] == ["zip=02139", "zip=10001", "zip=94103"], form
        X, _ = open_dataset(table, target="y", decimal=".").materialise()
        assert X[:2, 0].tolist() == [10001.0, 2139.0], form
        with pytest.raises(DataError, match=r"column 'zip': digits with .* decimal='\.' reads"):
            open_dataset(table, target="y", strict=True)
        assert open_dataset(table, target="y", strict=True, categorical=["zip"]).n_features == 4
    assert all(encoding == encodings["csv"] for encoding in encodings.values())


def test_zip_codes_that_come_late_or_with_others():
    late = ["10001", "94103"] * 400 + ["02139"] * 10
    assert open_dataset(write(zipped(late).to_csv(index=False)), target="y").n_features == 4
    mixed = ["10001", "02139", "02139-1234", "unknown"] + ["94103", "10001"] * 30
    assert open_dataset(write(zipped(mixed).to_csv(index=False)), target="y").n_features == 6


NUMBERS = {
    "fractions": ["0.5", "-0.5", "0.25", "1.5"],
    "zeros": ["0", "00", "10", "20"],
    "two digits": ["01", "02", "11", "12"],
    "other lengths": ["007", "0012", "150", "42"],
    "no zero in front": ["100", "200", "300", "400"],
    "nothing but zeros": ["000", "200", "300", "400"],
    "signs": ["+012", "-012", "+345", "+999"],
    "powers": ["01e2", "02e2", "13e2", "14e2"],
}


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_other_numbers_stay_numbers(case):
    for form, table in forms(zipped(NUMBERS[case] * 30)).items():
        assert open_dataset(table, target="y").feature_names == ["zip", "n"], form


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_padded_numbers_that_hardly_repeat_stay_numbers():
    """As words they would be left out like ids; amounts in tables of fixed width are such."""
    for form, table in forms(zipped([f"{i * i:08d}" for i in range(200)])).items():
        assert open_dataset(table, target="y").feature_names == ["zip", "n"], form
    times = zipped(["08:30", "09:15", "10:00", "11:45"] * 30)
    assert open_dataset(times, target="y").encoding.columns[0].kind == "date"


def test_a_stored_model_reads_zip_codes_as_it_did():
    path = write(zipped(["10001", "02139", "94103", "10001"] * 30).to_csv(index=False))
    number = open_dataset(path, target="y", decimal=".").encoding
    stored = Encoding.from_plain(number.to_plain())
    assert stored.feature_names == ["zip", "n"]
    X, _ = open_dataset(path, encoding=stored).materialise()
    assert X[:2, 0].tolist() == [10001.0, 2139.0]
    words = Encoding.from_plain(open_dataset(path, target="y").encoding.to_plain())
    new = write("zip,n\n02139,1\n10001,2\n", "new.csv")
    X, _ = open_dataset(new, encoding=words).materialise()
    assert X[:, :3].argmax(axis=1).tolist() == [0, 1]


# -- Percents


def shares(write_one: object) -> pd.DataFrame:
    return pd.DataFrame({"share": [write_one(i % 50) for i in range(ROWS)], "y": ["u", "v"] * 60})


WITHOUT = "column 'share': in training values had a percent sign, and here none has"
WITH = "column 'share': values have a percent sign, and in training none had"


def test_fractions_where_the_model_has_percents():
    model = TableModel(KernelClassifier(n_components=16, C=1.0)).fit(
        write(shares(lambda i: f"{i} %").to_csv(index=False))
    )
    fractions = shares(lambda i: i / 100)
    for form, table in forms(fractions).items():
        with pytest.warns(DataWarning, match=re.escape(WITHOUT)):
            model.predict(table), form
    with pytest.warns(DataWarning, match="12 % is read as 12 and 0.12 as 0.12"):
        model.predict(fractions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in forms(shares(lambda i: f"{i}%")).values():
            model.predict(table)
    model.save("m.klt")
    fractions.to_csv("x.csv", index=False)
    assert called("predict", "m.klt", "x.csv").said.count(WITHOUT) == 1


def test_percents_where_the_model_has_other_numbers():
    """Of plain numbers it is an error, as signs are; of numbers with separators a note."""
    plain = open_dataset(shares(lambda i: i / 100), target="y").encoding
    percents = shares(lambda i: f"{i} %")
    for table in forms(percents).values():
        with pytest.raises(DataError, match=r"'0 %' is not a number .*where the model has numbers"):
            open_dataset(table, encoding=plain).materialise()
    dollars = open_dataset(shares(lambda i: f"$ {i}.50"), target="y").encoding
    for form, table in forms(percents).items():
        data = open_dataset(table, encoding=Encoding.from_plain(dollars.to_plain()))
        with pytest.warns(DataWarning, match=re.escape(WITH)):
            data.materialise(), form


def test_percents_of_the_target():
    model = TableModel(KernelRegressor(n_components=16, C=1.0))
    frame = pd.DataFrame({"a": np.arange(ROWS) % 9, "rate": [f"{i % 40}.5 %" for i in range(ROWS)]})
    with pytest.warns(DataWarning):
        model.fit(frame, target="rate")
    with pytest.warns(DataWarning, match="column 'rate': in training values had a percent sign"):
        model.evaluate(frame.assign(rate=np.arange(ROWS) % 40 / 100))


def test_models_from_before_say_nothing():
    plain = open_dataset(shares(lambda i: f"{i} %"), target="y").encoding.to_plain()
    del plain["columns"][0]["percent"]
    before = Encoding.from_plain(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_dataset(shares(lambda i: i / 100), encoding=before).materialise()
    plain["columns"][0]["percent"] = 1
    with pytest.raises(ValueError, match="percent"):
        Encoding.from_plain(plain)


# -- Columns without any value


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_empty_columns_are_left_out_in_every_form():
    frame = pd.DataFrame(
        {"a": np.arange(60) / 2, "none": [None] * 60, "b": [1.5, 2.5] * 30, "y": ["u", "v"] * 30}
    )
    tables = forms(frame)
    text = frame.astype({"none": "string"}).assign(none="")
    tables |= {f"text in {form}": table for form, table in forms_again(text).items()}
    tables["numbers"] = frame.assign(none=np.nan)
    tables["dates"] = frame.assign(none=pd.Series([pd.NaT] * 60, dtype="datetime64[ns]"))
    tables["categories"] = frame.assign(none=pd.Series([None] * 60, dtype="category"))
    expected = open_dataset(tables["csv"], target="y").encoding
    assert expected.ignored == ("none",)
    for form, table in tables.items():
        note = "column 'none': no value in 60 rows; left out"
        assert note in notes_of(table, target="y"), form
        assert open_dataset(table, target="y").encoding == expected, form
        X, _ = open_dataset(table, encoding=expected).materialise()
        assert X.shape == (60, 2), form


def forms_again(frame: pd.DataFrame) -> dict[str, object]:
    """Parquet and frames of another table, beside those that are there."""
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, "again.parquet")
    return {"parquet": "again.parquet", "pandas": frame, "polars": pl.from_arrow(table)}


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_an_empty_column_is_kept_where_there_is_little_else():
    few = pd.DataFrame({"a": [1.0, 2.0] * 3, "none": [""] * 6, "y": ["u", "v"] * 3})
    alone = pd.DataFrame({"none": [""] * 40, "y": ["u", "v"] * 20})
    for frame, names in ((few, ["a", "none"]), (alone, ["none"])):
        for form, table in forms(frame).items():
            assert open_dataset(table, target="y").feature_names == names, form


def test_estimators_keep_the_columns_that_they_are_given():
    frame = pd.DataFrame({"a": np.arange(60.0), "none": [None] * 60, "w": ["u", "v"] * 30})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelClassifier(n_components=8, C=1.0).fit(frame, np.arange(60) % 2)
    assert model.n_features_in_ == 3
    assert model.encoding_.feature_names == ["a", "none", "w=u", "w=v"]


# -- A title above the names

TABLE = "region,price,kind\n" + "".join(f"r{i % 4},{i}.5,{'uv'[i % 2]}\n" for i in range(40))
TITLES = {
    "a line": "Report of March 2024\n",
    "padded": "Sales report,,\n",
    "quoted": '"Sales, March 2024",,\r\n',
    "a blank line": "Report\n\n",
    "two lines": "Report\nMarch 2024,,\n",
    "a mark": "\ufeffReport\n",
    "a number": "2024\n",
}


@pytest.mark.parametrize("title", TITLES)
def test_a_title_is_skipped(title):
    plain = open_dataset(write(TABLE, "plain.csv"), target="kind").encoding
    path = write(TITLES[title] + TABLE)
    assert open_dataset(path, target="kind").encoding == plain
    assert any("above the names of the columns" in note for note in notes_of(path, target="kind"))
    expected, _ = open_dataset("plain.csv", target="kind").materialise()
    for name in (path, "plain.csv"):
        X, _ = open_dataset(name, encoding=plain).materialise()
        np.testing.assert_array_equal(X, expected)
    few = write(TITLES[title] + "\n".join(TABLE.split("\n")[:2]), "few.csv")
    assert open_dataset(few, encoding=plain).materialise()[0].shape == (1, 5)
    with pytest.raises(DataError, match=r"above the names of the columns.*delete"):
        open_dataset(path, target="kind", strict=True)


def test_titles_by_the_command_and_their_lines():
    write(TITLES["a line"] + TABLE)
    said = called("fit", "x.csv", "--target", "kind", *SMALL).said
    assert "line 1 ('Report of March 2024') is above the names of the columns; skipped" in said
    titled = called("predict", "m.klt", "x.csv").out
    assert titled == called("predict", "m.klt", write(TABLE)).out
    write(TITLES["a line"] + TABLE + "r1,2\n")
    with pytest.raises(DataError, match="line 43: 2 fields where 3 are expected"):
        open_dataset("x.csv").materialise()


@pytest.mark.parametrize(
    "text",
    [
        "Report of March 2024\n" + TABLE.split("\n", 1)[1],  # a title and no names
        "Report, March 2024\n" + TABLE,  # which may be names
    ],
)
def test_what_may_be_no_title_is_an_error_that_says_what_to_do(text):
    with pytest.raises(DataError, match=r"3 fields where . (is|are) expected; if line 1 is a tit"):
        open_dataset(write(text)).materialise()
    if "Report, March" in text:  # the name of the target tells that it is none
        assert open_dataset("x.csv", target="kind").materialise()[0].shape[0] == 40
        return
    with pytest.raises(DataError, match=r"no column 'kind' for .*; if line 1 is a title, delete"):
        open_dataset("x.csv", target="kind")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a\n1\n2\n3\n", ["a"]),
        ("name,,\nx,y,z\nu,v,w\n" * 2, ["name", "column_2", "column_3"]),
        ("a,,\n1,2,3\n4,5,6\n", ["a", "column_2", "column_3"]),
        ("Report\nx,y,z\n1,2,3\n", ["x", "y", "z"]),
    ],
)
def test_what_is_no_title(text, names):
    assert open_dataset(write(text), target=None).columns == names


def test_names_that_are_said_to_be_there_are_taken():
    path = write("Sales,,\nx,y,z\n1,2,3\n" + "4,5,6\n" * 5)
    assert open_dataset(path, target=None).columns == ["x", "y", "z"]
    assert open_dataset(path, target=None, header=True).columns == ["Sales", "column_2", "column_3"]


def test_archives_that_are_no_npz_are_named() -> None:
    for name, member, kind in (
        ("book.xlsx", "xl/workbook.xml", "a spreadsheet: save its sheet as CSV"),
        ("table.csv.zip", "table.csv", "a zip archive: unpack it"),
    ):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr(member, "a,b\n1,2\n")
        with pytest.raises(DataError, match=f"{re.escape(name)} is {kind}"):
            open_dataset(name)


def test_every_class_of_several_spellings_is_named() -> None:
    frame = pd.DataFrame({"x": np.arange(100.0), "y": ["Yes", "yes", "No", "no"] * 25})
    with pytest.warns(DataWarning) as caught:
        open_dataset(frame, target="y").materialise()
    text = " ".join(str(each.message) for each in caught)
    assert "'No', 'no' differ in spelling" in text
    assert "'Yes', 'yes' differ in spelling" in text
