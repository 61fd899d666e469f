"""One head, step by step, on numbers small enough to check by hand."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core import masks
from attention_core.from_scratch import embed, tokenize
from attention_core.modules import SelfAttention

STAGES = ("x", "q", "k", "v", "scores", "scaled", "logits", "weights", "output")
MOST_TOKENS = 12
D_MODEL = 4
_INPUTS = {
    "x": (), "q": ("x", "w_q"), "k": ("x", "w_k"), "v": ("x", "w_v"), "scores": ("q", "k"), "scaled": ("scores",),
    "logits": ("scaled",), "weights": ("logits",), "output": ("weights", "v"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Steps:
    """Every matrix of one head.

    Attributes:
        tokens: the tokens that are used; ``total`` is how many the text has.
        matrices: stage, or "w_q", "w_k", "w_v" -> its array; (len, d), (d_model, d) for the weights, (len, len).
        allowed: (len, len) bool.
        scale: the factor on the scores.
    """

    tokens: tuple[str, ...]
    total: int
    matrices: dict[str, np.ndarray]
    allowed: np.ndarray
    scale: float


@dataclass(frozen=True)
class Cell:
    """How one cell comes about.

    Attributes:
        value: what the core computed.
        pairs: the numbers that are multiplied and added; empty where it is no sum of products.
        row_of: of softmax: the exponents of the whole row.
    """

    value: float
    pairs: tuple[tuple[float, float], ...] = ()
    row_of: tuple[float, ...] = ()


def inputs_of(stage: str) -> tuple[str, ...]:
    """The matrices that a stage is made of."""
    return _INPUTS[stage]


@lru_cache(maxsize=64)
def steps(text: str, d_k: int, mask: str, scaled: bool, seed: int = 0) -> Steps | None:
    """One head over the first tokens of a text; None where it has no token.

    Embeddings and weights are rounded to one decimal, so that whoever checks a cell with a pencil gets it right.

    Args:
        text: any text.
        d_k: width of queries, keys and values.
        mask: "none" or "causal".
        scaled: False leaves out 1 / sqrt(d_k).
        seed: of embeddings and weights.
    """
    found = tokenize(text)
    tokens = [token.label for token in found[:MOST_TOKENS]]
    if not tokens:
        return None
    x = _rounded(embed(tokens, D_MODEL, seed=seed))[None]  # (1, len, d_model)
    generator = torch.Generator().manual_seed(seed)
    head = SelfAttention(D_MODEL, d_k, d_k, bias=False, generator=generator, dtype=torch.float64)
    allowed = masks.causal(len(tokens)) if mask == "causal" else torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    with torch.no_grad():
        for projection in (head.q_proj, head.k_proj, head.v_proj):
            projection.weight.copy_(_rounded(projection.weight))
        output, trace = head(x, allowed=allowed, scale=None if scaled else 1.0)
        projected = {"q": head.q_proj(x), "k": head.k_proj(x), "v": head.v_proj(x)}
    stages = {name: getattr(trace, name)[0, 0] for name in ("scores", "scaled", "logits", "weights")}
    weights = {"w_q": head.q_proj.weight.T, "w_k": head.k_proj.weight.T, "w_v": head.v_proj.weight.T}
    everything = {"x": x[0], **{n: t[0] for n, t in projected.items()}, **stages, "output": output[0], **weights}
    return Steps(
        tokens=tuple(tokens),
        total=len(found),
        matrices={name: _array(tensor) for name, tensor in everything.items()},
        allowed=_array(allowed),
        scale=trace.scale,
    )


def cell(made: Steps, stage: str, row: int, column: int) -> Cell:
    """How a cell of a stage comes about from the stages before it."""
    matrix = made.matrices
    value = float(matrix[stage][row, column])
    if stage == "weights":
        return Cell(value, row_of=tuple(matrix["logits"][row].tolist()))
    if stage == "scores":
        return Cell(value, pairs=_paired(matrix["q"][row], matrix["k"][column]))
    if stage == "scaled":
        return Cell(value, pairs=((float(matrix["scores"][row, column]), made.scale),))
    if stage in ("q", "k", "v"):
        return Cell(value, pairs=_paired(matrix["x"][row], matrix[f"w_{stage}"][:, column]))
    if stage == "output":
        return Cell(value, pairs=_paired(matrix["weights"][row], matrix["v"][:, column]))
    return Cell(value)


def row_facts(made: Steps) -> tuple[float, float]:
    """(how far the sum of a row of weights is from 1 at most, mean of the largest weight of each row)."""
    weights = made.matrices["weights"]
    return float(np.abs(weights.sum(axis=-1) - 1).max()), float(weights.max(axis=-1).mean())


def _paired(left: np.ndarray, right: np.ndarray) -> tuple[tuple[float, float], ...]:
    return tuple(zip(left.tolist(), right.tolist(), strict=True))


def _rounded(tensor: Tensor) -> Tensor:
    return torch.round(tensor, decimals=1)


def _array(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().numpy().copy()
    array.flags.writeable = False
    return array
