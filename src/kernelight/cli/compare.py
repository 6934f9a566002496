"""``kernelight compare``: which kernel to use on a table, whether it helps, and what it costs."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from typing import Any

from kernelight import KernelClassifier
from kernelight.cli import show
from kernelight.cli.output import check_different, check_output
from kernelight.data import open_dataset
from kernelight.data.dialect import MISSING
from kernelight.study import Recommendation, compare, print_study, write_report
from kernelight.study.inputs import check_seed, seconds_of
from kernelight.study.recommend import Given, python_of


def run(
    data: str,
    reading_options: dict[str, Any],
    *,
    budget: str,
    seed: int,
    jobs: int | None,
    output: str,
    resume: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read the data, compare, write the report, and print the result."""
    check_output(output, data)
    if resume is not None:
        _check_journal(resume, data)
        check_different("--output", output, "--resume", resume)
    seconds_of(budget)
    check_seed(seed)
    dataset = open_dataset(data, **reading_options)
    study = compare(
        dataset,
        budget=budget,
        seed=seed,
        resume=resume,
        name=dataset.name,
        n_jobs=jobs,
        progress=None if sys.stderr.isatty() and not quiet else False,
        command=shlex.join(["kernelight", *sys.argv[1:]]),
    )
    study.recommendation = _for_file(study.recommendation, data, reading_options, study.task)
    if study.small is not None:
        study.small = _for_file(study.small, data, reading_options, study.task)
    # The result is printed first: it must not be lost with a report that cannot be written.
    if as_json:
        show.say(study.to_json())
    elif not quiet:
        with show.printing():
            print_study(study)
        for card in study.cards:
            if card.command is not None:
                show.say(
                    f"{'Train it' if card is study.recommendation else 'Train the small one'}: "
                    f"{card.command}"
                )
    report = write_report(study, output)
    if not as_json:
        show.say(f"The report is {report}.")
    if study.interrupted:
        sys.exit(1)


def _check_journal(path: str, data: str) -> None:
    """Refuse a file that finished models cannot be appended to."""
    check_output(path, data)
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(f"{path} cannot be continued: no permission to read and write it.")


def _for_file(
    card: Recommendation, data: str, reading_options: dict[str, Any], task: str
) -> Recommendation:
    """The recommendation with the command and the Python code that train it on the file."""
    command = _command(data, reading_options, card.parameters)
    return replace(card, command=command, python=_python(data, reading_options, card, task))


def _command(
    data: str, reading_options: dict[str, Any], parameters: dict[str, Any] | None
) -> str | None:
    """The command that trains a recommended model on all rows.

    None for a linear model, which scikit-learn trains.
    """
    if parameters is None:
        return None
    words = ["kernelight", "fit", data]
    for name in ("target", "task", "ids", "format", "delimiter", "decimal"):
        if reading_options.get(name) not in (None, "auto"):
            words += [f"--{name}", reading_options[name]]
    for name in ("ignore", "categorical"):
        columns = reading_options.get(name, ())
        words += [word for column in columns for word in (f"--{name}", column)]
    if "charset" in reading_options:
        words += ["--encoding", reading_options["charset"]]
    if "header" in reading_options:
        words.append("--header" if reading_options["header"] else "--no-header")
    if "max_categories" in reading_options:
        words += ["--max-categories", str(reading_options["max_categories"])]
    if "zero_based" in reading_options:
        words.append("--zero-based")
    if "strict" in reading_options:
        words.append("--strict")
    added = reading_options.get("missing", ())[len(MISSING) :]
    words += [word for value in added for word in ("--missing", value)]
    short = {"n_components": "-k"}
    # without a kernel the command would take another one than the estimators
    for name, value in ({"kernel": KernelClassifier().kernel} | parameters).items():
        words += [short.get(name, f"--{name}"), value if isinstance(value, str) else f"{value:g}"]
    return shlex.join([*words, "-o", "model.klt"])


def _python(data: str, reading_options: dict[str, Any], card: Recommendation, task: str) -> str:
    """The same in Python, as it can be pasted."""
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in reading_options.items()
        if name != "n_jobs" and value not in (None, "auto")
    }
    arguments = ", ".join([repr(data), *(f"{name}={value!r}" for name, value in given.items())])
    return python_of(card.code, card.parameters, task, Given(table=arguments))
