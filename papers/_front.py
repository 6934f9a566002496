"""The head of the page: how everything was computed, the promises, and the data sets that are not
there."""

from __future__ import annotations

from collections import Counter

from papers import _sets
from papers._exact import TOLERANCE, Comparison, compare
from papers._hashed import Mean, best, best_mean
from papers._page import Book, table
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
**How it was done.** Exact kernels are scikit-learn's `SVC(kernel="precomputed")`, which is LIBSVM, on our Gram matrices; the
linear kernel, RBF and acos have rows of unit length, min-max and GMM rows as they are. Linear models are our
`LinearClassifier`, one class against the rest and without an intercept, as LIBLINEAR: the hinge on rows of unit length (and the
squared hinge beside it, where that is soon done), the squared hinge on linearized kernels; to a duality gap of 1 %, or 300
epochs. *The papers chose C, and gamma, on the test part*, so "ours" does so too, for comparison only. "By validation" they are
chosen within the training part (five folds up to 1,000 rows, else one split 4:1 of at most 5,000 rows, 2,000 where gamma is
tuned): that is what one may expect of the method. Columns C and gamma are those of the first split, chosen on the test part.
"""
FULL = """
- C runs over half-decades from 0.01 to 1,000 up to 8,000 training rows and over decades above, and for the linear kernel; where
  gamma is tuned, over decades from 0.01 to 100,000, which small gammas need.
- All 58 gammas are tried on the test part up to 1,500 training rows. Beyond that all 58 are validated, and for each C the
  three best, beyond 8,000 rows the best alone, are trained on everything and tested: so "ours" may miss a gamma that the
  exhaustive search on the test part finds.
- Linearized kernels: C in half-decades from 0.01 to 100, in decades where training rows times k exceed 20 million; three
  repetitions where they are at most five million, else one; ten of the maps on Letter that a promise compares.
- Random splits: three of sets below 1,500 training rows, two up to 4,000, else one; linearized kernels split anew for each
  repetition.
