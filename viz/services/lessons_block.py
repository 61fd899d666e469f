"""A stack of 24 blocks in four arrangements: what each step does to the variance, the tokens and the gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.modules import TransformerBlock

LAYERS = 24
LENGTH = 16
D_MODEL = 64
HEADS = 4
ARRANGEMENTS = ("pre", "post", "no_norm", "no_residual")
MEASURES = ("variance", "similarity", "gradient")


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The residual path through the stack; index 0 is the input, index l what layer l hands on.

    Attributes:
        variance: (LAYERS + 1,) of the features of a token, mean over the tokens.
        similarity: (LAYERS + 1,) mean cosine between two different tokens.
        gradient: (LAYERS + 1,) norm of the gradient that comes back from the output to this place.
        steps: per layer, name of a step -> variance behind it, in order.
    """

    variance: np.ndarray
    similarity: np.ndarray
    gradient: np.ndarray
    steps: tuple[Mapping[str, float], ...]


@lru_cache(maxsize=4)
def trajectory(arrangement: str) -> Trajectory:
    """Sends random tokens of variance 1 through freshly drawn blocks, the same in every arrangement.

    Args:
        arrangement: of ``ARRANGEMENTS``.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, LENGTH, D_MODEL, generator=generator).requires_grad_()
    wanted = torch.randn(1, LENGTH, D_MODEL, generator=generator)
    blocks = stack()
    path, steps = [x], []
    for block in blocks:
        states = one_block(block, path[-1], arrangement)
        steps.append({name: _variance(state) for name, state in states.items()})
        path.append(next(reversed(states.values())))
    grads = torch.autograd.grad((path[-1] * wanted).sum(), path)
    return Trajectory(
        variance=np.array([_variance(one) for one in path]),
        similarity=np.array([_similarity(one) for one in path]),
        gradient=np.array([float(one.norm()) for one in grads]),
        steps=tuple(steps),
    )


def stack() -> tuple[TransformerBlock, ...]:
    """The blocks as they are drawn."""
    generator = torch.Generator().manual_seed(1)
    return tuple(TransformerBlock(D_MODEL, HEADS, generator=generator) for _ in range(LAYERS))


def one_block(block: TransformerBlock, x: Tensor, arrangement: str) -> dict[str, Tensor]:
    """One block step by step: name -> (batch, len, d_model), in order; the last is what it hands on."""
    states = {"input": x}
    for part, norm, work in (
        ("attention", block.attention_norm, lambda given: block.attention(given)[0]),
        ("feed_forward", block.feed_forward_norm, block.feed_forward),
    ):
        given = x
        if arrangement in ("pre", "no_residual"):
            given = states[f"{part}_norm"] = norm(x)
        made = states[part] = work(given)
        if arrangement != "no_residual":
            made = states[f"{part}_sum"] = x + made
        if arrangement == "post":
            made = states[f"{part}_norm"] = norm(made)
        x = made
    return states


def _variance(x: Tensor) -> float:
    return float(x.detach().double().var(dim=-1, correction=0).mean())


def _similarity(x: Tensor) -> float:
    rows = torch.nn.functional.normalize(x.detach().double()[0], dim=-1)  # (len, d_model)
    cosines = rows @ rows.T
    return float((cosines.sum() - cosines.trace()) / (LENGTH * (LENGTH - 1)))
