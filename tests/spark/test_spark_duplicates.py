"""`duplicates` on Spark: those of `kernelight dedup --method bands`, whatever happens."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dedup_rows import refuse_difference, said_here, said_there, table
from faults import KillInside, KillOnce

from kernelight.data.texts import TextShingles
from kernelight.distributed.spark import banded_pairs, clusters, duplicates
from kernelight.neighbors import BandSearch
from kernelight.tables import witness_rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A table in a file, and what one machine says of it."""
    folder = tmp_path_factory.mktemp("dedup")
    path = str(folder / "rows.parquet")
    pq.write_table(table(), path, row_group_size=100)
    return path, said_here(table(), str(folder / "here.parquet"))


def frame(spark, rows: pa.Table):
    """A frame of a table, in three partitions."""
    return spark.createDataFrame(rows).repartition(3)


@pytest.mark.parametrize(("partitions", "size"), [(1, 7777), (5, 1), (64, 50_000)])
def test_equal_to_one_machine(spark, rows, partitions, size):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
    path, here = rows
    assert len(here["pairs"]) > 100
    found = duplicates(spark.read.parquet(path).repartition(partitions), "id")
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    refuse_difference(here, said_there(found))
    assert found.survivors.columns == table().column_names
    assert "219 kept, 34 identical and 147 near removed" in repr(found)


def test_components_the_last_row_and_ids_of_text(spark, tmp_path):
    names = [f"{'é' if at % 3 else 'z'}{at * 7919 % 1000}" for at in range(400)]
    given = table(seed=1).set_column(0, "id", pa.array(names))
    options = {"linkage": "components", "keep": "last", "threshold": 0.75}
    here = said_here(given, str(tmp_path / "here.parquet"), **options)
    assert here["facts"]["below_threshold"] > 0
    found = duplicates(frame(spark, given), "id", work=str(tmp_path / "work"), **options)
    refuse_difference(here, said_there(found))
    assert len(list((tmp_path / "work").iterdir())) == 1  # a folder of its own


@pytest.mark.parametrize(("linkage", "rounds"), [("leader", 8), ("leader", 1), ("components", 8)])
def test_rounds_say_what_the_driver_says(spark, rows, linkage, rounds, monkeypatch, tmp_path):
    monkeypatch.setattr(clusters, "DRIVER_PAIRS", 20)
    monkeypatch.setattr(clusters, "ROUNDS", rounds)
    here = said_here(table(), str(tmp_path / "here.parquet"), linkage=linkage)
    refuse_difference(
        here, said_there(duplicates(spark.read.parquet(rows[0]), "id", linkage=linkage))
    )


def test_what_is_learned_is_learned_of_all_rows(spark, rows, monkeypatch):
    monkeypatch.setattr(witness_rows, "HEAD_ROWS", 40)  # words and ends come later
    monkeypatch.setattr(witness_rows, "AT_ONCE", 16)
    refuse_difference(rows[1], said_there(duplicates(spark.read.parquet(rows[0]), "id")))


def test_numbers_as_they_are_with_a_power(spark, tmp_path):
    rng = np.random.default_rng(3)
    X = (rng.random((300, 40)) < 0.1).astype(float)
    X[200:] = X[:100]
    X[200:, rng.integers(0, 40, 100)] = 2.5
    X[50:55] = 0.0
    given = pa.table({"id": np.arange(300), **{f"b{at}": X[:, at] for at in range(40)}})
    for options in ({"p": 2.0}, {"threshold": 0.6, "ignore": ["b3"]}):
        here = said_here(given, str(tmp_path / "here.parquet"), scale="none", **options)
        assert here["facts"]["empty"] >= 5
        found = duplicates(frame(spark, given), "id", scale="none", **options)
        refuse_difference(here, said_there(found))


def test_texts(spark, tmp_path):
    rng = np.random.default_rng(4)
    words = np.array([f"word{at}" for at in range(60)])
    texts = [" ".join(rng.choice(words, 25)) for _ in range(150)]
    texts += [text.replace("word7", "another") for text in texts[:70]] + texts[:10]
    texts += ["", None, "  ", "NA"]
    given = pa.table({"id": np.arange(len(texts)), "body": texts})
    here = said_here(given, str(tmp_path / "here.parquet"), texts=["body"])
    assert here["facts"]["empty"] == 4
    assert here["facts"]["near"] > 10
    refuse_difference(here, said_there(duplicates(frame(spark, given), "id", texts=["body"])))


def test_a_bucket_of_many_rows_is_capped_as_on_one_machine(spark, tmp_path, monkeypatch):
    monkeypatch.setitem(BandSearch.__init__.__kwdefaults__, "cap", 20)
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (600, 30)).astype(float)
    X[:120, 0] = 60.0  # what most slots of these rows say
    X[120:, :] *= rng.random((480, 30)) < 0.5
    given = pa.table({"id": np.arange(600), **{f"c{at}": X[:, at] for at in range(30)}})
    here = said_here(given, str(tmp_path / "here.parquet"), scale="none")
    assert here["facts"]["capped"] > 0
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    found = duplicates(frame(spark, given), "id", scale="none", cap=20)
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    refuse_difference(here, said_there(found))
    plan = found.summary["plan"]
    assert found.summary["candidates"] <= 20 * plan["bands"] * 600


