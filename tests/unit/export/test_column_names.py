"""Frames whose columns are not those of training are refused."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import ColumnScaler
from kernelight.export.column_names import column_names_of, refuse_other_names


def test_names_of_training():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
    fitted = ColumnScaler().fit(frame)
    assert column_names_of(fitted) == ("a", "b", "c", "d")
    assert column_names_of(ColumnScaler().fit(np.eye(4))) is None
    for other in (frame[list("bacd")], frame[list("abc")], frame.rename(columns={"d": "e"})):
        with pytest.raises(ValueError, match="columns of X are not") as refused:
            refuse_other_names(other, list("abcd"), "X")
        assert str(refused.value).endswith("pass X[['a', 'b', 'c', ...]].")
    refuse_other_names(frame, list("abcd"), "X")
    refuse_other_names(frame.to_numpy(), list("abcd"), "X")
    refuse_other_names(frame[list("bacd")], None, "X")
