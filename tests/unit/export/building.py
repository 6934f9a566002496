"""Exported headers compiled and run: on this machine, and on microcontrollers under qemu."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tools.microcontrollers import ARM, DEVICES, QEMU, compiled, emulated, linked, run

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow")
GCC_CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CLANG_CHECKS = ("-fsanitize=undefined", "-fsanitize-trap=all")  # without a library of its own
HOSTS = {
    "gcc": ("gcc", "-std=c99", *GCC_CHECKS),
    "g++": ("g++", "-x", "c++", "-std=c++11", *GCC_CHECKS),
    "clang": ("clang", "-std=c99", *CLANG_CHECKS),
    "clang++": ("clang++", "-x", "c++", "-std=c++11", *CLANG_CHECKS),
}
DTYPES = {"int16": np.int16, "float32": np.float32}

_READER = """\
#include "NAME.h"
#include <stdio.h>
int main(void) {
    static ROW row[COLUMNS];
    while (fread(row, sizeof row, 1, stdin) == 1) printf("%d\\n", NAME_predict(row));
    return NAME_label(0)[0] == 0 || NAME_label(-1)[0] != 0;
}
"""

_DEVICE = """\
#include "NAME_test.c"
void print(const char *text);
int main(void) {
    int i;
    for (i = 0; i < ROWS; ++i) {
        char text[2] = {0, 0};
        text[0] = (char)('A' + NAME_predict(NAME_test_rows + i * COLUMNS));
        print(text);
    }
    print("\\n");
    return NAME_test();
}
"""


def need(*tools):
    """Skip the test where one of some tools is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(
                f"{tool} is not installed: on Debian, .ci/run installs what this test needs"
            )


def text_of(template, export):
    row = {"int16": "int16_t", "float32": "float"}[export.rows]
    facts = {"NAME": export.name, "ROW": row, "COLUMNS": str(export.n_columns)}
    for word, value in facts.items():
        template = re.sub(rf"{word}(?![A-Z])", value, template)
    return template


def on_host(export, X, folder, compiler, *options):
    """The classes of rows by the header, compiled strictly and with sanitizers."""
    command = HOSTS[compiler]
    need(command[0])
    export.save(folder)
    source, program = folder / f"{export.name}_reader.c", folder / f"{export.name}_reader"
    source.write_text(text_of(_READER, export))
    run([*command, *STRICT, "-O2", *options, source, "-o", program])
    rows = np.ascontiguousarray(X, dtype=DTYPES[export.rows])
    return np.array(run([program], input=rows.tobytes()).split(), dtype=int)


def device_program(export, folder, device):
    """The self-test as a program for a microcontroller."""
    need(ARM)
    export.save(folder)
    rows = int(re.search(r"_test_classes\[(\d+)\]", export.test).group(1))
    source = folder / f"{export.name}_device.c"
    source.write_text(text_of(_DEVICE.replace("ROWS", str(rows)), export))
    program = folder / f"{export.name}_{device[:2]}.elf"
    return linked([compiled(source, device, "-std=c99", *STRICT)], program, device)


def on_device(export, folder, device):
    """The classes of the rows of the self-test, on a microcontroller under qemu."""
    need(ARM, QEMU)
    printed = emulated(device_program(export, folder, device), DEVICES[device][0])
    return np.array([ord(letter) - ord("A") for letter in printed.split()[0]])
