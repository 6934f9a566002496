"""`TableModel.explain`: columns of the table, cells as they are read, sums, files within memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kernelight import KernelRegressor, TableModel, open_dataset
from kernelight.data.decoding import cells_of_features
from kernelight.estimators import additive


def table(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": rng.random(n) * 100,
            "town": rng.choice(["Bern", "Rome", "Oslo"], n),
            "built": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "rank": rng.integers(0, 5, n),
        }
    )
    frame.loc[::10, "area"] = np.nan
    frame["price"] = frame["area"].fillna(50) + 30 * (frame["town"] == "Rome") + rng.random(n)
    return frame


@pytest.mark.parametrize("options", [{"n_components": 128, "C": 1.0}, {"method": "ridge"}], ids=str)
def test_columns_of_a_file(options, tmp_path):
    frame = table()
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    model = TableModel(KernelRegressor(**options)).fit(path, target="price")
    found = model.explain(path)
    assert found.feature_names == ["area", "town", "built", "rank"]
    np.testing.assert_allclose(found.scores, model.predict(path), rtol=1e-5)
    assert found.data[1].tolist() == [
        pytest.approx(frame["area"][1]),
        frame["town"][1],
        str(frame["built"][1].date()),
        frame["rank"][1],
    ]
    assert found.data[0, 0] == pytest.approx(frame["area"].median())
    importances = found.importances()
    assert importances[:2].min() > importances[2:].max()
    model.save(tmp_path / "model.klt")
    again = TableModel.load(tmp_path / "model.klt").explain(path)
    np.testing.assert_array_equal(again.values, found.values)
    other = model.explain(path, background=path)
    np.testing.assert_allclose(other.scores, found.scores, rtol=1e-5)
    np.testing.assert_allclose(other.values.mean(axis=0), 0, atol=1e-4 * importances.max())


def test_the_mean_of_a_column_is_that_of_all_its_features():
    """The background is kept by feature and folded: it must be that of the whole column."""
    frame = table()
    model = TableModel(KernelRegressor(n_components=128, C=1.0)).fit(frame, target="price")
    np.testing.assert_allclose(
        model.explain(frame).values, model.explain(frame, background=frame).values, atol=1e-3
    )


def test_batches_are_those_of_all_rows(monkeypatch):
    frame = table()
    model = TableModel(KernelRegressor(n_components=64, C=1.0)).fit(frame, target="price")
    whole = model.explain(frame)
    monkeypatch.setattr(TableModel, "_batch_rows", lambda self: 40)
    parts = list(model.explain_batches(frame))
    assert [len(part.predictions) for part in parts] == [40, 40, 40, 30]
    np.testing.assert_allclose(model.explain(frame).values, whole.values, rtol=1e-9)


def test_cells_of_words():
    rows = {"word": ["a", "b", "c", None] * 30, "y": [0, 1] * 60}
    data = open_dataset(pd.DataFrame(rows), target="y", max_categories=2)
    X, _ = data.materialise()
    words = cells_of_features(data.encoding, X)[:, 0].tolist()
    known = data.encoding.columns[0].categories
    assert [word for word in words[:3] if word in known] == sorted(known)
    assert words.count("(other words)") >= 30
    assert words[3] is None


def test_more_than_fits_is_refused_and_comes_in_batches(monkeypatch):
    frame = table()
    model = TableModel(KernelRegressor(n_components=32, C=1.0)).fit(frame, target="price")
    monkeypatch.setattr(additive, "MOST_VALUES", 4 * 100)
    with pytest.raises(ValueError, match="explain at most 100 rows at a time"):
        model.explain(frame)
    assert len(model.explain(frame[:100])) == 100
    assert sum(len(part.contributions) for part in model.explain_batches(frame)) == 150
