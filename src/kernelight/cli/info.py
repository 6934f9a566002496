"""``kernelight info``: what a file that kernelight wrote holds; without one, what is installed.

Only the state of a file is read and printed; no object is made from it.
"""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from kernelight import State, installation
from kernelight.base import bytes_text, counted
from kernelight.cli import show
from kernelight.tables.code_files import describe_encoded, source_of

_EXTRAS = {  # and what they are for
    "io": "Parquet and Arrow",
    "plots": "pictures",
    "search": "graphs of neighbours",
    "onnx": "ONNX graphs",
    "spark": "Spark",
}


def run(file: str | None, *, as_json: bool) -> None:
    """Print what is in the file, and how many bytes each part takes; without one, versions."""
    if file is None:
        _print_installation(as_json)
        return
    source = source_of(file)
    size, encoded = os.path.getsize(source.path), describe_encoded(source)
    if encoded is not None:
        _print_encoded(file, size, encoded, as_json)
        return
    state = State.load(source.path, name=file)
    arrays = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
        for name, array in state.arrays.items()
    }
    if as_json:
        show.as_json(
            {
                "file": file,
                "kind": state.kind,
                "bytes": size,
                "algorithm_version": state.algorithm_version,
                "meta": state.meta,
                "arrays": arrays,
            }
        )
        return
    try:
        facts = _facts(state.meta)
    except (KeyError, TypeError, AttributeError) as error:  # a valid file with other contents
        raise ValueError(f"{file} does not describe a {state.kind}: {error!r}.") from error
    show.pairs({"file": file, "kind": state.kind, "size": bytes_text(size), **facts})
    if arrays:
        show.say()
        rows = [(name, *_row(array)) for name, array in state.arrays.items()]
        show.table(("array", "type", "shape", "bytes"), rows, right=(3,))


def _print_installation(as_json: bool) -> None:
    """Print versions, what calls use of this machine, and which optional parts are there."""
    versions, machine = installation.versions(), installation.machine()
    parts = installation.optional_parts()
    if as_json:
        show.as_json({"versions": versions, "machine": machine, "optional": parts})
        return
    show.pairs({**versions, **machine})
    show.say()
    show.table(
        ("optional part", "for", "packages"),
        [(extra, _EXTRAS[extra], _said(extra, found)) for extra, found in parts.items()],
    )


def _said(extra: str, found: dict[str, str | None]) -> str:
    missing = [name for name, version in found.items() if version is None]
    if not missing:
        return ", ".join(f"{name} {version}" for name, version in found.items())
    packages = [name for name in missing if name != "java"]
    advice = [f"pip install 'kernelight[{extra}]'"] if packages else []
    advice += ["a Java runtime of version 17 or later"] if "java" in missing else []
    return f"missing: {', '.join(missing)} ({', and '.join(advice)})"


def _print_encoded(file: str, size: int, about: dict[str, Any], as_json: bool) -> None:
    """Print what is in a Parquet or NPZ file of codes or features."""
    if as_json:
        show.as_json({"file": file, "bytes": size, **about})
        return
    facts = {key: value for key, value in about.items() if value is not None and key != "version"}
    show.pairs({"file": file, "kind": facts.pop("kind"), "size": bytes_text(size), **facts})


def _row(array: NDArray[Any]) -> tuple[str, str, str]:
    return str(array.dtype), " x ".join(map(str, array.shape)), f"{array.nbytes:,}"


def _facts(meta: dict[str, Any]) -> dict[str, Any]:
    """The parts of the meta that a person would ask for."""
    facts: dict[str, Any] = {}
    if meta.get("kind") == "TableModel":
        return _table_facts(meta)
    if meta.get("kind") == "Codes":
        return {key: value for key, value in meta.items() if key != "kind" and value is not None}
    parameters, decided = (dict(meta.get(name) or {}) for name in ("params", "decided"))
    for key, value in parameters.items():
        if value == "tune":
            chosen = decided.pop(f"{key}_", None)
            of_members = (decided.get("sources_") or {}).get(key) == "members"
            facts[key] = None if chosen is None else f"{chosen} (tuned)"
            if of_members:
                facts[key] = "by each member"
        elif key != "verbose":
            facts[key] = value
    # a decision that only repeats its parameter is left out
    facts |= {key: value for key, value in decided.items() if facts.get(key.rstrip("_")) != value}
    facts = {
        key: value
        for key, value in facts.items()
        if value is not None and not isinstance(value, (list, dict))
    }
    labels = meta.get("labels")
    if isinstance(labels, dict) and isinstance(labels.get("values"), list):
        facts["classes"] = _first(labels["values"])
    if "n_features_in" in meta:
        facts["features"] = meta["n_features_in"]
    facts |= _target_values(meta.get("encoding"))
    for key, part in (meta.get("parts") or {}).items():
        facts[key] = part.get("kind") if isinstance(part, dict) else part
    return facts


def _table_facts(meta: dict[str, Any]) -> dict[str, Any]:
    """Of a `TableModel`: what it was trained on, the columns it takes, and facts of its model."""
    encoding = meta["encoding"]
    facts = {"trained on": f"{meta['trained_on']}, {counted(meta['n_rows'], 'row')}"}
    if encoding["target"] is not None:
        facts["target"] = f"{show.plain(encoding['target']['name'])} ({encoding['target']['task']})"
    if encoding["columns"] is not None:
        facts["columns"] = _first([column["name"] for column in encoding["columns"]])
    facts |= _target_values(encoding)
    inner = meta["parts"]["model"]
    return {**facts, **_facts(inner), "model": inner["kind"]}


def _target_values(encoding: dict[str, Any] | None) -> dict[str, str]:
    """The columns whose words are encoded by target values."""
    columns = [column for column in (encoding or {}).get("columns") or () if "targets" in column]
    texts = [
        f"{column['name']}: {len(column['targets']['words']):,} words, by their target values"
        for column in columns
    ]
    return {"words": _first(texts)} if texts else {}


def _first(values: list[Any], most: int = 12) -> str:
    """Some values in a line, and how many there are if not all are shown."""
    text = ", ".join(map(show.plain, values[:most]))
    return text if len(values) <= most else f"{text}, ... ({len(values)} in all)"
