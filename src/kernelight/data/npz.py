"""NPZ files: ours (``X``, ``y`` or ``X_train``, ``y_train``, ``X_test``, ``y_test``) and those of `scipy.sparse.save_npz`.

Nothing that is stored as Python objects is read: it would be run.
"""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.data.errors import DataError, listed, one_line
from kernelight.data.sources import ByteSource
from kernelight.data.table import ArraySource, words_of

_SPARSE = {"indices", "indptr", "format", "shape", "data"}


class NpzSource(ArraySource):
    """A data set from the arrays of an NPZ file."""

    def __init__(self, source: ByteSource, part: str | None) -> None:
        label = source.label
        try:
            matrix, target, names = _arrays(source, part)
        except DataError:
            raise
        except Exception as error:  # of damaged files NumPy, zipfile and scipy say all kinds of things
            reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
            raise DataError(f"{label} cannot be read as NPZ: {reason}.") from error
        kept = None if target is None else ("y", target)
        super().__init__(label, names, matrix, {}, kept)
        self.headed = False


def _arrays(source: ByteSource, part: str | None) -> tuple[Any, Any, list[str] | None]:
    label = source.label
    with np.load(source.path, allow_pickle=False) as file:
        keys = set(file.files)
        suffix = ""
        if "X" not in keys and not keys >= _SPARSE:
            suffix = f"_{part or 'train'}"
            if f"X{suffix}" not in keys:
                raise DataError(
                    f"{label} has no array 'X{suffix}' (nor 'X'); it has {listed(sorted(keys)) or 'none'}."
                )
        elif part is not None:
            raise DataError(f"{label} has no part {part!r}: it is one matrix.")
        _refuse_lies(source, keys)
        matrix = _sparse(file) if keys >= _SPARSE else file[f"X{suffix}"]
        target = file[f"y{suffix}"] if f"y{suffix}" in keys else None
        given = file["feature_names"].tolist() if "feature_names" in keys else None
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{label}: 'X{suffix}' must be a matrix of numbers, got {matrix.dtype} of shape {matrix.shape}."
        )
    if sp.issparse(matrix):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
            column = int(matrix.indices[bad[0]]) + 1
            raise DataError(
                f"{label}, row {row}, column {column}: {matrix.data[bad[0]]} is no value of a sparse row."
            )
        names = None
    else:
        count = matrix.shape[1]
        names = [f"column_{at + 1}" for at in range(count)]
        if isinstance(given, list) and len(given) == count == len(set(map(str, given))):
            names = [str(name) for name in given]
    return matrix, _target(label, target, matrix.shape[0]), names


def _refuse_lies(source: ByteSource, keys: set[str]) -> None:
    """Refuse arrays whose headers promise more than there is: the memory for it would be taken before that is noticed."""
    with zipfile.ZipFile(source.path) as archive:
        for key in keys:
            name = f"{key}.npy"
            with archive.open(name) as member:
                version = np.lib.format.read_magic(member)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(member)
                size = archive.getinfo(name).file_size - member.tell()
            wanted = dtype.itemsize
            for extent in shape:
                wanted *= int(extent)
            if dtype.hasobject:
                raise DataError(
                    f"{source.label}: {key!r} holds Python objects, which are not read; store numbers or text."
                )
            if wanted != size:
                raise DataError(f"{source.label}: {key!r} should have {wanted} bytes and has {size}.")


def _sparse(file: Any) -> Any:
    form = file["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc"):
        raise ValueError(f"its sparse format is {form!r}; save it as CSR")
    kind = sp.csr_matrix if form == "csr" else sp.csc_matrix
    matrix = kind((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"].tolist()))
    matrix.check_format(full_check=True)
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    return matrix


def _target(label: str, target: Any, rows: int) -> Any:
    if target is None:
        return None
    if target.shape == (rows, 1):
        target = target[:, 0]
    if target.shape != (rows,):
        raise DataError(f"{label}: 'y' has the shape {target.shape} where {rows} rows have ({rows},).")
    if target.dtype.kind in "US":
        return words_of([t.decode() if isinstance(t, bytes) else t for t in target.tolist()])
    if target.dtype.kind not in "biuf":
        raise DataError(f"{label}: 'y' must be numbers or text, got {target.dtype}.")
    return target
