"""Figure 1: t-SNE of the binary codes on DNA and USPS."""

from __future__ import annotations

import numpy as np
from sklearn.manifold import TSNE

from papers._cells import Cell, Result, cell, kind
from papers._data import split
from papers._figures import scatter
from papers._page import Book, Plan
from papers.be.table import embedding, median_distance

TITLE = "BE Figure 1: the codes as a picture"
NAMES, QUICK = ("DNA-6:4", "USPS-6:4"), ("Sonar",)
ROWS, BITS = 600, 1024


@kind("t-SNE", version=2)
def picture(*, dataset: str, rows: int) -> Result:
    """Places in the plane of the first test rows, by codes aligned with the training labels."""
    data = split(dataset, "raw", 0)
    fitted = embedding("aligned, centred", BITS, median_distance(data.X), 0).fit(data.X, data.y)
    bits = fitted.encode(data.X_test[:rows]).array.astype(np.float32)
    places = TSNE(2, init="pca", random_state=0, perplexity=min(30, len(bits) / 4)).fit_transform(
        bits
    )
    return {"places": places.round(2).tolist(), "labels": data.y_test[:rows].tolist()}


def _cells(plan: Plan) -> dict[str, Cell]:
    names = plan.of(NAMES, QUICK)
    return {name: cell("t-SNE", dataset=name, rows=ROWS, stage=1, weight=5) for name in names}


def cells(plan: Plan) -> list[Cell]:
    """One for each set."""
    return list(_cells(plan).values())


def report(book: Book) -> str:
    """The picture."""
    results = {name: book.get(wanted) for name, wanted in _cells(book.plan).items()}
    panels = [
        (name.partition("-")[0], np.array(result["places"]), np.array(result["labels"]))
        for name, result in results.items()
        if result is not None
    ]
    if not panels:
        return ""
    path = book.page.parent / book.page.stem / "be-codes.svg"
    scatter(path, panels)
    return book.shown(
        path, "BE Figure 1: t-SNE of binary codes aligned with the labels; colours are classes."
    )


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("be/pictures"))
