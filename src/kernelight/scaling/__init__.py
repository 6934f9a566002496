"""Scaling of columns: what happens to rows before a feature map or a linear model.

- `ColumnScaler`: a step of a pipeline, as scikit-learn has them; it can be saved. Its docstring has
  the formula of each scaling.
- `Scaling`: a fitted scaling as plain data. `fit_scaling` learns one from checked rows,
  `fit_scalings` several; calling it scales others. `ColumnScaler.scaling_` and `ScaledMap.scaling`
  are such objects.
- `SCALING_NAMES` and `SPARSE_SCALING_NAMES`: the scalings of dense and of sparse rows.
- `suitable_scalings`: which of them are worth trying; `are_histograms`: whether rows should stay as
  they are; `WIDEST`: up to how many columns sparse rows can have the scaling "max".
"""

from kernelight.scaling.column_scaler import ColumnScaler
from kernelight.scaling.scaling import (
    MAX_KNOTS,
    SCALING_NAMES,
    SPARSE_SCALING_NAMES,
    WIDEST,
    Scaling,
    are_histograms,
    fit_scaling,
    fit_scalings,
    suitable_scalings,
)

__all__ = [
    "MAX_KNOTS",
    "SCALING_NAMES",
    "SPARSE_SCALING_NAMES",
    "WIDEST",
    "ColumnScaler",
    "Scaling",
    "are_histograms",
    "fit_scaling",
    "fit_scalings",
    "suitable_scalings",
]
