"""The verbs of the command and their options.

Each is one function, which hands over to the file of its name when it is called: help must not
wait for scikit-learn. What becomes of errors is in `exits`. Long, because typer reads the options
of all verbs from here.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any

import typer

from kernelight.cli import options as opt
from kernelight.cli.exits import DEBUG, end_interrupted, run_and_exit
from kernelight.cli.option_groups import GroupedHelp, with_groups

app = typer.Typer(
    name="kernelight",
    help="Nonlinear kernels at the price of a linear model.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
theory = typer.Typer(
    help="How many components an error takes; how many bytes codes take.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(theory, name="theory")
index = typer.Typer(
    help="An index of rows on disk: similar rows are found in it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(index, name="index")


def main() -> None:
    """Run the command: what the installed ``kernelight`` calls."""
    run_and_exit(lambda: app(prog_name="kernelight", standalone_mode=False))


def _version(asked: bool) -> None:
    if asked:
        from kernelight import __version__
        from kernelight.cli.show import say

        say(f"kernelight {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Nonlinear kernels at the price of a linear model."""
    if debug:
        os.environ[DEBUG] = "1"


def _run(verb: str, *arguments: Any, **named: Any) -> None:
    """Do the work of a verb."""
    try:
        import_module(f"kernelight.cli.{verb}").run(*arguments, **named)
    except KeyboardInterrupt:  # here: typer would end without a word
        end_interrupted()


@app.command(
    cls=GroupedHelp, epilog="Example: kernelight compare table.csv --target price --budget 5m"
)
@with_groups
def compare(
    data: opt.Data,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")
    ] = "report.html",
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time for training, such as 90s, 2m or 1h.")
    ] = "2m",
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of finished models: the same command goes on from there after an "
            "interrupt.",
        ),
    ] = None,
    target: opt.Target = "auto",
    task: opt.Task = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare kernels on your data and recommend one, in a report."""
    _run(
        "compare",
        data,
        opt.reading_options(columns, file_format, target=target, task=task, jobs=jobs),
        budget=budget,
        seed=seed,
        jobs=jobs,
        output=output,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp,
    epilog="Example: kernelight fit table.csv --target price -o model.klt --memory 1G",
)
@with_groups
def fit(
    data: opt.Data,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")
    ],
    memory: opt.Memory = None,
    passes: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="Passes over all rows, at most, where they do not fit into --memory; 3 by "
            "default.",
        ),
    ] = None,
    half: Annotated[
        bool, typer.Option("--half", help="Store the weights in half precision.")
    ] = False,
    ternary: Annotated[
        bool,
        typer.Option(
            "--ternary",
            help="A classifier for microcontrollers: Fourier features by whole numbers with "
            "coefficients -1, 0 and 1. kernelight export writes it as C.",
        ),
    ] = False,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            help="Of --ternary: the flash that the exported model may take, code included; 4000 by "
            "default.",
        ),
    ] = None,
    model: opt.ModelParameters,
    target: opt.Target = "auto",
    task: opt.Task = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Train a model and write it to a file."""
    _run(
        "fit",
        data,
        output,
        {**model.parameters(), "random_state": seed, "n_jobs": jobs},
        opt.reading_options(columns, file_format, target=target, task=task, jobs=jobs),
        memory=memory,
        passes=passes,
        half=half,
        ternary=ternary,
        max_bytes=max_bytes,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp, epilog="Example: kernelight predict model.klt new.csv --output predictions.csv"
)
@with_groups
def predict(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also print the probability of each class.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="For quantities: two more columns, low and high, between which this fraction of "
            "values lies, such as 0.9.",
        ),
    ] = None,
    output: opt.TableOutput = None,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each row.")
    ] = False,
) -> None:
    """Predict the target of each row of a file."""
    _run(
        "predict",
        model,
        data,
        opt.reading_options(columns, file_format, target=None, jobs=jobs),
        proba=proba,
        interval=interval,
        output=output,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp,
    epilog="Examples: kernelight explain model.klt new.csv --top 3; "
    "kernelight explain model.klt table.csv --importance",
)
@with_groups
def explain(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    top: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="How many columns, the strongest; all by default."),
    ] = None,
    importance: Annotated[
        bool,
        typer.Option(
            "--importance", help="Instead of each row, the importance of each column over all."
        ),
    ] = False,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Rows over which contributions average 0; those of training by default.",
        ),
    ] = None,
    output: opt.TableOutput = None,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each row and column.")
    ] = False,
) -> None:
    """Say what each column adds to the score of each row of a file."""
    _run(
        "explain",
        model,
        data,
        opt.reading_options(columns, file_format, target=None, jobs=jobs),
        top=top,
        importance=importance,
        background=background,
        output=output,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp,
    epilog="Example: kernelight export model.klt --to c --check train.csv -o model_c",
)
@with_groups
def export(
    model: opt.ModelFile,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PATH", help="The directory of the C files, or the ONNX file."
        ),
    ],
    check: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Rows to test the result with: for C at least 16, such as those of training.",
        ),
    ] = None,
    to: Annotated[str, typer.Option(metavar="NAME", help="What to write: c or onnx.")] = "c",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The prefix of names in C, or the graph; that of the model's file by default.",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="What a row holds: int16 (default of C) or float32; ONNX: float32 or float64.",
        ),
    ] = None,
    phases: Annotated[
        str | None, typer.Option(metavar="NAME", help="C: seed (less flash) or table (less time).")
    ] = None,
    arduino: Annotated[
        bool, typer.Option("--arduino", help="C: write the layout of an Arduino library.")
    ] = False,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write a model as C for microcontrollers, or as an ONNX file."""
    _run(
        "export",
        model,
        check,
        opt.reading_options(columns, file_format, target=None, jobs=jobs),
        to=to,
        output=output,
        name=name,
        rows=rows,
        phases=phases,
        arduino=arduino,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(cls=GroupedHelp, epilog="Example: kernelight evaluate model.klt test.csv")
@with_groups
def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare predictions with the target of a file that has it."""
    reading_options = opt.reading_options(columns, file_format, target="auto", jobs=jobs)
    _run("evaluate", model, data, reading_options, as_json=as_json)


