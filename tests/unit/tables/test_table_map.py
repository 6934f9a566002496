"""TableMap and the files of its codes: the codes of the library, in every format and batch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import kernelight
from kernelight import (
    GCWS,
    KernelClassifier,
    KernelNystroem,
    State,
    TableMap,
    TableModel,
    open_dataset,
)
from kernelight.data import DataError
from kernelight.tables import memory_limit
from kernelight.tables.code_files import describe_encoded, read_encoded, write_encoded
from kernelight.tables.memory_limit import batch_rows, taken


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    lines = ["name,a,b,colour,kind"]
    for at, (a, b) in enumerate(random.normal(size=(400, 2)).round(4)):
        colour, kind = "red" if at % 2 else "blue", "same" if a * b > 0 else "other"
        lines.append(f"r{at},{a if at % 9 else ''},{b},{colour},{kind}")
    lines[7] = "zero,0,0,,other"
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


READING = {"ids": "name", "target": "kind"}


@pytest.fixture
def small_batches(monkeypatch):
    """So that every file comes in many batches."""
    monkeypatch.setattr(memory_limit, "BATCH_BYTES", 1)
    monkeypatch.setattr(memory_limit, "LEAST_ROWS", 37)
    monkeypatch.setattr(
        "kernelight.tables.table_map.sample_of", lambda data, *others: data.materialise()[0]
    )


def test_codes_are_those_of_the_map_on_all_rows(table, small_batches):
    X, _ = open_dataset(table, **READING).materialise()
    for options in (
        {},
        {"bits": 3},
        {"bits": 12},
        {"kernel": "acos"},
        {"kernel": "exp_gmm", "gamma": 2.0, "p": 0.5},
    ):
        made = TableMap(n_components=40, **options).fit(table, **READING)
        params = {name: value for name, value in options.items() if name in ("gamma", "p")}
        wanted = kernelight.feature_map(
            kernelight.kernels.get(options.get("kernel", "gmm"), **params), 40
        )
        if "bits" in wanted.get_params():
            wanted.set_params(bits=options.get("bits", 8))
        assert made.encode(table, **READING) == wanted.fit(X).encode(X)
    parts = list(made.encode_batches(table, **READING))
    assert [len(part.values) for part in parts] == [37] * 10 + [30]
    assert [name for part in parts for name in part.ids] == open_dataset(table, **READING).ids


@pytest.mark.parametrize("ending", ["klt", "npz", "parquet"])
@pytest.mark.parametrize("bits", [1, 8, 12])
def test_files_hold_the_codes(table, tmp_path, small_batches, ending, bits):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    made = TableMap(n_components=40, bits=bits).fit(table, **READING)
    X, _ = open_dataset(table, **READING).materialise()
    wanted = GCWS(40, bits=bits).fit(X).encode(X)
    path = tmp_path / f"codes.{ending}"
    assert write_encoded(path, made, made.encode_batches(table, **READING)) == 400
    found = read_encoded(path)
    assert found.values == wanted
    if ending == "klt":
        wanted.save(tmp_path / "alone.klt")
        assert path.read_bytes() == (tmp_path / "alone.klt").read_bytes()
        assert describe_encoded(path) is None
        return
    assert found.ids == open_dataset(table, **READING).ids
    about = describe_encoded(path)
    assert (about["kind"], about["rows"], about["bits"], about["provenance"]) == (
        "codes",
        400,
        bits,
        wanted.provenance,
    )


def test_what_others_see_in_the_files(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    (tmp_path / "t.csv").write_text("id,a,b\nü,1,2\n,0,0\nlonger one,3,4\n")
    made = TableMap(n_components=6, bits=9).fit(tmp_path / "t.csv", ids="id")
    for name in ("codes.npz", "codes.parquet"):
        write_encoded(tmp_path / name, made, made.encode_batches(tmp_path / "t.csv", ids="id"))
    codes = made.encode(tmp_path / "t.csv", ids="id")
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["codes"], codes.array)
        assert file["codes"].dtype == np.uint16
        assert file["empty"].tolist() == [False, True, False]
        assert file["ids"].tolist() == ["ü", "", "longer one"]
        assert (int(file["bits"]), str(file["provenance"])) == (9, codes.provenance)
    read = pq.read_table(tmp_path / "codes.parquet")
    assert [(f.name, str(f.type)) for f in read.schema] == [
        ("id", "string"),
        ("codes", "fixed_size_list<element: uint16>[6]"),
        ("empty", "bool"),
    ]
    assert read.column("codes").to_pylist() == codes.array.tolist()
    about = json.loads(read.schema.metadata[b"kernelight"])
    assert (about["bits"], about["provenance"], about["kernel"]) == (
        9,
        codes.provenance,
        "GMM(p=1.0, center=None)",
    )


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_features_where_there_are_no_codes(table, tmp_path, small_batches, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    made = TableMap("gaussian", 32, gamma="median", scale="standard").fit(table, **READING)
    X, _ = open_dataset(table, **READING).materialise()
    wanted = made.map_.transform(made.scaling_(X))
    path = tmp_path / f"features.{ending}"
    write_encoded(path, made, made.encode_batches(table, **READING))
    found = read_encoded(path)
    assert found.values.dtype == np.float32
    np.testing.assert_allclose(found.values, wanted, atol=1e-6)
    assert describe_encoded(path)["kind"] == "features"
    median = np.median(made.map_.kernel(made.scaling_(X))[np.triu_indices(400, 1)])
    assert median == pytest.approx(np.exp(-1), abs=0.1)
    with pytest.raises(ValueError, match="gives dense features"):
        write_encoded(tmp_path / "x.klt", made, made.encode_batches(table, **READING))


def test_a_map_is_stored_with_its_columns(table, tmp_path):
    (tmp_path / "new.csv").write_text("colour,b,a\nred,1,\ngreen,-2,3\n")
    made = TableMap(n_components=16, scale="minmax+complement").fit(table, **READING)
    made.save(tmp_path / "map.klt")
    again = kernelight.load(tmp_path / "map.klt")
    assert again.encode(tmp_path / "new.csv") == made.encode(tmp_path / "new.csv")
    assert again.provenance == made.provenance
    assert again.learned == made.learned is not None
    assert TableMap.load(tmp_path / "map.klt").scale == "minmax+complement"
    (tmp_path / "other.csv").write_text("colour,b\nred,1\n")
    with pytest.raises(DataError, match=r"do not match those of the map: 'a' missing\."):
        again.encode(tmp_path / "other.csv")
    meta, arrays = (
        State.load(tmp_path / "map.klt").meta,
        dict(State.load(tmp_path / "map.klt").arrays),
    )
    for key, value in (
        ("scaling", {"name": "none", "n_features": 3}),
        ("params", {}),
        ("encoding", 3),
        ("parts", {}),
    ):
        with pytest.raises(ValueError, match="does not describe a TableMap"):
            TableMap.from_state(State({**meta, key: value}, arrays))


def test_what_is_inside_other_things(table, tmp_path):
    model = TableModel(KernelClassifier(n_components=32, C=1.0, scale="minmax")).fit(
        table, **READING
    )
    X, y = open_dataset(table, **READING).materialise()
    seen = model.model_.map_.encode(model.model_.scaling_(X))
    assert TableMap.of(model).encode(table) == seen
    assert TableMap.of(model.model_).encode(table, **READING) == seen
    gcws = GCWS(16).fit(X)
    assert TableMap.of(gcws).encode(table, **READING) == gcws.encode(X)
    with pytest.raises(DataError, match="has 2 features, but the map takes 5"):
        TableMap.of(gcws).encode(table, ignore=["name", "colour", "kind"])
    exact = KernelClassifier(method="exact", C=1.0, scale=None).fit(X, y)
    for thing, words in ((exact, "method='exact'"), (seen, "holds a Codes, which is neither")):
        with pytest.raises(ValueError, match=words):
            TableMap.of(thing, where="x.klt")


def test_sparse_rows(tmp_path):
    random = np.random.default_rng(0)
    X = sp.random(60, 30, 0.2, format="csr", random_state=random)
    lines = [
        " ".join([str(row % 2), *(f"{j + 1}:{X[row, j]!r}" for j in X[row].indices)])
        for row in range(60)
    ]
    (tmp_path / "x.svm").write_text(
        "\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n"
    )
    (tmp_path / "few.svm").write_text("1 1:1 2:3\n")
    made = TableMap(n_components=16).fit(tmp_path / "x.svm")
    assert made.encode(tmp_path / "x.svm") == GCWS(16).fit(X).encode(X)
    narrow = TableMap.of(made.map_).encode(tmp_path / "few.svm")
    row = sp.csr_matrix(([1.0, 3.0], [0, 1], [0, 2]), shape=(1, made.map_.n_features_in_))
    assert narrow == made.map_.encode(row)


def test_maps_learn_from_a_fair_sample_of_many_rows(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    np.savez(tmp_path / "x.npz", X=X)
    monkeypatch.setattr("kernelight.tables.table_map.MAP_ROWS", 500)
    made = TableMap("intersection", 20).fit(tmp_path / "x.npz")
    assert isinstance(made.map_, KernelNystroem)
    landmarks = [
        int(np.flatnonzero((row == X).all(axis=1))[0]) for row in made.map_._landmark_values
    ]
    assert max(landmarks) > 1500  # not the first rows only


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kernel": "gmn"}, "did you mean 'gmm'"),
        ({"gamma": 1.0}, "'gmm' has no gamma"),
        ({"kernel": "rbf", "p": 2.0}, "'rbf' has no p"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must"),
        ({"bits": 20}, "bits must"),
        ({"n_components": 0}, "n_components must"),
        ({"method": "aligned"}, "for models"),
        ({"method": "exact"}, "for models"),
        ({"scale": "big"}, "scale must"),
        ({"method": "none"}, "method must be one of .* got 'none'"),
        ({"kernel": "mm_rbf"}, "gives sparse features"),
    ],
)
def test_wrong_wishes(table, given, words):
    with pytest.raises(ValueError, match=words):
        TableMap(**given).fit(table, ignore=["name", "a", "b", "kind"]).encode(
            table, ignore=["name", "a", "b", "kind"]
        )


def test_wrong_use(table):
    with pytest.raises(NotFittedError):
        TableMap().encode(table)
    with pytest.raises(TypeError, match="name of a kernel"):
        TableMap(kernelight.kernels.GMM()).fit(table)
    with pytest.raises(ValueError, match="memory is 1 MB"):
        TableMap().fit(table, memory="1M", **READING)
    assert (
        batch_rows(taken() + (1 << 30), 100, 1000)
        > batch_rows(taken() + (110 << 20), 10_000, 1000)
        >= 256
    )


def sentence_of(read):
    """What a DataError says, if there is one; anything else would be a failure."""
    try:
        read()
    except DataError as error:
        return str(error)
    return ""


def test_damaged_files_are_one_sentence(table, tmp_path):
    made = TableMap(n_components=8).fit(table, **READING)
    parts = list(made.encode_batches(table, **READING))
    names = ["c.npz"]
    write_encoded(tmp_path / "c.npz", made, parts)
    if pytest.importorskip("pyarrow", reason="Parquet needs pyarrow"):
        names.append("c.parquet")
        write_encoded(tmp_path / "c.parquet", made, parts)
    random = np.random.default_rng(0)
    refused = 0
    for name in names:
        content = (tmp_path / name).read_bytes()
        for _ in range(60):
            broken = bytearray(content)
            if random.random() < 0.3:
                broken = broken[: random.integers(4, len(broken))]
            for at in random.integers(4, len(broken), size=3):
                broken[at] = random.integers(256)
            (tmp_path / f"broken-{name}").write_bytes(broken)
            said = sentence_of(lambda name=name: read_encoded(tmp_path / f"broken-{name}"))
            assert "\n" not in said
            refused += bool(said)
    assert refused > 30


def test_columns_of_a_data_set(table, tmp_path):
    data = open_dataset(table, **READING)
    assert data.columns == ["name", "a", "b", "colour", "kind"]
    bare = data.without_target
    assert bare.without_target is bare
    assert bare.feature_names == data.feature_names
    assert bare.materialise()[1] is None
    assert (
        open_dataset(table, target=None).leaving_out("name").leaving_out("nothing").columns
        == data.columns
    )
    (tmp_path / "x.svm").write_text("1 1:2\n")
    assert open_dataset(tmp_path / "x.svm").columns is None
