"""Arrays from other people's files: read as data, never as code; sizes are checked before memory is taken."""

import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.exchange import safetensors_file
from attention_core.exchange.limits import (
    DEFAULT_LIMITS,
    Arrays,
    FileRefused,
    Limits,
    Source,
    check_shape,
    read_bytes,
    readable,
    short,
)

ALONE = "array"
"""Name of the array in a file that holds one array and no name."""

_SAVE_SAFELY = (
    "save the arrays with safetensors.torch.save_file({'weights': w}, 'trace.safetensors'), or with "
    "numpy.savez('trace.npz', weights=w)"
)


def load_arrays(source: Source, *, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Arrays:
    """Reads .npy, .npz, .safetensors, .json, .csv, and .pt as far as that is safe.

    Nothing in a file is executed: no object arrays, no pickle but what ``torch.load(weights_only=True)`` takes.

    Args:
        source: path, or the bytes of a file.
        name: file name that says the format; taken from the path where it is None.
        limits: what is taken at most.

    Returns:
        Arrays: one array without a name is called "array"; float64 stays float64.

    Raises:
        FileRefused: whatever is wrong with the file, in one sentence.
    """
    if name is None:
        if isinstance(source, bytes):
            raise FileRefused("bytes need a file name that says their format: got none; pass name='trace.npz'")
        name = str(source)
    ending = PurePath(name).suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        raise FileRefused(
            f"a file must end in one of {', '.join(_READERS)}: got {short(ending) or 'no ending'}; {_SAVE_SAFELY}"
        )
    content = read_bytes(source, limits)
    try:
        return reader(content, limits)
    except FileRefused:
        raise
    except Exception as error:  # a stranger's file: whatever a reader stumbles over is a refusal
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise FileRefused(f"a {ending} file must be whole and of that format: got {short(words, 200)}") from None


# ---------------------------------------------------------------------------------------------------------------------
# NumPy

_DESCR = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?)([biuf?])(\d{0,2})['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,L]{0,400})\)""")
_NPY_HEADER = 10_000


def _npy(content: bytes, limits: Limits) -> Arrays:
    return Arrays({ALONE: _npy_array(ALONE, content, limits)}, format="npy")


def _npy_array(name: str, content: bytes, limits: Limits) -> Tensor:
    """The array of one .npy file, whose header is matched, not evaluated."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise FileRefused(f"a .npy file must start with its magic bytes: got another beginning ({short(name)})")
    wide = content[6] >= 2
    start = 12 if wide else 10
    length = int.from_bytes(content[8:start], "little")
    if length > min(_NPY_HEADER, len(content) - start):
        raise FileRefused(
            f"a .npy header may have at most {_NPY_HEADER} bytes and must be there: got {length} ({short(name)})"
        )
    header = content[start : start + length].decode("latin-1")
    if re.search(r"""['"]descr['"]\s*:\s*['"][<>|=]?O""", header):
        raise FileRefused(
            f"an array must hold numbers: got an object array ({short(name)}), which can run code while it is read; "
            "save it as array.astype('float32')"
        )
    descr, order, shape = _DESCR.search(header), _ORDER.search(header), _SHAPE.search(header)
    if descr is None or order is None or shape is None:
        raise FileRefused(
            f"a .npy array must hold bool, integers or floats: got {short(header.strip())} ({short(name)})"
        )
    try:
        dtype = np.dtype("".join(descr.groups()))
    except TypeError:
        raise FileRefused(f"a .npy array must have a type that NumPy knows: got {short(descr.group())}") from None
    axes = [int(n.rstrip("L")) for n in shape.group(1).replace(" ", "").split(",") if n]
    size = check_shape(name, axes, dtype.itemsize, limits)
    if size != len(content) - start - length:
        raise FileRefused(
            f"an array must be as long as its header says: got {len(content) - start - length} bytes for shape "
            f"{tuple(axes)} of {dtype} ({short(name)})"
        )
    flat = np.frombuffer(content, dtype, offset=start + length)
    return _tensor(flat.reshape(axes, order="F" if order.group(1) == "True" else "C"))


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))


def _npz(content: bytes, limits: Limits) -> Arrays:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = _entries(archive, limits)
        arrays, notes = {}, []
        for entry in entries:
            if not entry.filename.endswith(".npy"):
                notes.append(f"{short(entry.filename)} is no array and was left out")
                continue
            name = entry.filename.removesuffix(".npy")
            with archive.open(entry) as file:
                arrays[name] = _npy_array(name, file.read(entry.file_size + 1), limits)
    if not arrays:
        raise FileRefused("a .npz file must hold an array: got none")
    return Arrays(arrays, format="npz", notes=notes)


def _entries(archive: zipfile.ZipFile, limits: Limits) -> list[zipfile.ZipInfo]:
    """What an archive says that it holds, once that is not too much; reading stops at the sizes it says."""
    entries = archive.infolist()
    if len(entries) > limits.arrays:
        raise FileRefused(f"an archive may hold at most {limits.arrays} files: got {len(entries)}")
    if len({entry.filename for entry in entries}) != len(entries):
        raise FileRefused("names in an archive must differ: got one twice")
    total = sum(entry.file_size for entry in entries)
    if total > limits.array_bytes:
        raise FileRefused(f"an archive may unpack to at most {readable(limits.array_bytes)}: got {readable(total)}")
    if any(entry.flag_bits & 1 for entry in entries):
        raise FileRefused("an archive must not be encrypted: got one that is")
    return entries


# ---------------------------------------------------------------------------------------------------------------------
# torch


def _pt(content: bytes, limits: Limits) -> Arrays:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise FileRefused(
            f"a .pt file must be of the zip kind that torch.save writes: got an old or a foreign one; {_SAVE_SAFELY}"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        room = sum(entry.file_size for entry in _entries(archive, limits))
    try:
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception:  # torch says at length how to switch the protection off
        raise FileRefused(
            f"a .pt file must hold plain tensors: got one whose reading could run code; {_SAVE_SAFELY}"
        ) from None
    arrays: dict[str, Tensor] = {}
    notes: list[str] = []
    for name, value in _flatten(found, limits):
        if not isinstance(value, Tensor):
            notes.append(f"{short(name)} is no tensor and was left out")
            continue
        if value.layout != torch.strided or value.is_quantized or value.is_complex() or value.device.type != "cpu":
            raise FileRefused(f"a tensor must be dense numbers: got {value.layout}, {value.dtype} ({short(name)})")
        check_shape(name, list(value.shape), value.element_size(), limits)
        if value.untyped_storage().nbytes() > room:
            raise FileRefused(f"a tensor must not claim more than the file holds: got one that does ({short(name)})")
        arrays[name] = value.detach().contiguous()
    _check_total(arrays, limits)
    if not arrays:
        raise FileRefused(f"a .pt file must hold a tensor: got none; {_SAVE_SAFELY}")
    return Arrays(arrays, format="pt", notes=notes)


# ---------------------------------------------------------------------------------------------------------------------
# text


def _json(content: bytes, limits: Limits) -> Arrays:
    try:
        found = json.loads(_text(content, limits))
    except RecursionError:
        raise FileRefused("JSON must not be nested that deep: got more levels than can be read") from None
    if not isinstance(found, (dict, list)):
        raise FileRefused(f"JSON must be lists of numbers, or such lists by name: got {type(found).__name__}")
    arrays, metadata = {}, {}
    named = found if isinstance(found, dict) else {ALONE: found}
    if len(named) > limits.arrays:
        raise FileRefused(f"a file may hold at most {limits.arrays} arrays: got {len(named)}")
    for name, value in named.items():
        if isinstance(value, list) and _holds_numbers(value):
            arrays[name] = numbers(value, name, limits)
        else:
            metadata[name] = value
    if not arrays:
        raise FileRefused("JSON must hold a list of numbers: got none")
    return Arrays(arrays, metadata, "json")


def _holds_numbers(value: Any) -> bool:
    while isinstance(value, list):
        if not value:
            return False
        value = value[0]
    return isinstance(value, (bool, int, float))


def numbers(nested: list[Any], name: str, limits: Limits) -> Tensor:
    """Bool, int64 or float32 tensor of nested lists; ragged ones and other values are refused."""
    shape: list[int] = []
    level: Any = nested
    while isinstance(level, list):
        shape.append(len(level))
        if len(shape) > limits.axes or not level:
            break
        level = level[0]
    check_shape(name, shape, 8, limits)
    flat: list[Any] = [nested]
    for size in shape:
        if not all(isinstance(row, list) and len(row) == size for row in flat):
            raise FileRefused(f"rows must have one length: got ragged lists ({short(name)})")
        flat = [cell for row in flat for cell in row]
    kinds = {type(cell) for cell in flat}
    if not kinds <= {bool, int, float}:
        odd = next(cell for cell in flat if type(cell) not in (bool, int, float))
        words = short(repr(odd)) if isinstance(odd, str) else type(odd).__name__
        raise FileRefused(f"cells must be numbers: got {words} ({short(name)})")
    dtype = torch.bool if kinds == {bool} else torch.float32 if float in kinds else torch.int64
    if dtype == torch.int64 and any(abs(cell) >= 2**63 for cell in flat):
        raise FileRefused(f"whole numbers must fit into 64 bits: got a larger one ({short(name)})")
    return torch.tensor([_float32(c) for c in flat] if dtype == torch.float32 else flat, dtype=dtype).reshape(shape)


def _float32(cell: float) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _csv(content: bytes, limits: Limits) -> Arrays:
    """A grid of numbers; a first row or first column of words is taken as labels."""
    text = _text(content, limits)
    first = text.lstrip().partition("\n")[0]
    mark = max(",;\t", key=first.count)
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=mark)]
    rows = [row for row in rows if any(row)]
    if not rows:
        raise FileRefused("a .csv file must hold numbers: got none")
    metadata: dict[str, Any] = {}
    if len(rows) > 1 and any(_number(cell) is None for cell in rows[0][1:] or rows[0]):
        metadata["columns"] = rows.pop(0)
    if all(_number(row[0]) is None for row in rows) and all(len(row) > 1 for row in rows):
        metadata["rows"] = [row[0] for row in rows]
        rows = [row[1:] for row in rows]
        if "columns" in metadata and len(metadata["columns"]) == len(rows[0]) + 1:
            metadata["columns"] = metadata["columns"][1:]
    return Arrays({ALONE: numbers(_grid(rows), ALONE, limits)}, metadata, "csv")


def _grid(rows: list[list[str]]) -> list[list[Any]]:
    found = [[_number(cell) for cell in row] for row in rows]
    for y, row in enumerate(found):
        if None in row:
            x = row.index(None)
            raise FileRefused(f"cells must be numbers: got {short(rows[y][x])!r} in row {y}, column {x}")
    return found


def _number(cell: str) -> bool | int | float | None:
    """What a cell of text stands for; None where it is no number."""
    lower = cell.lower()
    if lower in ("true", "false"):
        return lower == "true"
    try:
        return int(cell) if re.fullmatch(r"[+-]?\d{1,18}", cell) else float(cell)
    except ValueError:
        return None


def _text(content: bytes, limits: Limits) -> str:
    if len(content) > limits.text_bytes:
        raise FileRefused(
            f"a file of text may have at most {readable(limits.text_bytes)}: got {readable(len(content))}; save it as "
            ".npz"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileRefused("a file of text must be UTF-8: got other bytes") from None


# ---------------------------------------------------------------------------------------------------------------------


def _flatten(found: Any, limits: Limits) -> Iterator[tuple[str, Any]]:
    """(name, value) of one value, a list, or a dict, and of what lies one level below."""
    count = 0
    waiting: list[tuple[str, Any, int]] = [(ALONE, found, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        inner = (
            value.items()
            if isinstance(value, Mapping)
            else enumerate(value)
            if isinstance(value, (list, tuple))
            else None
        )
        if inner is None or depth > 2:
            count += 1
            if count > limits.arrays:
                raise FileRefused(f"a file may hold at most {limits.arrays} arrays: got more")
            yield name, value
            continue
        if len(value) > limits.arrays:
            raise FileRefused(f"a file may hold at most {limits.arrays} arrays: got {len(value)}")
        below = [(f"{name}.{short(str(key))}" if depth else short(str(key)), item, depth + 1) for key, item in inner]
        waiting.extend(reversed(below))


def _check_total(arrays: Mapping[str, Tensor], limits: Limits) -> None:
    total = sum(tensor.numel() * tensor.element_size() for tensor in arrays.values())
    if total > limits.array_bytes:
        raise FileRefused(f"all arrays may take at most {readable(limits.array_bytes)}: got {readable(total)}")


_READERS: dict[str, Callable[[bytes, Limits], Arrays]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".safetensors": safetensors_file.read,
    ".json": _json,
    ".csv": _csv,
    ".pt": _pt,
    ".pth": _pt,
}
