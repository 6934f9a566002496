"""``kernelight kernels``: what there is, and for which rows."""

from __future__ import annotations

from kernelight.cli import show

HEADS = ("name", "rows", "parameters", "value of a pair of rows")
# name, rows, parameters, formula
KERNELS = (
    ("linear", "any", "", "cosine of the angle"),
    ("rbf", "any", "gamma", "exp(-gamma (1 - cosine))"),
    ("folded_rbf", "any; best not below 0", "gamma", "exp(-gamma) cosh(gamma cosine)"),
    ("gaussian", "any", "gamma = 1 / (2 sigma^2)", "exp(-gamma distance^2)"),
    ("acos", "any", "", "1 - angle / pi"),
    ("acos_chi2", "not below 0", "", "1 - acos(chi2 similarity of shares) / pi"),
    ("minmax", "not below 0", "", "sum of minima / sum of maxima"),
    ("gmm", "any", "p", "min-max of positive and negative parts, to the power p"),
    ("exp_gmm", "any", "gamma, p", "exp(-gamma (1 - gmm))"),
    ("ngmm", "any", "", "gmm of rows whose sizes add up to 1"),
    ("intersection", "any", "", "sum of minima of shares"),
    ("mm_acos", "not below 0", "", "minmax * acos"),
    ("mm_acos_chi2", "not below 0", "", "minmax * acos_chi2"),
    ("mm_rbf", "not below 0", "gamma", "minmax * rbf"),
)


def run(as_json: bool) -> None:
    """Print the list."""
    if as_json:
        show.as_json(
            [
                dict(zip(("name", "rows", "parameters", "value"), row, strict=True))
                for row in KERNELS
            ]
        )
    else:
        # The few long cells are said below: in 80 columns a kernel then takes a line, or two at
        # most.
        short = [
            (name, rows.partition(";")[0], given.partition(" =")[0], value)
            for name, rows, given, value in KERNELS
        ]
        show.table(HEADS, short)
        print(
            "\nThe gamma of gaussian is 1 / (2 sigma^2).\nfolded_rbf is best for rows not below 0."
        )
