"""Numbers read back from the weights where query and key are known: scale, strength of the bias, implied fill."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.doctor.inputs import Given

_CLEAN = 1e-2  # of the spread of the logits; above it the weights are no softmax of these scores


@dataclass(frozen=True)
class Estimate:
    """Least squares of log weights on scores, row by row: log w = scale x score + share x bias + constant of the row.

    ``clean``: the fit explains the weights, so the numbers mean something. ``joint``: both were free; otherwise each
    was fitted with the other taken as right.
    """

    scale: float
    share: float | None
    clean: bool
    joint: bool = True


def raw_scores(given: Given) -> Tensor:
    """Q K^T in float64: (batch, heads, q_len, k_len)."""
    assert given.query is not None and given.key is not None
    key = given.key.repeat_interleave(given.query.shape[1] // given.key.shape[1], dim=1)
    return given.query.double() @ key.double().transpose(-2, -1)


def estimate_scale(
    scores: Tensor, observed: Tensor, allowed: Tensor, bias: Tensor | None, expected: float
) -> Estimate | None:
    """The factor on the scores, and on the bias where it varies; None where no row says anything.

    Args:
        scores: (batch, heads, q_len, k_len) float64, raw.
        observed: weights, float64.
        allowed: bool, the cells that may be read; only those with weight count.
        bias: float, broadcastable; None without.
        expected: the scale that is meant.
    """
    smallest = 1e-4 if observed.dtype != torch.float64 else 1e-7
    use = allowed & (observed > smallest) & torch.isfinite(scores)
    shift = None
    if bias is not None:
        shift = bias.double().expand(scores.shape)
        use = use & torch.isfinite(shift)
    count = use.sum(-1, keepdim=True)
    use = use & (count > 1)
    if not use.any():
        return None
    weight = use.double() * observed.clamp(0, 1)  # a large weight knows its logarithm best
    target = _centred(torch.log(observed.clamp_min(1e-300)), weight).flatten()
    x = _centred(torch.where(use, scores, 0.0), weight).flatten()
    w = weight.flatten()
    if float((x * x * w).sum()) < 1e-12:
        return None
    if shift is None:
        factor = _slope(x, target, w)
        return Estimate(factor, None, _explains(target, factor * x, w))
    y = _centred(torch.where(use, shift, 0.0), weight).flatten()
    a = torch.stack([x, y], dim=-1)
    normal, right = a.T @ (a * w[:, None]), a.T @ (target * w)
    if float(torch.linalg.det(normal)) > 1e-9 * float(normal.diagonal().prod()):
        solution = torch.linalg.solve(normal, right)
        return Estimate(float(solution[0]), float(solution[1]), _explains(target, a @ solution, w))
    factor = _slope(x, target - y, w)  # too few cells for both: each as if the other were right
    share = _slope(y, target - expected * x, w) if float((y * y * w).sum()) > 1e-12 else None
    return Estimate(factor, share, _explains(target, factor * x + y, w), joint=False)


def _slope(x: Tensor, y: Tensor, weight: Tensor) -> float:
    return float((x * y * weight).sum() / (x * x * weight).sum())


def _explains(target: Tensor, fitted: Tensor, weight: Tensor) -> bool:
    error = float(((target - fitted).square() * weight).sum())
    return error <= max(_CLEAN**2 * float((target.square() * weight).sum()), 1e-9 * float(weight.sum()))


def _centred(values: Tensor, weight: Tensor) -> Tensor:
    total = weight.sum(-1, keepdim=True).clamp_min(1e-300)
    return values - (values * weight).sum(-1, keepdim=True) / total


def implied_fill(logits: Tensor, observed: Tensor, allowed: Tensor) -> tuple[float, tuple[int, int, int, int]] | None:
    """The logit that masked cells must have had, where all agree: (logit, the cell that shows it best).

    Args:
        logits: what softmax should see, before masking, float64.
        observed: weights, float64.
        allowed: bool.
    """
    seen = (observed > 0) & torch.isfinite(observed)
    anchor = allowed & seen
    leak = ~allowed & seen & anchor.any(-1, keepdim=True)
    if not leak.any():
        return None
    weight = torch.where(anchor, observed, 0.0)
    total = weight.sum(-1, keepdim=True).clamp_min(1e-300)
    log = torch.log(observed.clamp_min(1e-300))
    level = (weight * torch.where(anchor, log - logits, 0.0)).sum(-1, keepdim=True) / total  # -log Z of the row
    implied = (log - level)[leak]
    middle = float(implied.median())
    if float((implied - middle).abs().max()) > 1e-2 * (1 + abs(middle)):
        return None
    best = torch.where(leak, observed, 0.0)
    b, h, q, k = (int(i) for i in torch.unravel_index(best.argmax(), best.shape))
    return middle, (b, h, q, k)


def named_scale(scale: float, *, d_k: int, heads: int) -> str:
    """What a factor is, where it is a known one: " = 1/sqrt(16)"; empty otherwise."""
    d_model = heads * d_k
    known = {
        f" = 1/sqrt({d_k})": d_k**-0.5,
        " (unscaled)": 1.0,
        f" = 1/{d_k}": 1 / d_k,
        f" = 1/sqrt({d_model})": d_model**-0.5,
        f" = sqrt({d_k})": math.sqrt(d_k),
    }
    for name, value in known.items():
        if abs(scale - value) <= 1e-2 * value:
            return name
    return ""
