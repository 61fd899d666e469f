"""Self- and cross-attention: who asks and who answers; a translation with keys made by hand."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core import masks
from attention_core.attention import scaled_dot_product_attention
from attention_core.from_scratch import embed, tokenize
from attention_core.modules import MultiHeadAttention

D_MODEL = 16
MOST = 8
ORDERS = ("copy", "reverse", "sorted")
SHARPNESS = (0.0, 1.0, 2.0, 4.0, 8.0)
DIGITS = (3, 1, 5, 2)  # what the source says, in words


@dataclass(frozen=True, eq=False)
class Crossed:
    """One attention between two sequences.

    Attributes:
        queries, keys: tokens of rows and columns.
        weights: (q_len, k_len).
        allowed: (q_len, k_len) bool.
        shapes: name -> sizes of query input, key input, Q, K, V, weights and output.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray
    shapes: dict[str, tuple[int, ...]]


@lru_cache(maxsize=64)
def crossed(target: str, source: str, kind: str) -> Crossed | None:
    """The target asks: itself ("self", or "causal") or the source ("cross"); None where a text has no token.

    Args:
        target: its first ``MOST`` tokens are used.
        source: likewise.
        kind: as above.
    """
    asking, answering = ([token.label for token in tokenize(text)[:MOST]] for text in (target, source))
    if not asking or not answering:
        return None
    keys = answering if kind == "cross" else asking
    module = MultiHeadAttention(D_MODEL, 1, bias=False, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x, y = embed(asking, D_MODEL)[None], embed(keys, D_MODEL)[None]  # (1, q_len, d_model), (1, k_len, d_model)
    allowed = masks.causal(len(asking)) if kind == "causal" else torch.ones(len(asking), len(keys), dtype=torch.bool)
    with torch.no_grad():
        query, key, value = module.project(x, y)
        output, trace = module(x, y, allowed=allowed)
    assert trace.weights is not None
    named = {"asks": x, "answers": y, "q": query, "k": key, "v": value, "weights": trace.weights}
    return Crossed(
        queries=tuple(asking),
        keys=tuple(keys),
        weights=trace.weights[0, 0].numpy(),
        allowed=allowed.numpy(),
        shapes={name: tuple(t.shape[1:]) for name, t in {**named, "output": output}.items()},
    )


def reordered_source(target: str, source: str) -> float:
    """How far the output of cross-attention moves when the source is turned around: largest difference."""
    asking, answering = ([token.label for token in tokenize(text)[:MOST]] for text in (target, source))
    module = MultiHeadAttention(D_MODEL, 1, bias=False, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x, y = embed(asking, D_MODEL)[None], embed(answering, D_MODEL)[None]
    with torch.no_grad():
        return _largest(module(x, y)[0] - module(x, y.flip(1))[0])


@dataclass(frozen=True, eq=False)
class Translation:
    """Words of numbers read as digits by keys made by hand.

    Attributes:
        digits: of the source, in its order.
        wanted: what each row of the target asks for.
        weights: (target, source).
        read: the digit that each row reads.
        votes: (target,) the share of its vote.
    """

    digits: tuple[int, ...]
    wanted: tuple[int, ...]
    weights: np.ndarray
    read: tuple[int, ...]
    votes: np.ndarray


@lru_cache(maxsize=32)
def translation(order: str, sharpness: float) -> Translation:
    """Keys are one-hot by word, values one-hot by digit, and each row asks for one word.

    Args:
        order: which word each row asks for, a code of ``ORDERS``.
        sharpness: length of the queries.
    """
    source = torch.tensor(DIGITS)
    wanted = {"copy": source, "reverse": source.flip(0), "sorted": source.sort().values}[order]
    width = max(DIGITS) + 1
    one_hot = torch.eye(width, dtype=torch.float64)
    trace = scaled_dot_product_attention(sharpness * one_hot[wanted], one_hot[source], one_hot[source], scale=1.0)
    assert trace.weights is not None
    votes, read = trace.output.max(dim=-1)
    return Translation(DIGITS, tuple(wanted.tolist()), trace.weights.numpy(), tuple(read.tolist()), votes.numpy())


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())
