"""C programs for Cortex-M devices: compiled, linked, run under qemu, and measured.

Tests of exported headers and the benchmark of devices share this. It needs the Debian packages
gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
ARM, QEMU, SIZE = "arm-none-eabi-gcc", "qemu-system-arm", "arm-none-eabi-size"
# A Cortex-M0+ has the instructions of the M0 of the micro:bit.
DEVICES = {
    "M0+": ("microbit", ("-mcpu=cortex-m0plus",)),
    "M3": ("mps2-an385", ("-mcpu=cortex-m3",)),
    "M4": ("mps2-an386", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")),
}
# Both MPS2 boards have 4 MB of each, for peers that are large; the M3 runs the code of an M0+.
LARGE = ("LENGTH = 256K", "LENGTH = 16K"), ("LENGTH = 4M", "LENGTH = 4M")
INSTRUCTIONS_PER_TICK = 40  # of SysTick at 25 MHz, where an instruction takes a nanosecond
ROW_TYPES = {"int16_t": np.int16, "float": np.float32}


class ProgramError(AssertionError):
    """A compiler or a program ended with an error, so that a test which runs it fails."""


class Code(NamedTuple):
    """C that defines ``int model_class(const ROW *row)``, the class of a row."""

    source: str
    columns: int
    row: str = "int16_t"
    include: tuple[str, ...] = ()  # folders


class Sizes(NamedTuple):
    """Bytes of a model alone, with what it takes of libraries: no start-up, no row."""

    flash: int
    data: int  # variables that are no constants


class Measured(NamedTuple):
    """A model on a device: bytes of flash and RAM (stack and data), instructions of a row."""

    flash: int
    ram: int
    instructions: float
    classes: np.ndarray[Any, Any]


def run(command: Sequence[Any], **options: Any) -> str:
    """What a command prints; an exit status other than 0 is an error with its last words."""
    words = [str(part) for part in command]
    done: subprocess.CompletedProcess[bytes] = subprocess.run(words, capture_output=True, **options)
    if done.returncode != 0:
        last = done.stderr.decode()[-2000:] + done.stdout.decode()[-500:]
        raise ProgramError(f"{Path(words[0]).name} ended with {done.returncode}: {last}")
    return done.stdout.decode()


def compiled(source: Path, device: str, *options: str) -> Path:
    """An object file beside a source file, compiled for size."""
    target = source.with_suffix(".o")
    flags = (*DEVICES[device][1], "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
    run([ARM, *flags, *options, "-c", source, "-o", target])
    return target


def linked(objects: Sequence[Path], program: Path, device: str, *, large: bool = False) -> Path:
    """A program of object files and the start-up code."""
    folder = program.parent
    script, start = folder / "link.ld", folder / "start.c"
    text = (HERE / "link.ld").read_text()
    if large:
        for small, more in zip(*LARGE, strict=True):
            text = text.replace(small, more)
    script.write_text(text)
    start.write_text((HERE / "start.c").read_text())
    link = ("-mthumb", "-nostartfiles", "-Wl,--gc-sections", "-T", script)
    parts = (compiled(start, device), *objects, "-o", program, "-lm", "-lc", "-lgcc")
    run([ARM, *DEVICES[device][1], *link, *parts])
    return program


def emulated(program: Path, board: str, *options: str) -> str:
    """What a program prints under qemu; an exit status other than 0 is an error."""
    command = [QEMU, "-M", board, "-nographic", "-monitor", "none", "-serial", "null", *options]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(program)]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    printed = done.stdout.decode() + done.stderr.decode()
    if done.returncode != 0:
        raise ProgramError(f"{program.name} ended with {done.returncode}: {printed[-300:]}")
    return printed


# -- Measuring


def measured(code: Code, X: np.ndarray[Any, Any], device: str, folder: Path) -> Measured:
    """Classes of rows on a device, and what they take.

    Instructions are the mean over the rows: qemu lets each take a nanosecond, and the timer of the
    device counts in steps of 40.
    """
    program, bytes_ = _measurable(code, X, device, folder)
    board = DEVICES["M4" if device == "M4" else "M3"][0]
    lines = emulated(program, board, "-icount", "shift=0").split()
    numbers = np.array([int(word, 16) for word in lines]).reshape(-1, 3)
    ticks, stack = numbers[:, 1], numbers[:, 2].max()
    ram = int(stack) + bytes_.data
    instructions = INSTRUCTIONS_PER_TICK * float(ticks.mean())
    return Measured(bytes_.flash, ram, instructions, numbers[:, 0])


def on_host(code: Code, X: np.ndarray[Any, Any], folder: Path) -> np.ndarray[Any, Any]:
    """Classes of rows by the same C on this machine."""
    reader = (
        f"#include <stdio.h>\nint main(void) {{ static {code.row} row[{code.columns}];\n"
        "while (fread(row, sizeof row, 1, stdin) == 1) printf("
        '"%d\\n", model_class(row)); return 0; }\n'
    )
    source, program = folder / "host.c", folder / "host"
    source.write_text(f"{code.source}\n{reader}")
    include = [f"-I{each}" for each in code.include]
    run(["gcc", "-std=c99", "-O1", *include, source, "-o", program, "-lm"])
    rows = np.ascontiguousarray(X, dtype=ROW_TYPES[code.row])
    return np.array(run([program], input=rows.tobytes()).split(), dtype=int)


def _measurable(
    code: Code, X: np.ndarray[Any, Any], device: str, folder: Path
) -> tuple[Path, Sizes]:
    """The program that measures a model, and the bytes of the model."""
    numbers = np.ascontiguousarray(X, dtype=ROW_TYPES[code.row]).ravel()
    facts = f"#include <stdint.h>\ntypedef {code.row} row_t;\nint model_class(const row_t *row);\n"
    facts += f"enum {{ ROWS = {len(X)}, COLUMNS = {code.columns} }};\n"
    (folder / "measured.h").write_text(facts)
    values = ",".join(repr(float(v)) if code.row == "float" else str(v) for v in numbers)
    harness = (HERE / "measuring.c").read_text()
    (folder / "measuring.c").write_text(
        f"{harness}\nconst row_t rows[ROWS * COLUMNS] = {{{values}}};\n"
    )
    (folder / "model.c").write_text(code.source)
    (folder / "empty.c").write_text(
        '#include "measured.h"\nint model_class(const row_t *row) { (void)row; return 0; }\n'
    )
    include = [f"-I{each}" for each in (folder, *code.include)]
    options = ("-std=gnu99", *include)
    outer = compiled(folder / "measuring.c", device, *options)
    bytes_ = []
    for name in ("empty", "model"):
        part = compiled(folder / f"{name}.c", device, *options)
        bytes_.append(_sections(linked([outer, part], folder / f"{name}.elf", device, large=True)))
    empty, full = bytes_
    flash = full[".text"] + full[".data"] - empty[".text"] - empty[".data"]
    data = full[".data"] + full[".bss"] - empty[".data"] - empty[".bss"]
    return folder / "model.elf", Sizes(flash, data)


def _sections(program: Path) -> dict[str, int]:
    lines = run([SIZE, "-A", program]).splitlines()
    return {
        words[0]: int(words[1])
        for words in map(str.split, lines)
        if words[:1] != [] and words[0].startswith(".")
    }
