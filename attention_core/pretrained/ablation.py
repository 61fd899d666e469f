"""Heads switched off: what stands in the place of their output."""

import torch
from torch import Tensor

from attention_core.pretrained.switches import Ablation, Switches


def heads_off_in(switches: Switches, call_name: str, heads: int) -> Tensor | None:
    """(1, heads) bool, True = off, for one call; None where none of its heads is off."""
    off = sorted(head for name, head in switches.heads_off if name == call_name and head < heads)
    return None if not off else torch.zeros(1, heads, dtype=torch.bool).index_fill(1, torch.tensor(off), True)


def without_heads(
    output: Tensor,
    off: Tensor | None,
    *,
    ablation: Ablation,
    real: Tensor | None,
    looks_back: bool,
    before: tuple[Tensor, int] | None = None,
) -> Tensor:
    """The output of a call with some heads replaced.

    Args:
        output: (batch, heads, q_len, d_v), before the output projection.
        off: (batch or 1, heads) bool, True = off; None: none is.
        ablation: "zero", or "mean" over the real queries of the sample.
        real: (batch, q_len) bool, False = padding, which no mean counts; None: every query is real.
        looks_back: the mean at a query is over the queries up to it.
        before: what earlier passes over the same text put out, see ``mean_output``.

    Returns:
        (batch, heads, q_len, d_v); the very same tensor where no head is off.
    """
    if off is None:
        return output
    off = off.to(output.device)[:, :, None, None]
    if ablation == "zero":
        return output.masked_fill(off, 0.0)
    return torch.where(off, mean_output(output, real=real, looks_back=looks_back, before=before), output)


def mean_output(
    output: Tensor, *, real: Tensor | None, looks_back: bool, before: tuple[Tensor, int] | None = None
) -> Tensor:
    """Mean of each head's output over real queries.

    Args:
        output: (batch, heads, q_len, d_v).
        real: (batch, q_len) bool, False = padding; None: every query is real.
        looks_back: up to each query, so that a mean knows nothing of the future; False: over all.
        before: sum (batch, heads, 1, d_v) float64 and number of the outputs of earlier queries, which count too.

    Returns:
        (batch, heads, q_len, d_v) with ``looks_back``, else (batch, heads, 1, d_v); summed in float64, in the dtype of
        ``output``. 0 where no real query counts.
    """
    counted = output.new_ones(output.shape[0], output.shape[2], dtype=torch.bool) if real is None else real
    counted = counted.to(output.device)[:, None, :, None]
    kept = exact(output.masked_fill(~counted, 0.0))
    counted = counted.to(kept.device)
    if looks_back:
        total, number = kept.cumsum(dim=2), counted.cumsum(dim=2)
    else:
        total, number = kept.sum(dim=2, keepdim=True), counted.sum(dim=2, keepdim=True)
    if before is not None:
        total, number = total + before[0], number + before[1]
    return (total / number.clamp(min=1)).to(output)


def exact(tensor: Tensor) -> Tensor:
    """In float64, on the CPU where the device has none (mps)."""
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()
