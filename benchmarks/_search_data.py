"""The data sets of the benchmark of search: texts, digits, synthetic rows and molecules.

    python benchmarks/_search_data.py [A] [B] [C] [D] [C of 1e6 rows: M]

| set | rows | made of |
|---|---|---|
| A | texts | descriptions of Debian's packages: tf-idf of words and pairs of words, L1 |
| B | digits | MNIST of the folder KERNELIGHT_DATA, divided by 255; Bq: its test rows |
| C, M | synthetic | Zipf columns, log-normal values, a fifth planted near-duplicates |
| D | molecules | SMILES inside the wheel molsets: counts of Morgan fingerprints by rdkit |

Each is made once, as float32, and kept in the folder KERNELIGHT_SEARCH_DATA (build/search if it
names none). One whose source is missing is left out, and a sentence says why.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _data import arrays

HELPER = "/usr/lib/apt/apt-helper"  # reads the lists of apt, however they are compressed
MOLECULES = 100_000
SYNTHETIC, MANY = 200_000, 1_000_000
COLUMNS, NONZEROS = 100_000, 60  # of synthetic rows


class MissingError(Exception):
    """A source that cannot be had; says which."""


def folder() -> Path:
    """Where the sets are kept."""
    given = os.environ.get("KERNELIGHT_SEARCH_DATA")
    path = Path(given) if given else Path(__file__).resolve().parent.parent / "build" / "search"
    path.mkdir(parents=True, exist_ok=True)
    return path


def load(name: str) -> Any | None:
    """A set by its name, as CSR or as an array; None if its source is missing."""
    path = folder() / f"{name}{'.npy' if name.startswith('B') else '.npz'}"
    if not path.is_file():
        try:
            _MAKERS[name](folder())
        except MissingError as error:
            print(f"{name} is left out: {error}.", flush=True)
            return None
    return np.load(path) if path.suffix == ".npy" else sp.load_npz(path)


def synthetic(n_rows: int, seed: int = 7) -> sp.csr_matrix:
    """Sparse rows of Zipf columns and log-normal values; the last fifth are near-duplicates.

    A planted row is one of the others with some entries drawn again: as many as leave a similarity
    J on average, and J is uniform on (.3, 1).
    """
    rng = np.random.default_rng(seed)
    base = n_rows * 4 // 5
    weights = 1 / np.arange(1, COLUMNS + 1) ** 0.9
    cumulative = np.cumsum(weights / weights.sum())

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        columns = np.searchsorted(cumulative, rng.random(count))
        return np.minimum(columns, COLUMNS - 1).astype(np.int32), rng.lognormal(0, 1, count)

    columns = np.empty((n_rows, NONZEROS), np.int32)
    values = np.empty((n_rows, NONZEROS), np.float32)
    for start in range(0, base, 50_000):  # in blocks: numbers are drawn as doubles
        stop = min(start + 50_000, base)
        some_columns, some_values = draw((stop - start) * NONZEROS)
        columns[start:stop] = some_columns.reshape(-1, NONZEROS)
        values[start:stop] = some_values.reshape(-1, NONZEROS)
    for start in range(base, n_rows, 50_000):
        stop = min(start + 50_000, n_rows)
        origin = rng.integers(0, base, stop - start)
        similarity = rng.uniform(0.3, 1, stop - start)
        changed = (
            rng.random((stop - start, NONZEROS)) > (2 * similarity / (1 + similarity))[:, None]
        )
        some_columns, some_values = draw(int(changed.sum()))
        columns[start:stop], values[start:stop] = columns[origin], values[origin]
        columns[start:stop][changed] = some_columns
        values[start:stop][changed] = some_values
    starts = np.arange(0, n_rows * NONZEROS + 1, NONZEROS, dtype=np.int32)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n_rows, COLUMNS))
    X.sum_duplicates()
    return X


def texts() -> list[str]:
    """The descriptions of Debian's packages, as apt fetches them."""
    return [text for each in _descriptions(folder()) for text in each]


