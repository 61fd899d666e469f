"""Tiled, cached and linear attention: equal to the plain form or to their own definition, and what they cost."""

import math
from collections import deque

import pytest
import torch
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attention_core import masks, scaled_dot_product_attention
from attention_core.modules import MultiHeadAttention
from attention_core.variants import (
    KVCache,
    TileState,
    attention_multiplications,
    cached_attention,
    feature_map,
    generation_with_cache,
    generation_without_cache,
    layer_multiplications,
    linear_attention,
    linear_attention_multiplications,
    linear_weights,
    tiled_attention,
)

BATCH, HEADS, Q_LEN, K_LEN, D_K, D_V = 2, 3, 5, 7, 11, 13


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def inputs(q_len: int = Q_LEN, k_len: int = K_LEN, dtype: torch.dtype = torch.float32):
    return (
        draw(BATCH, HEADS, q_len, D_K, seed=1, dtype=dtype), draw(BATCH, HEADS, k_len, D_K, seed=2, dtype=dtype),
        draw(BATCH, HEADS, k_len, D_V, seed=3, dtype=dtype),
    )  # fmt: skip


def last(states) -> TileState:
    return deque(states, maxlen=1)[0]


MASKS = {
    "none": None,
    "causal": masks.causal(Q_LEN, K_LEN),
    "padding": masks.padding([7, 3], K_LEN),
    "left": masks.padding([7, 3], K_LEN, side="left"),  # whole tiles without a readable key, first of all
    "empty row": masks.causal(Q_LEN, K_LEN, offset=-2),
}


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scale", [None, 1.0])
def test_tiled_equals_full(tile, mask, scale):
    query, key, value = inputs()
    allowed = MASKS[mask]
    full = scaled_dot_product_attention(query, key, value, allowed=allowed, scale=scale).output
    states = list(tiled_attention(query, key, value, allowed=allowed, scale=scale, tile=tile))
    assert_close(states[-1].output, full, atol=1e-5, rtol=0)  # float32, sums in another order
    assert [(one.first, one.last) for one in states] == [(at, min(at + tile, 7)) for at in range(0, 7, tile)]


def test_tiled_equals_full_where_logits_are_huge():
    query, key, value = inputs()
    full = scaled_dot_product_attention(query * 100, key * 100, value, scale=1.0).output
    assert_close(
        last(tiled_attention(query * 100, key * 100, value, scale=1.0, tile=2)).output, full, atol=1e-5, rtol=0
    )


def test_each_state_is_attention_over_the_keys_so_far():
    query, key, value = inputs(dtype=torch.float64)
    for state in tiled_attention(query, key, value, tile=3):
        seen = scaled_dot_product_attention(query, key[..., : state.last, :], value[..., : state.last, :])
        assert seen.logits is not None
        close = {"atol": 1e-12, "rtol": 0}  # float64
        assert_close(state.output, seen.output, **close)
        assert_close(state.top, seen.logits.amax(-1), **close)
        assert_close(state.top + state.total.log(), seen.logits.logsumexp(-1), **close)
        assert_close(state.logits, seen.logits[..., state.first :], **close)


def test_a_tile_by_hand():
    query, key = torch.ones(1, 1), torch.tensor([[0.0], [math.log(3)]])
    first, second = tiled_attention(query, key, torch.tensor([[4.0], [8.0]]), scale=1.0, tile=1)
    assert (first.top.item(), first.total.item(), first.output.item()) == (0.0, 1.0, 4.0)
    assert_close(second.correction, torch.tensor([1 / 3]))
    assert_close(second.total, torch.tensor([4 / 3]))
    assert_close(second.output, torch.tensor([[(4 + 3 * 8) / 4]]))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tile": 0}, ValueError, "tile must be at least 1 key: got 0"),
        ({"allowed": torch.ones(5, 7)}, TypeError, "allowed must be a bool tensor"),
        ({"allowed": torch.ones(7, 5, dtype=torch.bool)}, ValueError, r"to \(2, 3, 5, 7\): got shape \(7, 5\)"),
        ({"key": torch.ones(2, 3, 7, 5)}, ValueError, "key must be as wide as query"),
        ({"value": torch.ones(2, 3, 6, 13)}, ValueError, "as long as value"),
        ({"query": torch.ones(2, 3, 5, 11, dtype=torch.float16)}, TypeError, "float64 or float32: got torch.float16"),
        ({"key": torch.ones(11)}, ValueError, r"key needs at least \(len, d\)"),
    ],
)  # fmt: skip
def test_what_tiles_cannot_take(change, error, message):
    query, key, value = inputs()
    given = {"query": query, "key": key, "value": value, "tile": 2} | change
    with pytest.raises(error, match=message):
        tiled_attention(**given)


