"""Our attention as an implementation that transformers models call.

Registered once under the name ``IMPLEMENTATION``, for attention and for masks. What a run wants changed or recorded
travels in a context variable that is set around the forward pass, in the thread that makes it; where it is not set, the
model computes exactly what it was trained to, through our core.
"""

import contextvars
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_core import masks
from attention_core.attention import scaled_dot_product_attention
from attention_core.drawn_masks import drawn, size_of
from attention_core.pretrained.ablation import exact, heads_off_in, without_heads
from attention_core.pretrained.switches import Switches
from attention_core.runs import Call, CallInputs, CallKind
from attention_core.scratch_config import ControlError

IMPLEMENTATION = "headscope"  # transformers reads meaning into names with "sdpa", "flash" or "flex" in them

_registration = threading.Lock()
_registered = False


def register() -> None:
    """Makes ``IMPLEMENTATION`` known to transformers; doing it again changes nothing."""
    global _registered
    with _registration:
        if _registered:
            return
        from transformers.masking_utils import AttentionMaskInterface
        from transformers.modeling_utils import AttentionInterface

        AttentionMaskInterface.register(IMPLEMENTATION, boolean_mask)
        AttentionInterface.register(IMPLEMENTATION, attention)
        _registered = True


@dataclass
class Recording:
    """What one forward pass is told and what it records; used by one thread.

    Attributes:
        switches: what to change.
        real: (batch, len) bool, True = a real token; None where nothing is padded.
        variants: call name -> (batch, heads) bool, True = off in this row of the batch alone, beside the heads that the
            switches turn off in every row.
        keep: False records no inputs, for passes of which only the output counts.
        expected: the calls that the pass makes, in order, where that is known; empty: each is named by what it is.
        earlier: call name -> sum (batch, heads, 1, d_v) float64 and number of the outputs of earlier passes over the
            same text, which the mean counts too, and to which this pass adds its own; None where a pass stands alone.
        calls: in the order they ran.
        inputs: call name -> what it computed from.
        heads: call name -> number of query heads.
        rebuilt: where a model is only recorded, the largest difference of a call's output from ours out of the same
            query, key and value.
    """

    switches: Switches = field(default_factory=Switches)
    real: Tensor | None = None
    variants: Mapping[str, Tensor] = field(default_factory=dict)
    keep: bool = True
    expected: tuple[Call, ...] = ()
    earlier: dict[str, tuple[Tensor, int]] | None = None
    calls: list[Call] = field(default_factory=list)
    inputs: dict[str, CallInputs] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)
    rebuilt: float = 0.0
    # masks of this pass -> the same without padding; the mask is held so that its id stays its own
    _structures: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    _stage: "_Stage | None" = None


@dataclass(frozen=True)
class _Stage:
    """Which of two stacks runs.

    Attributes:
        source: True while the source is read.
        source_real: (batch, source len) bool.
        crossing: places of the calls that look at the source, counted from ``first``; None where only their length can
            tell.
        first: number of calls before this stage.
    """

    source: bool
    source_real: Tensor
    crossing: frozenset[int] | None
    first: int


_current: contextvars.ContextVar[Recording | None] = contextvars.ContextVar("headscope_recording", default=None)


@contextmanager
def recording(record: Recording) -> Iterator[Recording]:
    """Sets the recording for the forward pass inside the ``with``, in this thread alone."""
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)


def enter_stage(side: Literal["source", "target"], source_real: Tensor, crossing: frozenset[int] | None) -> None:
    """Tells the recording of this thread, if there is one, which of a model's two stacks runs from here on."""
    record = _current.get()
    if record is not None:
        record._stage = _Stage(side == "source", source_real, crossing, len(record.calls))


