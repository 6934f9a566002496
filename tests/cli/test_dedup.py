"""kernelight dedup: which rows stay in the file, pairs, reports, forecasts, and what is refused."""

from __future__ import annotations

import csv
import json
import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from dedup_files import lines_of, some_texts
from in_process import called, run

from kernelight.data.texts import TextShingles
from kernelight.kernels import GMM
from kernelight.neighbors import Index, deduplicate
from kernelight.tables import dedup_forecast


@pytest.fixture
def articles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = some_texts()
    with open("articles.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "said"])
        writer.writerows([f"d{at}", text] for at, text in enumerate(texts))
    return texts


def test_texts(articles):
    out = run("dedup", "articles.csv", "--text", "said", "-o", "clean.csv", "--threshold", "0.7")
    found = deduplicate(TextShingles().transform(articles), 0.7)
    lines = lines_of("articles.csv")
    kept = [lines[0], *(line for line, k in zip(lines[1:], found.kept, strict=True) if k)]
    assert lines_of("clean.csv") == kept
    assert found.n_near > 10
    assert found.n_identical > 3
    assert f"120 rows of articles.csv: {found.n_kept} stay, {found.n_removed} go" in out
    assert f"({found.n_identical} of the same shingles, {found.n_near} near)" in out
    assert "The rows that stay are in clean.csv." in out


@pytest.mark.parametrize(
    ("options", "shingles"),
    [
        (["--shingles", "characters"], TextShingles("characters")),
        (["--lengths", "1"], TextShingles(lengths=(1, 1))),
        (["--lengths", "2-3"], TextShingles(lengths=(2, 3))),
        (["--weights", "tfidf"], TextShingles(weights="tfidf")),
    ],
)
def test_shingles(articles, options, shingles):
    answer = json.loads(run("dedup", "articles.csv", "--text", "said", "--json", *options))
    found = deduplicate(shingles.fit_transform(articles), 0.8)
    assert answer["kept"] == found.n_kept
    assert answer["removed"] == found.n_removed > 5


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_memory_lets_the_same_rows_go(articles, memory):
    run("dedup", "articles.csv", "--text", "said", "--method", "bands", "-o", "clean.csv", *memory)
    found = deduplicate(TextShingles().transform(articles), method="bands")
    assert len(lines_of("clean.csv")) == 1 + found.n_kept < 110
    assert sorted(os.listdir()) == ["articles.csv", "clean.csv"]


@pytest.mark.parametrize("keep", ["first", "last"])
def test_pairs(articles, keep):
    run(
        *["dedup", "articles.csv", "--text", "said", "--ids", "id", "--pairs", "pairs.csv"],
        *["--threshold", "0.7", "--keep", keep],
    )
    K = GMM()(TextShingles().transform(articles))
    with open("pairs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = deduplicate(TextShingles().transform(articles), 0.7, keep=keep)
    assert len(rows) == len(found.pairs.i) + found.n_identical
    removed = {}
    for row in rows:
        a, b = int(row["row"][1:]), int(row["other"][1:])
        assert abs(K[a, b] - float(row["similarity"])) < 1e-9
        assert K[a, b] >= 0.7
        assert (row["kind"] == "same shingles") == (articles[a] == articles[b])
        if row["removed"] == "True":
            assert a not in removed
            removed[a] = b
    assert sorted(removed) == np.flatnonzero(~found.kept).tolist()
    for a, b in removed.items():
        assert b in (found.survivor[a], found.equal[a])


def test_the_report_shows_texts_and_escapes_them(articles):
    with open("articles.csv", "a") as file:
        for at in range(9):
            file.write(f'x{at},"<script>alert(1)</script> a b c d e f g h i j k l {at % 3}"\n')
    run("dedup", "articles.csv", "--text", "said", "--ids", "id", "--report", "r.html")
    with open("r.html") as file:
        page = file.read()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; a b c" in page
    assert "9 rows: row x0 stays" in page
    assert "row x1" in page
    command = page.replace('<span class="word">', "").replace("</span>", "")
    assert "kernelight dedup articles.csv --text said" in command
    assert "http://" not in page
    assert "https://" not in page


def test_a_dry_run_writes_nothing(articles):
    out = run("dedup", "articles.csv", "--text", "said", "-o", "clean.csv", "--dry-run")
    wanted = len(deduplicate(TextShingles().transform(articles)).pairs.i)
    assert "rows    120, 110 of them different" in out
    assert f"pairs   {wanted}, by all rows" in out
    assert os.listdir() == ["articles.csv"]
    answer = json.loads(run("dedup", "articles.csv", "--text", "said", "--dry-run", "--json"))
    assert answer["pairs"] == answer["pairs_low"] == answer["pairs_high"] == wanted
    assert 0 < answer["seconds_low"] < answer["seconds"] < answer["seconds_high"]


@pytest.mark.parametrize("options", [[], ["--weights", "tfidf"], ["--memory", "3G"]])
def test_a_dry_run_compares_a_sample(tmp_path, monkeypatch, options):
    """Texts outside of the sample do not become rows, and the truth is within the range."""
    monkeypatch.chdir(tmp_path)
    texts = some_texts(5, 9000)
    (tmp_path / "a.csv").write_text("\n".join(["said", *texts, *texts[:3000]]) + "\n")
    made = []
    transform = TextShingles.transform

    def watched(self, *columns, **named):
        made.append(len(columns[0]))
        return transform(self, *columns, **named)

    monkeypatch.setattr(TextShingles, "transform", watched)
    options = ["a.csv", "--text", "said", "--json", *options]
    answer = json.loads(run("dedup", *options, "--dry-run"))
    assert sum(made) == answer["sampled"] == 2000
    assert answer["rows"] == 12_000
    found = json.loads(run("dedup", *options, "--pairs", "p.csv"))
    different = found["rows"] - found["identical"]
    assert abs(answer["distinct"] - different) < 5 / 2000**0.5 * different
    assert answer["pairs_low"] < found["pairs"] < answer["pairs_high"]
    assert answer["pairs_high"] < 3 * found["pairs"]


@pytest.mark.parametrize("texts", [True, False])
def test_the_report_compares_whole_texts(tmp_path, monkeypatch, texts):
    """Of long texts only the first part is shown, with a sign, and the rest counts."""
    monkeypatch.chdir(tmp_path)
    long = " ".join(f"word{at}" for at in range(200))
    rows = [
        f"{long} one",
        f"{long} two",
        f"{long} one",
        f"{long.upper()} ONE",
        "short a",
        "short b",
    ]
    (tmp_path / "a.csv").write_text("\n".join(["said", *rows]) + "\n")
    options = ["--text", "said"] if texts else ["--categorical", "said", "--threshold", "0.01"]
    run("dedup", "a.csv", *options, "--report", "r.html", "--pairs", "p.csv")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<td>the same</td>") == 1
    if not texts:
        assert "identical to another row" in page
        return
    assert "the same shingles as another row" in page
    # the survivor, the one that differs at the end, that in capitals; both of a borderline pair
    assert page.count("(cut after 600 characters)") == 5
    kinds = [line.split(",")[0::3][:2] for line in lines_of("p.csv")[1:]]
    assert kinds == [["2", "near"], ["3", "same shingles"], ["4", "same shingles"]]


@pytest.mark.parametrize("n", [6, 120, 3000])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_dry_run_says_the_method_whatever_the_clock(tmp_path, monkeypatch, n, numbers):
    """It counts work, as the run does: of all rows the same, of a sample what comes of it."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(n)
    lines = some_texts(3, n)
    if numbers:
        lines = [
            f"{a:.3f},{b}"
            for a, b in zip(random.random(n), random.integers(9, size=n), strict=True)
        ]
    (tmp_path / "a.csv").write_text("\n".join(["a,b" if numbers else "said", *lines]) + "\n")
    options = ["a.csv", "--json", "--threshold", "0.9", *([] if numbers else ["--text", "said"])]
    done = json.loads(run("dedup", *options))["plan"]["method"]
    for seed in range(4):
        steps = np.random.default_rng(seed).lognormal(0, 9, 1000)
        clock = SimpleNamespace(monotonic=iter(np.cumsum(steps).tolist()).__next__)
        monkeypatch.setattr(dedup_forecast, "time", clock)
        assert json.loads(run("dedup", *options, "--dry-run"))["method"] == done


def test_a_dry_run_foresees_many_pairs(tmp_path, monkeypatch):
    """A file of a megabyte of which every row is similar to every other takes long for its size."""
    monkeypatch.chdir(tmp_path)
    common = " ".join(f"word{at}" for at in range(60))
    lines = [f"{common} own{at}" for at in range(4000)]
    (tmp_path / "a.csv").write_text("\n".join(["said", *lines]) + "\n")
    options = ["a.csv", "--text", "said", "--json", "--dry-run", "--memory", "1G"]
    answer = json.loads(run("dedup", *options, "--pairs", "p.csv"))
    assert abs(answer["pairs"] / (4000 * 3999 / 2) - 1) < 0.01
    # what is written for each pair does not depend on the machine
    assert answer["seconds"] > 1e-6 * answer["pairs"]


def test_another_file(articles):
    lines = lines_of("articles.csv")
    with open("known.csv", "w") as file:
        file.write("\n".join(["id,said", *(f"k{line}" for line in lines[1:40:3])]) + "\n")
    options = ["--text", "said", "--ids", "id", "--against", "known.csv", "--pairs", "p.jsonl"]
    answer = json.loads(run("dedup", "articles.csv", *options, "--json"))
    X = TextShingles().transform(articles)
    found = deduplicate(X, against=X[0:39:3])
    assert answer["against"] == found.n_matched > 10
    assert answer["kept"] == found.n_kept
    with open("p.jsonl") as file:
        pairs = [json.loads(line) for line in file]
    names = [pair["other"] for pair in pairs if pair["kind"] == "against"]
    assert len(names) == found.n_matched
    assert all(name.startswith("kd") for name in names)
    again = json.loads(run("dedup", "articles.csv", *options, "--json", "--memory", "3G"))
    assert again["against"] == answer["against"]


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_an_index(articles, memory):
    X = TextShingles().transform(articles)
    with Index.create("known.index", n_features=X.shape[1], recall=0.999) as index:
        index.add([f"k{at}" for at in range(0, 39, 3)], X[0:39:3])
    options = ["--text", "said", "--ids", "id", "--against", "known.index", *memory]
    answer = json.loads(run("dedup", "articles.csv", *options, "--pairs", "p.jsonl", "--json"))
    found = deduplicate(X, against=X[0:39:3])
    assert answer["against"] == found.n_matched > 10
    assert answer["kept"] == found.n_kept
    with open("p.jsonl") as file:
        pairs = [json.loads(line) for line in file]
    names = {pair["row"]: pair["other"] for pair in pairs if pair["kind"] == "against"}
    assert len(names) == found.n_matched
    for row in range(0, 39, 3):
        if found.equal[row] == row:
            assert articles[int(names[f"d{row}"][1:])] == articles[row]
    said = run("dedup", "articles.csv", *options, "--p", "2", status=2)
    assert "known.index is of values to the power 1: give --p 1." in said
    with open("table.csv", "w") as file:
        file.write("a,b\n1,2\n3,4\n")
    said = run("dedup", "table.csv", "--against", "known.index", status=2)
    assert "columns of table.csv become others" in said
    with open("sparse.svm", "w") as file:
        file.write("1 1:2\n0 5000000:1\n")
    said = run("dedup", "sparse.svm", "--against", "known.index", status=2)
    assert "sparse.svm has 5,000,000 features where known.index has 1048576." in said


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_components_and_an_index(articles, memory):
    """Direct matches have their similarity; of rows that a chain leads there it is not known."""
    X = TextShingles().transform(articles)
    with Index.create("known.index", n_features=X.shape[1], recall=0.999) as index:
        index.add([f"k{at}" for at in range(0, 39, 3)], X[0:39:3])
    options = ["--text", "said", "--against", "known.index", "--linkage", "components", *memory]
    run("dedup", "articles.csv", *options, "--threshold", "0.6", "--pairs", "p.csv")
    K = GMM()(X, X[0:39:3])
    with open("p.csv", newline="") as file:
        pairs = [pair for pair in csv.DictReader(file) if pair["kind"] == "against"]
    direct = {int(pair["row"]) - 1: pair for pair in pairs if pair["similarity"] != "nan"}
    found = deduplicate(X, 0.6, against=X[0:39:3], linkage="components")
    first = found.equal == np.arange(len(articles))
    assert direct.keys() == set(np.flatnonzero((K.max(axis=1) >= 0.6) & first).tolist())
    for row, pair in direct.items():
        assert pair["removed"] == "True"
        assert abs(float(pair["similarity"]) - K[row].max()) < 1e-9
        assert K[row, int(pair["other"][1:]) // 3] == K[row].max()


@pytest.mark.usefixtures("articles")
def test_an_index_of_other_shingles_is_suspected():
    shingles = TextShingles("characters")
    with Index.create("known.index", n_features=shingles.n_features) as index:
        index.add(["a"], shingles.transform(["a text of many words"]))
    out = run("dedup", "articles.csv", "--text", "said", "--against", "known.index")
    assert "No text is near one of known.index" in out
    assert "is it an index of shingles of 1 to 2 words, too?" in out


def test_several_columns_of_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("people.csv", "w") as file:
        file.write("name,city\nann lee,york\nlee ann,york\nAnn Lee,York\nyork,ann lee\n")
    answer = json.loads(
        run("dedup", "people.csv", "--text", "name", "--text", "city", "--json", "-o", "c.csv")
    )
    assert answer["identical"] == 1
    assert lines_of("c.csv") == ["name,city", "ann lee,york", "lee ann,york", "york,ann lee"]


def test_records_of_parquet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {
            "size": [1.0, 1.0, 9.0, 1.02],
            "colour": ["red", "red", "blue", "red"],
            "list": [[1], [2], [3], [4]],
        }
    )
    pa.parquet.write_table(table, "a.parquet")
    said = run("dedup", "a.parquet", "-o", "b.parquet", status=2)
    assert "rows that differ only there would count as equal" in said
    assert "--ignore list leaves it out" in said
    run("dedup", "a.parquet", "-o", "b.parquet", "--ignore", "list")
    assert pa.parquet.read_table("b.parquet").to_pylist() == table.take([0, 2]).to_pylist()


def test_rare_words_that_would_count_as_one_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at % 5},n{at % 150}" for at in range(600)]
    with open("a.csv", "w") as file:
        file.write("\n".join(["size,name", *lines]))
    said = run("dedup", "a.csv", "-o", "b.csv", status=2)
    assert "differ only in rare words would count as equal: --text name" in said
    answer = json.loads(run("dedup", "a.csv", "--max-categories", "200", "--json"))
    assert answer["kept"] == 150


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_sparse_files(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    lines = ["1 1:2 5:1", "# a comment", "1 1:2 5:1", "0 9:3", "0 9:3.1", "1 70:1"]
    with open("a.svm", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open("b.svm", "w") as file:
        file.write("0 70:1\n0 900:1\n")
    answer = json.loads(run("dedup", "a.svm", "-o", "c.svm", "--json", *memory))
    assert [answer[name] for name in ("rows", "kept", "identical", "near")] == [5, 3, 1, 1]
    assert lines_of("c.svm") == [lines[0], lines[1], lines[3], lines[5]]
    answer = json.loads(run("dedup", "a.svm", "--against", "b.svm", "--json", *memory))
    assert answer["against"] == 1
    sp.save_npz("a.npz", sp.csr_matrix(np.array([[1.0, 2], [1, 2], [0, 1]])))
    run("dedup", "a.npz", "-o", "b.npz", *memory)
    np.testing.assert_array_equal(sp.load_npz("b.npz").toarray(), [[1, 2], [0, 1]])


def test_components_say_how_many_rows_are_below_the_threshold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain = "\n".join(" ".join(f"w{at}" for at in range(s, s + 20)) for s in range(12))
    with open("a.csv", "w") as file:
        file.write(f"said\n{chain}\n")
    out = run("dedup", "a.csv", "--text", "said", "--linkage", "components", "--threshold", "0.7")
    assert "1 stays, 11 go" in out
    assert "below the threshold to the row that stays; --linkage leader lets no such row go." in out


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_equal_records_go_whatever_their_values(tmp_path, monkeypatch, memory):
    """A row of all minima, and files whose columns are constant, are no rows of zeros."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minima.csv").write_text("a,b\n1,5\n9,7\n1,5\n9,6\n1,5\n")
    out = run("dedup", "minima.csv", "-o", "c.csv", "--threshold", "0.95", *memory)
    assert "5 rows of minima.csv: 3 stay, 2 go (2 identical, 0 near)." in out
    assert "without any value" not in out
    assert lines_of("c.csv") == ["a,b", "1,5", "9,7", "9,6"]
    (tmp_path / "constant.csv").write_text("a,b\n" + "4,-2\n" * 6)
    (tmp_path / "zeros.csv").write_text("a,b\n" + "0,0\n" * 6)
    for name in ("constant.csv", "zeros.csv"):
        out = run("dedup", name, "-o", "c.csv", *memory)
        assert f"6 rows of {name}: 1 stays, 5 go (5 identical, 0 near)." in out
        assert "are found" not in out  # nothing was left to be found
        assert "without any value" not in out
    out = run("dedup", "zeros.csv", "--against", "constant.csv", "--json", *memory)
    assert json.loads(out)["against"] == 0
    out = run("dedup", "constant.csv", "--against", "minima.csv", "--json", *memory)
    assert json.loads(out)["against"] == 0
    (tmp_path / "also.csv").write_text("a,b\n7,7\n4,-2\n")
    out = run("dedup", "constant.csv", "--against", "also.csv", "--json", *memory)
    assert json.loads(out)["against"] == 1


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_the_similarity_of_records_is_that_of_their_mean_difference(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    numbers = np.round(np.concatenate([[[0, 0], [10, 1]], random.random((40, 2)) * [10, 1]]), 3)
    numbers[2] = [0.05, 0.004]  # close to the minima
    kinds = ["k0", "k1", "k0", *random.choice(["k0", "k1", "k2"], 39)]
    lines = [f"{a},{b},{kind}" for (a, b), kind in zip(numbers.tolist(), kinds, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["size,part,kind", *lines]) + "\n")
    run("dedup", "a.csv", "--threshold", "0.7", "--recall", "0.99999", "--pairs", "p.csv", *memory)
    with open("p.csv", newline="") as file:
        found = {
            (int(pair["other"]) - 1, int(pair["row"]) - 1): float(pair["similarity"])
            for pair in csv.DictReader(file)
        }
    scaled = numbers / [10, 1]
    wanted = {}
    for i in range(42):
        for j in range(i + 1, 42):
            apart = (np.abs(scaled[i] - scaled[j]).sum() + (kinds[i] != kinds[j])) / 3
            if (1 - apart) / (1 + apart) >= 0.7:
                wanted[i, j] = (1 - apart) / (1 + apart)
    assert wanted[0, 2] > 0.99
    assert found.keys() == wanted.keys()
    np.testing.assert_allclose([found[pair] for pair in wanted], list(wanted.values()), rtol=1e-9)


def test_equal_rows_are_equal_before_they_are_scaled(tmp_path, monkeypatch):
    """Of records that are zeros once scaled, those that differ stay, and equal ones go."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n0,0\n1,1\n0,0\n1,0\n")
    out = run("dedup", "a.csv", "--scale", "minmax", "--threshold", "0.9")
    assert "4 rows of a.csv: 3 stay, 1 goes (1 identical, 0 near)." in out
    assert "2 rows of only zeros once scaled are similar to no other rows" in out


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_sparse_rows_without_any_value_stay(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1\n0 1:2\n0\n1 3:0\n")
    out = run("dedup", "a.svm", "-o", "b.svm", *memory)
    assert "4 rows of a.svm: 4 stay, 0 go (0 identical, 0 near)." in out
    assert "3 rows without any value are similar to nothing and stay." in out
    assert "are found" not in out
    assert lines_of("b.svm") == ["1", "0 1:2", "0", "1 3:0"]


def test_one_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:2\n")
    assert "1 row of a.svm: 1 stays, 0 go (0 identical, 0 near)." in run("dedup", "a.svm")


def test_the_recall_that_is_said_is_below_one(articles):
    out = run("dedup", "articles.csv", "--text", "said", "--method", "bands")
    assert "Of the pairs at the threshold about 9" in out
    out = run("dedup", "articles.csv", "--text", "said", "--method", "bands", "--recall", "0.99999")
    assert "about 99.8 % are found" in out  # the sketch may lose a few
    out = run("dedup", "articles.csv", "--text", "said", "--method", "exact")
    assert "are found" not in out


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_empty_texts_stay(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    with open("a.csv", "w") as file:
        file.write("id,said\n1,\n2,\n3,?!\n4,word\n")
    assert deduplicate(TextShingles().transform(["", "", "?!", "word"])).kept.all()
    out = run("dedup", "a.csv", "--text", "said", *memory)
    assert "4 rows of a.csv: 4 stay, 0 go" in out
    assert "3 rows without any value are similar to nothing and stay." in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("articles.csv", "and --text NAME compares it as text."),
        ("articles.csv --text sad", "no column 'sad' of texts; did you mean 'said'?"),
        ("articles.csv --text said -o articles.csv", "articles.csv is what is read"),
        ("articles.csv --text said -o out.npz", "copied as they are, which is not .npz"),
        ("articles.csv --text said --report no/r.html", "there is no directory no"),
        ("articles.csv --text said --against missing.csv", "no such file or data set"),
        ("articles.csv --text said --memory 20M", "--memory is 20 MB, but"),
        ("articles.csv --text said --pairs -", "--pairs - would write to standard output, where"),
        ("articles.csv --text said -o -", "--output - would write to standard output, where"),
        ("articles.csv --text said --lengths 0", "--lengths must be at least 1, and a range must"),
        ("articles.csv --text said --lengths 3-2", "a range must ascend, got '3-2'"),
        ("digits -o out.npz", "digits is no file whose rows could be copied"),
        ("- --against - --text said", "Standard input can be read once only"),
    ],
)
@pytest.mark.usefixtures("articles")
def test_what_cannot_be_done_is_one_sentence(arguments, said):
    assert said in run("dedup", *arguments.split(), status=2)
    assert os.listdir() == ["articles.csv"]


@pytest.mark.usefixtures("articles")
def test_standard_input():
    with open("articles.csv", "rb") as file:
        content = file.read()
    answer = called("dedup", "-", "--text", "said", "--json", stdin=content)
    assert json.loads(answer.out)["rows"] == 120


def test_json_has_what_the_summary_says(articles):
    answer = json.loads(run("dedup", "articles.csv", "--text", "said", "--json", "-o", "c.csv"))
    found = deduplicate(TextShingles().transform(articles))
    assert answer["rows"] == 120
    assert answer["pairs"] == len(found.pairs.i)
    assert answer["clusters"] == int((found.cluster_sizes > 1).sum())
    assert answer["largest_cluster"] == int(found.cluster_sizes.max())
    assert answer["output"] == "c.csv"
    assert "curve" not in answer["plan"]
