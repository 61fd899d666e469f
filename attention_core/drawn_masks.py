"""Square masks drawn cell by cell, as one string: rows of 1 and 0 with "/" between, or packed for a link."""

import base64
import binascii
import re

import numpy as np
import torch
from torch import Tensor

LARGEST = 256
_SIGNS = str.maketrans({"■": "1", "⬚": "0", "\n": "/"})


def read_rows(drawing: str) -> str:
    """The one spelling of a drawing, so that equal masks are equal strings.

    >>> read_rows("■⬚/■■")
    '10/11'

    Args:
        drawing: one row per query, of 1 or ■ = may attend and 0 or ⬚ = may not; "/" or a new line between rows.

    Returns:
        Rows of 1 and 0 with "/" between.

    Raises:
        ValueError: if it holds other signs, is not square, or is larger than ``LARGEST``.
    """
    rows = drawing.strip().translate(_SIGNS).split("/")
    wrong = next((row for row in rows if not re.fullmatch("[01]+", row)), None)
    if wrong is not None:
        raise ValueError(f'a drawn mask is rows of 1 and 0 with "/" between, such as "10/11": got a row {wrong[:20]!r}')
    odd = next((index for index, row in enumerate(rows) if len(row) != len(rows)), None)
    if odd is not None:
        raise ValueError(
            f"a drawn mask must be square, as many columns as rows: got {len(rows)} rows and "
            f"{len(rows[odd])} columns in row {odd}"
        )
    if len(rows) > LARGEST:
        raise ValueError(f"a drawn mask has at most {LARGEST} rows: got {len(rows)}; draw a smaller one")
    return "/".join(rows)


def size_of(rows: str) -> int:
    """Queries of a drawing, and as many keys."""
    return rows.count("/") + 1


def drawn(rows: str) -> Tensor:
    """The mask of ``read_rows``: (len, len) bool, True = may attend."""
    return torch.tensor([[sign == "1" for sign in row] for row in rows.split("/")])


def pack(rows: str) -> str:
    """A drawing for a link: its size, a dot, and its cells as bits in base64, in letters that need no escape.

    >>> pack("10/11"), unpack("2.sA")
    ('2.sA', '10/11')
    """
    bits = np.packbits(drawn(rows).numpy().ravel()).tobytes()
    return f"{size_of(rows)}.{base64.urlsafe_b64encode(bits).decode('ascii').rstrip('=')}"


def unpack(code: str) -> str:
    """The drawing of ``pack``.

    Raises:
        ValueError: if the code is none, or holds more or fewer cells than its size says.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,2})\.([A-Za-z0-9_-]+)", code)
    if found is None or int(found[1]) > LARGEST:
        raise ValueError(
            f'a packed mask is its size up to {LARGEST}, a dot and base64, such as "2.sA": got {code[:20]!r}'
        )
    size = int(found[1])
    try:
        bits = base64.b64decode(found[2] + "=" * (-len(found[2]) % 4), b"-_", validate=True)
    except binascii.Error:
        bits = b""
    if len(bits) != -(-size * size // 8):
        raise ValueError(f"a packed mask of size {size} holds {size * size} cells: got {8 * len(bits)} bits")
    cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=size * size).reshape(size, size)
    return "/".join("".join(map(str, row)) for row in cells.tolist())
