"""The study: kernels compared on your data, within a time you set; and its report in HTML.

`compare` runs the study, `Study` is the result (plain data, to and from JSON), `write_report`
writes the report, one HTML file. docs/study.md is the guide. `write_dedup_report` writes that of
``kernelight dedup``.

>>> import tempfile
>>> from pathlib import Path
>>> from sklearn.datasets import load_iris
>>> from kernelight.study import Study, compare, print_study, render_report, write_report
>>> study = compare(*load_iris(return_X_y=True), kernels=["gmm"], components=[32], name="iris")
>>> print_study(study)  # doctest: +ELLIPSIS
Task: classification into 3 classes (the target holds 3 whole numbers).
...
>>> "iris" in render_report(study)
True
>>> with tempfile.TemporaryDirectory() as folder:
...     write_report(study, Path(folder) / "report.html").name
'report.html'
>>> Study.from_json(study.to_json()) == study
True
"""

from kernelight.study import inputs, recommend
from kernelight.study.cells import Cell, Recommendation
from kernelight.study.compare import compare
from kernelight.study.report.dedup import render_dedup_report, write_dedup_report
from kernelight.study.report.page import render_report, write_report
from kernelight.study.result import Study
from kernelight.study.table import print_study

__all__ = [
    "Cell",
    "Recommendation",
    "Study",
    "compare",
    "inputs",
    "print_study",
    "recommend",
    "render_dedup_report",
    "render_report",
    "write_dedup_report",
    "write_report",
]
