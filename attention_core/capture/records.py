"""What a recording holds: one Record per attention call, rebuilt by our own core when somebody looks."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Literal

import torch
from torch import Tensor

from attention_core.attention import ALL_STAGES, AttentionTrace, scaled_dot_product_attention
from attention_core.runs import CallInputs

RecordKind = Literal["sdpa", "mha", "flex", "manual"]
MaskConvention = Literal["allowed", "blocked", "additive", "padding", "mask_mod", "read from the logits"]

_TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


class RebuildError(ValueError):
    """The weights of a call cannot be rebuilt; the message says why."""


@dataclass(frozen=True, eq=False)
class Given:
    """What one call computed from, in the terms of ``scaled_dot_product_attention``.

    Attributes:
        query, key, value: (batch, heads, len, d); key and value may have fewer heads (grouped).
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); None: every key may be read.
        bias: float, likewise; None: nothing is added.
        scale: factor on the scores; None: 1 / sqrt(d_k).
        finish: from our (batch, heads, q_len, d_v) to the form of the recorded output; None: the same form.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    allowed: Tensor | None = None
    bias: Tensor | None = None
    scale: float | None = None
    finish: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Reproduction:
    """Whether our weights give the output that the program computed, on rows that may read something.

    Attributes:
        passed: None where it could not be checked.
        difference: largest absolute difference of outputs; NaN where not checked.
        tolerance: what counts as the same, for the dtype and the size of the output.
        reason: one sentence.
    """

    passed: bool | None
    difference: float
    tolerance: float
    reason: str

    def __bool__(self) -> bool:
        return self.passed is True


@dataclass(frozen=True, eq=False)
class Record:
    """One attention call of a program; tensors are copies, read-only by agreement.

    Attributes:
        index: order of the calls, from 0.
        kind: "sdpa" (F.scaled_dot_product_attention), "mha" (F.multi_head_attention_forward), "flex" (flex_attention)
            or "manual" (a softmax of products between two products).
        best_effort: True for "manual": pieced together from what the program did.
        module: path of the module that called, below the outermost module on the stack; "" for that one itself.
        module_class: its class name; "" where no module called.
        file, line: the line of the user's own code.
        via: "file:line" of the line that called the attention, which may lie in a library.
        mask, mask_convention: as it was given: "allowed" (True = may attend), "blocked" (True = may not), "additive"
            (added to the scores), "mask_mod" (flex) or "read from the logits" (manual); None where none was given.
        key_padding_mask, key_padding_convention: likewise, "padding" (True = padding) or "additive"; mha alone.
        flags: is_causal, scale, dropout_p, enable_gqa, need_weights, training, and what else the call was told. A
            causal flag of sdpa is aligned top left, also where k_len differs from q_len.
        output: what the call returned: (batch, heads, q_len, d_v); for mha (q_len, batch, d_model) after the output
            projection.
        observed: (batch, heads, q_len, k_len) the weights that the program itself multiplied with V, dropout included,
            where it formed them; else None.
    """

    index: int
    kind: RecordKind
    module: str
    module_class: str
    file: str
    line: int
    via: str
    output: Tensor
    flags: Mapping[str, bool | int | float | str | None]
    mask: Tensor | None = None
    mask_convention: MaskConvention | None = None
    key_padding_mask: Tensor | None = None
    key_padding_convention: MaskConvention | None = None
    observed: Tensor | None = None
    best_effort: bool = False
    source: Callable[[], Given] = field(repr=False, kw_only=True)
    checked: Reproduction | None = field(default=None, repr=False, kw_only=True)

    @cached_property
    def given(self) -> Given:
        """What our core rebuilds from; worked out when first asked for.

        Raises:
            RebuildError: if that is not possible.
        """
        with torch.inference_mode(False), torch.no_grad():
            return self.source()

    @property
    def query(self) -> Tensor:
        """(batch, heads, q_len, d_k) per head, after the projection."""
        return self.given.query

    @property
    def key(self) -> Tensor:
        """(batch, kv_heads, k_len, d_k)."""
        return self.given.key

    @property
    def value(self) -> Tensor:
        """(batch, kv_heads, k_len, d_v)."""
        return self.given.value

    @property
    def allowed(self) -> Tensor | None:
        """The mask that was applied: bool, broadcastable to (batch, heads, q_len, k_len), True = may attend."""
        return self.given.allowed

    @property
    def bias(self) -> Tensor | None:
        """What was added to the scores beside the mask: float, broadcastable likewise."""
        return self.given.bias

    @property
    def scale(self) -> float:
        """The factor on the scores."""
        given = self.given
        return 1.0 / math.sqrt(given.query.shape[-1]) if given.scale is None else given.scale

    @property
    def cannot_rebuild(self) -> str | None:
        """Why ``weights`` raises; None where it does not."""
        dropout = float(self.flags.get("dropout_p") or 0.0)
        if dropout > 0.0:
            return (
                f"weights can be rebuilt only without dropout: got dropout_p {dropout:g}, and which weights it dropped "
                "is not recorded; record in eval()"
            )
        try:
            _ = self.given
        except RebuildError as error:
            return str(error)
        return None

    @property
    def inputs(self) -> CallInputs:
        """The call in the form that runs hold."""
        given = self.given
        allowed = given.allowed
        if allowed is None:
            size = (given.query.shape[-2], given.key.shape[-2])
            allowed = torch.ones((), dtype=torch.bool, device=given.query.device).expand(size)
        return CallInputs(
            query=given.query, key=given.key, value=given.value, allowed=allowed, bias=given.bias, scale=self.scale,
            own_scale=self.scale,
        )  # fmt: skip

    def trace(self, keep: Collection[str] = ALL_STAGES) -> AttentionTrace:
        """All stages, rebuilt without dropout.

        Raises:
            RebuildError: if what the call computed from is not known.
        """
        given = self.given
        grouped = given.query.dim() > 2 and given.query.shape[-3] != given.key.shape[-3]
        with torch.inference_mode(False), torch.no_grad():
            try:
                return scaled_dot_product_attention(
                    given.query, given.key, given.value, allowed=given.allowed, bias=given.bias, scale=given.scale,
                    enable_gqa=grouped, keep=keep,
                )  # fmt: skip
            except (TypeError, ValueError) as error:
                raise RebuildError(f"our core does not take this call: {error}") from error

    @property
    def weights(self) -> Tensor:
        """(batch, heads, q_len, k_len) rebuilt by our core each time it is asked for.

        Raises:
            RebuildError: with dropout, or where what the call computed from is not known.
        """
        reason = self.cannot_rebuild
        if reason is not None:
            raise RebuildError(reason)
        weights = self.trace(keep=("weights",)).weights
        assert weights is not None
        return weights

    @cached_property
    def reproduces(self) -> Reproduction:
        """Compares our output with the program's."""
        if self.checked is not None:
            return self.checked
        tolerance = _TOLERANCES.get(self.output.dtype, 1e-5)
        reason = self.cannot_rebuild
        if reason is not None:
            return Reproduction(None, math.nan, tolerance, reason)
        try:
            trace = self.trace(keep=())
        except RebuildError as error:
            return Reproduction(None, math.nan, tolerance, str(error))
        with torch.inference_mode(False), torch.no_grad():
            return self._compare(trace, tolerance)

    def _compare(self, trace: AttentionTrace, tolerance: float) -> Reproduction:
        given = self.given
        readable = trace.allowed if given.bias is None else trace.allowed & ~torch.isneginf(given.bias)
        valid = readable.any(-1, keepdim=True).expand(*trace.output.shape[:-1], 1)  # (batch, heads, q_len, 1)
        ours = trace.output
        if given.finish is not None:
            ours = given.finish(ours)
            valid = valid.all(-3).movedim(-2, 0)  # (q_len, batch, 1)
        theirs = self.output
        if ours.shape != theirs.shape:
            if ours.dim() != theirs.dim() + 1:
                words = f"outputs must have one shape: got {tuple(theirs.shape)}, rebuilt {tuple(ours.shape)}"
                return Reproduction(None, math.nan, tolerance, words)
            ours, valid = ours.squeeze(1), valid.squeeze(1)  # mha without a batch axis
        valid = valid.expand_as(ours)
        if not valid.any():
            return Reproduction(None, math.nan, tolerance, "no query may read any key: there is no row to compare")
        tolerance *= max(1.0, float(theirs[valid].abs().nan_to_num().max()))
        difference = float((ours.double() - theirs.double())[valid].abs().max())
        passed = difference <= tolerance  # False for NaN
        verdict = "reproduce" if passed else "do not reproduce"
        words = f"rebuilt weights {verdict} the output: largest difference {difference:.3g}, tolerance {tolerance:.3g}"
        return Reproduction(passed, difference, tolerance, words)

    def __str__(self) -> str:
        who = f"{self.module} ({self.module_class})" if self.module_class else "no module"
        effort = ", best effort" if self.best_effort else ""
        return f"call {self.index}: {self.kind}{effort}, {who}, {self.file}:{self.line}"


