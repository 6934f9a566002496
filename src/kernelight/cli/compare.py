"""``kernelight compare``: would a nonlinear kernel help on these data, which one, and what does it
cost?"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Any

from kernelight.cli import show
from kernelight.cli.options import MAX_CATEGORIES
from kernelight.data import open_dataset
from kernelight.data.dialect import MISSING
from kernelight.study import Recommendation, compare, print_study, write_report
from kernelight.study.inputs import check_seed, seconds_of
from kernelight.study.recommend import Given, python_of


def run(
    data: str,
    reading: dict[str, Any],
    budget: str,
    seed: int,
    jobs: int | None,
    output: str,
    resume: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read the data, compare, write the report, and say what was found."""
    show.refuse_no_place(output, data)
    seconds_of(budget)
    check_seed(seed)
    dataset = open_dataset(data, **reading)
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
    study.recommendation = _for_file(study.recommendation, data, reading, study.task)
    if study.small is not None:
        study.small = _for_file(study.small, data, reading, study.task)
    report = write_report(study, output)
    if as_json:
        print(study.to_json())
    else:
        if not quiet:
            print_study(study)
            for card in study.cards:
                if card.command is not None:
                    print(
                        f"{'Train it' if card is study.recommendation else 'Train the small one'}: "
                        f"{card.command}"
                    )
        print(f"The report is {report}.")
    if study.interrupted:
        sys.exit(1)


def _for_file(
    card: Recommendation, data: str, reading: dict[str, Any], task: str
) -> Recommendation:
    """The recommendation with the command and the Python that train it on the file."""
    python = _python(data, reading, card, task)
    return replace(card, command=_training(data, reading, card.parameters), python=python)


def _training(data: str, reading: dict[str, Any], parameters: dict[str, Any] | None) -> str | None:
    """The command that makes a recommended model of all rows; None for a linear one, which
    scikit-learn makes."""
    if parameters is None:
        return None
    words = ["kernelight", "fit", data]
    for name in ("target", "task", "ids", "format", "delimiter", "decimal"):
        if reading[name] not in (None, "auto"):
            words += [f"--{name}", reading[name]]
    for name in ("ignore", "categorical"):
        words += [word for column in reading[name] for word in (f"--{name}", column)]
    if reading["charset"] is not None:
        words += ["--encoding", reading["charset"]]
    if reading["header"] is not None:
        words.append("--header" if reading["header"] else "--no-header")
    if reading["max_categories"] != MAX_CATEGORIES:
        words += ["--max-categories", str(reading["max_categories"])]
    if reading["strict"]:
        words.append("--strict")
    usual = len(MISSING)
    words += [word for some in (reading["missing"] or ())[usual:] for word in ("--missing", some)]
    options = {"n_components": "-k"}
    for name, value in parameters.items():
        words += [options.get(name, f"--{name}"), value if isinstance(value, str) else f"{value:g}"]
    return shlex.join([*words, "-o", "model.klt"])


def _python(data: str, reading: dict[str, Any], card: Recommendation, task: str) -> str:
    """The same in Python, as it can be pasted."""
    given = {
        name: list(value) if isinstance(value, tuple | list) else value
        for name, value in reading.items()
        if name != "n_jobs"
        and value not in (None, "auto", (), [])
        and (name, value) not in (("max_categories", MAX_CATEGORIES), ("strict", False))
    }
    told = ", ".join([repr(data), *(f"{name}={value!r}" for name, value in given.items())])
    return python_of(card.code, card.parameters, task, Given(table=told))
