"""The reference: every public name, grouped as a user thinks.

`GROUPS` is the one list. tests/site compares it with `__all__` of the public packages, so that a
name that is new must be given its place here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

# What users are promised, and what they meet: `__all__` of each is in the reference.
PUBLIC_PACKAGES = (
    "kernelight",
    "kernelight.codes",
    "kernelight.data",
    "kernelight.distributed",
    "kernelight.distributed.spark",
    "kernelight.export",
    "kernelight.export.skl2onnx",
    "kernelight.hashing",
    "kernelight.installation",
    "kernelight.kernels",
    "kernelight.metrics",
    "kernelight.neighbors",
    "kernelight.state",
    "kernelight.study",
    "kernelight.theory",
)


class Section(NamedTuple):
    """Names of one module under a heading; no heading if the title is empty."""

    title: str
    module: str
    names: str

    def full_names(self) -> list[str]:
        """Each name with its module in front."""
        return [f"{self.module}.{name}" for name in self.names.split()]


class Group(NamedTuple):
    """A page of the reference. ``constants`` are names with what they are."""

    file: str
    title: str
    text: str
    sections: tuple[Section, ...]
    constants: tuple[tuple[str, str], ...] = ()


GROUPS = (
    Group(
        "estimators",
        "Estimators",
        "Nonlinear classifiers and regressors in one line: scaled columns, a feature map of a "
        "kernel, and a linear model, tuned on held-out rows. The guide is :doc:`/front-door`.",
        (
            Section("", "kernelight", "KernelClassifier KernelRegressor CompactClassifier"),
            Section("Models and maps of files", "kernelight", "TableModel TableMap load"),
            Section("Columns before a kernel", "kernelight", "ColumnScaler ColumnWeighter"),
        ),
    ),
    Group(
        "maps",
        "Feature maps",
        "Transformers whose inner products estimate a kernel. :doc:`/maps` says which map is for "
        "which kernel, and what each costs.",
        (
            Section("Ask for one", "kernelight", "feature_map"),
            Section("Codes", "kernelight", "GCWS SignProjection BinaryFourier Ferns ForestLeaves"),
            Section(
                "Dense features",
                "kernelight",
                "RandomFourier IntegerFourier AlignedFourier KernelNystroem",
            ),
            Section("Products and sums", "kernelight", "ProductMap Concat"),
        ),
    ),
    Group(
        "kernels",
        "Kernels",
        "Exact similarities of rows. A kernel is a value that can be called on two matrices, "
        "``K(X, Y)``, also by scikit-learn's ``SVC(kernel=...)``; ``K1 * K2`` and ``K1 + K2`` are "
        "kernels again.",
        (
            Section("By name", "kernelight.kernels", "get"),
            Section("Min-max kernels", "kernelight.kernels", "GMM MinMax ExpGMM NGMM Intersection"),
            Section(
                "Distances and angles",
                "kernelight.kernels",
                "Linear RBF FoldedRBF Gaussian Acos AcosChi2",
            ),
            Section("What all have, and combinations", "kernelight.kernels", "Kernel Product Sum"),
        ),
    ),
    Group(
        "codes",
        "Codes",
        "The short lists of small integers that a map makes of rows, and what they are of.",
        (
            Section("", "kernelight", "Codes"),
            Section("", "kernelight.codes", "Winners provenance_of slots_provenance"),
        ),
    ),
    Group(
        "linear",
        "Linear models",
        "liblinear's problems, trained on codes, dense or sparse rows to a certified duality gap; "
        "and models with coefficients -1, 0 and 1 (:doc:`/ternary`).",
        (Section("", "kernelight", "LinearClassifier LinearRegressor TernaryClassifier"),),
    ),
    Group(
        "neighbors",
        "Search and duplicates",
        "Rows that are similar by the min-max kernel, always verified exactly. The guide is "
        ":doc:`/similar-rows`.",
        (
            Section("Similar rows", "kernelight.neighbors", "MinMaxNeighbors NeighborPairs"),
            Section("Duplicates", "kernelight.neighbors", "deduplicate Duplicates Matches"),
            Section("An index on disk", "kernelight.neighbors", "Index"),
            Section(
                "Plans and parts",
                "kernelight.neighbors",
                "NeighborPlan BandPlan BandSearch ExactRows band_keys short_band_keys equal_slots "
                "scan_codes",
            ),
        ),
    ),
    Group(
        "data",
        "Data",
        "Tables from files, frames, standard input and names; texts as rows. The guide is "
        ":doc:`/data`.",
        (
            Section("", "kernelight", "open_dataset"),
            Section("", "kernelight.data", "Dataset Batch Encoding DataError DataWarning"),
            Section("Texts", "kernelight.data.texts", "TextShingles"),
            Section("Files all or nothing", "kernelight.data", "replacing"),
            Section("Scores of probabilities", "kernelight.metrics", "ProbabilityScores"),
        ),
        (
            ("kernelight.data.CLASSIFICATION", 'The task "classification".'),
            ("kernelight.data.REGRESSION", 'The task "regression".'),
        ),
    ),
    Group(
        "study",
        "Study",
        "Kernels compared on your data, within a time you set, and the report in HTML. The guide "
        "is :doc:`/study`.",
        (
            Section("", "kernelight.study", "compare Study Cell Recommendation"),
            Section(
                "Print and report",
                "kernelight.study",
                "print_study write_report render_report write_dedup_report render_dedup_report",
            ),
        ),
    ),
    Group(
        "explain",
        "Explanations",
        "What each column adds to each score: ``model.explain(X)`` returns it. The guide is "
        ":doc:`/explain`.",
        (Section("", "kernelight", "Contributions ContributionsDisplay"),),
    ),
    Group(
        "theory",
        "Theory",
        "Formulas as functions: numbers in, a number out; arrays in, arrays out. Variances are "
        "those of a single component: divide by the number of components. The guide is "
        ":doc:`/theory`.",
        (
            Section("How many components", "kernelight.theory", "components_needed memory_needed"),
            Section(
                "Bands", "kernelight.theory", "choose_bands Bands band_probability band_threshold"
            ),
            Section(
                "Codes that agree",
                "kernelight.theory",
                "collision_variance bbit_collision kernel_from_bbit bbit_variance zero_bit_bounds",
            ),
            Section(
                "Fourier features",
                "kernelight.theory",
                "rff_variance nrff_variance nrff_bias paired_variance folded_kernel "
                "folded_variance projection_variance rbf_through_gmm_variance",
            ),
            Section(
                "Bits",
                "kernelight.theory",
                "hamming_rate hamming_bounds kernel_from_hamming kernel_from_hamming_variance "
                "sign_cosine_mean kernel_from_sign_cosine kernel_from_sign_cosine_variance "
                "sign_cauchy_collision sign_cauchy_acos sign_cauchy_arctan",
            ),
            Section(
                "Which method wins",
                "kernelight.theory",
                "relative_variance gcws_crossover rbf_through_gmm_crossover",
            ),
            Section(
                "The min-max kernel of heavy-tailed rows",
                "kernelight.theory",
                "gmm_single gmm_limit gmm_variance gmm_variance_two elliptical_h elliptical_v "
                "t_moment rho_from_gmm rho_from_gmm_variance cosine_variance rho_variance_ratio "
                "rho_crossover",
            ),
            Section(
                "Guarantees", "kernelight.theory", "bits_needed uniform_bound uniform_components"
            ),
        ),
    ),
    Group(
        "export",
        "Export",
        "Fitted models out of Python: C for microcontrollers (:doc:`/devices`), ONNX graphs for "
        "servers (:doc:`/onnx`).",
        (
            Section("C", "kernelight.export", "to_c CExport ExportReport"),
            Section("ONNX", "kernelight.export", "to_onnx run_onnx"),
            Section("", "kernelight.export.skl2onnx", "register"),
        ),
    ),
    Group(
        "distributed",
        "Many machines",
        "The same codes, models and duplicates on Spark and other engines. The guide is "
        ":doc:`/scale`.",
        (
            Section("Any engine", "kernelight.distributed", "Ticket"),
            Section(
                "Spark",
                "kernelight.distributed.spark",
                "score encode fit ScoringTransformer duplicates SparkDuplicates similarity_join "
                "SparkJoin",
            ),
        ),
    ),
    Group(
        "hashing",
        "Hashing as a function",
        "Codes without a fit, and without a limit on the number of features.",
        (Section("", "kernelight.hashing", "gcws"),),
    ),
    Group(
        "state",
        "State and installation",
        "Fitted objects as plain data in files, and what is installed.",
        (
            Section("Files", "kernelight", "State"),
            Section(
                "For those who store objects of their own",
                "kernelight.state",
                "Immutable Pieces save_pieces may_change read_only",
            ),
            Section("Installation", "kernelight.installation", "versions machine optional_parts"),
        ),
        (
            ("kernelight.__version__", "The version of the package."),
            (
                "kernelight.state.ALGORITHM_VERSION",
                "What a seed means: codes of equal versions are equal.",
            ),
            ("kernelight.state.FORMAT_VERSION", "How a file is laid out."),
        ),
    ),
)


def documented_names() -> list[str]:
    """The full name of everything that has a page in the reference."""
    return [name for group in GROUPS for part in group.sections for name in part.full_names()]


def constants() -> list[str]:
    """The full names of the constants."""
    return [name for group in GROUPS for name, _ in group.constants]


@cache
def public_objects() -> dict[str, Any]:
    """What has a page, by full name; None for what an engine that is missing would define."""
    found: dict[str, Any] = {}
    for full in documented_names():
        module, _, name = full.rpartition(".")
        try:
            found[full] = getattr(import_module(module), name)
        except ImportError:
            found[full] = None
    return found


def reference_pages() -> dict[str, str]:
    """The sources of the pages, by file name."""
    return {"index": _index(), **{group.file: _page(group) for group in GROUPS}}


def _heading(title: str, line: str) -> list[str]:
    return [title, line * len(title), ""]


def _page(group: Group) -> str:
    lines = [*_heading(group.title, "="), group.text, ""]
    for part in group.sections:
        if part.title:
            lines += _heading(part.title, "-")
        lines += [f".. currentmodule:: {part.module}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [*(f"   {name}" for name in part.names.split()), ""]
    if group.constants:
        lines += _heading("Constants", "-")
    for name, text in group.constants:
        lines += [f".. py:data:: {name}", "", f"   {text}", ""]
    return "\n".join(lines)


def _index() -> str:
    lines = [
        *_heading("Reference", "="),
        "Every public name of the package, and every verb of the command. ``kernelight.NAME`` "
        "loads when first used.",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        *(f"   {group.file}" for group in GROUPS),
        "   /command-reference",
        "",
    ]
    for group in GROUPS:
        names = [f":py:obj:`~{full}`" for part in group.sections for full in part.full_names()]
        lines += _heading(group.title, "-")
        lines += [f":doc:`{group.file}`: " + ", ".join(names) + ".", ""]
    return "\n".join(lines)
