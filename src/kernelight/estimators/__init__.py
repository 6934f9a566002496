"""The estimators that take a table: scaling, kernel, feature map and linear model, tuned together.

`KernelClassifier` and `KernelRegressor` are what users see. `preprocessing` turns frames into
matrices, `Event` says how far a fit is, and `scoring_kind` what a scoring is about; the command and
the study use them too.
"""

from kernelight.estimators import preprocessing
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.progress import Event
from kernelight.estimators.regressor import KernelRegressor
from kernelight.estimators.scoring import SCORE_TIE, SCORING_EXAMPLES, positive_class, scoring_kind
from kernelight.estimators.search_space import C_GRID

__all__ = [
    "C_GRID",
    "SCORE_TIE",
    "SCORING_EXAMPLES",
    "Event",
    "KernelClassifier",
    "KernelRegressor",
    "positive_class",
    "preprocessing",
    "scoring_kind",
]
