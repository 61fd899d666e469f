"""Why the scores are divided by sqrt(d_k): variance, softmax and gradients against d_k, measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.attention import scaled_dot_product_attention
from attention_core.diagnostics import (
    attention_entropy,
    gradient_norms,
    saturation,
    softmax_jacobian_norm,
    top_weight,
)

D_K = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
VARIANCES = (0.25, 0.5, 1.0, 2.0, 4.0)
DIVISORS = ("one", "sqrt_d_k", "d_k", "sqrt_d_model")
HEADS = 8  # d_model is so many times d_k
LENGTH = 24  # queries, and keys
SEEDS = 5
_PAIRS = 1000


@dataclass(frozen=True, eq=False)
class VarianceSweep:
    """Variance of the raw score against d_k.

    Attributes:
        d_k: where.
        mean, spread: (len(d_k),) over the seeds: mean, and standard deviation.
        theory: (len(d_k),).
        ratio, ratio_spread: (len(d_k),) mean / theory, and spread / theory.
        pairs, seeds: of how many independent pairs each, with how many seeds.
    """

    d_k: tuple[int, ...]
    mean: np.ndarray
    spread: np.ndarray
    theory: np.ndarray
    pairs: int
    seeds: int

    @property
    def ratio(self) -> np.ndarray:
        return self.mean / self.theory

    @property
    def ratio_spread(self) -> np.ndarray:
        return self.spread / self.theory


@dataclass(frozen=True, eq=False)
class Softmaxed:
    """What softmax makes of the same q and k under one divisor.

    Attributes:
        divisor: what the scores were divided by.
        variance: of what softmax gets.
        top_weight, entropy, saturation, jacobian: means over the queries.
        gradient: norm of the gradient that reaches the queries.
        weights: (LENGTH, LENGTH).
    """

    divisor: float
    variance: float
    top_weight: float
    entropy: float
    saturation: float
    jacobian: float
    gradient: float
    weights: np.ndarray


def raw_scores(d_k: Sequence[int], pairs: int, seed: int, variance: float = 1.0) -> Tensor:
    """Raw scores of independent pairs of a query and a key with normal features: (len(d_k), pairs).

    Each width takes the first features of the same queries and keys.
    """
    generator = torch.Generator().manual_seed(seed)
    query, key = (
        torch.randn(pairs, 1, max(d_k), generator=generator).mul_(math.sqrt(variance)) for _ in range(2)
    )  # (pairs, 1, d_k)
    value = key[..., :1]
    traces = [scaled_dot_product_attention(query[..., :d], key[..., :d], value, keep="scores") for d in d_k]
    return torch.stack([trace.scores.flatten() for trace in traces if trace.scores is not None])


@lru_cache(maxsize=8)
def variance_sweep(variance: float = 1.0, pairs: int = _PAIRS) -> VarianceSweep:
    """Measures the variance of the raw score for every d_k, with several seeds.

    Args:
        variance: of each feature of the queries and of the keys.
        pairs: how many for each seed.
    """
    drawn = [raw_scores(D_K, pairs, seed, variance).double() for seed in range(SEEDS)]
    measured = np.array([scores.var(dim=-1, correction=0).tolist() for scores in drawn])  # (seeds, len(d_k))
    return VarianceSweep(
        d_k=D_K,
        mean=measured.mean(axis=0),
        spread=measured.std(axis=0, ddof=1),
        theory=np.array([d * variance**2 for d in D_K]),
        pairs=pairs,
        seeds=SEEDS,
    )


def divisor_of(name: str, d_k: int) -> float:
    """The number behind a name of ``DIVISORS``."""
    return {"one": 1.0, "sqrt_d_k": math.sqrt(d_k), "d_k": float(d_k), "sqrt_d_model": math.sqrt(HEADS * d_k)}[name]


@lru_cache(maxsize=64)
def softmaxed(d_k: int, variance: float, seed: int = 0) -> Mapping[str, Softmaxed]:
    """The same q and k under every divisor, by name.

    Args:
        d_k: width.
        variance: of each feature of the queries and of the keys.
        seed: of q, k and v.
    """
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(1, 1, LENGTH, d_k, generator=generator) for _ in range(3))
    query, key = query * math.sqrt(variance), key * math.sqrt(variance)
    return {name: _one(query, key, value, divisor_of(name, d_k)) for name in DIVISORS}


@lru_cache(maxsize=8)
def softmax_sweep(variance: float) -> Mapping[str, tuple[Softmaxed, ...]]:
    """Name of the divisor -> what softmax makes, for every d_k."""
    found = [softmaxed(d_k, variance) for d_k in D_K]
    return {name: tuple(one[name] for one in found) for name in DIVISORS}


def _one(query: Tensor, key: Tensor, value: Tensor, divisor: float) -> Softmaxed:
    scale = 1 / divisor
    trace = scaled_dot_product_attention(query, key, value, scale=scale)
    weights, scaled = trace.weights, trace.scaled
    assert weights is not None and scaled is not None
    return Softmaxed(
        divisor=divisor,
        variance=_variance(scaled),
        top_weight=float(top_weight(weights).mean()),
        entropy=float(attention_entropy(weights).mean()),
        saturation=float(saturation(weights).mean()),
        jacobian=float(softmax_jacobian_norm(weights).mean()),
        gradient=float(gradient_norms(query, key, value, scale=scale).query.mean()),
        weights=weights[0, 0].numpy(),
    )


def _variance(scores: Tensor) -> float:
    return float(scores.double().var(correction=0))