@app.command(
    cls=GroupedHelp,
    epilog="Example: kernelight encode table.csv -o codes.parquet --ids name --target price "
    "--save-map map.klt; then kernelight encode new.csv -o new.parquet --map map.klt",
)
@with_groups
def encode(
    data: opt.Data,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A .klt, .parquet or .npz file.")
    ],
    map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A map that --save-map wrote, or a model: rows are encoded as they were there.",
        ),
    ] = None,
    save_map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where the map goes, with how columns became its features."
        ),
    ] = None,
    memory: opt.Memory = None,
    feature_map: opt.MapParameters,
    target: opt.ExcludedColumn = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    seed: Annotated[int | None, typer.Option(help="Seed of the hashes; 0 by default.")] = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write the codes of each row, or its dense features, to a file."""
    _run(
        "encode",
        data,
        output,
        {**feature_map.parameters(), "random_state": seed},
        opt.reading_options(columns, file_format, target=target, jobs=jobs),
        map=map,
        save_map=save_map,
        memory=memory,
        jobs=jobs,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp,
    epilog="Examples: kernelight similarity new.csv known.csv --ids name --top 3; "
    "kernelight similarity codes.parquet --above 0.8 -o pairs.csv",
)
@with_groups
def similarity(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Data, or codes or features that kernelight encode wrote."
        ),
    ],
    b: Annotated[
        str | None,
        typer.Argument(metavar="B", help="The same; without it, A is compared with itself."),
    ] = None,
    *,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="How many of the most similar rows of B for each row of A; 5 by default.",
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="All pairs whose similarity is at least this."),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="For codes: their map, to estimate the kernel. Without it, the similarity is the "
            "fraction of equal codes.",
        ),
    ] = None,
    output: opt.TableOutput = None,
    kernel: opt.KernelParameters,
    target: opt.ExcludedColumn = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each pair.")
    ] = False,
) -> None:
    """Find the most similar rows of another file, or of the same."""
    _run(
        "similarity",
        a,
        b,
        kernel.parameters(),
        opt.reading_options(columns, file_format, target=target, jobs=jobs),
        top=top,
        above=above,
        map=map,
        output=output,
        jobs=jobs,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(
    cls=GroupedHelp,
    epilog="Examples: kernelight dedup articles.csv --text body -o clean.csv --report report.html; "
    "kernelight dedup counts.svm --threshold 0.9 -o clean.svm --memory 1G",
)
@with_groups
def dedup(
    data: opt.Data,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the rows that stay go, as they are in DATA: lines of a text, columns of a "
            "Parquet or Arrow file, arrays of an NPZ file.",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The least similarity of near-duplicates, above 0, at most 1."
        ),
    ] = 0.8,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows also go if a row of this file, or of this index (a directory), is within "
            "the threshold.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where all similar pairs go, with their similarities: a .csv, .tsv, .jsonl or "
            ".parquet file.",
        ),
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where a report goes, one HTML file.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say how many pairs to expect and how long it takes; write nothing."
        ),
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="A limit for the memory of the whole process, such as 512M or 2G: rows are then "
            "kept in temporary files beside the output.",
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(metavar="WHICH", help="Which of similar rows stays: the first or the last."),
    ] = "first",
    linkage: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="leader: a row goes only if a row that stays is within the threshold. "
            "components: of rows connected by a chain of pairs one stays.",
        ),
    ] = "leader",
    texts: opt.Texts,
    method: Annotated[
        str,
        opt.kernel_option(
            metavar="NAME",
            help="How pairs are found: exact, bands, or auto, the cheaper; with --memory bands.",
        ),
    ] = "auto",
    recall: Annotated[
        float,
        opt.kernel_option(
            metavar="NUMBER", help="The fraction of pairs at the threshold that bands must find."
        ),
    ] = 0.95,
    p: Annotated[
        float,
        opt.kernel_option("--p", metavar="NUMBER", help="Values are raised to this power first."),
    ] = 1.0,
    scale: Annotated[
        str | None,
        opt.kernel_option(
            metavar="NAME",
            help="How columns are scaled first: records by default for tables, so that each column "
            "counts alike; none for sparse rows and arrays; others as in kernelight fit.",
        ),
    ] = None,
    target: opt.ExcludedColumn = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the hashes.")] = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write a file without near-duplicate rows, and say which went and why."""
    settings = {
        "threshold": threshold,
        "keep": keep,
        "linkage": linkage,
        "p": p,
        "method": method,
        "recall": recall,
        "random_state": seed,
        "n_jobs": jobs,
    }
    _run(
        "dedup",
        data,
        settings,
        opt.reading_options(columns, file_format, target=target, jobs=jobs),
        texts=texts.text,
        shingles=texts.shingles,
        lengths=texts.lengths,
        weights=texts.weights,
        scale=scale,
        against=against,
        output=output,
        pairs=pairs,
        report=report,
        dry_run=dry_run,
        memory=memory,
        quiet=quiet,
        as_json=as_json,
    )


