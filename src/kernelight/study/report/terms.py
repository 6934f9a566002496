"""The words of the report, explained: in a list at its end, and where the pointer rests on them."""

from __future__ import annotations

import re
from html import escape

_COMPONENTS = (
    "the numbers that stand for a row, so that a linear model on them acts as the kernel. "
    "More are nearer to the kernel, and cost as much more."
)
TERMS = {
    "kernel": "a measure of how alike two rows are; the model weighs rows by it.",
    "codes, features, components (k)": _COMPONENTS,
    "C": "how closely the model follows the rows it learns from; larger values follow more closely.",
    "validation": "the score on rows that were held out of learning in turn; it makes every choice.",
    "test": "the score on rows that were set aside first; it chooses nothing, and is the one to quote.",
    "log loss": "how surprised the model's probabilities are by the true classes: 0 is best, and sure mistakes cost most.",
    "Brier score": "the mean squared distance of probabilities from what was true: 0 is best.",
    "AUC": "how often a row of a class gets a higher probability of it than a row of another class: 1 is best, 0.5 is chance.",
    "standard error": "how far a score would typically move with other rows of the same kind.",
    "gamma, p": "how fast the kernel falls off with distance; the power to which the min-max kernel is taken.",
    "scale": "what is done to columns first: brought to the range 0 to 1 (minmax), to ranks (quantile), to unit spread "
    "(standard); “complement” adds 1 - x for each column.",
    "Nyström, landmarks": "rows are described by their likeness to some chosen rows, the landmarks.",
    "Pareto set": "models than which none is both cheaper and better.",
}

# What heads of columns and titles of axes mean; those that begin with a term mean that term.
_MORE = {
    "components k": _COMPONENTS,
    "train": "the time to train the model once with its settings, the search for them not counted.",
    "rows/s": "how many rows the model predicts in a second.",
    "size": "the memory that the arrays of the trained model take.",
    "size of the model": "the memory that the arrays of the trained model take.",
    "seconds to train": "the time to train the model once with its settings, the search for them not counted.",
    "predicted by theory": "the root mean square error that the theory of the codes or features expects.",
    "measured root mean square error": "how far inner products of codes or features are from the kernel, over pairs of rows.",
}

# Kernels, as the legend explains them.
_KERNELS = {
    "linear": "a weighted sum of the columns, without a kernel",
    "gmm": "min-max kernel: the sum of the smaller values of two rows over the sum of the larger ones",
    "gaussian": "Gaussian kernel: falls off with the squared distance of two rows",
    "rbf": "falls off with the angle between two rows, whatever their lengths",
    "acos": "1 - angle / pi of two rows, estimated by signs",
    "acos_chi2": "1 - angle / pi, with the chi-square similarity of the rows' shares for the cosine",
    "gmm_nystroem": "the min-max kernel; rows are described by their likeness to some chosen rows, the landmarks",
    "gaussian_nystroem": "the Gaussian kernel; rows are described by their likeness to some chosen rows, the landmarks",
    "mm_acos": "the min-max kernel times the kernel of angles",
    "mm_acos_chi2": "the min-max kernel times the chi-square kernel of angles",
    "gmm_power": "the min-max kernel to a power p that was tuned",
    "folded_rbf": "the RBF kernel of directions, with opposite directions taken for the same",
    "mm_rbf": "the min-max kernel times the RBF kernel of directions",
    "boosting": "trees by scikit-learn, for reference; never recommended",
    "exact": "a kernel machine without approximation, for reference; never recommended",
}


def said_of(text: str) -> str:
    """What the title of a column or an axis means; "" if there is nothing to say.

    >>> said_of("validation accuracy")[:9], said_of("model")
    ('the score', '')
    """
    first = text.split(" ")[0]
    return _MORE.get(text) or TERMS.get(text) or TERMS.get(first, "")


def said_of_model(candidate: str) -> str:
    """What a model of the comparison is; "" for one that is not known."""
    return _KERNELS.get("exact" if candidate.startswith("exact_") else candidate, "")


def tip(said: str) -> str:
    """The attribute that shows an explanation; "" without one."""
    return f' data-tip="{escape(said[:1].upper() + said[1:], quote=True)}"' if said else ""


def explained(prose: str) -> str:
    """Escaped prose in which the terms that people may not know can be pointed at."""
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
