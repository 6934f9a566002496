"""Which route a fit takes: what ``method`` names, or what suits the number of rows."""

from __future__ import annotations

from typing import Any

from kernelight.estimators.kernel_choice import EXACT, RIDGE
from kernelight.estimators.routes import ExactRoute, LinearRoute, RidgeRoute, Route

DEFAULT_BITS = 8
RIDGE_ROWS = 3_200  # up to so many the exact kernel costs no more than epochs on codes


def route_for(model: Any, default_loss: str, n_rows: int | None) -> Route:
    """The way from rows to a model, for the parameters of an estimator.

    ``method=None`` is kernel ridge regression for at most `RIDGE_ROWS` rows, unless a parameter of
    a feature map or another loss was given; else it is a feature map. ``n_rows`` is None where it
    is not known how many rows there will be.
    """
    if model.method == EXACT:
        if model.loss == "logistic":
            raise ValueError(
                "method='exact' is an SVM, which has no logistic loss: use loss='hinge', or "
                "another method."
            )
        return ExactRoute()
    if model.method == RIDGE:
        if model.loss != default_loss:
            raise ValueError(
                f"method='ridge' has the squared loss: leave loss={default_loss!r}, or use another "
                f"method."
            )
        return RidgeRoute()
    of_a_map = (model.method, model.n_components) != (None, None) or model.bits != DEFAULT_BITS
    if of_a_map or model.loss != default_loss or n_rows is None or n_rows > RIDGE_ROWS:
        return LinearRoute(model.method, model.bits, model.seed_, model.n_jobs)
    return RidgeRoute()
