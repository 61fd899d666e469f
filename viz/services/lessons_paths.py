"""How far apart two tokens are for a recurrent net, a convolutional one and attention, counted and measured."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from attention_core import masks
from attention_core.diagnostics import reach_layers
from attention_core.modules import MultiHeadAttention

DISTANCES = (1, 2, 4, 8, 16, 32, 64)
NETS = ("recurrent", "convolution", "attention")
CELLS = ("rnn", "lstm", "gru")
KERNELS = (3, 5, 9)
WIDTH = 32
SEEDS = 5
_HEADS = 4
_SEQUENCES = 8  # random inputs per seed
_CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


@dataclass(frozen=True, eq=False)
class Paths:
    """What lies between the first token and the last.

    Attributes:
        distances: tokens between them, the last one included.
        steps: net -> (len(distances),) steps that the information takes: time steps, or layers.
        gradient: net -> (len(distances),) mean norm of the gradient of the last output with respect to the first token.
        spread: net -> (len(distances),) standard deviation over the seeds.
    """

    distances: tuple[int, ...]
    steps: dict[str, np.ndarray]
    gradient: dict[str, np.ndarray]
    spread: dict[str, np.ndarray]


@lru_cache(maxsize=16)
def paths(cell: str, kernel: int) -> Paths:
    """Counts and measures small untrained networks of one width.

    The convolution has as many layers as it needs to see the first token at all; attention is one layer of the core.

    Args:
        cell: of ``CELLS``.
        kernel: width of the convolution.
    """
    steps = {name: np.array([steps_between(name, distance, kernel) for distance in DISTANCES]) for name in NETS}
    measured = {name: np.empty((SEEDS, len(DISTANCES))) for name in NETS}
    for seed in range(SEEDS):
        for place, distance in enumerate(DISTANCES):
            for name in NETS:
                generator = torch.Generator().manual_seed(seed)
                depth = int(steps[name][place])
                measured[name][seed, place] = _gradient(name, cell, kernel, depth, distance + 1, generator)
    return Paths(
        distances=DISTANCES,
        steps=steps,
        gradient={name: values.mean(axis=0) for name, values in measured.items()},
        spread={name: values.std(axis=0, ddof=1) for name, values in measured.items()},
    )


def steps_between(net: str, distance: int, kernel: int) -> int:
    """Steps from the first token to the one ``distance`` later: each step sees what a causal mask of the net allows."""
    length = distance + 1
    sees = {
        "recurrent": masks.sliding_window(length, left=1, right=0),
        "convolution": masks.sliding_window(length, left=kernel - 1, right=0),
        "attention": masks.causal(length),
    }[net]
    return int(reach_layers(sees)[-1, 0])


def _gradient(net: str, cell: str, kernel: int, depth: int, length: int, generator: torch.Generator) -> float:
    x = torch.randn(_SEQUENCES, length, WIDTH, generator=generator, requires_grad=True)  # (batch, len, width)
    with torch.enable_grad():
        if net == "recurrent":
            output = _recurrent(cell, x, generator)
        elif net == "convolution":
            output = _convolution(kernel, depth, x, generator)
        else:
            layer = MultiHeadAttention(WIDTH, _HEADS, generator=generator)
            output, _ = layer(x, allowed=masks.causal(length), keep=())
        direction = torch.randn(_SEQUENCES, WIDTH, generator=generator)
        (gradient,) = torch.autograd.grad(output[:, -1], x, grad_outputs=direction)
    return float(torch.linalg.vector_norm(gradient[:, 0], dim=-1).mean())


def _recurrent(cell: str, x: Tensor, generator: torch.Generator) -> Tensor:
    layer = _CELLS[cell](WIDTH, WIDTH, batch_first=True, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(WIDTH)  # torch's own start, from a generator of our own
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return layer(x)[0]


def _convolution(kernel: int, depth: int, x: Tensor, generator: torch.Generator) -> Tensor:
    """Causal convolutions with tanh between, variance kept at the start."""
    hidden = x.transpose(1, 2)  # (batch, width, len)
    for _ in range(depth):
        weight = torch.randn(WIDTH, WIDTH, kernel, generator=generator) / math.sqrt(WIDTH * kernel)
        hidden = torch.tanh(nn.functional.conv1d(nn.functional.pad(hidden, (kernel - 1, 0)), weight))
    return hidden.transpose(1, 2)
