"""Options that several verbs share, and groups of options: defined once, for help and library.

The fields of a group are options of every verb that takes the group (`option_groups`). Defaults of
the library that take long to import are named in the help; a test compares them. Long, because the
help of every option is here.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from kernelight.base import counted
from kernelight.maps import METHODS

_column_option = partial(typer.Option, rich_help_panel="Columns")
_format_option = partial(typer.Option, rich_help_panel="File format")
kernel_option = _kernel_option = partial(typer.Option, rich_help_panel="Kernel")
_text_option = partial(typer.Option, rich_help_panel="Texts")
_model_option = partial(typer.Option, rich_help_panel="Model")

_REPEATED = "may be given several times"
# Encoding has no target, which aligned needs, and no names for sums of kernels, which concat needs.
_ENCODING_METHODS = [method for method in METHODS if method not in ("aligned", "concat")]
_SCALINGS = "minmax, quantile, standard, minmax+complement, quantile+complement or max"


# -- Arguments, output, and what every verb has


def _without_notes(quiet: bool) -> bool:
    """Drop the notes on the data if ``--quiet`` is given."""
    if quiet:
        from kernelight.data import DataWarning

        warnings.simplefilter("ignore", DataWarning)
    return quiet


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, LIBSVM, Parquet, Arrow or NPZ), - for standard input, or the name of a "
        "data set such as digits.",
    ),
]
IndexPath = Annotated[str, typer.Argument(metavar="INDEX", help="The directory of an index.")]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model, written by kernelight fit.")
]
TableOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="A .csv, .tsv, .jsonl or .parquet file; standard output (also -) by default.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="A limit for the memory of the whole process, such as 512M or 2G: rows are then read "
        "in batches.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Seed of splits and hashes.")]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="THREADS", help="Threads; all cores by default, -2 is all but one."),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_without_notes,
        help="Print no notes on the data, no summary and no progress.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


# -- The table

Target = Annotated[
    str,
    _column_option(
        metavar="COLUMN",
        help="The column to predict, by name or by place (0 is the first, -1 the last). auto takes "
        "one called target, label, class or y, otherwise the last.",
    ),
]
ExcludedColumn = Annotated[
    str | None,
    _column_option(
        metavar="COLUMN", help="A column that is no feature. By default every column is one."
    ),
]
Task = Annotated[
    str | None,
    _column_option(
        metavar="TASK", help="classification or regression; recognised from the target by default."
    ),
]


@dataclass(frozen=True)
class Columns:
    """Which columns are no features."""

    ids: Annotated[
        str | None, _column_option(metavar="COLUMN", help="A column that only names the rows.")
    ] = None
    ignore: Annotated[
        list[str] | None,
        _column_option(metavar="COLUMN", help=f"A column to leave out; {_REPEATED}."),
    ] = None

    def reading_options(self) -> dict[str, Any]:
        """Arguments of `open_dataset`; None for what was not given."""
        return {"ids": self.ids, "ignore": self.ignore or None}


@dataclass(frozen=True)
class TrainingColumns(Columns):
    """Also how columns become features, which is decided when a model or map is fitted."""

    categorical: Annotated[
        list[str] | None,
        _column_option(
            metavar="COLUMN", help=f"A column of numbers to be read as words; {_REPEATED}."
        ),
    ] = None
    max_categories: Annotated[
        int | None,
        _column_option(
            metavar="COUNT",
            help="How many words of a column have a feature each, the others share one; 100 by "
            "default.",
        ),
    ] = None

    def reading_options(self) -> dict[str, Any]:
        """Arguments of `open_dataset`; None for what was not given."""
        return {
            **super().reading_options(),
            "categorical": self.categorical or None,
            "max_categories": self.max_categories,
        }


@dataclass(frozen=True)
class Texts:
    """How columns of texts become rows."""

    text: Annotated[
        list[str] | None,
        _text_option(
            metavar="COLUMN", help=f"Compare the texts of this column alone; {_REPEATED}."
        ),
    ] = None
    shingles: Annotated[
        str | None,
        _text_option(
            metavar="NAME", help="What texts are cut into: words (the default) or characters."
        ),
    ] = None
    lengths: Annotated[
        str | None,
        _text_option(
            metavar="RANGE",
            help="How many words or characters a shingle has: 1-2 words or 5 characters by "
            "default.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        _text_option(
            metavar="NAME",
            help="tf (the default) counts shingles, tfidf lets frequent ones count less.",
        ),
    ] = None


@dataclass(frozen=True)
class FileFormat:
    """How the bytes of a file become cells."""

    format: Annotated[
        str | None,
        _format_option(
            metavar="NAME", help="csv, libsvm, parquet, arrow or npz; recognised by default."
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _format_option(
            metavar="CHARACTER",
            help="What separates the cells of a text file; recognised by default.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        _format_option(
            "--header/--no-header",
            help="Whether the first row has the names of columns; recognised by default.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        _format_option(
            metavar="CHARACTER",
            help="The decimal separator of a text file, a point or a comma; recognised column by "
            "column by default.",
        ),
    ] = None
    zero_based: Annotated[
        bool,
        _format_option(
            "--zero-based", help="Of a LIBSVM file to learn from: indices begin at 0, not at 1."
        ),
    ] = False
    # `--encoding` is the word of pandas. The library says `charset`: its `Encoding` is of columns.
    encoding: Annotated[
        str | None,
        _format_option(
            metavar="NAME",
            help="Of a text file that is not UTF-8: cp1252, latin-1, utf-16 ...; guessed by "
            "default, with a note.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        _format_option(
            metavar="WORDS",
            help=f"Words that also stand for a missing value, separated by commas; {_REPEATED}.",
        ),
    ] = None
    strict: Annotated[
        bool,
        _format_option(
            "--strict", help="Refuse columns that need a decision, instead of deciding with a note."
        ),
    ] = False

    def reading_options(self) -> dict[str, Any]:
        """Arguments of `open_dataset`; None for what was not given."""
        return {
            "format": self.format,
            "delimiter": self.delimiter,
            "header": self.header,
            "decimal": self.decimal,
            "zero_based": self.zero_based or None,
            "charset": self.encoding,
            "missing": _missing(self.missing),
            "strict": self.strict or None,
        }


def reading_options(
    columns: Columns,
    file_format: FileFormat,
    *,
    target: str | None,
    task: str | None = None,
    jobs: int | None = None,
) -> dict[str, Any]:
    """The arguments of `open_dataset`: the target, and whatever else was given."""
    check_jobs(jobs)
    given = {
        "task": task,
        **columns.reading_options(),
        **file_format.reading_options(),
        "n_jobs": jobs,
    }
    return {"target": target, **{name: value for name, value in given.items() if value is not None}}


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of threads that cannot be.

    As in Python, a negative number counts back from all cores: -1 is all, -2 all but one. Where
    that leaves no core, Python takes one thread, as joblib does; the command refuses it.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if jobs is not None and not (jobs > 0 or -cores <= jobs < 0):
        raise ValueError(
            f"--jobs must be at least 1, or between -{cores} (one thread) and -1 (all "
            f"{counted(cores, 'core')}), got {jobs}."
        )


def _missing(lists: list[str] | None) -> tuple[str, ...] | None:
    """The usual words for a missing value and those of some lists; None if there are no lists."""
    if not lists:
        return None
    from kernelight.data.dialect import MISSING

    words = [word.strip() for words in lists for word in words.split(",")]
    return (*MISSING, *filter(None, words))


# -- Kernels, feature maps and models

_Kernel = Annotated[
    str | None,
    _kernel_option(
        metavar="NAME", help="The kernel, gmm by default; kernelight kernels lists them."
    ),
]
_Power = Annotated[
    float | None,
    _kernel_option("--p", metavar="NUMBER", help="The power of gmm and exp_gmm; 1 by default."),
]
_Scaling = Annotated[
    str | None,
    _kernel_option(
        metavar="NAME", help=f"How columns are scaled first: none (the default), {_SCALINGS}."
    ),
]


@dataclass(frozen=True)
class KernelParameters:
    """An exact kernel, and how columns are scaled first."""

    kernel: _Kernel = None
    gamma: Annotated[
        float | None, _kernel_option(metavar="NUMBER", help="Of kernels that have one.")
    ] = None
    p: _Power = None
    scale: _Scaling = None

    def parameters(self) -> dict[str, Any]:
        """By their names in the library; None for what was not given."""
        return {"kernel": self.kernel, "gamma": self.gamma, "p": self.p, "scale": self.scale}


@dataclass(frozen=True)
class MapParameters:
    """A feature map of a kernel, and how columns are scaled first."""

    kernel: _Kernel = None
    components: Annotated[
        int | None,
        _kernel_option(
            "--components",
            "-k",
            metavar="COUNT",
            help="Codes or features of a row; 1024 by default.",
        ),
    ] = None
    bits: Annotated[
        int | None, _kernel_option(metavar="COUNT", help="Bits of a code; 8 by default.")
    ] = None
    method: Annotated[
        str | None,
        _kernel_option(
            metavar="NAME",
            help=f"The feature map: {', '.join(_ENCODING_METHODS)}; by default the one for the "
            "kernel. fourier and nystroem make dense features. (aligned needs a target, and concat "
            "a sum of kernels.)",
        ),
    ] = None
    gamma: Annotated[
        str | None,
        _kernel_option(metavar="NUMBER", help="Of kernels that have one: a number, or median."),
    ] = None
    p: _Power = None
    scale: _Scaling = None

    def parameters(self) -> dict[str, Any]:
        """By their names in the library; None for what was not given."""
        return {
            "kernel": self.kernel,
            "n_components": self.components,
            "bits": self.bits,
            "method": self.method,
            "gamma": self.gamma,
            "p": self.p,
            "scale": self.scale,
        }


@dataclass(frozen=True)
class IndexMapParameters(MapParameters):
    """A feature map of an index, which has fewer components."""

    components: Annotated[
        int | None,
        _kernel_option(
            "--components", "-k", metavar="COUNT", help="Codes of a row; 256 by default."
        ),
    ] = None


@dataclass(frozen=True)
class ModelParameters:
    """Parameters of `KernelClassifier` and `KernelRegressor`; "tune" leaves them to the search."""

    kernel: Annotated[
        str | None,
        _model_option(
            metavar="NAME",
            help="The kernel; kernelight kernels lists them. auto, the default, is the average of "
            "models of gmm, ferns and the leaves of a forest; with --memory, and with options of "
            "one kernel, the default is gmm.",
        ),
    ] = None
    components: Annotated[
        int | None,
        _model_option(
            "--components",
            "-k",
            metavar="COUNT",
            help="Codes or features of a row; by default 1024, or the exact kernel for a table of "
            "up to 3,200 rows.",
        ),
    ] = None
    bits: Annotated[int, _model_option(metavar="COUNT", help="Bits of a code.")] = 8
    method: Annotated[
        str | None,
        _model_option(
            metavar="NAME",
            help=f"The feature map: {', '.join(METHODS)}; by default the one for the kernel. ridge "
            "and exact have none: ridge regression and an SVM on the exact kernel.",
        ),
    ] = None
    C: Annotated[
        str,
        _model_option(
            "-C",
            "--C",
            metavar="NUMBER",
            help="The inverse of the regularization: a number, or tune.",
        ),
    ] = "tune"
    gamma: Annotated[
        str,
        _model_option(metavar="NUMBER", help="Of kernels that have one: a number, scale or tune."),
    ] = "tune"
    p: Annotated[
        str,
        _model_option(
            "--p", metavar="NUMBER", help="The power of gmm and exp_gmm: a number, or tune."
        ),
    ] = "1"
    scale: Annotated[
        str, _model_option(metavar="NAME", help=f"How columns are scaled: tune, none, {_SCALINGS}.")
    ] = "tune"
    weights: Annotated[
        str | None,
        _model_option(
            metavar="learn",
            help="learn multiplies columns by what they add to a min-max kernel, where that is "
            "clearly better on held-out rows.",
        ),
    ] = None
    loss: Annotated[
        str | None,
        _model_option(
            metavar="NAME",
            help="For classes squared_hinge (the default), hinge or logistic; for quantities "
            "squared (the default) or epsilon_insensitive.",
        ),
    ] = None
    epsilon: Annotated[
        float | None,
        _model_option(
            metavar="NUMBER",
            help="Of epsilon_insensitive: errors up to this many standard deviations of the target "
            "cost nothing.",
        ),
    ] = None
    scoring: Annotated[
        str | None,
        _model_option(
            metavar="NAME",
            help="What the search maximises, by its name in scikit-learn: balanced_accuracy, "
            "roc_auc, average_precision, neg_log_loss, neg_mean_absolute_error ...; accuracy or r2 "
            "by default.",
        ),
    ] = None
    balanced: Annotated[
        bool, _model_option("--balanced", help="Give every class the same weight.")
    ] = False

    def parameters(self) -> dict[str, Any]:
        """By their names in the library; None for what was not given."""
        return {
            "kernel": self.kernel,
            "n_components": self.components,
            "bits": self.bits,
            "method": self.method,
            "C": self.C,
            "gamma": self.gamma,
            "p": self.p,
            "scale": self.scale,
            "weights": self.weights,
            "loss": self.loss,
            "epsilon": self.epsilon,
            "scoring": self.scoring,
            "class_weight": "balanced" if self.balanced else None,
        }
