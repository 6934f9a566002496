"""Five tables as five people have them: one command each, no traceback, nothing silently wrong.

A customer list from a German spreadsheet, a report of web analytics, the log of a laboratory
instrument, a survey, and a dump of customer relations.
"""

from __future__ import annotations

import csv
import datetime
import io
import random
import warnings

import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelClassifier, KernelRegressor
from kernelight.data import DataWarning, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def customers():
    """cp1252 and decimal commas, a title, sums, a footer, minus signs behind, units."""
    dice = random.Random(1)
    rows = []
    for i in range(240):
        revenue = dice.lognormvariate(7, 1)
        day = datetime.date(2022, 1, 1) + datetime.timedelta(days=dice.randrange(700))
        cells = [
            f"K-{10000 + i}",
            f"Firma Nr. {i} GmbH",
            dice.choice(["München", "Köln", "Zürich", "k.A."]),
            f"{day:%d.%m.%Y}" if dice.random() > 0.04 else "k.A.",
            german(revenue) + "-" * (dice.random() < 0.15),
            f"{dice.randrange(31)} %",
            f"{german(dice.uniform(1, 20))} kg",
            f"{dice.randrange(1, 40)}" if dice.random() > 0.05 else "keine Angabe",
            "",
            "ja" if (revenue < 900) != (dice.random() < 0.1) else "nein",
        ]
        rows.append(";".join(cells))
    rows[30] = rows[31] = rows[29]
    names = "Kundennr;Firma;Ort;Beginn;Umsatz;Rabatt;Gewicht;Mitarbeiter;Bemerkung;gekündigt"
    lines = ["Kundenliste Süd;;;;;;;;;", "", names, *rows, "Summe;;;;812.345,10;;;4.123;;"]
    lines += [";;;;;;;;;", "Stand: 31.12.2023;;;;;;;;;", ""]
    with open("kunden.csv", "w", encoding="cp1252", newline="") as file:
        file.write("\r\n".join(lines))
    return "kunden.csv"


def analytics():
    """Comments above the names, percent signs, times, thousands, dates as numbers."""
    dice = random.Random(2)
    text = io.StringIO()
    text.write("# -----\n# All Web Site Data\n# 20240101-20240331\n# -----\n\n")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["Page", "Source", "Date", "Sessions", "Bounce Rate", "Duration", "Revenue"])
    for i in range(240):
        sessions = int(dice.lognormvariate(6, 1.2))
        day = datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 90)
        seconds = dice.randrange(5, 500)
        out.writerow(
            [
                f"/page/{dice.randrange(60)}?utm={i}",
                dice.choice(["google / organic", "(direct) / (none)", "newsletter / email"]),
                f"{day:%Y%m%d}",
                f"{sessions:,}",
                f"{dice.uniform(20, 90):.2f}%" if i % 40 else "<0.01%",
                f"00:{seconds // 60:02d}:{seconds % 60:02d}",
                f"${sessions * dice.uniform(0.4, 0.6):,.2f}",
            ]
        )
    with open("analytics.csv", "w") as file:
        file.write(text.getvalue())
    return "analytics.csv"


