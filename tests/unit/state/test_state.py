"""State: what goes in comes out, in memory, in a pickle and through a file."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from kernelight import State

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
arrays = st.sampled_from(DTYPES).flatmap(
    lambda code: hnp.arrays(code, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


def assert_same_arrays(left, right):
    assert sorted(left) == sorted(right)
    for name in left:
        assert left[name].shape == right[name].shape
        assert left[name].dtype == right[name].dtype
        assert left[name].tobytes() == right[name].tobytes()


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(), plain, max_size=4),
    st.dictionaries(st.sampled_from("abcdé"), arrays, max_size=4),
)
def test_everything_comes_back_from_a_file_and_a_pickle(tmp_path_factory, meta, parts):
    state = State({**meta, "kind": "Test"}, parts)
    path = tmp_path_factory.mktemp("state") / "file"
    state.save(path)
    for back in (State.load(path), pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        assert back.meta == {**meta, "kind": "Test"}
        assert_same_arrays(back.arrays, parts)
        assert back == state
        assert hash(back) == hash(state)
        assert back.digest() == state.digest()
        assert all(not array.flags.writeable for array in back.arrays.values())


@pytest.mark.parametrize("code", DTYPES)
def test_any_order_and_byte_order(tmp_path, code):
    base = np.arange(12).reshape(3, 4).astype(code)
    big = base.astype(base.dtype.newbyteorder(">"))
    state = State(
        {"kind": "Test"},
        {"c": base, "f": np.asfortranarray(base), "big": big, "cut": base[::2, 1:]},
    )
    state.save(tmp_path / "x")
    back = State.load(tmp_path / "x").arrays
    for name in ("c", "f", "big"):
        np.testing.assert_array_equal(back[name], base)
        assert back[name].dtype == base.dtype
        assert back[name].flags.c_contiguous
    np.testing.assert_array_equal(back["cut"], base[::2, 1:])


def test_a_file_is_an_ordinary_safetensors_file(tmp_path):
    state = State({"kind": "Test"}, {"w": np.arange(5.0), "n": np.array(3)})
    state.save(tmp_path / "x")
    assert_same_arrays(load_file(tmp_path / "x"), state.arrays)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    for name, meta in (("a", {"kind": "T", "x": 1, "y": 2}), ("b", {"y": 2, "x": 1, "kind": "T"})):
        State(meta, {"p": np.ones(2), "q": np.zeros(3, "u1")}).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_numpy_scalars_become_plain_and_big_integers_stay_exact(tmp_path):
    given = {
        "kind": "T",
        "i": np.int64(2**53 + 1),
        "b": np.True_,
        "f": np.float32(0.1),
        "t": (1, 2),
        "s": np.str_("x"),
    }
    State(given).save(tmp_path / "x")
    meta = State.load(tmp_path / "x").meta
    assert meta == {
        "kind": "T",
        "i": 2**53 + 1,
        "b": True,
        "f": float(np.float32(0.1)),
        "t": [1, 2],
        "s": "x",
    }
    assert type(meta["b"]) is bool
    assert State({"kind": "T", "u": np.uint64(2**64 - 1)}).meta["u"] == 2**64 - 1


def test_digest_sees_every_part():
    base = {"kind": "T", "a": 1}
    digests = {
        State(meta, parts).digest()
        for meta in (base, {"kind": "T", "a": 1.0}, {"kind": "T", "a": "1"}, {"kind": "U", "a": 1})
        for parts in (
            {},
            {"w": np.zeros(2)},
            {"v": np.zeros(2)},
            {"w": np.zeros((2, 1))},
            {"w": np.zeros(4, "f4")},
            {"w": np.array([0.0, -0.0])},
        )
    }
    assert len(digests) == 24


def test_nothing_can_be_changed_afterwards():
    mine = np.arange(4)
    inner = {"deep": [1, 2]}
    state = State({"kind": "T", "inner": inner}, {"mine": mine, "view": mine[1:]})
    before = state.digest()
    mine[:] = 9
    inner["deep"].append(3)
    state.meta["inner"]["deep"].append(4)
    assert state.digest() == before
    with pytest.raises(AttributeError, match="immutable"):
        state.meta = {}
    with pytest.raises(AttributeError, match="immutable"):
        del state._arrays
    with pytest.raises(TypeError):
        state.arrays["new"] = mine
    with pytest.raises(ValueError, match="read-only"):
        state.arrays["mine"][0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        state.arrays["mine"].flags.writeable = True


def test_a_read_only_view_of_writeable_memory_is_copied():
    mine = np.arange(4)
    view = mine[:]
    view.flags.writeable = False
    state = State({"kind": "T"}, {"w": view})
    mine[0] = 7
    assert state.arrays["w"][0] == 0


def test_a_read_only_array_is_not_copied():
    mine = np.arange(4)
    mine.flags.writeable = False
    assert np.shares_memory(State({"kind": "T"}, {"w": mine}).arrays["w"], mine)


@pytest.mark.parametrize(
    ("meta", "error", "says"),
    [
        ({"kind": "T", "x": float("nan")}, ValueError, r"meta\['x'\] must be finite"),
        (
            {"kind": "T", "x": [1, {"y": np.inf}]},
            ValueError,
            r"meta\['x'\]\[1\]\['y'\] must be finite",
        ),
        ({"kind": "T", "x": 2**64}, ValueError, "64 bits"),
        ({"kind": "T", "x": object()}, TypeError, r"meta\['x'\] must be plain data .* got object"),
        ({"kind": "T", "x": np.zeros(2)}, TypeError, "got ndarray"),
        ({"kind": "T", "x": 1j}, TypeError, "got complex"),
        ({"kind": "T", "x": {1: 2}}, TypeError, "string keys"),
        ({"x": 1}, ValueError, "kind"),
        ({"kind": ""}, ValueError, "kind"),
        ([1], TypeError, "must be a dict"),
    ],
)
def test_meta_that_is_not_plain_is_refused(meta, error, says):
    with pytest.raises(error, match=says):
        State(meta)


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["a"]),
        np.zeros(2, "c8"),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "f4,i4"),
    ],
)
def test_arrays_of_other_things_are_refused(array):
    with pytest.raises(TypeError, match="Array 'w' must hold"):
        State({"kind": "T"}, {"w": array})


@pytest.mark.parametrize("name", ["", "__metadata__", "a\nb", 3, "\ud800"])
def test_impossible_names_of_arrays_are_refused(name):
    with pytest.raises(ValueError, match="name"):
        State({"kind": "T"}, {name: np.zeros(1)})


def test_repr_is_short():
    assert (
        repr(State({"kind": "T"}, {"w": np.zeros((2, 3))}))
        == "State(kind='T', arrays={w: float64[2, 3]})"
    )
