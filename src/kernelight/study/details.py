"""A closer look at the recommended model: what it confuses, or how its predictions lie; a picture
of rows as it sees them."""

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
TSNE_SECONDS = 4.0  # that it may take on a busy machine
SCATTER_ROWS = 500
MOST_CELLS = 20  # classes of a confusion matrix that can be read
PAIRS = 15  # of classes confused most, where the matrix cannot be read


def fitted_of(test: Data, predicted: NDArray[Any], classes: list[str] | None) -> dict[str, Any]:
    """``confusion`` of a classification (a matrix, or for many classes the pairs confused most),
    ``fitted`` of a regression."""
    if classes is None:
        some = slice(0, SCATTER_ROWS)
        points = {"true": test.y[some].tolist(), "predicted": np.asarray(predicted)[some].tolist()}
        return {"fitted": points}
    matrix = confusion_matrix(test.y, predicted, labels=np.arange(len(classes)))
    if len(classes) <= MOST_CELLS:
        return {"confusion": {"classes": classes, "matrix": matrix.tolist()}}
    off = matrix.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:PAIRS]
    worst = [np.unravel_index(place, off.shape) for place in order]
    pairs = [
        [classes[a], classes[b], int(off[a, b]), int(matrix[a].sum())]
        for a, b in worst
        if off[a, b]
    ]
    return {"confusion": {"classes": classes, "pairs": pairs}}


def picture_of(model: Model, test: Data, seed: int, seconds: float) -> dict[str, Any] | None:
    """Some test rows in the plane: t-SNE of their codes or features, PCA where rows or seconds are
    few; None if impossible."""
    with one_thread():
        return _picture(model, test, seed, seconds)


def _picture(model: Model, test: Data, seed: int, seconds: float) -> dict[str, Any] | None:
    rows = model.scaling(test.X[:PICTURE_ROWS])
    features = rows if model.feature_map is None else model.feature_map.transform(rows)
    n, width = features.shape
    if n < 5 or width < 2:
        return None
    size = min(30, n - 1, width - 1)
    squeeze = TruncatedSVD if hasattr(features, "tocsr") else PCA
    with np.errstate(all="ignore"):
        flat = squeeze(max(2, size) if width > 2 else 2, random_state=seed).fit_transform(features)
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