def boolean_mask(*args: Any, **options: Any) -> Tensor:
    """The model's mask as bool (batch, 1, q_len, k_len), True = may attend; always built, never left to a kernel."""
    from transformers.masking_utils import sdpa_mask

    options["allow_is_causal_skip"] = False
    options["allow_is_bidirectional_skip"] = False
    mask = sdpa_mask(*args, **options)
    assert isinstance(mask, Tensor)  # it is None only where one of the skips is allowed
    record = _current.get()
    if record is not None and record.switches.mask == "padding-ignored":
        structure = sdpa_mask(*args, **{**options, "attention_mask": None})
        assert isinstance(structure, Tensor)
        record._structures[id(mask)] = (mask, structure)
    return mask


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    is_causal: bool | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """One attention call of a transformers model.

    Args:
        module: the attention module that calls.
        query: (batch, heads, q_len, d_k), positions already rotated in.
        key: (batch, kv_heads, k_len, d_k).
        value: (batch, kv_heads, k_len, d_v).
        attention_mask: bool (True = may attend) or float (added to the logits), broadcastable to
            (batch, heads, q_len, k_len), sliding windows already inside; None: every key may be read.
        scaling: factor on the scores; None means 1 / sqrt(d_k).
        dropout: must be 0, the models here only evaluate.
        softcap: bound on the absolute scaled score.
        s_aux: (heads,) sink logits.
        position_bias: float, added to the scaled scores.
        is_causal: only counts where no mask came.

    Returns:
        Output (batch, q_len, heads, d_v), contiguous, and weights (batch, heads, q_len, k_len).
    """
    if dropout:
        raise RuntimeError(f"this attention only evaluates, dropout must be 0: got {dropout}; call model.eval()")
    q_len, k_len = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    allowed, bias = _split_mask(attention_mask, k_len)
    if allowed is None and is_causal and q_len > 1:
        allowed = masks.causal(q_len, k_len).to(query.device)
    if position_bias is not None:
        position_bias = position_bias[..., :k_len]
        bias = position_bias if bias is None else bias + position_bias
    sinks = None if s_aux is None else s_aux.to(query.dtype)
    grouped = query.shape[-3] != key.shape[-3]

    record = _current.get()
    if record is None:
        trace = scaled_dot_product_attention(
            query, key, value, allowed=allowed, bias=bias, sinks=sinks, scale=scale, softcap=softcap,
            enable_gqa=grouped, keep=("weights",),
        )  # fmt: skip
        return trace.output.transpose(1, 2).contiguous(), _weights(trace.weights)

    call = _next_call(record, module, allowed, k_len)
    pre_scale = _pre_scale(module, scale)
    if pre_scale is not None:  # the model scaled its queries before the call: undo it, so that scores are raw here too
        query, scale = query / pre_scale, pre_scale
    inputs = _switched(record, call, query, key, value, allowed, bias, sinks, scale, softcap, attention_mask)
    inputs = replace(inputs, pre_scaled=pre_scale is not None)
    trace = inputs.trace(keep=("weights",))
    record.calls.append(call)
    if record.keep:
        record.inputs[call.name] = inputs
    record.heads[call.name] = query.shape[-3]
    off, variants = heads_off_in(record.switches, call.name, query.shape[-3]), record.variants.get(call.name)
    if variants is not None:
        off = variants if off is None else variants | off
    output = without_heads(
        trace.output, off, ablation=record.switches.ablation, real=_real_queries(record, call, q_len),
        looks_back=call.kind == "decoder", before=_told(record, call, trace.output),
    )  # fmt: skip
    return output.transpose(1, 2).contiguous(), _weights(trace.weights)


def _told(record: Recording, call: Call, output: Tensor) -> tuple[Tensor, int] | None:
    """What earlier passes put out in this call; this pass is added to it."""
    if record.earlier is None:
        return None
    before = record.earlier.get(call.name)
    total, number = exact(output.detach()).sum(dim=2, keepdim=True), output.shape[2]
    record.earlier[call.name] = (total, number) if before is None else (before[0] + total, before[1] + number)
    return before


def _weights(weights: Tensor | None) -> Tensor:
    assert weights is not None  # asked for by keep
    return weights


def _split_mask(mask: Tensor | None, k_len: int) -> tuple[Tensor | None, Tensor | None]:
    """A mask of either convention as (allowed, bias): what is forbidden, and what is merely added."""
    if mask is None:
        return None, None
    mask = mask[..., :k_len]
    if mask.dtype == torch.bool:
        return mask, None
    if not mask.dtype.is_floating_point:
        raise TypeError(
            f"a mask handed to the model must be bool (True = may attend) or float (added): got {mask.dtype}; "
            "convert it with masks.from_attention_mask"
        )
    # Libraries write "forbidden" as -inf or as the smallest number of the dtype; anything milder is meant to be added.
    blocked = mask <= torch.finfo(mask.dtype).min / 2
    rest = mask.masked_fill(blocked, 0.0)
    return ~blocked, rest if rest.any() else None


def _pre_scale(module: nn.Module, scale: float) -> float | None:
    """The factor that some models put on the query before the call, which then passes 1."""
    own = getattr(module, "scaling", 1.0)
    if scale == 1.0 and isinstance(own, float) and own not in (0.0, 1.0):
        return own
    return None


def _next_call(record: Recording, module: nn.Module, allowed: Tensor | None, k_len: int) -> Call:
    stage = record._stage
    if record.expected:
        if len(record.calls) >= len(record.expected):
            raise RuntimeError(f"a pass must make {len(record.expected)} attention calls: got one more")
        return record.expected[len(record.calls)]
    if stage is None:
        kind: CallKind = "decoder" if _looks_back_only(module, allowed) else "encoder"
    elif stage.source:
        kind = "encoder"
    elif stage.crossing is None:
        kind = "cross" if k_len == stage.source_real.shape[-1] else "decoder"
    else:
        kind = "cross" if len(record.calls) - stage.first in stage.crossing else "decoder"
    layer = sum(earlier.kind == kind for earlier in record.calls)  # modules may run more than once: the order counts
    return Call(name=f"{kind}.{layer}", kind=kind, layer=layer)


