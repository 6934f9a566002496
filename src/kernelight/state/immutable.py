"""Values that nobody can change: immutable objects, and arrays that stay read-only."""

from __future__ import annotations

import mmap
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


class Immutable:
    """A base for values: attributes are set once, by `_set`, while the value is being built.

    Examples
    --------
    >>> from kernelight.state import Immutable
    >>> class Point(Immutable):
    ...     def __init__(self, x):
    ...         self._set(x=x)
    >>> point = Point(2)
    >>> try:
    ...     point.x = 3
    ... except AttributeError:
    ...     print("still", point.x)
    still 2
    """

    __slots__ = ()

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}.")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of ``array`` that cannot be made writeable again, for an array nobody else holds.

    Parameters
    ----------
    array : array
        An array that nobody else holds.

    Returns
    -------
    array
        The view.

    See Also
    --------
    may_change : Whether an array may still change.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.state import read_only
    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    owner: Any = array
    # NumPy asks the owner of the memory before it makes a view writeable
    while isinstance(owner, np.ndarray):
        owner.flags.writeable = False
        owner = owner.base
    return array.view(np.ndarray)


def may_change(array: NDArray[Any]) -> bool:
    """Whether someone may still write to the memory of ``array``, also as what it is a view of.

    Parameters
    ----------
    array : array
        Any array.

    Returns
    -------
    bool
        Whether someone may write to it.

    See Also
    --------
    read_only : A view that cannot be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.state import may_change, read_only
    >>> may_change(np.zeros(3)), may_change(read_only(np.zeros(3)))
    (True, False)
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    # a file mapped read-only stays on disk
    fixed = owner is None or isinstance(owner, (bytes, mmap.mmap))
    return not (fixed or (isinstance(owner, memoryview) and owner.readonly))
