"""`Codes`: what a map into codes gives, n rows of k small integers, each a one-hot block.

The arithmetic of slots is in `slots`, what may be compared in `provenance`, states and files in
`stored`, binary values in `binary`. Long because everything that can be done with codes is a method
of theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import as_slot_numbers, check_int, resources
from kernelight.base.files import FilePath
from kernelight.codes.binary import from_binary, to_binary
from kernelight.codes.provenance import (
    common_width,
    derived,
    origin_of,
    refuse_other_origin,
    slots_provenance,
)
from kernelight.codes.slots import (
    MAX_BITS,
    as_slots,
    empty_mask,
    one_hot,
    packed,
    paired,
    row_key,
    slot_dtype,
)
from kernelight.codes.stored import codes_of, save_parts, state_of
from kernelight.state import Immutable, State, read_only

CALL_PAIRS = 1 << 33  # pairs of slots that one compiled call compares, for each thread


class Codes(Immutable):
    """An immutable (n, k) array of integers below 2^bits that means k one-hot blocks for each row.

    Slot j with value c is coordinate j * 2^bits + c with value 1/sqrt(k), so that the inner product
    of two rows is their fraction of equal slots. An empty row stands for the zero vector: it has no
    coordinate at all.

    Parameters
    ----------
    array : (n, k) array of integers
        Stored as uint8 for ``bits <= 8``, else uint16. Copied if anyone could still change it.
    bits : int
        1 to 16; every value must be below ``2**bits``.
    empty : (n,) array of bool, optional
        True for empty rows, which have no features; their entries of ``array`` are set to 0.
    provenance : str
        Digest of everything that defines the codes. Codes of different provenance cannot be
        compared or stacked. Codes that are made by hand have the provenance ``""``, which meets
        only ``""``.
    n_features : int, optional
        Width of the data the codes were made of; None if unknown, which meets any width.

    Examples
    --------
    >>> from kernelight import Codes
    >>> codes = Codes([[3, 0, 1], [3, 2, 1]], bits=2)
    >>> codes
    Codes(2 rows, 3 slots of 2 bits)
    >>> codes.collisions()
    array([[3, 2],
           [2, 3]], dtype=int32)
    >>> codes.to_csr().indices.tolist()
    [3, 4, 9, 3, 6, 9]

    Slices, masks and index arrays select rows; slots and bits can be cut:

    >>> codes[:1].first(2).low_bits(1).array
    array([[1, 0]], dtype=uint8)
    """

    __slots__ = ("_array", "_bits", "_empty", "_n_features", "_provenance")
    # arithmetic with arrays is refused instead of going through an object array
    __array_ufunc__ = None
    _array: NDArray[Any]
    _bits: int
    _empty: NDArray[np.bool_] | None
    _n_features: int | None
    _provenance: str

    def __init__(
        self,
        array: Any,
        bits: int,
        *,
        empty: Any = None,
        provenance: str = "",
        n_features: int | None = None,
    ) -> None:
        bits = check_int("bits", bits, 1, MAX_BITS)
        if not isinstance(provenance, str):
            raise TypeError(f"provenance must be a string, got {provenance!r}.")
        if n_features is not None:
            n_features = check_int("n_features", n_features, 0)
        slots = as_slots(array, bits)
        mask = empty_mask(empty, len(slots))
        if mask is not None and slots[mask].any():
            slots = np.where(mask[:, None], slots.dtype.type(0), slots)
        self._fill(slots, bits, mask, provenance, n_features)

    def _fill(
        self,
        array: NDArray[Any],
        bits: int,
        empty: NDArray[np.bool_] | None,
        provenance: str,
        n_features: int | None,
    ) -> None:
        self._set(
            _array=read_only(np.ascontiguousarray(array)),
            _bits=bits,
            _empty=read_only(np.ascontiguousarray(empty))
            if empty is not None and empty.any()
            else None,
            _provenance=provenance,
            _n_features=n_features,
        )

    @classmethod
    def _adopt(
        cls,
        array: NDArray[Any],
        bits: int,
        *,
        empty: NDArray[np.bool_] | None = None,
        provenance: str = "",
        n_features: int | None = None,
    ) -> Codes:
        """Codes of a fresh C-ordered array that nobody else holds: no copy, no check.

        The array must have the right dtype. Values must be below 2^bits, and 0 in empty rows.
        """
        codes = cls.__new__(cls)
        codes._fill(array, bits, empty, provenance, n_features)
        return codes

    def _like(self, array: NDArray[Any], **changes: Any) -> Codes:
        """Fresh codes of ``array``, with everything that is not in ``changes`` as here."""
        kept = {"bits": self._bits, "empty": self._empty, "provenance": self._provenance}
        return Codes._adopt(array, **{**kept, "n_features": self._n_features, **changes})

    @property
    def array(self) -> NDArray[Any]:
        """The (n, k) integers, read-only; rows of zeros where `empty`."""
        return self._array

    @property
    def bits(self) -> int:
        """Every value is below ``2**bits``."""
        return self._bits

    @property
    def empty(self) -> NDArray[np.bool_]:
        """For each row, whether it is empty: it stands for the zero vector. Read-only."""
        return (
            read_only(np.zeros(len(self), dtype=np.bool_)) if self._empty is None else self._empty
        )

    @property
    def has_empty(self) -> bool:
        """Whether any row is empty."""
        return self._empty is not None

    @property
    def provenance(self) -> str:
        """Digest of everything that defines the codes; ``""`` if made by hand."""
        return self._provenance

    @property
    def n_features(self) -> int | None:
        """Width of the data the codes were made of, if known."""
        return self._n_features

    @property
    def n_components(self) -> int:
        """Number of slots k."""
        return int(self._array.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, slots)."""
        return len(self), self.n_components

    @property
    def ndim(self) -> int:
        """2, as for any matrix of samples."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8 or uint16."""
        return self._array.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the integers and of the mask of empty rows."""
        return self._array.nbytes + (0 if self._empty is None else self._empty.nbytes)

    @property
    def packed(self) -> NDArray[np.uint64]:
        """The slots packed into words, (n, words) of uint64; computed at each access.

        A slot takes w = 1, 2, 4, 8 or 16 bits, the fewest that hold ``bits``. With m = 64 // w
        slots to a word, slot s is in word ``s // m`` at bit ``(s % m) * w``: lowest bits first.
        Unused bits are 0.

        >>> from kernelight import Codes
        >>> [hex(word) for word in Codes([[1, 2, 3, 15]], bits=4).packed[0]]
        ['0xf321']
        """
        return read_only(packed(self._array, self._bits))

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        origin = f", provenance={self._provenance[:12]!r}" if self._provenance else ""
        n, k = self.shape
        of_bits = f"{self._bits} bit{'s' * (self._bits != 1)}"
        return f"Codes({n} row{'s' * (n != 1)}, {k} slot{'s' * (k != 1)} of {of_bits}{origin})"

    def __eq__(self, other: object) -> bool:
        """Whether everything is the same: rows, empty rows, bits, provenance and width."""
        if not isinstance(other, Codes):
            return NotImplemented
        return (
            (self._bits, self._provenance, self._n_features)
            == (other._bits, other._provenance, other._n_features)
            and np.array_equal(self._array, other._array)
            and np.array_equal(self.empty, other.empty)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self._bits, self._provenance))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Codes are not numbers: use codes.array for the integers or codes.to_csr() for the "
            "features."
        )

    def __getitem__(self, key: Any) -> Codes:
        """Rows by slice, boolean mask, index array, or a single index (which gives one row)."""
        rows = row_key(key, len(self))
        empty = None if self._empty is None else self._empty[rows]
        return self._like(self._array[rows], empty=empty)

    def __iter__(self) -> Iterator[Codes]:
        """One row of codes after the other."""
        return (self[row] for row in range(len(self)))

    def first(self, n_components: int) -> Codes:
        """The first slots only.

        They have the same provenance, because a slot does not depend on later ones.

        >>> from kernelight import Codes
        >>> Codes([[1, 2, 3]], bits=2).first(2).array
        array([[1, 2]], dtype=uint8)
        """
        n_components = check_int("n_components", n_components, 1, self.n_components)
        return self._like(self._array[:, :n_components])

    def take_slots(self, slots: Any) -> Codes:
        """Some slots, by their ascending numbers.

        They have a provenance of their own, because a slot now stands for another projection. It is
        the provenance of a map that keeps the same slots (`BinaryFourier.keep`).

        >>> from kernelight import Codes
        >>> Codes([[1, 2, 3]], bits=2).take_slots([0, 2]).array
        array([[1, 3]], dtype=uint8)
        """
        numbers = as_slot_numbers(slots, self.n_components)
        return self._like(
            self._array[:, numbers], provenance=slots_provenance(self._provenance, numbers)
        )

    def low_bits(self, bits: int) -> Codes:
        """The lowest ``bits`` of each slot.

        They have the same provenance, because they are what a run of fewer bits gives.

        >>> from kernelight import Codes
        >>> Codes([[1, 2, 3]], bits=2).low_bits(1).array
        array([[1, 0, 1]], dtype=uint8)
        """
        bits = check_int("bits", bits, 1, self._bits)
        if bits == self._bits:
            return self
        low = np.empty(self.shape, dtype=slot_dtype(bits))
        np.bitwise_and(self._array, (1 << bits) - 1, out=low, casting="unsafe")
        return self._like(low, bits=bits)

    def __or__(self, other: Codes) -> Codes:
        """The slots of both, side by side: their kernel is the mean of both, weighted by slots.

        Both need the same bits, rows and empty rows: codes cannot say that a row is empty on one
        side only.

        >>> from kernelight import Codes
        >>> (Codes([[1, 2]], bits=2) | Codes([[3]], bits=2)).array
        array([[1, 2, 3]], dtype=uint8)
        """
        if not isinstance(other, Codes):
            return NotImplemented
        _refuse_different_rows(self, other, "|")
        if self._bits != other._bits:
            raise ValueError(
                f"codes | other needs equal bits, got {self._bits} and {other._bits}: "
                f"cut the wider one with low_bits({min(self._bits, other._bits)})."
            )
        half = np.flatnonzero(self.empty != other.empty)
        if len(half):
            raise ValueError(
                f"codes | other needs the same empty rows, but row {half[0]} is empty on one side "
                "only: drop such rows or stack the features, scipy.sparse.hstack of both to_csr()."
            )
        # The layout depends on how many slots the left side has. Bits, and slots of the right side,
        # can be cut later with the same result, so they are not part of the provenance.
        return self._like(
            np.concatenate([self._array, other._array], axis=1),
            provenance=derived("|", [*origin_of(self), self.n_components], origin_of(other)),
            n_features=common_width(self._n_features, other._n_features),
        )

    def __and__(self, other: Codes) -> Codes:
        """Slots paired: ``value << other.bits | other's value``.

        A pair is equal when both its slots are, so the expected fraction of equal slots is the
        product of both kernels if their maps draw independently (other classes or other seeds;
        ``codes & codes`` is as equal as ``codes``). Rows that are empty on either side are empty.

        >>> from kernelight import Codes
        >>> (Codes([[1, 2]], bits=2) & Codes([[3, 0]], bits=2)).array
        array([[7, 8]], dtype=uint8)
        """
        if not isinstance(other, Codes):
            return NotImplemented
        _refuse_different_rows(self, other, "&")
        if self.n_components != other.n_components:
            few = min(self.n_components, other.n_components)
            raise ValueError(
                f"codes & other needs equally many slots, got {self.n_components} and "
                f"{other.n_components}: cut the longer one with first({few})."
            )
        bits = self._bits + other._bits
        if bits > MAX_BITS:
            raise ValueError(
                f"codes & other would need {self._bits} + {other._bits} = {bits} bits, more than "
                f"{MAX_BITS}: cut one or both with low_bits."
            )
        pairs = paired(self._array, other._array, other._bits, bits)
        empty = self.empty | other.empty
        pairs[empty] = 0
        # Slots, and bits of the left side, can be cut later with the same result, so they are not
        # part of the provenance.
        return self._like(
            pairs,
            bits=bits,
            empty=empty,
            provenance=derived("&", origin_of(self), [*origin_of(other), other._bits]),
            n_features=common_width(self._n_features, other._n_features),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Codes]) -> Codes:
        """Rows of several codes of the same provenance, one below the other.

        >>> from kernelight import Codes
        >>> len(Codes.concatenate([Codes([[1, 2]], bits=2), Codes([[0, 3], [1, 1]], bits=2)]))
        3
        """
        parts = list(parts)
        if not parts:
            raise ValueError("Codes.concatenate needs at least one part.")
        for part in parts:
            refuse_other_origin(parts[0], part, "stacked")
        return parts[0]._like(
            np.concatenate([part._array for part in parts]),
            empty=np.concatenate([part.empty for part in parts]),
            n_features=common_width(*(part._n_features for part in parts)),
        )

    def collisions(
        self, other: Codes | None = None, *, n_jobs: int | None = None
    ) -> NDArray[np.int32]:
        """The (n, m) numbers of equal slots of each row here and each row of ``other``.

        They are 0 for empty rows. Divided by `n_components` it is the inner product of the
        features. ``other=None`` means these codes.

        >>> from kernelight import Codes
        >>> Codes([[1, 2, 3]], bits=2).collisions(Codes([[1, 0, 3], [0, 0, 0]], bits=2))
        array([[2, 0]], dtype=int32)
        """
        other = self if other is None else other
        refuse_other_origin(self, other, "compared")
        counts = np.empty((len(self), len(other)), dtype=np.int32)
        use = resources(n_jobs)
        step = max(64 * use.threads, CALL_PAIRS * use.threads // max(1, other._array.size))
        for begin in range(0, len(self), step):  # Ctrl-C is handled between two calls
            rows = slice(begin, begin + step)
            empty = None if self._empty is None else self._empty[rows]
            _core.codes_collisions(
                self._array[rows], empty, other._array, other._empty, counts[rows], *use
            )
        return counts

    def to_csr(self, *, array: bool = False) -> Any:
        """The features: an (n, k * 2^bits) float32 CSR matrix.

        A row has k entries, 1/sqrt(k) each; an empty row has none. Indices are int32 where they fit
        (scikit-learn's liblinear refuses int64). ``array=True`` gives a ``scipy.sparse.csr_array``
        instead of a ``csr_matrix``.

        >>> from kernelight import Codes
        >>> Codes([[1, 0, 0, 1]], bits=1).to_csr().toarray()
        array([[0. , 0.5, 0.5, 0. , 0.5, 0. , 0. , 0.5]], dtype=float32)
        """
        k = self.n_components
        values = np.full(k, 1 / np.sqrt(k), dtype=np.float32)
        return one_hot(self._array, self._bits, self._empty, values, array=array)

    def to_state(self) -> State:
        """Plain data; slots of 1, 2 and 4 bits are packed where that is smaller."""
        return state_of(self)

    @classmethod
    def from_state(cls, state: State) -> Codes:
        """The codes of a state; everything in it is checked.

        >>> from kernelight import Codes
        >>> codes = Codes([[1, 2]], bits=2)
        >>> Codes.from_state(codes.to_state()) == codes
        True
        """
        return cls._from_state(state, "This state")

    @classmethod
    def _from_state(cls, state: State, where: str) -> Codes:
        """`from_state`, of a state that errors call ``where``."""
        return codes_of(cls, state, where)

    def save(self, path: FilePath) -> None:
        """Write the codes to a file, all or nothing.

        >>> import os, tempfile
        >>> from kernelight import Codes
        >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
        >>> codes = Codes([[1, 2]], bits=2)
        >>> codes.save(path)
        >>> Codes.load(path) == codes
        True
        """
        self.to_state().save(path)

    @classmethod
    def save_parts(cls, path: FilePath, parts: Iterable[Codes]) -> int:
        """Write the file of ``Codes.concatenate(parts)`` with one part in memory; returns the rows.

        While it is being written, there is a temporary file of the same size beside it.

        >>> import os, tempfile
        >>> from kernelight import Codes
        >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
        >>> Codes.save_parts(path, (Codes([[1, 2], [row, 3]], bits=2) for row in range(3)))
        6
        >>> len(Codes.load(path))
        6
        """
        return save_parts(path, parts)

    @classmethod
    def load(cls, path: FilePath) -> Codes:
        """The codes in a file; a file of anything else is a ValueError that says what it is."""
        return cls._from_state(State.load(path), os.fsdecode(path))

    def to_binary(self) -> Any:
        """One binary value for each row, as an Arrow array: a column for Parquet, Spark and so on.

        A value is a tag of 8 bytes, which says bits, provenance and whether the row is empty, and
        then the slots. So values of different maps can be told apart wherever they meet. Needs
        pyarrow.

        >>> from kernelight import Codes
        >>> codes = Codes([[1, 2], [3, 0]], bits=2)
        >>> [value.as_py().hex() for value in codes.to_binary()]
        ['01020000000000000102', '01020000000000000300']
        """
        return to_binary(self)

    @classmethod
    def from_binary(
        cls, values: Any, *, provenance: str | None = None, n_features: int | None = None
    ) -> Codes:
        """The codes of binary values, such as a column that `to_binary` has made.

        Parameters
        ----------
        values : Arrow array or chunked array of binary values, or a list of bytes
            Nulls, and values of several maps, are refused.
        provenance : str, optional
            What the codes must come from, such as ``map.provenance``: other ones are refused, and
            these can be compared with codes of that map. A value has only the first 12 digits of
            its provenance, which the codes have without this.
        n_features : int, optional
            Width of the data the codes were made of, which values do not say.

        Examples
        --------
        >>> from kernelight import Codes
        >>> codes = Codes([[1, 2], [3, 0]], bits=2)
        >>> Codes.from_binary(codes.to_binary()) == codes
        True
        """
        return from_binary(cls, values, provenance, n_features)

    def __reduce__(self) -> tuple[Any, ...]:
        return Codes.from_state, (self.to_state(),)


def _refuse_different_rows(left: Codes, right: Codes, operation: str) -> None:
    if len(left) != len(right):
        raise ValueError(
            f"codes {operation} other needs the same rows on both sides, got {len(left)} and "
            f"{len(right)}."
        )
