"""Files that are not what they should be: every one is refused with one sentence that says why."""

from __future__ import annotations

import builtins
import json
import os
import stat
import struct
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from kernelight import Codes, State
from kernelight.base import files


@pytest.fixture
def state():
    rng = np.random.default_rng(5)
    return State(
        {"kind": "Test", "seed": 7, "gamma": 1e-05, "name": "größe"},
        {
            "w": rng.normal(size=(7, 3)),
            "mask": rng.random(5) < 0.5,
            "n": np.array(3, "u2"),
            "none": np.zeros((0, 4)),
        },
    )


@pytest.fixture
def whole(state, tmp_path):
    state.save(tmp_path / "whole")
    return (tmp_path / "whole").read_bytes()


def load_bytes(tmp_path, content: bytes):
    path = tmp_path / "given.kl"
    path.write_bytes(content)
    return State.load(path)


def refusal(tmp_path, content: bytes) -> str:
    with pytest.raises(ValueError, match=r"given\.kl") as caught:
        load_bytes(tmp_path, content)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_every_truncation_is_refused_as_truncated(tmp_path, whole):
    assert "is empty" in refusal(tmp_path, b"")
    for length in range(1, len(whole)):
        assert "is truncated" in refusal(tmp_path, whole[:length]), length


def test_every_flipped_bit_is_refused(tmp_path, whole):
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        message = refusal(tmp_path, bytes(changed))
        assert any(
            word in message for word in ("altered", "truncated", "not a kernelight", "newer")
        ), message


def test_any_replaced_byte_is_refused_or_harmless(tmp_path, whole, state):
    rng = np.random.default_rng(1)
    refusals = []
    for at in rng.integers(0, len(whole), 600):
        changed = bytearray(whole)
        changed[at] = rng.integers(256)
        try:
            back = load_bytes(tmp_path, bytes(changed))
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert back == state
    assert len(refusals) > 500
    assert all("given.kl" in message for message in refusals)


def test_added_bytes_are_refused(tmp_path, whole):
    assert "altered" in refusal(tmp_path, whole + b"\0")
    assert "bytes follow its end" in refusal(tmp_path, whole + whole)


def test_a_flip_in_the_data_says_altered(tmp_path, whole):
    assert "altered or damaged: its content does not match its digest" in refusal(
        tmp_path, whole[:-1] + bytes([whole[-1] ^ 1])
    )


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"PK\x03\x04" + bytes(200),
        b"\x93NUMPY" + bytes(200),
        bytes(1000),
        b"\xff" * 1000,
        b"{}" * 300,
        "größe".encode() * 100,
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 50_000) + b"[" * 50_000,
        struct.pack("<Q", 100_000) + b'{"a":' * 20_000,
        save({"a": np.zeros(3)}),
        save({"a": np.zeros(3)}, metadata={"format": "pt"}),
        save({}, metadata={"kernelight": '{"magic": "other"}'}),
        save({}, metadata={"kernelight": "3"}),
    ],
)
def test_foreign_files_are_called_foreign(tmp_path, content):
    assert "is not a kernelight file" in refusal(tmp_path, content)


