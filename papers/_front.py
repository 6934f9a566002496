"""The head of the page: how everything was computed, the promises, and what is missing."""

from __future__ import annotations

from collections import Counter

from papers import _sets
from papers._exact import TOLERANCE, Comparison, compare
from papers._hashed import Mean, best, best_mean
from papers._lead import lead
from papers._page import Book, prose, table
from papers._printed import printed_sets
from papers.be import table as binary
from papers.cnk import exact as cnk
from papers.lgmm import exact as lgmm
from papers.lgmm import gram, hashed
from papers.nys import hashed as nystroem
from papers.tgmm import hashed as theory

PAPERS = {
    "LGMM": "Li, *Linearized GMM Kernels and Normalized Random Fourier Features*",
    "CNK": "Li, *A Comparison Study of Nonlinear Kernels*",
    "NYS": "Li, *Nystrom Method for Approximating the GMM Kernel*",
    "TGMM": "Li and Zhang, *Theory of the GMM Kernel*",
    "BE": "a report on *binary embedding and optimized random Fourier features*",
}
UNTUNED = ("min-max", "GMM", "acos", "acos-chi2", "MM-acos", "MM-acos-chi2")

HOW = """
**How it was done.** Exact kernels are scikit-learn's `SVC(kernel="precomputed")`, which is LIBSVM,
on our Gram matrices.
Rows have unit length for the linear kernel, RBF and acos; min-max and GMM take them as they are.
Linear models are our `LinearClassifier`, one class against the rest and without an intercept, as in
LIBLINEAR.
The linear kernel has the hinge, and the squared hinge beside it where that is quick; feature maps
have the squared hinge.
Fits end at a duality gap of 1 %, or after 300 epochs.

*The papers chose C and gamma on the test part.*
The column "ours" does so too, for comparison only.
"By validation" they are chosen within the training part: in five folds up to 1,000 rows, else by
one split 4:1 of at most 5,000 rows.
That is what one may expect of the method.
The columns C and gamma are those of the first split, chosen on the test part.
"""
FULL = """
- C runs over half-decades from 0.01 to 1,000.
  With more than 8,000 training rows, and for the linear kernel, it runs over decades.
  Where gamma is tuned, it runs over decades from 0.01 to 100,000, which small gammas need.
- All 58 gammas are trained on the whole training part and tested, at every C.
- For feature maps, C runs over half-decades from 0.01 to 100, or over decades where training rows
  times k exceed 20 million.
  There are three repetitions where that product is at most five million, else one, and ten for the
  maps on Letter that a promise compares.
- Sets without a conventional split have three random splits below 1,500 training rows, two up to
  4,000, else one.
  Feature maps get a new split for each repetition.
- LIBSVM stops after 10,000 steps and 20 more for each row.
  That only matters for overlapping classes at large C.
- Test parts of more than 20,000 rows are cut to 10,000 rows, drawn once.
"""
QUICK = """
This is the quick profile, a sample: few data sets, 8 of the 58 gammas, one split and one repetition
(two splits of the binary embeddings), and fewer samples in the simulations.
The full profile, and what is promised of it, is `make papers`.
"""


WAITING = (
    "These cells of the plan are missing from this page; the same command goes on with them. "
    "Means are over the repetitions that are computed."
)


def page(book: Book, sections: list[tuple[str, str]]) -> str:
    """The whole page."""
    command = "make papers-quick" if book.plan.quick else "make papers"
    papers = "\n".join(prose(f"{name}: {title}", "- ") for name, title in PAPERS.items())
    claims = _claims(book)
    head = f"""# The papers, computed again

{lead(book, claims)}
Written by `{command} DATA=<folder>`; every number comes from a run of the scripts in `papers/`.
A cell is one computation, such as a kernel on one split of a data set.
This page was made from {book.n_done:,} of {book.n_planned:,} cells of the plan.

"""
    how = HOW + (QUICK if book.plan.quick else FULL)
    body = "\n".join(
        f"## {title}\n\n{text.strip() or 'Nothing is computed yet.'}\n" for title, text in sections
    )
    return f"{head}{papers}\n{how}\n{promises(claims)}\n{absent(book)}\n{waiting(book)}\n{body}"


def waiting(book: Book) -> str:
    """The cells that are planned and not computed yet, and those that failed."""
    lines = []
    for script, cells in book.planned.items():
        counts = Counter(cell.dataset or "simulations" for cell in cells if cell not in book.store)
        if counts:
            named = ", ".join(f"{name} ({count})" for name, count in counts.items())
            lines.append(prose(f"{script}: {named}", "- "))
    text = prose(WAITING) + "\n\n" + "\n".join(lines)
    text = "## Not computed yet\n\n" + (text if lines else "Nothing: the plan is complete.") + "\n"
    failures = "\n".join(prose(failure, "- ") for failure in book.failures)
    return f"{text}\n## Failed\n\n{failures}\n" if failures else text


