"""`fit` on Spark: the same rows give the same model to the bit, whatever happens.

Long, as all of it shares a session, its rows and the model that is expected of them.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults import EXECUTOR, Absent, KillOnce, NoDisk, Watched
from sklearn.exceptions import ConvergenceWarning

from kernelight import KernelClassifier, KernelRegressor, TableModel, load
from kernelight.data import DataError, DataWarning
from kernelight.distributed.spark import blocks, fit, fitting, score
from kernelight.distributed.spark.rows import SALT, block_names, spark_hash

N = 900
OPTIONS = {"id": "id", "blocks": 3, "max_rounds": 3, "sample": 300, "tol": 1e-6}


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    word = rng.choice(["red", "green", "blue"], n)
    near = X[:, 0] * X[:, 1] + 0.3 * (word == "red")
    return pa.table(
        {
            "id": rng.permutation(n) * 7,
            **{f"x{at}": pa.array(X[:, at], from_pandas=True) for at in range(4)},
            "word": pa.array([None if at % 31 == 0 else each for at, each in enumerate(word)]),
            "two": np.where(near > 0, "yes", "no"),
            "three": np.digitize(near, [-0.4, 0.5]),
            "amount": near + rng.normal(scale=0.1, size=n),
        }
    )


def classifier(**more):
    return KernelClassifier("gmm", n_components=48, C=1.0, scale="standard", **more)


def fitted(df, target="two", **options):
    """A fit of few rounds, and no word about that."""
    others = [name for name in ("two", "three", "amount") if name != target]
    given = {"ignore": others, "model": classifier(), **OPTIONS, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(df, target, **given)


def bits(model):
    linear = model.model_.model_
    return linear.weights_.tobytes() + linear.intercept_.tobytes() + linear.dual_gap_.tobytes()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    pq.write_table(table(), path, row_group_size=200)
    return path


@pytest.fixture(scope="module")
def expected(spark, rows, tmp_path_factory):
    """The model of the rows as they are in the file, and its file."""
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    made = fitted(spark.read.parquet(rows))
    path = str(tmp_path_factory.mktemp("model") / "model.klt")
    made.save(path)
    return bits(made), path


# -- The same to the bit


@pytest.mark.parametrize(("partitions", "order"), [(1, "x1"), (5, "id"), (16, "word")])
def test_partitions_and_orders(spark, rows, expected, partitions, order):
    df = spark.read.parquet(rows).orderBy(order).repartition(partitions)
    assert bits(fitted(df)) == expected[0]


def test_batches_and_empty_partitions(spark, rows, expected, tmp_path):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    df = spark.read.parquet(rows).repartition(40, "word")  # most of them have no rows
    assert bits(fitted(df, work=str(tmp_path / "work"))) == expected[0]
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert not os.listdir(tmp_path / "work")


def test_a_killed_worker(spark, rows, expected, tmp_path):
    marker = tmp_path / "killed"
    df = spark.read.parquet(rows).repartition(4)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
    df = df.mapInArrow(KillOnce(str(marker)), df.schema)
    assert bits(fitted(df)) == expected[0]
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert marker.exists()


SCRIPT = """
    import sys
    sys.path.insert(0, {tests!r})
    import test_spark_fitting as tests
    from faults import EXECUTOR, Absent, KillOnce, NoDisk, Watched
    df = spark.read.parquet({rows!r}).repartition(4)
    {more}
    tests.fitted(df).save(folder + "/model.klt")