def test_random_bytes_never_get_in(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(300):
        refusal(tmp_path, rng.bytes(int(rng.integers(1, 300))))


def rewritten(whole: bytes, **changes) -> bytes:
    """A file of ours with another introduction."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    introduction = json.loads(header["__metadata__"]["kernelight"])
    introduction.update(changes)
    header["__metadata__"]["kernelight"] = json.dumps(
        introduction, sort_keys=True, separators=(",", ":")
    )
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + whole[8 + length :]


@pytest.mark.parametrize("key", ["format_version", "algorithm_version"])
def test_newer_versions_are_refused_with_both_numbers(tmp_path, whole, key):
    load_bytes(tmp_path, rewritten(whole))
    message = refusal(tmp_path, rewritten(whole, **{key: 12}))
    assert f"newer version of kernelight: its {key} is 12, this one reads up to 1" in message


def test_a_newer_format_is_recognised_whatever_else_it_changed(tmp_path, whole):
    message = refusal(tmp_path, rewritten(whole, format_version=2, digest={"new": 1}, meta=[]))
    assert "newer version" in message


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": 0},
        {"format_version": "1"},
        {"format_version": None},
        {"format_version": True},
        {"digest": "0"},
        {"digest": None},
        {"meta": {}},
        {"meta": []},
        {"meta": {"kind": 3}},
        {"meta": {"kind": "Test"}},
        {"meta": {"kind": "T", "x": float("nan")}},
        {"extra": 1},
    ],
)
def test_other_introductions_are_refused(tmp_path, whole, changes):
    assert "altered" in refusal(tmp_path, rewritten(whole, **changes))


@pytest.mark.parametrize(
    "entry",
    [
        {},
        3,
        None,
        {"dtype": "F64", "shape": [7, 3]},
        {"dtype": "F64", "shape": [7, 3], "data_offsets": [0]},
        {"dtype": "F64", "shape": [-7, -3], "data_offsets": [0, 168]},
        {"dtype": "F64", "shape": [7.0, 3], "data_offsets": [0, 168]},
        {"dtype": "F64", "shape": [True, 21], "data_offsets": [0, 168]},
        {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 168]},
        {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [7, 3], "data_offsets": [168, 0]},
        {"dtype": "F64", "shape": [7, 3], "data_offsets": [-168, 0]},
        {"dtype": "O", "shape": [7, 3], "data_offsets": [0, 168]},
        {"dtype": ["F64"], "shape": [7, 3], "data_offsets": [0, 168]},
        {"dtype": "F64", "shape": 21, "data_offsets": [0, 168]},
    ],
)
def test_impossible_arrays_are_refused(tmp_path, whole, entry):
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["w"] = entry
    text = json.dumps(header).encode()
    assert "impossible array" in refusal(
        tmp_path, struct.pack("<Q", len(text)) + text + whole[8 + length :]
    )


def test_an_offset_far_beyond_the_end_says_truncated(tmp_path, whole):
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["w"] = {"dtype": "U8", "shape": [2**50], "data_offsets": [0, 2**50]}
    text = json.dumps(header).encode()
    assert "truncated" in refusal(
        tmp_path, struct.pack("<Q", len(text)) + text + whole[8 + length :]
    )


def test_missing_and_directory_keep_their_errors(tmp_path, state):
    with pytest.raises(FileNotFoundError):
        State.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        State.load(tmp_path)
    with pytest.raises(IsADirectoryError):
        state.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="No such directory"):
        state.save(tmp_path / "no" / "file")


def test_wrong_kind_says_which(tmp_path):
    State({"kind": "GCWS"}).save(tmp_path / "map.kl")
    with pytest.raises(ValueError, match=r"map\.kl holds a GCWS, not Codes\.$"):
        Codes.load(tmp_path / "map.kl")
    with pytest.raises(ValueError, match=r"This state holds a GCWS, not Codes\.$"):
        Codes.from_state(State({"kind": "GCWS"}))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path, state, monkeypatch, step, error
):
    path = tmp_path / "kept"
    state.save(path)
    before = path.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        State({"kind": "Other"}).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept"]


@pytest.mark.parametrize("nameless", [True, False])
def test_a_write_that_fails_half_way_leaves_nothing(tmp_path, state, monkeypatch, nameless):
    if nameless and not hasattr(os, "O_TMPFILE"):
        pytest.skip("the system has no files without a name")
    real = os.fdopen if nameless else builtins.open

    def opened(*args, **kwargs):
        handle = real(*args, **kwargs)

        class Half:
            def __enter__(self):
                return self

            def __exit__(self, *exc):
                handle.close()

            def write(self, content):
                handle.write(content[: len(content) // 2])
                raise OSError(28, "No space left on device")

        return Half()

    if nameless:
        monkeypatch.setattr(files.os, "fdopen", opened)
    else:
        monkeypatch.setattr(files, "_nameless", lambda directory: None)
        monkeypatch.setattr(files, "open", opened, raising=False)
    with pytest.raises(OSError, match=r"No space left.*new"):
        state.save(tmp_path / "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="permission bits of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_are_those_of_any_new_file(tmp_path, state, mask):
    old = os.umask(mask)
    try:
        state.save(tmp_path / "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(tmp_path / "x").st_mode) == 0o666 & ~mask


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything"
)
def test_no_permission_stays_a_permission_error(tmp_path, state):
    state.save(tmp_path / "x")
    os.chmod(tmp_path / "x", 0)
    with pytest.raises(PermissionError):
        State.load(tmp_path / "x")
    os.chmod(tmp_path, 0o500)
    try:
        with pytest.raises(PermissionError):
            state.save(tmp_path / "y")
    finally:
        os.chmod(tmp_path, 0o700)


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_saving_through_a_link_keeps_the_link(tmp_path, state):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    state.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert State.load(tmp_path / "target") == state


def test_names_of_files_may_be_anything(tmp_path, state):
    for name in ("größe 漢.kl", "x" * 250, ".hidden"):
        state.save(str(tmp_path / name))
        assert State.load(tmp_path / name) == state


def test_a_loaded_state_does_not_depend_on_its_file(tmp_path, state):
    path = tmp_path / "x"
    state.save(path)
    loaded = State.load(path)
    with open(path, "r+b") as handle:
        handle.truncate(10)
    assert loaded == state


def test_misaligned_arrays_of_another_writer_are_read(tmp_path, whole):
    length = int.from_bytes(whole[:8], "little")
    text = whole[8 : 8 + length] + b" "  # the arrays now start at an odd position
    back = load_bytes(tmp_path, struct.pack("<Q", len(text)) + text + whole[8 + length :])
    assert all(array.flags.aligned for array in back.arrays.values())


def test_a_foreign_save_file_is_refused(tmp_path):
    save_file({"w": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="safetensors file written by something else"):
        State.load(tmp_path / "model.safetensors")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_only_a_regular_file_is_replaced(tmp_path, state):
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    for name in ("pipe", "loop"):
        with pytest.raises(OSError, match=r"Not a regular file|symbolic links"):
            state.save(tmp_path / name)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert os.path.islink(tmp_path / "loop")
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe"]


@pytest.mark.skipif(os.name != "posix", reason="permission bits of POSIX")
def test_saving_again_keeps_the_permissions(tmp_path, state):
    state.save(tmp_path / "x")
    os.chmod(tmp_path / "x", 0o600)
    state.save(tmp_path / "x")
    assert stat.S_IMODE(os.stat(tmp_path / "x").st_mode) == 0o600


# -- Files that would cost much to look at


def with_header(header, payload: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + payload


def test_a_long_tail_is_not_read(tmp_path, whole):
    """A file with a hole of 64 TB behind its end: refused by its size."""
    path = tmp_path / "given.kl"
    path.write_bytes(whole)
    try:
        os.truncate(path, 1 << 43)
    except OSError:
        pytest.skip("this file system has no files of that size")
    with pytest.raises(ValueError, match="bytes follow its end"):
        State.load(path)


def test_arrays_in_one_place_or_with_gaps(tmp_path):
    zeros = np.zeros(16, dtype=np.uint8)
    State({"kind": "Test"}, {"a": zeros, "b": zeros + 1}).save(tmp_path / "two")
    content = (tmp_path / "two").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, payload = json.loads(content[8 : 8 + length]), content[8 + length :]
    for places, size in (
        ({"a": [16, 32], "b": [16, 32]}, 32),  # one in the place of the other, a gap before
        ({"a": [0, 16], "b": [8, 24]}, 24),  # half of it
        ({"a": [0, 16], "b": [17, 33]}, 33),  # a gap between
        ({"a": [0, 16], "b": [0, 16]}, 16),
    ):
        for name, offsets in places.items():
            header[name]["data_offsets"] = offsets
        assert "in the place of another" in refusal(
            tmp_path, with_header(header, (payload + b"\0")[:size])
        )


@pytest.mark.parametrize("depth", [65, 500, 900, 980, 985, 990, 995, 1000, 100_000])
def test_deep_meta_is_refused(tmp_path, whole, depth):
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    introduction = header["__metadata__"]["kernelight"]
    header["__metadata__"]["kernelight"] = introduction.replace(
        '"seed":7', '"seed":' + "[" * depth + "]" * depth
    )
    assert "not readable" in refusal(tmp_path, with_header(header, whole[8 + length :]))


def test_many_empty_lists_are_refused_before_they_are_made(tmp_path, whole):
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    introduction = header["__metadata__"]["kernelight"]
    header["__metadata__"]["kernelight"] = introduction.replace(
        '"seed":7', '"seed":[' + "[]," * 3_000_000 + "[]]"
    )
    content = with_header(header, whole[8 + length :])
    tracemalloc.start()
    try:
        assert "not readable" in refusal(tmp_path, content)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content)
    finally:
        tracemalloc.stop()


def test_what_would_not_be_read_again_is_not_written(tmp_path):
    deep: list = []
    for _ in range(100):
        deep = [deep]
    for meta in (deep, [[]] * 300_000, "x" * (1 << 25)):
        with pytest.raises(ValueError, match="was not written: its meta would not be read again"):
            State({"kind": "Test", "meta": meta}).save(tmp_path / "given.kl")
    assert not list(tmp_path.iterdir())
