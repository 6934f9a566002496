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
from kernelight.export import run_onnx, to_c, to_onnx

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
        for option, value in (("--phases", phases), ("--arduino", arduino)):
            if value:
                raise ValueError(f"{option} goes with --to c: leave it out.")
        check_output(output, model, check)
        fitted = TableModel.load(model)
        data = None if check is None else fitted.open(check, **reading_options)
        exported = to_onnx(fitted, name=name or _name_of(model), rows=rows or "float32")
        facts = {"file": output, **_onnx_facts(exported, rows or "float32")}
        if data is not None:
            facts |= _compared(exported, fitted, data.materialise()[0])
        with replacing(output) as out:
            out.write(exported.SerializeToString())
        if as_json:
            show.as_json(facts)
        elif not quiet:
            _say_onnx(facts)
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


def _onnx_facts(exported: Any, rows: str) -> dict[str, Any]:
    """What goes into an ONNX model and what comes out."""
    given = exported.graph.input[0]
    return {
        "bytes": exported.ByteSize(),
        "input": given.name,
        "rows": rows,
        "columns": given.type.tensor_type.shape.dim[1].dim_value,
        "outputs": [each.name for each in exported.graph.output],
        "opset": exported.opset_import[0].version,
    }


def _compared(exported: Any, fitted: TableModel, X: Any) -> dict[str, Any]:
    """How many rows onnxruntime predicts otherwise, or by how much at most."""
    names = [each.name for each in exported.graph.output]
    made = run_onnx(exported, X)[names[0]]
    expected = fitted.model_.predict(X)
    facts: dict[str, Any] = {"check_rows": len(X)}
    if names[0] == "label":
        return facts | {"different": int((made != expected).sum())}
    return facts | {"largest_difference": float(abs(made.reshape(expected.shape) - expected).max())}


def _say_onnx(facts: dict[str, Any]) -> None:
    show.say(
        f"{facts['input']}: rows of {facts['columns']:,} numbers, {facts['rows']}; gives "
        f"{', '.join(facts['outputs'])}; opset {facts['opset']}."
    )
    if "different" in facts:
        show.say(
            f"onnxruntime predicts {facts['different']:,} of {facts['check_rows']:,} rows "
            "otherwise than Python."
        )
    elif "largest_difference" in facts:
        show.say(
            f"Of {facts['check_rows']:,} rows predictions of onnxruntime and Python differ by at "
            f"most {facts['largest_difference']:.2g}."
        )
    show.say(f"Written: {facts['file']}, {bytes_text(facts['bytes'])}.")


def _name_of(model: str) -> str:
    """The name of the model's file, as far as C takes it."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", Path(model).stem).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")
