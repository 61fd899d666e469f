"""Recordings as one .safetensors file: arrays per call, everything else as JSON in the metadata."""

import json
import math
import platform
from collections.abc import Mapping
from os import PathLike
from typing import Any, get_args

import torch
from torch import Tensor

from attention_core.capture.records import (
    Given,
    MaskConvention,
    RebuildError,
    Record,
    Recording,
    RecordKind,
    Reproduction,
)
from attention_core.exchange import safetensors_file
from attention_core.exchange.limits import (
    DEFAULT_LIMITS,
    Arrays,
    FileRefused,
    Limits,
    Source,
    check_shape,
    read_bytes,
    short,
)

FORMAT = "headscope.recording"
FORMAT_VERSION = 1

CONVENTIONS = {
    "axes": "(batch, heads, q_len, k_len): rows are queries, columns are keys",
    "allowed": "bool, True = may attend",
    "mask": "as the program gave it; mask_convention says what it means",
    "bias": "added to the scaled scores",
    "output": "as the call returned it; mha: (q_len, batch, d_model) after the output projection",
    "observed": "weights that the program itself used, dropout included",
    "weights": "rebuilt from query, key, allowed, bias and scale, without dropout",
}

_HALVED = ("query", "key", "value", "output", "observed", "weights")
_HALF_MOST = float(torch.finfo(torch.float16).max)


def save_recording(
    recording: Recording,
    path: str | PathLike[str],
    *,
    half: bool = False,
    weights: bool = True,
    allow_empty: bool = False,
) -> None:
    """Writes a recording as one .safetensors file, which any program that reads safetensors can open.

    Weights are rebuilt here, and each call says whether they reproduce its output; with dropout it says why not.

    Args:
        recording: of ``attention_core.capture.record``.
        path: of the file, which should end in .safetensors.
        half: float32 and float64 numbers as float16, masks and biases excepted. A call whose numbers do not fit into
            float16 keeps its own.
        weights: also write the rebuilt weights. Readers of ours rebuild them and need none.
        allow_empty: write a recording that holds no call.

    Raises:
        ValueError: if nothing was captured and ``allow_empty`` is not set.
    """
    if recording.nothing_captured and not allow_empty:
        raise ValueError(
            f"a recording must hold a call to be saved: got none; {' '.join(recording.notes)} Pass allow_empty=True to "
            "save it all the same"
        )
    arrays: dict[str, Tensor] = {}
    shared: dict[tuple[int, torch.Size], str] = {}
    calls = [_call(record, arrays, shared, half, weights) for record in recording]
    about = {
        "name": recording.name,
        "tokens": recording.tokens,
        "notes": recording.notes,
        "conventions": CONVENTIONS,
        "versions": recording.versions
        or {"python": platform.python_version(), "torch": torch.__version__, "format": str(FORMAT_VERSION)},
        "half": half,
        "calls": calls,
    }
    metadata = {"format": FORMAT, "format_version": str(FORMAT_VERSION), "recording": json.dumps(about)}
    safetensors_file.write(path, arrays, metadata)


def _call(
    record: Record, arrays: dict[str, Tensor], shared: dict[tuple[int, torch.Size], str], half: bool, weights: bool
) -> dict[str, Any]:
    """Adds the arrays of one call; returns what else is known of it."""
    held: dict[str, Tensor | None] = {
        "output": record.output, "mask": record.mask, "key_padding_mask": record.key_padding_mask,
        "observed": record.observed,
    }  # fmt: skip
    reason = record.cannot_rebuild
    scale = None
    try:
        held.update(query=record.query, key=record.key, value=record.value)
        held.update(allowed=_compact(record.allowed), bias=_compact(record.bias))
        scale = record.scale
    except RebuildError as error:
        reason = str(error)
    if reason is None and weights:
        held["weights"] = record.weights
    check = record.reproduces
    if half and all(_fits_half(held.get(name)) for name in _HALVED):
        held.update({name: _halved(held.get(name)) for name in _HALVED})
    names = {}
    for name, tensor in held.items():
        if tensor is not None:
            place = (tensor.data_ptr(), tensor.shape) if tensor.numel() else (0, tensor.shape)
            names[name] = shared.get(place, f"call.{record.index:05d}.{name}") if name == "mask" else (
                f"call.{record.index:05d}.{name}"
            )  # fmt: skip
            if names[name] not in arrays:
                arrays[names[name]] = tensor.detach().cpu().contiguous().clone()
            if name == "mask" and tensor.numel():
                shared.setdefault(place, names[name])
    return {
        "index": record.index, "kind": record.kind, "best_effort": record.best_effort, "module": record.module,
        "module_class": record.module_class, "file": record.file, "line": record.line, "via": record.via,
        "mask_convention": record.mask_convention, "key_padding_convention": record.key_padding_convention,
        "flags": dict(record.flags), "scale": scale, "arrays": names, "cannot_rebuild": reason,
        "reproduces": {
            "passed": check.passed, "difference": None if math.isnan(check.difference) else check.difference,
            "tolerance": check.tolerance, "reason": check.reason,
        },
    }  # fmt: skip


