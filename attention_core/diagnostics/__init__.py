"""Statistics of attention: variance of scores, spread of weights, gradients, flow, and checks of every row."""

from attention_core.diagnostics.cell import CellSteps, Product, cell_steps, one_head, value_norms, weighted_norms
from attention_core.diagnostics.checks import CHECK_CODES, RowCheck, joined_checks, row_checks, row_sum_tolerance
from attention_core.diagnostics.distribution import (
    SATURATED,
    attention_entropy,
    effective_keys,
    mean_distance,
    normalized_entropy,
    row_sum_error,
    saturation,
    softmax_jacobian_norm,
    top_weight,
)
from attention_core.diagnostics.flow import (
    cross_rollout,
    merge_words,
    mixed_with_residual,
    reach,
    reach_layers,
    rollout,
    rollouts,
)
from attention_core.diagnostics.gradients import GradientNorms, gradient_norms
from attention_core.diagnostics.max_flow import MOST_EDGES, attention_flow, max_flow
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
    "MOST_EDGES",
    "PATTERNS",
    "SATURATED",
    "CellSteps",
    "GradientNorms",
    "HeadPatterns",
    "HeadSummary",
    "PatternCells",
    "Product",
    "RowCheck",
    "ScoreHistogram",
    "ScoreVariance",
    "TokenRoles",
    "attention_entropy",
    "attention_flow",
    "cell_steps",
    "cross_rollout",
    "effective_keys",
    "gradient_norms",
    "head_patterns",
    "max_flow",
    "mean_distance",
    "merge_words",
    "mixed_with_residual",
    "normalized_entropy",
    "one_head",
    "pattern_cells",
    "reach",
    "reach_layers",
    "rollout",
    "rollouts",
    "joined_checks",
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
    "value_norms",
    "weighted_norms",
]
