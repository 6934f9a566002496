"""The numbers of papers/: LIBSVM's votes, choices on the test part and by validation, map names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")  # of the extra "papers"

from kernelight.kernels import Linear
from papers import _svm, _tuned
from papers._cells import Store
from papers._exact import (
    BEYOND,
    LARGE,
    Entry,
    exact_cell,
    exact_cells,
    exact_results,
    kernels_of,
    tuned_cells,
)
from papers._hashed import best_mean, hashed_cell, repetitions
from papers._linear import map_named
from papers._page import Book, Plan, best_of, chosen_of, table
from papers._printed import printed
from papers._sets import SETS, set_of
from papers._tuned import GAMMAS


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_votes_are_those_of_libsvm(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.standard_normal((150, 4)), np.sort(rng.integers(0, n_classes, 100) * 3)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = _svm.SVC(C=2.0, kernel="precomputed").fit(K[:100, :100], y)
    np.testing.assert_array_equal(
        _svm.predicted(model, y, K[100:, :100]), model.predict(K[100:, :100])
    )


def test_gammas_of_the_papers() -> None:
    assert len(GAMMAS) == 58
    assert sorted(set(GAMMAS)) == GAMMAS


def test_table() -> None:
    assert table(("set", "paper", "ours"), [("Vowel", 59.1, None)]) == (
        "| set | paper | ours |\n| --- | --- | --- |\n| Vowel | 59.10 |  |\n"
    )
    assert table(("set",), []) == ""
    assert printed("CNK", "Vowel", "min-max") == 59.1
    assert printed("CNK", "Vowel", "no such method") is None


def test_exact_cell_is_chosen_on_the_test_part_and_by_validation(
    folder: Path, tmp_path: Path
) -> None:
    plan = Plan(quick=True, present=frozenset({"Vowel"}))
    book = Book(Store(tmp_path / "cells.jsonl"), plan, tmp_path / "page.md")
    entry = Entry("CNK", "Vowel", "Vowel", "unit")
    for kernel in ("min-max", "RBF", "linear"):
        for each in exact_cells([entry], (kernel,), plan):
            book.store.put(each, each.compute())
        (result,) = exact_results(book, entry, kernel)
        assert json.loads(json.dumps(result)) == result
        assert len(result["test"]) == len(result["cs"])
        assert best_of(result)[0] == max(result["test"]) >= chosen_of(result)
        assert best_of(result)[0] > 80


def test_validation_never_looks_at_the_test_part() -> None:
    # Two gammas, three C: gamma 1 validates best everywhere, gamma 2 would be best on the test
    # part.
    validated = np.array([[60.0, 80.0, 70.0], [50.0, 60.0, 55.0]])
    tested = np.array([[61.0, 71.0, 75.0], [90.0, 91.0, 92.0]])
    result = _svm.summary([0.1, 1.0, 10.0], [1.0, 2.0], tested, validated)
    assert result["test"] == [90.0, 91.0, 92.0]
    assert result["gammas"] == [2.0, 2.0, 2.0]
    assert result["chosen_test"] == [61.0, 71.0, 75.0]
    assert best_of(result) == (92.0, 10.0, 2.0)
    assert chosen_of(result) == 71.0  # at C = 1, where validation is best


def test_every_gamma_is_tested_and_validated(folder: Path) -> None:
    gammas, cs = [0.01, 1.0, 50.0], [1.0, 100.0]
    common: dict[str, Any] = {
        "dataset": "Vowel",
        "scaling": "raw",
        "seed": 0,
        "kernel": "RBF",
        "cs": cs,
        "max_test": None,
    }
    parts = [_tuned.tuned(gammas=some, **common) for some in (gammas[:2], gammas[2:])]
    data = _svm.split("Vowel", "raw", 0, None)
    order = np.argsort(data.y, kind="stable")
    y, rho, rho_test = data.y[order], Linear()(data.X[order]), Linear()(data.X_test, data.X[order])
    every = np.array(
        [
            _svm.accuracies(np.exp(g * (rho - 1)), y, np.exp(g * (rho_test - 1)), data.y_test, cs)
            for g in gammas
        ]
    )
    np.testing.assert_allclose(np.concatenate([part["test"] for part in parts]), every, atol=1e-3)
    result = _tuned.merged(cs, gammas, parts)
    np.testing.assert_allclose(result["test"], every.max(axis=0), atol=1e-3)
    at = [gammas.index(gamma) for gamma in result["chosen_gammas"]]
    np.testing.assert_allclose(result["chosen_test"], every[at, [0, 1]], atol=1e-3)


def test_a_kernel_is_shown_when_all_its_gammas_are_computed(tmp_path: Path) -> None:
    plan = Plan(quick=False, present=frozenset({"Covertype10k"}))
    entry = Entry("CNK", "Covertype10k", "Covertype10k", "unit")
    book = Book(Store(tmp_path / "cells.jsonl"), plan, tmp_path / "page.md")
    cells = tuned_cells(entry, "RBF", 0, plan)
    parts = [json.loads(each.key)[2]["gammas"] for each in cells]
    assert len(parts) > 1
    assert [gamma for part in parts for gamma in part] == GAMMAS
    for at, (each, part) in enumerate(zip(cells, parts, strict=True)):
        assert exact_results(book, entry, "RBF") == []
        scores = [[50.0 + at] * len(BEYOND)] * len(part)
        book.store.put(each, {"test": scores, "validated": scores})
    (result,) = exact_results(book, entry, "RBF")
    assert result["gammas"] == [parts[-1][0]] * len(BEYOND)


def test_folded_kernel_is_the_mean_of_both_signs() -> None:
    rho = np.array([[1.0, -0.2]])
    K = np.empty_like(rho)
    _tuned.with_gamma(rho, "fRBF", 3.0, K)
    np.testing.assert_allclose(K, (np.exp(3 * (rho - 1)) + np.exp(-3 * (rho + 1))) / 2)
    _tuned.with_gamma(rho, "RBF", 3.0, K)
    np.testing.assert_allclose(K, np.exp(3 * (rho - 1)))


def test_names_of_maps_are_what_they_say() -> None:
    papers, ours = map_named("GCWS papers", 16, None, 0), map_named("GCWS", 16, None, 0)
    assert (papers.t_bits, papers.coding) == (0, "lowest")
    assert (ours.t_bits, ours.coding) == (type(ours)().t_bits, type(ours)().coding)
    product = map_named("MM-acos papers", 16, None, 0)
    assert any(getattr(part, "coding", None) == "lowest" for part in vars(product).values())
    assert map_named("NRFF", 16, 2.0, 0).normalize is not False
    assert map_named("RFF", 16, 2.0, 0).normalize is False


def test_means_are_at_the_c_that_is_best_on_average(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells.jsonl")
    plan = Plan(quick=False, present=frozenset({"ImageSeg"}))
    cells = [
        hashed_cell("ImageSeg", "raw", "GCWS", 16, 8, None, repetition) for repetition in range(3)
    ]
    assert repetitions("ImageSeg", "GCWS", 16, 8, quick=False) == len(cells)
    for at, done in enumerate(cells[:2]):
        store.put(done, {"cs": [1.0, 10.0, 100.0], "test": [90.0 - 10 * at, 86.0 + at, 50.0]})
    mean = best_mean(
        Book(store, plan, tmp_path / "page.md"), "ImageSeg", "raw", "GCWS", 16, 8, None
    )
    assert mean is not None
    assert (mean.value, mean.repetitions) == (86.5, 2)
    assert mean.error == pytest.approx(0.5)
    assert str(mean) == "86.50 (2)"


def test_a_set_that_is_only_printed_has_the_printed_size() -> None:
    assert "Car" not in SETS
    assert (set_of("Car").rows, set_of("Car").tests) == (864, 864)
    assert exact_cell(Entry("LGMM", "Car", "Car", "raw"), "GMM", 0)


def test_kernels_that_can_be_computed() -> None:
    kernels = ("GMM", "linear", "RBF")
    named = {
        name: kernels_of(Entry("LGMM", name, name, "raw"), kernels)
        for name in ("Vowel", "Letter", "IJCNN")
    }
    assert named["Vowel"] == ["GMM", "linear", "linear, squared hinge", "RBF"]
    assert set_of("Letter").rows > LARGE
    assert named["Letter"] == ["GMM", "linear", "RBF"]
    assert named["IJCNN"] == ["linear"]