def laboratory():
    """Tabs, units below the names, codes for failed readings, values below the limit."""
    dice = random.Random(3)
    lines = ["Scan\tTime\tSample\tTemp\tpH\tAbs\tCRP\tOperator\tVol\tResult"]
    lines.append("\t\t\t°C\t\tAU\tmg/L\t\t\t")
    start = datetime.datetime(2023, 5, 1, 8)
    for i in range(240):
        ph = dice.gauss(7.2, 0.2)
        cells = [
            f"{i + 1}",
            f"{start + datetime.timedelta(minutes=7 * i):%m/%d/%Y %I:%M:%S %p}",
            f"S{i // 3:04d}-{i % 3}",
            "-999.9" if dice.random() < 0.06 else f"{dice.gauss(37, 0.5):.1f}",
            "n.d." if i % 30 == 3 else f"{ph:.2f}",
            f"{dice.lognormvariate(-2, 0.7):.3E}",
            "<0.05" if i % 30 == 5 else f"{dice.uniform(0.05, 3):.2f}",
            dice.choice("ABC"),
            f"{dice.uniform(0.5, 2):.2f} mL",
            "PASS" if (ph > 7.1) != (dice.random() < 0.08) else "FAIL",
        ]
        lines.append("\t".join(cells))
    with open("lab.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    return "lab.txt"


def survey():
    """Names that occur twice, answers in words, wide text over several lines, times with zones."""
    dice = random.Random(4)
    answers = ["Disagree", "Neutral", "Agree", "Prefer not to say"]
    with open("survey.csv", "w", newline="") as file:
        out = csv.writer(file)
        names = ["Timestamp", "Gender", "Age", "I am happy", "I am happy", "Comments?", "Grade"]
        out.writerow([*names, "Satisfaction"])
        for i in range(240):
            when = datetime.datetime(2024, 2, 1) + datetime.timedelta(hours=3 * i)
            first = dice.choice(answers)
            out.writerow(
                [
                    f"{when:%Y/%m/%d %I:%M:%S %p} GMT+1",
                    dice.choice(["Female", "Male", "female", ""]),
                    99 if i % 20 == 0 else dice.randrange(18, 50),
                    first,
                    dice.choice(answers),
                    f'I like it,\n"really" {i} ' + "bla " * dice.randrange(30),
                    dice.choice(["A", "B", "none"]),
                    round(answers.index(first) * 2.5 + dice.gauss(2, 1), 1),
                ]
            )
    return "survey.csv"


def relations():
    """A byte-order mark, bars, NULL, ids, mails, two currencies, dates that stand for none."""
    dice = random.Random(5)
    rows = []
    for i in range(240):
        made = datetime.datetime(2021, 1, 1) + datetime.timedelta(hours=dice.randrange(20000))
        stage = dice.choice(["Prospect", "Proposal"])
        cells = [
            f"{i:015x}AAA",
            f"user{i}@example.com",
            f"+1 ({dice.randrange(200, 999)}) 555-{dice.randrange(1000, 9999)}",
            dice.choice(["Alice", "Bob", "NULL"]),
            stage,
            f"{dice.choice('$$$$€')}{dice.lognormvariate(8, 1):,.0f}",
            f"{made:%Y-%m-%dT%H:%M:%S}.000+0000",
            f"{made:%Y-%m-%d}" if dice.random() > 0.3 else "1900-01-01",
            dice.choice(["TRUE", "FALSE", "NULL"]),
            "0",
            "Won" if dice.random() < 0.2 + 0.6 * (stage == "Proposal") else "Lost",
        ]
        rows.append("|".join(cells))
    names = "Id|Email|Phone|Owner|Stage|Amount|Created|LastActivity|Active|Deleted|Outcome"
    with open("crm.csv", "w", encoding="utf-8-sig") as file:
        file.write("\n".join([names, *rows, *rows[:12]]) + "\n")
    return "crm.csv"


# features of each table, and what must be said of it
TABLES = {
    customers: (
        {"Umsatz", "Rabatt", "Gewicht", "Mitarbeiter", "Ort=Köln", "Ort is missing"},
        [
            "read as cp1252",
            "'Kundenliste Süd') is above the names",
            "column 'Kundennr': 237 of 240 words occur once",
            "column 'Umsatz': numbers such as '",
            "kg' are read as",
            "column 'Bemerkung': no value in 240 rows; left out",
            "('Summe') sums up the rows above it",
            "('Stand: 31.12.2023') is a footer",
        ],
    ),
    analytics: (
        {"Sessions", "Bounce Rate", "Duration: hour", "Date", "Source=newsletter / email"},
        [
            "4 lines, the first '# -----', are above the names",
            "column 'Date': numbers such as 20240101 may be dates",
            "6 of 240 values are not a number ('<0.01%'",
            "column 'Revenue': numbers such as '$",
        ],
    ),
    laboratory: (
        {"Temp", "pH", "Abs", "CRP", "Vol", "Operator=A", "Time: hour"},
        [
            "('°C') has the units of the columns",
            "column 'Scan': it counts the rows",
            "column 'Temp': -999.9 occurs",
            "mL' are read as",
            "8 of 240 values are not a number ('<0.05'",
        ],
    ),
    survey: (
        {"Age", "Gender=Female", "I am happy.1=Agree", "Timestamp: month", "Grade=none"},
        [
            "it is called 'I am happy.1' here",
            "column 'Comments?': all 240 words are different",
            "words 'Female', 'female' differ in spelling only",
            "column 'Age': 99 occurs 12 times",
            "column 'Grade': 'none' may stand for a missing value",
        ],
    ),
    relations: (
        {"Amount", "Active", "Owner=Alice", "Owner is missing", "Created: year", "Stage=Prospect"},
        [
            "column 'Id': 228 of 252 words occur once",
            "column 'Email': ",
            "column 'Phone': ",
            "several currencies (",
            "column 'LastActivity': 1900-01-01 occurs",
            "column 'Deleted': every value is the same",
        ],
    ),
}


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_one_command_is_enough(make):
    features, notes = TABLES[make]
    path = make()
    status, out, said = called("fit", path, "-o", "m.klt", "-k", "32", "-C", "1")
    assert (status, "The model is m.klt" in out) == (0, True)
    for note in notes:
        assert note in said, note
    assert "Traceback" not in said
    data = open_dataset(path)
    assert features <= {*data.feature_names}
    rows = 252 if make is relations else 240
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert len(data.materialise()[1]) == rows
    status, out, said = called("evaluate", "m.klt", path)
    assert (status, f" {rows}, which the model was trained on" in out) == (0, True)
    status, out, said = called("predict", "m.klt", path)
    assert (status, out.count("\n")) == (0, rows + 1)


@pytest.mark.nightly
@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_the_study_takes_them(make):
    status, out, said = called("compare", make(), "--budget", "5s", "-o", "r.html")
    assert (status, "The report is r.html" in out) == (0, True)
    assert "Traceback" not in said


FRAMES = {
    customers: {"sep": ";", "encoding": "cp1252", "skiprows": 1, "nrows": 240},
    analytics: {"skiprows": 5},
    laboratory: {"sep": "\t", "skiprows": [1]},
    survey: {},
    relations: {"sep": "|"},
}


@pytest.mark.parametrize("make", FRAMES, ids=lambda make: make.__name__)
def test_a_frame_of_them_is_enough(make):
    """As pandas reads them; the estimators keep numbers that count the rows."""
    features, _ = TABLES[make]
    frame = pd.read_csv(make(), **FRAMES[make])
    y = frame.pop(frame.columns[-1])
    kind = KernelClassifier
    if make in (analytics, survey):
        kind, y = KernelRegressor, pd.to_numeric(y.astype(str).str.replace("[$,]", "", regex=True))
    with pytest.warns(DataWarning):
        model = kind(n_components=32, C=1).fit(frame, y)
    assert features <= {*model.encoding_.feature_names}
    assert len(model.predict(frame)) == len(frame)
