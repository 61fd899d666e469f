"""Scaled dot-product attention with every stage in the open.

``scaled_dot_product_attention`` computes what the field's formula says and returns all of it:

    scores  = Q K^T                                   raw dot products
    scaled  = scores * scale                          scale = 1 / sqrt(d_k) unless given
    capped  = softcap * tanh(scaled / softcap)        the same tensor as scaled without a softcap
    logits  = capped + bias, -inf where not allowed   what softmax sees
    weights = softmax(logits) over keys
    output  = weights V

Source:
    Vaswani et al. 2017, "Attention Is All You Need", eq. 1; softcap: Gemma 2 report 2024, section 2;
    sinks: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks" and the gpt-oss model card 2025.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attention_core.mask_conventions import require_bool

STAGES: tuple[str, ...] = ("scores", "scaled", "capped", "logits", "weights")
ALL_STAGES: frozenset[str] = frozenset(STAGES)

_HALF = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_HUGE_PAGES_FROM = 4 * 2**20  # bytes; NumPy advises huge pages from here


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """Every stage of one attention call; a stage that was not kept is None.

    ``L`` stands for the leading axes, usually ``(batch, heads)``.

    Attributes:
        scores: (L, q_len, k_len) raw dot products; float32 for half-precision inputs.
        scaled: (L, q_len, k_len) ``scores * scale``.
        capped: (L, q_len, k_len) after the softcap; the same tensor as ``scaled`` where no softcap is set.
        logits: (L, q_len, k_len) what softmax sees: -inf where a query may not look.
        weights: (L, q_len, k_len) in the input dtype; rows sum to 1, are exactly 0 where a query may see nothing, and
            sum to less than 1 with sinks.
        output: (L, q_len, d_v) in the input dtype.
        allowed: bool, broadcastable to ``(L, q_len, k_len)``, as it was given; all True where none was.
        scale: the factor that the scores were multiplied by.
        sink_weight: (L, q_len) the share of each row that went to the sink; None without sinks.
    """

    output: Tensor
    allowed: Tensor
    scale: float
    scores: Tensor | None = None
    scaled: Tensor | None = None
    capped: Tensor | None = None
    logits: Tensor | None = None
    weights: Tensor | None = None
    sink_weight: Tensor | None = None


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    allowed: Tensor | None = None,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    enable_gqa: bool = False,
    keep: Collection[str] = ALL_STAGES,
) -> AttentionTrace:
    """Attention of each query over all keys, with the stages in between.

    Half-precision inputs are computed in float32 up to and including softmax and the weighted sum; ``weights`` and
    ``output`` are cast back. A row whose logits are all -inf gives weights and output exactly 0. NaN or inf in ``key``
    or ``value`` at a position that no query may read does no harm, forwards or backwards.

    Args:
        query: (batch, heads, q_len, d_k) float64, float32, bfloat16 or float16; any leading axes that broadcast.
        key: (batch, heads, k_len, d_k), same dtype; with ``enable_gqa`` its heads may be fewer.
        value: (batch, heads, k_len, d_v), same dtype; as many heads as ``key``.
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); True = may attend. Two axes always mean
            (q_len, k_len). None: every key may be read.
        bias: float, broadcastable likewise, added to the capped scores; -inf forbids.
        sinks: (heads,) float, one extra logit per head that takes a share of each row and has no value.
        scale: factor on the scores; None means 1 / sqrt(d_k).
        softcap: bound on the absolute scaled score, > 0; None means no bound.
        enable_gqa: repeat each key/value head for its group of consecutive query heads.
        keep: names of the stages to hold, or one name; ``output``, ``allowed`` and ``scale`` are always there.

    Returns:
        AttentionTrace.

    Raises:
        TypeError: if a dtype is not one of those above, or ``allowed`` is not bool.
        ValueError: if shapes do not fit, a stage is unknown, ``softcap`` is not positive or ``scale`` is not finite.

    Source:
        Vaswani et al. 2017, eq. 1. Grouped heads: Ainslie et al. 2023.
    """
    keep = _check_keep(keep)
    _check_inputs(query, key, value)
    if softcap is not None and not 0 < softcap < math.inf:
        raise ValueError(f"softcap must be positive and finite: got {softcap}; leave it None for no cap")
    if scale is not None and not math.isfinite(scale):
        raise ValueError(f"scale must be finite: got {scale}; leave it None for 1 / sqrt(d_k)")
    if enable_gqa:
        key, value = _repeat_kv_heads(query, key, value)
    _check_leading_axes(query, key, value)

    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    dtype = query.dtype
    if dtype in _HALF:
        query, key, value = query.float(), key.float(), value.float()

    shape = _scores_shape(query, key)  # (batch, heads, q_len, k_len)
    if allowed is None:
        allowed = torch.ones((), dtype=torch.bool, device=query.device).expand(shape[-2:])
        readable = None
    else:
        readable = _check_allowed(allowed, shape)
    if bias is not None:
        bias = _check_bias(bias, shape).to(query.dtype)
        forbidden = torch.isneginf(bias)
        if forbidden.any():
            readable = ~forbidden if readable is None else readable & ~forbidden
    if sinks is not None:
        _check_sinks(sinks, shape)
    if readable is not None and readable.all():
        readable = None
    if readable is not None:
        key, value = _silence_unreadable(key, value, readable)

    # One name for the current stage, so that a stage that is not kept is freed as soon as the next one stands.
    fresh = _room_for(shape, query, key, bias, sinks)
    kept: dict[str, Tensor] = {}
    stage = torch.matmul(query, key.transpose(-2, -1), out=fresh())  # (batch, heads, q_len, k_len)
    _hold(kept, "scores", stage, keep)
    stage = torch.mul(stage, scale, out=fresh())
    _hold(kept, "scaled", stage, keep)
    if softcap is not None:
        stage = softcap * torch.tanh(stage / softcap)
    _hold(kept, "capped", stage, keep)
    if bias is not None:
        stage = stage + bias
    if readable is not None:
        never = torch.tensor(-math.inf, dtype=stage.dtype, device=stage.device)
        stage = torch.where(readable, stage, never, out=fresh())  # one pass; masked_fill copies first
    _hold(kept, "logits", stage, keep)
    stage, sink_weight = _softmax(stage, readable, sinks, fresh)
    output = _weighted_sum(stage, value, readable)  # (batch, heads, q_len, d_v)
    if "weights" in keep:
        kept["weights"] = stage.to(dtype)
    return AttentionTrace(
        output=output.to(dtype),
        allowed=allowed,
        scale=scale,
        sink_weight=None if sink_weight is None else sink_weight.to(dtype),
        **kept,
    )


def _hold(kept: dict[str, Tensor], name: str, stage: Tensor, keep: Collection[str]) -> None:
    if name in keep:
        kept[name] = stage


def _room_for(shape: torch.Size, *inputs: Tensor | None) -> Callable[[], Tensor | None]:
    """Where the next large stage goes: memory of its own, or None for wherever torch puts it.

    Fresh memory of the size of a stage costs more in page faults than the pass that fills it; NumPy asks the system for
    huge pages, torch does not. Autograd does not write to given memory, and small stages have nothing to gain.
    """
    tensors = [tensor for tensor in inputs if tensor is not None]
    dtype = {torch.float32: np.float32, torch.float64: np.float64}[tensors[0].dtype]
    tracked = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    small = math.prod(shape) * np.dtype(dtype).itemsize < _HUGE_PAGES_FROM
    if tracked or small or any(type(tensor) is not Tensor or tensor.device.type != "cpu" for tensor in tensors):
        return lambda: None
    return lambda: torch.from_numpy(np.empty(tuple(shape), dtype))


def _softmax(
    logits: Tensor, readable: Tensor | None, sinks: Tensor | None, fresh: Callable[[], Tensor | None]
) -> tuple[Tensor, Tensor | None]:
    """Softmax over keys; empty rows become exactly 0, with finite gradients. (L, q, k) -> (L, q, k), (L, q) | None."""
    empty = None if readable is None else ~readable.any(dim=-1, keepdim=True)  # (..., q_len, 1), small
    if sinks is None:
        return _softmax_or_zero(logits, empty, fresh()), None
    column = sinks.to(logits.dtype).reshape((-1, 1, 1)[-logits.dim() :])  # (heads, 1, 1), (1, 1) without a heads axis
    if empty is not None:
        empty = empty & torch.isneginf(column)
    joint = torch.cat([logits, column.expand(*logits.shape[:-1], 1)], dim=-1)  # (L, q_len, k_len + 1)
    joint = _softmax_or_zero(joint, empty, None)
    return joint[..., :-1], joint[..., -1]


def _softmax_or_zero(logits: Tensor, empty: Tensor | None, out: Tensor | None) -> Tensor:
    """Softmax over the last axis, 0 in rows of -inf, where the plain one is NaN and so is its gradient."""
    if logits.shape[-1] == 0:
        return logits
    if empty is not None and not empty.any():
        empty = None
    if empty is not None and torch.is_grad_enabled() and logits.requires_grad:
        weights = torch.softmax(logits.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    else:
        weights = torch.softmax(logits, dim=-1, out=out)
        if empty is not None:  # these rows alone: no pass over the rest
            rows = empty.squeeze(-1).expand(weights.shape[:-1]).reshape(-1).nonzero().squeeze(-1)
            weights.view(-1, weights.shape[-1]).index_fill_(0, rows, 0.0)
    if weights[..., 0].isnan().any():  # rows of -inf that come from -inf in Q or K; NaN elsewhere stays NaN
        weights = weights.masked_fill(torch.isneginf(logits).all(dim=-1, keepdim=True), 0.0)
    return weights


def _weighted_sum(weights: Tensor, value: Tensor, readable: Tensor | None) -> Tensor:
    """weights V, where NaN or inf in V reaches only the queries that may read it. -> (L, q_len, d_v)."""
    output = weights @ value
    if readable is None or torch.isfinite(value.sum()):
        return output
    broken = ~torch.isfinite(value)  # (..., k_len, d_v)
    if not broken.any():
        return output
    reached = readable.to(value.dtype).expand(*weights.shape) @ broken.to(value.dtype) > 0
    return torch.where(reached, output, weights @ value.masked_fill(broken, 0.0))


def _silence_unreadable(key: Tensor, value: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
    """Blanks K and V where they are not finite and no query may read them: 0 * NaN is NaN, masked or not."""
    unread = ~readable.any(dim=-2)  # (..., k_len)
    if not unread.any() or (torch.isfinite(key.sum()) and torch.isfinite(value.sum())):
        return key, value
    gone = unread.unsqueeze(-1)  # (..., k_len, 1)
    return key.masked_fill(gone & ~torch.isfinite(key), 0.0), value.masked_fill(gone & ~torch.isfinite(value), 0.0)


def _repeat_kv_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    if query.dim() < 3:
        raise ValueError(f"enable_gqa needs a heads axis: got query of shape {tuple(query.shape)}")
    if key.dim() < 3 or value.dim() < 3:
        raise ValueError(f"enable_gqa needs a heads axis: got key {tuple(key.shape)} and value {tuple(value.shape)}")
    heads, kv_heads = query.shape[-3], key.shape[-3]
    if value.shape[-3] != kv_heads:
        raise ValueError(f"key and value need the same number of heads: got {kv_heads} and {value.shape[-3]}")
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"query heads must be a multiple of key/value heads: got {heads} and {kv_heads}")
    group = heads // kv_heads
    if group == 1:
        return key, value
    return key.repeat_interleave(group, dim=-3), value.repeat_interleave(group, dim=-3)  # a, a, b, b


def _check_inputs(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor: got {type(tensor).__name__}; convert with torch.as_tensor")
        if tensor.dtype not in _FLOATS:
            raise TypeError(f"{name} must be float64, float32, bfloat16 or float16: got {tensor.dtype}")
        if tensor.dtype != query.dtype:
            raise TypeError(f"query, key and value need one dtype: got {query.dtype} and {tensor.dtype} ({name})")
        if tensor.dim() < 2:
            raise ValueError(f"{name} needs at least (len, d): got shape {tuple(tensor.shape)}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key need the same d_k: got {query.shape[-1]} and {key.shape[-1]}")
    if query.shape[-1] == 0:
        raise ValueError("d_k must be at least 1: got 0")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value need the same k_len: got {key.shape[-2]} and {value.shape[-2]}")


def _check_leading_axes(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = [tuple(t.shape[:-2]) for t in (query, key, value)]
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        hint = "; pass enable_gqa=True if each key/value head serves a group of query heads" if query.dim() > 2 else ""
        raise ValueError(
            f"leading axes (batch, heads) must broadcast: got {shapes[0]}, {shapes[1]}, {shapes[2]}{hint}"
        ) from None


def _scores_shape(query: Tensor, key: Tensor) -> torch.Size:
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    return torch.Size((*leading, query.shape[-2], key.shape[-2]))


def _check_allowed(allowed: Tensor, shape: torch.Size) -> Tensor:
    require_bool("allowed", allowed)
    return _check_fits("allowed", allowed, shape)


def _check_bias(bias: Tensor, shape: torch.Size) -> Tensor:
    if not bias.dtype.is_floating_point:
        raise TypeError(f"bias must be float, it is added to the scores: got {bias.dtype}; a mask goes to allowed")
    return _check_fits("bias", bias, shape)


def _check_fits(name: str, tensor: Tensor, shape: torch.Size) -> Tensor:
    if tensor.dim() < 2:
        raise ValueError(
            f"{name} needs at least (q_len, k_len): got shape {tuple(tensor.shape)}; a mask over keys alone is "
            f"(batch, 1, 1, k_len), see masks.padding"
        )
    try:
        fits = torch.broadcast_shapes(tensor.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} must broadcast to (batch, heads, q_len, k_len) = {tuple(shape)}: got {tuple(tensor.shape)}"
        )
    return tensor


def _check_sinks(sinks: Tensor, shape: torch.Size) -> None:
    heads = shape[-3] if len(shape) > 2 else 1
    if sinks.shape != (heads,):
        raise ValueError(f"sinks needs one logit per head, shape ({heads},): got {tuple(sinks.shape)}")
    if not sinks.dtype.is_floating_point:
        raise TypeError(f"sinks must be float, they are logits: got {sinks.dtype}")


def _check_keep(keep: Collection[str]) -> frozenset[str]:
    names = frozenset([keep] if isinstance(keep, str) else keep)
    if not names <= ALL_STAGES:
        raise ValueError(f"keep takes names of stages {STAGES}: got {sorted(names - ALL_STAGES)}")
    return names
