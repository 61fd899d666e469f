"""Pictures of coloured cells as PNG bytes: the standard library's zlib is all they need.

A picture of 270 heads as one PNG is 60 to 350 kB; the same cells as numbers are megabytes, and 270 charts are minutes.
"""

import struct
import zlib
from base64 import b64encode

import numpy as np


def palette_png(codes: np.ndarray, palette: np.ndarray) -> bytes:
    """A PNG with one byte per pixel.

    Args:
        codes: (height, width) uint8, indices into the palette.
        palette: (n, 4) uint8 red, green, blue, opacity; at most 256.

    Returns:
        The file's bytes.

    Raises:
        ValueError: if a code has no colour, or the shapes do not fit.

    Source:
        Portable Network Graphics, third edition (W3C 2025): colour type 3, filter 0.
    """
    if codes.ndim != 2 or codes.dtype != np.uint8 or 0 in codes.shape:
        raise ValueError(f"codes must be (height, width) uint8, neither of them 0: got {codes.dtype} {codes.shape}")
    if palette.ndim != 2 or palette.shape[1] != 4 or palette.dtype != np.uint8 or len(palette) > 256:
        raise ValueError(f"a palette is up to 256 colours of 4 bytes: got {palette.dtype} {palette.shape}")
    if int(codes.max()) >= len(palette):
        raise ValueError(f"every code needs a colour: got code {int(codes.max())} for {len(palette)} colours")
    height, width = codes.shape
    lines = np.zeros((height, width + 1), np.uint8)  # each line starts with its filter, 0
    lines[:, 1:] = codes
    parts = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", palette[:, :3].tobytes()),
        _chunk(b"tRNS", palette[:, 3].tobytes()),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def data_uri(png: bytes) -> str:
    """The picture as text that a figure can carry."""
    return "data:image/png;base64," + b64encode(png).decode("ascii")


def ramp(colours: tuple[str, ...], count: int) -> np.ndarray:
    """(count, 3) uint8: ``#rrggbb`` colours at even distances, mixed in between as Plotly mixes them."""
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours], dtype=np.float64)
    places = np.linspace(0, len(stops) - 1, count)
    mixed = [np.interp(places, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    return np.rint(np.stack(mixed, axis=1)).astype(np.uint8)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
