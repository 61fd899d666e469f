"""Statistics of attention: variance of scores, spread of weights, gradients, flow, and checks of every row."""

from attention_core.diagnostics.checks import CHECK_CODES, RowCheck, row_checks, row_sum_tolerance
from attention_core.diagnostics.distribution import (
    SATURATED,
    attention_entropy,
    effective_keys,
    normalized_entropy,
    row_sum_error,
    saturation,
    softmax_jacobian_norm,
    top_weight,
)
from attention_core.diagnostics.flow import merge_words, reach, reach_layers, rollout
from attention_core.diagnostics.gradients import GradientNorms, gradient_norms
from attention_core.diagnostics.patterns import (
    LOCAL_DISTANCE,
    PATTERNS,
    HeadPatterns,
    PatternCells,
    TokenRoles,
    head_patterns,
    pattern_cells,
    token_roles,
)
from attention_core.diagnostics.summary import HeadSummary, summarize
from attention_core.diagnostics.variance import ScoreHistogram, ScoreVariance, score_histogram, score_variance

__all__ = [
    "CHECK_CODES",
    "LOCAL_DISTANCE",
    "PATTERNS",
    "SATURATED",
    "GradientNorms",
    "HeadPatterns",
    "HeadSummary",
    "PatternCells",
    "RowCheck",
    "ScoreHistogram",
    "ScoreVariance",
    "TokenRoles",
    "attention_entropy",
    "effective_keys",
    "gradient_norms",
    "head_patterns",
    "merge_words",
    "pattern_cells",
    "reach",
    "reach_layers",
    "normalized_entropy",
    "rollout",
    "row_checks",
    "row_sum_error",
    "row_sum_tolerance",
    "saturation",
    "score_histogram",
    "score_variance",
    "softmax_jacobian_norm",
    "summarize",
    "token_roles",
    "top_weight",
]
