"""How the diagnostics read masks: which keys a query may read, which queries count."""

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace


def widened(tensor: Tensor) -> Tensor:
    """Half-precision numbers as float32: sums over keys in half precision lose count."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def expanded_mask(allowed: Tensor | None, shape: torch.Size, device: torch.device) -> Tensor:
    """``allowed`` as a bool view of ``shape`` (..., q_len, k_len); all True for None."""
    if allowed is None:
        return torch.ones((), dtype=torch.bool, device=device).expand(shape)
    if allowed.dtype != torch.bool:
        raise TypeError(
            f"allowed must be bool with True = may attend: got {allowed.dtype}; convert it, see masks.from_..."
        )
    try:
        return allowed.expand(shape)
    except RuntimeError:
        raise ValueError(f"allowed must broadcast to the weights, {tuple(shape)}: got {tuple(allowed.shape)}") from None


def expanded_queries(valid_queries: Tensor | None, shape: torch.Size, device: torch.device) -> Tensor:
    """``valid_queries`` (batch, q_len) as a bool view of ``shape``, (batch, heads, q_len); all True for None."""
    if valid_queries is None:
        return torch.ones((), dtype=torch.bool, device=device).expand(shape)
    if valid_queries.dtype != torch.bool:
        raise TypeError(f"valid_queries must be bool with True = a real query: got {valid_queries.dtype}")
    wanted = (shape[0], shape[-1]) if len(shape) == 3 else None
    if wanted is None or tuple(valid_queries.shape) not in (wanted, (1, shape[-1])):
        raise ValueError(
            f"valid_queries must be (batch, q_len) = {wanted} for rows {tuple(shape)}: got {tuple(valid_queries.shape)}"
        )
    return valid_queries[:, None, :].expand(shape)


def readable_cells(trace: AttentionTrace) -> Tensor:
    """Cells that softmax may give weight to: allowed, and not forbidden by a bias of -inf. (..., q_len, k_len) bool."""
    stage = next((s for s in (trace.logits, trace.weights, trace.scores) if s is not None), None)
    if stage is None:
        raise ValueError("the trace needs at least one of logits, weights or scores: got none; keep one of them")
    allowed = trace.allowed.expand(stage.shape)
    return allowed if trace.logits is None else allowed & ~torch.isneginf(trace.logits)


def row_mean(values: Tensor, counted: Tensor) -> Tensor:
    """Mean over queries of the rows that count and have a value: (..., q_len) -> (...); NaN where there are none."""
    return values.masked_fill(~counted, torch.nan).nanmean(dim=-1)
