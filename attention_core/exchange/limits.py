"""What a file may be at most, and the one error that every refusal is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor

Source = str | PathLike[str] | bytes


class FileRefused(ValueError):
    """A file or a text cannot be taken; the message says why and what to do."""


@dataclass(frozen=True)
class Limits:
    """What is taken at most; sizes in bytes.

    Attributes:
        file_bytes: of the file as it lies on disk.
        array_bytes: of all arrays together once unpacked, and of any matrix that one call of a recording stands for.
        text_bytes: of JSON, CSV and pasted text, which take many times their size while they are read.
        metadata_bytes: of the header of a .safetensors file.
        arrays: how many.
        axes: of one array.
    """

    file_bytes: int = 512 * 2**20
    array_bytes: int = 1024 * 2**20
    text_bytes: int = 16 * 2**20
    metadata_bytes: int = 8 * 2**20
    arrays: int = 10_000
    axes: int = 8


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a file held.

    Attributes:
        arrays: name -> tensor, in the order of the file; numbers or bool.
        metadata: name -> text, number or nested JSON that stood beside them.
        format: the ending that it was read as, without the dot.
        notes: what was left out, in sentences.
    """

    arrays: Mapping[str, Tensor]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""
    notes: Sequence[str] = ()


def read_bytes(source: Source, limits: Limits) -> bytes:
    """The file's bytes, once its size was checked."""
    if isinstance(source, bytes):
        size, content = len(source), source
    else:
        try:
            size, content = Path(source).stat().st_size, None
        except OSError as error:
            raise FileRefused(f"a file must be there to be read: got {error}") from None
    if size > limits.file_bytes:
        raise FileRefused(
            f"a file may have at most {readable(limits.file_bytes)}: got {readable(size)}; save fewer layers, or in "
            "half precision"
        )
    if content is None:
        try:
            with Path(source).open("rb") as file:  # pyright: ignore[reportArgumentType]
                content = file.read(size + 1)
        except OSError as error:
            raise FileRefused(f"a file must be readable: got {error}") from None
        if len(content) > size:
            raise FileRefused("a file must not grow while it is read: got one that did; try again")
    return content


def check_shape(name: str, shape: Sequence[int], itemsize: int, limits: Limits) -> int:
    """Bytes that an array of that shape takes; refuses what is too large, before memory is taken."""
    if len(shape) > limits.axes:
        raise FileRefused(f"an array may have at most {limits.axes} axes: got {len(shape)} ({short(name)})")
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in shape):
        raise FileRefused(f"sizes of axes must be whole numbers from 0: got {short(str(list(shape)))} ({short(name)})")
    size = math.prod(shape) * itemsize
    widest = math.prod(n for n in shape if n) * itemsize  # (0, 10**18) takes nothing and breaks whoever broadcasts it
    if max(size, widest) > limits.array_bytes:
        raise FileRefused(
            f"an array may take at most {readable(limits.array_bytes)}: got shape {short(str(tuple(shape)))} "
            f"({short(name)})"
        )
    return size


def readable(size: int) -> str:
    """Bytes for a sentence."""
    return f"{size / 2**20:.4g} MB" if size >= 2**20 else f"{size} bytes"


def short(text: str, longest: int = 60) -> str:
    """A name from a stranger's file, fit for a sentence: one line, printable, not too long."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text[: longest + 1])
    return plain if len(plain) <= longest else plain[:longest] + "…"
