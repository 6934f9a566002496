"""Exported C: equal to its twin and to Python, strict compilers, and what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from building import ARM, DEVICES, HOSTS, device_program, need, on_device, on_host, run
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelight
from kernelight import (
    GCWS,
    BinaryFourier,
    ColumnScaler,
    CompactClassifier,
    IntegerFourier,
    KernelClassifier,
    LinearClassifier,
    SignProjection,
    TableModel,
    TernaryClassifier,
)
from kernelight.estimators.device_size import flash_of
from kernelight.export import to_c

X, Y = load_digits(return_X_y=True)
ODD = np.vstack([np.zeros((1, 64)), np.eye(64) * 3, -np.eye(64)])  # empty rows, ties, signs
ROWS = np.vstack([X, ODD])


def fitted(feature_map, model=None, scale=None, rows=X, y=Y):
    steps = [feature_map, TernaryClassifier(n_jobs=1) if model is None else model]
    if scale is not None:
        steps.insert(0, scale if isinstance(scale, ColumnScaler) else ColumnScaler(scale))
    return make_pipeline(*steps).fit(rows[:1200], y[:1200])


def sorf(n=256, **options):
    return BinaryFourier(n, sigma=44.0, projection="sorf", **options)


def signs(n=256, projection="sorf"):
    return SignProjection(n, projection=projection)


def integer(n=200, sigma=44.0):
    return IntegerFourier(n, sigma=sigma)


LIGHT = np.linspace(0.0, 1.5, 64)
CASES = {
    "plain": lambda: fitted(sorf(threshold=False)),
    "threshold": lambda: fitted(sorf()),
    "few": lambda: fitted(sorf(7, threshold=False)),
    "ragged": lambda: fitted(sorf(300), LinearClassifier()),
    "two classes": lambda: fitted(sorf(130), y=Y > 4),
    "two classes, linear": lambda: fitted(signs(130), LinearClassifier(), y=Y > 4),
    "signs": lambda: fitted(signs()),
    "signs, linear": lambda: fitted(signs(), LinearClassifier()),
    "minmax": lambda: fitted(BinaryFourier(256, projection="sorf"), scale="minmax"),
    "complement": lambda: fitted(signs(), scale="minmax+complement"),
    "standard": lambda: fitted(BinaryFourier(256, projection="sorf"), scale="standard"),
    "weighted": lambda: fitted(signs(), scale=ColumnScaler("max", weights=LIGHT)),
    "only weights": lambda: fitted(sorf(), scale=ColumnScaler("none", weights=LIGHT)),
    "features": lambda: fitted(integer()),
    "few features": lambda: fitted(integer(7)),
    "whole blocks": lambda: fitted(integer(128)),
    "features, linear": lambda: fitted(integer(), LinearClassifier(C=1.0)),
    "features, two classes": lambda: fitted(integer(130), y=Y > 4),
    "features, two classes, linear": lambda: fitted(integer(130), LinearClassifier(), y=Y > 4),
    "features, sparse": lambda: fitted(integer(), TernaryClassifier(sparsity=0.9)),
    "features, minmax": lambda: fitted(integer(sigma="median"), scale="minmax"),
    "features, complement": lambda: fitted(integer(sigma="median"), scale="minmax+complement"),
    "features, standard": lambda: fitted(integer(sigma="median"), scale="standard"),
    "features, weighted": lambda: fitted(
        integer(sigma="median"), scale=ColumnScaler("max", weights=LIGHT)
    ),
    "features, near": lambda: fitted(integer(sigma=0.02)),  # a number is more than a turn
}
FLOAT_CASES = {
    **CASES,
    "fastfood": lambda: fitted(BinaryFourier(256, sigma=44.0)),
    "fastfood signs": lambda: fitted(signs(projection="fastfood"), LinearClassifier()),
}


@pytest.mark.parametrize("phases", ["seed", "table"])
@pytest.mark.parametrize("case", CASES)
def test_integers_are_those_of_the_twin(case, phases, tmp_path):
    """No row differs from the twin, and at most 1 of 1,000 from Python."""
    pipeline = CASES[case]()
    export = to_c(pipeline, name="model", check=ROWS, phases=phases)
    classes = on_host(export, ROWS, tmp_path, "gcc")
    np.testing.assert_array_equal(classes, export.predict_index(ROWS))
    different = int((export.predict(ROWS) != pipeline.predict(ROWS)).sum())
    assert different == export.report.n_different <= 0.001 * len(ROWS)


@pytest.mark.parametrize("case", FLOAT_CASES)
def test_floats_are_those_of_python(case, tmp_path):
    pipeline = FLOAT_CASES[case]()
    rows = np.vstack([ROWS, X[:300] * 0.37 + 1e-3, X[:5] * 1e-30]).astype(np.float32)
    for phases in ("seed", "table"):
        export = to_c(pipeline, name="model", check=rows, phases=phases, rows="float32")
        assert export.report.n_different == 0
        classes = export.classes[on_host(export, rows, tmp_path, "gcc")]
        np.testing.assert_array_equal(classes, pipeline.predict(rows))


@pytest.mark.parametrize("compiler", HOSTS)
@pytest.mark.parametrize("rows", ["int16", "float32"])
@pytest.mark.parametrize(
    "case", ["threshold", "signs, linear", "complement", "features", "features, complement"]
)
def test_every_compiler_takes_it(case, rows, compiler, tmp_path):
    export = to_c(CASES[case](), name="model", check=ROWS, rows=rows)
    options = ("-ffp-contract=fast",) if compiler in ("gcc", "g++") else ()
    classes = on_host(export, ROWS, tmp_path, compiler, *options)
    np.testing.assert_array_equal(classes, export.predict_index(ROWS))


@pytest.mark.parametrize("columns", [1, 64, 100, 200, 700])
@pytest.mark.parametrize("kind", ["fourier", "signs", "features"])
def test_any_sixteen_bits_are_safe(kind, columns, tmp_path):
    """10,000 rows of the extremes: nothing overflows, and no row differs from the twin."""
    rng = np.random.default_rng(columns)
    rows = rng.integers(-99, 100, (400, columns)).astype(float)
    y = rows[:, 0] + rows.sum(axis=1) / columns > 0
    feature_map = {
        "signs": signs(96),
        "fourier": BinaryFourier(96, projection="sorf"),
        "features": IntegerFourier(96),
    }[kind]
    export = to_c(fitted(feature_map, rows=rows, y=y), name="wild", check=rows)
    wild = rng.integers(-32767, 32768, (10_000 if columns == 64 else 200, columns))
    wild[:40] = np.where(rng.random((40, columns)) < 0.5, -32767, 32767)
    wild[40], wild[41], wild[42] = 32767, -32767, 0
    classes = on_host(export, wild, tmp_path, "gcc")
    np.testing.assert_array_equal(classes, export.predict_index(wild))


def test_pruned_models_predict_the_same(tmp_path):
    bits = sorf(512).fit(X)
    model = TernaryClassifier(sparsity=0.97).fit(bits.encode(X[:1200]), Y[:1200])
    small = model.prune()
    assert len(small.slots_) < 512
    whole = to_c(bits, model, name="whole", check=X)
    for feature_map in (bits, bits.keep(small.slots_)):
        export = to_c(feature_map, small, name="small", check=X)
        np.testing.assert_array_equal(export.predict(X), whole.predict(X))
    np.testing.assert_array_equal(
        export.classes[on_host(export, X, tmp_path, "gcc")], export.predict(X)
    )


def test_the_classifier_and_table_models(tmp_path):
    model = KernelClassifier("gaussian", method="binary", n_components=256, scale="minmax", C=1.0)
    model = model.fit(X[:800], Y[:800])
    export = to_c(model, name="front", check=X, rows="float32")
    classes = on_host(export, X, tmp_path, "gcc")
    np.testing.assert_array_equal(export.classes[classes], model.predict(X.astype(np.float32)))
    lines = [",".join([*(f"c{i}" for i in range(64)), "digit"])]
    lines += [",".join([*(f"{v:g}" for v in row), f"d{y}"]) for row, y in zip(X, Y, strict=True)]
    (tmp_path / "digits.csv").write_text("\n".join(lines[:800]))
    table = TableModel(model).fit(tmp_path / "digits.csv")
    export = to_c(table, name="table", check=X, rows="float32")
    np.testing.assert_array_equal(export.predict(X), table.model_.predict(X.astype(np.float32)))
    assert "Columns: c0, c1" in export.header
    assert '"d9"' in export.header


def test_files_and_report(tmp_path):
    export = to_c(CASES["plain"](), name="digits", check=X)
    files = export.save(tmp_path / "new" / "folder")
    assert [file.rpartition("/")[2] for file in files] == [
        "digits.h",
        "digits_test.c",
        "digits.json",
    ]
    facts = json.loads((tmp_path / "new" / "folder" / "digits.json").read_text())
    assert facts["report"]["flash"]["planes"] == 10 * 2 * 256 // 8
    assert facts["report"]["different"] == 0
    assert facts["provenance"]
    rows = len(re.findall(r"[0-9]+,", export.test.partition("_test_classes")[2]))
    assert rows >= 16
    need("gcc")
    run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DDIGITS_MAIN",
         files[1], "-o", tmp_path / "self"])  # fmt: skip
    assert "0 of" in run([tmp_path / "self"])
    assert "float" not in re.sub(r"/\*.*?\*/", "", export.header, flags=re.DOTALL)


def test_the_self_test_fails_when_it_should(tmp_path):
    export = to_c(CASES["plain"](), name="digits", check=X)
    export.save(tmp_path)
    header = tmp_path / "digits.h"
    broken = header.read_text().replace("0xBF58476D1CE4E5B9", "0xBF58476D1CE4E5BB")
    header.write_text(broken)
    need("gcc")
    run(["gcc", "-DDIGITS_MAIN", tmp_path / "digits_test.c", "-o", tmp_path / "self"])
    with pytest.raises(AssertionError, match="predicted otherwise"):
        run([tmp_path / "self"])


def test_arduino_layout(tmp_path):
    files = to_c(CASES["plain"](), name="digits", check=X).save(tmp_path, arduino=True)
    names = {str(file).removeprefix(f"{tmp_path}/") for file in files}
    assert names == {
        "src/digits.h",
        "extras/digits_test.c",
        "extras/digits.json",
        "examples/digits_blink/digits_blink.ino",
        "library.properties",
    }
    properties = (tmp_path / "library.properties").read_text()
    assert all(f"\n{key}=" in "\n" + properties for key in ("name", "version", "includes"))


def test_words_of_users_cannot_leave_their_comment(tmp_path):
    import pandas as pd

    names = ["*/ int x", "a\nb", "??/", "\\", *(f"c{i}" for i in range(60))]
    frame = pd.DataFrame(X, columns=names)
    labels = np.array(['"; \\ ??/', "\n%d", "é", *"0123456"])[Y]
    pipeline = make_pipeline(sorf(64), TernaryClassifier()).fit(frame, labels)
    export = to_c(pipeline, name="words", check=X)
    np.testing.assert_array_equal(on_host(export, X, tmp_path, "gcc"), export.predict_index(X))


def test_fast_math_is_refused(tmp_path):
    export = to_c(CASES["plain"](), name="model", check=X, rows="float32")
    with pytest.raises(AssertionError, match="would change predictions"):
        on_host(export, X, tmp_path, "gcc", "-ffast-math")


BITS = sorf(64).fit(X)
TERNARY = TernaryClassifier().fit(BITS.encode(X), Y)


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((GCWS(64).fit(X), LinearClassifier()), {}, "GCWS cannot be exported.*BinaryFourier"),
        ((signs(64, "gaussian").fit(X), TERNARY), {}, "gaussian.*projection='sorf'"),
        ((SignProjection(64, distribution="cauchy").fit(X), TERNARY), {}, "Cauchy.*sorf"),
        ((BinaryFourier(64).fit(X), TERNARY), {}, "another map"),
        ((sorf(128).fit(X), TERNARY), {}, "another map"),
        ((BITS,), {}, "give the model of its outputs"),
        ((LinearClassifier(),), {}, "LinearClassifier cannot be exported"),
        ((BITS, KernelClassifier()), {}, "use TernaryClassifier"),
        ((BITS, TERNARY), {"name": "int"}, "reserves"),
        ((BITS, TERNARY), {"name": "a-b"}, "C identifier"),
        ((BITS, TERNARY), {"check": X[:5]}, "at least 16 rows"),
        ((BITS, TERNARY), {"check": X / 3}, "not a whole number.*float32"),
        ((BITS, TERNARY), {"check": X * 1e4}, "beyond 16 bits.*float32"),
        ((BITS, TERNARY), {"check": X[:, :9]}, "64 columns"),
        ((BITS, TERNARY), {"rows": "int8"}, "rows"),
        ((BITS, TERNARY), {"phases": "none"}, "phases"),
    ],
)
def test_refusals(arguments, options, says):
    with pytest.raises((TypeError, ValueError), match=says):
        to_c(*arguments, **{"name": "model", "check": X, **options})


def test_more_refusals():
    quantile = fitted(sorf(64), scale="quantile")
    with pytest.raises(ValueError, match=r"'quantile'.*'minmax'"):
        to_c(quantile, name="model", check=X)
    foreign = make_pipeline(StandardScaler(), sorf(64), TernaryClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match=r"StandardScaler cannot be exported.*ColumnScaler"):
        to_c(foreign, name="model", check=X)
    with pytest.raises(ValueError, match=r"Gaussian factors.*float32"):
        to_c(fitted(BinaryFourier(64)), name="model", check=X)
    exact = KernelClassifier("gaussian", method="exact").fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match=r"training rows.*method='integer'"):
        to_c(exact, name="model", check=X)


@pytest.mark.parametrize("feature_map", [IntegerFourier(64), sorf(64)])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_origins_beyond_16_bits(feature_map, scale, tmp_path):
    """A mean times 2^16 did not fit the 32 bits of its table."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(20_000, 60_000, 400), rng.integers(0, 500, 400)]) + 0.0
    rows[0, 0] += 0.5
    y = (rows[:, 0] > 36_000) ^ (rows[:, 1] > 250)
    pipeline = make_pipeline(ColumnScaler(scale), feature_map, TernaryClassifier()).fit(rows, y)
    few = rows[(rows[:, 0] < 32_768) & (np.arange(400) > 0)]
    export = to_c(pipeline, name="far", check=few)
    classes = on_host(export, few, tmp_path, "gcc")
    np.testing.assert_array_equal(classes, export.predict_index(few))
    assert (export.predict(few) != pipeline.predict(few)).sum() <= 1
    far = np.where(np.arange(2) == 0, rows + 5e9, rows)
    pipeline = make_pipeline(ColumnScaler(scale), feature_map, TernaryClassifier()).fit(far, y)
    with pytest.raises(ValueError, match=r"scaled from .*rows='float32'"):
        to_c(pipeline, name="far", check=few)