def test_names_with_anything_in_them(spark, tmp_path):
    given = table(80).select(["id", "x0", "word"]).rename_columns(["my.id", "row", "a `b`"])
    here = said_here(given.rename_columns(["id", "row", "a `b`"]), str(tmp_path / "here.parquet"))
    found = duplicates(frame(spark, given), "my.id", columns=["row", "a `b`"])
    refuse_difference(here, said_there(found, "`my.id`"))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_columns_of_all_types(spark, tmp_path, zone):
    """Moments are the same in every time zone of a session."""
    rng = np.random.default_rng(0)
    given, n = table(120).drop_columns([f"b{at}" for at in range(12)]), 120
    minutes = np.datetime64("2020-01-01") + rng.integers(0, 9000, n).astype("timedelta64[m]")
    for name, values in {
        "zoned": pa.array(minutes.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
        "naive": pa.array(minutes[::-1].astype("datetime64[us]"), pa.timestamp("us")),
        "price": pa.array(rng.integers(0, 900, n)).cast(pa.decimal128(21, 0)),
        "flag": pa.array(rng.random(n) < 0.3),
        "small": pa.array(rng.normal(size=n).astype(np.float32)),
    }.items():
        given = given.append_column(name, values)
    path = str(tmp_path / "here.parquet")
    here = said_here(given, path, threshold=0.7)
    assert len(here["pairs"]) > 20
    spark.conf.set("spark.sql.session.timeZone", zone)
    found = duplicates(spark.read.parquet(path).repartition(4), "id", 0.7)
    there = said_there(found)
    spark.conf.unset("spark.sql.session.timeZone")
    refuse_difference(here, there)


def test_hardly_any_rows(spark, tmp_path):
    for X in (np.ones((1, 3)), np.ones((6, 2)), np.zeros((3, 2)), np.array([[1.0, 2], [1, 2.1]])):
        columns = {f"x{at}": X[:, at] for at in range(X.shape[1])}
        given = pa.table({"id": np.arange(len(X)), **columns})
        here = said_here(given, str(tmp_path / "here.parquet"), scale="none")
        few = spark.createDataFrame(given).repartition(8)  # most partitions are empty
        refuse_difference(here, said_there(duplicates(few, "id", scale="none")))


def test_a_killed_worker_changes_nothing(spark, rows, tmp_path, monkeypatch):
    path, here = rows
    markers = []
    for name in ("KeyRows", "ScanBuckets", "VerifyPairs"):
        markers.append(tmp_path / name)
        once, real = KillOnce(str(markers[-1])), getattr(banded_pairs, name)
        monkeypatch.setattr(
            banded_pairs, name, lambda *given, real=real, once=once: KillInside(real(*given), once)
        )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # else there is one task for all
    found = duplicates(spark.read.parquet(path).repartition(4), "id")
    there = said_there(found)
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.unset("spark.sql.adaptive.enabled")
    assert all(marker.exists() for marker in markers)
    refuse_difference(here, there)


def test_a_killed_executor_and_speculation_change_nothing(elsewhere, rows, tmp_path):
    path, here = rows
    printed = elsewhere(
        "local-cluster[2,1,1024]",
        f"""
        import os
        from dedup_rows import said_there
        from faults import EXECUTOR, KillInside, KillOnce
        from kernelight.distributed.spark import banded_pairs, duplicates
        spark.stop()
        spark = made.config("spark.speculation", "true").getOrCreate()
        once, real = KillOnce(folder + "/killed", EXECUTOR), banded_pairs.ScanBuckets
        banded_pairs.ScanBuckets = lambda *given: KillInside(real(*given), once)
        found = duplicates(spark.read.parquet({path!r}).repartition(4), "id", work=folder)
        there = said_there(found)
        assert os.path.exists(folder + "/killed")
        print("RESULT", there["survivors"], there["pairs"])
        """,
    )
    wanted = f"{here['survivors']} {sorted(here['pairs'])}"
    assert printed.split("RESULT ")[1].strip() == wanted


def test_spark_connect(elsewhere, rows):
    path, here = rows
    printed = elsewhere(
        "connect",
        f"""
        from dedup_rows import said_there
        from kernelight.distributed.spark import duplicates
        there = said_there(duplicates(spark.read.parquet({path!r}).repartition(3), "id"))
        made = spark.range(3).selectExpr("monotonically_increasing_id() as id", "id as x")
        try:
            duplicates(made, "id")
        except ValueError as error:
            assert "are made by monotonically_increasing_id" in str(error)
            print("RESULT", there["survivors"], there["pairs"])
        """,
    )
    wanted = f"{here['survivors']} {sorted(here['pairs'])}"
    assert printed.split("RESULT ")[1].strip() == wanted


def test_a_worker_with_another_version_is_refused(spark, rows, monkeypatch):
    from kernelight.distributed import ticket

    # of the driver; workers have the real one
    monkeypatch.setattr(ticket, "probe", lambda: "0" * 32)
    with pytest.raises(Exception, match="makes other codes than kernelight"):
        duplicates(spark.read.parquet(rows[0]), "id")


def with_other_ids(batches):
    """Rows with ids that are made when they are read."""
    for batch in batches:
        ids = np.frombuffer(os.urandom(8 * batch.num_rows), dtype=np.int64)
        yield batch.set_column(0, "id", pa.array(ids))


def test_ids_that_are_none(spark, rows):
    df = spark.read.parquet(rows[0])
    with pytest.raises(ValueError, match="df has no column 'name'"):
        duplicates(df, "name")
    with pytest.raises(ValueError, match="are made by monotonically_increasing_id"):
        duplicates(df.selectExpr("*", "monotonically_increasing_id() as row"), "row")
    made = df.selectExpr("*", "monotonically_increasing_id() as row").repartition(3)
    with pytest.raises(ValueError, match="are made by monotonically_increasing_id"):
        duplicates(made.selectExpr("row + 1 as id", "x0"), "id")
    with pytest.raises(ValueError, match="has other ids whenever it is read"):
        duplicates(df.mapInArrow(with_other_ids, df.schema), "id")
    with pytest.raises(ValueError, match="1 row of 400 have no id in column 'id'"):
        duplicates(df.selectExpr("nullif(id, -100) as id", "* except (id)"), "id")
    twice = df.selectExpr("if(id in (-100, -97), 7, id * 100) as id", "* except (id)")
    with pytest.raises(ValueError, match="2 rows have the id 7 in column 'id'"):
        duplicates(twice, "id")
    with pytest.raises(TypeError, match="are double, and must be whole numbers or text"):
        duplicates(df.selectExpr("cast(id as double) as id", "x0"), "id")


def test_wrong_arguments(spark, rows):
    df = spark.read.parquet(rows[0])
    with pytest.raises(ValueError, match="method='exact' compares all rows with all others"):
        duplicates(df, "id", method="exact")
    for threshold in (0.0, 1.5, -1):
        with pytest.raises(ValueError, match="threshold must be"):
            duplicates(df, "id", threshold)
    with pytest.raises(ValueError, match="df has no column 'z'"):
        duplicates(df, "id", columns=["x0", "z"])
    with pytest.raises(TypeError, match="columns must be a list of names"):
        duplicates(df, "id", columns="x0")
    with pytest.raises(ValueError, match="columns 'x0' and 'X0', which are the same name"):
        duplicates(df.selectExpr("id", "x0", "x1 as X0"), "id")
    with pytest.raises(ValueError, match="has a column 'kernelight: id', and such names are ours"):
        duplicates(df.withColumnRenamed("x0", "kernelight: id"), "id")
    with pytest.raises(ValueError, match="work='/proc/none' is no folder that Spark can write to"):
        duplicates(df, "id", work="/proc/none")
    with pytest.raises(ValueError, match="df, column 'x0': infinity is no value"):
        duplicates(df.selectExpr("id", "double('infinity') as x0"), "id")
    with pytest.raises(ValueError, match=r"texts=\['x0'\] compares .* ignore=\['x0'\] leaves"):
        duplicates(df.selectExpr("id", "x1", "cast(null as double) as x0"), "id")
    with pytest.raises(ValueError, match="no columns to compare besides the ids"):
        duplicates(df, "id", columns=["id"])
    with pytest.raises(ValueError, match="scale must be 'records' or 'none' here"):
        duplicates(df, "id", scale="quantile")
    with pytest.raises(ValueError, match="'tfidf' needs the counts of all texts"):
        duplicates(df, "id", texts=["word"], shingles=TextShingles(weights="tfidf"))
    with pytest.raises(ValueError, match="shingles are for texts"):
        duplicates(df, "id", shingles=TextShingles())
    with pytest.raises(TypeError, match="df must be a DataFrame of Spark"):
        duplicates(table(), "id")
    with pytest.raises(ValueError, match="df has no rows"):
        duplicates(df.where("id is null"), "id")
    written = df.selectExpr("id", "cast(x0 as string) as x0")
    with pytest.raises(ValueError, match="df, column 'x0' is text that reads as numbers: cast"):
        duplicates(written, "id")
    many = df.selectExpr("id", "x0", "concat('w', id % 1000) as kind")
    with pytest.raises(ValueError, match="column 'kind' has more words than have a feature"):
        duplicates(many, "id", categorical=["kind"])
    with pytest.raises(ValueError, match="recall=1"):
        duplicates(df.limit(50), "id", recall=1.0, threshold=0.05)