def _compact(tensor: Tensor | None) -> Tensor | None:
    """Axes that were only expanded, back to one."""
    if tensor is None:
        return None
    for axis in range(tensor.dim()):
        if tensor.stride(axis) == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def _fits_half(tensor: Tensor | None) -> bool:
    if tensor is None or tensor.dtype not in (torch.float32, torch.float64) or not tensor.numel():
        return True
    return float(tensor.abs().nan_to_num(0.0, posinf=0.0).max()) <= _HALF_MOST


def _halved(tensor: Tensor | None) -> Tensor | None:
    return tensor.half() if tensor is not None and tensor.dtype in (torch.float32, torch.float64) else tensor


def load_recording(source: Source, *, limits: Limits = DEFAULT_LIMITS) -> Recording:
    """Reads what ``save_recording`` wrote; nothing in the file is ever executed.

    Args:
        source: path, or the bytes of a file.
        limits: what is taken at most.

    Returns:
        Recording whose calls rebuild their weights as live ones do. ``reproduces`` is what was found when it was saved.

    Raises:
        FileRefused: if the file is not such a recording, or beyond the limits.
    """
    return recording_of(safetensors_file.read(read_bytes(source, limits), limits), limits=limits)


def is_recording(loaded: Arrays) -> bool:
    """Whether arrays that were loaded are a recording of ours."""
    return loaded.metadata.get("format") == FORMAT


def recording_of(loaded: Arrays, *, limits: Limits = DEFAULT_LIMITS) -> Recording:
    """The recording that loaded arrays stand for.

    Raises:
        FileRefused: if they are none.
    """
    if not is_recording(loaded):
        raise FileRefused("a recording must say that it is one: got a file of another kind; load_arrays reads it")
    if loaded.metadata.get("format_version") != FORMAT_VERSION:
        found = short(str(loaded.metadata.get("format_version")))
        raise FileRefused(f"a recording must have format version {FORMAT_VERSION}: got {found}; record it again")
    about = loaded.metadata.get("recording")
    try:
        calls = [_record(call, index, loaded.arrays, limits) for index, call in enumerate(_take(about, "calls", list))]
        return Recording(
            calls,
            notes=[_text(note) for note in _take(about, "notes", list)],
            tokens=[[_text(label) for label in _is(sample, list)] for sample in _take(about, "tokens", list)],
            name=_take(about, "name", str),
            versions={_text(k): _text(v) for k, v in _take(about, "versions", dict).items()},
        )
    except (TypeError, KeyError, OverflowError) as error:
        raise FileRefused(f"a recording must be as it was written: got {short(str(error), 200)}") from None