@pytest.mark.parametrize("steps", [(1,) * 7, (3, 1, 1, 2), (7,)])
@pytest.mark.parametrize("kv_heads", [3, 1])
def test_cached_equals_uncached(steps, kv_heads):
    query, _, _ = inputs(q_len=7)
    key, value = draw(BATCH, kv_heads, 7, D_K, seed=2), draw(BATCH, kv_heads, 7, D_V, seed=3)
    full = scaled_dot_product_attention(query, key, value, allowed=masks.causal(7), enable_gqa=True)
    assert full.weights is not None
    cache, start = KVCache(), 0
    for step in steps:
        new = slice(start, start + step)
        trace, longer = cached_attention(query[:, :, new], key[:, :, new], value[:, :, new], cache)
        assert (len(cache), len(longer)) == (start, start + step)
        cache, start = longer, start + step
        assert trace.weights is not None
        assert_close(trace.output, full.output[:, :, new], atol=1e-5, rtol=0)  # float32, other shapes of matmul
        assert_close(trace.weights, full.weights[:, :, new, :start], atol=1e-5, rtol=0)
    assert cache.key is not None and cache.value is not None
    assert torch.equal(cache.key, key) and torch.equal(cache.value, value)


def test_a_cache_takes_a_value_for_each_key():
    with pytest.raises(ValueError, match="a key and a value each: got 2 and 3"):
        KVCache().extended(torch.ones(1, 2, 5), torch.ones(1, 3, 5))


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_is_its_definition(causal):
    query, key, value = inputs(q_len=7, dtype=torch.float64)
    close = {"atol": 1e-12, "rtol": 0}  # float64
    weights = linear_weights(query, key, causal=causal)
    assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, 7, dtype=torch.float64), **close)
    if causal:
        assert not weights.triu(1).any()
    assert_close(linear_attention(query, key, value, causal=causal), weights @ value, **close)
    assert_close(feature_map(query), torch.nn.functional.elu(query) + 1, **close)


def test_linear_attention_needs_as_many_queries_as_keys_when_causal():
    query, key, value = inputs()
    with pytest.raises(ValueError, match="as many queries as keys: got 5 and 7"):
        linear_attention(query, key, value, causal=True)
    assert linear_attention(query, key, value).shape == (BATCH, HEADS, Q_LEN, D_V)


def counted(work) -> int:
    """Multiplications inside matrix products, as torch counts them: two operations each."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops() // 2


def test_counts_of_one_head():
    query, key, value = (tensor[:1, :1] for tensor in inputs())
    full = counted(lambda: scaled_dot_product_attention(query, key, value))
    assert full == attention_multiplications(Q_LEN * K_LEN, D_K, D_V) == 5 * 7 * 24
    assert counted(lambda: last(tiled_attention(query, key, value, tile=3))) == full
    query = draw(1, 1, 7, D_K)
    assert counted(lambda: linear_attention(query, key, value)) == linear_attention_multiplications(7, D_K, D_V)


@pytest.mark.parametrize("heads", [1, 2])
def test_counts_of_a_layer_and_of_a_generation(heads):
    layer = MultiHeadAttention(6, heads, bias=False, generator=torch.Generator().manual_seed(0))
    x = draw(1, 7, 6)

    def with_cache() -> None:
        cache = KVCache()
        for place in range(7):
            trace, cache = cached_attention(*layer.project(x[:, place : place + 1]), cache)
            layer.combine(trace.output)

    assert counted(lambda: layer(x)) == layer_multiplications(7, 7, 6)
    assert counted(lambda: [layer(x[:, :n]) for n in range(1, 8)]) == generation_without_cache(7, 6)
    assert counted(with_cache) == generation_with_cache(7, 6)
    assert generation_with_cache(7, 6) == sum(layer_multiplications(1, n, 6) for n in range(1, 8))
    assert generation_without_cache(7, 6) == sum(layer_multiplications(n, n, 6) for n in range(1, 8))
