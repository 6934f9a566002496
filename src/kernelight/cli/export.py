"""``kernelight export``: a model as C for microcontrollers, or as an ONNX file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kernelight import TableModel
from kernelight.base import bytes_text
from kernelight.cli import show
from kernelight.cli.output import check_output
from kernelight.data import replacing
from kernelight.export import to_c, to_onnx

FORMATS = ("c", "onnx")


def run(
    model: str,
    check: str | None,
    reading_options: dict[str, Any],
    *,
    to: str,
    output: str,
    name: str | None,
    rows: str | None,
    phases: str | None,
    arduino: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Export, write and report."""
    if to not in FORMATS:
        raise ValueError(f"--to must be one of {', '.join(FORMATS)}, got {to!r}.")
    if to == "onnx":
        for option, value in (("--check", check), ("--phases", phases), ("--arduino", arduino)):
            if value:
                raise ValueError(f"{option} goes with --to c: leave it out.")
        _as_onnx(model, output, name, rows or "float32", quiet=quiet, as_json=as_json)
        return
    if check is None:
        raise ValueError("--to c needs --check DATA, rows to test the result with.")
    fitted = TableModel.load(model)
    exported = to_c(
        fitted,
        name=_name_of(model) if name is None else name,
        check=fitted.open(check, **reading_options),
        rows=rows or "int16",
        phases=phases or "seed",
    )
    files = exported.save(output, arduino=arduino)
    if as_json:
        show.as_json({"files": files, **exported.provenance})
    elif not quiet:
        show.say(str(exported.report))
        show.say(f"Written: {', '.join(files)}.")


def _as_onnx(
    model: str, output: str, name: str | None, rows: str, *, quiet: bool, as_json: bool
) -> None:
    """Write an ONNX file, and say what goes in and out."""
    check_output(output, model)
    exported = to_onnx(TableModel.load(model), name=name or _name_of(model), rows=rows)
    content = exported.SerializeToString()
    with replacing(output) as out:
        out.write(content)
    given, outputs = exported.graph.input[0], [each.name for each in exported.graph.output]
    width = given.type.tensor_type.shape.dim[1].dim_value
    opset = exported.opset_import[0].version
    if as_json:
        facts = {"columns": width, "rows": rows, "outputs": outputs, "opset": opset}
        show.as_json({"file": output, "bytes": len(content), **facts})
    elif not quiet:
        show.say(
            f"{given.name}: rows of {width:,} numbers, {rows}; gives {', '.join(outputs)}; "
            f"opset {opset}."
        )
        show.say(f"Written: {output}, {bytes_text(len(content))}.")


def _name_of(model: str) -> str:
    """The name of the model's file, as far as C takes it."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", Path(model).stem).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")
