"""What the scores of a recommended model rest on, in the study and in its report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kernelight.study import Study, compare
from kernelight.study.report.page import render_report

OPTIONS = {"kernels": ["gmm"], "components": [32], "progress": False}


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "<i>a": rng.random(400),
            "word": rng.choice(["x", "y", "z"], 400),
            **{f"noise {at}": rng.random(400) for at in range(13)},
        }
    )
    frame["kind"] = np.where(np.sin(6 * frame["<i>a"]) + (frame["word"] == "y") > 0.5, "p", "<q>")
    return compare(frame, target="kind", **OPTIONS)


def test_columns_and_shapes(study):
    effects = study.effects
    assert effects is not None
    assert {name for name, _ in effects["columns"][:2]} == {"<i>a", "word"}
    assert len(effects["columns"]) == 12
    assert effects["n_columns"] == 15
    parts = [part for _, part in effects["columns"]]
    assert parts == sorted(parts, reverse=True)
    assert sum(parts) < 1
    assert len(effects["shapes"]) == 4
    word = next(each for each in effects["shapes"] if each["name"] == "word")
    assert set(word["words"]) == {"x", "y", "z"}
    assert word["words"][-1] == "y", "words ascend by their mean contribution"
    for each in effects["shapes"]:
        assert len(each["x"]) == len(each["y"]) == effects["rows"]
    assert Study.from_json(study.to_json()) == study


def test_the_report_draws_them(study):
    page = render_report(study)
    for identity in ("chart-importances", *(f"chart-effect-{at}" for at in range(1, 5))):
        assert f'id="{identity}"' in page
    assert "3 columns with less are not shown" in page
    assert "<i>a" not in page
    assert "<q>" not in page


def test_studies_without_effects_have_no_such_section(study):
    """As those of earlier versions, and of models that are no sums over columns."""
    assert "chart-importances" not in render_report(replace(study, effects=None))
    X = np.random.default_rng(0).standard_normal((300, 3))
    other = compare(X, X[:, 0] * X[:, 1], kernels=["rbf"], components=[32], progress=False)
    assert other.recommendation.candidate != "gmm"
    assert other.effects is None


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = np.digitize(np.sin(6 * X[:, 0]) + X[:, 1], [0.0, 1.0])
    found = compare(X, y, **OPTIONS)
    assert found.effects is not None
    assert all(each["output"] in (0, 1, 2) for each in found.effects["shapes"])
    assert "score is that of class" in render_report(found)
