"""Attention in the open: every stage of the computation, boolean masks, modules, diagnostics."""

from attention_core import masks
from attention_core.attention import ALL_STAGES, STAGES, AttentionTrace, scaled_dot_product_attention

__all__ = ["ALL_STAGES", "STAGES", "AttentionTrace", "masks", "scaled_dot_product_attention"]