def absent(book: Book) -> str:
    """The data sets of the papers that the folder does not have."""
    sets = {
        "LGMM": {name: _sets.LGMM_NAMES.get(name, name) for name in printed_sets("LGMM")},
        "CNK": {name: _sets.CNK_NAMES.get(name, name) for name in printed_sets("CNK")},
        "NYS": {name: name for name in (*printed_sets("NYS"), *nystroem.LACKING)},
        "TGMM": {name: name for name in (*theory.NAMES, *theory.LACKING)},
        "BE": {name: name for name in binary.SETS_SHOWN},
    }
    lines = []
    for paper, names in sets.items():
        missing = [name for name, loaded in names.items() if loaded not in book.plan.present]
        lines.append(prose(f"{paper}: {', '.join(missing) or 'none'}", "- "))
    return "## Data sets that are not there\n\n" + "\n".join(lines) + "\n"


def promises(claims: list[tuple[str, ...]]) -> str:
    """What is promised, and what was measured."""
    return "## Promises\n\n" + (
        table(("promise", "bar", "measured", ""), claims) or "Nothing is computed yet.\n"
    )


def _claims(book: Book) -> list[tuple[str, ...]]:
    """A line for each promise that is computed: the claim, the bar, what was measured, verdict."""
    rows = [_conventional(book), *_near_exact(book), *_fewer_samples(book), *_gram_times(book)]
    return [row for row in rows if row is not None]


def _verdict(holds: bool) -> str:
    return "holds" if holds else "**does not hold**"


def untuned_comparisons(book: Book) -> list[Comparison]:
    """Kernels without gamma on sets with a conventional split, in both papers."""
    rows = [
        compare(book, entry, kernel, kernel)
        for entry in (*cnk.entries(book.plan), *lgmm.entries(book.plan))
        for kernel in UNTUNED
        if entry.dataset in _sets.PROMISED and (entry.paper == "CNK") == (kernel != "GMM")
    ]
    return [row for row in rows if row is not None]


def _conventional(book: Book) -> tuple[str, ...] | None:
    rows = untuned_comparisons(book)
    if not rows:
        return None
    near = sum(abs(round(row.difference, 2)) <= TOLERANCE for row in rows)
    return (
        "min-max, GMM, acos, acos-chi2 and their products on conventional splits, as printed to "
        "half a point",
        "80 % of cells",
        f"{near} of {len(rows)}",
        _verdict(near >= 0.8 * len(rows)),
    )


def _near_exact(book: Book) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in ("Letter", "Satimage", "USPS"):
        if name not in hashed.sets(book.plan) or 4096 not in hashed.ks_of(name, book.plan.quick):
            continue
        ours = best(book, name, _sets.lgmm_scaling(name), "GCWS", 4096, 8, None)
        exact = hashed.exact_best(book, name)
        if ours is not None and exact is not None:
            said = f"{ours:.2f} against {exact:.2f}"
            rows.append(
                (
                    f"GCWS, k = 4,096, b = 8 on {name} against the exact GMM SVM",
                    "1 point",
                    said,
                    _verdict(ours >= exact - 1),
                )
            )
    return rows


def _fewer_samples(book: Book) -> list[tuple[str, ...]]:
    if "Letter" not in hashed.sets(book.plan):
        return []
    gamma = hashed.gamma_of("Letter")
    peer = best_mean(book, "Letter", "signed", "NRFF", 1024, 0, gamma)
    rows: list[tuple[str, ...]] = []
    for method, k in (("GCWS", 128), (hashed.WIDER, 128), ("GCWS", 256), (hashed.OURS, 128)):
        ours = best_mean(book, "Letter", "signed", method, k, 8, gamma)
        if ours is not None and peer is not None:
            name = f"{method}, b = 8" if method == "GCWS" else method
            claim = f"{name} at k = {k} against NRFF at k = 1,024 on Letter"
            said = f"{_spoken(ours)} against {_spoken(peer)}"
            rows.append((claim, "not below", said, _verdict(ours.value >= peer.value)))
    return rows


def _spoken(mean: Mean) -> str:
    if mean.error is None:
        return f"{mean.value:.2f}"
    return f"{mean.value:.2f} (mean of {mean.repetitions}, standard error {mean.error:.2f})"


def _gram_times(book: Book) -> list[tuple[str, ...]]:
    return [
        (
            f"Gram matrices, of the time of the exact GMM SVM on {name}",
            "below 5 %",
            f"{100 * gram.gram_fraction(result):.1f} % of {result['gram'] + result['svm']:.1f} s",
            _verdict(gram.gram_fraction(result) < gram.LIMIT),
        )
        for name, result in gram.times(book).items()
    ]
