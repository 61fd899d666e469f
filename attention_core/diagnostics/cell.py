"""One cell of an attention map, from the products of q and k to its weight: each number as it was computed."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics._rows import widened
from attention_core.runs import CallInputs


@dataclass(frozen=True)
class Product:
    """One of the products that a score is the sum of: of dimension ``dim``."""

    dim: int
    query: float
    key: float
    product: float


@dataclass(frozen=True)
class CellSteps:
    """What one query and one key went through; numbers are float32 (float64 where the inputs are).

    Attributes:
        query, key: the cell.
        products: one per dimension, in order.
        score: their sum, as the matrix product computed it.
        scale, scaled: the factor, and score x scale.
        softcap: the bound; None where none is set. capped: after it.
        bias: what is added; None where nothing is. biased: the sum, before the mask.
        allowed: False where the mask forbids the cell.
        logit: what softmax sees: ``biased``, or -inf.
        readable: keys of the row whose logit is not -inf, of ``keys``.
        largest: the largest logit of the row, that of a sink among them; -inf in an empty row. largest_key: where; None
            where that is the sink, or where there is none.
        exponential: exp(logit - largest). total: the sum of these over the row, sink included. NaN in an empty row.
        sink: the logit of the head's sink; None without sinks. sink_weight: what it takes of the row.
        weight: what softmax gave.
        value_norm: length of the key's value vector. contribution: weight x that; 0 where the weight is 0.
    """

    query: int
    key: int
    products: tuple[Product, ...]
    score: float
    scale: float
    scaled: float
    softcap: float | None
    capped: float
    bias: float | None
    biased: float
    allowed: bool
    logit: float
    readable: int
    keys: int
    largest: float
    largest_key: int | None
    exponential: float
    total: float
    sink: float | None
    sink_weight: float | None
    weight: float
    value_norm: float
    contribution: float

    @property
    def empty(self) -> bool:
        """True where the query may read nothing, so that its weights are 0 by rule, not by softmax."""
        return math.isinf(self.largest) and self.largest < 0

    @property
    def not_a_number(self) -> bool:
        """True where NaN or infinity came into the row, so that softmax has no answer."""
        return math.isnan(self.weight)


def cell_steps(inputs: CallInputs, trace: AttentionTrace, *, query: int, key: int) -> CellSteps:
    """Every step of one cell.

    Args:
        inputs: of one head of one sample, as ``one_head`` cuts them: every tensor has batch and heads 1.
        trace: of the same, with all stages.
        query: row.
        key: column.

    Raises:
        ValueError: if there is more than one sample or head, or a stage was not kept.
        IndexError: if there is no such cell.
    """
    for name, tensor in (("query", inputs.query), ("key", inputs.key)):
        if tensor.dim() != 4 or tensor.shape[:2] != (1, 1):
            raise ValueError(f"steps are told of one sample and head: got {name} {tuple(tensor.shape)}; see one_head")
    stages = (trace.scores, trace.scaled, trace.capped, trace.logits, trace.weights)
    if any(stage is None for stage in stages):
        raise ValueError("steps need all stages: got a trace without some; keep them all")
    q_len, k_len = inputs.query.shape[2], inputs.key.shape[2]
    for name, index, size in (("query", query, q_len), ("key", key, k_len)):
        if not 0 <= index < size:
            raise IndexError(f"{name} must be one of {size}, from 0: got {index}")
    scores, scaled, capped, logits, weights = (stage[0, 0, query] for stage in stages if stage is not None)
    q, k = widened(inputs.query[0, 0, query]), widened(inputs.key[0, 0, key])  # (d_k,)
    bias = None if inputs.bias is None else inputs.bias.expand(1, 1, q_len, k_len)[0, 0, query, key].to(capped.dtype)
    sink = None if inputs.sinks is None else inputs.sinks[0].to(logits.dtype)
    seen = logits if sink is None else torch.cat([logits, sink[None]])  # (k_len,) or (k_len + 1,)
    top = int(seen.argmax())
    largest = seen[top]
    exponentials = torch.exp(seen - largest)
    norms = value_norms(inputs.value, 1)[0, 0]  # (k_len,)
    return CellSteps(
        query=query,
        key=key,
        products=tuple(Product(dim, *numbers) for dim, numbers in enumerate(torch.stack([q, k, q * k], 1).tolist())),
        score=float(scores[key]),
        scale=trace.scale,
        scaled=float(scaled[key]),
        softcap=inputs.softcap,
        capped=float(capped[key]),
        bias=None if bias is None else float(bias),
        biased=float(capped[key] if bias is None else capped[key] + bias),
        allowed=bool(inputs.allowed.expand(1, 1, q_len, k_len)[0, 0, query, key]),
        logit=float(logits[key]),
        readable=int((~torch.isneginf(logits)).sum()),
        keys=k_len,
        largest=float(largest),
        largest_key=None if torch.isneginf(largest) or top == k_len else top,
        exponential=float(exponentials[key]),
        total=float(exponentials.sum()),
        sink=None if sink is None else float(sink),
        sink_weight=None if trace.sink_weight is None else float(trace.sink_weight[0, 0, query]),
        weight=float(weights[key]),
        value_norm=float(norms[key]),
        contribution=float(_times_norm(widened(weights), norms)[key]),
    )


def weighted_norms(weights: Tensor, value: Tensor) -> Tensor:
    """Weight times the length of the key's value vector: how much a key adds, not only how much it is looked at.

    A key with a large weight and a short value adds little. The vectors are the head's own, before the output
    projection; the source takes them after it. A weight of exactly 0 adds exactly 0, whatever the value holds.

    Args:
        weights: (batch, heads, q_len, k_len) float.
        value: (batch, kv_heads, k_len, d_v) float; each of its heads serves a group of consecutive query heads.

    Returns:
        (batch, heads, q_len, k_len) float, in float32 for half-precision inputs.

    Raises:
        ValueError: if heads is not a multiple of kv_heads.

    Source:
        Kobayashi et al. 2020, "Attention is not only a weight: analyzing transformers with vector norms", section 3.
    """
    norms = value_norms(value, weights.shape[-3])
    return _times_norm(widened(weights), norms[..., None, :])


def value_norms(value: Tensor, heads: int) -> Tensor:
    """Euclidean length of each value vector, per query head: (batch, kv_heads, k_len, d_v) -> (batch, heads, k_len).

    Raises:
        ValueError: if ``heads`` is not a multiple of the heads of ``value``.
    """
    kv_heads = value.shape[-3]
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"query heads must be a multiple of key/value heads: got {heads} and {kv_heads}")
    return widened(value).norm(dim=-1).repeat_interleave(heads // kv_heads, dim=-2)


def one_head(inputs: CallInputs, *, sample: int, head: int) -> CallInputs:
    """The part of a call that one head of one sample computes from, as views; axes stay, batch and heads are 1.

    Raises:
        IndexError: if there is no such sample or head.
    """
    batch, heads, q_len, _ = inputs.query.shape
    kv_heads, k_len = inputs.key.shape[-3:-1]
    for name, index, size in (("sample", sample, batch), ("head", head, heads)):
        if not 0 <= index < size:
            raise IndexError(f"{name} must be one of {size}, from 0: got {index}")
    group = head // (heads // kv_heads)

    def cells(tensor: Tensor) -> Tensor:
        return tensor.expand(batch, heads, q_len, k_len)[sample : sample + 1, head : head + 1]

    return replace(
        inputs,
        query=inputs.query[sample : sample + 1, head : head + 1],
        key=inputs.key[sample : sample + 1, group : group + 1],
        value=inputs.value[sample : sample + 1, group : group + 1],
        allowed=cells(inputs.allowed),
        bias=None if inputs.bias is None else cells(inputs.bias),
        sinks=None if inputs.sinks is None else inputs.sinks[head : head + 1],
        own_allowed=None if inputs.own_allowed is None else cells(inputs.own_allowed),
    )


def _times_norm(weights: Tensor, norms: Tensor) -> Tensor:
    return torch.where(weights == 0, torch.zeros((), dtype=weights.dtype), weights * norms)
