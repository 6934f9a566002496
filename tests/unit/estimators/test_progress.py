"""How far a fit is: events and the time left, ``verbose``, and scikit-learn's callbacks."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
from helpers import circles
from sklearn.base import clone

from kernelight import KernelClassifier, KernelRegressor, State
from kernelight.estimators import progress


class Recorder:
    """A callback as scikit-learn 1.9 wants it."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.max_subtasks))

    def teardown(self, estimator, context):
        self.events.append(("teardown", None))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))


@pytest.mark.skipif(not progress.HAS_CALLBACKS, reason="needs the callbacks of scikit-learn 1.9")
def test_callbacks_see_every_candidate():
    X, y = circles(300)
    recorder = Recorder()
    model = KernelClassifier(n_components=16).set_callbacks(recorder).fit(X, y)
    kinds = [kind for kind, _ in recorder.events]
    assert recorder.events[0] == ("setup", 6 + 1 + 1)
    assert kinds.count("begin") == kinds.count("end") == 1 + 6 + 1 + 1
    assert kinds[-1] == "teardown"
    assert ("begin", "minmax, 300 rows") in recorder.events
    assert model.score(X, y) > 0.8


def test_before_callbacks_there_is_nothing_to_tell(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("progress_before", progress.__file__)
    older = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(older)
    assert not older.HAS_CALLBACKS
    assert older.with_callbacks(len) is len
    told = older.Progress(older.CallbackSupportMixin(), [older.Step("one", 1.0)])
    with told.task("one", older.Step("one", 1.0)):
        told.finish()


def test_verbose_prints_a_line_for_each_candidate(capsys):
    X, y = circles(300)
    KernelClassifier(n_components=16, verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 + 1 + 1
    assert re.fullmatch(
        r"\[KernelClassifier\] 1 of 7 candidates: minmax, 300 rows, squared error 0\.\d+ at "
        r"C=[\d.]+ \(\d\.\d s\)",
        lines[0],
    )
    assert re.match(r"\[KernelClassifier\] 7 of 7 candidates: .* score 0\.\d+ at C=", lines[-2])
    assert lines[-1].startswith("[KernelClassifier] final model: 300 rows (")
    KernelClassifier(n_components=16).fit(X, y)
    KernelRegressor(n_components=16, C=1.0, scale="minmax", verbose=0).fit(X, y)
    assert capsys.readouterr().out == ""
    KernelRegressor("exp_gmm", 16, scale="minmax", verbose=2).fit(X, y)
    assert "minmax, gamma=" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["yes", -1, 0.5, None])
def test_verbose_is_a_number_or_a_bool(wrong):
    X, y = circles(50)
    with pytest.raises((TypeError, ValueError), match="verbose"):
        KernelClassifier(verbose=wrong).fit(X, y)


def test_a_refused_candidate_is_said_and_passed_over(capsys):
    """The count stays right where refused settings are replaced by more than were announced."""
    model = KernelClassifier(n_components=16, verbose=True)
    told = progress.Progress(model, [progress.Step("try", 1.0, 3), progress.Step("try", 1.0, 3)])
    for _ in range(3):
        with (
            pytest.raises(ValueError, match="gamma"),
            told.task("one", progress.Step("try", 1.0, 3)),
        ):
            raise ValueError("gamma is too large.")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "[KernelClassifier] 3 of 6 candidates: one, refused: gamma is too large. ("
    )
    assert "6 of 6" in lines[1]
    assert "6 of 6" in lines[2]


def test_time_left_comes_from_what_each_kind_of_step_took():
    now = [0.0]
    seen = []
    job = progress.Job(seen.append, clock=lambda: now[0])
    job.tell("reading", 500)
    small, large = progress.Step("small", 10.0, 1), progress.Step("large", 100.0, 1)
    job.plan([small] * 2 + [large] * 2)
    job.tell("trying", 0, 4, "candidates")
    for step, seconds in ((small, 1.0), (small, 1.0), (large, 40.0), (large, 40.0)):
        with job.step(step):
            now[0] += seconds
        job.tell("trying", 1, 4, "candidates")
    assert seen[0] == ("reading", 500, None, "rows", None, None)
    assert seen[1] == ("trying", 0, 4, "candidates", None, None)  # nothing to go by
    assert [event.seconds_left for event in seen[2:]] == pytest.approx([21.0, 20.0, 40.0, 0.0])
    fractions = [event.fraction for event in seen[2:]]
    assert fractions == pytest.approx([1 / 22, 2 / 22, 42 / 82, 1.0])


def test_a_fit_is_part_of_the_job_around_it():
    X, y = circles(300)
    seen = []
    job = progress.Job(seen.append)
    with progress.watched_by(job):
        KernelClassifier(n_components=16).fit(X, y)
    assert [event.done for event in seen] == [0, 1, 2, 3, 4, 5, 6, 0]
    assert {event.of for event in seen[:-1]} == {7}
    assert seen[0].what == "trying minmax, 300 rows"
    assert seen[-1].what == "training the model, 300 rows"
    assert seen[0].seconds_left is None
    assert all(event.seconds_left > 0 for event in seen[1:])
    assert [event.fraction for event in seen[1:]] == sorted(event.fraction for event in seen[1:])
    KernelClassifier(n_components=16, C=1.0, scale=None).fit(X, y)
    assert len(seen) == 8  # whoever fits outside is not watched


def test_verbose_in_states():
    X, y = circles(100)
    model = KernelClassifier(n_components=16, C=1.0, scale=None, verbose=True).fit(X, y)
    assert clone(model).verbose is True
    state = model.to_state()
    assert KernelClassifier.from_state(state).verbose == 1
    meta = state.meta
    del meta["params"]["verbose"]  # as in files that were written before there was one
    assert KernelClassifier.from_state(State(meta, state.arrays)).verbose == 0