class Recording(Sequence[Record]):
    """The records of one run, in the order of the calls.

    Attributes:
        notes: what the reader must know, in sentences: a fast path that recording switched off, calls that were seen
            and could not be kept, that nothing was captured.
        tokens: one list of labels per sample, set by whoever knows them.
        name: what was recorded, set likewise.
        versions: of what recorded: python, torch, and the format of the file once loaded.
    """

    def __init__(
        self, calls: Sequence[Record] = (), *, notes: Sequence[str] = (), tokens: Sequence[Sequence[str]] = (),
        name: str = "", versions: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._calls = list(calls)
        self.notes = list(notes)
        self.tokens = [list(sample) for sample in tokens]
        self.name = name
        self.versions = dict(versions or {})

    @property
    def calls(self) -> tuple[Record, ...]:
        """In the order in which they ran."""
        return tuple(self._calls)

    @property
    def nothing_captured(self) -> bool:
        """True where no attention was seen."""
        return not self._calls

    def add(self, record: Record) -> None:
        """Appends a call."""
        self._calls.append(record)

    def note(self, words: str) -> None:
        """Says something once."""
        if words not in self.notes:
            self.notes.append(words)

    def save(
        self, path: str | PathLike[str], half: bool = False, *, weights: bool = True, allow_empty: bool = False
    ) -> None:
        """Writes one .safetensors file; see ``attention_core.exchange.save_recording``."""
        from attention_core.exchange import save_recording

        save_recording(self, path, half=half, weights=weights, allow_empty=allow_empty)

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.calls)

    def __getitem__(self, index):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.calls[index]

    def __repr__(self) -> str:
        if not self._calls:
            return f"Recording(NOTHING CAPTURED; {' '.join(self.notes)})"
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(record.kind for record in self._calls).items())
        notes = f"; {len(self.notes)} notes" if self.notes else ""
        return f"Recording({len(self._calls)} calls: {kinds}{notes})"
