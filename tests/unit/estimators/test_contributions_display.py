"""Pictures of contributions: what is drawn, with which labels, and what is refused."""

from __future__ import annotations

import builtins

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_diabetes, load_iris

from kernelight import ContributionsDisplay, KernelClassifier, KernelRegressor


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return KernelRegressor(n_components=128, C=1.0).fit(X, y), X


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_of_importance(diabetes):
    model, X = diabetes
    display = ContributionsDisplay.from_estimator(model, X, top=4)
    found = display.contributions
    order = np.argsort(-found.importances())[:4][::-1]
    assert labels(display.ax_) == [X.columns[at] for at in order]
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, found.importances()[order])
    assert display.figure_ is display.ax_.figure
    assert "6 more columns" in display.ax_.texts[0].get_text()
    display.figure_.canvas.draw()


def test_one_row_goes_from_its_base_value_to_its_score(diabetes):
    model, X = diabetes
    found = model.explain(X)
    for top, named in ((10, 10), (4, 3)):
        ax = pyplot.figure().subplots()
        display = ContributionsDisplay.from_contributions(found, kind="row", row=7, top=top, ax=ax)
        assert display.ax_ is ax
        bars = ax.patches
        assert bars[0].get_x() == pytest.approx(found.base_values[7])
        ends = bars[-1].get_x() + bars[-1].get_width()
        assert ends == pytest.approx(found.scores[7])
        largest = found.feature_names[int(np.abs(found.values[7]).argmax())]
        assert labels(ax)[-1].startswith(f"{largest} = ")
        assert len(bars) == named + (named < 10)
        if named < 10:
            assert labels(ax)[0] == "7 other columns"


def test_shapes_of_numbers_words_and_dates():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.random(120),
            "word": rng.choice(["a", "b", None], 120),
            "many": [f"w{at % 40}" for at in range(120)],
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120) * 5, "D"),
            "digit": rng.integers(0, 3, 120),
        }
    )
    y = table["number"] + (table["word"] == "a")
    model = KernelRegressor(method="ridge", C=1.0).fit(table, y)
    found = model.explain(table)
    names = list(table.columns)
    display = ContributionsDisplay.from_contributions(found, kind="shape", columns=names)
    axes = display.ax_.ravel()
    assert [ax.get_xlabel() for ax in axes[:5]] == names
    assert not axes[5].get_visible()
    words = [label.get_text() for label in axes[1].get_xticklabels()]
    assert sorted(words) == ["(missing)", "a", "b"]
    assert words.index("a") == 2, "words ascend by their mean contribution"
    assert "(others)" in [label.get_text() for label in axes[2].get_xticklabels()]
    assert len(axes[0].collections[0].get_offsets()) == 120
    assert len({ax.get_ylim() for ax in axes[:5]}) == 1
    display.figure_.canvas.draw()
    four = ContributionsDisplay.from_contributions(found, kind="shape")
    assert four.ax_.size == 4
    assert four.ax_.ravel()[0].get_xlabel() == names[int(found.importances().argmax())]


def test_several_scores():
    X, y = load_iris(return_X_y=True)
    found = KernelClassifier().fit(X, y).explain(X)
    bars = ContributionsDisplay.from_contributions(found)
    assert bars.ax_.get_title() == "Importance of columns"
    row = ContributionsDisplay.from_contributions(found, kind="row", row=60)
    assert row.ax_.get_title() == "Row 60: score of 1"
    shape = ContributionsDisplay.from_contributions(found, kind="shape", output="2", top=1)
    np.testing.assert_allclose(
        np.sort(shape.ax_.ravel()[0].collections[0].get_offsets()[:, 1]),
        np.sort(found.values[:, int(found.of_output("2").importances().argmax()), 2]),
    )


def test_bad_input(diabetes, monkeypatch):
    model, X = diabetes
    found = model.explain(X[:5])
    draw = ContributionsDisplay.from_contributions
    with pytest.raises(ValueError, match="kind must be"):
        draw(found, kind="pie")
    with pytest.raises(ValueError, match="row must be"):
        draw(found, kind="row", row=5)
    with pytest.raises(ValueError, match="no column 'height'"):
        draw(found, kind="shape", columns=["height"])
    with pytest.raises(ValueError, match="at least one column"):
        draw(found, kind="shape", columns=[])
    with pytest.raises(ValueError, match="top must be"):
        draw(found, top=0)
    with pytest.raises(ValueError, match="contributions\\[3:4\\]"):
        draw(found[2])
    with pytest.raises(ValueError, match="no rows"):
        draw(found[:0])
    with pytest.raises(ValueError, match="ax must hold 2 Axes"):
        draw(found, kind="shape", columns=[0, 1], ax=pyplot.figure().subplots())
    real = builtins.__import__

    def without_matplotlib(name, *rest, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"kernelight\[plots\]"):
        draw(found)
