"""Masks: before and after softmax, both or either, the two meanings of True, the empty row in several libraries."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attention_core import masks
from attention_core.attention import scaled_dot_product_attention
from attention_core.from_scratch import embed, tokenize
from attention_core.mask_conventions import to_additive

LENGTH = 6  # places of a text with padding
D_K = 8
LIBRARIES = ("core", "sdpa", "mha", "finite")


@dataclass(frozen=True, eq=False)
class Masked:
    """Weights under a mask applied in some way.

    Attributes:
        tokens: of rows and columns.
        allowed: (len, len) bool, what was meant.
        weights: (len, len).
        row_sums: (len,).
        leaks: forbidden cells with weight.
        largest_leak: the largest of these weights, 0 where none.
    """

    tokens: tuple[str, ...]
    allowed: np.ndarray
    weights: np.ndarray
    row_sums: np.ndarray
    leaks: int
    largest_leak: float


@dataclass(frozen=True, eq=False)
class EmptyRow:
    """What one library makes of a query that may see nothing: ``weights`` (3,) of its row, ``output`` its first number.

    ``verdict``: "zero", "nan" or "uniform".
    """

    weights: np.ndarray
    output: float
    verdict: str


@lru_cache(maxsize=32)
def placed(text: str, where: str) -> Masked | None:
    """A causal mask before softmax, after it, or not at all; None where the text has no token.

    Args:
        text: its first ``LENGTH`` tokens are used.
        where: "before", "after" or "none".
    """
    tokens = tuple(token.label for token in tokenize(text)[:LENGTH])
    if not tokens:
        return None
    query, key, value = _projected(tokens)
    allowed = masks.causal(len(tokens))
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed if where == "before" else None)
    assert trace.weights is not None
    weights = trace.weights * allowed if where == "after" else trace.weights
    return _masked(tokens, allowed, weights)


@lru_cache(maxsize=32)
def combined(text: str, padding: int, how: str) -> Masked | None:
    """Look-ahead and padding mask together: "both" must allow, "either" is enough, or one of them "alone".

    Args:
        text: its first tokens are used, so many that the padding fits.
        padding: filler tokens at the end.
        how: "both", "either", "causal" or "padding".
    """
    real = [token.label for token in tokenize(text)[: LENGTH - padding]]
    if not real:
        return None
    tokens = (*real, *["[PAD]"] * padding)
    length = len(tokens)
    query, key, value = _projected(tokens)
    future, filler = masks.causal(length), masks.padding([len(real)], length)[0, 0].expand(length, length)
    applied = {"both": future & filler, "either": future | filler, "causal": future, "padding": filler}[how]
    trace = scaled_dot_product_attention(query, key, value, allowed=applied)
    assert trace.weights is not None
    return _masked(tokens, future & filler, trace.weights)


@dataclass(frozen=True, eq=False)
class TwoMeanings:
    """One bool array given to two functions of one library.

    Attributes:
        flags: (len,) bool, what was handed over.
        sdpa, mha: (len,) weights of one query: ``scaled_dot_product_attention`` and ``nn.MultiheadAttention``.
    """

    flags: np.ndarray
    sdpa: np.ndarray
    mha: np.ndarray


@lru_cache(maxsize=32)
def meanings(flags: tuple[bool, ...]) -> TwoMeanings:
    """Gives the same flags over the keys to both; a query sees what it sees.

    Args:
        flags: one per key.
    """
    length = len(flags)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, length, D_K, generator=generator)
    mask = torch.tensor([flags])  # (1, k_len)
    sdpa = functional.scaled_dot_product_attention(
        x[:, None], x[:, None], torch.eye(length).expand(1, 1, length, length), attn_mask=mask[:, None, None]
    )  # (1, 1, q_len, k_len): the values are one-hot, so the output is the weights
    _, mha = _identity_mha()(x, x, x, key_padding_mask=mask)
    return TwoMeanings(mask[0].numpy(), sdpa[0, 0, 0].detach().numpy(), mha[0, 0].detach().numpy())


@lru_cache(maxsize=1)
def empty_rows() -> dict[str, EmptyRow]:
    """A query that may see none of three keys, by library.

    "core" is this project's, "sdpa" and "mha" torch's two, "finite" a large negative number in place of -inf, as many
    model libraries add it.
    """
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(1, 3, D_K, generator=generator)
    allowed = torch.tensor([[False, False, False], [True, True, False], [True, True, True]])
    heads = x[:, None]  # (1, 1, 3, d_k)
    ours = scaled_dot_product_attention(heads, heads, heads, allowed=allowed)
    assert ours.weights is not None
    one_hot = torch.eye(3).expand(1, 1, 3, 3)
    sdpa = [functional.scaled_dot_product_attention(heads, heads, v, attn_mask=allowed) for v in (one_hot, heads)]
    mha_output, mha_weights = _identity_mha()(x, x, x, attn_mask=~allowed)
    fill = to_additive(allowed, finite=True)
    finite = scaled_dot_product_attention(heads, heads, heads, bias=fill)
    assert finite.weights is not None
    found = {
        "core": (ours.weights[0, 0, 0], ours.output[0, 0, 0]),
        "sdpa": (sdpa[0][0, 0, 0], sdpa[1][0, 0, 0]),
        "mha": (mha_weights[0, 0], mha_output[0, 0]),
        "finite": (finite.weights[0, 0, 0], finite.output[0, 0, 0]),
    }
    return {name: _empty_row(weights.detach(), output.detach()) for name, (weights, output) in found.items()}


def _empty_row(weights: Tensor, output: Tensor) -> EmptyRow:
    if bool(weights.isnan().any()):
        verdict = "nan"
    elif bool((weights == 0).all()):
        verdict = "zero"
    else:
        verdict = "uniform" if torch.allclose(weights, torch.full_like(weights, 1 / len(weights))) else "other"
    return EmptyRow(weights.numpy(), float(output[0]), verdict)


def _identity_mha() -> nn.MultiheadAttention:
    """torch's module with projections that change nothing, so that it sees the same q, k and v."""
    module = nn.MultiheadAttention(D_K, 1, bias=False, batch_first=True, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(D_K).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(D_K))
    return module


def _projected(tokens: tuple[str, ...]) -> tuple[Tensor, Tensor, Tensor]:
    x = embed(tokens, D_K, seed=0)
    mixed = embed([f"{token}'" for token in tokens], D_K, seed=1)
    return (x + mixed) / math.sqrt(2), x, mixed


def _masked(tokens: tuple[str, ...], allowed: Tensor, weights: Tensor) -> Masked:
    leaked = weights.masked_fill(allowed, 0.0)
    return Masked(
        tokens=tokens,
        allowed=allowed.numpy(),
        weights=weights.float().numpy(),
        row_sums=weights.sum(dim=-1).numpy(),
        leaks=int((leaked > 0).sum()),
        largest_leak=float(leaked.max()),
    )
