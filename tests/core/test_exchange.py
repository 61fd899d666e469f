"""Files and pasted text: what goes out comes back, and what people have is read for what it is."""

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks, scaled_dot_product_attention
from attention_core.capture import RebuildError, Recording, record
from attention_core.exchange import (
    FileRefused,
    Limits,
    is_recording,
    load_arrays,
    load_recording,
    load_trace,
    parse_paste,
    recording_of,
    save_trace,
)

B, H, Q, K, D = 2, 3, 5, 7, 11
GRID = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 7


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_recording() -> Recording:
    """One call of each kind that is quick, one with dropout, one with a shared mask."""
    q, k, v = draw(B, H, Q, D, seed=1), draw(B, H, K, D, seed=2), draw(B, H, K, D, seed=3)
    mask = torch.zeros(1, 1, Q, K).masked_fill(torch.ones(Q, K).triu(3).bool(), torch.finfo(torch.float32).min)
    module = nn.MultiheadAttention(12, 2, batch_first=True)
    x = draw(B, Q, 12, seed=4)
    with record() as recording:
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5)
        F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
        F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], attn_mask=draw(Q, K, seed=5), enable_gqa=True)
        module(x, x, x, key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2]))
        torch.softmax(q @ q.mT / 3 + draw(H, Q, Q, seed=6), -1) @ q
    recording.tokens, recording.name = [["the", "■", "猫", "<b>", "\n"]] * 2, "a test"
    return recording


# ---------------------------------------------------------------------------------------------------------------------
# recordings


@pytest.mark.parametrize("half", [False, True])
def test_a_recording_comes_back_whole(tmp_path, half):
    recording = some_recording()
    recording.save(tmp_path / "run.safetensors", half=half)
    assert [file.name for file in tmp_path.iterdir()] == ["run.safetensors"]
    found = load_recording(tmp_path / "run.safetensors")
    assert [r.kind for r in found] == ["sdpa"] * 4 + ["mha", "manual"]
    assert (found.tokens, found.name, found.notes) == (recording.tokens, recording.name, recording.notes)
    assert found.versions["torch"] == torch.__version__ and found.versions["format"] == "1"
    stored = torch.float16 if half else torch.float32
    # float16 keeps 11 bits: weights move by about the rounding of their scores, of size 10 here
    near = {"rtol": 0.0, "atol": 2e-2 if half else 0.0}
    for new, old in zip(found, recording, strict=True):
        for name in ("index", "kind", "module", "module_class", "file", "line", "via", "flags", "mask_convention",
                     "key_padding_convention", "best_effort", "cannot_rebuild"):  # fmt: skip
            assert getattr(new, name) == getattr(old, name), name
        assert new.reproduces.passed == old.reproduces.passed and new.reproduces.reason == old.reproduces.reason
        for name in ("query", "key", "value", "output", "mask", "key_padding_mask", "observed", "allowed", "bias"):
            ours, theirs = getattr(new, name), getattr(old, name)
            assert (ours is None) == (theirs is None), name
            if theirs is None:
                continue
            if name in ("mask", "key_padding_mask", "allowed", "bias"):
                assert ours.dtype == theirs.dtype and torch.equal(ours.expand_as(theirs), theirs), name
            else:
                assert ours.dtype == stored
                assert_close(ours, theirs.to(stored), rtol=0.0, atol=0.0)
        assert new.scale == old.scale
        if old.cannot_rebuild is None:
            assert_close(new.weights.float(), old.weights, **near)
        else:
            with pytest.raises(RebuildError, match=r"without dropout: got dropout_p 0\.25"):
                _ = new.weights


