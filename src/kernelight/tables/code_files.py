"""Files of codes or features: written batch by batch, and read.

======== ==========================================================================================
ending   what is in it
======== ==========================================================================================
.klt     what `Codes.save` writes: codes, nothing else
.parquet columns ``id`` (if there are ids), ``codes`` or ``features`` (a list of fixed length) and
         ``empty``
.npz     arrays ``codes`` or ``features``, ``empty``, ``ids`` (if there are any), ``bits`` and
         ``provenance``
======== ==========================================================================================

The last two also hold a description of what made them, as a JSON text called ``kernelight``: in the
metadata of the Parquet schema, and in an array of the NPZ file.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_int
from kernelight.base.files import FilePath, Spool, replacing
from kernelight.codes import Codes
from kernelight.data.byte_sources import ByteSource, file_source
from kernelight.data.columnar import pyarrow_or_error
from kernelight.data.errors import DataError, explained
from kernelight.state import State
from kernelight.tables.table_map import Encoded, TableMap

CODES, FEATURES = "codes", "features"
KEY = "kernelight"
STATE_START = b'{"__metadata__":{"kernelight":'
_VERSION = 1
_ENDINGS = {".klt": "klt", ".kl": "klt", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}


# -- Writing


def form_of(path: FilePath, *, ids: bool = False) -> str:
    """The format that the ending of a file names; refused if it cannot be written.

    To be called before rows are encoded, which would be lost. ``ids``: there are ids to keep.
    """
    name = os.fsdecode(path)
    form = _ENDINGS.get(os.path.splitext(name)[1].lower())
    if form is None:
        raise ValueError(
            f"{name}: the ending says how to write it; known are .klt, .parquet and .npz."
        )
    if form == "klt" and ids:
        raise ValueError(
            f"{name} would hold codes without ids: name a .parquet or .npz file to keep them."
        )
    if form == "parquet":
        pyarrow_or_error(name)
    return form


def write_encoded(path: FilePath, table_map: TableMap, parts: Iterable[Encoded]) -> int:
    """Write encoded rows in the format that the ending names; returns the number of rows.

    The file appears when it is complete.
    """
    form = form_of(path)
    if form == "klt":
        if not table_map.has_codes:
            raise ValueError(
                f"{os.fsdecode(path)} would hold codes, but {type(table_map.map_).__name__} gives "
                f"dense features: name a .parquet or .npz file."
            )
        return Codes.save_parts(path, (part.values for part in parts))
    about = {
        "version": _VERSION,
        "kind": CODES if table_map.has_codes else FEATURES,
        "provenance": table_map.provenance,
        "bits": None,
        "n_components": None,
        "n_features": table_map.scaling_.n_features,
        "learned": table_map.learned,
        "map": type(table_map.map_).__name__,
        "kernel": repr(table_map.map_.kernel),
        "scale": table_map.scaling_.name,
    }
    return (_write_parquet if form == "parquet" else _write_npz)(path, parts, about)


def _split(values: Any, about: dict[str, Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The array of some rows, and which rows are empty.

    Their number of components and bits are written into ``about``.
    """
    if isinstance(values, Codes):
        about |= {"bits": values.bits, "n_components": values.n_components}
        return values.array, values.empty
    about["n_components"] = values.shape[1]
    return np.ascontiguousarray(values, dtype=np.float32), ~values.any(axis=1)


def _write_npz(path: FilePath, parts: Iterable[Encoded], about: dict[str, Any]) -> int:
    """Write an NPZ file.

    Each array begins with its number of rows, so arrays wait in temporary files until it is known.
    """
    with (
        closing(Spool(path)) as numbers,
        closing(Spool(path)) as empty,
        closing(Spool(path)) as ids,
    ):
        n_rows, longest, dtype = 0, 0, np.dtype(np.uint8)
        for part in parts:
            array, mask = _split(part.values, about)
            numbers.write(array.data)
            empty.write(mask.data)
            if part.ids is not None:
                ids.write(json.dumps(part.ids).encode() + b"\n")
                longest = max(longest, 1, *map(len, part.ids))
            n_rows, dtype = n_rows + len(array), array.dtype
        texts = np.dtype(f"<U{max(longest, 1)}")
        small = {
            name: np.array(about[name])
            for name in ("bits", "provenance")
            if about[name] is not None
        }
        with replacing(path) as handle, zipfile.ZipFile(handle, "w") as archive:
            _member(
                archive, about["kind"], dtype, (n_rows, about["n_components"]), numbers.pieces()
            )
            _member(archive, "empty", np.dtype(np.bool_), (n_rows,), empty.pieces())
            if longest:
                lines = (np.array(json.loads(line), dtype=texts).tobytes() for line in ids.lines())
                _member(archive, "ids", texts, (n_rows,), lines, zipfile.ZIP_DEFLATED)
            for name, array in {**small, KEY: np.array(json.dumps(about))}.items():
                _member(archive, name, array.dtype, (), (array.tobytes(),))
    return n_rows


def _member(
    archive: zipfile.ZipFile,
    name: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    pieces: Iterable[Any],
    method: int = zipfile.ZIP_STORED,
) -> None:
    about = zipfile.ZipInfo(f"{name}.npy")
    about.compress_type = method
    with archive.open(about, "w", force_zip64=True) as handle:
        descr = np.lib.format.dtype_to_descr(dtype)
        np.lib.format.write_array_header_1_0(
            handle, {"descr": descr, "fortran_order": False, "shape": shape}
        )
        handle.writelines(pieces)


