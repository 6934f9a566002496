"""Tickets: an object is loaded once in a process, and only where its codes would be the same."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import kernelight
from kernelight import GCWS
from kernelight.distributed import Ticket, ticket


@pytest.fixture
def fitted():
    return GCWS(8, random_state=5).fit(np.eye(3))


def test_an_object_is_loaded_once(fitted, monkeypatch):
    made = pickle.loads(pickle.dumps(Ticket.of(fitted)))
    calls = []
    load = kernelight.load
    monkeypatch.setattr(kernelight, "load", lambda path: calls.append(path) or load(path))
    monkeypatch.setattr(ticket, "_opened", {})
    assert made.opened() is made.opened()
    assert len(calls) == 1
    assert made.opened().provenance == fitted.provenance


def test_few_objects_are_kept(monkeypatch):
    monkeypatch.setattr(ticket, "_opened", {})
    for seed in range(12):
        Ticket.of(GCWS(4, random_state=seed).fit(np.eye(2))).opened()
    assert len(ticket._opened) == 8


@pytest.mark.parametrize("change", [{"probe": "0" * 32}, {"algorithm": 2}])
def test_another_version_is_refused(fitted, change, monkeypatch):
    monkeypatch.setattr(ticket, "_opened", {})
    made = replace(Ticket.of(fitted), version="9.9.9", **change)
    with pytest.raises(ticket.OtherVersionError, match=r"other codes than kernelight 9\.9\.9 on"):
        made.opened()


def test_another_version_is_refused_also_where_the_object_is_there_already(fitted):
    made = Ticket.of(fitted)
    made.opened()
    with pytest.raises(ticket.OtherVersionError):
        replace(made, probe="0" * 32).opened()


def test_damaged_bytes_are_refused(fitted, monkeypatch):
    monkeypatch.setattr(ticket, "_opened", {})
    made = Ticket.of(fitted)
    with pytest.raises(ValueError, match="damaged on its way"):
        replace(made, content=made.content[:-1] + b"x").opened()


def test_only_what_can_be_saved_travels():
    with pytest.raises(TypeError, match="this has the type list"):
        Ticket.of([1])
    with pytest.raises(TypeError, match="this has the type"):
        Ticket.of(GCWS)
    with pytest.raises(Exception, match="not fitted"):
        Ticket.of(GCWS(4))


def test_the_probe_is_frozen():
    """Two versions of this package with the same codes must agree on it."""
    assert ticket.probe() == "d3b153f603d2875a107ba7afab2d1b2f"
