"""Files that mean harm: refused in a sentence, quickly, without taking memory and without running anything."""

import io
import json
import pickle
import random
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.nn.functional as F

from attention_core.capture import record
from attention_core.exchange import FileRefused, Limits, load_arrays, load_recording, parse_paste

SMALL = Limits(file_bytes=2**20, array_bytes=2**20, text_bytes=2**16, metadata_bytes=2**16, arrays=64)


class Trap:
    """Says so when somebody unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import sys; sys.sprung = True",)


@pytest.fixture(autouse=True)
def _nothing_ran():
    assert not sprung()
    yield
    assert not sprung()


def npy(array: np.ndarray, **options: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def npy_header(text: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    head = text.encode("latin-1")
    size = struct.pack("<H" if version[0] == 1 else "<I", len(head))
    return b"\x93NUMPY" + version + size + head + body


def npz(files: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tensors_file(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def pt(value: Any) -> bytes:
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def sprung() -> bool:
    """Whether the trap went off since this was last asked."""
    return vars(sys).pop("sprung", False)


def test_the_trap_works():
    """Else the tests below show nothing."""
    pickle.loads(pickle.dumps(Trap()))
    assert sprung()
    objects = npy(np.array([Trap()], dtype=object), allow_pickle=True)
    assert not sprung()
    np.load(io.BytesIO(objects), allow_pickle=True)
    assert sprung()
    torch.load(io.BytesIO(pt({"w": Trap()})), weights_only=False)
    assert sprung()


F4 = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
CASES: dict[str, tuple[str, bytes, str]] = {
    "object array": (".npy", npy(np.array([Trap()], dtype=object), allow_pickle=True), "numbers: got an object"),
    "object in npz": (".npz", npz({"w.npy": npy(np.array([Trap()], dtype=object), allow_pickle=True)}), "object array"),
    "pickle as npy": (".npy", pickle.dumps(Trap()), "magic bytes"),
    "records": (".npy", npy(np.zeros(3, dtype=[("a", "f4")])), "must hold bool, integers or floats"),
    "complex": (".npy", npy(np.zeros(3, dtype=complex)), "must hold bool, integers or floats"),
    "text": (".npy", npy(np.array(["a"])), "must hold bool, integers or floats"),
    "dates": (".npy", npy(np.array(["2020"], dtype="M8[D]")), "must hold bool, integers or floats"),
    "odd width": (".npy", npy_header("{'descr': '<f7', 'fortran_order': False, 'shape': (1,), }", b"7"), "NumPy knows"),
    "huge shape": (".npy", npy_header(F4 % "1000000000000,"), "at most"),
    "overflowing shape": (".npy", npy_header(F4 % ",".join(["4294967296"] * 4)), "at most"),
    "empty but huge": (".npy", npy_header(F4 % "0, 1000000000000"), "at most"),
    "many axes": (".npy", npy_header(F4 % ("1," * 40), b"1234"), "at most 8 axes: got 40"),
    "negative axis": (".npy", npy_header(F4 % "-3,", b"1" * 12), "must hold bool, integers or floats"),
    "expression": (".npy", npy_header(F4 % "9**9**9,", b"1" * 12), "must hold bool, integers or floats"),
    "too short": (".npy", npy_header(F4 % "3,", b"1" * 8), "as long as its header says: got 8 bytes"),
    "too long": (".npy", npy_header(F4 % "3,", b"1" * 16), "as long as its header says: got 16 bytes"),
    "long header": (".npy", npy_header("x" * 20_000, b"", b"\x02\x00"), "header may have at most"),
    "header beyond": (".npy", b"\x93NUMPY\x01\x00\xff\xff{}", "header may have at most"),
    "nothing": (".npy", b"", "magic bytes"),
    "no zip": (".npz", b"PK nothing", "must be whole"),
    "empty zip": (".npz", npz({}), "must hold an array: got none"),
    "bomb": (".npz", npz({"w.npy": npy(np.zeros(2**20, dtype=np.float32))}), "may unpack to at most 1 MB: got 4"),
    "many files": (".npz", npz({f"{i}.npy": b"" for i in range(65)}), "at most 64 files: got 65"),
    "zip of pickles": (".npz", npz({"w.pkl": pickle.dumps(Trap())}), "must hold an array: got none"),
    "short header": (".safetensors", b"\x08\x00", "starts with the length"),
    "huge header": (".safetensors", (2**62).to_bytes(8, "little") + b"{}", "at most 65536 bytes"),
    "header outside": (".safetensors", (100).to_bytes(8, "little") + b"{}", "must lie in the file: got 100"),
    "no JSON": (".safetensors", tensors_file(b"{'a'"), "must be JSON"),
    "deep JSON": (".safetensors", tensors_file(b"[" * 60_000), "must be JSON"),
    "a list": (".safetensors", tensors_file([1]), "must be a JSON object: got list"),
    "name twice": (".safetensors", tensors_file(b'{"a": {}, "a": {}}'), "must differ: got one twice"),
    "metadata of numbers": (".safetensors", tensors_file({"__metadata__": {"a": 1}}), "text by name"),
    "unknown type": (".safetensors", tensors_file({"a": {**ENTRY, "dtype": "C64"}}, b"1" * 8), "integers or floats"),
    "negative size": (".safetensors", tensors_file({"a": {**ENTRY, "shape": [-2]}}, b"1" * 8), "whole numbers from 0"),
    "size of floats": (".safetensors", tensors_file({"a": {**ENTRY, "shape": [2.0]}}, b"1" * 8), "whole numbers"),
    "size of bools": (".safetensors", tensors_file({"a": {**ENTRY, "shape": [True, 2]}}, b"1" * 8), "whole numbers"),
    "huge tensor": (".safetensors", tensors_file({"a": {**ENTRY, "shape": [10**15]}}, b"1" * 8), "may take at most"),
    "offsets outside": (".safetensors", tensors_file({"a": {**ENTRY, "data_offsets": [8, 16]}}, b"1" * 8), "lie where"),
    "offsets wrong": (".safetensors", tensors_file({"a": {**ENTRY, "data_offsets": [0, 4]}}, b"1" * 8), "lie where"),
    "overlap": (".safetensors", tensors_file({"a": ENTRY, "b": ENTRY}, b"1" * 8), "without overlap"),
    "slack": (".safetensors", tensors_file({"a": ENTRY}, b"1" * 9), "without overlap"),
    "many arrays": (".safetensors", tensors_file({str(i): {} for i in range(65)}), "at most 64 arrays: got 65"),
    "nested JSON": (".json", b"[" * 30_000 + b"]" * 30_000, "nested that deep|at most 8 axes"),
    "ragged": (".json", b"[[1, 2], [3]]", "one length"),
    "mixed": (".json", b'[[1, "a"]]', "must be numbers: got 'a'"),
    "null": (".json", b"[[1, null]]", "must be numbers: got NoneType"),
    "long number": (".json", b"[" + b"9" * 5000 + b"]", "must be whole|64 bits"),
    "integer of 65 bits": (".json", b"[18446744073709551616]", "64 bits"),
    "no numbers": (".json", b'{"a": "b"}', "must hold a list of numbers"),
    "one number": (".json", b"3", "lists of numbers"),
    "long JSON": (".json", b"[" + b"1," * 2**16 + b"1]", "file of text may have at most"),
    "bytes": (".json", b"\xff\xfe[1]", "UTF-8"),
    "words": (".csv", b"a,b\nc,d\n", "must be numbers"),
    "ragged csv": (".csv", b"1,2\n3\n", "one length"),
    "NUL": (".csv", b"1,\x002\n", "must be numbers|must be whole"),
    "empty csv": (".csv", b"\n\n", "must hold numbers: got none"),
    "pickle in pt": (".pt", pt({"w": Trap()}), "could run code; save the arrays with safetensors"),
    "a pickle": (".pt", pickle.dumps(Trap()), "of the zip kind"),
    "a module": (".pt", pt(torch.nn.Linear(2, 2)), "could run code"),
    "sparse": (".pt", pt(torch.eye(3).to_sparse()), "must be dense numbers"),
    "stretched": (".pt", pt(torch.zeros(1).expand(10**6)), "may take at most"),
    "complex tensor": (".pt", pt(torch.zeros(2, dtype=torch.complex64)), "must be dense numbers"),
    "no tensor": (".pt", pt({"a": 1}), "must hold a tensor"),
    "exe": (".exe", b"MZ", "must end in one of .npy"),
    "pkl": (".pkl", pickle.dumps(Trap()), "must end in one of .npy.*save the arrays with safetensors"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_known_ways_to_do_harm(case):
    ending, content, message = CASES[case]
    start = time.process_time()
    with pytest.raises(FileRefused, match=message) as caught:
        load_arrays(content, name=f"x{ending}", limits=SMALL)
    assert time.process_time() - start < 2.0
    assert len(str(caught.value)) < 600 and "\n" not in str(caught.value)


def test_files_too_large_missing_or_of_unstated_kind(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"1" * 101)
    with pytest.raises(FileRefused, match="at most 100 bytes: got 101 bytes"):
        load_arrays(tmp_path / "a.npy", limits=Limits(file_bytes=100))
    with pytest.raises(FileRefused, match="must be there"):
        load_arrays(tmp_path / "b.npy")
    (tmp_path / "c.npy").mkdir()
    with pytest.raises(FileRefused, match="must be readable"):
        load_arrays(tmp_path / "c.npy")
    with pytest.raises(FileRefused, match="bytes need a file name"):
        load_arrays(b"")


def test_a_tensor_of_a_pt_file_may_not_claim_more_than_the_file_holds():
    """The pickle inside says how long a storage is; the record beside it says the truth."""
    content = pt({"w": torch.arange(16, dtype=torch.float32)})
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            body = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                assert body.count(b"K\x10") >= 2
                body = body.replace(b"K\x10", b"M\x00\x40")  # 16 -> 16384
            new.writestr(entry.filename, body)
    with pytest.raises(FileRefused):
        load_arrays(out.getvalue(), name="x.pt")


# ---------------------------------------------------------------------------------------------------------------------
# recordings


def good_recording(folder: Path) -> bytes:
    q = torch.randn(1, 2, 3, 5, generator=torch.Generator().manual_seed(1))
    with record() as recording:
        F.scaled_dot_product_attention(q, q, q, is_causal=True)
        torch.softmax(q @ q.mT, -1) @ q
    recording.save(folder / "good.safetensors")
    return (folder / "good.safetensors").read_bytes()


def retold(content: bytes, change: Callable[[dict[str, Any]], None], **arrays: torch.Tensor | None) -> bytes:
    """The recording with another story, and other arrays."""
    loaded = load_arrays(content, name="x.safetensors")
    about = json.loads(json.dumps(loaded.metadata["recording"]))
    change(about)
    held = {**loaded.arrays, **{f"call.00000.{name}": tensor for name, tensor in arrays.items()}}
    metadata = {"format": "headscope.recording", "format_version": "1", "recording": json.dumps(about)}
    return safetensors.torch.save({n: t for n, t in held.items() if t is not None}, metadata)


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *walk, last, value = path

    def change(about: Any) -> None:
        for step in walk:
            about = about[step]
        about[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about.clear(), "as it was written: got 'no calls'"),
        (_set("calls", "none"), "str where list should be"),
        (_set("calls", 0, 7), "int where an object with 'arrays'"),
        (_set("calls", 0, "arrays", "query", "gone"), "must find its arrays in the file: got gone for call 0"),
        (_set("calls", 0, "arrays", "query", ["a"]), "must find its arrays"),
        (_set("calls", 0, "arrays", {}), "have an output"),
        (_set("calls", 0, "index", 5), "numbered from 0"),
        (_set("calls", 0, "index", True), "bool where int"),
        (_set("calls", 0, "kind", "exec"), "must be one of"),
        (_set("calls", 0, "scale", "2"), "str where float or int"),
        (_set("calls", 0, "scale", 10**400), "as it was written"),
        (_set("calls", 0, "mask_convention", "mine"), "known convention"),
        (_set("calls", 0, "flags", {"dropout_p": "x"}), "str where float"),
        (_set("calls", 0, "flags", {"a": [1]}), "list where bool"),
        (_set("calls", 0, "reproduces", None), "NoneType where dict"),
        (_set("calls", 0, "best_effort", 1), "int where bool"),
        (_set("tokens", [[1]]), "int where str"),
        (_set("notes", [None]), "NoneType where str"),
        (_set("versions", {"a": 1}), "int where str"),
        (_set("calls", 0, "arrays", "allowed", "call.00000.query"), "wrong kind of numbers"),
        (_set("calls", 0, "arrays", "bias", "call.00000.allowed"), "wrong kind of numbers"),
        (_set("calls", 0, "arrays", "bias", "call.00000.query"), "must broadcast"),
    ],
)  # fmt: skip
def test_a_recording_that_lies_is_refused(tmp_path, change, message):
    content = good_recording(tmp_path)
    assert len(load_recording(content)) == 2
    with pytest.raises(FileRefused, match=message):
        load_recording(retold(content, change))


def test_sizes_that_would_only_hurt_later_are_refused_at_once(tmp_path):
    content = good_recording(tmp_path)
    long = torch.zeros(1, 2, 40_000, 1)
    with pytest.raises(FileRefused, match=r"at most 1024 MB: got shape \(1, 2, 40000, 40000\) \(weights\)"):
        load_recording(retold(content, lambda about: None, query=long, key=long + 1, value=long + 2))
    with pytest.raises(FileRefused, match=r"must fit together: got call 0, query heads must be a multiple"):
        load_recording(retold(content, lambda about: None, query=torch.zeros(1, 3, 3, 5)))
    with pytest.raises(FileRefused, match=r"floats of one kind"):
        load_recording(retold(content, lambda about: None, query=torch.zeros(1, 2, 3, 5, dtype=torch.int32)))
    with pytest.raises(FileRefused, match=r"must share d_k"):
        load_recording(retold(content, lambda about: None, query=torch.zeros(1, 2, 3, 4)))
    with pytest.raises(FileRefused, match="format version 1: got 2"):
        load_recording(safetensors.torch.save({}, {"format": "headscope.recording", "format_version": "2"}))


# ---------------------------------------------------------------------------------------------------------------------
# files made at random


def seeds_of_files(folder: Path) -> dict[str, bytes]:
    grid = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    return {
        ".npy": npy(grid.numpy()),
        ".npz": npz({"w.npy": npy(grid.numpy()), "m.npy": npy(grid.numpy() > 1)}),
        ".safetensors": good_recording(folder),
        ".json": json.dumps({"w": grid.tolist(), "tokens": ["a"]}).encode(),
        ".csv": b",a,b\nc,1,0\nd,0.5,0.5\n",
        ".pt": pt({"w": grid, "trap": grid.T}),
    }


def spoilt(content: bytes, chance: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, moved, or replaced by numbers that mean harm."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(max(1, len(data)))
        how = chance.randrange(6)
        if how == 0 and data:
            data[at] = chance.randrange(256)
        elif how == 1:
            del data[at : at + chance.randrange(1, 40)]
        elif how == 2:
            data[at:at] = data[at : at + 30]
        elif how == 3:
            data[at:at] = chance.choice((b"9" * 30, b"[" * 300, b"-1", b"\xff" * 8, b"NaN", b"\x00" * 16, b'"', b"O"))
        elif how == 4:
            data[at : at + 8] = struct.pack("<Q", chance.choice((2**63, 2**40, 2**31, 0)))
        else:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors", ".json", ".csv", ".pt"])
def test_spoilt_files_are_read_or_refused(tmp_path, ending):
    content, chance = seeds_of_files(tmp_path)[ending], random.Random(zlib.crc32(ending.encode()))
    load_arrays(content, name=f"x{ending}", limits=SMALL)
    slowest, refusals = 0.0, []
    for _ in range(150):
        bad = spoilt(content, chance)
        start = time.process_time()
        refusals += [
            refusal_of(lambda c: load_arrays(c, name=f"x{ending}", limits=SMALL), bad),
            refusal_of(lambda c: load_recording(c, limits=SMALL), bad),
        ]
        slowest = max(slowest, time.process_time() - start)
    assert len([words for words in refusals if words]) > 150 and slowest < 2.0
    assert all("\n" not in words and len(words) < 600 for words in refusals)


def refusal_of(read: Callable[[Any], Any], content: Any) -> str:
    """Why it was refused; empty where it was read. Any other error is the test's."""
    try:
        read(content)
    except FileRefused as refusal:
        return str(refusal)
    return ""


def test_pasted_rubbish_is_read_or_refused():
    chance = random.Random(5)
    texts = ["■⬚\n■■", "[[0.5, 1], [2, 3]]", "1 0\n0 1", "tensor([[1., 0.]], dtype=torch.float32)"]
    for _ in range(200):
        text = spoilt(chance.choice(texts).encode(), chance).decode("utf-8", "replace")
        assert len(refusal_of(lambda t: parse_paste(t, limits=SMALL), text)) < 600
