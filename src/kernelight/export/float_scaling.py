"""The scaling of a row of floats in C, operation by operation that of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import double_text, filled, table
from kernelight.export.integer_rows import affine
from kernelight.scaling import Scaling

_SCALE = """\
/* Columns of the row as the model scales them. */
static inline void ${n}_scale(const float *row, float *e) {
    uint32_t i;
    for (i = 0; i < ${columns}u; ++i) {
$body    }
}

"""

_UNITS = """\
        double v = ${n}_unit[i] > 0.0 ? ((double)row[i] - ${n}_origin[i]) / ${n}_unit[i] : 0.0;
        v = v < -1e6 ? -1e6 : v > 1e6 ? 1e6 : v;
"""


@dataclass(frozen=True, eq=False)
class FloatScaling:
    """A scaling of rows of single precision."""

    scaling: Scaling

    @property
    def is_none(self) -> bool:
        """Whether rows stay as they are."""
        return self.scaling.name == "none" and self.scaling.weights is None

    @property
    def n_out(self) -> int:
        """Columns that leave."""
        return self.scaling.n_features_out

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The scaled rows: those of Python."""
        return np.asarray(self.scaling(np.ascontiguousarray(rows)))

    def source(self, n: str) -> str:
        """Tables, and the function ``n_scale`` where there is something to scale."""
        if self.is_none:
            return ""
        origin, unit, weights = affine(self.scaling)
        text, body, value = "", "", "(double)row[i]"
        if self.scaling.name != "none":
            text += table("double", f"{n}_origin", origin, double_text)
            text += table("double", f"{n}_unit", unit, double_text)
            body, value = filled(_UNITS, n=n), "v"
        times = ""
        if self.scaling.weights is not None:
            text += table("double", f"{n}_weight", weights, double_text)
            times = f" * {n}_weight[i]"
        own = "(v > 0.0 ? v : 0.0)" if self.scaling.name.startswith("minmax") else value
        body += f"        e[i] = (float)({own}{times});\n"
        if self.n_out > self.scaling.n_features:
            other = f"({n}_unit[i] > 0.0 && v < 1.0 ? 1.0 - v : 0.0)"
            body += f"        e[i + {self.scaling.n_features}u] = (float)({other}{times});\n"
        return text + filled(_SCALE, n=n, columns=self.scaling.n_features, body=body)

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables."""
        if self.is_none:
            return {}
        weights = 0 if self.scaling.weights is None else 8
        units = 0 if self.scaling.name == "none" else 16
        return {"scaling": (weights + units) * self.scaling.n_features}
