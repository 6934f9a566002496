"""Threads and instruction set of a call."""

from __future__ import annotations

import pytest

from kernelight import _core
from kernelight.base.checks import MAX_THREADS, SIMD_LEVELS, resources


@pytest.mark.parametrize("text", ["abc", "0", "-1", "1.5"])
def test_a_foreign_variable_that_cannot_be_read_is_ignored(text, monkeypatch):
    monkeypatch.delenv("KERNELIGHT_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = resources(None).threads
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert resources(None).threads == everything


def test_what_variables_mean(monkeypatch):
    monkeypatch.delenv("KERNELIGHT_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert resources(None).threads == 3
    assert resources(5).threads == 5
    monkeypatch.setenv("KERNELIGHT_NUM_THREADS", "7")
    assert resources(None).threads == resources(5).threads == 7
    monkeypatch.setenv("KERNELIGHT_SIMD", "baseline")
    assert resources(None).simd == 0
    monkeypatch.setenv("KERNELIGHT_SIMD", SIMD_LEVELS[-1])
    assert resources(None).simd == _core.best_simd_level()


@pytest.mark.parametrize(
    ("name", "text"), [("KERNELIGHT_NUM_THREADS", "0"), ("KERNELIGHT_SIMD", "foo")]
)
def test_our_own_variables_are_checked(name, text, monkeypatch):
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=f"{name} must be"):
        resources(None)


def test_more_threads_than_anyone_has(monkeypatch):
    monkeypatch.delenv("KERNELIGHT_NUM_THREADS", raising=False)
    assert resources(10**12).threads == MAX_THREADS
    monkeypatch.setenv("KERNELIGHT_NUM_THREADS", "9" * 30)
    assert resources(None).threads == MAX_THREADS