def _record(call: Any, index: int, arrays: Mapping[str, Tensor], limits: Limits) -> Record:
    held: dict[str, Tensor] = {}
    for name, place in _take(call, "arrays", dict).items():
        if not isinstance(place, str) or place not in arrays:
            raise FileRefused(f"a call must find its arrays in the file: got {short(str(place))} for call {index}")
        held[name] = arrays[place]
    if "output" not in held or _take(call, "index", int) != index:
        raise FileRefused(f"calls must be numbered from 0 and have an output: got another thing at call {index}")
    reason = _take(call, "cannot_rebuild", str, type(None))
    given = None
    if {"query", "key", "value"} <= held.keys():
        given = Given(
            held["query"], held["key"], held["value"], allowed=held.get("allowed"), bias=held.get("bias"),
            scale=float(_take(call, "scale", float, int)),
        )  # fmt: skip
        _check_given(given, index, limits)

    def source() -> Given:
        if given is None:
            raise RebuildError(reason or "the file holds no query, key and value for this call")
        return given

    kind = _take(call, "kind", str)
    if kind not in get_args(RecordKind):
        raise FileRefused(f"a call must be one of {get_args(RecordKind)}: got {short(kind)}")
    conventions = [_take(call, name, str, type(None)) for name in ("mask_convention", "key_padding_convention")]
    if any(c is not None and c not in get_args(MaskConvention) for c in conventions):
        raise FileRefused(f"a mask must have a known convention: got {short(str(conventions))}")
    flags = {_text(k): _is(v, bool, int, float, str, type(None)) for k, v in _take(call, "flags", dict).items()}
    _is(flags.get("dropout_p"), float, int, type(None))
    check = _take(call, "reproduces", dict)
    difference = _take(check, "difference", float, int, type(None))
    return Record(
        index=index, kind=kind, module=_take(call, "module", str), module_class=_take(call, "module_class", str),
        file=_take(call, "file", str), line=_take(call, "line", int), via=_take(call, "via", str),
        output=held["output"], flags=flags, mask=held.get("mask"), mask_convention=conventions[0],
        key_padding_mask=held.get("key_padding_mask"), key_padding_convention=conventions[1],
        observed=held.get("observed"), best_effort=_take(call, "best_effort", bool), source=source,
        checked=Reproduction(
            passed=_take(check, "passed", bool, type(None)), difference=math.nan if difference is None else difference,
            tolerance=float(_take(check, "tolerance", float, int)), reason=_take(check, "reason", str),
        ),
    )  # fmt: skip


def _check_given(given: Given, index: int, limits: Limits) -> None:
    """What our core would refuse, or choke on, is refused here."""
    query, key, value = given.query, given.key, given.value
    try:
        for tensor in (query, key, value):
            if tensor.dim() < 2 or tensor.dtype != query.dtype or not tensor.dtype.is_floating_point:
                raise ValueError("query, key and value must be floats of one kind with at least two axes")
        if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or query.shape[-1] == 0:
            raise ValueError("query and key must share d_k, key and value k_len")
        lead = list(torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3]))
        if query.dim() > 2:
            heads, kv = query.shape[-3], {t.shape[-3] for t in (key, value) if t.dim() > 2}
            if len(kv) != 1 or not min(kv) or heads % min(kv):
                raise ValueError("query heads must be a multiple of key and value heads")
            lead.append(heads)
        elif key.dim() > 2 or value.dim() > 2:
            raise ValueError("query must have the axes that key and value have")
        shape = (*lead, query.shape[-2], key.shape[-2])
        check_shape("weights", shape, 8, limits)
        check_shape("output", (*shape[:-1], value.shape[-1]), 8, limits)
        for name, tensor in (("allowed", given.allowed), ("bias", given.bias)):
            if tensor is None:
                continue
            if (tensor.dtype == torch.bool) != (name == "allowed") or tensor.dim() < 2:
                raise ValueError(f"{name} has the wrong kind of numbers or too few axes")
            if name == "bias" and not tensor.dtype.is_floating_point:
                raise ValueError("bias must be floats")
            if not _broadcasts(tensor.shape, shape):
                raise ValueError(f"{name} must broadcast to {shape}")
    except FileRefused:
        raise
    except (ValueError, RuntimeError) as error:
        raise FileRefused(f"arrays of a call must fit together: got call {index}, {short(str(error), 200)}") from None


def _broadcasts(small: torch.Size, large: tuple[int, ...]) -> bool:
    padded = (1,) * (len(large) - len(small)) + tuple(small)
    return len(padded) == len(large) and all(a in (1, b) for a, b in zip(padded, large, strict=True))


def _take(found: Any, name: str, *kinds: type) -> Any:
    if not isinstance(found, dict):
        raise TypeError(f"{type(found).__name__} where an object with {name!r} should be")
    if name not in found:
        raise KeyError(f"no {name}")
    return _is(found[name], *kinds)


def _is(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{type(value).__name__} where {' or '.join(kind.__name__ for kind in kinds)} should be")
    return value


def _text(value: Any) -> str:
    return _is(value, str)
