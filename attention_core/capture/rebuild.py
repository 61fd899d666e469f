"""From what a call was given to what our core takes: masks of each convention, projections, flex functions."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import masks
from attention_core.capture.records import Given, RebuildError
from attention_core.mask_conventions import HIDDEN_AT_MOST


def split_additive(mask: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """(allowed, bias) of a mask that is added to the scores; a pure mask leaves no bias, a pure bias no mask."""
    try:
        allowed = masks.from_additive(mask)
    except ValueError:  # it holds numbers that shift a score: position biases, or NaN
        hidden = mask <= HIDDEN_AT_MOST
        if not hidden.any():
            return None, mask
        return ~hidden, mask.masked_fill(hidden, 0.0)
    return (None if allowed.all() else allowed), None


def both(a: Tensor | None, b: Tensor | None, join: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
    """The two joined, or the one that is there."""
    if a is None or b is None:
        return b if a is None else a
    return join(a, b)


def from_sdpa(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, flags: Mapping[str, Any]) -> Given:
    """A call of F.scaled_dot_product_attention: bool True = may attend, float is added, the causal flag is top left."""
    allowed = bias = None
    if mask is not None:
        if mask.dim() < 2:
            mask = mask.reshape(1, -1)
        if mask.dtype == torch.bool:
            allowed = mask
        else:
            allowed, bias = split_additive(mask)
    if flags["is_causal"]:
        corner = masks.causal(query.shape[-2], key.shape[-2], offset=0).to(query.device)
        allowed = both(allowed, corner, torch.logical_and)
    return Given(query, key, value, allowed=allowed, bias=bias, scale=flags["scale"])


def from_mha(call: Mapping[str, Any]) -> Given:
    """A call of F.multi_head_attention_forward, projected again: inputs are (len, batch, d_model) or (len, d_model)."""
    if call["static_k"] is not None or call["static_v"] is not None:
        raise RebuildError("keys and values must come from the projection: got static_k or static_v")
    query, key, value = call["query"], call["key"], call["value"]
    attn_mask, padding = call["attn_mask"], call["key_padding_mask"]
    if query.dim() == 2:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        padding = None if padding is None else padding.unsqueeze(0)
    heads = call["num_heads"]
    q_len, batch, width = query.shape
    query, key, value = _project(query, key, value, call)
    if call["bias_k"] is not None:
        key = torch.cat([key, call["bias_k"].expand(1, batch, -1)])
        value = torch.cat([value, call["bias_v"].expand(1, batch, -1)])
    if call["add_zero_attn"]:
        key, value = (torch.cat([t, t.new_zeros(1, batch, t.shape[-1])]) for t in (key, value))
    query, key, value = (t.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3) for t in (query, key, value))  # (B, H, L, d)

    allowed, bias = _mha_masks(attn_mask, padding, call, batch, heads, key.shape[-2])
    if (
        call["is_causal"] and padding is None and not call["need_weights"]
    ):  # then torch lets the hint stand for the mask
        allowed, bias = masks.causal(q_len, key.shape[-2], offset=0).to(query.device), None

    def finish(output: Tensor) -> Tensor:  # (batch, heads, q_len, d) -> (q_len, batch, d_model)
        merged = output.permute(2, 0, 1, 3).reshape(q_len, batch, width)
        return F.linear(merged, call["out_proj_weight"], call["out_proj_bias"])

    return Given(query, key, value, allowed=allowed, bias=bias, finish=finish)


def _project(query: Tensor, key: Tensor, value: Tensor, call: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    if call["use_separate_proj_weight"]:
        weights = (call["q_proj_weight"], call["k_proj_weight"], call["v_proj_weight"])
    else:
        weights = call["in_proj_weight"].chunk(3)
    biases = (None,) * 3 if call["in_proj_bias"] is None else call["in_proj_bias"].chunk(3)
    q, k, v = (F.linear(*parts) for parts in zip((query, key, value), weights, biases, strict=True))
    return q, k, v


def _mha_masks(
    attn_mask: Tensor | None, padding: Tensor | None, call: Mapping[str, Any], batch: int, heads: int, k_len: int
) -> tuple[Tensor | None, Tensor | None]:
    """(allowed, bias); keys that the module appended itself may always be read."""
    allowed = bias = None
    if attn_mask is not None:
        attn_mask = attn_mask.unflatten(0, (batch, heads)) if attn_mask.dim() == 3 else attn_mask
        attn_mask = F.pad(attn_mask, (0, k_len - attn_mask.shape[-1]))
        if attn_mask.dtype.is_floating_point:
            allowed, bias = split_additive(attn_mask)
        else:
            allowed = masks.from_blocked(attn_mask)
    if padding is not None:
        padding = F.pad(padding, (0, k_len - padding.shape[-1]))
        if padding.dtype.is_floating_point:
            real, extra = split_additive(padding[:, None, None, :])
            bias = both(bias, extra, torch.add)
        else:
            real = masks.from_key_padding_mask(padding)
        allowed = both(allowed, real, torch.logical_and)
    return allowed, bias


def from_flex(query: Tensor, key: Tensor, value: Tensor, scale: float, score_mod: Any, mask_mod: Any,
              score_buffers: tuple[Any, ...], mask_buffers: tuple[Any, ...]) -> Given:  # fmt: skip
    """A call of flex_attention: its two functions are asked for every cell."""
    batch, heads, q_len = query.shape[:3]
    k_len = key.shape[-2]
    places = [torch.arange(n, device=query.device) for n in (batch, heads, q_len, k_len)]
    try:
        allowed = _every_cell(mask_mod, None, places, mask_buffers).expand(batch, heads, q_len, k_len)
        repeated = key.repeat_interleave(heads // key.shape[1], 1) if key.shape[1] != heads else key
        scaled = (query.float() @ repeated.float().transpose(-2, -1)) * scale
        bias = _every_cell(score_mod, scaled, places, score_buffers) - scaled
    except Exception as error:  # the program's own functions may fail outside its graph in any way
        raise RebuildError(f"score_mod and mask_mod must run again: got {type(error).__name__}: {error}") from error
    allowed = allowed & ~torch.isneginf(bias)
    bias = bias.masked_fill(~allowed, 0.0)
    return Given(
        query, key, value, allowed=None if allowed.all() else allowed, bias=bias if bias.any() else None, scale=scale
    )


def _every_cell(function: Any, scores: Tensor | None, places: list[Tensor], buffers: tuple[Any, ...]) -> Tensor:
    """(batch, heads, q_len, k_len) of a function of one cell."""
    first: tuple[Tensor, ...] = () if scores is None else (scores,)
    mapped = function
    for axis in (3, 2, 1, 0):  # innermost: keys
        in_dims = (0,) * len(first) + tuple(0 if i == axis else None for i in range(4)) + (None,) * len(buffers)
        mapped = torch.vmap(mapped, in_dims=in_dims)
    return mapped(*first, *places, *buffers)


def from_logits(query: Tensor, key: Tensor, value: Tensor, logits: Tensor, factor: float | None) -> Given:
    """A hand-written call: what the softmax saw, minus the scaled scores, is mask and bias."""
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    scores = query.to(wide) @ key.to(wide).transpose(-2, -1)
    if scores.shape != logits.shape:
        try:
            fits = torch.broadcast_shapes(scores.shape, logits.shape) == logits.shape
        except RuntimeError:
            fits = False
        if not fits:
            raise RebuildError(
                f"softmax must see one logit per score: got {tuple(logits.shape)} for scores {tuple(scores.shape)}"
            )
    if factor is None:
        raise RebuildError("scores must be scaled by one number: got a tensor of factors")
    scaled = scores * factor
    shift = logits.to(wide) - scaled
    hidden = (shift <= HIDDEN_AT_MOST) | torch.isneginf(logits)
    bias = shift.masked_fill(hidden, 0.0)
    size = max(1.0, float(scaled.abs().nan_to_num().max())) if scaled.numel() else 1.0
    coarse = min(query.dtype, logits.dtype, key=lambda d: -torch.finfo(d).eps)
    noise = 4 * torch.finfo(coarse).eps * size * math.sqrt(query.shape[-1])  # rounding of one product of d_k terms
    nothing = bool((bias.abs() <= noise).all())
    return Given(
        query, key, value, allowed=~hidden if hidden.any() else None, bias=None if nothing else bias, scale=factor
    )
