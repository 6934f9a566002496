"""The command itself: its verbs, and what becomes of errors.

Exit status: 0 done, 1 done but the answer is no (or an interrupt), 2 wrong input or usage, 3 a
mistake of ours. Whatever is wrong is one sentence on standard error; a traceback is for ``--debug``
alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from kernelight.cli import options as opt
from kernelight.cli.messages import INTERRUPTED, note, verdict
from kernelight.cli.show import printing

INTERRUPTED_BY_TYPER = 130  # what it makes of Ctrl-C

app = typer.Typer(
    name="kernelight",
    help="Nonlinear kernels at the price of a linear model.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
theory = typer.Typer(
    help="How many components, bits or bytes an error takes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(theory, name="theory")


def _version(asked: bool) -> None:
    if asked:
        from kernelight import __version__

        print(f"kernelight {__version__}")
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
        os.environ["KERNELIGHT_DEBUG"] = "1"


def verb(module: str, quiet: bool = False) -> Callable[..., Any]:
    """What does the work of a verb, loaded when it is called: help must not wait for scikit-learn.
    Where it is to be quiet, there are no notes on the data."""

    def call(*args: Any, **kwargs: Any) -> None:
        if quiet:
            from kernelight.data import DataWarning

            warnings.simplefilter("ignore", DataWarning)
        try:
            import_module(f"kernelight.cli.{module}").run(*args, **kwargs)
        except KeyboardInterrupt:  # here, as typer would end without a word
            _end("Interrupted.", 1)

    return call


@app.command(epilog="Example: kernelight compare table.csv --target price --budget 5m")
def compare(
    data: opt.Data,
    target: opt.Target = "auto",
    task: opt.Task = None,
    budget: Annotated[
        str, typer.Option(help="Time for it, once the data are read: 90s, 2m, 1h.")
    ] = "2m",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the report goes.")
    ] = "report.html",
    resume: Annotated[
        str | None, typer.Option(help="A file of what is finished, to go on from.")
    ] = None,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    categorical: opt.Categorical = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    max_categories: opt.MaxCategories = opt.MAX_CATEGORIES,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare kernels on your data: a recommendation, a table, and a report to look at."""
    reading = opt.reading(
        target=target,
        task=task,
        ids=ids,
        ignore=ignore,
        categorical=categorical,
        format=format,
        delimiter=delimiter,
        header=header,
        max_categories=max_categories,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("compare", quiet)(data, reading, budget, seed, jobs, output, resume, quiet, as_json)


@app.command(epilog="Example: kernelight fit table.csv --target price -o model.klt --memory 1G")
def fit(
    data: opt.Data,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the model goes.")],
    target: opt.Target = "auto",
    task: opt.Task = None,
    kernel: opt.Kernel = "gmm",
    components: opt.Components = 1024,
    bits: opt.Bits = 8,
    method: opt.Method = None,
    C: Annotated[str, typer.Option("-C", "--C", help="A number, or tune.")] = "tune",
    gamma: Annotated[
        str, typer.Option(help="A number, scale or tune; of kernels that have one.")
    ] = "tune",
    p: Annotated[
        str, typer.Option("--p", help="A number, or tune; the power of gmm and exp_gmm.")
    ] = "1",
    scale: Annotated[
        str,
        typer.Option(
            help="tune, none, minmax, quantile, standard, minmax+complement, quantile+complement or max."
        ),
    ] = "tune",
    loss: Annotated[
        str | None,
        typer.Option(help="squared_hinge, hinge or logistic; squared or epsilon_insensitive."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Of epsilon_insensitive: errors up to so many standard deviations cost nothing."
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What settings are chosen by: a name of scikit-learn's such as balanced_accuracy, roc_auc, average_precision, "
            "neg_log_loss or neg_mean_absolute_error; otherwise accuracy or r2."
        ),
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class weigh the same.")
    ] = False,
    memory: opt.Memory = None,
    passes: Annotated[
        int, typer.Option(help="How often each row is seen where they do not fit into memory.")
    ] = 3,
    half: Annotated[
        bool, typer.Option("--half", help="Store the weights in half precision.")
    ] = False,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    categorical: opt.Categorical = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    max_categories: opt.MaxCategories = opt.MAX_CATEGORIES,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Train a model and write it to a file."""
    given = {
        "kernel": kernel,
        "n_components": components,
        "bits": bits,
        "method": method,
        "C": C,
        "gamma": gamma,
        "p": p,
        "scale": scale,
        "loss": loss,
        "epsilon": epsilon,
        "scoring": scoring,
        "class_weight": "balanced" if balanced else None,
        "random_state": seed,
        "n_jobs": jobs,
    }
    reading = opt.reading(
        target=target,
        task=task,
        ids=ids,
        ignore=ignore,
        categorical=categorical,
        format=format,
        delimiter=delimiter,
        header=header,
        max_categories=max_categories,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("fit", quiet)(data, output, given, reading, memory, passes, half, quiet, as_json)


@app.command(epilog="Example: kernelight predict model.klt new.csv --output predictions.csv")
def predict(
    model: opt.Model,
    data: opt.Data,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes too.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Two more columns, low and high: this share of quantities, such as 0.9, lies between."
        ),
    ] = None,
    output: opt.Table = None,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each row.")] = False,
) -> None:
    """Predict the target of each row of a file."""
    reading = opt.reading(
        ids=ids,
        ignore=ignore,
        format=format,
        delimiter=delimiter,
        header=header,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("predict", quiet)(model, data, proba, interval, output, reading, quiet, as_json)


@app.command(epilog="Example: kernelight evaluate model.klt test.csv")
def evaluate(
    model: opt.Model,
    data: opt.Data,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare predictions with the target of a file that has it."""
    reading = opt.reading(
        ids=ids,
        ignore=ignore,
        format=format,
        delimiter=delimiter,
        header=header,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("evaluate", quiet)(model, data, reading, as_json)


@app.command(
    epilog="Example: kernelight encode table.csv -o codes.parquet --ids name --target price --save-map map.klt; "
    "then kernelight encode new.csv -o new.parquet --map map.klt"
)
def encode(
    data: opt.Data,
    output: Annotated[str, typer.Option("--output", "-o", help="A .klt, .parquet or .npz file.")],
    target: opt.Apart = None,
    kernel: Annotated[
        str | None, typer.Option(help="Its name: see kernelight kernels; gmm if not said.")
    ] = None,
    components: Annotated[
        int | None,
        typer.Option("--components", "-k", help="Codes or features of a row; 1024 if not said."),
    ] = None,
    bits: Annotated[int | None, typer.Option(help="Bits of a code; 8 if not said.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="gcws, fourier, nystroem, sign, binary or product; dense features have no codes."
        ),
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(help="A number, or median; of kernels that have one.")
    ] = None,
    p: opt.Power = None,
    scale: opt.Scale = None,
    map: Annotated[
        str | None,
        typer.Option(
            help="A file that --save-map or fit wrote: rows are encoded as they were there."
        ),
    ] = None,
    save_map: Annotated[
        str | None, typer.Option(help="Where the map goes, with what became of columns.")
    ] = None,
    memory: opt.Memory = None,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    categorical: opt.Categorical = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    max_categories: opt.MaxCategories = 100,
    seed: Annotated[int | None, typer.Option(help="Draws the hashes; 0 if not said.")] = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write the codes of each row, or its dense features, to a file."""
    given = {
        "kernel": kernel,
        "n_components": components,
        "bits": bits,
        "method": method,
        "gamma": gamma,
        "p": p,
        "scale": scale,
        "random_state": seed,
    }
    reading = opt.reading(
        target=target,
        ids=ids,
        ignore=ignore,
        categorical=categorical,
        format=format,
        delimiter=delimiter,
        header=header,
        max_categories=max_categories,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("encode", quiet)(data, output, given, reading, map, save_map, memory, jobs, quiet, as_json)


@app.command(
    epilog="Examples: kernelight similarity new.csv known.csv --ids name --top 3; "
    "kernelight similarity codes.parquet --above 0.8 -o pairs.csv"
)
def similarity(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Data, or codes or features that kernelight encode wrote."
        ),
    ],
    b: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The same; without it, A is compared with itself."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(help="The most similar rows of B for each row of A; 5 if not said."),
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="All pairs as similar as this or more.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="The exact kernel, for data: see kernelight kernels; gmm if not said."),
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Of kernels that have one.")] = None,
    p: opt.Power = None,
    scale: opt.Scale = None,
    map: Annotated[
        str | None,
        typer.Option(
            help="For codes: their map, for its estimate of the kernel instead of the share of equal codes."
        ),
    ] = None,
    output: opt.Table = None,
    target: opt.Apart = None,
    ids: opt.Ids = None,
    ignore: opt.Ignore = None,
    categorical: opt.Categorical = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    missing: opt.Missing = None,
    strict: opt.Strict = False,
    max_categories: opt.MaxCategories = 100,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each pair.")] = False,
) -> None:
    """Find the most similar rows of another file, or of the same."""
    given = {"kernel": kernel, "gamma": gamma, "p": p, "scale": scale, "target": target, "ids": ids}
    reading = opt.reading(
        target=target,
        ids=ids,
        ignore=ignore,
        categorical=categorical,
        format=format,
        delimiter=delimiter,
        header=header,
        max_categories=max_categories,
        jobs=jobs,
        missing=missing,
        strict=strict,
        decimal=decimal,
        encoding=encoding,
    )
    verb("similarity", quiet)(a, b, top, above, given, reading, map, output, jobs, quiet, as_json)


@app.command(epilog="Example: kernelight kernels --json")
def kernels(as_json: opt.Json = False) -> None:
    """List the kernels: their names, formulas, parameters, and the rows they are for."""
    verb("kernels")(as_json)


@app.command(epilog="Example: kernelight info model.klt")
def info(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model, map or codes, written by kernelight.")
    ],
    as_json: opt.Json = False,
) -> None:
    """Say what a file of ours holds, how it was made, and what takes how many bytes."""
    verb("info")(file, as_json)


@theory.command(
    epilog="Example: kernelight theory components --error 0.02 --method paired --kernel 0.5"
)
def components(
    error: Annotated[float, typer.Option(help="How far an estimate of the kernel may be off.")],
    confidence: Annotated[float, typer.Option(help="With what probability it is not.")] = 0.95,
    method: Annotated[
        str, typer.Option(help="gcws, paired, rff, nrff, binary or sign_cosine.")
    ] = "gcws",
    kernel: Annotated[
        float | None, typer.Option(help="The value of the kernel; without it, the worst.")
    ] = None,
    bits: Annotated[int | None, typer.Option(help="Bits of a code, for gcws.")] = None,
    pairs: Annotated[int, typer.Option(help="For so many pairs of rows at once.")] = 1,
    bound: Annotated[
        str, typer.Option(help="normal (what to expect) or hoeffding (a guarantee).")
    ] = "normal",
    as_json: opt.Json = False,
) -> None:
    """How many components an error takes."""
    verb("theory")(
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
        as_json,
    )


@theory.command(
    epilog="Example: kernelight theory memory --rows 1000000 --components 1024 --bits 8"
)
def memory(
    rows: Annotated[int, typer.Option(help="Rows.")],
    components: Annotated[int, typer.Option(help="Components of a row.")],
    bits: Annotated[int, typer.Option(help="Bits of a component; 32 or 64 for features.")] = 8,
    packed: Annotated[bool, typer.Option(help="Bits packed into words.")] = False,
    as_json: opt.Json = False,
) -> None:
    """How many bytes codes take."""
    verb("theory")(
        "memory",
        {"n_rows": rows, "n_components": components, "bits": bits, "packed": packed},
        as_json,
    )


def main() -> None:
    """Run the command; errors of input become one sentence and status 2."""
    if hasattr(sys.stdout, "reconfigure"):
        # names of files are bytes: print them as they are; what another encoding does not have, by
        # its number
        whole = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        sys.stdout.reconfigure(errors="surrogateescape" if whole else "backslashreplace")
    try:
        with warnings.catch_warnings(), _ending_in_order():
            warnings.showwarning = note
            status = app(prog_name="kernelight", standalone_mode=False)
        if sys.stdout is not None:
            with printing():
                sys.stdout.flush()  # here, where an error still has someone to tell
    except KeyboardInterrupt:
        _end("Interrupted.", INTERRUPTED)
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        _silence()
        sys.exit(1)
    except Exception as error:
        if "KERNELIGHT_DEBUG" in os.environ:
            raise
        # nothing was asked for: its message is the help
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            sys.exit(2)
        _silence()
        _end(*verdict(error))
    else:
        if status == INTERRUPTED_BY_TYPER:
            _end("Interrupted.", INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let a request to end (SIGTERM) clean up as an interrupt does: no temporary file stays."""

    def end(*_: Any) -> None:
        sys.exit(128 + signal.SIGTERM)

    free = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if free:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _silence() -> None:
    """Let what is still to be written to standard output vanish: Python would complain about it at
    its end."""
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    # standard output is no file, as in tests, or closed
    except (OSError, ValueError, AttributeError):
        return


def _end(text: str, status: int) -> NoReturn:
    if sys.stderr is not None:
        print(f"kernelight: {text}", file=sys.stderr)
    sys.exit(status)