def test_any_reader_of_safetensors_finds_the_weights(tmp_path):
    recording = some_recording()
    recording.save(tmp_path / "run.safetensors")
    arrays = safetensors.torch.load_file(tmp_path / "run.safetensors")
    for found in recording:
        name = f"call.{found.index:05d}.weights"
        assert (name in arrays) == (found.cannot_rebuild is None)
        if name in arrays:
            assert torch.equal(arrays[name], found.weights)
    masks_held = [name for name in arrays if name.endswith(".mask")]
    assert masks_held == ["call.00000.mask", "call.00003.mask"]  # one mask of two calls is held once
    with safetensors.safe_open(tmp_path / "run.safetensors", "pt") as file:
        about = json.loads(file.metadata()["recording"])
    assert about["conventions"]["allowed"] == "bool, True = may attend" and about["tokens"][0][2] == "猫"
    recording.save(tmp_path / "small.safetensors", weights=False)
    assert not [n for n in safetensors.torch.load_file(tmp_path / "small.safetensors") if n.endswith(".weights")]
    assert torch.equal(load_recording(tmp_path / "small.safetensors")[0].weights, recording[0].weights)


def test_a_recording_read_as_arrays_knows_what_it_is(tmp_path):
    some_recording().save(tmp_path / "run.safetensors")
    loaded = load_arrays(tmp_path / "run.safetensors")
    assert is_recording(loaded) and len(recording_of(loaded)) == 6
    other = load_arrays(safetensors.torch.save({"a": GRID}, {"note": "x"}), name="a.safetensors")
    assert not is_recording(other) and other.metadata == {"note": "x"}
    with pytest.raises(FileRefused, match="must say that it is one: got a file of another kind"):
        recording_of(other)


def test_numbers_beyond_half_precision_stay_as_they_are(tmp_path):
    q = 1e5 * draw(1, 1, Q, D)
    with record() as recording:
        F.scaled_dot_product_attention(q, q, q, scale=1e-9)
    recording.save(tmp_path / "run.safetensors", half=True)
    assert torch.equal(load_recording(tmp_path / "run.safetensors")[0].query, q)


def test_a_saved_file_can_be_saved_again(tmp_path):
    some_recording().save(tmp_path / "a.safetensors")
    load_recording(tmp_path / "a.safetensors").save(tmp_path / "b.safetensors")
    first, second = (load_arrays(tmp_path / f"{n}.safetensors") for n in "ab")
    assert first.metadata == second.metadata and list(first.arrays) == list(second.arrays)
    assert all(torch.equal(first.arrays[name], second.arrays[name]) for name in first.arrays)


@pytest.mark.parametrize("half", [False, True])
def test_a_trace_comes_back_whole(tmp_path, half):
    q, k, v = draw(B, H, Q, D, seed=1), draw(B, H, K, D, seed=2), draw(B, H, K, D, seed=3)
    allowed = masks.causal(Q, K)
    trace = scaled_dot_product_attention(q, k, v, allowed=allowed, sinks=torch.zeros(H), keep=("logits", "weights"))
    save_trace(trace, tmp_path / "t.safetensors", tokens=[["a"]], name="one", half=half)
    found = load_trace(tmp_path / "t.safetensors")
    assert found.scale == trace.scale and found.scores is None and torch.equal(found.allowed, allowed)
    assert torch.equal(found.logits, trace.logits)
    for name in ("weights", "sink_weight", "output"):
        old = getattr(trace, name)
        assert torch.equal(getattr(found, name), old.half() if half else old)
    about = load_arrays(tmp_path / "t.safetensors").metadata["trace"]
    assert (about["tokens"], about["name"]) == ([["a"]], "one")


