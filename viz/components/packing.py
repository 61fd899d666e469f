"""Arrays and a header as one block of bytes: what a component in the browser reads without parsing numbers.

Layout: 4 bytes little-endian length of the header, the header as UTF-8 JSON, blanks up to a multiple of 4, then the
arrays, each starting at a multiple of 4. The header lists them under ``arrays``: name, type, first byte, shape.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

UNITS = 65_000  # a rounded weight is a whole number of 1/65000
POSITIVE_INFINITY, NOT_A_NUMBER = 65_534, 65_535  # codes beyond every weight
_TYPES = {"float32": "<f4", "uint16": "<u2", "uint8": "|u1"}


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """One block of bytes out of a header and arrays.

    Args:
        header: what JSON can hold; ``arrays`` and ``revision`` are added.
        arrays: name -> float32, uint16 or uint8 of any shape.

    Returns:
        The block. Equal input gives equal bytes, and ``revision`` in its header differs wherever anything else does.

    Raises:
        ValueError: if an array is of another type, or the header is no JSON (NaN is not).
    """
    places, blocks, end = [], [], 0
    for name, array in arrays.items():
        if array.dtype.name not in _TYPES:
            raise ValueError(f"arrays for the browser are {', '.join(_TYPES)}: got {array.dtype} for {name!r}")
        block = np.ascontiguousarray(array, dtype=_TYPES[array.dtype.name]).tobytes()
        places.append({"name": name, "type": array.dtype.name, "start": end, "shape": list(array.shape)})
        blocks.append(block + bytes(-len(block) % 4))
        end += len(blocks[-1])
    content = json.dumps({**header, "arrays": places}, ensure_ascii=False, allow_nan=False)
    digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=12)
    for block in blocks:
        digest.update(block)
    whole = json.dumps(
        {**header, "arrays": places, "revision": digest.hexdigest()}, ensure_ascii=False, allow_nan=False
    ).encode("utf-8", "replace")
    whole += b" " * (-(len(whole) + 4) % 4)
    return len(whole).to_bytes(4, "little") + whole + b"".join(blocks)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a block made by ``pack``."""
    start = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:start])
    arrays = {}
    for place in header["arrays"]:
        count = int(np.prod(place["shape"], dtype=np.int64))
        flat = np.frombuffer(data, _TYPES[place["type"]], count, start + place["start"])
        arrays[place["name"]] = flat.reshape(place["shape"])
    return header, arrays


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights in 1/65000, uint16: off by at most 1/130000 up to a weight of 1, and 0 only where the weight is 0.

    NaN and infinity have codes of their own. What lies outside 0 to 1 (no softmax gives it) becomes the nearest end,
    and a negative weight the smallest step, never 0.
    """
    finite = np.isfinite(weights)
    units = np.rint(np.clip(np.where(finite, weights, 0), 0, 1).astype(np.float64) * UNITS).astype(np.uint16)
    units[finite & (weights != 0) & (units == 0)] = 1
    units[np.isinf(weights)] = POSITIVE_INFINITY
    units[np.isnan(weights)] = NOT_A_NUMBER
    return units


def packed_states(states: np.ndarray) -> np.ndarray:
    """States of cells (0 to 3), four to a byte, the first in the lowest bits; uint8 of ceil(size / 4)."""
    flat = states.astype(np.uint8).ravel()
    flat = np.concatenate([flat, np.zeros(-flat.size % 4, np.uint8)]).reshape(-1, 4)
    return flat[:, 0] | flat[:, 1] << 2 | flat[:, 2] << 4 | flat[:, 3] << 6
