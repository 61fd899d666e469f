"""What is brought to the Debug page: files and pasted text as arrays, and which array is what."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from torch import Tensor

from attention_core.exchange import Arrays, Limits, is_recording, load_arrays, parse_paste
from attention_core.intake import NAMES, Intake, guess_roles, take_in

MOST_MEGABYTES = 64
LIMITS = Limits(file_bytes=MOST_MEGABYTES * 2**20, array_bytes=4 * MOST_MEGABYTES * 2**20, arrays=2000)
ENDINGS = ("npy", "npz", "safetensors", "json", "csv", "pt", "pth")
ROLES = ("", *NAMES)
AXES: Mapping[int, tuple[str, ...]] = {4: ("bhld", "blhd"), 3: ("hld", "bld")}
"""How axes may be meant, by their number; the first is what is taken where nobody says otherwise."""


def read_file(content: bytes, name: str) -> Arrays:
    """Arrays of an uploaded file.

    Raises:
        FileRefused: in one sentence.
    """
    return load_arrays(content, name=name, limits=LIMITS)


def read_paste(text: str, role: str) -> Arrays:
    """The array that was pasted, under the name of its role, or without a name where the role is "".

    Raises:
        FileRefused: in one sentence.
    """
    return Arrays({role or "array": parse_paste(text, limits=replace(LIMITS, text_bytes=2**20))}, format="paste")


def named_file() -> Path | None:
    """The file that stands on the app's command line: ``streamlit run app.py -- FILE``."""
    program, *given = sys.argv or [""]
    if Path(program).name != "app.py" or len(given) != 1 or given[0].startswith("-"):
        return None
    return Path(given[0])


@lru_cache(maxsize=2)
def read_named(path: Path) -> Arrays:
    """The file of the command line, which whoever started the app named.

    Raises:
        FileRefused: in one sentence.
    """
    return load_arrays(path)


@dataclass(frozen=True)
class ArrayLine:
    """One array of a file, for the table that says what it is taken for."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str
    axes: tuple[str, ...]


def array_lines(loaded: Arrays) -> tuple[ArrayLine, ...]:
    """The arrays of a file that is no recording; () for a recording."""
    if is_recording(loaded):
        return ()
    roles = guess_roles(loaded)
    return tuple(
        ArrayLine(name, tuple(array.shape), str(array.dtype).removeprefix("torch."), roles.get(name, ""),
                  _axes(roles.get(name, ""), array))
        for name, array in loaded.arrays.items()
    )  # fmt: skip


def _axes(role: str, array: Tensor) -> tuple[str, ...]:
    if role in ("query", "key", "value") or (role == "weights" and array.dim() == 3):
        return AXES.get(array.dim(), ())
    return ()


def cases(loaded: Arrays, roles: Mapping[str, str], axes: Mapping[str, str]) -> Intake:
    """The calls of what was brought.

    Args:
        loaded: the arrays.
        roles: name -> role, where the reader says so.
        axes: name -> a code of ``AXES``, likewise.

    Raises:
        FileRefused, ValueError: in one sentence.
    """
    turned = {name: _turned(array, axes.get(name, "")) for name, array in loaded.arrays.items()}
    return take_in(replace(loaded, arrays=turned), roles)


def _turned(array: Tensor, axes: str) -> Tensor:
    if axes == "blhd" and array.dim() == 4:
        return array.transpose(1, 2)
    if axes == "bld" and array.dim() == 3:
        return array[:, None]
    return array


def shapes_said(shape: Sequence[int]) -> str:
    """A shape as people write it."""
    return " × ".join(map(str, shape)) or "1"