def _looks_back_only(module: nn.Module, allowed: Tensor | None) -> bool:
    said = getattr(module, "is_causal", getattr(module, "is_decoder", None))
    if isinstance(said, bool):
        return said
    if allowed is None or allowed.shape[-1] < 2:
        return False
    q_len, k_len = allowed.shape[-2:]
    return q_len > 1 and not (allowed & ~masks.causal(q_len, k_len).to(allowed.device)).any()


def _switched(
    record: Recording,
    call: Call,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None,
    bias: Tensor | None,
    sinks: Tensor | None,
    own_scale: float,
    softcap: float | None,
    mask_as_given: Tensor | None,
) -> CallInputs:
    """The call's inputs with the switches applied, as tensors of their own, whatever the model does with its later."""
    switches, scale = record.switches, own_scale
    if allowed is None:
        allowed = torch.ones(1, 1, query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
    own_allowed = allowed
    if switches.acts_on(call.layer):
        allowed = _switched_mask(record, call, query, key, allowed, mask_as_given)
        scale = (own_scale if switches.scaling else 1.0) * switches.scale_factor
        if switches.softcap is not None:
            softcap = None if math.isinf(switches.softcap) else switches.softcap
        if switches.temperature != 1.0:  # softmax((c tanh(s x / c) + b) / T), written with c/T, s/T, b/T
            scale = scale / switches.temperature
            bias = None if bias is None else bias / switches.temperature
            sinks = None if sinks is None else sinks / switches.temperature
            softcap = None if softcap is None else softcap / switches.temperature
    with torch.inference_mode(False):
        return CallInputs(
            query=_own(query),
            key=_own(key),
            value=_own(value),
            allowed=_own(allowed),
            scale=scale,
            own_scale=own_scale,
            bias=None if bias is None else _own(bias),
            sinks=None if sinks is None else _own(sinks),
            softcap=softcap,
            own_allowed=None if own_allowed is allowed else _own(own_allowed),
        )


def _own(tensor: Tensor) -> Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _switched_mask(
    record: Recording, call: Call, query: Tensor, key: Tensor, allowed: Tensor, mask_as_given: Tensor | None
) -> Tensor:
    switches = record.switches
    q_len, k_len = query.shape[-2], key.shape[-2]
    if switches.mask == "none":
        allowed = torch.ones_like(allowed)
    elif switches.mask == "padding-ignored":
        allowed = _without_padding(record, call, q_len, k_len, allowed, mask_as_given)
    elif switches.mask == "custom" and call.kind != "cross":
        allowed = _drawn_mask(record, call, q_len, k_len, allowed)
    elif switches.mask == "causal" and call.kind != "cross":  # the source is no past and no future of the target
        allowed = allowed & masks.causal(q_len, k_len).to(allowed.device)
    if switches.window is not None and call.kind != "cross":
        right = 0 if call.kind == "decoder" else switches.window - 1
        window = masks.sliding_window(q_len, k_len, left=switches.window - 1, right=right)
        allowed = allowed & window.to(allowed.device)
    return allowed


def _real_queries(record: Recording, call: Call, q_len: int) -> Tensor | None:
    """(batch, q_len) bool where the padding is that of the queries."""
    stage = record._stage
    real = stage.source_real if stage is not None and stage.source else record.real
    return real if real is not None and real.shape[-1] == q_len else None


def _real_keys(record: Recording, call: Call) -> Tensor | None:
    """(batch, k_len) bool."""
    return record._stage.source_real if record._stage is not None and call.kind != "decoder" else record.real


def _drawn_mask(record: Recording, call: Call, q_len: int, k_len: int, allowed: Tensor) -> Tensor:
    """The drawn mask, for texts of its own length alone: there is no telling what it means for others."""
    rows = record.switches.mask_rows
    assert rows is not None  # goes with the mask "custom"
    size = size_of(rows)
    real = _real_queries(record, call, q_len)
    lengths = [] if real is None else real.sum(dim=-1).tolist()
    other = next((length for length in (*lengths, q_len, k_len) if length != size), None)
    if other is not None:
        raise ControlError(
            "mask.rows",
            f"a drawn mask needs a text of its own length: it has {size} rows, and {call.name} has {other} tokens "
            "(those that the tokenizer adds included); draw it at that size, or change the text",
            size=size,
            tokens=other,
        )
    return drawn(rows).to(allowed.device).expand_as(allowed)


def _without_padding(
    record: Recording, call: Call, q_len: int, k_len: int, allowed: Tensor, mask_as_given: Tensor | None
) -> Tensor:
    known = record._structures.get(id(mask_as_given))
    if known is not None:
        return known[1][..., :k_len]
    # A mask that did not come from our mask function: open what only padding can have closed.
    real_keys, real_queries = _real_keys(record, call), _real_queries(record, call, q_len)
    if real_keys is None:
        return allowed
    opened = ~real_keys[:, None, None, :k_len]
    if real_queries is not None:
        opened = opened | ~real_queries[:, None, :, None]  # (batch, 1, q_len, k_len)
    if call.kind == "decoder":
        opened = opened & masks.causal(q_len, k_len).to(allowed.device)
    return allowed | opened
