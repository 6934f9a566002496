"""Maps into codes of one bit: a random projection, of which a sign or a comparison is read."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelight.base.checks import Matrix, as_slot_numbers, check_learned, resources
from kernelight.codes import Codes, slots_provenance
from kernelight.maps.base import CodeMap
from kernelight.maps.projections.projection import Projection, Selected, projection_of
from kernelight.maps.projections.readouts import BitReadout, RowRule
from kernelight.state import State

Bits = TypeVar("Bits", bound="OneBitMap")


class OneBitMap(CodeMap):
    """A map into codes of one bit a slot, equal with the expected probability."""

    #: Which of the ``n_components`` slots this map gives, where `keep` left some out; else None.
    slots_: NDArray[np.int64] | None = None
    _projection: Projection

    @abstractmethod
    def _independent(self) -> bool:
        """Whether slots are independent of each other."""

    @property
    def has_prefix(self) -> bool:
        """True unless only some slots are kept: a projection is a function of its number alone."""
        return self.slots_ is None

    def keep(self: Bits, slots: Any) -> Bits:
        """A fitted map that gives only some slots, by their ascending numbers.

        Its codes are equal to ``encode(X).take_slots(slots)``.

        Dense projections compute no others; structured ones compute those before the last kept one,
        and drop them.

        >>> from kernelight import BinaryFourier
        >>> X = [[1.0, 2.0], [3.0, 0.0]]
        >>> binary = BinaryFourier(64).fit(X)
        >>> binary.keep([3, 10]).encode(X) == binary.encode(X).take_slots([3, 10])
        True
        """
        check_is_fitted(self)
        if self.slots_ is not None:
            raise ValueError(
                "This map keeps some slots already: call keep of the map that gives all of them."
            )
        kept = copy(self)
        kept.slots_ = as_slot_numbers(slots, int(self.n_components))
        kept._settle()
        return kept

    def memory(self) -> dict[str, dict[str, int]]:
        """Bytes of what this map is made of, part by part.

        "stored" counts all numbers of its projections, "regenerated" the seed that they are
        functions of.

        >>> from kernelight import SignProjection
        >>> SignProjection(256, projection="gaussian").fit([[1.0, 2.0]]).memory()
        {'stored': {'directions': 2048}, 'regenerated': {'seed': 8}}
        """
        check_is_fitted(self)
        everything = np.arange(int(self.n_components))
        outputs = everything if self.slots_ is None else self.slots_
        seed = {"seed": 8} | ({"bandwidth": 8} if hasattr(self, "bandwidth_") else {})
        if self.slots_ is not None:
            seed["numbers of slots"] = min(4 * len(outputs), -(-len(everything) // 8))
        stored = self._projection.stored_bytes(outputs) | self._readout_bytes(len(outputs))
        return {"stored": stored, "regenerated": seed}

    @abstractmethod
    def _readout_bytes(self, count: int) -> dict[str, int]:
        """Bytes of the numbers that ``count`` bits are read with."""

    @property
    def provenance(self) -> str:
        """A digest of everything that defines a code.

        Where some slots are kept, it is that of `Codes.take_slots`.
        """
        whole = super().provenance
        return whole if self.slots_ is None else slots_provenance(whole, self.slots_)

    def _n_slots(self) -> int:
        return int(self.n_components) if self.slots_ is None else len(self.slots_)

    def _n_drawn(self) -> int:
        """The number of slots up to the last one in use, for which random numbers are drawn."""
        return int(self.n_components) if self.slots_ is None else int(self.slots_[-1]) + 1

    def _made_projection(self, kind: str, factor: float) -> Projection:
        """The projection of a name onto the slots in use, or onto all up to the last of them."""
        if self.slots_ is None:
            return projection_of(
                kind, self.n_features_in_, int(self.n_components), self.seed_, factor
            )
        check_learned("slots_", self.slots_, ("int64",), 1)
        self.slots_ = as_slot_numbers(self.slots_, int(self.n_components))
        if kind in ("gaussian", "cauchy"):
            return Selected(kind, self.n_features_in_, self.slots_, self.seed_, factor)
        return projection_of(kind, self.n_features_in_, self._n_drawn(), self.seed_, factor)

    def _read(
        self, X: Matrix, rule: RowRule, readout: BitReadout
    ) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        """Codes of the slots in use, which rows are empty, and the bits of a code.

        ``readout`` is for `_n_drawn` slots.
        """
        use = resources(self.n_jobs)
        if isinstance(self._projection, Selected):
            readout = readout.only(self._projection.outputs)
        codes, empty = self._projection.read(X, rule, readout, use)
        if codes.shape[1] != self._n_slots():
            codes = np.ascontiguousarray(codes[:, self.slots_])
        return codes, empty, 1

    def _state(self) -> State:
        state = super()._state()
        return (
            state
            if self.slots_ is None
            else State(state.meta, {**state.arrays, "slots_": self.slots_})
        )

    def _take_parts(self, state: State) -> None:
        self.slots_ = state.arrays.get("slots_")

    @property
    def variance_gap(self) -> str | None:
        """Why ``variance`` is not known exactly: slots that depend on each other; else None."""
        if self.theory_gap is None and not self._independent():
            kind = getattr(self, "projection_", self.projection)
            return (
                f"projection={kind!r} makes slots that depend on each other: no closed form; "
                "'gaussian' has one."
            )
        return self.theory_gap

    def _equal_fraction(self, codes_a: Codes, codes_b: Codes | None) -> NDArray[np.float64]:
        """The fraction of equal slots of codes that this map made; 0 for empty rows."""
        codes_b = codes_a if codes_b is None else codes_b
        self._refuse_foreign(codes_a, codes_b)
        return np.asarray(codes_a.collisions(codes_b, n_jobs=self.n_jobs) / codes_a.n_components)
