"""Column scaling: fitted values (`scaling`), and a step of a pipeline (`column_scaler`)."""

from kernelight.scaling.scaling import (
    MAX_KNOTS,
    NAMES,
    SPARSE_NAMES,
    Scaling,
    are_histograms,
    candidates,
    fit_scaling,
)

__all__ = [
    "MAX_KNOTS",
    "NAMES",
    "SPARSE_NAMES",
    "Scaling",
    "are_histograms",
    "candidates",
    "fit_scaling",
]