"""


def run(elsewhere, master, rows, more="", settings=None):
    tests = os.path.dirname(os.path.abspath(__file__))
    elsewhere(master, SCRIPT.format(tests=tests, rows=rows, more=more), settings)


@dataclass(frozen=True)
class Deadly:
    """A round in which an executor is killed once: in the second, on one block."""

    work: Any
    marker: str

    def __call__(self, key, pieces, duals):
        if self.work.task.number == 2 and key[0].as_py() == 1:
            KillOnce(self.marker, EXECUTOR).kill()
        return self.work(key, pieces, duals)


def test_a_killed_executor_and_speculation(elsewhere, rows, expected, tmp_path):
    """It is killed in the second round: what it has kept of the first is lost with it."""
    more = """
    from kernelight.distributed.spark import blocks
    plain = blocks.SparkBlocks._work
    blocks.SparkBlocks._work = lambda self, task: tests.Deadly(
        plain(self, task), folder + "/killed"
    )
    """
    speculation = {"spark.speculation": "true", "spark.speculation.multiplier": "1.01"}
    run(elsewhere, "local-cluster[2,1,1024]", rows, more.strip(), speculation)
    assert (tmp_path / "killed").exists()
    assert bits(load(tmp_path / "model.klt")) == expected[0]


def test_spark_connect(elsewhere, rows, expected, tmp_path):
    run(elsewhere, "connect", rows)
    assert bits(load(tmp_path / "model.klt")) == expected[0]


@pytest.mark.parametrize("n_blocks", [1, 3, 8, 50])
def test_each_block_has_a_partition_of_its_own(spark, n_blocks):
    from pyspark.sql import functions

    names = block_names(n_blocks)
    df = spark.createDataFrame([(name,) for name in names], "name int").repartition(
        n_blocks, "name"
    )
    said = df.select("name", functions.hash("name"), functions.spark_partition_id()).collect()
    assert {row[0] for row in said} == set(names)
    assert len({row[2] for row in said}) == n_blocks
    assert [row[1] for row in said] == spark_hash(np.array([row[0] for row in said])).tolist()


# -- Where the rows of blocks are between rounds


@pytest.fixture
def arrived(monkeypatch, tmp_path):
    """What came to workers in a fit: for each round, blocks with and without their rows."""
    log, plain = tmp_path / "arrived", blocks.SparkBlocks._work
    monkeypatch.setattr(
        blocks.SparkBlocks, "_work", lambda self, task: Watched(plain(self, task), str(log))
    )

    def counts():
        lines = [line.split() for line in log.read_text().splitlines()]
        return Counter((int(number), carried == "True") for number, _, carried in lines)

    return counts


def left(spark):
    folder = Path(spark.conf.get("spark.local.dir"))
    return [path for path in folder.rglob("kernelight-*") if path.is_file()]


def between_rounds(monkeypatch, spark, damage):
    """Call ``damage`` with the files of blocks behind the first round."""
    plain = blocks.SparkBlocks.solve

    def solve(self, task):
        yield from plain(self, task)
        if task.number == 1:
            paths = left(spark)
            assert len(paths) == 3
            damage(paths)

    monkeypatch.setattr(blocks.SparkBlocks, "solve", solve)


def test_rows_move_once(spark, rows, expected, arrived):
    assert bits(fitted(spark.read.parquet(rows))) == expected[0]
    # three rounds and the last, which asks for losses
    assert arrived() == {(number, False): 3 for number in (1, 2, 3, 4)}
    assert not left(spark)


def test_rows_move_once_from_a_folder(spark, rows, expected, arrived, tmp_path):
    work = str(tmp_path / "work")
    assert bits(fitted(spark.read.parquet(rows), work=work)) == expected[0]
    assert arrived() == {(1, True): 3, **{(number, False): 3 for number in (2, 3, 4)}}
    assert not left(spark)
    assert not os.listdir(work)


def removed(paths):
    for path in paths:
        path.unlink()


def truncated(paths):
    paths[0].write_bytes(paths[0].read_bytes()[:-40])


def changed(paths):
    content = bytearray(paths[1].read_bytes())
    content[len(content) // 2] ^= 1
    paths[1].write_bytes(bytes(content))


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("damage", [removed, truncated, changed])
def test_files_that_are_gone_or_damaged(
    spark, rows, expected, arrived, monkeypatch, tmp_path, damage, in_folder
):
    """The second round is done again with the rows, and leaves them for the third."""
    between_rounds(monkeypatch, spark, damage)
    work = str(tmp_path / "work") if in_folder else None
    assert bits(fitted(spark.read.parquet(rows), work=work)) == expected[0]
    again = {(2, False): 3, (2, True): 3, (3, False): 3, (4, False): 3}
    assert arrived() == {(1, in_folder): 3, **again}
    assert not left(spark)


@pytest.mark.parametrize(("files", "tried"), [(Absent, (1, 2, 3)), (NoDisk, (2, 3, 4))])
def test_where_files_are_of_no_use(spark, rows, expected, arrived, monkeypatch, files, tried):
    """Three rounds are tried without rows, and the others go with them."""
    monkeypatch.setattr(fitting, "BlockFiles", files)
    assert bits(fitted(spark.read.parquet(rows))) == expected[0]
    with_rows = {(number, True): 3 for number in (1, 2, 3, 4)}
    assert arrived() == {**with_rows, **{(number, False): 3 for number in tried}}
    assert not left(spark)


def test_duals_that_were_lost_with_the_rows(spark, rows, expected, arrived, monkeypatch):
    """As where an executor is lost behind a round, and another finds no rows: they are null."""
    plain = blocks.SparkBlocks.solve

    def solve(self, task):
        yield from plain(self, task)
        if task.number == 2:
            self._duals = self._duals.selectExpr(
                *blocks.LIGHT, "if(piece = 0, null, now) as now", "before"
            )

    monkeypatch.setattr(blocks.SparkBlocks, "solve", solve)
    assert bits(fitted(spark.read.parquet(rows))) == expected[0]
    # tried without rows and with them, and then all rounds once more
    again = {(1, True): 3, (2, True): 3, (3, True): 6, (4, False): 3}
    assert arrived() == {**{(number, False): 3 for number in (1, 2, 3)}, **again}


def test_what_is_read_again_must_be_the_same(spark, rows, monkeypatch):
    """Rows that are needed once more, and are others by then, are refused."""
    plain, calls = fitting._checked, []

    def checked(pieces, known):
        calls.append(known)
        return plain(pieces, known if len(calls) == 1 else known._replace(digest=1))

    monkeypatch.setattr(fitting, "_checked", checked)
    between_rounds(monkeypatch, spark, removed)
    with pytest.raises(ValueError, match="its rows are not the same each time"):
        fitted(spark.read.parquet(rows))
    assert len(calls) == 2
    assert not left(spark)


# -- What is learned


def test_near_the_fit_of_one_machine(spark, rows, tmp_path):
    options = {"sample": N, "max_rounds": 60, "tol": 2e-3}
    made = fitted(spark.read.parquet(rows), **options)
    local = TableModel(classifier()).fit(rows, target="two", ignore=["id", "three", "amount"])
    here, there = local.model_.model_, made.model_.model_
    assert here.provenance_ == there.provenance_
    assert abs(there.objective_[0] / here.objective_[0] - 1) < 2e-3
    assert (there.dual_gap_ <= 2e-3 * there.objective_).all()
    new = table(500, seed=1)
    assert np.mean(made.predict(new) == local.predict(new)) > 0.98
    assert made.n_rows_ == N
    assert made.trained_on_ == "a DataFrame of Spark"
    # it is a model like any other
    made.save(tmp_path / "model.klt")
    again = load(tmp_path / "model.klt")
    assert (again.predict(new) == made.predict(new)).all()
    assert np.allclose(again.explain(new).values, made.explain(new).values)
    df = spark.createDataFrame(new.to_pandas())
    said = score(df, made, keep=["id"]).toArrow().sort_by("id")["prediction"].to_pylist()
    assert said == made.predict(new.sort_by("id")).tolist()


def test_several_classes_of_which_one_is_rare(spark):
    data = table()
    labels = data["three"].to_pylist()
    labels[5] = labels[77] = labels[800] = 9  # which a sample by itself would hardly have
    data = data.set_column(data.column_names.index("three"), "three", pa.array(labels))
    df = spark.createDataFrame(data.to_pandas())
    made = fitted(df, "three", model=classifier(class_weight="balanced"), max_rounds=8)
    assert made.classes_.tolist() == [0, 1, 2, 9]
    assert made.model_.model_.weights_.shape[1] == 4
    counts = np.unique(labels, return_counts=True)[1]
    weights = made.model_.class_weight
    assert np.allclose([weights[each] for each in (0, 1, 2, 9)], N / (4 * counts))
    assert np.mean(made.predict(data) == labels) > 0.75
    assert (made.predict(data)[[5, 77, 800]] == 9).any()


def test_quantities(spark, rows):
    df = spark.read.parquet(rows)
    model = KernelRegressor("gmm", n_components=256, C=1.0, scale="standard")
    made = fitted(df, "amount", model=model, max_rounds=8)
    again = fitted(df.repartition(7), "amount", model=model, max_rounds=8)
    assert bits(made) == bits(again)
    assert made.task == "regression"
    assert made.score(table()) > 0.8


def test_dense_features(spark, rows):
    model = KernelClassifier("gaussian", n_components=256, gamma=0.3, C=1.0, scale="standard")
    made = fitted(spark.read.parquet(rows), model=model, max_rounds=8)
    assert made.model_.model_.bits_ is None
    assert made.score(table(400, seed=2)) > 0.75


def test_an_array_column_without_ids(spark):
    data = table()
    X = np.stack([data[f"x{at}"].to_numpy() for at in range(4)], axis=1)
    frame = pa.table({"x": list(X), "y": data["two"], "other": data["word"]})
    df = spark.createDataFrame(frame.to_pandas())
    made = [
        fitted(each, "y", id=None, features="x", ignore=[])
        for each in (df, df.unionAll(df.limit(0)).repartition(6))
    ]
    assert bits(made[0]) == bits(made[1])
    names = [column.name for column in made[0].encoding_.columns]
    assert names == ["x_0", "x_1", "x_2", "x_3"]
    said = score(df, made[0], features="x", keep=[]).toArrow()["prediction"].to_pylist()
    assert said == made[0].predict(pa.table({f"x_{at}": X[:, at] for at in range(4)})).tolist()


def test_rows_without_a_target_are_left_out(spark):
    data = table(300)
    words = data["two"].to_pylist()
    words[3], words[4], words[200] = None, "", "NA"
    data = data.set_column(data.column_names.index("two"), "two", pa.array(words))
    with pytest.warns(DataWarning, match="3 rows have no target and are left out"):
        made = fitted(spark.createDataFrame(data.to_pandas()), sample=100)
    assert made.n_rows_ == 297
    assert made.classes_.tolist() == ["no", "yes"]


def test_the_default_model(spark, rows):
    df = spark.read.parquet(rows)
    average = KernelClassifier("auto", C=1.0, scale="standard")
    with pytest.warns(DataWarning, match="in blocks the model is that of kernel='gmm'"):
        fitted(df, model=average, max_rounds=1)
    with warnings.catch_warnings():  # nobody asked for another
        warnings.filterwarnings("error", ".*kernel='auto'")
        made = fitted(df, model=None, max_rounds=1)
    assert made.model_.map_.n_components == 1024
    unchanged = TableModel(classifier())
    assert fitted(df, model=unchanged, max_rounds=1).n_rows_ == N
    assert not hasattr(unchanged, "model_")


def test_progress_and_too_few_rounds(spark, rows):
    events = []
    df = spark.read.parquet(rows)
    options = {**OPTIONS, "ignore": ["three", "amount"], "model": classifier()}
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 rounds"):
        fit(df, "two", watch=events.append, **options)
    rounds = [event.done for event in events if event.unit == "rounds"]
    assert rounds == [1, 2, 3, 3]


def test_targets_are_read_as_on_one_machine(spark):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    kind = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    text = [f"{each}x{' ' * (at % 2)}" if at % 30 else "n/a" for at, each in enumerate(kind)]
    columns = {"id": np.arange(240), "x0": X[:, 0], "x1": X[:, 1]}
    options = {"model": classifier(), "ignore": [], "blocks": 1}
    for target, categorical in ((text, []), (kind.tolist(), ["y"]), (kind > 0, ["y"])):
        rows = pa.table({**columns, "y": target})
        local = TableModel(classifier()).fit(
            rows, target="y", ignore=["id"], categorical=categorical
        )
        df = spark.createDataFrame(
            rows.to_pandas(),
            "id long, x0 double, x1 double, y "
            + ({str: "string", int: "long"}.get(type(target[0]), "boolean")),
        )
        made = fitted(df, "y", categorical=categorical, **options)
        assert made.n_rows_ == local.n_rows_
        assert made.classes_.tolist() == local.classes_.tolist()


def test_any_names_of_columns(spark):
    names = ["i.`d", "a.b", "c d", "e`f", "rand(1)", "y.z"]
    X = np.random.default_rng(0).normal(size=(120, 4))
    rows = [(at, *row, "yes" if row[0] > 0 else "no") for at, row in enumerate(X.tolist())]
    df = spark.createDataFrame(rows, names)
    made = fitted(df, "y.z", id="i.`d", ignore=[], blocks=2)
    assert [column.name for column in made.encoding_.columns] == names[1:-1]


# -- Refusals


def refused(sentence, df, error=ValueError, **options):
    with pytest.raises(error, match=sentence):
        fitted(df, **options)


def test_ids_are_refused(spark, rows):
    from pyspark.sql import functions

    df = spark.read.parquet(rows)
    refused(
        "has the id 14 in two rows",
        df.withColumn("id", functions.when(df.id == 7, 14).otherwise(df.id)),
    )
    refused("1 row of df have no id", df.withColumn("id", functions.when(df.id != 7, df.id)))
    refused(
        "are double, and must be whole numbers or text", df.withColumn("id", df.id * 0.5), TypeError
    )
    for made in (
        functions.monotonically_increasing_id(),
        functions.expr("uuid()"),
        (functions.rand() * 1e15).cast("long"),
    ):
        refused("the ids in column 'id' are made by", df.withColumn("id", made))
        refused("gives other values when", df.withColumn("x1", made))
    hidden = functions.udf(lambda each: int.from_bytes(os.urandom(7), "big"), "long")
    refused("its rows are not the same each time", df.withColumn("id", hidden("id")))


def test_wrong_arguments(spark, rows):
    df = spark.read.parquet(rows)
    refused("df must be a DataFrame of Spark, got a Table", table(), TypeError)
    refused("df has no column 'none'", df, target="none")
    refused("no column 'that'", df, ignore=["that"])
    refused("ignore must be a list", df, TypeError, ignore="id")
    refused("must be different columns", df, id="two")
    refused("target 'two' is array<string>", df.selectExpr("* except (two)", "array('a') as two"))
    refused("features must be arrays", df, features="x1")
    refused("blocks must be", df, blocks=0)
    refused("method='exact' learns from all rows at once", df, model=classifier(method="exact"))
    refused("blocks=.* is enough", df, block_memory="20K")
    refused(r"allow \d.* at least\.$", df, block_memory=100)
    refused("block_memory must be above 0", df, block_memory=0)
    refused("categorical must be a list", df, TypeError, categorical="x1")
    refused("watch must be a function", df, TypeError, watch=3)
    refused("work must be the path", df, TypeError, work=3)
    refused("work='/proc/none' is no folder that Spark can write to", df, work="/proc/none")
    refused("is the target, and ignore leaves it out", df, ignore=["two"])
    refused("columns 'x1' and 'X1', which are the same", df.selectExpr("*", "x2 as X1"))
    refused("such names are ours", df.withColumn("kernelight_id", df.id))
    refused(
        "missing in every row",
        df.selectExpr("id", "x1", "cast(null as string) as two"),
        DataError,
        ignore=[],
    )
    refused("has no rows", df.limit(0), DataError)


def test_a_value_outside_the_sample_is_said_in_one_sentence(spark, rows):
    """A worker finds it, and its error is raised here as if the sample had shown it."""
    from pyspark.sql import functions

    df = spark.read.parquet(rows)
    drawn = functions.xxhash64(functions.lit(SALT), functions.xxhash64("id"))
    last = df.orderBy(drawn.desc()).first().id
    x0 = functions.when(functions.col("id") == last, float("inf")).otherwise(functions.col("x0"))
    with pytest.raises(DataError, match="column 'x0': infinity is no value") as caught:
        fitted(df.withColumn("x0", x0), sample=100)
    assert type(caught.value.__cause__).__module__.startswith("pyspark")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
