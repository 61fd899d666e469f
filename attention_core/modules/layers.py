"""What the modules share: linear layers whose weights come from a given generator, and checks of what comes in."""

import torch
from torch import Tensor, nn

from attention_core.positions import draw_normal


def linear_layer(
    in_features: int,
    out_features: int,
    bias: bool,
    dtype: torch.dtype | None,
    device: torch.device | str | None,
) -> nn.Linear:
    """A linear layer with its weights still to be drawn: the usual constructor would move the global generator."""
    empty = nn.Linear(in_features, out_features, bias=bias, dtype=dtype, device="meta")
    return empty.to_empty(device=device or torch.get_default_device())


def draw(linear: nn.Linear, generator: torch.Generator | None) -> None:
    """Normal weights of variance 1 / in_features, bias 0."""
    draw_normal(linear.weight, linear.in_features**-0.5, generator)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


@torch.no_grad()
def copy_layer(target: nn.Linear | nn.LayerNorm, weight: Tensor, bias: Tensor | None) -> None:
    """Copies weights, and a bias where there is one, into a layer."""
    target.weight.copy_(weight)
    if bias is not None:
        target.bias.copy_(bias)


def check_sizes(**sizes: int) -> None:
    """ValueError, with the name, for a size below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1: got {size}")


def check_input(name: str, x: Tensor, width: int, projection: nn.Linear) -> None:
    """ValueError or TypeError unless it is (batch, len, width) of the dtype of the weights."""
    if x.dim() != 3:
        hint = "; add a batch axis with unsqueeze(0)" if x.dim() == 2 else ""
        raise ValueError(f"{name} must be (batch, len, {width}): got shape {tuple(x.shape)}{hint}")
    if x.shape[-1] != width:
        raise ValueError(f"{name} must have width {width} on its last axis: got shape {tuple(x.shape)}")
    if x.dtype != projection.weight.dtype:
        weights = projection.weight.dtype
        raise TypeError(f"{name} must have the dtype of the weights, {weights}: got {x.dtype}; use .to({weights})")
