"""`score` and `encode` on Spark: equal to one machine to the bit, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults import CountedTicket, KillOnce
from sessions import environment, lacking

from kernelight import GCWS, Codes, KernelClassifier, KernelRegressor, TableMap, TableModel
from kernelight.distributed import Ticket
from kernelight.distributed.spark import encode, score, scoring

N = 500


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    word = rng.choice(["red", "green", "blue"], n)
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) > 0
    return pa.table(
        {
            "id": np.arange(n),
            **{f"x{at}": pa.array(X[:, at], from_pandas=True) for at in range(5)},
            "word": pa.array([None if at % 31 == 0 else each for at, each in enumerate(word)]),
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    made = TableModel(KernelClassifier("gmm", n_components=64, C=1.0))
    return made.fit(table(), target="y", ignore=["id"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """New rows in a file, and what one machine says of them."""
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    pq.write_table(table(1), path, row_group_size=100)
    return path


def as_table(df):
    """All rows of a Spark frame, in the order of their ids."""
    return df.toArrow().sort_by("id").combine_chunks()


@pytest.mark.parametrize(("partitions", "size"), [(1, 7777), (5, 1), (64, 50_000), (3, 7)])
def test_equal_to_one_machine(spark, model, rows, partitions, size):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
    df = spark.read.parquet(rows).repartition(partitions)
    local = model.predict_arrow(table(1), scores=True, probabilities=True)
    said = as_table(score(df, model, scores=True, probabilities=True, keep=["id"]))
    assert said.column_names == ["id", "prediction", "scores", "probabilities"]
    for name in local.schema.names:
        assert said[name].to_pylist() == local[name].to_pylist()
    made = TableMap.of(model)
    codes = as_table(encode(df, model, keep=["id"]))
    expected = made.encode_arrow(table(1))
    assert Codes.from_binary(codes["codes"], provenance=made.provenance) == Codes(
        expected.array, expected.bits, empty=expected.empty, provenance=made.provenance
    )


def test_columns_pass_through(spark, model, rows):
    df = spark.read.parquet(rows)
    said = score(df, model)
    assert said.columns == [*df.columns, "prediction"]
    assert as_table(said).drop_columns(["prediction"]).to_pylist() == as_table(df).to_pylist()


def test_nothing_is_computed_before_it_is_asked_for(spark, model):
    df = spark.range(3).selectExpr("id", "raise_error('computed') as x0")
    with pytest.raises(ValueError, match="no column 'x1'"):
        score(df, model)
    names = [column.name for column in model.encoding_.columns]
    text = (
        spark.range(3)
        .coalesce(1)
        .selectExpr("id", *(f"cast(id as string) as {name}" for name in names))
    )
    with pytest.raises(ValueError, match="is string where the model has numbers; cast the column"):
        score(text, model)
    arrays = text.selectExpr("id", *(f"array(1) as {name}" for name in names))
    with pytest.raises(ValueError, match="is array<int> where the model has numbers"):
        score(arrays, model)
    values = {name: "double('infinity')" if name != "word" else "'red'" for name in names}
    infinite = spark.range(3).selectExpr(
        "id", *(f"{each} as {name}" for name, each in values.items())
    )
    lazy = score(infinite, model)
    with pytest.raises(Exception, match="column 'x0': infinity is no value"):  # of a worker
        lazy.collect()


def test_an_array_column_and_dense_features(spark):
    X = np.random.default_rng(0).normal(size=(40, 4))
    made = GCWS(16).fit(X)
    df = spark.createDataFrame(
        [(at, row.tolist()) for at, row in enumerate(X)], "id long, x array<double>"
    )
    codes = as_table(encode(df, made, features="x", keep=["id"]))
    assert (Codes.from_binary(codes["codes"]).array == made.encode(X).array).all()
    dense = TableMap("rbf", 8, method="fourier").fit(pa.table({f"x{j}": X[:, j] for j in range(4)}))
    named = df.selectExpr("id", *(f"x[{at}] as x{at}" for at in range(4)))
    got = as_table(encode(named, dense, keep=["id"]))
    assert np.array(got["features"].to_pylist(), np.float32).shape == (40, 8)
    assert (
        np.array(got["features"].to_pylist(), np.float32)
        == dense.encode_arrow(pa.table({f"x{j}": X[:, j] for j in range(4)}))
    ).all()


def test_empty_partitions_and_no_rows(spark, model, rows):
    df = spark.read.parquet(rows)
    few = df.where("id < 2").repartition(8)
    assert as_table(score(few, model, keep=["id"])).num_rows == 2
    none = score(df.where("id < 0"), model, keep=["id"])
    assert none.count() == 0
    assert none.columns == ["id", "prediction"]


def test_quantities_with_intervals(spark):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    data = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": X[:, 0] + rng.normal(size=300)})
    made = TableModel(KernelRegressor("gmm", n_components=64)).fit(data, target="y")
    df = spark.createDataFrame(data.append_column("id", pa.array(range(300))).to_pandas())
    said = as_table(score(df, made, interval=0.8, keep=["id"]))
    local = made.predict_arrow(data, interval=0.8)
    for name in ("prediction", "low", "high"):
        assert said[name].to_pylist() == local[name].to_pylist()


def test_a_killed_worker_changes_nothing(spark, model, rows, tmp_path):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
    marker = tmp_path / "killed"
    df = spark.read.parquet(rows).coalesce(2)
    killed = df.mapInArrow(KillOnce(str(marker)), df.schema)
    local = model.predict_arrow(table(1))["prediction"].to_pylist()
    assert as_table(score(killed, model, keep=["id"]))["prediction"].to_pylist() == local
    assert marker.exists()
    marker.unlink()
    codes = as_table(encode(killed, model, keep=["id"]))["codes"]
    assert marker.exists()
    assert codes.to_pylist() == TableMap.of(model).encode_arrow(table(1)).to_binary().to_pylist()


def test_a_killed_executor_and_speculation_change_nothing(elsewhere, model, rows, tmp_path):
    model.save(tmp_path / "model.klt")
    local = model.predict_arrow(table(1))["prediction"].to_pylist()
    printed = elsewhere(
        "local-cluster[2,1,1024]",
        f"""
        from faults import EXECUTOR, KillOnce
        from kernelight import load
        from kernelight.distributed.spark import encode, score
        import os
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
        df = spark.read.parquet({rows!r}).repartition(4)
        df = df.mapInArrow(KillOnce(folder + "/killed", EXECUTOR), df.schema)
        model = load(folder + "/model.klt")
        said = score(df, model, keep=["id"]).toArrow().sort_by("id")
        assert os.path.exists(folder + "/killed")
        os.remove(folder + "/killed")
        codes = encode(df, model, keep=["id"]).toArrow().sort_by("id")
        assert os.path.exists(folder + "/killed")
        print("RESULT", said["prediction"].to_pylist())
        print("RESULT", [each.hex() for each in codes["codes"].to_pylist()])
        """,
        {"spark.speculation": "true", "spark.speculation.multiplier": "1.01"},
    )
    codes = TableMap.of(model).encode_arrow(table(1)).to_binary().to_pylist()
    assert printed.split("RESULT ")[1].strip() == str(local)
    assert printed.split("RESULT ")[2].strip() == str([each.hex() for each in codes])


def test_spark_connect(elsewhere, model, rows, tmp_path):
    model.save(tmp_path / "model.klt")
    local = model.predict_arrow(table(1))["prediction"].to_pylist()
    printed = elsewhere(
        "connect",
        f"""
        from kernelight import Codes, TableMap, load
        from kernelight.distributed.spark import encode, score
        model = load(folder + "/model.klt")
        df = spark.read.parquet({rows!r}).repartition(3)
        said = score(df, model, keep=["id"]).toArrow().sort_by("id")
        codes = encode(df, model, keep=["id"]).toArrow().sort_by("id")
        made = TableMap.of(model)
        assert len(Codes.from_binary(codes["codes"], provenance=made.provenance)) == {N}
        print("RESULT", said["prediction"].to_pylist())
        """,
    )
    assert printed.split("RESULT ")[1].strip() == str(local)


def test_a_worker_with_another_version_is_refused(spark, model, rows, monkeypatch):
    from kernelight.distributed import ticket

    monkeypatch.setattr(
        ticket, "probe", lambda: "0" * 32
    )  # of the driver; workers have the real one
    df = score(spark.read.parquet(rows).coalesce(1), model, keep=["id"])
    with pytest.raises(Exception, match="makes other codes than kernelight"):
        df.collect()


def test_a_process_loads_a_model_once(spark, model, rows, tmp_path, monkeypatch):
    log = tmp_path / "loads"

    def counted(fitted):
        return CountedTicket(**vars(Ticket.of(fitted)), log=str(log))

    monkeypatch.setattr(scoring, "Ticket", SimpleNamespace(of=counted))
    # a seed of its own, so that no process has this model already
    other = TableModel(KernelClassifier("gmm", n_components=16, C=1.0, random_state=9))
    other.fit(table(), target="y", ignore=["id"])
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    df = spark.read.parquet(rows).repartition(12)
    assert score(df, other, keep=["id"]).count() == N
    processes = log.read_text().split()
    assert 1 <= len(processes) < 12
    assert len(set(processes)) == len(processes)


def test_any_names_of_columns(spark):
    names = ["e`f", "a.b", "a b", "ünï", "kernelight_id", "values"]
    X = np.random.default_rng(0).normal(size=(60, 6))
    rows = pa.table({"id": np.arange(60), **{name: X[:, at] for at, name in enumerate(names)}})
    made = TableMap("gmm", 16).fit(rows, ids="id")
    df = spark.createDataFrame([tuple(row.values()) for row in rows.to_pylist()], rows.schema.names)
    said = as_table(encode(df, made))
    assert said.column_names == ["id", *names, "codes"]
    codes = Codes.from_binary(said["codes"], provenance=made.provenance)
    assert (codes.array == made.encode_arrow(rows).array).all()


def test_a_column_that_some_files_lack(spark, model, tmp_path):
    pq.write_table(table(1, 50), tmp_path / "a.parquet")
    pq.write_table(table(2, 50).drop_columns(["x3"]), tmp_path / "b.parquet")
    df = spark.read.option("mergeSchema", "true").parquet(str(tmp_path))
    said = score(df, model, keep=["id"]).toArrow()
    assert said.num_rows == 100
    lacks = table(2, 50).set_column(4, "x3", pa.nulls(50, pa.float64()))
    expected = [
        *model.predict_arrow(table(1, 50))["prediction"].to_pylist(),
        *model.predict_arrow(lacks)["prediction"].to_pylist(),
    ]
    assert sorted(said["prediction"].to_pylist()) == sorted(expected)


def test_wrong_arguments(spark, model, rows):
    df = spark.read.parquet(rows)
    with pytest.raises(TypeError, match="df must be a DataFrame of Spark, got a Table of pyarrow"):
        score(table(1), model)
    with pytest.raises(TypeError, match="model must be a fitted TableModel, got a GCWS"):
        score(df, GCWS(4).fit(np.eye(3)))
    with pytest.raises(ValueError, match="df has a column 'prediction' already"):
        score(df.withColumnRenamed("y", "prediction"), model)
    with pytest.raises(ValueError, match="df has a column 'prediction' already"):
        score(df.withColumnRenamed("y", "PREDICTION"), model)
    with pytest.raises(ValueError, match="columns 'x1' and 'X1', which are the same name"):
        score(df.selectExpr("*", "x2 as X1"), model, keep=["id"])
    with pytest.raises(ValueError, match="keep names a column twice"):
        score(df, model, keep=["id", "id"])
    with pytest.raises(ValueError, match="df has no column 'z'"):
        score(df, model, keep=["z"])
    with pytest.raises(TypeError, match="keep must be a list"):
        score(df, model, keep="id")
    with pytest.raises(ValueError, match="knows no names of columns"):
        encode(df, GCWS(4).fit(np.eye(3)))
    with pytest.raises(ValueError, match="Intervals are for quantities"):
        score(df, model, interval=0.9)
    with pytest.raises(Exception, match="not fitted"):
        score(df, TableModel())


def test_a_stage_of_a_pipeline(spark, model, rows, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import SQLTransformer

    from kernelight.distributed.spark import ScoringTransformer

    stages = [
        SQLTransformer(statement="SELECT *, x0 * 2 AS twice FROM __THIS__"),
        ScoringTransformer(model, probabilities=True),
    ]
    with pytest.raises(TypeError, match="model must be a fitted TableModel, got a int"):
        ScoringTransformer(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'prob'"):
        ScoringTransformer(model, prob=True)
    df = spark.read.parquet(rows)
    made = Pipeline(stages=stages).fit(df)
    local = model.predict_arrow(table(1))["prediction"].to_pylist()
    said = as_table(made.transform(df))
    assert said["prediction"].to_pylist() == local
    assert {"twice", "probabilities"} <= set(said.column_names)
    path = str(tmp_path / "pipeline")
    made.write().overwrite().save(path)
    again = as_table(PipelineModel.load(path).transform(df))
    assert again == said
    stages[1].save(str(tmp_path / "stage"))
    alone = ScoringTransformer.load(str(tmp_path / "stage"))
    assert alone.uid == stages[1].uid
    assert alone.options == {"probabilities": True}


def test_the_script_for_spark_submit(model, rows, tmp_path):
    reason = lacking()
    if reason:
        pytest.skip(reason)
    model.save(tmp_path / "model.kl")
    script = Path(__file__).resolve().parents[2] / "examples" / "spark_scoring.py"
    submit = Path(sys.executable).parent / "spark-submit"
    output = tmp_path / "scored"
    done = subprocess.run(
        [
            str(submit),
            "--master",
            "local[2]",
            str(script),
            str(tmp_path / "model.kl"),
            rows,
            str(output),
        ],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"{N} predictions are in {output}." in done.stdout
    said = pq.read_table(output).sort_by("id")
    local = model.predict_arrow(table(1), probabilities=True)
    assert said["prediction"].to_pylist() == local["prediction"].to_pylist()
