"""`Ticket`: a fitted object on its way to workers.

A worker may have another version of this package, or another build of it. Its codes must be those
of the driver to the bit, so that a ticket carries a probe: the digest of what fixed rows become.
A worker makes the same codes before its first row, and refuses to go on if they differ.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import kernelight
from kernelight.state import ALGORITHM_VERSION

_PROBE_ROWS, _PROBE_COLUMNS, _PROBE_SLOTS = 64, 16, 64
_KEPT = 8  # objects that a process keeps: those of tickets it has seen last

_lock = threading.Lock()
_opened: dict[str, Any] = {}


class OtherVersionError(RuntimeError):
    """A worker makes other codes than the driver."""


@dataclass(frozen=True)
class Ticket:
    """The bytes of a fitted object, and what a worker checks before it uses them.

    Pickled, it travels with a function to workers. `opened` loads the object once in each process.

    Attributes
    ----------
    content : bytes
        The file that `save` writes.
    digest : str
        Of these bytes.
    version : str
        That of the package on the driver.
    algorithm : int
        What a seed means there (`State.algorithm_version`).
    probe : str
        The digest of what the driver makes of fixed rows.

    See Also
    --------
    kernelight.distributed.spark.score : Sends one to Spark.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS
    >>> from kernelight.distributed import Ticket
    >>> codes = GCWS(8).fit(np.eye(3))
    >>> Ticket.of(codes).opened().provenance == codes.provenance
    True
    """

    content: bytes
    digest: str
    version: str
    algorithm: int
    probe: str

    @classmethod
    def of(cls, fitted: Any) -> Ticket:
        """The ticket of a fitted object that can be saved."""
        can_go = hasattr(fitted, "to_state") and hasattr(fitted, "save")
        if not can_go or isinstance(fitted, type):
            raise TypeError(
                "Only what can be saved can go to workers, such as a fitted TableModel or "
                f"TableMap; this has the type {type(fitted).__name__}."
            )
        with tempfile.TemporaryDirectory(prefix="kernelight-") as folder:
            path = os.path.join(folder, "object")
            fitted.save(path)
            with open(path, "rb") as file:
                content = file.read()
        return cls.of_content(content)

    @classmethod
    def of_content(cls, content: bytes) -> Ticket:
        """The ticket of the bytes of such a file."""
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        return cls(content, digest, kernelight.__version__, ALGORITHM_VERSION, probe())

    def opened(self) -> Any:
        """The object, which a process loads once; an error where its codes would differ."""
        self._check_version()  # also where the object is here already: another driver may ask
        with _lock:
            if self.digest not in _opened:
                self._check_content()
                loaded = self._load()
                while len(_opened) >= _KEPT:
                    del _opened[next(iter(_opened))]
                _opened[self.digest] = loaded
            return _opened[self.digest]

    def _check_version(self) -> None:
        here = kernelight.__version__
        if self.algorithm != ALGORITHM_VERSION or self.probe != probe():
            raise OtherVersionError(
                f"kernelight {here} on this worker makes other codes than kernelight "
                f"{self.version} on the driver: install the same version on all machines."
            )

    def _check_content(self) -> None:
        if hashlib.blake2b(self.content, digest_size=16).hexdigest() != self.digest:
            raise ValueError("The ticket of a model was damaged on its way to this worker.")

    def _load(self) -> Any:
        with tempfile.TemporaryDirectory(prefix="kernelight-") as folder:
            path = os.path.join(folder, "object")
            with open(path, "wb") as file:
                file.write(self.content)
            return kernelight.load(path)


@cache
def probe() -> str:
    """The digest of codes of fixed rows: of both storages, and of each family of hashes."""
    # numbers that do not depend on the version of NumPy, a quarter of them 0
    at = np.arange(_PROBE_ROWS * _PROBE_COLUMNS, dtype=np.uint64)
    mixed = (at * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    X = np.where(at % 4 == 1, 0.0, mixed.astype(np.float64) / (1 << 20) - 8)
    X = X.reshape(_PROBE_ROWS, _PROBE_COLUMNS)
    hasher = hashlib.blake2b(digest_size=16)
    maps = (
        kernelight.GCWS(_PROBE_SLOTS, random_state=7),
        kernelight.BinaryFourier(_PROBE_SLOTS, random_state=7),
        kernelight.SignProjection(_PROBE_SLOTS, random_state=7),
    )
    for made in maps:
        codes = made.fit(X).encode(X)
        hasher.update(codes.provenance.encode())
        hasher.update(codes.array.tobytes())
    return hasher.hexdigest()
