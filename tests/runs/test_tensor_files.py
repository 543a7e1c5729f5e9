"""Arrays and metadata come back bit for bit; a file that was cut, altered or made by others is refused."""

import json
import math
import tempfile
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from minutiae.errors import RunError
from minutiae.runs.policy import load_policy, save_policy
from minutiae.runs.tensors import DTYPES, read_tensors, write_tensors

ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.dictionaries(NAMES, ARRAYS, max_size=4), st.dictionaries(st.text(max_size=3), JSON, max_size=3))
@settings(max_examples=60, deadline=None)
def test_everything_comes_back_bit_for_bit(arrays: dict, metadata: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write_tensors(path, "policy", arrays, metadata)
        back, told = read_tensors(path, "policy", "")
        first = path.read_bytes()
        write_tensors(path, "policy", dict(reversed(arrays.items())), metadata)
        assert path.read_bytes() == first  # equal contents give equal bytes
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
    assert json.dumps(told) == json.dumps(metadata)  # as text, because NaN is not equal to itself


def test_layouts_that_are_not_plain(tmp_path: Path) -> None:
    square = np.arange(12.0).reshape(3, 4)
    arrays = {
        "turned": square.T,
        "every other": square[:, ::2],
        "big": square.astype(">f8"),
        "one": np.float32(2),
    }
    write_tensors(tmp_path / "file", "policy", arrays, {})
    back, _ = read_tensors(tmp_path / "file", "policy", "")
    assert back["turned"].tolist() == square.T.tolist()
    assert back["every other"].tolist() == [[0, 2], [4, 6], [8, 10]]
    assert back["big"].dtype == np.dtype("<f8")
    assert back["big"].tolist() == square.tolist()
    assert back["one"].shape == ()
    back["turned"][0, 0] = 7  # and can be trained on


def test_metadata_keeps_what_generators_need(tmp_path: Path) -> None:
    state = np.random.default_rng(3).bit_generator.state
    metadata = {
        "generator": state,
        "mean": math.nan,
        "best": -math.inf,
        "steps": np.int64(5),
        "path": tmp_path,
    }
    write_tensors(tmp_path / "file", "policy", {}, metadata)
    _, back = read_tensors(tmp_path / "file", "policy", "")
    assert back["generator"] == state  # 128-bit integers
    assert math.isnan(back["mean"])
    assert back["best"] == -math.inf
    assert back["steps"] == 5
    assert back["path"] == str(tmp_path)
    with pytest.raises(TypeError, match=r"^set cannot be written as JSON; pass numbers, text, lists or dictionaries$"):
        write_tensors(tmp_path / "file", "policy", {}, {"a": {1}})


def test_dtypes_that_cannot_be_stored(tmp_path: Path) -> None:
    for value in (np.array([object()]), np.zeros(1, complex), np.array(["text"]), np.zeros(1, np.longdouble)):
        with pytest.raises(RunError) as caught:
            write_tensors(tmp_path / "file", "policy", {"a": value}, {})
        assert str(caught.value) == (
            f"the array 'a' has dtype {value.dtype}, which no file takes; "
            "allowed: bool, int8, int16, int32, int64, "
            "uint8, uint16, uint32, uint64, float16, float32, float64"
        )
    assert not (tmp_path / "file").exists()


def test_cut_anywhere(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "file", {"weight": np.arange(6, dtype=np.float32)}, {"environment": "Hopper-v5"})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(RunError) as caught:
            load_policy(path)
        text = str(caught.value)
        assert text.startswith(f"{path} is truncated or damaged: ")
        assert text.endswith("; restore it from a copy, or train the run again")
        assert "\n" not in text
    path.write_bytes(whole + b"\0")
    with pytest.raises(RunError, match="is truncated or damaged"):
        load_policy(path)


def test_no_altered_byte_goes_unnoticed(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "file", {"weight": np.arange(6, dtype=np.float32)}, {"steps": 12, "bound": 0.25})
    whole = path.read_bytes()
    for place in range(len(whole)):
        for mask in (0x01, 0x10, 0x80):
            altered = bytearray(whole)
            altered[place] ^= mask
            path.write_bytes(altered)
            with pytest.raises(RunError) as caught:
                load_policy(path)
            assert "\n" not in str(caught.value)


def test_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(safetensors.numpy.save({"a": np.zeros(2)}))
    with pytest.raises(RunError, match=r"^.*file is a safetensors file that minutiae did not write; do this$"):
        read_tensors(path, "policy", "do this")
    write_tensors(path, "checkpoint", {}, {})
    with pytest.raises(RunError, match=r"^.*file is a checkpoint, not a policy; do this$"):
        read_tensors(path, "policy", "do this")
    entries = {"minutiae": json.dumps({"format": 2, "kind": "policy"})}
    path.write_bytes(safetensors.numpy.save({"a": np.zeros(2)}, metadata=entries))
    with pytest.raises(RunError, match="has format 2 and this minutiae reads formats up to 1; upgrade with 'pip"):
        read_tensors(path, "policy", "do this")
    for text in ("[]", "3", "{", "[" * 100_000, '{"format": true}', '{"format": 1, "kind": ["policy"]}'):
        path.write_bytes(safetensors.numpy.save({}, metadata={"minutiae": text}))
        with pytest.raises(RunError, match=r"do this$"):
            read_tensors(path, "policy", "do this")
    header = b'{"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(RunError, match=r"file holds BF16 arrays, which minutiae never writes; do this$"):
        read_tensors(path, "policy", "do this")


def test_a_pickle_is_not_executed(tmp_path: Path) -> None:
    # The classic payload: a reader that unpickles this makes the file `executed`.
    payload = f"cos\nsystem\n(S'touch {tmp_path}/executed'\ntR."
    for name in ("policy.safetensors", "other"):
        (tmp_path / name).write_text(payload)
        with pytest.raises(RunError, match="is truncated or damaged"):
            load_policy(tmp_path / name)
    assert not (tmp_path / "executed").exists()


def test_policy_in_its_run_folder(tmp_path: Path) -> None:
    path = save_policy(tmp_path, {"normalizer/mean": np.zeros(3)}, {"environment": "Hopper-v5"})
    assert path == tmp_path / "policy.safetensors"
    saved = load_policy(tmp_path)
    assert saved.spec == {"environment": "Hopper-v5"}
    assert saved.arrays["normalizer/mean"].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RunError, match=r"nowhere/policy.safetensors does not exist; check the path$"):
        load_policy(tmp_path / "nowhere" / "policy.safetensors")
