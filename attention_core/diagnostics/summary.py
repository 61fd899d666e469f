"""The numbers of each head that a page shows, in one call."""

from dataclasses import dataclass

from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics._rows import expanded_queries, readable_cells, row_mean
from attention_core.diagnostics.distribution import (
    attention_entropy,
    normalized_entropy,
    saturation,
    softmax_jacobian_norm,
    top_weight,
)
from attention_core.diagnostics.variance import ScoreVariance, score_variance
from attention_core.runs import CallInputs


@dataclass(frozen=True, eq=False)
class HeadSummary:
    """One number per head, (batch, heads) float; means are over valid queries that are not empty, NaN where none is.

    Attributes:
        raw_variance, raw_theory: of q . k over allowed pairs, measured and sum over dimensions of Var(q_d) Var(k_d).
        scaled_variance, scaled_theory: after scaling.
        entropy: mean entropy in nats.
        normalized_entropy: mean of entropy / log(allowed keys), in [0, 1].
        top_weight: mean of the largest weight.
        saturation: share of rows with top weight > 0.99.
        effective_keys: mean of exp(entropy).
        jacobian_norm: mean Frobenius norm of the softmax Jacobian.
        variance: everything about the variance, per query too.
    """

    raw_variance: Tensor
    raw_theory: Tensor
    scaled_variance: Tensor
    scaled_theory: Tensor
    entropy: Tensor
    normalized_entropy: Tensor
    top_weight: Tensor
    saturation: Tensor
    effective_keys: Tensor
    jacobian_norm: Tensor
    variance: ScoreVariance


def summarize(trace: AttentionTrace, inputs: CallInputs, *, valid_queries: Tensor | None = None) -> HeadSummary:
    """Collects the numbers per head of one attention call.

    Args:
        trace: of that call, with the stage ``weights``; with ``logits`` a bias of -inf counts as forbidden.
        inputs: what the call computed from.
        valid_queries: (batch, q_len) bool, False = padding, does not count. None: all count.

    Returns:
        HeadSummary.

    Raises:
        ValueError: if ``weights`` was not kept or a shape does not fit.
    """
    if trace.weights is None:
        raise ValueError("a summary needs the stage weights: it was not kept; run with keep=ALL_STAGES")
    weights, readable = trace.weights, readable_cells(trace)
    variance = score_variance(
        inputs.query, inputs.key, scale=trace.scale, allowed=readable, valid_queries=valid_queries
    )
    entropy = attention_entropy(weights, allowed=readable)
    counted = expanded_queries(valid_queries, entropy.shape, entropy.device)
    return HeadSummary(
        raw_variance=variance.raw_measured,
        raw_theory=variance.raw_theory,
        scaled_variance=variance.scaled_measured,
        scaled_theory=variance.scaled_theory,
        entropy=row_mean(entropy, counted),
        normalized_entropy=row_mean(normalized_entropy(weights, allowed=readable), counted),
        top_weight=row_mean(top_weight(weights, allowed=readable), counted),
        saturation=saturation(weights, allowed=readable, valid_queries=valid_queries),
        effective_keys=row_mean(entropy.exp(), counted),
        jacobian_norm=row_mean(softmax_jacobian_norm(weights, allowed=readable), counted),
        variance=variance,
    )
