"""The command itself: its verbs, and what becomes of errors.

Exit status: 0 done, 1 done but the answer is no (or an interrupt), 2 wrong input or usage. Whatever is wrong with the input is
one sentence on standard error; a traceback is for ``--debug`` alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="kernelight",
    help="Nonlinear kernels at the price of a linear model.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
theory = typer.Typer(
    help="How many components, bits or bytes an error takes.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(theory, name="theory")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def _version(asked: bool) -> None:
    if asked:
        from kernelight import __version__

        print(f"kernelight {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Nonlinear kernels at the price of a linear model."""
    if debug:
        os.environ["KERNELIGHT_DEBUG"] = "1"


def verb(module: str) -> Callable[..., Any]:
    """What does the work of a verb, loaded when it is called: help must not wait for scikit-learn."""

    def call(*args: Any, **kwargs: Any) -> None:
        import_module(f"kernelight.cli.{module}").run(*args, **kwargs)

    return call


@app.command(epilog="Example: kernelight compare table.csv --target price --budget 5m")
def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file of any format we read, - or the name of a data set.")
    ],
    target: Annotated[
        str, typer.Option(help="The column to predict; auto finds one called target, or takes the last.")
    ] = "auto",
    task: Annotated[
        str | None, typer.Option(help="classification or regression; otherwise the target decides.")
    ] = None,
    budget: Annotated[str, typer.Option(help="Time for all of it: 90s, 2m, 1h.")] = "2m",
    seed: Annotated[int, typer.Option(help="Draws splits and hashes.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores otherwise.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the report goes.")] = "report.html",
    resume: Annotated[str | None, typer.Option(help="A file of what is finished, to go on from.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table and no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Compare kernels on your data: a recommendation, a table, and a report to look at."""
    verb("compare")(data, target, task, budget, seed, jobs, output, resume, quiet, as_json)


@app.command(epilog="Example: kernelight kernels --json")
def kernels(as_json: Json = False) -> None:
    """List the kernels: their names, formulas, parameters, and the rows they are for."""
    verb("kernels")(as_json)


@app.command(epilog="Example: kernelight info model.klt")
def info(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model, map or codes, written by kernelight.")
    ],
    as_json: Json = False,
) -> None:
    """Say what a file of ours holds, how it was made, and what takes how many bytes."""
    verb("info")(file, as_json)


@theory.command(epilog="Example: kernelight theory components --error 0.02 --method paired --kernel 0.5")
def components(
    error: Annotated[float, typer.Option(help="How far an estimate of the kernel may be off.")],
    confidence: Annotated[float, typer.Option(help="With what probability it is not.")] = 0.95,
    method: Annotated[str, typer.Option(help="gcws, paired, rff, nrff, binary or sign_cosine.")] = "gcws",
    kernel: Annotated[
        float | None, typer.Option(help="The value of the kernel; without it, the worst.")
    ] = None,
    bits: Annotated[int | None, typer.Option(help="Bits of a code, for gcws.")] = None,
    pairs: Annotated[int, typer.Option(help="For so many pairs of rows at once.")] = 1,
    bound: Annotated[
        str, typer.Option(help="normal (what to expect) or hoeffding (a guarantee).")
    ] = "normal",
    as_json: Json = False,
) -> None:
    """How many components an error takes."""
    verb("theory")("components", {
        "error": error, "confidence": confidence, "method": method, "kernel": kernel, "bits": bits, "n_pairs": pairs,
        "bound": bound,
    }, as_json)  # fmt: skip


@theory.command(epilog="Example: kernelight theory memory --rows 1000000 --components 1024 --bits 8")
def memory(
    rows: Annotated[int, typer.Option(help="Rows.")],
    components: Annotated[int, typer.Option(help="Components of a row.")],
    bits: Annotated[int, typer.Option(help="Bits of a component; 32 or 64 for features.")] = 8,
    packed: Annotated[bool, typer.Option(help="Bits packed into words.")] = False,
    as_json: Json = False,
) -> None:
    """How many bytes codes take."""
    verb("theory")(
        "memory", {"n_rows": rows, "n_components": components, "bits": bits, "packed": packed}, as_json
    )


def main() -> None:
    """Run the command; errors of input become one sentence and status 2."""
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        _end("Interrupted.", 1)
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if "KERNELIGHT_DEBUG" in os.environ:
            raise
        _end(sentence(error), 2)


def sentence(error: BaseException) -> str:
    """What an error says, on one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: use fewer components or rows, or --memory."
    return " ".join(str(error).split()) or type(error).__name__


def _end(text: str, status: int) -> None:
    print(f"kernelight: {text}", file=sys.stderr)
    sys.exit(status)
