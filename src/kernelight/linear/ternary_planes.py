"""Ternary coefficients as two bit planes of packed words, and scores by popcount."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import check_learned, resources
from kernelight.codes.slots import n_words, packed, unpacked


@dataclass(frozen=True)
class TernaryPlanes:
    """The coefficients of all classes: ``plus`` marks +1, ``used`` marks +1 and -1.

    Bits are packed as `Codes.packed` packs slots.
    """

    plus: NDArray[np.uint64]  # (classes, words)
    used: NDArray[np.uint64]
    n_slots: int

    @classmethod
    def of(cls, coefficients: NDArray[np.int8]) -> TernaryPlanes:
        """The planes of coefficients -1, 0 and 1, (classes, slots)."""
        plus, used = (coefficients > 0).astype(np.uint8), (coefficients != 0).astype(np.uint8)
        return cls(packed(plus, 1), packed(used, 1), coefficients.shape[1])

    def check(self, n_classes: int) -> None:
        """Refuse planes that are not those of coefficients."""
        for name, plane in (("plus_", self.plus), ("used_", self.used)):
            check_learned(name, plane, ("uint64",), 2)
            if plane.shape != (n_classes, n_words(self.n_slots, 1)):
                raise ValueError(
                    f"{name} has the shape {plane.shape}, not that of {n_classes} rows of "
                    f"{self.n_slots} bits."
                )
        beyond = self.n_slots % 64
        if (self.plus & ~self.used).any() or (
            beyond and (self.used[:, -1] >> np.uint64(beyond)).any()
        ):
            raise ValueError("plus_ and used_ must be bits of coefficients -1, 0 and 1.")

    @property
    def coefficients(self) -> NDArray[np.int8]:
        """The coefficients -1, 0 and 1, (classes, slots)."""
        plus, used = unpacked(self.plus, self.n_slots, 1), unpacked(self.used, self.n_slots, 1)
        return 2 * plus.astype(np.int8) - used.astype(np.int8)

    @cached_property
    def nonzeros(self) -> NDArray[np.int32]:
        """How many coefficients of each class are not 0."""
        return np.asarray(np.bitwise_count(self.used).sum(axis=1), dtype=np.int32)

    @property
    def five_to_a_byte(self) -> int:
        """Bytes of the same coefficients with 5 in each byte (3^5 = 243), which is still simple."""
        return len(self.plus) * -(-self.n_slots // 5)

    def scores(
        self,
        words: NDArray[np.uint64],
        scale: NDArray[np.float64],
        bias: NDArray[np.float64],
        n_jobs: int | None,
    ) -> NDArray[np.float64]:
        """scale * (w . z) + bias for packed rows of bits z, (rows, classes)."""
        out = np.empty((len(words), len(self.plus)))
        use = resources(n_jobs).for_work(8 * words.size * len(self.plus))
        _core.ternary_scores(
            words, self.plus, self.used, self.nonzeros, scale, bias, out, use.threads, use.simd
        )
        return out
