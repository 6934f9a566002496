"""The words of the report, explained: in a list at its end, and in tips."""

from __future__ import annotations

import re
from html import escape

_COMPONENTS = (
    "the numbers that stand for a row, so that a linear model on them acts as the kernel. "
    "More are nearer to the kernel, and cost as much more."
)
_TRAINING = "the time to train the model once with its settings, without the search for them."
_SIZE = "the memory that the arrays of the trained model take."
_LANDMARKS = "rows are described by their similarity to some chosen rows, the landmarks"
TERMS = {
    "kernel": "a measure of how similar two rows are; the model weighs rows by it.",
    "codes, features, components (k)": _COMPONENTS,
    "C": (
        "how closely the model follows the rows it learns from; larger values follow more closely."
    ),
    "validation": (
        "the score on folds of the rows that were held out of training, one after the other; it "
        "makes every choice."
    ),
    "test": (
        "the score on rows that were set aside first; it chooses nothing, and is the one to quote."
    ),
    "log loss": (
        "how much the probabilities contradict the true classes: 0 is best, and to be wrong with "
        "certainty costs most."
    ),
    "Brier score": "the mean squared distance of probabilities from what was true: 0 is best.",
    "AUC": (
        "how often a row of a class gets a higher probability of it than a row of another class: 1 "
        "is best, 0.5 is chance."
    ),
    "standard error": "how far a score would typically move with other rows of the same kind.",
    "gamma, p": (
        "how fast the kernel falls off with distance; the power to which the min-max kernel is "
        "taken."
    ),
    "scale": (
        "what is done to columns first: brought to the range 0 to 1 (minmax), to ranks (quantile), "
        "to unit standard deviation (standard); “complement” adds 1 - x for each column."
    ),
    "Nyström, landmarks": f"{_LANDMARKS}.",
    "Pareto set": "models for which no other is both cheaper and better.",
}

# What column heads and titles of axes mean; those that begin with a term mean that term.
_MORE = {
    "components k": _COMPONENTS,
    "train": _TRAINING,
    "seconds to train": _TRAINING,
    "rows/s": "how many rows the model predicts per second.",
    "size": _SIZE,
    "size of the model": _SIZE,
    "predicted by theory": (
        "the root mean square error that the theory of the codes or features expects."
    ),
    "measured root mean square error": (
        "how far inner products of codes or features are from the kernel, over pairs of rows."
    ),
}

# Kernels, as the legend explains them.
_KERNELS = {
    "linear": "a weighted sum of the columns, without a kernel",
    "gmm": (
        "min-max kernel: the sum of the smaller values of two rows over the sum of the larger ones"
    ),
    "auto": (
        "the average of three models, of a min-max kernel, of random tests of columns (ferns) and "
        "of the leaves of a forest: what kernelight fit makes"
    ),
    "gaussian": "Gaussian kernel: falls off with the squared distance of two rows",
    "rbf": "falls off with the angle between two rows, whatever their lengths",
    "acos": "1 - angle / pi of two rows, estimated by signs",
    "acos_chi2": (
        "1 - angle / pi, where the cosine is the chi-square similarity of the rows divided by "
        "their sums"
    ),
    "gmm_nystroem": f"the min-max kernel; {_LANDMARKS}",
    "gaussian_nystroem": f"the Gaussian kernel; {_LANDMARKS}",
    "mm_acos": "the min-max kernel times the kernel of angles",
    "mm_acos_chi2": "the min-max kernel times the chi-square kernel of angles",
    "gmm_power": "the min-max kernel to a power p that was tuned",
    "folded_rbf": "the RBF kernel of directions, with opposite directions taken for the same",
    "mm_rbf": "the min-max kernel times the RBF kernel of directions",
    "boosting": "trees by scikit-learn, for reference; never recommended",
    "exact": "an SVM of the exact kernel, for reference; never recommended",
}


def said_of(text: str) -> str:
    """What the title of a column or an axis means; "" if it needs no explanation.

    >>> said_of("validation accuracy")[:9], said_of("model")
    ('the score', '')
    """
    first = text.split(" ")[0]
    return _MORE.get(text) or TERMS.get(text) or TERMS.get(first, "")


def said_of_model(candidate: str) -> str:
    """What a candidate is; "" for one that is not known."""
    return _KERNELS.get("exact" if candidate.startswith("exact_") else candidate, "")


def tip(said: str) -> str:
    """The HTML attribute of an explanation; "" without one."""
    return f' data-tip="{escape(said[:1].upper() + said[1:], quote=True)}"' if said else ""


def explained(prose: str) -> str:
    """Escaped prose whose less common terms have tips that explain them."""
    for term in ("standard error", "Pareto set"):
        wrapped = rf'<span class="term"{tip(TERMS[term])}>\g<0></span>'
        prose = re.sub(re.escape(term), wrapped, prose, count=1)
    return prose


def glossary() -> str:
    """All terms as a list."""
    listed = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in TERMS.items()
    )
    return f'<section id="words"><h2>Words used here</h2><dl>{listed}</dl></section>'