def _write_parquet(path: FilePath, parts: Iterable[Encoded], about: dict[str, Any]) -> int:
    """Write a Parquet file, one row group for each batch."""
    pa = pyarrow_or_error(os.fsdecode(path))
    writer, n_rows = None, 0
    with replacing(path) as handle:
        try:
            for part in parts:
                array, mask = _split(part.values, about)
                lists = pa.FixedSizeListArray.from_arrays(
                    pa.array(array.reshape(-1)), array.shape[1]
                )
                columns = {} if part.ids is None else {"id": pa.array(part.ids, pa.string())}
                table = pa.table({**columns, about["kind"]: lists, "empty": pa.array(mask)})
                if writer is None:
                    schema = table.schema.with_metadata({KEY: json.dumps(about)})
                    writer = pa.parquet.ParquetWriter(handle, schema, use_dictionary=False)
                writer.write_table(table.cast(writer.schema))
                n_rows += len(array)
        finally:
            if writer is not None:
                writer.close()
    return n_rows


# -- Reading


@dataclass(frozen=True)
class EncodedRows:
    """A file of codes or features: values, ids of rows (None without ids), and its description."""

    name: str
    values: Any
    ids: list[str] | None
    about: dict[str, Any]


def source_of(path: FilePath) -> ByteSource:
    """The bytes of a file that is opened more than once; those of a pipe are kept."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):  # a pipe can be opened once only
        with open(path, "rb"):  # a wrong path is the same error as in `State.load`
            pass
    return file_source(os.fsdecode(path))


def describe_encoded(file: FilePath | ByteSource) -> dict[str, Any] | None:
    """The description in a .parquet or .npz file of codes or features, and its number of rows.

    None for any other file.
    """
    source = file if isinstance(file, ByteSource) else source_of(file)
    name = source.label
    with source.opened() as handle:
        start = handle.read(4)
    if start == b"PAR1":
        with (
            explained(name, "Parquet"),
            source.opened(),
            pyarrow_or_error(name).parquet.ParquetFile(source.path) as table,
        ):
            text = (table.schema_arrow.metadata or {}).get(KEY.encode())
            rows = table.metadata.num_rows
    elif start == b"PK\x03\x04":
        with (
            explained(name, "NPZ"),
            source.opened() as handle,
            np.load(handle, allow_pickle=False) as arrays,
        ):
            text = str(arrays[KEY]) if KEY in arrays.files else None
            rows = len(arrays["empty"]) if text is not None else 0
    else:
        return None
    return None if text is None else {**_about(name, text), "rows": rows}


def _about(name: str, text: Any) -> dict[str, Any]:
    with explained(name, "a file of codes"):
        about = json.loads(text)
        if about["version"] > _VERSION:
            raise DataError(f"{name} was written by a newer version of kernelight: upgrade it.")
        if about["kind"] not in (CODES, FEATURES) or not isinstance(about["provenance"], str):
            raise ValueError("its description is not that of codes or features")
        return dict(about)


def read_encoded(file: FilePath | ByteSource) -> EncodedRows | None:
    """The codes or features of a file in any of the three formats; None for any other file."""
    source = file if isinstance(file, ByteSource) else source_of(file)
    name = source.label
    about = describe_encoded(source)
    if about is None:
        if os.path.splitext(name)[1].lower() not in (".klt", ".kl") and not _is_state(source):
            return None
        codes = Codes._from_state(State.load(source.path, name=name), name)
        return EncodedRows(name, codes, None, {"kind": CODES, "provenance": codes.provenance})
    with explained(name, "a file of codes"):
        with source.opened() as handle:
            packed = handle.read(2) == b"PK"
        array, empty, ids = (_read_npz if packed else _read_parquet)(source, about["kind"])
        if about["kind"] == FEATURES:
            if array.dtype != np.float32 or array.ndim != 2 or not np.isfinite(array).all():
                raise ValueError("its features are not a matrix of finite float32 numbers")
            return EncodedRows(name, array, ids, about)
        array.flags.writeable = False  # `Codes` then takes it without a copy
        codes = Codes(
            array,
            check_int("bits", about["bits"], 1, 16),
            empty=empty,
            provenance=about["provenance"],
            n_features=about["n_features"],
        )
        if ids is not None and len(ids) != len(codes):
            raise ValueError(f"it has {len(ids)} ids of {len(codes)} rows")
        return EncodedRows(name, codes, ids, about)


def _is_state(source: ByteSource) -> bool:
    """Whether a file begins as those that `State.save` writes, whatever its name."""
    with source.opened() as handle:
        # the first 8 bytes are the length of the header
        return handle.read(8 + len(STATE_START))[8:] == STATE_START


def _read_npz(source: ByteSource, kind: str) -> tuple[NDArray[Any], NDArray[Any], list[str] | None]:
    with source.opened() as handle, np.load(handle, allow_pickle=False) as file:
        ids = file["ids"].tolist() if "ids" in file.files else None
        return file[kind], file["empty"], ids


def _read_parquet(
    source: ByteSource, kind: str
) -> tuple[NDArray[Any], NDArray[Any], list[str] | None]:
    with source.opened():
        table = pyarrow_or_error(source.label).parquet.read_table(source.path)
    table.validate(full=True)
    lists = table.column(kind).combine_chunks()
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    ids = table.column("id").to_pylist() if "id" in table.column_names else None
    return flat.reshape(-1, lists.type.list_size), table.column("empty").to_numpy(), ids
