"""From named arrays and recorded calls to the doctor: which array is what, one case per attention call."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.attention import scaled_dot_product_attention
from attention_core.capture import RebuildError, Record, Recording
from attention_core.doctor import Report, diagnose, diagnose_recording
from attention_core.doctor.inputs import Given, read_inputs
from attention_core.doctor.intent import find_intent
from attention_core.doctor.raw_mask import read_raw_mask
from attention_core.exchange import Arrays, is_recording, recording_of

NAMES: Mapping[str, tuple[str, ...]] = {
    "weights": ("weights", "attention", "attentions", "attn", "attention_weights", "attn_weights", "probs"),
    "query": ("query", "q", "queries"),
    "key": ("key", "k", "keys"),
    "value": ("value", "v", "values"),
    "output": ("output", "out", "o", "attn_output", "context"),
    "allowed": ("allowed", "intended"),
    "blocked": ("blocked", "forbidden"),
    "raw_mask": ("raw_mask", "mask", "attn_mask", "src_mask", "causal_mask"),
    "lengths": ("lengths", "seq_lens", "seqlens", "attention_mask"),
    "document_ids": ("document_ids", "doc_ids", "documents", "segment_ids"),
    "position_ids": ("position_ids", "positions"),
    "bias": ("bias", "position_bias", "attn_bias"),
    "sinks": ("sinks",),
}
"""What an array can be, and the names by which it is known; ``blocked`` is ``allowed`` the other way round."""

OPTIONS = ("scale", "softcap", "dropout_p")
_KNOWN = {name: role for role, names in NAMES.items() for name in names}
_HIDES = -1000.0  # an additive mask reaches this low, as masks.from_additive wants it


@dataclass(frozen=True, eq=False)
class Masks:
    """What is known of every cell of one case, all (batch, heads, q_len, k_len).

    Attributes:
        weights: observed, else recomputed from query and key; None where neither is known.
        recomputed: the weights are ours.
        intended: the mask that was meant; None where nothing is known.
        applied: the mask as it was handed over, as it was read; None where none was.
        padded_queries, padded_keys: (batch, len) bool, or None.
    """

    weights: Tensor | None
    recomputed: bool
    intended: Tensor | None
    applied: Tensor | None
    padded_queries: Tensor | None
    padded_keys: Tensor | None
    shape: tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Case:
    """One attention call, as far as it is known.

    Attributes:
        name: of the call in its file; "" where there is one.
        arrays: what it is -> array; the keys are those of ``NAMES``.
        options: scale, softcap, dropout_p where they are known.
        tokens: as ``diagnose`` takes them, or None.
        notes: what was guessed or could not be had, in sentences.
        place: the user's line that made the call, "file:line"; "" where not known.
        applied: mask that a recorded call used, True = may attend.
        record: the recorded call; None where arrays were brought.
    """

    name: str
    arrays: Mapping[str, Tensor]
    options: Mapping[str, float] = field(default_factory=dict)
    tokens: Any = None
    notes: tuple[str, ...] = ()
    place: str = ""
    applied: Tensor | None = None
    record: Record | None = None

    def everything(self) -> dict[str, Tensor]:
        """``arrays``, and the weights of a recorded call, which are rebuilt each time they are asked for."""
        found = dict(self.arrays)
        if self.record is not None and "weights" not in found and self.record.cannot_rebuild is None:
            found["weights"] = self.record.weights
        return found

    def arguments(self) -> dict[str, Any]:
        """What ``diagnose`` is given."""
        said: dict[str, Any] = {name: array for name, array in self.everything().items() if name != "blocked"}
        if "blocked" in self.arrays:
            said["allowed"] = masks.from_blocked(self.arrays["blocked"])
        elif "allowed" in said and said["allowed"].dtype != torch.bool:
            said["allowed"] = _flags(said["allowed"])
        return {**said, **self.options, "tokens": self.tokens}

    def diagnose(self, expect: Any = None, **more: Any) -> Report:
        """The doctor's report; errors as there."""
        with self._fitting():
            if self.record is not None and set(more) <= {"lengths", "document_ids", "position_ids"}:
                return diagnose_recording([self.record], expect=expect, tokens=self.tokens, **more)[0]
            return diagnose(**{**self.arguments(), **more}, expect=expect)

    def shape(self, **more: Any) -> tuple[int, int, int, int]:
        """(batch, heads, q_len, k_len) as far as the arrays tell; errors as in ``diagnose``."""
        with self._fitting():
            return read_inputs(**{**_NOTHING, **self.arguments(), **more}).shape

    def masks(self, expect: Any = None, **more: Any) -> Masks:
        """Intended, applied and observed, cell by cell; errors as in ``diagnose``."""
        with self._fitting():
            return self._masks(read_inputs(**{**_NOTHING, **self.arguments(), **more}), expect)

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Arrays of strangers that do not fit together end in a sentence, whatever stumbles over them."""
        try:
            yield
        except (RuntimeError, IndexError):
            said = ", ".join(f"{name} {tuple(array.shape)}" for name, array in self.arrays.items())
            raise ValueError(f"arrays of a call must fit together: got {said}; check their axes") from None

    def _masks(self, given: Given, expect: Any) -> Masks:
        intent = find_intent(given, expect)
        weights, intended, applied = given.weights, intent.allowed, self.applied
        if weights is not None and tuple(weights.shape) != given.shape:
            intended = applied = None
            return Masks(weights, False, None, None, None, None, _four(weights))
        if given.raw_mask is not None:
            told = intended if intent.stated else None
            reading = read_raw_mask(given.raw_mask, given.shape, intended=told, weights=weights)
            applied = reading.applied
            if told is None and reading.convention != "additive bias, no mask":
                intent = find_intent(replace(given, allowed=reading.meant), None)
                intended = intent.allowed
        recomputed = weights is None and given.query is not None and given.key is not None
        if recomputed:
            weights = _weights(given, applied if applied is not None else intended)
        return Masks(
            weights, recomputed, _expanded(intended, given.shape), _expanded(applied, given.shape),
            intent.padded_queries, intent.padded_keys, given.shape,
        )  # fmt: skip


_NOTHING: dict[str, Any] = dict.fromkeys(
    "weights query key value output allowed raw_mask bias sinks scale softcap lengths position_ids document_ids "
    "tokens".split()
) | {"dropout_p": 0.0}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Intake:
    """The cases of a file, and what in it was not understood.

    Attributes:
        cases: one per call.
        roles: name of each array -> what it was taken for; a recording has none.
        unknown: names of arrays that no role is known for.
        notes: of the file.
        recording: the file, where it is one.
    """

    cases: tuple[Case, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    recording: Recording | None = None


def take_in(loaded: Arrays, roles: Mapping[str, str] | None = None) -> Intake:
    """Cases of loaded arrays; recordings by their calls, others by the names of their arrays.

    Names before a last dot or slash tell calls apart ("layer0.q", "layer0.k"); what has none belongs to all.

    Args:
        loaded: of ``exchange.load_arrays``.
        roles: name of an array -> a key of ``NAMES`` or "" (left out), where it is not what its name says.

    Raises:
        FileRefused: if it is a recording that cannot be read.
        ValueError: if two arrays of one call are the same thing, or no array is anything.
    """
    if is_recording(loaded):
        recording = recording_of(loaded)
        return Intake(cases_of_recording(recording), notes=tuple(recording.notes), recording=recording)
    chosen = guess_roles(loaded) | dict(roles or {})
    chosen = {name: role for name, role in chosen.items() if name in loaded.arrays}
    unknown = tuple(name for name in loaded.arrays if not chosen.get(name) and name not in (roles or {}))
    options, tokens = _beside(loaded)
    unknown = tuple(name for name in unknown if _last(name) not in OPTIONS)
    calls: dict[str, dict[str, Tensor]] = {}
    for name, role in chosen.items():
        if not role:
            continue
        call = calls.setdefault(_before(name), {})
        if role in call:
            raise ValueError(
                f"a call has one array of each kind: got a second {role} ({name}); rename it, or leave it out"
            )
        call[role] = loaded.arrays[name]
    if not calls:
        raise ValueError(f"a file must hold an array with a known name: got {_listed(loaded.arrays)}; {known_names()}")
    shared = calls.pop("", {}) if len(calls) > 1 else {}
    cases = tuple(Case(name, shared | call, options, tokens) for name, call in calls.items())
    return Intake(cases, chosen, unknown, tuple(loaded.notes))


def guess_roles(loaded: Arrays) -> dict[str, str]:
    """What each array is by its name, and where it has none by its numbers; "" where neither tells."""
    found = {}
    for name, array in loaded.arrays.items():
        role = _KNOWN.get(_last(name), "")
        if role == "lengths" and array.dim() > 2:
            role = "raw_mask"  # an attention mask that is already spread out
        if not role and len(loaded.arrays) == 1:
            role = guess_role(array)
        found[name] = role
    return found


def guess_role(array: Tensor) -> str:
    """What one array without a name is: "weights", "raw_mask" or "", by its numbers alone.

    >>> guess_role(torch.tensor([[1.0, 0.0], [0.5, 0.5]])), guess_role(torch.tensor([[1, 0], [1, 1]]))
    ('weights', 'raw_mask')
    """
    if array.dim() < 2 or not array.numel():
        return ""
    if array.dtype == torch.bool:
        return "raw_mask"
    values = array.double()
    flags = bool(((values == 0) | (values == 1)).all())
    if flags:
        one_hot = array.dtype.is_floating_point and bool((values.sum(-1) == 1).all())
        return "weights" if one_hot else "raw_mask"
    finite = values[torch.isfinite(values)]
    if bool((values == -math.inf).any()) or (finite.numel() and float(finite.min()) <= _HIDES):
        return "raw_mask"
    return "weights" if array.dtype.is_floating_point else ""


def cases_of_recording(recording: Recording) -> tuple[Case, ...]:
    """One case per recorded call."""
    return tuple(_recorded(record, recording) for record in recording)


def known_names() -> str:
    """The names that are known, in a sentence."""
    return "known names are " + "; ".join(f"{role} ({', '.join(names[1:])})" if names[1:] else role
                                          for role, names in NAMES.items())  # fmt: skip


def _recorded(record: Record, recording: Recording) -> Case:
    who = record.module or record.module_class or record.kind
    name, place = f"{record.index} {who}", f"{record.file}:{record.line}" if record.file else ""
    options: dict[str, float] = {"dropout_p": float(record.flags.get("dropout_p") or 0.0)}
    arrays: dict[str, Tensor] = {}
    if record.observed is not None:
        arrays["weights"] = record.observed
    try:
        arrays |= {"query": record.query, "key": record.key, "value": record.value}
    except RebuildError as error:
        return Case(name, arrays, options, notes=(str(error),), place=place, record=record)
    if record.kind != "manual":  # what a library was told is meant; what hand-written code did may be the mistake
        options["scale"] = record.scale
    if record.bias is not None:
        arrays["bias"] = record.bias
    notes = () if record.cannot_rebuild is None else (record.cannot_rebuild,)
    length, batch = record.key.shape[-2], record.query.shape[0] if record.query.dim() == 4 else 1
    fitting = [sample for sample in recording.tokens if len(sample) == length]
    tokens = fitting if len(fitting) == batch == len(recording.tokens) else None
    if tokens is not None and record.query.shape[-2] != length:
        tokens = {"key": tokens}
    applied = record.allowed
    if applied is None:
        applied = torch.ones((1, 1), dtype=torch.bool)
    return Case(name, arrays, options, tokens, notes, place, applied, record)


def _weights(given: Given, allowed: Tensor | None) -> Tensor | None:
    assert given.query is not None and given.key is not None
    value = given.value if given.value is not None else given.key
    return scaled_dot_product_attention(
        given.query, given.key, value, allowed=allowed, bias=given.bias, sinks=given.sinks, scale=given.scale,
        softcap=given.softcap, enable_gqa=given.query.shape[1] != given.key.shape[1], keep=("weights",),
    ).weights  # fmt: skip


def _expanded(mask: Tensor | None, shape: tuple[int, int, int, int]) -> Tensor | None:
    return None if mask is None else mask.expand(shape)


def _four(weights: Tensor) -> tuple[int, int, int, int]:
    batch, heads, q_len, k_len = weights.shape
    return batch, heads, q_len, k_len


def _flags(mask: Tensor) -> Tensor:
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError("an intended mask must hold 0 and 1, or True and False: got other numbers; name it raw_mask")
    return mask.bool()


def _beside(loaded: Arrays) -> tuple[dict[str, float], Any]:
    """Options and tokens that stand in the metadata, or as arrays of one number."""
    options: dict[str, float] = {}
    for name in OPTIONS:
        number = loaded.metadata.get(name)
        if name in loaded.arrays and loaded.arrays[name].numel() == 1:
            number = float(loaded.arrays[name])
        if isinstance(number, int | float) and not isinstance(number, bool):
            options[name] = float(number)
    tokens = loaded.metadata.get("tokens")
    return options, tokens if _is_tokens(tokens) else None


def _is_tokens(tokens: Any) -> bool:
    if not isinstance(tokens, Sequence) or isinstance(tokens, str) or not tokens:
        return False
    if all(isinstance(label, str) for label in tokens):
        return True
    return all(isinstance(sample, list) and sample and all(isinstance(label, str) for label in sample)
               for sample in tokens)  # fmt: skip


def _last(name: str) -> str:
    return re.split(r"[./:]", name)[-1].strip().lower()


def _before(name: str) -> str:
    return name[: len(name) - len(re.split(r"[./:]", name)[-1])].rstrip("./:")


def _listed(names: Any) -> str:
    said = [repr(str(name)[:40]) for name in list(names)[:12]]
    return ", ".join(said) + (", ..." if len(names) > 12 else "")
