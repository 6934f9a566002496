"""Options that several verbs share, said once."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelight.maps import METHODS

MAX_CATEGORIES = 100
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A file of any format we read, - or the name of a data set."
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model, written by kernelight fit.")]
Target = Annotated[
    str,
    typer.Option(
        help="The column to predict, by name or by place (0 is the first); auto finds one called target, or takes the last."
    ),
]
Apart = Annotated[
    str | None,
    typer.Option(help="A column that is no feature; without it, every column is a feature."),
]
Ids = Annotated[str | None, typer.Option(help="A column that only names the rows.")]
Ignore = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; may be given several times.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="A column of numbers to be read as words; may be given several times."),
]
MaxCategories = Annotated[
    int,
    typer.Option(help="How many columns the words of a column may become; more words share one."),
]
Task = Annotated[
    str | None, typer.Option(help="classification or regression; otherwise the target decides.")
]
Format = Annotated[
    str | None, typer.Option(help="csv, libsvm, parquet, arrow or npz; otherwise recognised.")
]
Delimiter = Annotated[str | None, typer.Option(help="Of delimited text; otherwise recognised.")]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="What stands before fractions in text: , or a point; otherwise recognised column by column."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Of text that is not UTF-8: cp1252, latin-1, utf-16 ...; otherwise guessed, with a note."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first row has names; otherwise recognised."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Words that also stand for a missing value, separated by commas; may be given several times."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse columns that need a decision, instead of a note.")
]
Kernel = Annotated[str, typer.Option(help="Its name: see kernelight kernels.")]
Components = Annotated[int, typer.Option("--components", "-k", help="Codes or features of a row.")]
Bits = Annotated[int, typer.Option(help="Bits of a code.")]
Method = Annotated[
    str | None, typer.Option(help=f"The feature map: {', '.join(METHODS)}; or exact.")
]
Power = Annotated[
    float | None, typer.Option("--p", help="The power of gmm and exp_gmm; 1 if not said.")
]
Scale = Annotated[
    str | None,
    typer.Option(
        help="What happens to columns first: none (as if not said), minmax, quantile, standard, minmax+complement, "
        "quantile+complement or max."
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="A .csv, .tsv, .jsonl or .parquet file; otherwise printed."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="A limit for the memory of the whole process: 512M, 2G; rows are read batch by batch."
    ),
]
Seed = Annotated[int, typer.Option(help="Draws splits and hashes.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores otherwise.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Nothing but errors and what was asked for.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def reading(
    *,
    target: str | None = None,
    ids: str | None = None,
    ignore: list[str] | None = None,
    categorical: list[str] | None = None,
    task: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    max_categories: int = MAX_CATEGORIES,
    jobs: int | None = None,
    missing: list[str] | None = None,
    strict: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
) -> dict[str, object]:
    """What `open_dataset` is asked for."""
    return {
        "target": target,
        "ids": ids,
        "ignore": ignore or (),
        "categorical": categorical or (),
        "task": task,
        "format": format,
        "delimiter": delimiter,
        "header": header,
        "max_categories": max_categories,
        "n_jobs": jobs,
        "missing": _missing(missing),
        "strict": strict,
        "charset": encoding,
        "decimal": decimal,
    }


def _missing(words: list[str] | None) -> tuple[str, ...] | None:
    """The usual words for a missing value and those that were given."""
    if not words:
        return None
    from kernelight.data.dialect import MISSING

    return (*MISSING, *(word.strip() for some in words for word in some.split(",") if word.strip()))