@app.command(cls=GroupedHelp, epilog="Example: kernelight kernels --json")
def kernels(as_json: opt.Json = False) -> None:
    """List the kernels with their formulas and parameters."""
    _run("kernels", as_json=as_json)


@app.command(cls=GroupedHelp, epilog="Example: kernelight info model.klt")
def info(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A model, map or codes, written by kernelight; without it: versions, threads, "
            "and which optional parts are installed.",
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Say what a model, a map or a file of codes holds, or what is installed."""
    _run("info", file, as_json=as_json)


@index.command(
    cls=GroupedHelp,
    epilog="Example: kernelight index create known.index known.csv --ids name --threshold 0.8",
)
@with_groups
def create(
    path: opt.IndexPath,
    data: opt.Data,
    *,
    threshold: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Rows of this similarity and above are to be found."),
    ] = 0.8,
    recall: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The probability that rows at the threshold are found."
        ),
    ] = 0.95,
    codes_only: Annotated[
        bool,
        typer.Option(
            "--codes-only", help="Do not store the rows: similarities are estimated from codes."
        ),
    ] = False,
    map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A map that encode --save-map wrote, or a model: rows are encoded as they were "
            "there.",
        ),
    ] = None,
    memory: opt.Memory = None,
    feature_map: opt.IndexMapParameters,
    target: opt.ExcludedColumn = None,
    columns: opt.TrainingColumns,
    file_format: opt.FileFormat,
    seed: Annotated[int | None, typer.Option(help="Seed of the hashes; 0 by default.")] = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Make an index of the rows of a file."""
    _run(
        "index",
        "create",
        path,
        data,
        {**feature_map.parameters(), "random_state": seed},
        opt.reading_options(columns, file_format, target=target, jobs=jobs),
        settings={
            "threshold": threshold,
            "recall": recall,
            "store_rows": False if codes_only else None,
            "n_jobs": jobs,
        },
        map=map,
        memory=memory,
        jobs=jobs,
        quiet=quiet,
        as_json=as_json,
    )


@index.command(
    cls=GroupedHelp, epilog="Example: kernelight index add known.index new.csv --ids name"
)
@with_groups
def add(
    path: opt.IndexPath,
    data: opt.Data,
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Take the place of rows whose ids are in the index already."
        ),
    ] = False,
    memory: opt.Memory = None,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Add the rows of a file, all or none."""
    _run(
        "index",
        "add",
        path,
        data,
        opt.reading_options(columns, file_format, target=None, jobs=jobs),
        replace=replace,
        memory=memory,
        jobs=jobs,
        quiet=quiet,
        as_json=as_json,
    )


@index.command(cls=GroupedHelp, epilog="Example: kernelight index remove known.index r17 r18")
def remove(
    path: opt.IndexPath,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of rows.")],
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Pass over ids that are not in the index.")
    ] = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Remove rows by their ids, all or none."""
    _run("index", "remove", path, ids, ignore=ignore_missing, quiet=quiet, as_json=as_json)


