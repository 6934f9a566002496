"""The texts of the files of an export: header, self-test, and the Arduino library around them."""

from __future__ import annotations

import textwrap
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import filled, float_text, table, text_literal
from kernelight.export.float_map import GUARD, UNGUARD
from kernelight.export.model_parts import ModelParts
from kernelight.export.predictors import Predictor

_HEADER = """\
/* $n.h: a classifier of rows of $columns numbers into $classes classes, by kernelight $version.
 *
 *     int ${n}_predict(const $row *row);       the index of the class, 0 to $last
 *     const char *${n}_label(int index);       its label
 *
 * C99 and C++11; no allocation, no state, $arithmetic. About $ram bytes of stack.
 * A row holds the columns as the model was trained on them; they are scaled here.
 * Include it in one file only: tables are static.
 * Provenance of the map: $provenance.
$order */
#ifndef ${guard}_MODEL_H
#define ${guard}_MODEL_H

$includes
#define ${guard}_COLUMNS $columns
#define ${guard}_CLASSES $classes

"""

_ARITHMETIC = """\
/* Shifts of negative numbers must keep the sign, as all known compilers have it. */
typedef char ${n}_shifts_keep_signs[(-1 >> 1) == -1 ? 1 : -1];

"""

_LABEL = """\
static inline const char *${n}_label(int index) {
    static const char *const labels[$classes] = {
$labels    };
    return index >= 0 && index < $classes ? labels[index] : "";
}

"""

_TEST = """\
/* The self-test of $n.h: $count rows and the classes that the model in Python gives them.
 * Run it on the device first: ${n}_test() is the number of rows that are predicted otherwise. On a
 * host: cc -std=c99 -D${guard}_MAIN ${n}_test.c && ./a.out
 */
#include "$n.h"

$rows$expected
int ${n}_test(void);
int ${n}_test(void) {
    int i, wrong = 0;
    for (i = 0; i < $count; ++i)
        wrong += ${n}_predict(${n}_test_rows + i * ${guard}_COLUMNS) != ${n}_test_classes[i];
    return wrong;
}

#ifdef ${guard}_MAIN
#include <stdio.h>
int main(void) {
    const int wrong = ${n}_test();
    printf("$n: %d of $count rows are predicted otherwise\\n", wrong);
    return wrong != 0;
}
#endif
"""

_SKETCH = """\
// Predicts a stored row and blinks as often as the index of its class says.
#include <$n.h>

static const $row row[${guard}_COLUMNS] = {
$values};

void setup() { pinMode(LED_BUILTIN, OUTPUT); }

void loop() {
  const int index = ${n}_predict(row);
  for (int i = 0; i < index; ++i) {
    digitalWrite(LED_BUILTIN, HIGH);
    delay(200);
    digitalWrite(LED_BUILTIN, LOW);
    delay(200);
  }
  delay(2000);
}
"""

#: The type of a number of a row, and how it is written.
_ROW: dict[str, tuple[str, Any]] = {"int16": ("int16_t", str), "float32": ("float", float_text)}
_INCLUDES = {"int16": ("stdint",), "float32": ("float", "stdint", "string")}


def header_text(name: str, rows: str, parts: ModelParts, predictor: Predictor, ram: int) -> str:
    """NAME.h."""
    exact, labels = rows == "float32", [str(label) for label in parts.classes.tolist()]
    text = filled(
        _HEADER,
        n=name,
        guard=name.upper(),
        columns=parts.scaling.n_features,
        classes=len(labels),
        row=_ROW[rows][0],
        last=len(labels) - 1,
        version=version("kernelight"),
        arithmetic="no mathematical library" if exact else "no floating point",
        ram=f"{ram:,}",
        order="" if parts.columns is None else _commented("Columns: " + ", ".join(parts.columns)),
        provenance=parts.provenance,
        includes="".join(f"#include <{file}.h>\n" for file in _INCLUDES[rows]),
    )
    text += filled(GUARD if exact else _ARITHMETIC, n=name) + predictor.source(name)
    lines = "".join(f"        {text_literal(label)},\n" for label in labels)
    text += filled(_LABEL, n=name, classes=len(labels), labels=lines)
    return text + (UNGUARD if exact else "") + "#endif\n"


def test_text(name: str, rows: str, X: NDArray[Any], classes: NDArray[np.intp]) -> str:
    """NAME_test.c, of some rows and the indices of their classes."""
    ctype, number = _ROW[rows]
    return filled(
        _TEST,
        n=name,
        guard=name.upper(),
        count=len(X),
        rows=table(ctype, f"{name}_test_rows", X.ravel(), number),
        expected=table("int", f"{name}_test_classes", classes),
    )


def sketch_text(name: str, rows: str, row: NDArray[Any]) -> str:
    """A sketch for Arduino that predicts one row."""
    ctype, number = _ROW[rows]
    values = "".join(f"    {number(value)},\n" for value in row)
    return filled(_SKETCH, n=name, guard=name.upper(), row=ctype, values=values)


def properties_text(name: str, n_columns: int) -> str:
    """library.properties of an Arduino library."""
    return (
        f"name={name}\nversion=1.0.0\nauthor=kernelight\nmaintainer=kernelight\n"
        f"sentence=A classifier of rows of {n_columns} numbers.\n"
        "paragraph=Exported by kernelight; include it in one file.\n"
        "category=Data Processing\nurl=\narchitectures=*\n"
        f"includes={name}.h\n"
    )


def _commented(text: str) -> str:
    """Words of users as lines of a comment of C, which they must not end."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    plain = plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
    lines = textwrap.wrap(plain, 96, break_on_hyphens=False)
    return "".join(f" * {line}\n" for line in lines)