def test_frames_keep_their_columns():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 100, (200, 3)), columns=["a", "b", "c"])
    model = CompactClassifier(1300).fit(frame, frame.a > frame.b)
    export = to_c(model, name="frame", check=frame)
    np.testing.assert_array_equal(export.predict(frame), model.predict(frame))
    other = frame[["b", "a", "c"]]
    for use in (export.predict, lambda X: to_c(model, name="frame", check=X)):
        with pytest.raises(ValueError, match="not those of training in their order"):
            use(other)


@pytest.mark.parametrize("sigma", [2.0**40, 2.0**62, 1e60, 1e300])
def test_any_sigma(sigma, tmp_path):
    pipeline = make_pipeline(IntegerFourier(64, sigma=sigma), TernaryClassifier())
    export = to_c(pipeline.fit(X[:300], Y[:300]), name="wide", check=X)
    np.testing.assert_array_equal(on_host(export, X, tmp_path, "gcc"), export.predict_index(X))


def test_too_many_differences_are_refused():
    """Rows a hundred times sigma from the origin: 16 bits of a length are not enough."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-30_000, 30_000, (500, 200)).astype(float)
    feature_map = BinaryFourier(64, sigma=20.0, projection="sorf")
    pipeline = make_pipeline(feature_map, TernaryClassifier()).fit(rows, rows[:, 0] > 0)
    with pytest.raises(ValueError, match="more than 1 of 1,000: use rows='float32'"):
        to_c(pipeline, name="model", check=rows)


def test_the_room_is_public():
    assert kernelight.export.to_c is to_c


# -- Microcontrollers


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", ["int16", "float32"])
@pytest.mark.parametrize(
    "case", ["plain", "threshold", "signs, linear", "standard", "features", "features, standard"]
)
def test_on_a_microcontroller(case, rows, device, tmp_path, monkeypatch):
    """100 rows: the same classes as the twin."""
    monkeypatch.setattr("kernelight.export.c_export.TEST_ROWS", 100)
    export = to_c(CASES[case](), name="model", check=ROWS, rows=rows)
    classes = on_device(export, tmp_path, device)
    text = re.search(r"_test_classes\[\d+\] = \{(.*?)\}", export.test, flags=re.DOTALL).group(1)
    expected = [int(number) for number in text.replace(",", " ").split()]
    assert len(expected) >= 100
    np.testing.assert_array_equal(classes, expected)


def test_the_report_is_what_a_compiler_makes(tmp_path):
    """Tables to the byte, code and stack within a quarter, on a Cortex-M3."""
    need(ARM)
    for rows, case in (
        ("int16", "plain"),
        ("int16", "standard"),
        ("float32", "threshold"),
        ("int16", "features"),
        ("int16", "features, complement"),
        ("float32", "features, standard"),
    ):
        export = to_c(CASES[case](), name="model", check=ROWS, rows=rows)
        export.save(tmp_path)
        source = tmp_path / "size.c"
        row = {"int16": "int16_t", "float32": "float"}[rows]
        source.write_text(
            f'#include "model.h"\nint f(const {row} *row);\n'
            f"int f(const {row} *row) {{ return model_predict(row); }}\n"
            f"int _start(void);\nint _start(void) {{ return f(({row} *)0x20000000); }}\n"
        )
        flags = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-std=c99", "-fstack-usage")
        run([ARM, *flags, "-c", source, "-o", "size.o"], cwd=tmp_path)
        link = ("-nostartfiles", "-Wl,--gc-sections", "size.o", "-o", "size.elf", "-lc", "-lgcc")
        run([ARM, *flags[:2], *link], cwd=tmp_path)
        sizes = run(["arm-none-eabi-size", "-A", tmp_path / "size.elf"])
        by_name = {line.split()[0]: int(line.split()[1]) for line in sizes.splitlines()[2:-3]}
        tables = export.report.total - export.report.flash["code"]
        starts = 40 if case.startswith("features") else 0  # which gcc may copy from its code
        assert -8 <= tables - by_name[".rodata"] <= 8 + starts, (rows, case)
        assert abs(by_name[".text"] / export.report.flash["code"] - 1) < 0.25, (rows, by_name)
        usage = next(tmp_path.glob("*.su")).read_text()
        stack = sum(int(line.split("\t")[1]) for line in usage.splitlines())
        assert abs(stack / export.report.ram - 1) < 0.25, (rows, stack)


def flash_by_gcc(export, device, tmp_path):
    """The bytes of a program that predicts and does nothing else, with what it takes of libgcc."""
    export.save(tmp_path)
    source = tmp_path / "size.c"
    source.write_text(
        '#include "model.h"\nint _start(void);\n'
        "int _start(void) { return model_predict((int16_t *)0x20000000); }\n"
    )
    flags = (*DEVICES[device][1], "-mthumb", "-Os", "-std=c99", "-nostartfiles")
    link = ("-Wl,--gc-sections", source, "-o", tmp_path / "size.elf", "-lgcc", "-lc", "-lgcc")
    run([ARM, *flags, *link])
    sizes = run(["arm-none-eabi-size", "-A", tmp_path / "size.elf"]).splitlines()
    return sum(int(line.split()[1]) for line in sizes if re.match(r"\.(text|rodata)", line))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("columns", [3, 64, 200])
@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_a_budget_of_bytes_is_not_exceeded(columns, classes, scale, device, tmp_path):
    """What a compiler makes of a CompactClassifier, libgcc included, against its max_bytes."""
    need(ARM)
    rng = np.random.default_rng(columns)
    rows = rng.integers(-300, 301, (150, columns)).astype(float)
    y = np.digitize(rows[:, 0], np.quantile(rows[:, 0], np.arange(1, classes) / classes))
    budget = 1500 + 8 * columns * (scale != "none")
    model = CompactClassifier(budget, scale=scale, n_jobs=1).fit(rows, y)
    export = to_c(model, name="model", check=rows)
    measured = flash_by_gcc(export, device, tmp_path)
    assert measured <= model.n_bytes_ <= budget
    assert model.n_bytes_ - measured < 400 + 2 * columns  # the report is no fancy
    assert export.report.total <= model.n_bytes_


@pytest.mark.parametrize(
    ("columns", "components", "classes", "scale"),
    [
        (2, 129, 11, "none"),
        (3, 129, 11, "none"),
        (3, 129, 11, "standard"),
        (9, 133, 4, "none"),
        (33, 129, 11, "none"),
        (200, 1500, 4, "none"),
        (1000, 1500, 4, "none"),
    ],
)
def test_flash_is_never_more_than_foreseen(
    columns, components, classes, scale, tmp_path, monkeypatch
):
    """Where gcc unrolls most: few columns, and few classes; on the M0+, whose code is longest."""
    need(ARM)
    monkeypatch.setattr("kernelight.export.c_export.MOST_DIFFERENT", 1)  # labels are chance
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (120, columns)).astype(float)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 120 - classes)])
    scaler = ColumnScaler(scale).fit(rows)
    fourier = IntegerFourier(components).fit(scaler.transform(rows))
    model = make_pipeline(scaler, fourier, TernaryClassifier()).fit(rows, y)
    export = to_c(model, name="model", check=rows)
    foreseen = flash_of(classes, components, fourier.width, scaler.scaling_)
    assert flash_by_gcc(export, "M0+", tmp_path) <= sum(foreseen.values())


def test_programs_fit_into_the_memory_of_a_small_device(tmp_path):
    export = to_c(CASES["plain"](), name="model", check=ROWS)
    assert device_program(export, tmp_path, "M0+").exists()