def _descriptions(where: Path) -> Iterator[list[str]]:
    lists = where / "apt" / "lists"
    if not Path(HELPER).exists():
        raise MissingError("there is no apt here, whose package descriptions it is made of")
    if not list(lists.glob("*Translation-en*")):
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        options = (f"Dir::State::lists={lists}", "Acquire::Languages=en")
        command = ["apt-get", *(word for option in options for word in ("-o", option)), "update"]
        subprocess.run(command, capture_output=True, check=False)
    found = sorted(lists.glob("*Translation-en*"))
    if not found:
        raise MissingError("apt could not fetch its descriptions of packages")
    for path in found:
        raw = subprocess.run([HELPER, "cat-file", path], capture_output=True, check=True).stdout
        records = raw.decode("utf8", "replace").split("\n\n")
        matches = (re.search(r"^Description-en: (.*)", each, re.M | re.S) for each in records)
        yield [match.group(1).replace("\n .\n", "\n") for match in matches if match]


def _make_texts(where: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(norm="l1", token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2))
    _save(where / "A.npz", vectorizer.fit_transform(texts()))


def _make_digits(where: Path) -> None:
    found = arrays("MNIST")
    if found is None:
        raise MissingError("it is MNIST, of the folder that KERNELIGHT_DATA names")
    for name, key in (("B", "X_train"), ("Bq", "X_test")):
        np.save(where / f"{name}.npy", found[key].reshape(-1, 784).astype(np.float32) / 255)


def _make_synthetic(where: Path) -> None:
    _save(where / "C.npz", synthetic(SYNTHETIC))


def _make_many(where: Path) -> None:
    _save(where / "M.npz", synthetic(MANY))


def _make_molecules(where: Path) -> None:
    try:
        chemistry = import_module("rdkit.Chem")
        fingerprints = import_module("rdkit.Chem.rdFingerprintGenerator")
    except ImportError:
        raise MissingError("it needs rdkit: pip install rdkit") from None
    if not list(where.glob("molsets-*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "molsets", "--no-deps", "-d", str(where)]
        subprocess.run(pip, capture_output=True, check=False)
    wheels = list(where.glob("molsets-*.whl"))
    if not wheels:
        raise MissingError("pip could not download the wheel molsets, which holds its molecules")
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(each for each in wheel.namelist() if each.endswith("train.csv.gz"))
        lines = gzip.decompress(wheel.read(name)).decode().splitlines()[1:]
    import_module("rdkit.RDLogger").DisableLog("rdApp.*")
    generator = fingerprints.GetMorganGenerator(radius=2)
    seen: dict[int, int] = {}
    columns: list[int] = []
    values: list[int] = []
    starts = [0]
    for at in np.random.default_rng(0).permutation(len(lines))[:MOLECULES]:
        molecule = chemistry.MolFromSmiles(lines[at].split(",")[0].strip())
        counts = generator.GetSparseCountFingerprint(molecule).GetNonzeroElements()
        columns += [seen.setdefault(key, len(seen)) for key in counts]
        values += counts.values()
        starts.append(len(columns))
    parts = np.array(values, np.float32), np.array(columns, np.int32), np.array(starts, np.int32)
    _save(where / "D.npz", sp.csr_matrix(parts, shape=(MOLECULES, len(seen))))


def _save(path: Path, X: Any) -> None:
    """Written under another name first, so that a set is there whole or not at all."""
    X = X.astype(np.float32).tocsr()
    X.sort_indices()
    unfinished = path.with_name(f"unfinished-{path.name}")
    sp.save_npz(unfinished, X, compressed=False)
    os.replace(unfinished, path)


_MAKERS: dict[str, Callable[[Path], None]] = {
    "A": _make_texts,
    "B": _make_digits,
    "Bq": _make_digits,
    "C": _make_synthetic,
    "D": _make_molecules,
    "M": _make_many,
}


def main() -> None:
    """Make the sets that are asked for, and print their sizes."""
    for name in sys.argv[1:] or ("A", "B", "Bq", "C", "D"):
        X = load(name)
        if X is not None:
            stored = X.nnz if sp.issparse(X) else np.count_nonzero(X)
            rows, columns = X.shape
            print(f"{name}: {rows:,} x {columns:,}, {stored / rows:.1f} nonzeros a row", flush=True)


if __name__ == "__main__":
    main()
