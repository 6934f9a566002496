"""Beyond the codes, training takes the weights, a number for each row and class, and 64 MB at most.

Measured in a process of its own, because the peak of a process never falls.
"""

from __future__ import annotations

import pytest
from helpers import sampled
from peak import started

LIMIT = 64e6

PROGRAM = """
import sys, warnings
import numpy as np
from peak import peak
from kernelight import Codes, LinearClassifier

warnings.simplefilter("ignore")
n, slots, bits, classes = {n}, {slots}, {bits}, {classes}
few = Codes(np.arange(400).reshape(100, 4) % 2, bits=bits)
LinearClassifier(max_iter=2).fit(few, np.arange(100) % 3)  # so that code and threads are loaded
rng = np.random.default_rng(0)
array = np.empty((n, slots), dtype=np.uint8 if bits <= 8 else np.uint16)
for row in range(0, n, 1000):
    array[row : row + 1000] = rng.integers(0, 1 << bits, (min(1000, n - row), slots))
array.flags.writeable = False
codes = Codes._adopt(array, bits)
y = np.arange(n) % classes
before = peak()
model = LinearClassifier({loss!r}, max_iter=2, n_jobs=1).fit(codes, y)
{more}
width = next(width for width in (1, 4, 8, 16) if width >= classes)  # outputs, with padding
print(peak() - before - 4 * width * (2 * len(model.weights_) + n))
"""


def beyond(n=110_000, slots=512, bits=8, classes=7, loss="squared_hinge", more=""):
    program = PROGRAM.format(n=n, slots=slots, bits=bits, classes=classes, loss=loss, more=more)
    return int(started(program))


@pytest.mark.parametrize("n", sampled([80_000, 110_000], 110_000), ids=["ranked", "looked up"])
def test_training_on_codes(n):
    assert beyond(n) < LIMIT


def test_the_measurement_notices_memory():
    assert beyond(n=20_000, slots=64, more="kept = np.ones(10_000_000)") > LIMIT
