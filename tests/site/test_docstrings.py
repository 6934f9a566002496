"""Docstrings of public names say what is taken and returned, and show an example."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest
from reference import documented_names, public_objects

validation = pytest.importorskip("numpydoc.validate", reason="numpydoc is in the extra docs")
docscrape = pytest.importorskip("numpydoc.docscrape")

# by numpydoc's codes: a summary, the parameters of the signature and no others, what is returned,
# an example
CHECKS = {"GL08", "SS01", "PR01", "PR02", "RT01", "EX01"}
# What users never construct: the docstring says what makes it.
MADE_BY_OTHERS = {
    "kernelight.data.Dataset",
    "kernelight.data.Encoding",
    "kernelight.distributed.spark.SparkDuplicates",
    "kernelight.distributed.spark.SparkJoin",
    "kernelight.export.CExport",
    "kernelight.neighbors.ExactRows",
    "kernelight.neighbors.Index",
    "kernelight.study.Cell",
    "kernelight.study.Recommendation",
    "kernelight.study.Study",
}
# Some of their parameters are listed on one line, "as in" another function.
LISTED_TOGETHER = {"kernelight.distributed.spark.similarity_join"}
NAMES = [name for name in documented_names() if public_objects()[name] is not None]


@pytest.mark.parametrize("name", NAMES)
def test_docstring_is_complete(name):
    wrong = [error for error in validation.validate(name)["errors"] if error[0] in CHECKS]
    value = public_objects()[name]
    if inspect.isclass(value):
        entries = docscrape.ClassDoc(value)["Attributes"]
        attributes = {name for entry in entries for name in entry.name.split(", ")}
        fields = set(inspect.signature(value).parameters)
        if name in MADE_BY_OTHERS or fields <= attributes:  # results say what their fields are
            wrong = [error for error in wrong if error[0] != "PR01"]
    elif name in LISTED_TOGETHER:
        wrong = [error for error in wrong if error[0] != "PR01"]
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_see_also_names_what_is_documented(name):
    """In the module of the name, or by the full name."""
    text = docscrape.NumpyDocString(inspect.getdoc(public_objects()[name]))
    known, module = set(documented_names()), name.rpartition(".")[0]
    for references, _ in text["See Also"]:
        for reference, _ in references:
            assert known & {reference, f"{module}.{reference}"}, f"{name}: {reference}"
            assert reference != name.rpartition(".")[2], f"{name} names itself"


def test_every_name_that_has_relatives_says_so():
    """Where a page of the reference has several names, most of them lead to others."""
    without = [
        name for name in NAMES if "See Also" not in (inspect.getdoc(public_objects()[name]) or "")
    ]
    assert len(without) <= len(NAMES) // 10, without


def test_what_others_make_says_what_makes_it():
    for name in MADE_BY_OTHERS & set(NAMES):
        module, _, cls = name.rpartition(".")
        assert "See Also" in (inspect.getdoc(getattr(import_module(module), cls)) or ""), name
