"""What a row of weights looks like: how spread out, how peaked, how much gradient it lets through.

Every function takes ``weights`` (batch, heads, q_len, k_len) (any leading axes will do) and answers per query. A query
that may attend to nothing has no distribution: the answer there is NaN, to be shown as "n/a", never 0.
"""

import torch
from torch import Tensor

from attention_core.diagnostics._rows import expanded_mask, expanded_queries, widened

SATURATED = 0.99  # a row whose top weight is above this passes almost no gradient back to its scores


def attention_entropy(weights: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """Entropy of each query's attention, in nats.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. Only these keys count. None: every key counts.

    Returns:
        (batch, heads, q_len) float, 0 to log(allowed keys); NaN where a query attends to nothing.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if a shape does not broadcast.

    Source:
        Shannon 1948, with 0 log 0 = 0.
    """
    shares, empty, _ = _distribution(weights, allowed)
    return _entropy(shares).masked_fill(empty, torch.nan)


def normalized_entropy(weights: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """Entropy as a share of the largest possible one, log(number of allowed keys).

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. None: every key counts.

    Returns:
        (batch, heads, q_len) float in [0, 1]: 0 = one key has it all, 1 = uniform. 0 where only one key is allowed; NaN
        where a query attends to nothing.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if a shape does not broadcast.
    """
    shares, empty, count = _distribution(weights, allowed)
    entropy = _entropy(shares)
    most = count.to(entropy.dtype).clamp(min=2).log()
    single = (count == 1) & ~entropy.isnan()  # one key: no choice, entropy 0 of at most log 1 = 0
    return (entropy / most).masked_fill(single, 0.0).masked_fill(empty, torch.nan)


def effective_keys(weights: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """How many equally weighted keys would have the same entropy: exp(entropy).

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. None: every key counts.

    Returns:
        (batch, heads, q_len) float, 1 to the number of allowed keys; NaN where a query attends to nothing.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if a shape does not broadcast.

    Source:
        Perplexity of a distribution; in ecology, Hill number of order 1 (Hill 1973).
    """
    return attention_entropy(weights, allowed=allowed).exp()


def top_weight(weights: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """The largest weight of each row.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. None: every key counts.

    Returns:
        (batch, heads, q_len) float in (0, 1]; NaN where a query attends to nothing.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if a shape does not broadcast.
    """
    shares, empty, _ = _distribution(weights, allowed)
    if shares.shape[-1] == 0:
        return shares.new_full(shares.shape[:-1], torch.nan)
    return shares.amax(dim=-1).masked_fill(empty, torch.nan)


def saturation(
    weights: Tensor,
    *,
    allowed: Tensor | None = None,
    valid_queries: Tensor | None = None,
    threshold: float = SATURATED,
) -> Tensor:
    """Share of the rows of a head whose top weight is above ``threshold``.

    A row with a single allowed key (the first row of a causal mask) has top weight 1 whatever its scores are, so it is
    not counted, neither above nor below.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. None: every key counts.
        valid_queries: (batch, q_len) bool, True = a real query, False = padding. None: all are real.
        threshold: top weight above which a row counts, in [0, 1].

    Returns:
        (batch, heads) float in [0, 1], over the valid rows with a choice that are not empty; NaN where there are none.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if a shape does not fit.
    """
    top = top_weight(weights, allowed=allowed)
    counted = expanded_queries(valid_queries, top.shape, top.device) & ~top.isnan()
    if allowed is not None:
        counted = counted & (allowed.expand(weights.shape).sum(dim=-1) > 1)
    elif weights.shape[-1] == 1:
        counted = torch.zeros_like(counted)
    return ((top > threshold) & counted).sum(dim=-1).to(top.dtype) / counted.sum(dim=-1)


def softmax_jacobian_norm(weights: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """Size of the derivative of each row's weights with respect to its logits.

    The derivative is the matrix J = diag(p) - p p^T; its Frobenius norm is computed from sums of powers of p, without
    building J. It vanishes for a one-hot row: a saturated row learns nothing through its scores.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        allowed: bool, broadcastable to ``weights``; True = may attend. None: every key counts.

    Returns:
        (batch, heads, q_len) float, 0 to 1/2 (two equal weights); for n equal weights sqrt(n - 1) / n. NaN where a
        query attends to nothing.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if a shape does not broadcast.
    """
    shares, empty, _ = _distribution(weights, allowed)
    p = shares.double()  # near one-hot rows the terms cancel
    squares = p * p
    total = squares.sum(dim=-1, keepdim=True)
    on_diagonal = squares * (1 - p) ** 2
    off_diagonal = squares * (total - squares).clamp(min=0)
    norm = (on_diagonal + off_diagonal).sum(dim=-1).sqrt()
    return norm.to(shares.dtype).masked_fill(empty, torch.nan)


def mean_distance(weights: Tensor) -> Tensor:
    """How far away each query looks: the mean distance in tokens, weighted by its attention.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1], of self-attention: the queries are the last of the keys.

    Returns:
        (batch, heads, q_len) float, 0 to k_len - 1; NaN where a query attends to nothing.

    Source:
        Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model", section 4.4.
    """
    weights = widened(weights)
    q_len, k_len = weights.shape[-2:]
    query = torch.arange(k_len - q_len, k_len, device=weights.device)
    distance = (torch.arange(k_len, device=weights.device) - query[:, None]).abs().to(weights.dtype)  # (q_len, k_len)
    total = weights.sum(dim=-1)
    return torch.einsum("...qk,qk->...q", weights, distance) / total.masked_fill(total == 0, torch.nan)


def row_sum_error(weights: Tensor, *, sink_weight: Tensor | None = None) -> Tensor:
    """Distance of each row's sum from 1, summed in float64.

    Args:
        weights: (batch, heads, q_len, k_len) float.
        sink_weight: (batch, heads, q_len) float, the share that went to a sink; None without sinks.

    Returns:
        (batch, heads, q_len) float64, sum - 1; -1 for a row of zeros (an empty row), NaN where a weight is NaN.
    """
    total = weights.sum(dim=-1, dtype=torch.float64)
    return (total if sink_weight is None else total + sink_weight) - 1


def _distribution(weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Weights on the keys that count (..., q_len, k_len), which rows are empty (..., q_len), how many keys count."""
    weights = widened(weights)
    mask = expanded_mask(allowed, weights.shape, weights.device)
    shares = weights if allowed is None else weights.masked_fill(~mask, 0.0)
    return shares, (shares == 0).all(dim=-1), mask.sum(dim=-1)


def _entropy(shares: Tensor) -> Tensor:
    return torch.special.entr(shares).sum(dim=-1)
