"""Softmax for real: with the largest logit taken off or not, in several dtypes; temperature; where a dtype ends."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.attention import scaled_dot_product_attention
from attention_core.diagnostics import attention_entropy, top_weight
from attention_core.from_scratch import embed, tokenize

DTYPES = ("float16", "bfloat16", "float32")
LARGEST = (0, 5, 10, 11, 12, 50, 88, 89, 100, 1000)  # the largest logit of the row
TEMPERATURES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
LENGTHS = (16, 256, 4096)
MOST = 10
_BELOW = (-3.0, -2.0, -1.0, 0.0)  # the logits of the row, below the largest
_D_K = 16


@dataclass(frozen=True, eq=False)
class Rows:
    """One row of logits through softmax, computed in a dtype; each array is (keys,) float64.

    Attributes:
        logits: as the dtype holds them.
        powers, weights: exp of them, and each divided by the sum.
        shifted_powers, shifted_weights: with the largest logit taken off first.
        core: what this project's attention gives for inputs of that dtype.
        exact: of the unrounded logits, in float64.
    """

    logits: np.ndarray
    powers: np.ndarray
    weights: np.ndarray
    shifted_powers: np.ndarray
    shifted_weights: np.ndarray
    core: np.ndarray
    exact: np.ndarray

    @property
    def lost(self) -> bool:
        """True where a weight made at once is no number any more."""
        return not bool(np.isfinite(self.weights).all())


@dataclass(frozen=True, eq=False)
class Tempered:
    """A sentence at one temperature.

    Attributes:
        tokens: of rows and columns.
        weights: (len, len).
        entropy, top: means over the queries, at each of ``TEMPERATURES``.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    entropy: np.ndarray
    top: np.ndarray


@dataclass(frozen=True)
class Limits:
    """Where a dtype ends, found by trying.

    Attributes:
        dtype: its name.
        overflow: the largest logit, in steps of 1/16, whose exp is finite.
        vanish: the largest lead, in steps of 1/16, at which the other key still has a weight.
        spacing: between 1 and the next larger number.
        row_sum: how far a row of weights, rounded to the dtype, is from 1.
    """

    dtype: str
    overflow: float
    vanish: float
    spacing: float
    row_sum: float


@lru_cache(maxsize=64)
def rows(dtype: str, largest: float) -> Rows:
    """Four logits, the largest of them given, through softmax.

    Args:
        dtype: of ``DTYPES``.
        largest: the largest logit.
    """
    exact = torch.tensor(_BELOW, dtype=torch.float64) + largest
    logits = exact.to(getattr(torch, dtype))
    powers = torch.exp(logits)
    shifted = torch.exp(logits - logits.max())
    ours = _core_weights(logits)
    arrays = (logits, powers, powers / powers.sum(), shifted, shifted / shifted.sum(), ours, torch.softmax(exact, -1))
    return Rows(*(_array(tensor) for tensor in arrays))


@lru_cache(maxsize=64)
def tempered(text: str, temperature: float) -> Tempered | None:
    """One head over the first tokens of a text; None where it has none.

    Args:
        text: any.
        temperature: divides the scaled scores, > 0.
    """
    tokens = tuple(token.label for token in tokenize(text)[:MOST])
    if not tokens:
        return None
    key, other = embed(tokens, _D_K, seed=0), embed(tokens, _D_K, seed=1)
    query = (key + other) / math.sqrt(2)
    at = {one: _weights(query, key, one) for one in {*TEMPERATURES, temperature}}
    return Tempered(
        tokens=tokens,
        weights=_array(at[temperature]),
        entropy=np.array([float(attention_entropy(at[one]).mean()) for one in TEMPERATURES]),
        top=np.array([float(top_weight(at[one]).mean()) for one in TEMPERATURES]),
    )


@lru_cache(maxsize=8)
def limits(length: int) -> tuple[Limits, ...]:
    """The ends of each dtype; the sum of a row is of ``length`` keys."""
    return tuple(_limits(name, length) for name in DTYPES)


@lru_cache(maxsize=1)
def shift_apart() -> tuple[float, float]:
    """How far the core's weights in float64 move when 1000 is added to every logit, and the largest of them then."""
    plain, moved = (_core_weights(torch.tensor(_BELOW, dtype=torch.float64) + shift) for shift in (0, 1000))
    return float((plain - moved).abs().max()), float(moved.max())


def _limits(name: str, length: int) -> Limits:
    dtype = getattr(torch, name)
    grid = torch.arange(0, 16 * 200, dtype=torch.float64) / 16
    held = grid.to(dtype)
    exact = held.double() == grid  # a coarse dtype does not hold each step
    finite = torch.isfinite(torch.exp(held)) & exact
    loser = torch.exp(-held) / (1 + torch.exp(-held))
    logits = torch.randn(length, generator=torch.Generator().manual_seed(0)).to(dtype)
    return Limits(
        dtype=name,
        overflow=float(grid[finite].max()),
        vanish=float(grid[(loser > 0) & exact].max()),
        spacing=torch.finfo(dtype).eps,
        row_sum=abs(float(_core_weights(logits).double().sum()) - 1),
    )


def _core_weights(logits: Tensor) -> Tensor:
    """One row of logits through the core: the query is the row, the keys are one-hot."""
    one_hot = torch.eye(len(logits), dtype=logits.dtype)
    trace = scaled_dot_product_attention(logits[None], one_hot, one_hot[:, :1], scale=1.0, keep="weights")
    assert trace.weights is not None
    return trace.weights[0]


def _weights(query: Tensor, key: Tensor, temperature: float) -> Tensor:
    scale = 1 / (math.sqrt(_D_K) * temperature)
    trace = scaled_dot_product_attention(query, key, key, scale=scale, keep="weights")
    assert trace.weights is not None
    return trace.weights


def _array(tensor: Tensor) -> np.ndarray:
    array = tensor.double().numpy()
    array.flags.writeable = False
    return array
