"""`similarity_join` on Spark: what an exact search finds, but for the recall that was promised."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from dedup_rows import table
from faults import KillInside, KillOnce

from kernelight.distributed.spark import banded_pairs, similarity_join
from kernelight.tables.arrow_rows import table_rows

N = 260


@pytest.fixture(scope="module")
def rows():
    """Two tables of similar rows, the ids of one of them texts, and all exact similarities."""
    whole = table()
    names = pa.array([f"row {at:04d}" for at in range(400 - N)])
    left, right = whole.slice(0, N), whole.slice(N).set_column(0, "id", names)
    known = table_rows([whole.drop_columns(["id"])])
    exact = known.exact(known.matrix(whole))
    i, j = (part.reshape(-1) for part in np.mgrid[0:N, N:400])
    return left, right, exact.similarities(i, exact, j).reshape(N, 400 - N)


def pairs_of(join):
    """The pairs of a join, sorted."""
    found = join.pairs.toArrow()
    assert found.column_names == ["id_left", "id_right", "similarity"]
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def all_above(rows, threshold):
    left, right, K = rows
    ids, others = left["id"].to_pylist(), right["id"].to_pylist()
    return {(ids[i], others[j]): K[i, j] for i, j in zip(*np.nonzero(threshold <= K), strict=True)}


def frames(spark, rows, partitions=3):
    return (spark.createDataFrame(each).repartition(partitions) for each in rows[:2])


def test_pairs_above_a_threshold(spark, rows, tmp_path):
    wanted = all_above(rows, 0.8)
    found = similarity_join(*frames(spark, rows), "id", 0.8, work=str(tmp_path))
    pairs = pairs_of(found)
    assert len(wanted) > 50
    assert len(pairs) >= 0.95 * len(wanted)
    for left, right, similarity in pairs:  # each verified, to the bit
        assert wanted[left, right] == similarity
    assert len(set(pairs)) == len(pairs)
    assert (found.summary["left"], found.summary["right"]) == (N, 400 - N)
    assert found.summary["candidates"] >= len(pairs) / 4  # of equal rows one stands for all
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    again = pairs_of(similarity_join(*frames(spark, rows, 17), "id", 0.8))
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert again == pairs


def test_the_most_similar_rows(spark, rows):
    left, _, K = rows
    k = 3
    pairs = pairs_of(similarity_join(*frames(spark, rows), "id", k=k))
    counts = {name: sum(1 for pair in pairs if pair[0] == name) for name in {p[0] for p in pairs}}
    assert max(counts.values()) == k
    nearest = np.sort(K, axis=1)[:, -k:]
    place = {name: at for at, name in enumerate(left["id"].to_pylist())}
    good = sum(similarity >= nearest[place[name], 0] for name, _, similarity in pairs)
    assert good >= 0.95 * nearest.size
    few = pairs_of(similarity_join(*frames(spark, rows), "id", 0.8, k=1))
    above = all_above(rows, 0.8)
    for name, other, similarity in few:
        assert above[name, other] == similarity
    assert len({name for name, _, _ in few}) == len(few)


def test_equal_rows_and_popular_ones_all_come(spark):
    X = np.array([[1.0, 2, 3]] * 30 + [[9.0, 0, 1]])
    left = pa.table({"id": np.arange(31), **{f"x{at}": X[:, at] for at in range(3)}})
    right = pa.table({"key": np.arange(31), **{f"x{at}": X[:, at] for at in range(3)}})
    df, other = (spark.createDataFrame(each) for each in (left, right))
    found = similarity_join(df, other, "id", 0.9, right_id="key", scale="none", cap=4)
    assert len(pairs_of(found)) == 30 * 30 + 1
    best = pairs_of(similarity_join(df, other, "id", 0.9, 2, right_id="key", scale="none"))
    assert best == sorted([(at, key, 1.0) for at in range(30) for key in (0, 1)] + [(30, 30, 1.0)])


def test_nothing_is_similar_to_zeros(spark):
    zeros = spark.createDataFrame(pa.table({"id": [1, 2], "x": [0.0, 0.0]}))
    ones = spark.createDataFrame(pa.table({"id": [1, 2], "x": [1, 3]}))  # whole numbers
    assert pairs_of(similarity_join(zeros, ones, "id", 0.5, scale="none")) == []
    assert pairs_of(similarity_join(zeros, ones, "id", k=2, scale="none")) == []


def test_a_bucket_above_the_cap_is_said(spark):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 20)).astype(float)
    X[:, 0] = 60.0
    given = pa.table({"id": np.arange(120), **{f"c{at}": X[:, at] for at in range(20)}})
    df = spark.createDataFrame(given)
    with pytest.warns(UserWarning, match="of bands had more than 10 rows"):
        found = similarity_join(df, df, "id", 0.7, scale="none", cap=10)
    assert found.summary["capped"] > 0
    assert found.summary["candidates"] <= 10 * found.summary["plan"]["bands"] * 120


def test_a_killed_worker_changes_nothing(spark, rows, tmp_path, monkeypatch):
    expected = pairs_of(similarity_join(*frames(spark, rows), "id", 0.8))
    once, real = KillOnce(str(tmp_path / "killed")), banded_pairs.ScanBuckets
    monkeypatch.setattr(banded_pairs, "ScanBuckets", lambda *each: KillInside(real(*each), once))
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    assert pairs_of(similarity_join(*frames(spark, rows), "id", 0.8)) == expected
    spark.conf.unset("spark.sql.adaptive.enabled")
    assert (tmp_path / "killed").exists()


def test_spark_connect(elsewhere, rows, tmp_path, spark):
    expected = pairs_of(similarity_join(*frames(spark, rows), "id", 0.8))
    import pyarrow.parquet as pq

    for name, each in zip(("left", "right"), rows[:2], strict=True):
        pq.write_table(each, tmp_path / f"{name}.parquet")
    printed = elsewhere(
        "connect",
        """
        from kernelight.distributed.spark import similarity_join
        frames = [spark.read.parquet(f"{folder}/{name}.parquet") for name in ("left", "right")]
        found = similarity_join(*frames, "id", 0.8).pairs.toArrow()
        print("RESULT", sorted(zip(*(each.to_pylist() for each in found.columns))))
        """,
    )
    assert printed.split("RESULT ")[1].strip() == str(expected)


def test_wrong_arguments(spark, rows):
    left, right = frames(spark, rows)
    with pytest.raises(ValueError, match="needs a threshold, or k, or both"):
        similarity_join(left, right, "id")
    with pytest.raises(ValueError, match="right has no column 'x1'"):
        similarity_join(left, right.drop("x1"), "id", 0.8)
    with pytest.raises(TypeError, match="column 'word' is string in left and double in right"):
        similarity_join(left, right.selectExpr("* except (word)", "x0 as word"), "id", 0.8)
    with pytest.raises(TypeError, match="right must be a DataFrame of Spark"):
        similarity_join(left, rows[1], "id", 0.8)
    none = right.selectExpr("cast(null as string) as id", "* except (id)")
    with pytest.raises(ValueError, match="right: 140 rows of 140 have no id in column 'id'"):
        similarity_join(left, none, "id", 0.8)
    with pytest.raises(ValueError, match="k must be"):
        similarity_join(left, right, "id", k=0)