def test_what_is_no_trace_is_refused(tmp_path):
    some_recording().save(tmp_path / "run.safetensors")
    with pytest.raises(FileRefused, match="must say that it is one"):
        load_trace(tmp_path / "run.safetensors")
    about = {"format": "headscope.trace", "format_version": "1", "trace": json.dumps({"scale": 0.5})}
    output, allowed = draw(1, 1, 2, 3), torch.ones(2, 2, dtype=torch.bool)
    with pytest.raises(FileRefused, match="must hold scale, output and allowed"):
        load_trace(safetensors.torch.save({"output": output}, about))
    with pytest.raises(FileRefused, match=r"allowed must be bool: got torch\.float32"):
        load_trace(safetensors.torch.save({"output": output, "allowed": allowed.float()}, about))
    arrays = {"output": output, "allowed": allowed, "scores": draw(2, 2), "weights": draw(3, 3)}
    with pytest.raises(FileRefused, match="must have one shape"):
        load_trace(safetensors.torch.save(arrays, about))
    del arrays["scores"]
    with pytest.raises(FileRefused, match=r"allowed must broadcast to the stages \(3, 3\): got \(2, 2\)"):
        load_trace(safetensors.torch.save(arrays, about))


# ---------------------------------------------------------------------------------------------------------------------
# foreign arrays


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
        np.arange(24, dtype=">f4").reshape(2, 3, 4),
        np.array([[True, False]]),
        np.arange(5, dtype=np.int8),
        np.arange(5, dtype=np.float16),
        np.array(7, dtype=np.int64),
        np.zeros((0, 3)),
        np.arange(3, dtype=np.longdouble),
    ],
)
def test_npy(tmp_path, array):
    Path(tmp_path / "A.NPY").write_bytes(npy(array))
    loaded = load_arrays(tmp_path / "A.NPY")
    assert loaded.format == "npy" and list(loaded.arrays) == ["array"]
    found = loaded.arrays["array"].numpy()
    assert found.dtype == (np.float64 if array.dtype == np.longdouble else array.dtype.newbyteorder("="))
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(save):
    out = io.BytesIO()
    save(out, weights=GRID.numpy(), mask=GRID.numpy() > 1)
    loaded = load_arrays(out.getvalue(), name="x.npz")
    assert list(loaded.arrays) == ["weights", "mask"]
    assert torch.equal(loaded.arrays["weights"], GRID) and torch.equal(loaded.arrays["mask"], GRID > 1)


def test_safetensors_of_others():
    arrays = {"w": GRID, "m": GRID > 1, "b": GRID.bfloat16(), "i": torch.arange(3)}
    loaded = load_arrays(safetensors.torch.save(arrays, {"tokens": '["a", "b"]'}), name="x.safetensors")
    assert set(loaded.arrays) == set(arrays) and loaded.metadata == {"tokens": ["a", "b"]}
    for name, tensor in arrays.items():
        assert loaded.arrays[name].dtype == tensor.dtype and torch.equal(loaded.arrays[name], tensor)


def test_json():
    text = json.dumps({"weights": [[0.25, 0.75], [1, 0]], "mask": [[True, False]], "n": [[1, 2]], "tokens": ["a", "b"]})
    loaded = load_arrays(text.encode(), name="x.json")
    assert torch.equal(loaded.arrays["weights"], torch.tensor([[0.25, 0.75], [1.0, 0.0]]))
    assert loaded.arrays["mask"].dtype == torch.bool and loaded.arrays["n"].dtype == torch.int64
    assert loaded.metadata == {"tokens": ["a", "b"]}
    alone = load_arrays(b"[[NaN, 1e999], [-Infinity, 2]]", name="x.json").arrays["array"]
    assert_close(alone, torch.tensor([[math.nan, math.inf], [-math.inf, 2.0]]), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "expected", "metadata"),
    [
        ("1,0\n1,1\n", [[1, 0], [1, 1]], {}),
        ("\ufeff0.5;0.5\r\n1;0\r\n", [[0.5, 0.5], [1.0, 0.0]], {}),
        (",the,cat\nthe,1,0\ncat,0.5,0.5\n", [[1.0, 0.0], [0.5, 0.5]],
         {"columns": ["the", "cat"], "rows": ["the", "cat"]}),
        ("a\tb\n1\t0\n", [[1, 0]], {"columns": ["a", "b"]}),
        ("True,False\n", [[True, False]], {}),
        ("nan,-inf\n0,0\n", [[math.nan, -math.inf], [0.0, 0.0]], {}),
    ],
)  # fmt: skip
def test_csv(text, expected, metadata):
    loaded = load_arrays(text.encode(), name="x.csv")
    assert_close(loaded.arrays["array"], torch.tensor(expected), equal_nan=True)
    assert loaded.metadata == metadata


