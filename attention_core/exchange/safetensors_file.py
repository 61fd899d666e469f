"""Reading and writing one .safetensors file, its header checked here before the library sees it."""

import json
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from attention_core.exchange.limits import Arrays, FileRefused, Limits, check_shape, readable, short

_SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8,
    "U64": 8, "F64": 8,
}  # fmt: skip


def read(content: bytes, limits: Limits) -> Arrays:
    """Arrays and metadata; metadata that is JSON comes parsed."""
    if len(content) < 8:
        raise FileRefused(f"a .safetensors file starts with the length of its header: got {len(content)} bytes in all")
    length = int.from_bytes(content[:8], "little")
    if length > limits.metadata_bytes:
        raise FileRefused(f"a header may have at most {readable(limits.metadata_bytes)}: got {readable(length)}")
    if length > len(content) - 8:
        raise FileRefused(f"a header must lie in the file: got {length} bytes announced, {len(content) - 8} there")
    header = _parsed(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FileRefused("metadata of a .safetensors file is text by name: got something else")
    if len(header) > limits.arrays:
        raise FileRefused(f"a file may hold at most {limits.arrays} arrays: got {len(header)}")
    _check_places(header, len(content) - 8 - length, limits)
    try:
        arrays = safetensors.torch.load(content)
    except Exception as error:  # the library's last word, whatever its kind
        raise FileRefused(f"a .safetensors file must be whole: got {short(str(error), 200)}") from None
    return Arrays({name: arrays[name] for name in header}, {k: _json_or_text(v) for k, v in metadata.items()},
                  "safetensors")  # fmt: skip


def write(path: str | PathLike[str], arrays: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Writes the file, whole or not at all."""
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in arrays.items()}, dict(metadata))
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        beside.write_bytes(content)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_once)
    except FileRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise FileRefused(f"a header must be JSON: got {short(str(error))}") from None
    if not isinstance(header, dict):
        raise FileRefused(f"a header must be a JSON object: got {type(header).__name__}")
    return header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileRefused("names in a header must differ: got one twice")
    return found


def _check_places(header: Mapping[str, Any], room: int, limits: Limits) -> None:
    total = 0
    for name, entry in header.items():
        dtype, shape, place = (
            entry.get(k) if isinstance(entry, dict) else None for k in ("dtype", "shape", "data_offsets")
        )
        if not isinstance(dtype, str) or dtype not in _SIZES:
            raise FileRefused(f"numbers must be bool, integers or floats from 16 bits: got {short(str(dtype))} "
                              f"({short(name)})")  # fmt: skip
        if not isinstance(shape, list) or not isinstance(place, list) or len(place) != 2:
            raise FileRefused(f"an array needs a shape and two offsets: got none ({short(name)})")
        size = check_shape(name, shape, _SIZES[dtype], limits)
        total += size
        if (
            not all(type(n) is int for n in place)
            or not 0 <= place[0] <= place[1] <= room
            or place[1] - place[0] != size
        ):
            raise FileRefused(f"an array must lie where its header says: got {short(str(place))} for {size} bytes of "
                              f"{room} ({short(name)})")  # fmt: skip
    if total > limits.array_bytes:
        raise FileRefused(f"all arrays may take at most {readable(limits.array_bytes)}: got {readable(total)}")
    if total != room:
        raise FileRefused(f"arrays must fill the file without overlap: got {total} bytes of arrays in {room}")


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
