"""Generating with a KV cache: the same numbers, one new row per token, and how many multiplications that saves."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_core import masks
from attention_core.from_scratch import embed, tokenize
from attention_core.modules import MultiHeadAttention
from attention_core.variants import KVCache, cached_attention, generation_with_cache, generation_without_cache

MOST = 10
D_MODEL = 16
HEADS = 2
LENGTHS = (1, 2, 4, 8, 16, 32)
WIDTHS = (16, 64, 128)


@dataclass(frozen=True, eq=False)
class Decoded:
    """A text taken in token by token.

    Attributes:
        tokens: of rows and columns.
        rows: (len, len) weights of head 0, each row made when its token came.
        full: (len, len) the same from one pass over the whole text.
        apart: (len,) largest difference of a token's output between both.
        asked: queries of the last step; ``kept``: keys in the cache behind it.
    """

    tokens: tuple[str, ...]
    rows: np.ndarray
    full: np.ndarray
    apart: np.ndarray
    asked: int
    kept: int


@dataclass(frozen=True, eq=False)
class Bill:
    """Multiplications of one layer until so many tokens are there.

    Attributes:
        lengths: how many tokens.
        cached, uncached: counted while it ran.
        cached_formula, uncached_formula: the sums in closed form.
    """

    lengths: tuple[int, ...]
    cached: tuple[int, ...]
    uncached: tuple[int, ...]
    cached_formula: tuple[int, ...]
    uncached_formula: tuple[int, ...]


@lru_cache(maxsize=32)
def decoded(text: str) -> Decoded | None:
    """Runs the first tokens of a text one by one with a cache, and all at once; None where it has none."""
    tokens = tuple(token.label for token in tokenize(text)[:MOST])
    if not tokens:
        return None
    layer = _layer(D_MODEL)
    x, length = embed(tokens, D_MODEL)[None].float(), len(tokens)  # (1, len, d_model)
    rows, outputs, cache, asked = np.zeros((length, length)), [], KVCache(), 0
    with torch.no_grad():
        whole, full = layer(x, allowed=masks.causal(length))
        for place in range(length):
            trace, cache = cached_attention(*layer.project(x[:, place : place + 1]), cache)
            assert trace.weights is not None
            rows[place, : place + 1] = trace.weights[0, 0, 0].numpy()
            outputs.append(layer.combine(trace.output))
            asked = trace.weights.shape[-2]
    assert full.weights is not None
    apart = (torch.cat(outputs, dim=1) - whole).abs().amax(dim=-1)[0]
    return Decoded(tokens, rows, full.weights[0, 0].numpy(), apart.numpy(), asked, len(cache))


@dataclass(frozen=True, eq=False)
class Step:
    """What stands when a token has come: ``weights`` and ``allowed`` (len, len), and the cells that it took."""

    weights: np.ndarray
    allowed: np.ndarray
    computed: tuple[tuple[int, int], ...]


def step(made: Decoded, token: int, *, with_cache: bool) -> Step:
    """The weights up to a token: its own row new, or all of them."""
    length = len(made.tokens)
    here = np.arange(length) <= token
    source = made.rows if with_cache else made.full
    rows = [token] if with_cache else range(token + 1)
    return Step(
        weights=np.where(here[:, None], source, 0.0),
        allowed=np.tril(np.ones((length, length), bool)) & here[:, None],
        computed=tuple((row, column) for row in rows for column in range(token + 1)),
    )


@lru_cache(maxsize=4)
def bill(d_model: int) -> Bill:
    """Counts while a layer of that width generates, with and without a cache.

    Args:
        d_model: width, of ``WIDTHS``.
    """
    layer = _layer(d_model)
    x = torch.randn(1, LENGTHS[-1], d_model, generator=torch.Generator().manual_seed(0))
    cached, uncached, cache = {}, {}, KVCache()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        for place in range(LENGTHS[-1]):
            trace, cache = cached_attention(*layer.project(x[:, place : place + 1]), cache)
            layer.combine(trace.output)
            cached[place + 1] = counter.get_total_flops() // 2  # a multiplication and an addition are two
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        for place in range(LENGTHS[-1]):
            layer(x[:, : place + 1], allowed=masks.causal(place + 1))
            uncached[place + 1] = counter.get_total_flops() // 2
    return Bill(
        lengths=LENGTHS,
        cached=tuple(cached[length] for length in LENGTHS),
        uncached=tuple(uncached[length] for length in LENGTHS),
        cached_formula=tuple(generation_with_cache(length, d_model) for length in LENGTHS),
        uncached_formula=tuple(generation_without_cache(length, d_model) for length in LENGTHS),
    )


@lru_cache(maxsize=1)
def needed() -> dict[str, float]:
    """How far the last output moves when an earlier token has another query, key or value: name -> distance."""
    generator = torch.Generator().manual_seed(0)
    given = {name: torch.randn(1, 1, 5, 8, generator=generator) for name in ("query", "key", "value")}
    plain = _last(**given)
    moved = {}
    for name, tensor in given.items():
        other = tensor.clone()
        other[:, :, 1] = torch.randn(1, 1, 8, generator=generator)
        moved[name] = float((_last(**(given | {name: other})) - plain).abs().max())
    return moved


def _last(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    trace, _ = cached_attention(query, key, value, KVCache())
    return trace.output[:, :, -1]


def _layer(d_model: int) -> MultiHeadAttention:
    return MultiHeadAttention(d_model, HEADS, bias=False, generator=torch.Generator().manual_seed(0))
