"""An independent twin in float64 NumPy, written from the formulas, one row and one cell at a time.

It shares no code with the torch side and is slow on purpose: what it computes can be read off line by line, and tests
hold the torch side against it. Sizes and names are those of ``attention_core``; masks are bool, True = may attend.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reference:
    """Every stage of one call in float64; ``L`` stands for the leading axes, usually (batch, heads).

    Attributes:
        scores: (L, q_len, k_len) raw dot products.
        scaled: (L, q_len, k_len) ``scores * scale``.
        capped: (L, q_len, k_len) after the softcap.
        logits: (L, q_len, k_len) plus bias; -inf where a query may not look.
        weights: (L, q_len, k_len).
        output: (L, q_len, d_v).
        sink_weight: (L, q_len) share of the sink; None without sinks.
    """

    scores: Floats
    scaled: Floats
    capped: Floats
    logits: Floats
    weights: Floats
    output: Floats
    sink_weight: Floats | None = None


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    allowed: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    enable_gqa: bool = False,
) -> Reference:
    """Scaled dot-product attention, row by row.

    Args:
        query: (L, q_len, d_k).
        key: (L, k_len, d_k); with ``enable_gqa`` its heads axis may be shorter.
        value: (L, k_len, d_v).
        allowed: bool, broadcastable to (L, q_len, k_len); None allows everything.
        bias: broadcastable likewise, added to the capped scores.
        sinks: (heads,) one extra logit per head, without a value.
        scale: None means 1 / sqrt(d_k).
        softcap: bound on the scaled scores; None means no bound.
        enable_gqa: query head h reads key/value head ``h // (heads / kv_heads)``.

    Returns:
        Reference.

    Source:
        Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for grouped heads; Gemma 2 report 2024 for the softcap.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    if enable_gqa:
        group = q.shape[-3] // k.shape[-3]
        serving = [head // group for head in range(q.shape[-3])]
        k, v = k[..., serving, :, :], v[..., serving, :, :]
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(x, leading + x.shape[-2:]) for x in (q, k, v))
    q_len, k_len, d_v = q.shape[-2], k.shape[-2], v.shape[-1]
    shape = (*leading, q_len, k_len)
    may = np.broadcast_to(True if allowed is None else np.asarray(allowed, dtype=bool), shape)
    extra = np.broadcast_to(0.0 if bias is None else np.asarray(bias, dtype=np.float64), shape)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale

    scores, logits, weights = np.zeros(shape), np.full(shape, -np.inf), np.zeros(shape)
    output, sink_weight = np.zeros((*leading, q_len, d_v)), np.zeros((*leading, q_len))
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and inf at hidden keys are part of the contract
        for at in np.ndindex(*leading):
            for i in range(q_len):
                for j in range(k_len):
                    scores[at][i, j] = np.sum(q[at][i] * k[at][j])
        scaled = scores * factor
        capped = scaled if softcap is None else softcap * np.tanh(scaled / softcap)
        for at in np.ndindex(*leading):
            sink = None if sinks is None else float(np.asarray(sinks, dtype=np.float64)[at[-1] if at else 0])
            for i in range(q_len):
                open_ = may[at][i] & (extra[at][i] != -np.inf)
                logits[at][i, open_] = capped[at][i, open_] + extra[at][i, open_]
                row = logits[at][i] if sink is None else np.append(logits[at][i], sink)
                shares = _softmax(row)
                weights[at][i] = shares[:k_len]
                if sink is not None:
                    sink_weight[at][i] = shares[k_len]
                output[at][i] = np.sum(weights[at][i, open_, None] * v[at][open_], axis=0)  # no term for hidden keys
    return Reference(scores, scaled, capped, logits, weights, output, None if sinks is None else sink_weight)


def multi_head_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    num_heads: int,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    w_output: ArrayLike,
    b_query: ArrayLike | None = None,
    b_key: ArrayLike | None = None,
    b_value: ArrayLike | None = None,
    b_output: ArrayLike | None = None,
    num_kv_heads: int | None = None,
    allowed: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Floats, Reference]:
    """Multi-head attention: project, cut the features into heads, attend, join the heads, project.

    Weights have the layout of ``torch.nn.Linear``: (out, in), applied as ``x W^T + b``. Head h owns the features from
    ``h * d`` to ``(h + 1) * d - 1``.

    Args:
        query: (batch, q_len, d_model).
        key: (batch, k_len, d_model), the same array as ``query`` for self-attention.
        value: (batch, k_len, d_model), usually the same as ``key``.
        num_heads: query heads.
        w_query: (num_heads * d_k, d_model).
        w_key: (num_kv_heads * d_k, d_model).
        w_value: (num_kv_heads * d_v, d_model).
        w_output: (d_out, num_heads * d_v).
        b_query: (num_heads * d_k,), None for none.
        b_key: (num_kv_heads * d_k,), None for none.
        b_value: (num_kv_heads * d_v,), None for none.
        b_output: (d_out,), None for none.
        num_kv_heads: None means ``num_heads``.
        allowed: as in ``attention``.
        bias: as in ``attention``.
        sinks: as in ``attention``.
        scale: as in ``attention``.
        softcap: as in ``attention``.

    Returns:
        (batch, q_len, d_out) output, and the Reference of the heads: its ``output`` is (batch, num_heads, q_len, d_v).

    Source:
        Vaswani et al. 2017, section 3.2.2.
    """
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    reference = attention(
        _split(_linear(query, w_query, b_query), num_heads),
        _split(_linear(key, w_key, b_key), kv_heads),
        _split(_linear(value, w_value, b_value), kv_heads),
        allowed=allowed,
        bias=bias,
        sinks=sinks,
        scale=scale,
        softcap=softcap,
        enable_gqa=kv_heads != num_heads,
    )
    joined = np.concatenate([reference.output[:, head] for head in range(num_heads)], axis=-1)
    return _linear(joined, w_output, b_output), reference


