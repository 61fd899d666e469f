"""How much of a loss reaches the queries and the keys through softmax."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.attention import scaled_dot_product_attention
from attention_core.diagnostics._rows import expanded_queries, widened


@dataclass(frozen=True, eq=False)
class GradientNorms:
    """Euclidean norms of the gradient of a scalar with respect to the queries and the keys of each head.

    Attributes:
        query, key: (batch, heads) float, over all positions. For grouped heads, ``key`` is each query head's own share.
        query_per_token: (batch, heads, q_len) float.
        key_per_token: (batch, heads, k_len) float.
    """

    query: Tensor
    key: Tensor
    query_per_token: Tensor
    key_per_token: Tensor


def gradient_norms(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    allowed: Tensor | None = None,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    direction: Tensor | None = None,
    valid_queries: Tensor | None = None,
    seed: int = 0,
) -> GradientNorms:
    """Gradient norms of the scalar ``sum(output * direction)`` with respect to q and k.

    Works on copies in a graph of its own, under ``no_grad`` and ``inference_mode`` too; no gradient is left on the
    inputs. Half-precision inputs are computed in float32.

    Args:
        query: (batch, heads, q_len, d_k) float.
        key: (batch, kv_heads, k_len, d_k) float; kv_heads divides heads.
        value: (batch, kv_heads, k_len, d_v) float.
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); True = may attend.
        bias: float, likewise, added to the capped scores.
        sinks: (heads,) float, one extra logit per head.
        scale: factor on the scores; None means 1 / sqrt(d_k).
        softcap: bound on the absolute scaled score; None means no bound.
        direction: (batch, heads, q_len, d_v) float, the gradient that arrives at the output. None: standard normal
            entries from ``seed``.
        valid_queries: (batch, q_len) bool; the output of the others does not enter the scalar. None: all do.
        seed: of ``direction``; the global generator is not touched.

    Returns:
        GradientNorms.

    Raises:
        TypeError: as in ``scaled_dot_product_attention``.
        ValueError: likewise; or if ``direction`` has another shape than the output.
    """
    with torch.inference_mode(False), torch.enable_grad():
        group = query.shape[1] // key.shape[1] if key.shape[1] and query.shape[1] % key.shape[1] == 0 else 1
        q = _leaf(query)
        k = _leaf(key.repeat_interleave(group, dim=1))
        output = scaled_dot_product_attention(
            q,
            k,
            _copy(value.repeat_interleave(group, dim=1)),
            allowed=None if allowed is None else allowed.clone(),
            bias=None if bias is None else _copy(bias),
            sinks=None if sinks is None else _copy(sinks),
            scale=scale,
            softcap=softcap,
            keep=(),
        ).output
        if direction is None:
            generator = torch.Generator().manual_seed(seed)
            direction = torch.randn(output.shape, generator=generator, dtype=output.dtype).to(output.device)
        elif direction.shape != output.shape:
            raise ValueError(
                f"direction must have the shape of the output, {tuple(output.shape)}: got {tuple(direction.shape)}"
            )
        counted = expanded_queries(valid_queries, output.shape[:-1], output.device)[..., None]
        arriving = direction.detach().to(output.dtype).masked_fill(~counted, 0.0)
        grad_q, grad_k = torch.autograd.grad(output, (q, k), grad_outputs=arriving)
    return GradientNorms(
        query=torch.linalg.vector_norm(grad_q, dim=(-2, -1)),
        key=torch.linalg.vector_norm(grad_k, dim=(-2, -1)),
        query_per_token=torch.linalg.vector_norm(grad_q, dim=-1),
        key_per_token=torch.linalg.vector_norm(grad_k, dim=-1),
    )


def _copy(tensor: Tensor) -> Tensor:
    return widened(tensor).detach().clone()


def _leaf(tensor: Tensor) -> Tensor:
    return _copy(tensor).requires_grad_()
