"""``kernelight info``: what a file of ours holds.

Nothing is made of it: plain data are read and shown.
"""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from kernelight import State
from kernelight.base import counted
from kernelight.cli import show
from kernelight.tables.code_files import describe_encoded, source_of


def run(file: str, as_json: bool) -> None:
    """Print what the file says of itself."""
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
        said = _said(state.meta)
    except (KeyError, TypeError, AttributeError) as error:  # well signed, and still not one of ours
        raise ValueError(f"{file} does not describe a {state.kind}: {error!r}.") from error
    show.pairs({"file": file, "kind": state.kind, "size": show.size(size), **said})
    if arrays:
        print()
        rows = [(name, *_row(array)) for name, array in state.arrays.items()]
        show.table(("array", "type", "shape", "bytes"), rows, right=(3,))


def _print_encoded(file: str, size: int, about: dict[str, Any], as_json: bool) -> None:
    """Of codes or features in a Parquet or NPZ file."""
    if as_json:
        show.as_json({"file": file, "bytes": size, **about})
        return
    said = {key: value for key, value in about.items() if value is not None and key != "version"}
    show.pairs({"file": file, "kind": said.pop("kind"), "size": show.size(size), **said})


def _row(array: NDArray[Any]) -> tuple[str, str, str]:
    return str(array.dtype), " x ".join(map(str, array.shape)), f"{array.nbytes:,}"


def _said(meta: dict[str, Any]) -> dict[str, Any]:
    """The parts of the meta that a person would ask for."""
    said: dict[str, Any] = {}
    if meta.get("kind") == "TableModel":
        return _of_table(meta)
    if meta.get("kind") == "Codes":
        return {key: value for key, value in meta.items() if key != "kind" and value is not None}
    for name in ("params", "decided"):
        for key, value in (meta.get(name) or {}).items():
            if value is not None and not isinstance(value, (list, dict)):
                said[key] = value
    labels = meta.get("labels")
    if isinstance(labels, dict) and isinstance(labels.get("values"), list):
        said["classes"] = _few(labels["values"])
    if "n_features_in" in meta:
        said["features"] = meta["n_features_in"]
    said |= _many_words(meta.get("encoding"))
    for key, part in (meta.get("parts") or {}).items():
        said[key] = part.get("kind") if isinstance(part, dict) else part
    return said


def _of_table(meta: dict[str, Any]) -> dict[str, Any]:
    """Of a model of a file: what it was trained on, which columns it wants, and what its model
    says."""
    encoding = meta["encoding"]
    said = {"trained on": f"{meta['trained_on']}, {counted(meta['n_rows'], 'row')}"}
    if encoding["target"] is not None:
        said["target"] = f"{show.plain(encoding['target']['name'])} ({encoding['target']['task']})"
    if encoding["columns"] is not None:
        said["columns"] = _few([column["name"] for column in encoding["columns"]])
    said |= _many_words(encoding)
    inner = meta["parts"]["model"]
    return {**said, **_said(inner), "model": inner["kind"]}


def _many_words(encoding: dict[str, Any] | None) -> dict[str, str]:
    """The columns that have target values."""
    columns = [column for column in (encoding or {}).get("columns") or () if "targets" in column]
    told = [
        f"{column['name']}: {len(column['targets']['words']):,} words, by their target values"
        for column in columns
    ]
    return {"words": _few(told)} if told else {}


def _few(values: list[Any], most: int = 12) -> str:
    text = ", ".join(map(show.plain, values[:most]))
    return text if len(values) <= most else f"{text}, ... ({len(values)} in all)"
