"""The rooms of the house and what may pass between them; docs/architecture.md has the same rule in words."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "kernelight"
CORE, BINDINGS = ROOT / "core", ROOT / "bindings"

BASEMENT = {"_core", "_checks", "_files", "_registry", "_sparse", "_stored", "codes", "state"}
NUMERIC = {"numpy", "scipy"}

# room -> (rooms of ours that it may import, packages of others that it may import)
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "wording": (set(), set()),  # which every room may import
    "_sparse": (set(), NUMERIC),
    "_checks": ({"_core", "_sparse"}, NUMERIC),
    "_files": (set(), set()),
    "state": ({"_files"}, {"numpy"}),
    "_registry": ({"_files", "state"}, set()),
    "codes": ({"_core", "_checks", "_files", "state"}, NUMERIC),
    "_stored": ({"_checks", "_files", "_registry", "state"}, NUMERIC | {"sklearn"}),
    "scaling": (BASEMENT, NUMERIC | {"sklearn"}),
    "metrics": (set(), {"numpy"}),
    "theory": ({"_sparse"}, NUMERIC),
    "kernels": (BASEMENT, NUMERIC),
    "maps": (BASEMENT | {"kernels", "scaling", "theory"}, NUMERIC | {"sklearn"}),
    "hashing": (BASEMENT | {"maps"}, NUMERIC),
    "linear": (BASEMENT, NUMERIC | {"sklearn", "threadpoolctl"}),
    "neighbors": (BASEMENT | {"theory"}, NUMERIC | {"sklearn"}),
    "compose": (BASEMENT | {"data", "kernels", "maps", "linear", "scaling"}, NUMERIC | {"sklearn"}),
    "data": (
        {"_core", "_checks", "_files", "_sparse"},
        NUMERIC | {"pyarrow", "sklearn"},
    ),  # sklearn for data sets by name only
    "tables": (
        BASEMENT | {"data", "metrics", "kernels", "maps", "compose", "scaling"},
        NUMERIC | {"pyarrow", "sklearn"},
    ),
    "__main__": ({"cli"}, set()),
    "export": ({"state", "codes", "_registry"}, NUMERIC),
}
# Rooms that know public names only; of others they may import what they like.
GUESTS = {"study", "distributed", "cli"}
GUEST_DIRECTORIES = ("benchmarks", "examples", "papers")

ALLOCATION = {"malloc", "calloc", "realloc", "free", "alloca", "abort", "printf"}
_FUNCTIONS = "acos asin atan atan2 cbrt ceil cos cosh erf exp exp2 expm1 fabs floor fma fmod frexp hypot ldexp lgamma log log10"
_FUNCTIONS += " log1p log2 nearbyint pow remainder rint round sin sinh sqrt tan tanh tgamma trunc"
LIBM = {name + suffix for name in _FUNCTIONS.split() for suffix in ("", "f", "l")}


def python_files(*places: Path) -> list[Path]:
    return sorted(file for place in places for file in place.rglob("*.py"))


def sources(place: Path) -> list[Path]:
    return sorted(file for file in place.rglob("*") if file.suffix in {".h", ".c", ".cpp"})


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it; `from package import name` counts as `package.name`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(file)}:{node.lineno} imports relatively: name the module in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", python_files(PACKAGE), ids=named)
def test_imports_point_down(file: Path) -> None:
    room = room_of(file)
    if room == "__init__" or room in GUESTS:
        return
    assert room in ROOMS, (
        f"{room} is a new room: say in ROOMS, and in docs/architecture.md, what it may import"
    )
    ours, others = ROOMS[room]
    for module in imports(file):
        top, _, rest = module.partition(".")
        if top == "kernelight":
            assert rest.split(".")[0] in ours | {room, "wording"}, f"{named(file)} must not import {module}"
        else:
            assert top in others or top in sys.stdlib_module_names, f"{named(file)} must not import {module}"


@pytest.mark.parametrize(
    "file",
    python_files(*(PACKAGE / room for room in GUESTS), *(ROOT / place for place in GUEST_DIRECTORIES)),
    ids=named,
)
def test_guests_use_public_names(file: Path) -> None:
    for module in imports(file):
        path = module.split(".")
        if path[0] == "kernelight" and path[1:2] != [room_of(file) if PACKAGE in file.parents else None]:
            private = [part for part in path[1:] if part.startswith("_") and part != "__version__"]
            assert not private, f"{named(file)} must not know {module}"


def test_import_stays_light() -> None:
    script = (
        "import sys, kernelight; dir(kernelight);"
        "print(*{'numpy', 'scipy', 'sklearn', 'safetensors'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_kernels_do_not_load_scikit_learn() -> None:
    script = (
        "import sys, kernelight; kernelight.kernels.GMM, kernelight.Codes; print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("file", sources(CORE / "portable"), ids=named)
def test_portable_needs_nothing(file: Path) -> None:
    """The definitions of the hashes compile anywhere: no C++, no allocation, no mathematical library."""
    text = without_comments(file.read_text())
    for header in re.findall(r"#\s*include\s*[<\"]([^>\"]+)[>\"]", text):
        assert header in {"stdint.h", "stddef.h", "string.h"} or (file.parent / header).is_file(), header
    stray = set(re.findall(r"\b([a-z]\w*)\s*\(", text)) & (LIBM | ALLOCATION)
    assert not stray, f"{named(file)} calls {', '.join(sorted(stray))}"
    assert not re.search(r"\b(template|class|namespace|std::|new|delete|auto)\b", text), named(file)


@pytest.mark.parametrize("file", sources(CORE), ids=named)
def test_core_knows_neither_python_nor_files(file: Path) -> None:
    text = without_comments(file.read_text())
    for header in re.findall(r"#\s*include\s*[<\"]([^>\"]+)[>\"]", text):
        banned = re.match(
            r"(Python|nanobind|pybind11|numpy|cblas|iostream|fstream|cstdio|stdio|string$|filesystem)", header
        )
        assert not banned, f"{named(file)} includes {header}"
    if file != CORE / "parallel.h":
        assert not re.search(
            r"std::(thread|jthread|async)\b|<thread>|<future>|pthread|#\s*pragma\s+omp", text
        ), named(file)


@pytest.mark.parametrize("file", sources(BINDINGS), ids=named)
def test_bindings_are_glue(file: Path) -> None:
    assert not re.search(r"\b(for|while|do)\b\s*[({]", without_comments(file.read_text())), (
        f"a loop in {named(file)} is a bug"
    )


@pytest.mark.parametrize("file", [ROOT / "CMakeLists.txt", *sources(CORE), *sources(BINDINGS)], ids=named)
def test_floating_point_is_strict(file: Path) -> None:
    """Codes are bit-identical everywhere only if no one reorders or fuses their arithmetic."""
    text = file.read_text()
    assert not re.search(
        r"-Ofast|-f(fast-math|associative-math|reciprocal-math|unsafe-math\S*|finite-math-only)|-mfma\b", text
    )
    assert not re.search(r"ffp-contract=(fast|on)|FP_CONTRACT ON", text)


def test_contraction_is_off() -> None:
    assert "-ffp-contract=off" in (ROOT / "CMakeLists.txt").read_text()
