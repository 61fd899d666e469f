"""Where two lists of attention calls differ, array by array."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from attention_core.intake import Case
from attention_core.testing import attention_tolerance

MOST_PLACES = 5
"""So many differing cells of an array are named."""

Kind = Literal["same", "differs", "shape", "first alone", "second alone", "calls"]


@dataclass(frozen=True)
class Compared:
    """What came of comparing one array.

    Attributes:
        kind: "same", "differs" (in its numbers), "shape", "first alone" or "second alone" (the other has none), or
            "calls": there are more calls in one.
        what: call and array. said: the outcome as a sentence.
        call: its number from 0; None for "calls". role: a key of ``intake.NAMES``; "" for "calls".
        difference: the largest; inf where one alone is NaN or infinite; None where no numbers were compared.
        where: index of the worst cell; None where nothing differs.
        places: indices of the first cells that differ, in the order of the array, at most ``MOST_PLACES``.
        cells, total: how many cells differ, of how many.
        nan: cells that are NaN in one alone.
        tolerance: absolute; what is larger differs.
        shapes: of both arrays; of the one that is there. For "calls": how many.
    """

    kind: Kind
    what: str
    said: str
    call: int | None = None
    role: str = ""
    difference: float | None = None
    where: tuple[int, ...] | None = None
    places: tuple[tuple[int, ...], ...] = ()
    cells: int = 0
    total: int = 0
    nan: int = 0
    tolerance: float = 0.0
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.kind == "same"

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which knows no infinity: ``difference`` is None there."""
        finite = self.difference is not None and math.isfinite(self.difference)
        return {**asdict(self), "same": self.same, "difference": self.difference if finite else None}


def compare_cases(
    first: Sequence[Case], second: Sequence[Case], *, tolerance: float | None = None
) -> tuple[Compared, ...]:
    """Compares two lists of calls in their order, array by array.

    Args:
        first: of ``intake.take_in``.
        second: likewise.
        tolerance: absolute. None: by dtype and the size of the first's numbers; 0 between integers.

    Returns:
        One entry per array of either, and one first where the numbers of calls differ.

    Raises:
        ValueError: if they have no array in common.
    """
    found: list[Compared] = []
    if len(first) != len(second):
        said = f"{len(first)} and {len(second)}; the first {min(len(first), len(second))} are compared"
        found.append(Compared("calls", "calls", said, shapes=((len(first),), (len(second),))))
    common = 0
    for call, (one, other) in enumerate(zip(first, second, strict=False)):
        left, right = one.everything(), other.everything()
        for role in dict.fromkeys([*left, *right]):
            what = f"{one.name}: {role}" if one.name else role
            if role in left and role in right:
                common += 1
                found.append(_compared(what, call, role, left[role], right[role], tolerance))
            else:
                there: Literal["first", "second"] = "first" if role in left else "second"
                shape = tuple((left if role in left else right)[role].shape)
                said = f"in the {there} file alone"
                kind: Kind = "first alone" if role in left else "second alone"
                found.append(Compared(kind, what, said, call, role, shapes=(shape,)))
    if not common:
        raise ValueError("two files must have an array of one kind to be compared: got none in common")
    return tuple(found)


def signed_difference(first: Tensor, second: Tensor) -> Tensor:
    """Second minus first; 0 where both are NaN or the same infinity, NaN where one alone is NaN.

    Args:
        first: any shape, any dtype.
        second: the same shape.

    Returns:
        float64 of that shape.
    """
    a, b = first.double(), second.double()
    alike = (a == b) | (a.isnan() & b.isnan())
    return (b - a).masked_fill(alike, 0.0)


def _compared(what: str, call: int, role: str, one: Tensor, other: Tensor, tolerance: float | None) -> Compared:
    shapes = (tuple(one.shape), tuple(other.shape))
    if one.shape != other.shape:
        return Compared("shape", what, f"shapes {shapes[0]} and {shapes[1]}", call, role, shapes=shapes)
    floats = [t.dtype for t in (one, other) if t.dtype.is_floating_point]
    a, b = one.double(), other.double()
    gap = signed_difference(one, other).abs().nan_to_num(nan=math.inf)  # infinite where one alone is NaN
    largest = float(gap.max()) if gap.numel() else 0.0
    if tolerance is None:
        finite = a[a.isfinite()]
        size = float(finite.abs().max()) if finite.numel() else 0.0
        tolerance = max(map(attention_tolerance, floats)) * max(1.0, size) if floats else 0.0
    beyond = gap > tolerance
    cells, total = int(beyond.sum()), gap.numel()
    if not cells:
        said = f"largest difference {largest:.3g} (tolerance {tolerance:.3g})"
        return Compared("same", what, said, call, role, largest, total=total, tolerance=tolerance, shapes=shapes)
    where = tuple(int(n) for n in torch.unravel_index(gap.argmax(), gap.shape))
    places = tuple(tuple(index) for index in beyond.nonzero()[:MOST_PLACES].tolist())
    nan = int((a.isnan() ^ b.isnan()).sum())
    said = f"{cells} of {total} cells differ, by up to {largest:.3g} at {where} (tolerance {tolerance:.3g})"
    said += f"; NaN in one file alone: {nan}" if nan else ""
    return Compared("differs", what, said, call, role, largest, where, places, cells, total, nan, tolerance, shapes)
