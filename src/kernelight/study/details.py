"""A closer look at the recommended model: its errors on the test rows, and a picture of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.metrics import confusion_matrix

from kernelight.study.models import Data, Model
from kernelight.study.threads import one_thread

PICTURE_ROWS = 400
FEWEST_FOR_TSNE = 60
TSNE_SECONDS = 4.0  # what t-SNE may take on a busy machine
SCATTER_ROWS = 500
MOST_CLASSES = 20  # of a confusion matrix that can be read
N_PAIRS = 15  # of classes confused most, where there are more classes


def fitted_of(test: Data, predicted: NDArray[Any], classes: list[str] | None) -> dict[str, Any]:
    """The field ``confusion`` of a classification, or ``fitted`` of a regression.

    The confusion is a matrix, or for many classes the pairs of classes confused most.
    """
    if classes is None:
        some = slice(0, SCATTER_ROWS)
        points = {"true": test.y[some].tolist(), "predicted": np.asarray(predicted)[some].tolist()}
        return {"fitted": points}
    matrix = confusion_matrix(test.y, predicted, labels=np.arange(len(classes)))
    if len(classes) <= MOST_CLASSES:
        return {"confusion": {"classes": classes, "matrix": matrix.tolist()}}
    errors = matrix.copy()
    np.fill_diagonal(errors, 0)
    order = np.argsort(-errors, axis=None, kind="stable")[:N_PAIRS]
    pairs = [
        [classes[true], classes[taken], int(errors[true, taken]), int(matrix[true].sum())]
        for true, taken in (np.unravel_index(place, errors.shape) for place in order)
        if errors[true, taken]
    ]
    return {"confusion": {"classes": classes, "pairs": pairs}}


def picture_of(model: Model, test: Data, seed: int, seconds: float) -> dict[str, Any] | None:
    """Some test rows in the plane, by t-SNE of their codes or features; None if impossible.

    By PCA where there are few rows or ``seconds``.
    """
    with one_thread():
        return _picture(model, test, seed, seconds)


def _picture(model: Model, test: Data, seed: int, seconds: float) -> dict[str, Any] | None:
    rows = test.X[:PICTURE_ROWS]
    if model.features is not None:
        features = model.features(rows)
    else:
        features = model.scaling(rows)
        if model.feature_map is not None:
            features = model.feature_map.transform(features)
    n, width = features.shape
    if n < 5 or width < 2:
        return None
    size = min(30, n - 1, width - 1)
    reduction = TruncatedSVD if hasattr(features, "tocsr") else PCA
    with np.errstate(all="ignore"):
        n_dimensions = max(2, size) if width > 2 else 2
        flat = reduction(n_dimensions, random_state=seed).fit_transform(features)
    method = "PCA"
    if (
        n >= FEWEST_FOR_TSNE
        and seconds > TSNE_SECONDS
        and size >= 2
        and np.ptp(flat, axis=0).max() > 0
    ):
        perplexity = min(30.0, n / 5)
        flat = TSNE(
            2, perplexity=perplexity, init="pca", max_iter=500, random_state=seed, n_jobs=1
        ).fit_transform(flat)
        method = "t-SNE"
    if not np.isfinite(flat).all():
        return None
    points = np.round(flat[:, :2].astype(np.float64), 3)
    return {"method": method, "points": points.tolist(), "y": test.y[:n].tolist()}
