"""Numbers of a view as files: named arrays on named axes, as arrays (.npz), a long table (.csv), strict JSON."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from viz.services.attention import ModelRequest, Request

_PACKAGES = ("torch", "transformers", "streamlit", "plotly", "numpy")


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a table: its name, its size, and columns that say what stands at each place.

    Attributes:
        name: as "query"; the column with the number of the place.
        size: how many places there are.
        labels: name of a column -> one text or number per place.
        first: number of the first place.
    """

    name: str
    size: int
    labels: Mapping[str, tuple[Any, ...]]
    first: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """Arrays of one shape.

    Attributes:
        code: short name, for files.
        axes: in the order of the arrays' axes.
        arrays: name -> array, one number or truth per cell.
    """

    code: str
    axes: tuple[Axis, ...]
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        shape = tuple(axis.size for axis in self.axes)
        wrong = {name: array.shape for name, array in self.arrays.items() if array.shape != shape}
        wrong |= {
            column: len(labels)
            for axis in self.axes
            for column, labels in axis.labels.items()
            if len(labels) != axis.size
        }
        if wrong:
            raise ValueError(f"every array of a table is {shape}, and every label has its place: got {wrong}")


@dataclass(frozen=True, eq=False)
class Numbers:
    """What a view shows.

    Attributes:
        name: of the files, without ending.
        tables: one or more.
        about: what the numbers are of; for JSON.
    """

    name: str
    tables: tuple[Table, ...]
    about: Mapping[str, Any]


def about_request(request: Request) -> dict[str, Any]:
    """What was run, with its settings and the versions of what ran it; for JSON."""
    if isinstance(request, ModelRequest):
        source, texts, settings = request.model, [plain(text) for text in request.texts], plain(request.switches)
        settings["padding_side"] = request.padding_side
    else:
        source, texts, settings = "from-scratch", [request.text], plain(request.config)
    told = {"source": source, "texts": texts, "settings": settings}
    if isinstance(request, ModelRequest) and request.targets:
        told["targets"] = list(request.targets)
    return told | {"versions": {name: version(name) for name in _PACKAGES}}


def tables_npz(numbers: Numbers) -> bytes:
    """Every array as it is, labels as arrays of strings or numbers, ``about`` as JSON; nothing needs pickle.

    Where there are several tables, ``<table>.`` stands before each name.
    """
    arrays: dict[str, np.ndarray] = {}
    for table in numbers.tables:
        before = f"{table.code}." if len(numbers.tables) > 1 else ""
        arrays |= {before + name: array for name, array in table.arrays.items()}
        for axis in table.axes:
            arrays |= {before + column: np.array(labels) for column, labels in axis.labels.items()}
    arrays["about"] = np.array(json.dumps(_about(numbers), ensure_ascii=False, allow_nan=False))
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def table_csv(table: Table) -> bytes:
    """One line per cell: places and labels of every axis, then each array; UTF-8 with a mark for spreadsheets.

    Numbers are in the shortest form that reads back, truths are 1 and 0.
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*(name for axis in table.axes for name in (axis.name, *axis.labels)), *table.arrays])
    for place in np.ndindex(tuple(axis.size for axis in table.axes)):
        where = [value for axis, at in zip(table.axes, place, strict=True) for value in _place(axis, at)]
        writer.writerow([*where, *(_cell(array[place]) for array in table.arrays.values())])
    return file.getvalue().encode("utf-8-sig", "surrogatepass")


def tables_json(numbers: Numbers) -> bytes:
    """Every array as nested lists; NaN and infinities, which JSON has not, are strings."""
    told = _about(numbers)
    told["tables"] = {
        table.code: {
            "axes": [axis.name for axis in table.axes],
            "labels": {name: plain(values) for axis in table.axes for name, values in axis.labels.items()},
            "first": {axis.name: axis.first for axis in table.axes},
            "arrays": {name: nested(array) for name, array in table.arrays.items()},
        }
        for table in numbers.tables
    }
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


def plain(value: Any) -> Any:
    """A frozen setting as dicts, lists and numbers; numbers that JSON has not are strings."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (frozenset, set)):
        return sorted(plain(one) for one in value)
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    return named(value) if isinstance(value, float) else value


def nested(array: np.ndarray) -> list:
    """An array as nested lists for JSON."""
    values = array.astype(np.float64) if array.dtype.kind == "f" else array
    return plain(values.tolist())


def named(number: float) -> float | str:
    """A number, or its name where JSON has none."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _about(numbers: Numbers) -> dict[str, Any]:
    return plain(numbers.about)


def _place(axis: Axis, at: int) -> Iterator[Any]:
    yield axis.first + at
    for labels in axis.labels.values():
        yield int(labels[at]) if isinstance(labels[at], bool) else labels[at]


def _cell(value: Any) -> str:
    return str(int(value)) if isinstance(value, np.bool_) else str(value)
