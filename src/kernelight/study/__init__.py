"""The study: kernels compared on your data, on honest splits, within a time you set; and its report, one HTML file.

`compare` runs the study, `Study` is what it found (plain data, to and from JSON), `write_report` makes the page.
docs/study.md is the guide.
"""

from kernelight.study.compare import compare
from kernelight.study.report.page import render_report, write_report
from kernelight.study.result import Study
from kernelight.study.table import print_study

__all__ = ["Study", "compare", "print_study", "render_report", "write_report"]
