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
