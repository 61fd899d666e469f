"""One step of a transformer: attention and a feed-forward part around one residual path."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor, nn
from torch.nn import functional

from attention_core.attention import ALL_STAGES, AttentionTrace
from attention_core.modules.heads import MultiHeadAttention
from attention_core.modules.layers import check_input, check_sizes, copy_layer, draw, linear_layer
from attention_core.positions import Rotation


class TransformerBlock(nn.Module):
    """Self-attention and a feed-forward network, each with layer norm and a residual path.

        pre-norm    x = x + attention(norm(x));    x = x + feed_forward(norm(x))
        post-norm   x = norm(x + attention(x));    x = norm(x + feed_forward(x))

    Args:
        d_model: width of the residual path.
        num_heads, d_k, d_v, num_kv_heads, bias: as in ``MultiHeadAttention``.
        d_ff: width inside the feed-forward network; None means 4 * d_model.
        norm_first: True is pre-norm (GPT-2), False post-norm (the 2017 paper, BERT).
        activation: of the feed-forward network.
        norm_eps: added to the variance in layer norm.
        generator: source of the initial weights; with one, nothing is drawn from torch's global generator.
        dtype, device: of the weights.

    Source:
        Vaswani et al. 2017, sections 3.1 and 3.3; pre-norm against post-norm: Xiong et al. 2020.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_ff: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        num_kv_heads: int | None = None,
        norm_first: bool = True,
        activation: Callable[[Tensor], Tensor] = functional.gelu,
        norm_eps: float = 1e-5,
        bias: bool = True,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_sizes(d_ff=d_ff)
        self.norm_first, self.activation = norm_first, activation
        self.attention = MultiHeadAttention(
            d_model,
            num_heads,
            d_k=d_k,
            d_v=d_v,
            num_kv_heads=num_kv_heads,
            bias=bias,
            generator=generator,
            dtype=dtype,
            device=device,
        )
        self.attention_norm = nn.LayerNorm(d_model, eps=norm_eps, bias=bias, dtype=dtype, device=device)
        self.up_proj = linear_layer(d_model, d_ff, bias, dtype, device)
        self.down_proj = linear_layer(d_ff, d_model, bias, dtype, device)
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=norm_eps, bias=bias, dtype=dtype, device=device)
        for projection in (self.up_proj, self.down_proj):
            draw(projection, generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws all weights anew: see ``MultiHeadAttention.reset_parameters``; layer norms start as identity."""
        self.attention.reset_parameters(generator)
        for projection in (self.up_proj, self.down_proj):
            draw(projection, generator)
        self.attention_norm.reset_parameters()
        self.feed_forward_norm.reset_parameters()

    @classmethod
    def from_torch(cls, layer: nn.TransformerEncoderLayer) -> "TransformerBlock":
        """A block with a copy of the weights, and the dtype and device, of torch's own; dropout is left out.

        Raises:
            TypeError: if it is not an nn.TransformerEncoderLayer.
        """
        if not isinstance(layer, nn.TransformerEncoderLayer):
            raise TypeError(f"from_torch takes an nn.TransformerEncoderLayer: got {type(layer).__name__}")
        weight = layer.linear1.weight
        block = cls(
            layer.self_attn.embed_dim,
            layer.self_attn.num_heads,
            d_ff=layer.linear1.out_features,
            norm_first=layer.norm_first,
            activation=layer.activation,
            norm_eps=layer.norm1.eps,
            bias=layer.linear1.bias is not None,
            generator=torch.Generator(),  # the draw is overwritten; it must not move the global generator
            dtype=weight.dtype,
            device=weight.device,
        )
        block.attention = MultiHeadAttention.from_torch(layer.self_attn)
        copy_layer(block.attention_norm, layer.norm1.weight, layer.norm1.bias)
        copy_layer(block.up_proj, layer.linear1.weight, layer.linear1.bias)
        copy_layer(block.down_proj, layer.linear2.weight, layer.linear2.bias)
        copy_layer(block.feed_forward_norm, layer.norm2.weight, layer.norm2.bias)
        return block

    def feed_forward(self, x: Tensor) -> Tensor:
        """Two layers applied to every token alone: (batch, len, d_model) -> (batch, len, d_model)."""
        inner = self.activation(self.up_proj(x))  # (batch, len, d_ff)
        return self.down_proj(inner)  # (batch, len, d_model)

    def forward(
        self,
        x: Tensor,
        *,
        allowed: Tensor | None = None,
        bias: Tensor | None = None,
        sinks: Tensor | None = None,
        scale: float | None = None,
        softcap: float | None = None,
        rotary: Rotation | None = None,
        keep: Collection[str] = ALL_STAGES,
    ) -> tuple[Tensor, AttentionTrace]:
        """One step of the residual path.

        Args:
            x: (batch, len, d_model) float.
            allowed: bool, broadcastable to (batch, num_heads, len, len); True = may attend.
            bias: float, likewise, added to the scaled scores.
            sinks: (num_heads,) float, one extra logit per head without a value.
            scale: factor on the scores; None means 1 / sqrt(d_k).
            softcap: bound on the absolute scaled score; None means no bound.
            rotary: turns queries and keys before they meet, from ``positions.rotation``.
            keep: names of the stages to hold in the trace.

        Returns:
            (batch, len, d_model), and the trace of its attention, (batch, num_heads, len, len).
        """
        check_input("x", x, self.attention.d_model, self.attention.q_proj)
        attended, trace = self.attention(
            self.attention_norm(x) if self.norm_first else x,
            allowed=allowed,
            bias=bias,
            sinks=sinks,
            scale=scale,
            softcap=softcap,
            rotary=rotary,
            keep=keep,
        )
        if self.norm_first:
            x = x + attended
            return x + self.feed_forward(self.feed_forward_norm(x)), trace
        x = self.attention_norm(x + attended)
        return self.feed_forward_norm(x + self.feed_forward(x)), trace