def test_a_pt_file_of_plain_tensors():
    out = io.BytesIO()
    torch.save({"w": GRID, "layers": [GRID > 1, GRID.T], "step": 3, "deep": {"a": GRID[0]}}, out)
    loaded = load_arrays(out.getvalue(), name="x.pt")
    assert list(loaded.arrays) == ["w", "layers.0", "layers.1", "deep.a"]
    assert torch.equal(loaded.arrays["layers.1"], GRID.T) and loaded.notes == ["step is no tensor and was left out"]
    torch.save(GRID, out := io.BytesIO())
    assert torch.equal(load_arrays(out.getvalue(), name="x.PTH").arrays["array"], GRID)


# ---------------------------------------------------------------------------------------------------------------------
# pasted text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("■⬚⬚\n■■⬚\n■■■", [[True, False, False], [True, True, False], [True, True, True]]),
        (" □ ⬛\n⬜ ■ ", [[False, True], [False, True]]),
        ("■⬚\n■■\n\n■■\n■■", [[[True, False], [True, True]], [[True, True], [True, True]]]),
        ("100\n110\n111", [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        ("1 0\n1 1", [[1, 0], [1, 1]]),
        ("0.5, 0.5\n1, 0", [[0.5, 0.5], [1.0, 0.0]]),
        ("0 -inf\n0 0", [[0.0, -math.inf], [0.0, 0.0]]),
        ("True False\nTrue True", [[True, False], [True, True]]),
        ("[[1, 0], [1, 1]]", [[1, 0], [1, 1]]),
        ("[[true, false], [true, true]]", [[True, False], [True, True]]),
        ("((1, 0), (1, 1))", [[1, 0], [1, 1]]),
        ("[[0. 1.]\n [1. 0.]]", [[0.0, 1.0], [1.0, 0.0]]),
        ("tensor([[0.5000,   -inf],\n        [1.0000, 0.0000]], dtype=torch.float64)",
         [[0.5, -math.inf], [1.0, 0.0]]),
        ("np.array([[ True, False]], dtype=bool)", [[True, False]]),
        ("tensor([[1.]], device='cuda:0', grad_fn=<MulBackward0>)", [[1.0]]),
        ("```\n[1e-3, NaN]\n```", [1e-3, math.nan]),
    ],
)  # fmt: skip
def test_paste(text, expected):
    found = parse_paste(text)
    assert found.dtype == torch.tensor(expected).dtype
    assert_close(found, torch.tensor(expected), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold an array: got nothing"),
        ("■⬚\n■", "rows must have one length"),
        ("■x", r"made of ■ and ⬚: got 'x'"),
        ("1 0\n1", "rows must have one length"),
        ("[[1, 0], [1]]", "rows must have one length"),
        ("[[1, 0]", r"must be closed: got more \[ than \]"),
        ("[1] [2]", "one array at a time"),
        ("[[1, ..., 2]]", "pasted whole"),
        ("hello world", "must be a number, ■ or ⬚: got 'hello'"),
        ("__import__('os').system('true')", "must be a number"),
        ("[__import__('os')]", "must be a number"),
        ("[" * 100 + "]" * 100, "at most 8 axes"),
        ("■\n\n■■", "must have one size"),
        ("1" * 5000 + "\n" + "1" * 4999 + "2", "one length"),
    ],
)
def test_what_cannot_be_pasted_is_told(text, message):
    with pytest.raises(FileRefused, match=message):
        parse_paste(text)


def test_a_text_beyond_the_limit():
    with pytest.raises(FileRefused, match="at most 10 bytes: got 11 bytes"):
        parse_paste("1 0 1 0 1 0", limits=Limits(text_bytes=10))
