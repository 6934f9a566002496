"""Random projections of rows: m numbers w_j . x of each, read as features or as bits.

There is a class for each way to make the w_j: `Structured` (three HD blocks or Fastfood, never
written out as a matrix), `Dense` (independent Gaussian or Cauchy entries, drawn when needed;
`Selected` has some of its outputs), `Orthogonal` and `Sobol` (a matrix for a few features). In an
HD block, H is the Hadamard matrix and D a diagonal matrix of random signs.

All are functions of a seed: drawn tables are cached in memory, never pickled. ``factor`` multiplies
every projection: the bandwidth, in turns of the circle for features of cosines.

Memory beyond input and output: at most 96 MB of tables kept, 48 MB for a call, 16 MB of projections
at a time; beyond that only what is made as a whole, 4 bytes for each feature and output of
orthogonal and Sobol directions, and some 20 bytes an output (at least for the padded width) of
structured ones.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources, core_args
from kernelight.kernels.prepare import is_sparse, row_peaks
from kernelight.maps.projections.readouts import FourierReadout, Readout, RowRule
from kernelight.maps.projections.sobol import sobol_normals

KEPT_BYTES = 96 << 20
CALL_BYTES = 48 << 20
PROJECTED_BYTES = 16 << 20
SHORTEST_HD = 64  # width: three HD blocks of a smaller one are badly biased
ORTHOGONAL_WIDTH = 2048  # a block takes about a second to make
STRUCTURED_WIDTH = 1 << 24
SOBOL_WIDTH = 21201  # as far as direction numbers are known
TURN = 2.0 * math.pi
# Of a row from the origin, in bandwidths: there float32 still has its angle to about a hundredth of
# a turn, beyond it float32 cannot represent the angle.
MAX_DISTANCE = 2.0**16
WIDEST_AUTO = 1 << 16


class Projection(ABC):
    """m random projections of rows of ``n_features`` numbers."""

    def __init__(self, n_features: int, n_outputs: int, seed: int, factor: float) -> None:
        self.n_features, self.n_outputs, self.seed, self.factor = (
            n_features,
            n_outputs,
            seed,
            factor,
        )
        self._lock = threading.Lock()
        self._kept: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_lock", "_kept")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._kept = threading.Lock(), None

    def read(
        self, X: Matrix, rule: RowRule, readout: Readout, resources: Resources
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What the readout makes of the projections of every row, and which rows are empty."""
        out = readout.made(X.shape[0], self.n_outputs)
        empty = np.zeros(X.shape[0], dtype=bool)
        if X.shape[0]:
            self._read(
                X, rule, readout, out, empty, resources.for_work(X.shape[0] * self.n_outputs * 16)
            )
        return out, empty

    @abstractmethod
    def _read(
        self,
        X: Matrix,
        rule: RowRule,
        readout: Readout,
        out: NDArray[Any],
        empty: NDArray[np.bool_],
        resources: Resources,
    ) -> None: ...

    def stored_bytes(self, outputs: NDArray[np.int64]) -> dict[str, int]:
        """Bytes of the numbers behind some outputs, part by part, if they were stored.

        They are drawn instead.
        """
        return {"directions": 4 * self.n_features * len(outputs)}


