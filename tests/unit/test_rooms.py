"""The rooms of the package and what may pass between them; docs/architecture.md has it in words."""

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

BASE = {"_core", "base", "codes", "state"}
NUMERIC = {"numpy", "scipy"}

# room -> (rooms of ours that it may import, packages of others that it may import). The modules of
# `base` stand on each other, so that each has its own line.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "base": (set(), set()),
    "base.wording": (set(), set()),
    "base.sparse": (set(), NUMERIC),
    "base.checks": ({"_core", "base.sparse"}, NUMERIC),
    "base.files": (set(), set()),
    "base.targets": ({"base.checks"}, NUMERIC),
    "base.registry": ({"base.files", "state"}, set()),
    "base.estimator": (
        {"base.checks", "base.files", "base.registry", "state"},
        NUMERIC | {"sklearn"},
    ),
    "state": ({"base.files"}, {"numpy"}),
    # pyarrow for binary values, on demand
    "codes": ({"_core", "base.checks", "base.files", "state"}, NUMERIC | {"pyarrow"}),
    "scaling": (BASE, NUMERIC | {"sklearn"}),
    "metrics": (set(), {"numpy"}),
    "installation": ({"base.checks", "state"}, set()),
    "theory": ({"base.sparse"}, NUMERIC),
    "kernels": (BASE, NUMERIC),
    "maps": (BASE | {"kernels", "scaling", "theory"}, NUMERIC | {"sklearn"}),
    "hashing": (BASE | {"maps"}, NUMERIC),
    "linear": (BASE, NUMERIC | {"sklearn", "threadpoolctl"}),
    # usearch, for the graph of neighbours, on demand
    "neighbors": (BASE | {"kernels", "maps", "theory"}, NUMERIC | {"sklearn", "usearch"}),
    # matplotlib for displays only, on demand
    "estimators": (
        BASE | {"data", "kernels", "maps", "linear", "scaling"},
        NUMERIC | {"sklearn", "matplotlib"},
    ),
    # sklearn for data sets by name only
    "data": (
        {"_core", "base.checks", "base.files", "base.sparse"},
        NUMERIC | {"pyarrow", "sklearn"},
    ),
    "tables": (
        BASE
        | {"data", "metrics", "kernels", "maps", "linear", "estimators", "neighbors", "scaling"},
        NUMERIC | {"pyarrow", "sklearn"},
    ),
    "__main__": ({"cli"}, set()),
    # onnx, onnxruntime and skl2onnx on demand
    "export": (
        BASE | {"estimators", "kernels", "linear", "maps", "scaling", "tables"},
        NUMERIC | {"sklearn", "onnx", "onnxruntime", "skl2onnx"},
    ),
}
# Rooms that know public names only; of others they may import what they like.
GUESTS = {"study", "distributed", "cli"}
GUEST_DIRECTORIES = ("benchmarks", "examples", "papers")

ALLOCATION = {"malloc", "calloc", "realloc", "free", "alloca", "abort", "printf"}
_FUNCTIONS = (
    "acos asin atan atan2 cbrt ceil cos cosh erf exp exp2 expm1 fabs floor fma fmod frexp hypot "
    "ldexp lgamma log log10 log1p log2 nearbyint pow remainder rint round sin sinh sqrt tan tanh "
    "tgamma trunc"
)
LIBM = {name + suffix for name in _FUNCTIONS.split() for suffix in ("", "f", "l")}


def python_files(*places: Path) -> list[Path]:
    return sorted(file for place in places for file in place.rglob("*.py"))


def sources(place: Path) -> list[Path]:
    return sorted(file for file in place.rglob("*") if file.suffix in {".h", ".c", ".cpp"})


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it; `from package import name` counts as
    `package.name`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{named(file)}:{node.lineno} imports relatively: name the module in full"
            )
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def room_of(file: Path) -> str:
    """The room of a file; a module of `base` is a room of its own."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] == "base" and parts[1] != "__init__" else parts[0]


def may_import(module: str, room: str, allowed: set[str]) -> bool:
    """Whether ``room`` may import ``module``: its own, the words of messages, or an allowed one."""
    path = module.split(".")
    if path[0] == room or module in {"base.counted", "base.bytes_text", "base.naming"}:
        return True
    return path[0] in allowed or ".".join(path[:2]) in allowed | {room}


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
            assert may_import(rest, room, ours), f"{named(file)} must not import {module}"
        else:
            assert top in others or top in sys.stdlib_module_names, (
                f"{named(file)} must not import {module}"
            )


def exported(module: Path) -> set[str] | None:
    """What a module lists in `__all__`; None if it has none."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and [*map(ast.unparse, node.targets)] == ["__all__"]:
            return set(ast.literal_eval(node.value))
    return None


