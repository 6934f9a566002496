"""Keys of bands of slots: rows that may be similar have one in common.

docs/hash-spec.md, section 12, defines them; they are the same on disk and on a cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import check_int, resources
from kernelight.codes import Codes
from kernelight.neighbors.limits import check_codes


def band_keys(
    codes: Codes, bands: int, rows: int, *, n_jobs: int | None = None
) -> NDArray[np.uint64]:
    """The (n, bands) keys of codes: band b holds the slots b * rows to b * rows + rows - 1.

    Rows whose slots agree in a band have the same key there. Those of empty rows mean nothing.

    Parameters
    ----------
    codes : Codes
        The codes.
    bands : int
        How many bands there are.
    rows : int
        Slots in each band.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    array of uint64, (n, bands)
        The keys.

    See Also
    --------
    short_band_keys : Half as long.

    Examples
    --------
    >>> from kernelight import Codes
    >>> from kernelight.neighbors import band_keys
    >>> keys = band_keys(Codes([[1, 2, 3, 4], [1, 2, 9, 4]], bits=4), bands=2, rows=2)
    >>> (keys[0] == keys[1]).tolist()
    [True, False]
    >>> hex(keys[0, 0])
    '0x352eae6f97a2494e'
    """
    return _keys(codes, bands, rows, np.dtype(np.uint64), n_jobs)


def short_band_keys(
    codes: Codes, bands: int, rows: int, *, n_jobs: int | None = None
) -> NDArray[np.uint32]:
    """The upper 32 bits of the keys, which tables hold: candidates are verified anyway.

    Parameters
    ----------
    codes : Codes
        The codes.
    bands : int
        How many bands there are.
    rows : int
        Slots in each band.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    array of uint32, (n, bands)
        The upper halves of the keys.

    See Also
    --------
    band_keys : The whole keys.

    Examples
    --------
    >>> from kernelight import Codes
    >>> from kernelight.neighbors import short_band_keys
    >>> hex(short_band_keys(Codes([[1, 2]], bits=4), bands=1, rows=2)[0, 0])
    '0x352eae6f'
    """
    return _keys(codes, bands, rows, np.dtype(np.uint32), n_jobs)


def _keys(
    codes: Codes, bands: int, rows: int, dtype: np.dtype[Any], n_jobs: int | None
) -> NDArray[Any]:
    check_codes("codes", codes)
    rows = check_int("rows", rows, 1, codes.n_components)
    bands = check_int("bands", bands, 1, codes.n_components // rows)
    keys = np.empty((len(codes), bands), dtype=dtype)
    _core.band_keys(codes.array, rows, keys, resources(n_jobs).for_work(keys.size * rows).threads)
    return keys
