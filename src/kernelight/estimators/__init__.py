"""The estimators that take a table: scaling, kernel, feature map and linear model, tuned together.

`KernelClassifier` and `KernelRegressor` are what users see. To read the code, begin with
`kernel_model`, whose `KernelModel._fit` names the steps of a fit:

- `preprocessing`: from frames and missing values to a matrix; `sample_weights`: weights of rows;
- `search`: the rounds in which settings are scored; `search_space`: what is tried; `folds`: which
  rows are held out; `scoring`: what is maximised; `kernel_choice`: what of a kernel can be tuned;
- `routes`: from scaled rows to a model, either linear or an SVM (`exact_svm`);
- `calibration`: from scores to probabilities and intervals;
- `progress`, `summary`, `state_checks`: what is told, printed and loaded.

The other public names are for the command and the study: `preprocessing`; `Event`, how far a fit
is; `scoring_kind`, `SCORING_EXAMPLES` and `positive_class`, about scorings; `C_GRID`, the values of
C of a search; `SCORE_TIE`, within which scores are a tie.
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