def is_public(name: str) -> bool:
    """Whether a name is public: its room, or its module in the room, lists it in `__all__`.

    A public module without `__all__` shares every name that has no underscore in front.
    """
    *path, last = name.split(".")
    if not path or (len(path) == 1 and (PACKAGE / last / "__init__.py").exists()):
        return True
    place = ROOT.joinpath("src", *path)
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    shared = exported(module)
    known = not last.startswith("_") if shared is None else last in shared
    return known and is_public(".".join(path))


@pytest.mark.parametrize("package", sorted(PACKAGE.glob("*/__init__.py")), ids=named)
def test_every_room_says_what_is_public(package: Path) -> None:
    """Public is what `__all__` of a package lists; no module has an underscore in front."""
    assert exported(package) is not None, f"{named(package)} has no __all__"
    hidden = [file.name for file in package.parent.rglob("_*.py") if not file.name.startswith("__")]
    assert not hidden, f"{hidden} of {named(package.parent)}: modules have no underscore in front"


@pytest.mark.parametrize("file", python_files(PACKAGE), ids=named)
def test_an_underscore_stays_in_its_module(file: Path) -> None:
    private = [
        module
        for module in imports(file)
        if module.startswith("kernelight.")
        and re.search(r"\._(?!core$|core\.|_version__$)", module)
    ]
    assert not private, f"{named(file)} must not import {private}"


@pytest.mark.parametrize(
    "file",
    python_files(
        *(PACKAGE / room for room in GUESTS), *(ROOT / place for place in GUEST_DIRECTORIES)
    ),
    ids=named,
)
def test_guests_use_public_names(file: Path) -> None:
    own = f"kernelight.{room_of(file)}." if PACKAGE in file.parents else None
    for module in imports(file):
        if module.split(".")[0] == "kernelight" and not (own and module.startswith(own)):
            assert is_public(module), f"{named(file)} must not know {module}: publish it"


def test_import_stays_light() -> None:
    script = (
        "import sys, kernelight; dir(kernelight);"
        "print(*{'numpy', 'scipy', 'sklearn', 'safetensors'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_kernels_do_not_load_scikit_learn() -> None:
    script = (
        "import sys, kernelight; kernelight.kernels.GMM, kernelight.Codes;"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("file", sources(CORE / "portable"), ids=named)
def test_portable_needs_nothing(file: Path) -> None:
    """The definitions of the hashes compile anywhere: no C++, no allocation, no mathematical
    library."""
    text = without_comments(file.read_text())
    for header in re.findall(r"#\s*include\s*[<\"]([^>\"]+)[>\"]", text):
        assert header in {"stdint.h", "stddef.h", "string.h"} or (file.parent / header).is_file(), (
            header
        )
    stray = set(re.findall(r"\b([a-z]\w*)\s*\(", text)) & (LIBM | ALLOCATION)
    assert not stray, f"{named(file)} calls {', '.join(sorted(stray))}"
    assert not re.search(r"\b(template|class|namespace|std::|new|delete|auto)\b", text), named(file)


@pytest.mark.parametrize("file", sources(CORE), ids=named)
def test_core_knows_neither_python_nor_files(file: Path) -> None:
    text = without_comments(file.read_text())
    for header in re.findall(r"#\s*include\s*[<\"]([^>\"]+)[>\"]", text):
        banned = re.match(
            r"(Python|nanobind|pybind11|numpy|cblas|iostream|fstream|cstdio|stdio|string$|filesystem)",
            header,
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


@pytest.mark.parametrize(
    "file", [ROOT / "CMakeLists.txt", *sources(CORE), *sources(BINDINGS)], ids=named
)
def test_floating_point_is_strict(file: Path) -> None:
    """Codes are bit-identical everywhere only if no one reorders or fuses their arithmetic."""
    text = file.read_text()
    assert not re.search(
        r"-Ofast|-f(fast-math|associative-math|reciprocal-math|unsafe-math\S*|finite-math-only)|-mfma\b",
        text,
    )
    assert not re.search(r"ffp-contract=(fast|on)|FP_CONTRACT ON", text)


def test_contraction_is_off() -> None:
    assert "-ffp-contract=off" in (ROOT / "CMakeLists.txt").read_text()


def test_long_files_give_a_reason() -> None:
    """A file of over 500 lines says in its head why it is one file."""
    places = ("src", "core", "bindings", "tests", "benchmarks", "papers", "tools", "examples")
    paths = [path for place in places for path in (ROOT / place).rglob("*")]
    texts = {
        named(path): path.read_text("utf-8")
        for path in paths
        if path.suffix in {".py", ".h", ".cpp"}
    }
    long = {name for name, text in texts.items() if text.count("\n") > 500}
    silent = {name for name in long if not re.search(r"\bLong\b", texts[name][:1500])}
    assert not silent