def causal(q_len: int, k_len: int | None = None, *, offset: int | None = None) -> Bools:
    """Keys up to the query's own position; (q_len, k_len)."""
    return _cells(q_len, k_len, offset, lambda query, key: key <= query)


def causal_in_cache(q_len: int, k_len: int, *, valid_lengths: Sequence[int]) -> Bools:
    """The queries are the last ``q_len`` of each sample's valid keys; (batch, 1, q_len, k_len)."""
    return np.stack([causal(q_len, k_len, offset=valid - q_len) for valid in valid_lengths])[:, None]


def sliding_window(
    q_len: int,
    k_len: int | None = None,
    *,
    left: int | None = None,
    right: int | None = None,
    offset: int | None = None,
) -> Bools:
    """``left`` keys before and ``right`` keys after the query, None for all of them; (q_len, k_len)."""
    return _cells(
        q_len,
        k_len,
        offset,
        lambda query, key: (left is None or query - key <= left) and (right is None or key - query <= right),
    )


def chunked(q_len: int, k_len: int | None = None, *, size: int, offset: int | None = None) -> Bools:
    """Positions of the same chunk; (q_len, k_len)."""
    return _cells(q_len, k_len, offset, lambda query, key: math.floor(query / size) == math.floor(key / size))


def dilated(q_len: int, k_len: int | None = None, *, window: int, step: int, offset: int | None = None) -> Bools:
    """Distances 0, step, ..., (window - 1) * step on both sides; (q_len, k_len)."""
    distances = {n * step for n in range(window)}
    return _cells(q_len, k_len, offset, lambda query, key: abs(query - key) in distances)


def strided(q_len: int, k_len: int | None = None, *, stride: int, offset: int | None = None) -> Bools:
    """Distances that ``stride`` divides; (q_len, k_len)."""
    return _cells(q_len, k_len, offset, lambda query, key: abs(query - key) % stride == 0)


def global_local(
    q_len: int, k_len: int | None = None, *, window: int, global_keys: Sequence[int], offset: int | None = None
) -> Bools:
    """A window on both sides and keys for everybody; (q_len, k_len)."""
    return _cells(q_len, k_len, offset, lambda query, key: key in global_keys or abs(query - key) <= window - 1)


def block_sparse(block_map: ArrayLike, *, block_size: int) -> Bools:
    """Each cell asks its block; (q_blocks * block_size, k_blocks * block_size)."""
    blocks = np.asarray(block_map, dtype=bool)
    rows, columns = (n * block_size for n in blocks.shape)
    return _cells(rows, columns, 0, lambda query, key: bool(blocks[query // block_size, key // block_size]))


def prefix_lm(q_len: int, *, prefix: int) -> Bools:
    """Within the prefix everything, else causal; (q_len, q_len)."""
    return _cells(q_len, None, 0, lambda query, key: key <= query or (query < prefix and key < prefix))


def padding(lengths: Sequence[int], k_len: int, *, side: str = "right") -> Bools:
    """Real keys; (batch, 1, 1, k_len)."""
    rows = []
    for length in lengths:
        real, filler = [True] * length, [False] * (k_len - length)
        rows.append(real + filler if side == "right" else filler + real)
    return np.array(rows, dtype=bool).reshape(len(rows), 1, 1, k_len)


def packed(document_ids: ArrayLike) -> Bools:
    """Positions of the same document; (batch, 1, len, len)."""
    ids = np.atleast_2d(np.asarray(document_ids))
    masks = [_cells(len(row), None, 0, lambda query, key, row=row: bool(row[query] == row[key])) for row in ids]
    return np.stack(masks)[:, None]


def _cells(q_len: int, k_len: int | None, offset: int | None, may: Callable[[int, int], bool]) -> Bools:
    """Asks ``may(query position, key position)`` for every cell."""
    k_len = q_len if k_len is None else k_len
    first = k_len - q_len if offset is None else offset
    mask = np.zeros((q_len, k_len), dtype=bool)
    for row, column in np.ndindex(q_len, k_len):
        mask[row, column] = may(row + first, column)
    return mask


def _softmax(row: Floats) -> Floats:
    """Of one row; zeros where every logit is -inf."""
    if row.size == 0 or np.all(row == -np.inf):
        return np.zeros_like(row)
    exponentials = np.exp(row - np.max(row))
    return exponentials / np.sum(exponentials)


def _linear(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None) -> Floats:
    projected = np.asarray(x, dtype=np.float64) @ np.asarray(weight, dtype=np.float64).T
    return projected if bias is None else projected + np.asarray(bias, dtype=np.float64)


def _split(x: Floats, heads: int) -> Floats:
    """(batch, len, heads * d) -> (batch, heads, len, d)."""
    width = x.shape[-1] // heads
    return np.stack([x[..., head * width : (head + 1) * width] for head in range(heads)], axis=1)
