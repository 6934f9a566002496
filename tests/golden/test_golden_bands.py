"""Keys of bands that must never change: whoever breaks this test breaks every stored index."""

from __future__ import annotations

import json

from golden import make_bands

from kernelight import Codes
from kernelight.neighbors import band_keys


def test_the_twin_still_writes_the_same_vectors():
    assert make_bands.text() == make_bands.VECTORS.read_text()


def test_keys():
    for case in json.loads(make_bands.VECTORS.read_text()):
        codes = Codes(case["codes"], case["bits"])
        keys = band_keys(codes, case["bands"], case["rows"])
        assert [[hex(int(key)) for key in row] for row in keys] == case["keys"]
