"""Options that cannot be are refused before a file is looked at, by their names in the command."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from in_process import called, run

from kernelight import KernelClassifier, KernelRegressor, TableMap, TableModel
from kernelight.cli import app, messages
from kernelight.data.encoding import MAX_CATEGORIES
from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.estimators.route_choice import RIDGE_ROWS
from kernelight.tables.similarity import TOP

FIT = "fit absent.csv -o m.klt"
ENCODE = "encode absent.csv -o c.klt"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 120)).round(3)
    for name, target in (
        ("classes", np.where(a * b > 0, "yes", "no")),
        ("quantities", (a + b).round(3)),
    ):
        rows = [f"{x},{y},{z}" for x, y, z in zip(a, b, target, strict=True)]
        Path(f"{name}.csv").write_text("\n".join(["a,b,target", *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{FIT} --kernel gmmm", "--kernel: there is no kernel named 'gmmm'; did you mean 'gmm'?"),
        (f"{FIT} -k 0", "--components must be at least 1, got 0."),
        (f"{FIT} -C -1", "--C must be a finite number above 0, got -1.0."),
        (f"{FIT} -C many", "--C must be a number or tune, got 'many'."),
        (f"{FIT} --gamma 0", "--gamma must be a finite number above 0, got 0.0."),
        (f"{FIT} --p nan", "--p must be a finite number above 0, got nan."),
        (f"{FIT} --bits 20", "--bits must be between 1 and 16, got 20."),
        (f"{FIT} --scale minmx", "--scale must be one of none, minmax, "),
        (f"{FIT} --scale minmx", "got 'minmx': did you mean 'minmax'?"),
        (f"{FIT} --method gcw", "did you mean 'gcws'?"),
        (f"{FIT} --method fourier", "Use --method gcws or --method nystroem."),
        (f"{FIT} --method exact --loss logistic", "use --loss hinge, or another method."),
        (f"{FIT} --loss log", "got 'log': did you mean logistic?"),
        (f"{FIT} --epsilon -1", "--epsilon must be a finite number, at least 0, got -1.0."),
        (
            f"{FIT} --scoring roc",
            "--scoring roc is no scorer of scikit-learn's: did you mean --scoring roc_auc?",
        ),
        (f"{FIT} --scoring xyzzy", "for quantities 'neg_mean_absolute_error'"),
        (f"{FIT} --memory 12Q", "--memory must be a size such as '512M' or '2G', got '12Q'."),
        (f"{FIT} --passes 0", "--passes must be at least 1, got 0."),
        (
            f"{FIT} --passes 5",
            "--passes is for rows that are read again within a limit of memory: give the limit "
            "too, such as --memory 1G, or leave it out.",
        ),
        (f"{FIT} --seed -1", "--seed must be between 0 and "),
        (
            f"{FIT} --task class",
            "--task must be one of classification, regression, got 'class': did you mean",
        ),
        (f"{FIT} --format cvs", "--format must be one of csv, "),
        (f"{FIT} --decimal x", "--decimal must be one of '.', ',', got 'x'."),
        (f"{FIT} --delimiter ab", "--delimiter must be one character"),
        (f"{FIT} --encoding latin-99", "--encoding latin-99 is no encoding of text"),
        (f"{FIT} --max-categories 0", "--max-categories must be at least 1, got 0."),
        (
            f"{FIT} --epsilon 0.1 --loss hinge",
            "--loss hinge is for classes and --epsilon for quantities: leave one",
        ),
        (
            f"{FIT} --task regression --scoring f1",
            "--scoring f1 is for classes and --task regression for quantities",
        ),
        (
            f"{FIT} --task regression --balanced",
            "--balanced is for classes and --task regression for quantities",
        ),
        (
            "compare absent.csv --budget soon",
            '--budget must be a time such as "90s", "2m" or "1h", got \'soon\'.',
        ),
        ("compare absent.csv --seed -1", "--seed must be a whole number of at least 0, got -1."),
        (f"{ENCODE} --scale minmx", "--scale must be one of none, minmax, "),
        (f"{ENCODE} --method gcw", "--method must be one of "),
        (f"{ENCODE} --method fourier", "Use --method gcws or --method nystroem."),
        (f"{ENCODE} --memory 12Q", "--memory must be a size"),
        (f"{ENCODE} --seed -1", "--seed must be at least 0, got -1."),
        ("similarity absent.csv --top 0", "--top must be at least 1, got 0."),
        ("similarity absent.csv --above nan", "--above must be a finite number"),
        ("dedup absent.csv --threshold 0", "--threshold must be above 0"),
        ("dedup absent.csv --threshold 1.2", "--threshold must be a finite number, between 0 and"),
        ("dedup absent.csv --keep best", "--keep must be one of first, last, got"),
        ("dedup absent.csv --linkage chains", "--linkage must be one of leader, components, got"),
        ("dedup absent.csv --method quick", "--method must be one of auto, exact, bands"),
        ("dedup absent.csv --recall 2", "--recall must be a finite number, between 0 and 1"),
        ("dedup absent.csv --p -1", "--p must be a finite number above 0"),
        ("dedup absent.csv --memory lots", "--memory must be a size such as"),
        ("dedup absent.csv --seed -1", "--seed must be at least 0"),
        ("dedup absent.csv --scale big", "--scale must be one of records, none, minmax"),
        ("dedup absent.csv --lengths 1-2", "--lengths is for texts: name their column by --text"),
        ("dedup absent.csv --text a --lengths x", "--lengths must be a number or a range such as"),
        ("dedup absent.csv --text a --lengths 3-2", "--lengths must be at least 1, and a range"),
        ("dedup absent.csv --text a --shingles x", "--shingles must be one of words, characters"),
        ("dedup absent.csv --text a --weights x", "--weights must be one of tf, tfidf"),
        ("dedup absent.csv --text a --text a", "--text names a column twice"),
        ("dedup absent.csv --text a --scale max", "--scale is for columns of numbers"),
        ("dedup absent.csv --pairs pairs.xyz", "the ending says how to write it"),
        ("dedup absent.csv --pairs a.csv -o a.csv", "--output and --pairs name the same file"),
        ("similarity absent.csv --kernel gmn", "--kernel: there is no kernel named 'gmn'"),
        ("similarity absent.csv --scale minmx", "--scale must be one of none, minmax, "),
        ("theory components --error 0", "--error must be positive, got 0.0."),
        (
            "theory components --error 0.1 --bound normall",
            "--bound must be one of normal, hoeffding, got 'normall'.",
        ),
    ],
)
def test_wrong_options_are_refused_before_the_file_is_looked_at(line: str, said: str) -> None:
    told = run(*line.split(), status=2)
    assert said in told
    assert "absent.csv" not in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "classes.csv --loss squared",
            "--loss squared is for quantities, but the target is a class: leave it out, or ",
        ),
        (
            "classes.csv --scoring r2",
            "--scoring r2 is for quantities, but the target is a class: leave it out, or ",
        ),
        (
            "classes.csv --epsilon 0.1",
            "--epsilon is for quantities, but the target is a class: leave it out.",
        ),
        (
            "quantities.csv --epsilon 0.1",
            "--epsilon is of --loss epsilon_insensitive: give that too, or leave --epsilon out.",
        ),
        (
            "quantities.csv --loss hinge",
            "or take one for quantities: squared, epsilon_insensitive.",
        ),
        ("quantities.csv --scoring f1", "'neg_root_mean_squared_error' or 'r2'."),
        (
            "quantities.csv --balanced",
            "--balanced is for classes, but the target is a quantity: leave it out.",
        ),
        ("classes.csv --target 7", "classes.csv has 3 columns: --target 7 is none of them."),
        (
            "classes.csv --kernel exp_gmm --gamma 1e9 -C 1 -k 64",
            "gamma * --components must be at most ",
        ),
    ],
)
def test_options_for_the_other_kind_of_target(options: str, said: str) -> None:
    assert said in run("fit", *options.split(), "-o", "m.klt", status=2)
    assert not Path("m.klt").exists()


def test_what_a_model_cannot_give_is_said_before_the_file_is_looked_at() -> None:
    given = ("-C", 1, "--scale", "none", "-k", 16, "-q")
    run("fit", "classes.csv", "-o", "c.klt", *given)
    answer = called("fit", "quantities.csv", "-o", "q.klt", *given[:-1], "--gamma", 3)
    assert "The kernel 'gmm' has no gamma: --gamma 3.0 is ignored." in answer.said
    for options, said in (
        ("c.klt absent.csv --interval 0.9", "Intervals are for quantities"),
        ("q.klt absent.csv --proba", "Probabilities are for classes"),
        ("q.klt absent.csv --interval 2", "--interval must be between 0 and 1, got 2.0."),
        ("q.klt absent.csv --interval 0.99999", "--interval 0.99999 needs at least "),
        ("q.klt absent.csv -o out.xyz", "the ending says how to write it"),
    ):
        assert said in run("predict", *options.split(), status=2)


READS_DATA = ("compare", "fit", "predict", "evaluate", "encode", "similarity")
COMMON = {
    "ids",
    "ignore",
    "format",
    "delimiter",
    "header",
    "decimal",
    "encoding",
    "missing",
    "strict",
    "jobs",
    "quiet",
    "as_json",
}


@pytest.mark.parametrize("verb", READS_DATA)
def test_a_number_of_threads_that_cannot_be_is_refused(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-5 counted back from two cores was one thread, without a word."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    files = {"predict": ("absent.klt",), "evaluate": ("absent.klt",)}.get(verb, ())
    output = ("-o", "out.npz") if verb in ("fit", "encode") else ()
    for jobs in (0, -3, -5):
        said = run(verb, *files, "absent.csv", *output, "--jobs", jobs, status=2)
        assert said == (
            "kernelight: --jobs must be at least 1, or between -2 (one thread) and -1 (all 2 "
            f"cores), got {jobs}.\n"
        )
    for jobs in (1, 7, -1, -2):
        assert "absent" in run(verb, *files, "absent.csv", *output, "--jobs", jobs, status=2)


def test_defaults_in_the_help_are_those_of_the_library() -> None:
    map_ = signature(TableMap).parameters
    for verb, texts in {
        "fit": (
            f"{MAX_CATEGORIES} by",
            "auto, the default,",
            f"default {DEFAULT_COMPONENTS},",
            f"to {RIDGE_ROWS:,} rows",
            "default: 8",
        ),
        "encode": (
            f"kernel, {map_['kernel'].default} by default",
            f"row; {map_['n_components'].default} by default",
            f"code; {map_['bits'].default} by default",
        ),
        "similarity": (f"row of A; {TOP} by default",),
    }.items():
        shown = " ".join(run(verb, "--help").split())
        for text in texts:
            assert text in shown, (verb, text)


def test_every_verb_that_reads_data_has_the_same_options() -> None:
    for command in app.app.registered_commands:
        name = command.name or command.callback.__name__
        if name in READS_DATA:
            assert set(signature(command.callback).parameters) >= COMMON, name


def test_help_lists_options_in_sections() -> None:
    shown = run("fit", "--help")
    sections = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert sections == ["Arguments:", "Options:", "Model:", "Columns:", "File format:"]
    assert "Usage: kernelight fit [OPTIONS] DATA\n" in shown
    columns, _, form = shown.partition("Columns:")[2].partition("File format:")
    assert "--max-categories COUNT" in columns
    assert "--encoding NAME" in form


def test_quiet_prints_no_notes() -> None:
    Path("extra.csv").write_text("a,b,c,target\n1,1,x,yes\n-1,1,y,no\n1,2,z,maybe\n")
    run("fit", "classes.csv", "-o", "c.klt", "-C", 1, "--scale", "none", "-k", 16, "-q")
    said = called("evaluate", "c.klt", "extra.csv")
    quiet = called("evaluate", "c.klt", "extra.csv", "--quiet")
    assert "left out" in said.said
    assert "never occurred in training and cannot be predicted" in said.said
    assert (quiet.out, quiet.said) == (said.out, "")


def test_python_refuses_parameters_before_the_file_is_looked_at() -> None:
    for model, said in (
        (KernelClassifier("gmmm"), "did you mean 'gmm'"),
        (KernelClassifier(scale="minmx"), "did you mean 'minmax'"),
        (KernelClassifier(class_weight="even"), "class_weight must be one of"),
        (KernelClassifier(method="fourier"), "Use method='gcws' or method='nystroem'"),
        (KernelRegressor(epsilon=-1), "epsilon must be"),
        (KernelRegressor(scoring="f1"), "is for classes"),
    ):
        with pytest.raises(ValueError, match=said):
            TableModel(model).fit("absent.csv")
    generator = np.random.default_rng(0)
    KernelClassifier(random_state=generator, cv=iter(())).check_parameters()
    assert generator.random() == np.random.default_rng(0).random()  # none was drawn


#: A sentence of the library with each parameter that advice may give a value for.
ADVICE = {
    "ignore=['a b', 'c']": "--ignore 'a b' --ignore c",
    "categorical=['zip']": "--categorical zip",
    "task='regression'": "--task regression",
    "loss='hinge'": "--loss hinge",
    "scoring='f1'": "--scoring f1",
    "method='gcws'": "--method gcws",
    "format='csv'": "--format csv",
    "header='no'": "--header no",
    "ids='name'": "--ids name",
    "target='price'": "--target price",
    "memory='1G'": "--memory 1G",
    "missing=['?']": "--missing '?'",
    "decimal=','": "--decimal ,",
    "charset='latin-1'": "--encoding latin-1",
    "kernel='gmm'": "--kernel gmm",
}


@pytest.mark.parametrize("advice", ADVICE)
def test_advice_of_the_library_names_options(advice: str) -> None:
    said = messages.sentence(ValueError(f"x.csv: something is wrong; {advice} helps."))
    assert said == f"x.csv: something is wrong; {ADVICE[advice]} helps."


def test_every_parameter_of_advice_has_a_sentence() -> None:
    assert {advice.partition("=")[0] for advice in ADVICE} == {
        *messages._ADVISED_PARAMETERS.split("|")
    }


@pytest.mark.parametrize("name", [*messages.OPTIONS, *messages._SAME_NAME_OPTIONS.split("|")])
def test_a_sentence_about_a_parameter_is_about_an_option(name: str) -> None:
    for verb in ("must be at least 1, got 0.", "is ignored."):
        said = messages.sentence(ValueError(f"{name} {verb}"))
        assert said == f"{messages.option(name)} {verb}"
