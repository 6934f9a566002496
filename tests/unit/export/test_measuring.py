"""What `tools/microcontrollers` measures of a program is what was put into it."""

from __future__ import annotations

import numpy as np
import pytest
from building import ARM, DEVICES, QEMU, need

from tools.microcontrollers import Code, ProgramError, measured, on_host

ROWS = np.array([[3, 4], [0, 0], [-5, 9]])
PLAIN = "#include <stdint.h>\nint model_class(const int16_t *row) { return row[0] > row[1]; }\n"
LOOP = """#include <stdint.h>
static const uint8_t table[1000] = {1, 2, [999] = 3};
static volatile uint32_t counter;
int model_class(const int16_t *row) {
    volatile uint8_t stack[400];
    int i;
    for (i = 0; i < 400; ++i) stack[i] = table[i + 600 * (row[0] != 0)];
    counter += stack[399];
    return stack[399];
}
"""


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_and_instructions(device, tmp_path):
    need(ARM, QEMU)
    plain = measured(Code(PLAIN, 2), ROWS, device, tmp_path)
    np.testing.assert_array_equal(plain.classes, [0, 0, 0])
    assert 0 < plain.flash < 40
    assert plain.ram < 40
    assert plain.instructions <= 80
    loop = measured(Code(LOOP, 2), ROWS, device, tmp_path)
    np.testing.assert_array_equal(loop.classes, [3, 0, 3])
    assert 1000 < loop.flash < 1150
    assert 404 <= loop.ram < 460
    assert 400 * 4 <= loop.instructions <= 400 * 9


def test_the_host_runs_the_same(tmp_path):
    need("gcc")
    np.testing.assert_array_equal(on_host(Code(LOOP, 2), ROWS, tmp_path), [3, 0, 3])


def test_what_does_not_compile_says_so(tmp_path):
    need("gcc")
    with pytest.raises(ProgramError, match="model_class"):
        on_host(Code("", 2), ROWS, tmp_path)
