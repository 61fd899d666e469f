"""A small transformer of our own modules: tokens in, logits and the trace of every layer out."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from attention_core import masks
from attention_core.attention import ALL_STAGES, AttentionTrace
from attention_core.modules.block import TransformerBlock
from attention_core.modules.layers import draw, linear_layer
from attention_core.positions import draw_normal, rotary_angles, rotation, sinusoidal

PositionKind = Literal["none", "sinusoidal", "learned", "rotary"]


@dataclass(frozen=True)
class TinyConfig:
    """Sizes and choices of a ``TinyTransformer``.

    Attributes:
        vocabulary: number of token ids.
        classes: number of outputs per token; None means the vocabulary.
        max_len: longest input.
        num_layers, num_heads, d_model: at least 1.
        d_k: width of queries and keys per head; None means d_model / num_heads, which must divide. d_v stays
            d_model / num_heads rounded up, whatever d_k is.
        d_ff: width of the feed-forward part; None means 4 x d_model.
        causal: no token sees a later one.
        position: how order is told.
        scaling: False leaves out the factor 1 / sqrt(d_k).
    """

    vocabulary: int
    classes: int | None = None
    max_len: int = 64
    num_layers: int = 2
    num_heads: int = 4
    d_model: int = 64
    d_k: int | None = None
    d_ff: int | None = None
    causal: bool = True
    position: PositionKind = "learned"
    scaling: bool = True

    def __post_init__(self) -> None:
        for name in ("vocabulary", "max_len", "num_layers", "num_heads", "d_model"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1: got {getattr(self, name)}")
        if self.d_k is None and self.d_model % self.num_heads:
            raise ValueError(
                f"num_heads must divide d_model where d_k is not given: got {self.num_heads} and {self.d_model}"
            )
        if self.position == "rotary" and self.key_width % 2:
            raise ValueError(f"rotary positions turn features in pairs, d_k must be even: got {self.key_width}")

    @property
    def key_width(self) -> int:
        """d_k as it is used."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    def to_dict(self) -> dict[str, int | str | bool | None]:
        """All settings as plain values."""
        return asdict(self)


class TinyTransformer(nn.Module):
    """Embedding, positions, blocks with the norm first, a last norm, and a linear layer onto the outputs.

    The last layer has a bias where the outputs are classes, and none where they are tokens.

    Args:
        config: sizes and choices.
        generator: of the weights; the same seed gives the same weights, and no global generator moves. None: torch's.
    """

    def __init__(self, config: TinyConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.embedding = nn.Parameter(torch.empty(config.vocabulary, width))
        draw_normal(self.embedding, 1.0, generator)
        self.positions: nn.Parameter | None = None
        if config.position == "learned":
            self.positions = nn.Parameter(torch.empty(config.max_len, width))
            draw_normal(self.positions, 1.0, generator)
        value_width = -(-width // config.num_heads)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                width, config.num_heads, d_ff=config.d_ff or 4 * width, d_k=config.key_width, d_v=value_width,
                norm_first=True, generator=generator,
            )
            for _ in range(config.num_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(width)
        self.head = linear_layer(width, config.classes or config.vocabulary, config.classes is not None, None, None)
        draw(self.head, generator)

    def forward(
        self,
        ids: Tensor,
        *,
        allowed: Tensor | None = None,
        keep: Collection[str] = ALL_STAGES,
    ) -> tuple[Tensor, list[AttentionTrace]]:
        """One pass.

        Args:
            ids: (batch, len) int64 token ids, at most ``max_len`` long.
            allowed: bool, broadcastable to (batch, num_heads, len, len), beside the causal mask; None: all.
            keep: names of the stages to hold in the traces.

        Returns:
            Logits (batch, len, classes), and one trace per layer, (batch, num_heads, len, len).

        Raises:
            ValueError: if ids are of another shape or too long.
        """
        if ids.dim() != 2 or ids.shape[1] > self.config.max_len:
            raise ValueError(f"ids must be (batch, len) with len up to {self.config.max_len}: got {tuple(ids.shape)}")
        length, scale = ids.shape[1], None if self.config.scaling else 1.0
        x = nn.functional.embedding(ids, self.embedding)
        if self.positions is not None:
            x = x + self.positions[:length]
        elif self.config.position == "sinusoidal":
            x = x + sinusoidal(torch.arange(length), self.config.d_model, dtype=x.dtype)
        turn = None
        if self.config.position == "rotary":
            turn = rotation(rotary_angles(torch.arange(length), self.config.key_width))
        if self.config.causal:
            causal = masks.causal(length)
            allowed = causal if allowed is None else allowed & causal
        traces = []
        for block in self.blocks:
            x, trace = block(x, allowed=allowed, scale=scale, rotary=turn, keep=keep)
            traces.append(trace)
        return self.head(self.norm(x)), traces