- LIBSVM stops after 10,000 steps and 20 for each row, which only matters for overlapping classes at large C.
- Test parts of more than 20,000 rows are cut to 10,000, drawn once.
"""
QUICK = """
This is the quick profile, a sample: few data sets, 8 of the 58 gammas, one split and one repetition (two splits of the binary
embeddings), fewer samples in the simulations. The full profile, and what is promised of it, is `make papers`.
"""


def page(book: Book, sections: list[tuple[str, str]]) -> str:
    """All of it."""
    command = "make papers-quick" if book.plan.quick else "make papers"
    papers = "\n".join(f"- {name}: {title}" for name, title in PAPERS.items())
    head = "# The papers, computed again\n\n"
    head += (
        f"Written by `{command} DATA=<folder>`; every number on this page comes from a run of "
        f"`papers/`: it was made from "
        f"{book.n_done:,} of {book.n_planned:,} cells of the plan.\n\n"
    )
    how = HOW + (QUICK if book.plan.quick else FULL)
    body = "\n".join(
        f"## {title}\n\n{text.strip() or 'Nothing is computed yet.'}\n" for title, text in sections
    )
    return f"{head}{papers}\n{how}\n{promises(book)}\n{absent(book)}\n{waiting(book)}\n{body}"


def waiting(book: Book) -> str:
    """What is planned and not computed yet, and what failed."""
    lines = []
    for script, cells in book.planned.items():
        counts = Counter(cell.dataset or "simulations" for cell in cells if cell not in book.store)
        if counts:
            lines.append(
                f"- {script}: " + ", ".join(f"{name} ({count})" for name, count in counts.items())
            )
    text = "Cells of the plan that this page does without; the same command goes on with them. Means are over the "
    text += "repetitions that are there.\n\n" + "\n".join(lines)
    text = "## Not computed yet\n\n" + (text if lines else "Nothing: the plan is complete.") + "\n"
    failures = "\n".join(f"- {failure}" for failure in book.failures)
    return f"{text}\n## Failed\n\n{failures}\n" if failures else text


def absent(book: Book) -> str:
    """Sets of the papers that the folder does not have."""
    sets = {
        "LGMM": {name: _sets.LGMM_NAMES.get(name, name) for name in printed_sets("LGMM")},
        "CNK": {name: _sets.CNK_NAMES.get(name, name) for name in printed_sets("CNK")},
        "NYS": {name: name for name in (*printed_sets("NYS"), *nystroem.LACKING)},
        "TGMM": {name: name for name in (*theory.NAMES, *theory.LACKING)},
        "BE": {name: name for name in binary.SETS_SHOWN},
    }
    lines = []
    for paper, names in sets.items():
        missing = [name for name, found in names.items() if found not in book.plan.present]
        lines.append(f"- {paper}: {', '.join(missing) or 'none'}")
    return "## Data sets that are not there\n\n" + "\n".join(lines) + "\n"


def promises(book: Book) -> str:
    """What we said would hold, and what came out."""
    rows = [_conventional(book), *_near_exact(book), *_fewer_samples(book), *_gram_share(book)]
    lines = [row for row in rows if row is not None]
    return "## Promises\n\n" + (
        table(("promise", "bar", "measured", ""), lines) or "Nothing is computed yet.\n"
    )


def _verdict(holds: bool) -> str:
    return "holds" if holds else "**does not hold**"


def untuned_comparisons(book: Book) -> list[Comparison]:
    """Kernels without gamma on sets with a conventional split, in both papers."""
    found = [
        compare(book, entry, kernel, kernel)
        for entry in (*cnk.entries(book.plan), *lgmm.entries(book.plan))
        for kernel in UNTUNED
        if entry.dataset in _sets.PROMISED and (entry.paper == "CNK") == (kernel != "GMM")
    ]
    return [row for row in found if row is not None]


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
    found: list[tuple[str, ...]] = []
    for name in ("Letter", "Satimage", "USPS"):
        if name not in hashed.sets(book.plan) or 4096 not in hashed.ks_of(name, book.plan.quick):
            continue
        ours = best(book, name, _sets.lgmm_scaling(name), "GCWS", 4096, 8, None)
        exact = hashed.exact_best(book, name)
        if ours is not None and exact is not None:
            said = f"{ours:.2f} against {exact:.2f}"
            found.append(
                (
                    f"GCWS, k = 4,096, b = 8 on {name} against the exact GMM SVM",
                    "1 point",
                    said,
                    _verdict(ours >= exact - 1),
                )
            )
    return found


def _fewer_samples(book: Book) -> list[tuple[str, ...]]:
    if "Letter" not in hashed.sets(book.plan):
        return []
    gamma = hashed.gamma_of("Letter")
    peer = best_mean(book, "Letter", "signed", "NRFF", 1024, 0, gamma)
    found: list[tuple[str, ...]] = []
    for method, k in (("GCWS", 128), (hashed.WIDER, 128), ("GCWS", 256), (hashed.OURS, 128)):
        ours = best_mean(book, "Letter", "signed", method, k, 8, gamma)
        if ours is not None and peer is not None:
            name = f"{method}, b = 8" if method == "GCWS" else method
            claim = f"{name} at k = {k} against NRFF at k = 1,024 on Letter"
            said = f"{_spoken(ours)} against {_spoken(peer)}"
            found.append((claim, "not below", said, _verdict(ours.value >= peer.value)))
    return found


def _spoken(mean: Mean) -> str:
    if mean.error is None:
        return f"{mean.value:.2f}"
    return f"{mean.value:.2f} (mean of {mean.repetitions}, standard error {mean.error:.2f})"


def _gram_share(book: Book) -> list[tuple[str, ...]]:
    return [
        (
            f"Gram matrices, of the time of the exact GMM SVM on {name}",
            "below 5 %",
            f"{100 * gram.share(result):.1f} % of {result['gram'] + result['svm']:.1f} s",
            _verdict(gram.share(result) < gram.SHARE),
        )
        for name, result in gram.times(book).items()
    ]
