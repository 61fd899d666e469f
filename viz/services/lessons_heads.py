"""Many heads: split, attend, concatenate, mix; what heads cost; what those of a real model look at."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from attention_core.from_scratch import embed, tokenize
from attention_core.modules import MultiHeadAttention, merge_heads
from viz.services.attention import ModelRequest
from viz.services.models import model_is_here, model_names
from viz.services.overview import overview

D_MODEL = 16
HEADS = (1, 2, 4, 8, 16)
KV_HEADS = (8, 4, 2, 1)
MOST = 8
LOOKS = ("previous", "next", "self", "first", "separator", "uniform")
_WIDE = 64  # d_model where heads are counted
_QUERY_HEADS = 8


@dataclass(frozen=True, eq=False)
class Split:
    """One call of several heads over a text.

    Attributes:
        tokens: of the rows.
        queries: (len, d_model) before the split; head h has the columns of ``columns[h]``.
        weights: (heads, len, len).
        joined: (len, heads x d_v) the heads' outputs side by side.
        output: (len, d_model) after W_O.
        columns: per head, its columns in ``queries`` and ``joined``.
        shapes: name -> sizes.
        apart: largest difference between W_O on all heads and the sum of each head alone through W_O.
    """

    tokens: tuple[str, ...]
    queries: np.ndarray
    weights: np.ndarray
    joined: np.ndarray
    output: np.ndarray
    columns: tuple[range, ...]
    shapes: dict[str, tuple[int, ...]]
    apart: float


@dataclass(frozen=True)
class Bill:
    """What a layer with that many heads holds.

    Attributes:
        heads, kv_heads, d_k: its sizes.
        parameters: of all four projections.
        cached: numbers that a cache keeps per token.
    """

    heads: int
    kv_heads: int
    d_k: int
    parameters: int
    cached: int


@lru_cache(maxsize=32)
def split(text: str, heads: int) -> Split | None:
    """Runs the first tokens of a text through one layer; None where it has none.

    Args:
        text: any.
        heads: a divisor of ``D_MODEL``.
    """
    tokens = tuple(token.label for token in tokenize(text)[:MOST])
    if not tokens:
        return None
    generator = torch.Generator().manual_seed(0)
    layer = MultiHeadAttention(D_MODEL, heads, bias=False, generator=generator, dtype=torch.float64)
    x = embed(tokens, D_MODEL)[None]  # (1, len, d_model)
    with torch.no_grad():
        query, _, _ = layer.project(x)
        output, trace = layer(x)
        alone = []
        for head in range(heads):
            only = torch.zeros_like(trace.output)
            only[:, head] = trace.output[:, head]
            alone.append(layer.combine(only))
        queries, joined = merge_heads(query), merge_heads(trace.output)  # (1, len, d_model)
    assert trace.weights is not None
    shapes = {"x": x, "q": query, "weights": trace.weights, "heads": trace.output, "joined": joined, "output": output}
    return Split(
        tokens=tokens,
        queries=queries[0].numpy(),
        weights=trace.weights[0].numpy(),
        joined=joined[0].numpy(),
        output=output[0].numpy(),
        columns=tuple(range(head * layer.d_v, (head + 1) * layer.d_v) for head in range(heads)),
        shapes={name: tuple(tensor.shape[1:]) for name, tensor in shapes.items()},
        apart=float((sum(alone) - output).abs().max()),
    )


@lru_cache(maxsize=1)
def bills() -> tuple[Bill, ...]:
    """One layer of d_model 64 with 1 to 16 heads, counted."""
    return tuple(_bill(heads, heads) for heads in HEADS)


@lru_cache(maxsize=1)
def grouped_bills() -> tuple[Bill, ...]:
    """One layer of d_model 64 with 8 query heads and 8 to 1 key/value heads, counted."""
    return tuple(_bill(_QUERY_HEADS, kv_heads) for kv_heads in KV_HEADS)


@dataclass(frozen=True, eq=False)
class Looks:
    """How much of its attention each head of the pretrained model gives to one kind of key: (layers, heads)."""

    model: str
    share: np.ndarray

    @property
    def best(self) -> tuple[int, int, float]:
        """(layer, head, share) of the head that gives most."""
        layer, head = np.unravel_index(int(np.nanargmax(self.share)), self.share.shape)
        return int(layer), int(head), float(self.share[layer, head])

    @property
    def mean(self) -> float:
        """Over all heads."""
        return float(np.nanmean(self.share))


def model_name() -> str:
    """The pretrained model of this lesson."""
    return model_names()[0]


def looks(text: str, kind: str) -> Looks | None:
    """Measures the pretrained model on a text; None where it is not on this machine.

    Args:
        text: any.
        kind: of ``LOOKS``.

    Raises:
        LoadError, BusyError: if the model cannot be used now.
    """
    name = model_name()
    if not model_is_here(name):
        return None
    return Looks(name, overview(ModelRequest(name, (text,)), "encoder", 0).numbers[kind])


def _bill(heads: int, kv_heads: int) -> Bill:
    generator = torch.Generator().manual_seed(0)
    layer = MultiHeadAttention(_WIDE, heads, num_kv_heads=kv_heads, bias=False, generator=generator)
    with torch.no_grad():
        _, key, value = layer.project(torch.zeros(1, 1, _WIDE))
    return Bill(heads, kv_heads, layer.d_k, sum(p.numel() for p in layer.parameters()), key.numel() + value.numel())
