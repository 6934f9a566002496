"""``kernelight kernels``: the kernels, and the rows that each is for."""

from __future__ import annotations

from kernelight.cli import show

HEADS = ("name", "rows", "parameters", "value of a pair of rows")
# name, rows, parameters, formula
KERNELS = (
    ("linear", "any", "", "cosine of the angle between the rows"),
    ("rbf", "any", "gamma", "exp(-gamma (1 - cosine))"),
    ("folded_rbf", "any; best nonnegative", "gamma", "exp(-gamma) cosh(gamma cosine)"),
    ("gaussian", "any", "gamma = 1 / (2 sigma^2)", "exp(-gamma distance^2)"),
    ("acos", "any", "", "1 - angle / pi"),
    ("acos_chi2", "nonnegative", "", "1 - acos(chi2 of rows that sum to 1) / pi"),
    ("minmax", "nonnegative", "", "sum of minima / sum of maxima"),
    ("gmm", "any", "p", "min-max of positive and negative parts, to the power p"),
    ("exp_gmm", "any", "gamma, p", "exp(-gamma (1 - gmm))"),
    ("ngmm", "any", "", "gmm of rows whose sizes sum to 1"),
    ("intersection", "any", "", "sum of minima of rows that sum to 1"),
    ("mm_acos", "nonnegative", "", "minmax * acos"),
    ("mm_acos_chi2", "nonnegative", "", "minmax * acos_chi2"),
    ("mm_rbf", "nonnegative", "gamma", "minmax * rbf"),
)


def run(*, as_json: bool) -> None:
    """Print the list."""
    if as_json:
        show.as_json(
            [
                dict(zip(("name", "rows", "parameters", "value"), row, strict=True))
                for row in KERNELS
            ]
        )
    else:
        # What is in the few long cells is printed below the table: in 80 columns a kernel then
        # takes one line, or two at most.
        short = [
            (name, rows.partition(";")[0], parameters.partition(" =")[0], value)
            for name, rows, parameters, value in KERNELS
        ]
        show.table(HEADS, short)
        show.say(
            "\ngaussian is scikit-learn's rbf: gamma = 1 / (2 sigma^2)."
            "\nrbf compares directions; folded_rbf suits nonnegative rows."
        )
