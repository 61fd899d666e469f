"""The same result another way: tiled attention with online softmax, a KV cache; linear attention as a contrast.

What each of them costs is counted in multiplications, by functions of the sizes alone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core import masks
from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.mask_conventions import require_bool

# ---------------------------------------------------------------------------------------------------------------------
# tiles


@dataclass(frozen=True, eq=False)
class TileState:
    """Where tiled attention stands once a tile of keys has been read.

    ``L`` stands for the leading axes, usually ``(batch, heads)``.

    Attributes:
        first, last: the keys of the tile, ``last`` not included.
        logits: (L, q_len, last - first) of this tile; -inf where forbidden.
        top: (L, q_len) the largest logit so far; -inf where nothing could be read yet.
        total: (L, q_len) sum of exp(logit - top) so far.
        correction: (L, q_len) what everything before was multiplied by, because ``top`` rose.
        output: (L, q_len, d_v) the result, were there no further key; 0 where nothing could be read yet.
    """

    first: int
    last: int
    logits: Tensor
    top: Tensor
    total: Tensor
    correction: Tensor
    output: Tensor


def tiled_attention(
    query: Tensor, key: Tensor, value: Tensor, *, allowed: Tensor | None = None, scale: float | None = None, tile: int
) -> Iterator[TileState]:
    """Attention that never holds more than one tile of scores: online softmax, tile after tile of keys.

    The ``output`` of the last state is the result. Whoever keeps no earlier state needs memory for
    q_len x (tile + d_v) numbers, not q_len x k_len.

    Args:
        query: (batch, heads, q_len, d_k) float64 or float32; any leading axes.
        key: (batch, heads, k_len, d_k), same dtype.
        value: (batch, heads, k_len, d_v), same dtype.
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); True = may attend. None: all.
        scale: factor on the scores; None means 1 / sqrt(d_k).
        tile: keys per tile, at least 1.

    Returns:
        Iterator of TileState, one per tile, computed as it is asked for.

    Raises:
        ValueError: if ``tile`` is below 1, there is no key, or shapes do not fit.
        TypeError: if ``allowed`` is not bool, or a dtype is none of the two.

    Source:
        Milakov and Gimelshein 2018 (online softmax); Rabe and Staats 2021; Dao et al. 2022 (FlashAttention).
    """
    if tile < 1:
        raise ValueError(f"tile must be at least 1 key: got {tile}")
    _check(query, key, value)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    shape = (*torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]), query.shape[-2], key.shape[-2])
    if allowed is not None:
        require_bool("allowed", allowed)
        try:
            allowed = allowed.expand(shape)
        except RuntimeError:
            raise ValueError(f"allowed must broadcast to {shape}: got shape {tuple(allowed.shape)}") from None
    return _tiles(query, key, value, allowed, scale, tile)


def _tiles(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, scale: float, tile: int
) -> Iterator[TileState]:
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    rows = (*leading, query.shape[-2])
    top = query.new_full(rows, -math.inf)  # (L, q_len)
    total = query.new_zeros(rows)  # (L, q_len)
    summed = query.new_zeros(*rows, value.shape[-1])  # (L, q_len, d_v), of exp(logit - top) x value
    for first in range(0, key.shape[-2], tile):
        last = min(first + tile, key.shape[-2])
        logits = torch.matmul(query, key[..., first:last, :].transpose(-2, -1)) * scale  # (L, q_len, tile)
        if allowed is not None:
            logits = logits.masked_fill(~allowed[..., first:last], -math.inf)
        risen = torch.maximum(top, logits.amax(dim=-1))  # (L, q_len)
        base = risen.masked_fill(torch.isneginf(risen), 0.0)  # -inf - -inf would be NaN
        correction = torch.exp(top - base)
        shares = torch.exp(logits - base.unsqueeze(-1))  # (L, q_len, tile)
        total = total * correction + shares.sum(dim=-1)
        summed = summed * correction.unsqueeze(-1) + torch.matmul(shares, value[..., first:last, :])
        top = risen
        output = summed / total.masked_fill(total == 0, 1.0).unsqueeze(-1)  # (L, q_len, d_v)
        yield TileState(first, last, logits, top, total, correction, output)


# ---------------------------------------------------------------------------------------------------------------------
# cache


@dataclass(frozen=True, eq=False)
class KVCache:
    """Keys and values of the tokens so far; a longer one is a new one.

    Attributes:
        key: (batch, heads, len, d_k); None while empty.
        value: (batch, heads, len, d_v); None while empty.
    """

    key: Tensor | None = None
    value: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[-2]

    def extended(self, key: Tensor, value: Tensor) -> "KVCache":
        """The cache with the keys and values of new tokens behind its own.

        Raises:
            ValueError: if there are not as many keys as values.
        """
        if key.shape[-2] != value.shape[-2]:
            raise ValueError(f"new tokens have a key and a value each: got {key.shape[-2]} and {value.shape[-2]}")
        if self.key is None or self.value is None:
            return KVCache(key, value)
        return KVCache(torch.cat([self.key, key], dim=-2), torch.cat([self.value, value], dim=-2))


def cached_attention(
    query: Tensor, key: Tensor, value: Tensor, cache: KVCache, *, scale: float | None = None
) -> tuple[AttentionTrace, KVCache]:
    """Causal attention of new tokens over themselves and all that are in the cache.

    Args:
        query: (batch, heads, new, d_k) of the new tokens alone, one at a time or several.
        key: (batch, kv_heads, new, d_k).
        value: (batch, kv_heads, new, d_v).
        cache: of the tokens before; ``KVCache()`` at the start.
        scale: factor on the scores; None means 1 / sqrt(d_k).

    Returns:
        The trace, its stages (batch, heads, new, len + new), and the cache with the new tokens in it.

    Raises:
        ValueError, TypeError: as ``scaled_dot_product_attention``.

    Source:
        Shazeer 2019, "Fast transformer decoding", section 2.4.1 (incremental attention).
    """
    longer = cache.extended(key, value)
    assert longer.key is not None and longer.value is not None
    allowed = masks.causal(query.shape[-2], len(longer), offset=len(cache))
    grouped = query.dim() > 2 and query.shape[-3] != longer.key.shape[-3]
    trace = scaled_dot_product_attention(
        query, longer.key, longer.value, allowed=allowed, scale=scale, enable_gqa=grouped
    )
    return trace, longer


# ---------------------------------------------------------------------------------------------------------------------
# linear attention


def feature_map(x: Tensor) -> Tensor:
    """elu(x) + 1, positive everywhere: (..., d) -> (..., d).

    Source:
        Katharopoulos et al. 2020, eq. 7.
    """
    return torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0)))


def linear_attention(query: Tensor, key: Tensor, value: Tensor, *, causal: bool = False) -> Tensor:
    """Attention with phi(q) . phi(k) in place of exp(q . k): its cost grows with len, not with its square.

    It is another function, not another way to the same numbers: no factor on the scores, no softmax.

    Args:
        query: (batch, heads, len, d_k) float; any leading axes.
        key: (batch, heads, len, d_k).
        value: (batch, heads, len, d_v).
        causal: each token sees itself and what came before.

    Returns:
        (batch, heads, len, d_v).

    Raises:
        ValueError: if shapes do not fit.

    Source:
        Katharopoulos et al. 2020, "Transformers are RNNs", eq. 5 and 9.
    """
    _check(query, key, value)
    asks, offers = feature_map(query), feature_map(key)  # (L, len, d_k)
    if not causal:
        state = torch.matmul(offers.transpose(-2, -1), value)  # (L, d_k, d_v)
        norm = torch.matmul(asks, offers.sum(dim=-2).unsqueeze(-1))  # (L, len, 1)
        return torch.matmul(asks, state) / norm
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(f"causal needs as many queries as keys: got {query.shape[-2]} and {key.shape[-2]}")
    state = value.new_zeros(*offers.shape[:-2], key.shape[-1], value.shape[-1])  # (L, d_k, d_v): all that is kept
    seen = offers.new_zeros(*offers.shape[:-2], key.shape[-1], 1)  # (L, d_k, 1)
    rows = []
    for place in range(query.shape[-2]):
        here = slice(place, place + 1)
        offer = offers[..., here, :].transpose(-2, -1)  # (L, d_k, 1)
        state, seen = state + torch.matmul(offer, value[..., here, :]), seen + offer
        rows.append(torch.matmul(asks[..., here, :], state) / torch.matmul(asks[..., here, :], seen))
    return torch.cat(rows, dim=-2)  # (L, len, d_v)


def linear_weights(query: Tensor, key: Tensor, *, causal: bool = False) -> Tensor:
    """The weights that linear attention never lays out, for looking at: (batch, heads, q_len, k_len), rows sum to 1.

    Args:
        query: (batch, heads, q_len, d_k) float.
        key: (batch, heads, k_len, d_k).
        causal: as in ``linear_attention``.
    """
    products = torch.matmul(feature_map(query), feature_map(key).transpose(-2, -1))
    if causal:
        products = products * masks.causal(query.shape[-2], key.shape[-2])
    return products / products.sum(dim=-1, keepdim=True)


# ---------------------------------------------------------------------------------------------------------------------
# multiplications


def attention_multiplications(pairs: int, d_k: int, d_v: int) -> int:
    """Of one head: each pair of a query and a key it reads costs d_k for its score and d_v for the weighted sum.

    Args:
        pairs: q_len x k_len where all is computed, else the allowed cells.
        d_k: width of queries and keys.
        d_v: width of values.
    """
    return pairs * (d_k + d_v)


def linear_attention_multiplications(length: int, d_k: int, d_v: int) -> int:
    """Of one head without a mask: len x d_k x d_v into the state, as many out of it, len x d_k for the sums below."""
    return 2 * length * d_k * d_v + length * d_k


def layer_multiplications(new: int, seen: int, d_model: int) -> int:
    """Of one attention layer with d_k = d_v = d_model / heads: four projections of the new tokens, then attention.

    Args:
        new: tokens that are projected, and ask.
        seen: keys that each of them meets, its own included.
        d_model: width of the layer; the number of heads does not matter.

    Source:
        Counted from Vaswani et al. 2017, section 3.2.2.
    """
    return 4 * new * d_model**2 + attention_multiplications(new * seen, d_model, d_model)


def generation_with_cache(length: int, d_model: int) -> int:
    """Multiplications of one layer until ``length`` tokens are there, each token computed once.

    4 n d^2 + 2 d n (n + 1) / 2, the sum of ``layer_multiplications(1, t, d_model)``.
    """
    return 4 * length * d_model**2 + d_model * length * (length + 1)


def generation_without_cache(length: int, d_model: int) -> int:
    """The same where every step computes all tokens so far anew.

    4 d^2 n (n + 1) / 2 + 2 d n (n + 1) (2 n + 1) / 6, the sum of ``layer_multiplications(t, t, d_model)``.
    """
    tokens, pairs = length * (length + 1) // 2, length * (length + 1) * (2 * length + 1) // 6
    return 4 * d_model**2 * tokens + 2 * d_model * pairs


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dtype not in (torch.float64, torch.float32) or tensor.dtype != query.dtype:
            raise TypeError(f"query, key and value must share float64 or float32: got {tensor.dtype} ({name})")
        if tensor.dim() < 2:
            raise ValueError(f"{name} needs at least (len, d): got shape {tuple(tensor.shape)}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or key.shape[-2] == 0:
        raise ValueError(
            "key must be as wide as query, as long as value, and not empty: got query, key, value of shapes "
            f"{tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
