"""Whether a model fits into memory, asked before it is loaded."""

import json
import os
import struct
import sys
from collections.abc import Iterable
from math import prod
from pathlib import Path

from attention_core.pretrained.errors import LoadError

FLOAT32 = 4  # bytes of a weight as it is computed with, whatever it was stored as
HEADROOM = 1.15  # of the weights: buffers, and the tensors being converted
_LONGEST_HEADER = 100_000_000  # bytes; what safetensors itself accepts


def require(name: str, weights: int) -> None:
    """Refuses a model that is too large for the memory free now.

    Args:
        name: of the model, for the message.
        weights: how many numbers it has.

    Raises:
        LoadError: "too-large".
    """
    needed, free = int(weights * FLOAT32 * HEADROOM), free_bytes()
    if free is not None and needed > free:
        raise LoadError(
            "too-large",
            name,
            f"a model must fit into free memory: {name} needs {needed / 1e9:.1f} GB in float32 and "
            f"{free / 1e9:.1f} GB are free; end other programs, or choose a smaller model",
            needed=needed / 1e9,
            free=free / 1e9,
        )


def weights_in(files: Iterable[Path]) -> int:
    """How many numbers there are in safetensors files, from their headers; a file that has none counts nothing."""
    total = 0
    for file in files:
        try:
            with file.open("rb") as handle:
                (length,) = struct.unpack("<Q", handle.read(8))
                header = json.loads(handle.read(min(length, _LONGEST_HEADER)))
            total += sum(prod(tensor["shape"]) for key, tensor in header.items() if key != "__metadata__")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
            continue  # not whole: loading says so better
    return total


def free_bytes() -> int | None:
    """Memory that can be taken without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return _physical_bytes()
    left = _container_bytes(Path("/sys/fs/cgroup"))
    return free if left is None else min(free, left)


def _container_bytes(group: Path) -> int | None:
    """What a container with a limit may still take; what it holds of files is given back when needed."""
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        return max(0, limit - next(int(line.split()[1]) for line in lines if line.startswith("anon ")))
    except (OSError, ValueError, IndexError, StopIteration):  # no container, or no limit ("max")
        return None


def _physical_bytes() -> int | None:
    if sys.platform == "win32" or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
