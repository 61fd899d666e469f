"""What is brought to the Debug page beside a second file: array by array, and the shown map cell by cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attention_core.compare import Compared, compare_cases, signed_difference
from attention_core.doctor.inputs import read_tokens
from attention_core.intake import Case, Intake
from attention_core.testing import attention_tolerance
from viz.services.debug import CellView, DebugError, Examined, Wish, cell_view, examine, labels_of, sizes_of

MOST_CELLS_OF_BOTH = 16_000_000  # of weights that are formed from Q and K, in all calls
_MOST_NUMBERS = 8  # tokens up to which numbers fit into the cells of three maps side by side
_WEIGHTS = ("observed", "recomputed")
_QUERY_AND_KEY = ("weights", "allowed", "blocked", "raw_mask", "bias")  # their last two axes
_TOKEN_AXES = {"query": ("query", "d"), "output": ("query", "d"), "key": ("key", "d"), "value": ("key", "d")}


@dataclass(frozen=True, eq=False)
class Line:
    """One line of the table: what came of an array, the call's name, and its cells as people read them."""

    found: Compared
    call: str
    worst: str
    places: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """All lines; ``worst`` is the one with the largest difference in numbers, None where there is none."""

    lines: tuple[Line, ...]
    wrong: int
    worst: Line | None


@dataclass(frozen=True, eq=False)
class MapPair:
    """The shown map in both files.

    Attributes:
        first, second: the two maps.
        difference: (q_len, k_len) float32, second - first; 0 where both are NaN or the same infinity.
        cells, total: how many cells differ, of how many.
        largest: the largest difference, inf where one alone is no finite number. query, key: where.
        numbers: whether numbers fit into the cells.
    """

    first: CellView
    second: CellView
    difference: np.ndarray
    cells: int
    total: int
    largest: float
    query: int
    key: int
    numbers: bool


def compare(first: Intake, second: Intake) -> Comparison:
    """Both files, array by array, as the command line compares them.

    Raises:
        DebugError: if that would form too many weights.
        ValueError: if they have nothing in common, or arrays of a call do not fit together.
    """
    recorded = [case for intake in (first, second) for case in intake.cases if case.record is not None]
    got = sum(max(sizes_of(case), default=0) for case in recorded)
    if got > MOST_CELLS_OF_BOTH:
        raise DebugError("compare", "compare_too_many", got=got, most=MOST_CELLS_OF_BOTH)
    lines = tuple(_line(found, first) for found in compare_cases(first.cases, second.cases))
    numeric = [line for line in lines if line.found.kind == "differs"]
    worst = max(numeric, key=lambda line: line.found.difference or 0.0, default=None)
    return Comparison(lines, sum(not line.found.same for line in lines), worst)


def _line(found: Compared, first: Intake) -> Line:
    case = None if found.call is None else first.cases[found.call]
    places = tuple(_said(found, place, case) for place in found.places)
    return Line(found, case.name if case else "", _said(found, found.where, case) if found.where else "", places)


def _said(found: Compared, place: tuple[int, ...], case: Case | None) -> str:
    """Indices, each with its token where the first file names it."""
    shape = found.shapes[0]
    sample = place[0] if len(shape) == 4 else 0
    tokens: dict[str, Any] = dict(zip(("query", "key"), read_tokens(case.tokens), strict=True)) if case else {}
    axes = _TOKEN_AXES.get(found.role, ("", ""))
    if found.role in _QUERY_AND_KEY and (found.role != "raw_mask" or len(shape) > 2):  # that may be (batch, k_len)
        axes = ("query", "key")
    names = [("", *axes)[max(axis - len(shape) + 3, 0)] for axis in range(len(shape))]
    labels = [labels_of(tokens.get(name), sample, size)[n] for name, n, size in zip(names, place, shape, strict=True)]
    return ", ".join(f"{n} {label}".strip() for n, label in zip(place, labels, strict=True))


def examine_second(second: Intake, call: int, wish: Wish) -> Examined:
    """The same call of the second file, with the same intent.

    Raises:
        DebugError: if it has no such call, or what is typed does not fit it.
        TypeError, ValueError: of the doctor, in one sentence.
    """
    if call >= len(second.cases):
        raise DebugError("compare", "compare_no_call", calls=len(second.cases))
    return examine(second.cases[call], wish)


def map_pair(first: Examined, second: Examined, sample: int, head: int) -> MapPair:
    """One map of both.

    Raises:
        DebugError: if their sizes differ, or one is of weights and the other of a mask.
    """
    sizes = [examined.masks.shape for examined in (first, second)]
    if sizes[0] != sizes[1]:
        raise DebugError("compare", "compare_sizes", first=str(sizes[0]), second=str(sizes[1]))
    left, right = (cell_view(examined, sample, head) for examined in (first, second))
    if left.kind != right.kind and not {left.kind, right.kind} <= set(_WEIGHTS):
        raise DebugError("compare", "compare_kinds")
    difference = signed_difference(torch.tensor(left.values), torch.tensor(right.values)).numpy()
    size = np.abs(difference)
    size[np.isnan(size)] = np.inf
    query, key = np.unravel_index(int(size.argmax()), size.shape)
    return MapPair(
        left, right, difference.astype(np.float32), int((size > _tolerance(first, second)).sum()), size.size,
        float(size.max()), int(query), int(key), max(size.shape) <= _MOST_NUMBERS,
    )  # fmt: skip


def _tolerance(*both: Examined) -> float:
    """As between arrays: by dtype; weights are at most about 1."""
    found = [e.masks.weights for e in both if e.masks.weights is not None]
    return max((attention_tolerance(weights.dtype) for weights in found), default=attention_tolerance(torch.float32))
