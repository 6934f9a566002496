"""Rows that are kept in chunks, and what a solver learns from blocks of them."""

from __future__ import annotations

import errno
import os
import tempfile

import numpy as np
import pytest

from kernelight import Codes
from kernelight.base.checks import resources
from kernelight.linear import LinearClassifier, LinearRegressor, block_solver
from kernelight.linear.design import Targets
from kernelight.linear.stored_rows import StoredRows

RANDOM = np.random.default_rng(0)
N_ROWS = 9000
CODES = Codes(RANDOM.integers(0, 16, (N_ROWS, 12)), bits=4, empty=RANDOM.random(N_ROWS) < 0.01)
LABELS = (CODES.array[:, :3].sum(axis=1) > 22).astype(int) + (CODES.array[:, 3] > 12)
DENSE = RANDOM.normal(size=(N_ROWS, 20)).astype(np.float32)
VALUES = DENSE[:, 0] - 2 * DENSE[:, 1] + 0.1 * RANDOM.normal(size=N_ROWS)
WHERE = pytest.mark.parametrize("block_rows", [2500, N_ROWS], ids=["on disk", "in memory"])


def stored(X, targets_of, block_rows, size=700):
    rows = StoredRows(X.shape[0], block_rows, 0, resources(1))
    for start in range(0, X.shape[0], size):
        part = slice(start, start + size)
        rows.add(X[part], targets_of(part))
    return rows


def row_numbers(part):
    """Targets that tell which row they are of."""
    numbers = np.arange(N_ROWS)[part]
    return Targets(numbers.astype(np.int32), None, numbers + 0.5, np.ones(1), np.ones(1))


@WHERE
@pytest.mark.parametrize("X", [CODES, DENSE], ids=["codes", "dense"])
def test_blocks_hold_every_row_once_with_its_own_target(X, block_rows):
    rows, random = stored(X, row_numbers, block_rows), np.random.default_rng(1)
    together = []
    for _ in range(2):
        places, numbers = [], []
        for block in rows.blocks(random):
            which = block.targets.labels
            kept = block.design.codes if X is CODES else block.design.X
            if X is CODES:
                assert kept == X[which]
            else:
                np.testing.assert_array_equal(kept, X[which])
            np.testing.assert_array_equal(block.targets.row_cost, which + 0.5)
            np.testing.assert_array_equal(rows.targets.labels[block.places], which)
            assert len(which) <= block_rows + 2048
            places.append(np.arange(N_ROWS)[block.places])
            numbers.append(which)
        for each in (places, numbers):
            np.testing.assert_array_equal(np.sort(np.concatenate(each)), np.arange(N_ROWS))
        together.append(set(numbers[0].tolist()))
    assert len(places) == -(-N_ROWS // block_rows)
    assert (together[0] == together[1]) == (block_rows == N_ROWS)  # other rows meet in each pass
    rows.close()


def test_blocks_of_sorted_rows_are_fair_samples():
    rows = stored(CODES, row_numbers, 2500, size=N_ROWS // 4)
    for block in rows.blocks(np.random.default_rng(0)):
        share = np.bincount(block.targets.labels * 4 // N_ROWS, minlength=4) / len(
            block.targets.labels
        )
        np.testing.assert_allclose(share, 0.25, atol=0.01)


@WHERE
@pytest.mark.parametrize(
    ("kind", "X", "y"),
    [
        (lambda: LinearClassifier(C=0.5), CODES, LABELS),
        (lambda: LinearClassifier(C=0.5, loss="hinge"), CODES, LABELS),
        (
            lambda: LinearClassifier(loss="logistic", class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
            CODES,
            LABELS,
        ),
        (lambda: LinearClassifier(C=0.5), DENSE, (VALUES > 0).astype(int)),
        (lambda: LinearRegressor(C=0.5), DENSE, VALUES),
        (lambda: LinearRegressor(C=0.5), CODES, np.stack([VALUES, -VALUES], axis=1)),
    ],
    ids=["squared hinge", "hinge", "logistic", "two classes", "regression", "two targets"],
)
def test_many_visits_reach_the_solution_of_all_rows(monkeypatch, kind, X, y, block_rows):
    monkeypatch.setattr(block_solver, "SMALL_CHANGE", 1e-4)
    wanted = kind().set_params(tol=1e-7, max_iter=5000).fit(X, y)
    model = kind().fit(X[:3000], y[:3000])
    watched = []
    rows = stored(X, lambda part: model.batch_targets(X[part], y[part]), block_rows)
    model.learn_stored(rows, 60, lambda *arguments: watched.append(arguments))
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=2e-3 * np.abs(wanted.coef_).max())
    np.testing.assert_allclose(
        model.intercept_, wanted.intercept_, atol=2e-3 * np.abs(wanted.coef_).max()
    )
    assert np.isnan(model.objective_).all()
    assert model.n_seen_ == N_ROWS
    assert sum(count for _, count in watched) == model.n_iter_ * N_ROWS
    assert model.n_iter_ < 60 * block_solver.VISITS  # it stopped by itself


@WHERE
def test_the_same_rows_give_the_same_model(block_rows):
    models = [LinearClassifier().fit(CODES[:3000], LABELS[:3000]) for _ in range(2)]
    for model in models:
        rows = stored(
            CODES, lambda part: models[0].batch_targets(CODES[part], LABELS[part]), block_rows
        )
        model.learn_stored(rows, 1, lambda *_: None)
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_file_has_no_name_and_is_refused_where_there_is_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    rows = stored(CODES, row_numbers, 2500)
    assert list(tmp_path.iterdir()) == []
    rows.close()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(
        OSError, match="No room for 108 kB, the codes of 9,000 rows: set TMPDIR"
    ) as no:
        stored(CODES, row_numbers, 2500)
    assert no.value.filename == os.fspath(tmp_path)
    assert list(tmp_path.iterdir()) == []
