"""GCWS: the generalized min-max kernel hashed to short codes."""

from __future__ import annotations

from operator import is_
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight.base import checks
from kernelight.base.checks import Matrix, as_matrix
from kernelight.codes import Codes, Winners
from kernelight.kernels import GMM, NGMM, ExpGMM, Intersection, MinMax
from kernelight.kernels.base import Kernel
from kernelight.maps.base import CodeMap
from kernelight.maps.minmax.cws_sampler import CwsSampler
from kernelight.maps.minmax.dart_sampler import DartSampler
from kernelight.maps.minmax.sampler_rule import choose_sampler, row_facts
from kernelight.maps.minmax.scheme import (
    MinMaxScheme,
    Settled,
    check_center,
    identity,
    minmax_scheme,
)
from kernelight.theory import bbit_collision, kernel_from_bbit


class GCWS(CodeMap):
    r"""Generalized consistent weighted sampling: codes that agree in a slot with probability GMM.

    A row is split by sign and sampled ``n_components`` times; each sample (i*, t*) is hashed to
    ``bits`` bits. Two rows agree in a slot with probability

    .. math:: P = K + (1 - K) / 2^{bits},

    K their (tunable, exponentiated) generalized min-max kernel, so that a linear model on
    ``transform(X)`` works with it.

    Parameters
    ----------
    n_components : int, default=1024
        Slots, the papers' k. The standard deviation of an inner product is sqrt(P(1-P)/k).
    bits : int, default=8
        Bits of a code, 1 to 16: the one-hot matrix has ``n_components * 2**bits`` columns.
    t_bits : int or None, default=None
        None hashes the whole sample (i*, t*). 0, 1, 2 keep that many bits of t*; 0 is the papers'
        "0-bit" scheme, which is not the GMM kernel in low dimension or for rows of different scale
        (``theory_gap`` says more).
    coding : {"mixed", "lowest"}, default="mixed"
        "lowest" keeps the lowest bits of i*, as the papers do (needs ``t_bits=0``). It has two
        defects: for nonnegative data the lowest bit is constant, so b bits act as b - 1; and
        features whose numbers agree modulo 2^bits always collide.
    p : float, default=1.0
        The power of tunable GMM, at most 1000; costs nothing. p log u and what follows from it are
        held in single precision, which acts like a relative error of the weights u^p of the order
        of 1e-7 |p log u|; "exact" is meant up to that.
    gamma : float or None, default=None
        None aims at K itself. A number aims at the exponentiated kernel exp(-gamma (1 - K)),
        `ExpGMM`, exactly: slot j folds M_j ~ Poisson(gamma) independent samples into its code. It
        costs gamma times the hashing (``gamma * n_components`` base hashes a row, at most 2^22),
        and goes with neither ``normalize`` nor ``center``.
    normalize : {None, "l1"}, default=None
        "l1" divides each row by its absolute sum, which gives the NGMM kernel.
    center : array-like or None, default=None
        Subtracted from dense rows before their signs are split.
    sampler : {"auto", "cws", "dart"}, default="auto"
        Both are exact. "cws" costs nonzeros times slots; "dart" costs little more for long rows
        than for short ones. "auto" decides at ``fit`` by a fixed rule of the data.
    random_state : int, RandomState, Generator or None, default=0
        An int defines the codes, on every machine.
    n_jobs : int or None, default=None
        Threads; None means all cores. Codes do not depend on it.

    Attributes
    ----------
    sampler_ : str
        "cws" or "dart".
    scale_ : float
        The one scale of the dart sampler, a power of two (1.0 for cws).
    seed_ : int
        The seed that ``random_state`` stood for.

    See Also
    --------
    kernelight.hashing.gcws : The same codes without a fit.
    kernelight.kernels.GMM : The kernel.
    RandomFourier : Features of RBF kernels.
    kernelight.theory.components_needed : How many slots an error takes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS
    >>> X = np.array([[2.0, -1.0, 3.0], [1.0, -2.0, 3.0]])
    >>> gcws = GCWS(n_components=4096).fit(X)
    >>> codes = gcws.encode(X)
    >>> codes.shape
    (2, 4096)
    >>> float(gcws.kernel(X)[0, 1].round(3)), float(gcws.similarity(codes)[0, 1].round(2))
    (0.714, 0.71)

    The exponentiated kernel exp(-3 (1 - K)):

    >>> sharp = GCWS(n_components=4096, gamma=3.0).fit(X)
    >>> estimate = sharp.similarity(sharp.encode(X))
    >>> float(sharp.kernel(X)[0, 1].round(3)), float(estimate[0, 1].round(2))
    (0.424, 0.43)
    """

    _decided: ClassVar[tuple[str, ...]] = ("sampler_", "scale_", "seed_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        bits: int = 8,
        t_bits: int | None = None,
        coding: str = "mixed",
        p: float = 1.0,
        gamma: float | None = None,
        normalize: str | None = None,
        center: Any = None,
        sampler: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bits = bits
        self.t_bits = t_bits
        self.coding = coding
        self.p = p
        self.gamma = gamma
        self.normalize = normalize
        self.center = center
        self.sampler = sampler
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> GCWS:
        """For `GMM`, `MinMax` (the same on nonnegative rows), `NGMM` and `ExpGMM`."""
        decided: dict[str, Any] = {"n_components": n_components}
        if isinstance(kernel, GMM):
            decided |= {"p": kernel.p, "center": kernel.center}
        elif isinstance(kernel, ExpGMM):
            decided |= {"gamma": kernel.gamma, "p": kernel.p}
        elif isinstance(kernel, NGMM):
            decided |= {"normalize": "l1"}
        elif not isinstance(kernel, MinMax):
            return super().for_kernel(kernel, n_components, **options)
        return cls._configured(kernel, decided, options)

    @property
    def has_prefix(self) -> bool:
        """True for cws; the slots of the dart sampler depend on their number."""
        return getattr(self, "sampler_", self.sampler) == "cws"

    def _fit(self, X: Any, y: Any) -> None:
        """Check the parameters, and read the rows once to choose sampler and scale.

        ``y`` is ignored.
        """
        X = self._validated(X, reset=True)
        self.seed_ = checks.seed_of(self.random_state)
        scheme = self._scheme(self.sampler)
        check_center(X, scheme)
        self.sampler_, self.scale_ = self.sampler, 1.0
        if self.sampler != "cws":
            facts = row_facts(X, scheme, checks.resources(self.n_jobs))
            self.sampler_ = choose_sampler(facts, scheme) if self.sampler == "auto" else "dart"
            self.scale_ = facts.scale if self.sampler_ == "dart" else 1.0
        self._settle()

    def _settle(self) -> None:
        checks.check_choice("sampler_", self.sampler_, ("cws", "dart"))
        checks.check_positive("scale_", self.scale_)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)  # a state may hold anything
        scheme = self._scheme(self.sampler_)
        self._sampler = (
            CwsSampler(scheme) if self.sampler_ == "cws" else DartSampler(scheme, self.scale_)
        )

    def _scheme(self, sampler: str) -> MinMaxScheme:
        """The parameters, checked one by one and together with the sampler."""
        return minmax_scheme(
            self.n_components,
            bits=self.bits,
            t_bits=self.t_bits,
            coding=self.coding,
            p=self.p,
            gamma=self.gamma,
            normalize=self.normalize,
            center=self.center,
            sampler=sampler,
            seed=self.seed_,
        )

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        return self._sampled(X, None)

    def _sampled(
        self, X: Matrix, winners: NDArray[np.int64] | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        self._resettle()
        scheme = self._sampler.scheme
        check_center(X, scheme)
        codes, empty = self._sampler.encode(X, checks.resources(self.n_jobs), winners)
        return codes, empty, scheme.bits

    @property
    def has_winners(self) -> bool:
        """True: a slot is won by one feature, or with a ``gamma`` by that of each base sample."""
        return True

    @property
    def n_winners(self) -> int:
        """The base samples of a row: one for each slot, or with a ``gamma`` as many as drawn."""
        self._resettle()
        return int(self._sampler.slots.starts[-1])

    def _encode_with_winners(
        self, X: Matrix
    ) -> tuple[NDArray[Any], NDArray[np.bool_], int, Winners]:
        self._resettle()
        slots = self._sampler.slots
        features = np.full((X.shape[0], slots.starts[-1]), -1, dtype=np.int64)
        codes, empty, bits = self._sampled(X, features)
        return codes, empty, bits, Winners(features, slots.starts)

    def _resettle(self) -> Settled:
        """Make the sampler again if parameters were changed after fit; what it was made of.

        Objects that are the same ones as at the last look need no check. A centre may be an array,
        whose numbers can change.
        """
        settled = self._sampler.settled
        parameters = (
            *(self.n_components, self.bits, self.t_bits, self.coding, self.p, self.gamma),
            *(self.normalize, self.sampler_, self.scale_, self.seed_),
        )
        if settled is not None and all(map(is_, parameters, settled.parameters)):
            return settled
        if self._scheme(self.sampler_) != self._sampler.scheme:
            self._settle()
        settled = Settled(parameters, super().provenance)
        if self.center is None:
            self._sampler.settled = settled
        return settled

    @property
    def provenance(self) -> str:
        """A digest of everything that defines a code.

        That is the class, parameters, seed, decisions of ``fit`` and the algorithm version.
        """
        self._check_fitted()
        return self._resettle().provenance

    def _identity(self) -> dict[str, Any]:
        return identity(self._scheme(self.sampler_), self.sampler_, self.scale_)

    @property
    def kernel(self) -> Kernel:
        """`GMM` with this ``p`` and ``center``, or `NGMM`; `ExpGMM` where there is a ``gamma``."""
        if self.gamma is not None:
            return ExpGMM(gamma=self.gamma, p=self.p)
        if self.normalize == "l1":
            return NGMM()
        return GMM(
            p=self.p,
            center=None if self.center is None else tuple(np.asarray(self.center).tolist()),
        )

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: partial t* or the lowest bits of i*; else None."""
        if self.coding == "lowest":
            return (
                "coding='lowest' collides by the structure of the features: no closed form; use "
                "coding='mixed'."
            )
        if self.t_bits is not None:
            return (
                f"t_bits={self.t_bits} drops part of t*: the collision probability is not the "
                "kernel and has no closed form; expected_bounds gives bounds, t_bits=None makes it "
                "exact."
            )
        return None

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        return filled * bbit_collision(K, self.bits)

    def expected_bounds(
        self, X: Any, Y: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of what the inner products average to, for any ``t_bits``.

        They need ``coding="mixed"`` and p = 1.

        Dropping bits of t* can only add collisions, and never more than those of the L1-normalised
        rows: K <= P <= sum min(u/|u|_1, v/|v|_1). Both bounds then go through exp(-gamma (1 - P))
        where there is a gamma, and through b bits.
        """
        if self.coding != "mixed" or self.p != 1.0:
            raise ValueError("expected_bounds are known for coding='mixed' and p=1 only.")
        K, filled = self._exact_pairs(X, Y)
        upper = K if self.t_bits is None else self._overlap(X, Y)
        return self._expected(K, filled), self._expected(np.maximum(K, upper), filled)

    def _overlap(self, X: Any, Y: Any) -> NDArray[np.float64]:
        rows = [
            None if M is None else self.kernel.prepare(as_matrix(M).astype(np.float64))
            for M in (X, Y)
        ]
        overlap = np.asarray(Intersection()(*rows), dtype=np.float64)
        return overlap if self.gamma is None else np.exp(-self.gamma * (1.0 - overlap))

    def similarity(self, codes_a: Codes, codes_b: Codes | None = None) -> NDArray[np.float64]:
        """The kernel estimated from codes: (P - 2^-b) / (1 - 2^-b), P the fraction of equal slots.

        It is 0 for empty rows. Unbiased where ``theory_gap`` is None. Codes must come from a map
        like this one.
        """
        codes_b = codes_a if codes_b is None else codes_b
        self._refuse_foreign(codes_a, codes_b)
        P = codes_a.collisions(codes_b, n_jobs=self.n_jobs) / codes_a.n_components
        either_empty = np.logical_or.outer(codes_a.empty, codes_b.empty)
        return np.where(either_empty, 0.0, kernel_from_bbit(P, codes_a.bits))