class Structured(Projection):
    """Blocks of signs and Hadamard transforms, never written out as a matrix.

    O(W log W) time for W outputs, W the padded width, and O(m + W) memory.

    ``kind="sorf"`` is H D H D H D, rows brought to the lengths of Gaussian vectors. "fastfood" is
    H G P H B with a permutation P and diagonals G of Gaussian numbers and B of signs: its rows are
    exactly Gaussian, but depend on each other more.
    """

    def __init__(
        self, kind: str, n_features: int, n_outputs: int, seed: int, factor: float
    ) -> None:
        super().__init__(n_features, n_outputs, seed, factor)
        if n_features > STRUCTURED_WIDTH:
            raise ValueError(
                f"projection={kind!r} goes through the whole width of a row and takes at most "
                f"{STRUCTURED_WIDTH} columns, got {n_features}: use projection='gaussian', which "
                "costs nothing for columns that are zero."
            )
        self.kind = kind
        self.width = padded_width(n_features, kind)

    def _read(
        self,
        X: Matrix,
        rule: RowRule,
        readout: Readout,
        out: NDArray[Any],
        empty: NDArray[np.bool_],
        resources: Resources,
    ) -> None:
        with self._lock:
            if self._kept is None:
                self._kept = self._drawn(resources)
        structure, lengths = self._kept
        # A row costs whole blocks of outputs.
        whole = -(-self.n_outputs // self.width) * self.width
        # a part of a second each: Ctrl-C is handled between two calls
        step = max(1, (1 << 26) // (whole * self.width.bit_length()))
        values, indices, indptr, n_cols = core_args(X)
        for begin in range(0, X.shape[0], step):
            end = min(begin + step, X.shape[0])
            rows = _core.ScaledRows(
                *rows_between(values, indices, indptr, begin, end), n_cols, *rule
            )
            readout.structured(
                rows, structure, lengths, out[begin:end], empty[begin:end], resources
            )

    def stored_bytes(self, outputs: NDArray[np.int64]) -> dict[str, int]:
        """As `Projection.stored_bytes`, for the whole blocks that hold a needed output.

        A sign takes one bit, a place of a permutation as many as the width needs.
        """
        places = len(np.unique(outputs // self.width)) * self.width
        lengths = {"lengths": 4 * len(outputs)}
        if self.kind == "sorf":
            return {"signs": -(-3 * places // 8)} | lengths
        bits_of_a_place = self.width.bit_length() - 1
        parts = {
            "signs": -(-places // 8),
            "Gaussian factors": 4 * places,
            "permutations": -(-places * bits_of_a_place // 8),
        }
        return parts | lengths

    def _drawn(self, resources: Resources) -> tuple[_core.Structure, NDArray[Any]]:
        diagonals, places, lengths = self.tables(resources)
        return _core.Structure(self.width, self.n_outputs, diagonals, places), lengths

    def tables(
        self, resources: Resources
    ) -> tuple[NDArray[np.float32], NDArray[np.int32] | None, NDArray[np.float32]]:
        """Diagonals of each block, permutations (Fastfood only), and the lengths of the outputs."""
        blocks = -(-self.n_outputs // self.width)
        lengths = np.empty(self.n_outputs, dtype=np.float32)
        # The rows of H D H D H D are sqrt(W)^3 long; those of H G P H B are sqrt(W) |G| long.
        root = math.sqrt(self.width)
        if self.kind == "sorf":
            diagonal = np.empty((blocks, 3, self.width), dtype=np.float32)
            _core.fill_three_hd(
                self.seed, diagonal, lengths, self.factor / (self.width * root), resources.threads
            )
            return diagonal, None, lengths
        diagonal = np.empty((blocks, 2, self.width), dtype=np.float32)
        places = np.empty((blocks, self.width), dtype=np.int32)
        _core.fill_fastfood(
            self.seed, diagonal, places, lengths, self.factor / root, resources.threads
        )
        return diagonal, places, lengths


class Dense(Projection):
    """Independent entries of a law, "gaussian" or "cauchy".

    The entries of a column of X depend on the number of the column alone.
    """

    #: Whether the tables of all outputs are made and cached at once, whatever their size.
    always_kept: ClassVar[bool] = False

    def __init__(self, law: str, n_features: int, n_outputs: int, seed: int, factor: float) -> None:
        super().__init__(n_features, n_outputs, seed, factor)
        self.law = law
        self.n_tiles = -(-n_outputs // _core.TILE)

    def _read(
        self,
        X: Matrix,
        rule: RowRule,
        readout: Readout,
        out: NDArray[Any],
        empty: NDArray[np.bool_],
        resources: Resources,
    ) -> None:
        scale = np.full(self.n_outputs, self.factor, dtype=np.float32)
        empty[:] = rule.empty(X)
        ids = None
        if is_sparse(X) and not self._is_kept():
            X, ids = only_used_columns(X)
        for first, tables in self._groups(ids, X.shape[1], resources):
            count = min(len(tables[0]) * _core.TILE, self.n_outputs - first)
            if isinstance(readout, FourierReadout) and readout.fuses(X, tables):
                readout.fused(X, rule, tables[0], first, count, scale, out, resources)
            else:
                self._read_group(
                    X, rule, tables, readout, (first, count, scale), out, empty, resources
                )

    def _read_group(
        self,
        X: Matrix,
        rule: RowRule,
        tables: list[NDArray[np.float32]],
        readout: Readout,
        outputs: tuple[int, int, Any],
        out: NDArray[Any],
        empty: NDArray[np.bool_],
        resources: Resources,
    ) -> None:
        """Project some rows at a time, table by table, then read the projections."""
        first, count, scale = outputs
        real = np.float64 if self.law == "cauchy" else np.float32
        values, indices, indptr, n_cols = core_args(X)
        width = len(tables[0]) * _core.TILE
        step = max(1, PROJECTED_BYTES // (width * np.dtype(real).itemsize))
        for begin in range(0, X.shape[0], step):
            end = min(begin + step, X.shape[0])
            y = np.zeros((end - begin, width), dtype=real)
            rows = _core.ScaledRows(
                *rows_between(values, indices, indptr, begin, end), n_cols, *rule
            )
            feature = 0
            for table in tables:
                _core.project_dense(rows, table, feature, y, *resources)
                feature += table.shape[1] // _core.TILE
            readout.projected(y, first, count, empty[begin:end], scale, out[begin:end], resources)

    def _is_kept(self) -> bool:
        n_bytes = 4 * _core.TILE * self.n_tiles * self.n_features
        return self.always_kept or n_bytes <= KEPT_BYTES

    def _groups(
        self, ids: NDArray[np.uint64] | None, n_used: int, resources: Resources
    ) -> Iterator[tuple[int, list[NDArray[np.float32]]]]:
        """The outputs in groups whose tables fit: (first output, tables of successive features)."""
        if ids is None and self._is_kept():
            with self._lock:
                if self._kept is None:
                    self._kept = self._whole(resources)
            yield 0, [self._kept]
            return
        ids = np.arange(n_used, dtype=np.uint64) if ids is None else ids
        per_group = max(1, CALL_BYTES // max(1, n_used * 4 * _core.TILE))
        per_table = CALL_BYTES // (4 * _core.TILE)
        for tile in range(0, self.n_tiles, per_group):
            n_tiles = min(per_group, self.n_tiles - tile)
            yield (
                tile * _core.TILE,
                [
                    self._drawn(ids[at : at + per_table], tile * _core.TILE, n_tiles, resources)
                    for at in range(0, max(1, n_used), per_table)
                ],
            )

    def _whole(self, resources: Resources) -> NDArray[np.float32]:
        """The tables of all features and outputs."""
        return self._drawn(np.arange(self.n_features, dtype=np.uint64), 0, self.n_tiles, resources)

    def directions(self, resources: Resources) -> NDArray[np.float32]:
        """The w_j as the columns of an (n_features, n_outputs) matrix."""
        tables = self._whole(resources).reshape(self.n_tiles, self.n_features, _core.TILE)
        return np.asarray(
            tables.transpose(1, 0, 2).reshape(self.n_features, -1)[:, : self.n_outputs]
        )

    def _drawn(
        self, ids: NDArray[np.uint64], first: int, n_tiles: int, resources: Resources
    ) -> NDArray[np.float32]:
        tables = np.empty((n_tiles, len(ids) * _core.TILE), dtype=np.float32)
        _core.fill_dense(self.seed, self.law == "cauchy", ids, first, tables, *resources)
        return tables


class Selected(Dense):
    """Some outputs of a dense projection, by their numbers.

    They may be in any order, and one may occur more than once.

    Where rows hold some columns of wider ones, ``columns`` says which.
    """

    def __init__(
        self,
        law: str,
        n_features: int,
        outputs: NDArray[np.int64],
        seed: int,
        factor: float,
        columns: NDArray[np.uint64] | None = None,
    ) -> None:
        super().__init__(law, n_features, len(outputs), seed, factor)
        self.outputs, self.columns = outputs, columns

    def _drawn(
        self, ids: NDArray[np.uint64], first: int, n_tiles: int, resources: Resources
    ) -> NDArray[np.float32]:
        """Tables of the selected outputs, made from one tile of all outputs at a time.

        Tiles without a selected output are never drawn.
        """
        ids = ids if self.columns is None else self.columns[ids]
        tables = np.zeros((n_tiles, len(ids), _core.TILE), dtype=np.float32)
        tile, place = np.divmod(self.outputs[first : first + n_tiles * _core.TILE], _core.TILE)
        for source in np.unique(tile):
            drawn = (
                super()._drawn(ids, int(source) * _core.TILE, 1, resources).reshape(-1, _core.TILE)
            )
            at = np.flatnonzero(tile == source)
            tables[at // _core.TILE, :, at % _core.TILE] = drawn[:, place[at]].T
        return tables.reshape(n_tiles, -1)


class JointProjection(Dense):
    """A projection whose directions depend on each other, so that all are made together."""

    always_kept = True


class Orthogonal(JointProjection):
    """Gaussian directions made orthogonal in blocks as wide as the rows (ORF).

    They have the lengths of Gaussian vectors.
    """

    def __init__(self, n_features: int, n_outputs: int, seed: int, factor: float) -> None:
        if n_features > ORTHOGONAL_WIDTH:
            raise ValueError(
                "projection='orthogonal' costs the square of the width and takes at most "
                f"{ORTHOGONAL_WIDTH} columns, got {n_features}: use "
                f"projection={instead_of_whole(n_features)!r}."
            )
        super().__init__("gaussian", n_features, n_outputs, seed, factor)
        self.width = n_features  # of a block: the directions depend on it

    def _whole(self, resources: Resources) -> NDArray[np.float32]:
        tables = np.zeros((self.n_tiles, self.n_features * _core.TILE), dtype=np.float32)
        for block in range(-(-self.n_outputs // self.n_features)):
            _core.fill_orthogonal(
                self.seed, self.n_features, self.n_outputs, block, tables, *resources
            )
        return tables


class Sobol(JointProjection):
    """Gaussian quantiles of a scrambled Sobol sequence.

    Each w_j is exactly Gaussian; together they are spread evenly.

    The scramble is Owen's: bit b of a coordinate is turned by a random bit that depends on the bits
    above it.
    """

    def __init__(self, n_features: int, n_outputs: int, seed: int, factor: float) -> None:
        if n_features > SOBOL_WIDTH:
            raise ValueError(
                f"projection='sobol' takes at most {SOBOL_WIDTH} columns (it pays for a few "
                f"dozen), got {n_features}: use projection={instead_of_whole(n_features)!r}."
            )
        super().__init__("gaussian", n_features, n_outputs, seed, factor)

    def _whole(self, resources: Resources) -> NDArray[np.float32]:
        matrix = np.zeros((self.n_features, self.n_tiles * _core.TILE), dtype=np.float32)
        matrix[:, : self.n_outputs] = sobol_normals(self.n_features, self.n_outputs, self.seed)
        return tiled(matrix)


def tiled(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """A (features, tiles * TILE) matrix as tables [tile][feature][TILE]."""
    n_features = matrix.shape[0]
    tiles = matrix.reshape(n_features, -1, _core.TILE).transpose(1, 0, 2)
    return np.ascontiguousarray(tiles).reshape(-1, n_features * _core.TILE)


def instead_of_whole(n_features: int) -> str:
    """The projection to advise where a matrix of all directions is too large."""
    return "sorf" if n_features <= WIDEST_AUTO else "gaussian"


def padded_width(n_features: int, kind: str) -> int:
    """The power of two that a structured projection pads rows to."""
    width = 1 << (n_features - 1).bit_length()
    return max(width, SHORTEST_HD) if kind == "sorf" else width


def only_used_columns(X: Matrix) -> tuple[Matrix, NDArray[np.uint64]]:
    """A CSR matrix with only the columns that occur, and their numbers."""
    end = X.indptr[-1]
    used, places = np.unique(X.indices[:end], return_inverse=True)
    narrow = type(X)(
        (X.data[:end], places.astype(X.indptr.dtype), X.indptr),
        shape=(X.shape[0], len(used)),
        copy=False,
    )
    return narrow, used.astype(np.uint64)


def rows_between(
    values: Any, indices: Any, indptr: Any, begin: int, end: int
) -> tuple[Any, Any, Any]:
    """Some rows of a matrix as the core takes them, without a copy of their values."""
    if indptr is None:
        return values[begin:end], None, None
    stored = slice(int(indptr[begin]), int(indptr[end]))
    return values[stored], indices[stored], indptr[begin : end + 1] - indptr[begin]


def fastest(n_features: int, n_outputs: int) -> str:
    """The projection that is expected to be faster, "gaussian" or "sorf", by a fixed rule.

    A dense product costs features times outputs. Blocks of Hadamard transforms cost a multiple of
    their width times its logarithm, for whole blocks. Rows wider than `WIDEST_AUTO` leave the
    cache; they are likely to be sparse, which makes a product cheap.
    """
    width = padded_width(n_features, "sorf")
    blocks = -(-n_outputs // width)
    structured = blocks * width * 1.5 * width.bit_length()
    return "sorf" if width <= WIDEST_AUTO and structured < n_features * n_outputs else "gaussian"


def check_distance(X: Matrix, factor: float) -> None:
    """Refuse rows so far from the origin that single precision loses their angle."""
    peaks = row_peaks(X)
    if not len(peaks) or float(peaks.max()) * factor * math.sqrt(X.shape[1]) <= MAX_DISTANCE:
        return
    with np.errstate(over="ignore"):  # infinitely far is too far
        scaled = X.astype(np.float64) * factor
        squares = (
            scaled.multiply(scaled).sum(axis=1)
            if is_sparse(X)
            else np.einsum("ij,ij->i", scaled, scaled)
        )
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    far = np.flatnonzero(~(lengths <= MAX_DISTANCE))
    if len(far):
        raise ValueError(
            f"Row {far[0]} is {lengths[far[0]]:.3g} sigma from the origin, too far for features in "
            f"single precision (at most {MAX_DISTANCE:g}): subtract the mean of the data first, "
            "which changes no distance, or use a larger sigma."
        )


def projection_of(
    kind: str, n_features: int, n_outputs: int, seed: int, factor: float
) -> Projection:
    """The projection of a name."""
    if kind in ("sorf", "fastfood"):
        return Structured(kind, n_features, n_outputs, seed, factor)
    if kind == "orthogonal":
        return Orthogonal(n_features, n_outputs, seed, factor)
    if kind == "sobol":
        return Sobol(n_features, n_outputs, seed, factor)
    return Dense(kind, n_features, n_outputs, seed, factor)