@index.command(
    cls=GroupedHelp,
    epilog="Example: kernelight index search known.index new.csv --ids name --above 0.8",
)
@with_groups
def search(
    path: opt.IndexPath,
    data: opt.Data,
    *,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", help="How many of the most similar rows for each; 5 by default."
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="All rows whose similarity is at least this."),
    ] = None,
    output: opt.TableOutput = None,
    memory: opt.Memory = None,
    columns: opt.Columns,
    file_format: opt.FileFormat,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each pair.")
    ] = False,
) -> None:
    """Find rows of an index that are similar to the rows of a file."""
    _run(
        "index",
        "search",
        path,
        data,
        opt.reading_options(columns, file_format, target=None, jobs=jobs),
        top=top,
        above=above,
        output=output,
        memory=memory,
        jobs=jobs,
        quiet=quiet,
        as_json=as_json,
    )


@index.command("info", cls=GroupedHelp, epilog="Example: kernelight index info known.index")
def index_info(path: opt.IndexPath, as_json: opt.Json = False) -> None:
    """Say what an index holds."""
    _run("index", "info", path, as_json=as_json)


@index.command(cls=GroupedHelp, epilog="Example: kernelight index verify known.index")
def verify(path: opt.IndexPath, quiet: opt.Quiet = False, as_json: opt.Json = False) -> None:
    """Read every byte of an index, and say whether all are as they were written."""
    _run("index", "verify", path, quiet=quiet, as_json=as_json)


@index.command(cls=GroupedHelp, epilog="Example: kernelight index compact known.index")
def compact(path: opt.IndexPath, quiet: opt.Quiet = False, as_json: opt.Json = False) -> None:
    """Merge the files of an index, without the rows that were removed."""
    _run("index", "compact", path, quiet=quiet, as_json=as_json)


@theory.command(
    cls=GroupedHelp,
    epilog="Example: kernelight theory components --error 0.02 --method paired --kernel 0.5",
)
def components(
    error: Annotated[
        float, typer.Option(metavar="NUMBER", help="How far an estimate of the kernel may be off.")
    ],
    confidence: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The probability that an estimate is no further off than that."
        ),
    ] = 0.95,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="gcws, paired, rff, nrff, binary or sign_cosine.")
    ] = "gcws",
    kernel: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="The value of the kernel; the worst one by default."),
    ] = None,
    bits: Annotated[
        int | None, typer.Option(metavar="COUNT", help="Bits of a code, for gcws.")
    ] = None,
    pairs: Annotated[
        int, typer.Option(metavar="COUNT", help="Pairs of rows that are to be right all at once.")
    ] = 1,
    bound: Annotated[
        str,
        typer.Option(metavar="NAME", help="normal (what to expect) or hoeffding (a guarantee)."),
    ] = "normal",
    as_json: opt.Json = False,
) -> None:
    """How many components an error of the estimated kernel takes."""
    _run(
        "theory",
        "components",
        {
            "error": error,
            "confidence": confidence,
            "method": method,
            "kernel": kernel,
            "bits": bits,
            "n_pairs": pairs,
            "bound": bound,
        },
        as_json=as_json,
    )


@theory.command(
    cls=GroupedHelp,
    epilog="Example: kernelight theory memory --rows 1000000 --components 1024 --bits 8",
)
def memory(
    rows: Annotated[int, typer.Option(metavar="COUNT", help="Number of rows.")],
    components: Annotated[int, typer.Option(metavar="COUNT", help="Components of each row.")],
    bits: Annotated[
        int, typer.Option(metavar="COUNT", help="Bits of a component; 32 or 64 for dense features.")
    ] = 8,
    packed: Annotated[bool, typer.Option(help="Codes are packed into 64-bit words.")] = False,
    as_json: opt.Json = False,
) -> None:
    """How many bytes codes take."""
    _run(
        "theory",
        "memory",
        {"n_rows": rows, "n_components": components, "bits": bits, "packed": packed},
        as_json=as_json,
    )
