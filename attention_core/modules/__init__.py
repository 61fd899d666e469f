"""Attention with its projections, the block around it, and a small transformer made of such blocks."""

from attention_core.modules.block import TransformerBlock
from attention_core.modules.heads import MultiHeadAttention, SelfAttention, merge_heads, split_heads
from attention_core.modules.tiny import TinyConfig, TinyTransformer

__all__ = [
    "MultiHeadAttention",
    "SelfAttention",
    "TinyConfig",
    "TinyTransformer",
    "TransformerBlock",
    "merge_heads",
    "split_heads",
]
