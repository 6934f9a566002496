"""Min-max hashing as a function: no fit, no limit on the features.

>>> from kernelight import hashing
>>> codes = hashing.gcws([[2.0, -1.0, 3.0]], n_components=8, bits=4)
>>> codes.shape, codes.bits
((1, 8), 4)
"""

from __future__ import annotations

from typing import Any

from kernelight.base.checks import as_matrix, check_choice, check_positive, resources, seed_of
from kernelight.codes import Codes, provenance_of
from kernelight.maps.minmax.cws_sampler import CwsSampler
from kernelight.maps.minmax.dart_sampler import DartSampler
from kernelight.maps.minmax.scheme import check_center, identity, minmax_scheme

__all__ = ["gcws"]


def gcws(
    X: Any,
    n_components: int = 1024,
    *,
    bits: int = 8,
    t_bits: int | None = None,
    coding: str = "mixed",
    p: float = 1.0,
    gamma: float | None = None,
    normalize: str | None = None,
    center: Any = None,
    sampler: str = "cws",
    scale: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Codes:
    """Codes of the rows of ``X``: those of a fitted `GCWS` with the same parameters.

    Sampler and scale must be the same, too. A column is its number, however large: rows of growing
    width keep their codes, and a sparse matrix may have more columns than would ever fit in memory.
    ``sampler="dart"`` needs a ``scale`` that all data share (about 1 / a typical row sum); there is
    no "auto", because codes must not depend on the batch. A ``gamma`` gives codes of the
    exponentiated kernel.

    Parameters
    ----------
    X : {array_like, sparse matrix}
        The rows; a sparse matrix may have any number of columns.
    n_components : int, default=1024
        Slots of a code.
    bits : int, default=8
        Bits of a slot, 1 to 16.
    t_bits : int or None, default=None
        How much of t* is hashed; None is all. See `GCWS`.
    coding : {"mixed", "lowest"}, default="mixed"
        How a sample becomes bits. See `GCWS`.
    p : float, default=1.0
        The power of the kernel.
    gamma : float or None, default=None
        A number gives codes of `ExpGMM`.
    normalize : {None, "l1"}, default=None
        "l1" divides each row by its absolute sum.
    center : array_like or None, default=None
        Subtracted from dense rows before signs are split.
    sampler : {"cws", "dart"}, default="cws"
        Both are exact, and give different codes.
    scale : float or None, default=None
        The one scale of the darts.
    random_state : int, RandomState, Generator or None, default=0
        An int defines the codes, on every machine.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    Codes
        The codes of the rows.

    See Also
    --------
    kernelight.GCWS : The transformer that makes the same codes.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from kernelight import hashing
    >>> narrow = sp.csr_array(([1.0, 2.0], ([0, 0], [3, 5])), shape=(1, 6))
    >>> wide = sp.csr_array(([1.0, 2.0], ([0, 0], [3, 5])), shape=(1, 10**12))
    >>> bool(np.array_equal(hashing.gcws(narrow).array, hashing.gcws(wide).array))
    True
    """
    check_choice("sampler", sampler, ("cws", "dart"))
    if (sampler == "dart") != (scale is not None):
        raise ValueError(
            "sampler='dart' needs scale= (about 1 / a typical row sum), and only that sampler "
            "takes it."
        )
    scheme = minmax_scheme(
        n_components,
        bits=bits,
        t_bits=t_bits,
        coding=coding,
        p=p,
        gamma=gamma,
        normalize=normalize,
        center=center,
        sampler=sampler,
        seed=seed_of(random_state),
    )
    matrix = as_matrix(X)
    check_center(matrix, scheme)
    scale = 1.0 if scale is None else check_positive("scale", scale)
    made = CwsSampler(scheme) if sampler == "cws" else DartSampler(scheme, scale)
    codes, empty = made.encode(matrix, resources(n_jobs))
    provenance = provenance_of("GCWS", identity(scheme, sampler, scale))
    return Codes._adopt(codes, scheme.bits, empty=empty, provenance=provenance)
