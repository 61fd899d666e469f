"""Variance of attention scores, measured and expected, and where the two part.

A score is s = sum_d q_d k_d; all averages are over the allowed pairs of a head. If q and k are independent with zero
mean and uncorrelated dimensions, then Var(s) = sum_d Var(q_d) Var(k_d): d_k for unit variances, which is why the
formula divides by sqrt(d_k). On real weights the assumptions fail, each in a way that can be measured:

    Var(s) = sum_d Var(q_d) Var(k_d)                            theory
           + sum_{d != e} Cov(q_d, q_e) Cov(k_d, k_e)           dimensions move together
           + m_q' Cov(k) m_q + m_k' Cov(q) m_k                  means are not zero
           + rest                                               q and k of a pair depend on each other (mask, position)
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics._rows import expanded_mask, expanded_queries, readable_cells


@dataclass(frozen=True, eq=False)
class ScoreVariance:
    """Variance of the scores of each head over its allowed pairs; all (batch, heads) float64 unless said otherwise.

    NaN where fewer than two pairs are allowed. ``raw_measured`` is ``raw_theory`` plus the three contributions.

    Attributes:
        scale: the factor on the scores; every scaled variance is ``scale**2`` times the raw one.
        pairs: (batch, heads) int64, allowed pairs of valid queries.
        raw_measured: variance of q . k over these pairs.
        raw_theory: sum over dimensions of Var(q_d) Var(k_d).
        scaled_measured, scaled_theory: the same after scaling; theory is 1 for unit variances and scale 1 / sqrt(d_k).
        raw_mean: mean of q . k over the pairs; 0 in theory.
        mean_product: sum over dimensions of mean(q_d) mean(k_d), the part of ``raw_mean`` that the means explain.
        mean_contribution: part of the variance that comes from means that are not zero.
        covariance_contribution: part that comes from dimensions that vary together in q and in k.
        pairing_contribution: the rest: which q meets which k is not independent (mask and positions).
        correlation: correlation of q_d with k_d over pairs and dimensions, in [-1, 1]; 0 when all pairs are allowed.
        query_variance, key_variance: mean over dimensions of Var(q_d), Var(k_d); 1 where the textbook case holds.
        raw_per_query: (batch, heads, q_len) variance of each query's raw scores over its keys; NaN below two keys.
        raw_theory_per_query: (batch, heads, q_len) sum over dimensions of q_d^2 Var(k_d), the query taken as given.
        scaled_per_query, scaled_theory_per_query: the same after scaling.
    """

    scale: float
    pairs: Tensor
    raw_measured: Tensor
    raw_theory: Tensor
    scaled_measured: Tensor
    scaled_theory: Tensor
    raw_mean: Tensor
    mean_product: Tensor
    mean_contribution: Tensor
    covariance_contribution: Tensor
    pairing_contribution: Tensor
    correlation: Tensor
    query_variance: Tensor
    key_variance: Tensor
    raw_per_query: Tensor
    raw_theory_per_query: Tensor
    scaled_per_query: Tensor
    scaled_theory_per_query: Tensor


def score_variance(
    query: Tensor,
    key: Tensor,
    *,
    scale: float | None = None,
    allowed: Tensor | None = None,
    valid_queries: Tensor | None = None,
) -> ScoreVariance:
    """Variance of raw and scaled scores per head and per query, with the theoretical values and the gap explained.

    Args:
        query: (batch, heads, q_len, d_k) float, as it enters the dot product (after rotation).
        key: (batch, kv_heads, k_len, d_k) float; ``heads`` must be a multiple of ``kv_heads`` (consecutive groups).
        scale: factor on the scores; None means 1 / sqrt(d_k).
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); True = this pair counts. None: every pair.
        valid_queries: (batch, q_len) bool, False = padding, does not count. None: all count.

    Returns:
        ScoreVariance; population variances (divided by the number of pairs), in float64.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if shapes do not fit.

    Source:
        Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    if query.dim() != 4 or key.dim() != 4 or query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key must be (batch, heads, len, d_k) with one d_k: "
            f"got {tuple(query.shape)} and {tuple(key.shape)}"
        )
    heads, kv_heads = query.shape[1], key.shape[1]
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"query heads must be a multiple of key heads: got {heads} and {kv_heads}")
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    q = query.detach().double()
    k = key.detach().double().repeat_interleave(heads // kv_heads, dim=1)  # (batch, heads, k_len, d_k)
    shape = torch.Size((*torch.broadcast_shapes(q.shape[:2], k.shape[:2]), q.shape[2], k.shape[2]))
    counts = expanded_mask(allowed, shape, q.device)
    counts = counts & expanded_queries(valid_queries, shape[:3], q.device)[..., None]  # (batch, heads, q_len, k_len)

    per_query = counts.sum(dim=-1)  # (batch, heads, q_len) pairs of each query
    per_key = counts.sum(dim=-2)  # (batch, heads, k_len)
    pairs = per_query.sum(dim=-1)
    enough = pairs >= 2
    # Weight 0 times NaN is NaN: what takes part in no pair is blanked.
    q = q.expand(*shape[:3], -1).masked_fill((per_query == 0)[..., None], 0.0)
    k = k.expand(*shape[:2], *k.shape[2:]).masked_fill((per_key == 0)[..., None], 0.0)

    scores = (q @ k.transpose(-2, -1)).masked_fill(~counts, 0.0)
    n = pairs.clamp(min=1).double()
    raw_mean = scores.sum(dim=(-2, -1)) / n
    raw_measured = (scores - raw_mean[..., None, None]).masked_fill(~counts, 0.0).square().sum(dim=(-2, -1)) / n

    q_mean, q_cov = _moments(q, per_query.double() / n[..., None])  # (batch, heads, d_k), (batch, heads, d_k, d_k)
    k_mean, k_cov = _moments(k, per_key.double() / n[..., None])
    q_var, k_var = q_cov.diagonal(dim1=-2, dim2=-1), k_cov.diagonal(dim1=-2, dim2=-1)  # (batch, heads, d_k)
    theory = (q_var * k_var).sum(dim=-1)
    mean_product = (q_mean * k_mean).sum(dim=-1)
    by_covariance = (q_cov * k_cov).sum(dim=(-2, -1)) - theory
    by_means = _quadratic(q_mean, k_cov) + _quadratic(k_mean, q_cov)
    correlation = (raw_mean - mean_product) / (q_var.sum(dim=-1) * k_var.sum(dim=-1)).sqrt()

    row_n = per_query.clamp(min=1).double()
    row_mean = scores.sum(dim=-1) / row_n
    row_measured = (scores - row_mean[..., None]).masked_fill(~counts, 0.0).square().sum(dim=-1) / row_n
    row_theory = (q.square() * _key_variance_per_query(k, counts, row_n)).sum(dim=-1)

    def known(values: Tensor) -> Tensor:
        return values.masked_fill(~enough, torch.nan)

    def known_rows(values: Tensor) -> Tensor:
        return values.masked_fill(per_query < 2, torch.nan)

    return ScoreVariance(
        scale=factor,
        pairs=pairs,
        raw_measured=known(raw_measured),
        raw_theory=known(theory),
        scaled_measured=known(raw_measured * factor**2),
        scaled_theory=known(theory * factor**2),
        raw_mean=known(raw_mean),
        mean_product=known(mean_product),
        mean_contribution=known(by_means),
        covariance_contribution=known(by_covariance),
        pairing_contribution=known(raw_measured - theory - by_covariance - by_means),
        correlation=known(correlation),
        query_variance=known(q_var.mean(dim=-1)),
        key_variance=known(k_var.mean(dim=-1)),
        raw_per_query=known_rows(row_measured),
        raw_theory_per_query=known_rows(row_theory),
        scaled_per_query=known_rows(row_measured * factor**2),
        scaled_theory_per_query=known_rows(row_theory * factor**2),
    )


def _moments(vectors: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted mean (..., d) and covariance (..., d, d) of ``vectors`` (..., len, d) with ``shares`` (..., len)."""
    mean = (shares[..., None] * vectors).sum(dim=-2)
    centred = vectors - mean[..., None, :]
    return mean, centred.transpose(-2, -1) @ (shares[..., None] * centred)


def _quadratic(vector: Tensor, matrix: Tensor) -> Tensor:
    """v' M v: (..., d), (..., d, d) -> (...)."""
    return (vector * (matrix @ vector[..., None])[..., 0]).sum(dim=-1)


def _key_variance_per_query(k: Tensor, counts: Tensor, row_n: Tensor) -> Tensor:
    """Var(k_d) over the keys of each query: (batch, heads, q_len, d_k)."""
    centred = k - k.mean(dim=-2, keepdim=True)  # or the difference of squares below loses digits
    share = counts.double() / row_n[..., None]  # (batch, heads, q_len, k_len)
    return (share @ centred.square() - (share @ centred).square()).clamp(min=0)


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """How the allowed scores of each head are distributed, before and after scaling.

    Attributes:
        raw_edges, scaled_edges: (bins + 1,) float64, shared by all heads, from the smallest score to the largest.
        raw_counts, scaled_counts: (batch, heads, bins) int64; a bin holds its left edge, the last one both.
        not_finite: (batch, heads) int64, allowed raw scores that are NaN or infinite and lie in no bin.
    """

    raw_edges: Tensor
    raw_counts: Tensor
    scaled_edges: Tensor
    scaled_counts: Tensor
    not_finite: Tensor


def score_histogram(trace: AttentionTrace, bins: int = 41, *, valid_queries: Tensor | None = None) -> ScoreHistogram:
    """Histograms of the allowed scores, raw and scaled, per head.

    Args:
        trace: with the stages ``scores`` and ``scaled``, (batch, heads, q_len, k_len).
        bins: number of bins, at least 1.
        valid_queries: (batch, q_len) bool, False = padding, does not count. None: all count.

    Returns:
        ScoreHistogram; sum the counts over heads for a layer.

    Raises:
        ValueError: if a stage is missing or ``bins`` is below 1.
    """
    if trace.scores is None or trace.scaled is None:
        raise ValueError("a histogram needs the stages scores and scaled: one was not kept; run with keep=ALL_STAGES")
    if bins < 1:
        raise ValueError(f"bins must be at least 1: got {bins}")
    shape = trace.scores.shape
    counted = readable_cells(trace) & expanded_queries(valid_queries, shape[:-1], trace.scores.device)[..., None]
    raw_edges, raw_counts = _histogram(trace.scores, counted, bins)
    scaled_edges, scaled_counts = _histogram(trace.scaled, counted, bins)
    return ScoreHistogram(
        raw_edges=raw_edges,
        raw_counts=raw_counts,
        scaled_edges=scaled_edges,
        scaled_counts=scaled_counts,
        not_finite=(counted & ~torch.isfinite(trace.scores)).sum(dim=(-2, -1)),
    )


def _histogram(scores: Tensor, counted: Tensor, bins: int) -> tuple[Tensor, Tensor]:
    counted = counted & torch.isfinite(scores)
    inside = scores[counted].double()
    low, high = (inside.min().item(), inside.max().item()) if inside.numel() else (0.0, 0.0)
    if low == high:  # one value, or none: a bin needs a width
        low, high = low - 0.5, high + 0.5
    edges = torch.linspace(low, high, bins + 1, dtype=torch.float64, device=scores.device)
    slots = torch.bucketize(scores.double(), edges[1:-1], right=True)  # (batch, heads, q_len, k_len), 0 to bins - 1
    slots = slots.masked_fill(~counted, bins).flatten(-2)  # what does not count goes to an extra bin, dropped below
    counts = torch.zeros(*slots.shape[:-1], bins + 1, dtype=torch.int64, device=scores.device)
    counts.scatter_add_(-1, slots, torch.ones_like(slots))
    return edges, counts[..., :bins]
