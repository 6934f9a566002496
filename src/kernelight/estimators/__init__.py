"""The estimators that take a table: scaling, kernel, feature map and linear model, tuned together.

`KernelClassifier` and `KernelRegressor` are what users see. To read the code, begin with
`kernel_model`, whose `KernelModel._fit` names the steps of a fit:

- `preprocessing`: from frames and missing values to a matrix; `sample_weights`: weights of rows;
- `search`: how settings are chosen; `search_space`: what is tried; `race`: which settings are worth
  a closer look; `left_out` and `folds`: which rows are held out; `scoring`: what is maximised;
  `kernel_choice`: what of a kernel can be tuned; `weights_round` and `column_weights`: weights of
  columns, which `ColumnWeighter` learns as a step of a pipeline;
- `average_search` and `average_model`: kernel="auto", the average of several models;
- `routes`: from scaled rows to a model: linear, kernel ridge regression (`kernel_ridge`) or an SVM
  (`exact_svm`), the last two kept as a `support_model`;
- `explaining`: what columns add to scores, by an `additive` model, as `contributions`;
- `calibration`: from scores to probabilities and intervals;
- `compact_classifier`, with `compact_search` and `device_size`: a model for a budget of bytes;
- `progress`, `leak_notes`, `summary`, `state_checks`: what is told, printed and loaded.

The other public names are for the command and the study: `preprocessing`; `Event`, how far a fit
is; `scoring_kind`, `SCORING_EXAMPLES` and `positive_class`, about scorings; `C_GRID`, values of
C; `DEFAULT_COMPONENTS` of a feature map; `SCORE_TIE`, within which scores are a tie;
`warn_of_leaks`, which names columns that give the target away.
"""

from kernelight.estimators import preprocessing
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.leak_notes import warn_of_leaks
from kernelight.estimators.progress import Event
from kernelight.estimators.regressor import KernelRegressor
from kernelight.estimators.scoring import SCORE_TIE, SCORING_EXAMPLES, positive_class, scoring_kind
from kernelight.estimators.search_space import C_GRID, DEFAULT_COMPONENTS

__all__ = [
    "C_GRID",
    "DEFAULT_COMPONENTS",
    "SCORE_TIE",
    "SCORING_EXAMPLES",
    "Event",
    "KernelClassifier",
    "KernelRegressor",
    "positive_class",
    "preprocessing",
    "scoring_kind",
    "warn_of_leaks",
]
