"""Whether one computation reproduces another's numbers, with tolerances that follow dtype and size of the logits."""

from dataclasses import dataclass

import torch
from torch import Tensor

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, eq=False)
class Tolerance:
    """How far two honest computations of the same weights may lie apart.

    Attributes:
        relative: of each weight.
        absolute: of each weight, for those that are tiny or were rounded to decimals.
        zero: the largest weight that counts as 0 where the other computation forbids the cell.
    """

    relative: float
    absolute: float
    zero: float


def tolerance(stored: torch.dtype, computed: torch.dtype, *, logits: float, decimals: int | None = None) -> Tolerance:
    """The tolerance of weights that were kept in one dtype and computed in another.

    An error of one rounding in a logit is a relative error of its size in the weight, so the logits' bound counts.

    Args:
        stored: dtype of the weights.
        computed: dtype of scores and softmax.
        logits: bound on the absolute logits, |q| |k| scale.
        decimals: the numbers were rounded to so many decimals, or None.
    """
    storage, compute = torch.finfo(stored), torch.finfo(computed)
    half = computed in _HALF
    relative = 4 * storage.eps + (2 if half else 8) * compute.eps * (1 + logits)
    absolute = {torch.float64: 1e-13, torch.float32: 1e-8}.get(stored, 0.0)
    absolute += 2 * storage.smallest_normal * storage.eps
    if half:
        absolute += compute.eps / 64 if relative < 0.2 else 0.1  # logits of hundreds: half precision says little
    zero = 4 * storage.smallest_normal * storage.eps if stored in _HALF else 1e-30
    if decimals is not None:
        absolute += 0.6 * 10.0**-decimals
    return Tolerance(min(relative, 1.0), absolute, zero)


def shaped_like(predicted: Tensor, observed: Tensor) -> Tensor | None:
    """The predicted weights in the observed shape, where only axes of size 1 or a head axis of copies differ."""
    if predicted.shape == observed.shape:
        return predicted
    if predicted.dim() == 3 and observed.dim() == 4:
        predicted = predicted.unsqueeze(1)
    if predicted.dim() != 4 or observed.dim() != 4 or predicted.shape[1] != 1:
        return None
    same = predicted.shape[0] == observed.shape[0] and predicted.shape[2:] == observed.shape[2:]
    return predicted.expand(observed.shape) if same else None


def agrees(predicted: Tensor | None, observed: Tensor, allowance: Tolerance) -> bool:
    """Whether the weights are the same within tolerance: NaN where NaN, and 0 exactly where a cell is forbidden.

    Args:
        predicted: weights of a hypothesis; another shape never agrees.
        observed: (batch, heads, q_len, k_len), float64.
        allowance: the tolerance.
    """
    if predicted is None:
        return False
    fitted = shaped_like(predicted, observed)
    if fitted is None:
        return False
    wanted = fitted.to(observed.dtype)
    error = (wanted - observed).abs_()
    bound = wanted.abs().mul_(allowance.relative).add_(allowance.absolute)
    fine = error <= bound
    fine &= (wanted != 0) | (observed.abs() <= max(allowance.zero, 0.0))
    if bool(fine.all()):
        return True
    odd = ~torch.isfinite(wanted) & ~torch.isfinite(observed)
    return bool(odd.any()) and bool((fine | (odd & (wanted.isnan() == observed.isnan()))).all())


def largest_difference(predicted: Tensor, observed: Tensor) -> float:
    """Largest finite absolute difference; NaN where the shapes do not fit."""
    fitted = shaped_like(predicted, observed)
    if fitted is None:
        return float("nan")
    error = (fitted.to(observed.dtype) - observed).abs()
    finite = error[torch.isfinite(error)]
    return float(finite.max()) if finite.numel() else float("nan")


def output_agrees(predicted: Tensor | None, observed: Tensor, relative: float, size: float) -> bool:
    """Whether outputs are the same: NaN where NaN, else within ``relative`` of the largest value.

    Args:
        predicted: (batch, heads, q_len, d_v), or as a fault leaves it.
        observed: the same shape, or heads merged: (batch, q_len, heads x d_v).
        relative: of ``size``.
        size: largest finite absolute value of V.
    """
    if predicted is None:
        return False
    if predicted.dim() == 4 and observed.dim() == 3:
        batch, heads, q_len, width = predicted.shape
        if tuple(observed.shape) == (batch, q_len, heads * width):
            predicted = predicted.transpose(1, 2).reshape(batch, q_len, heads * width)
    if predicted.shape != observed.shape:
        if predicted.numel() != observed.numel() or [s for s in predicted.shape if s > 1] != [
            s for s in observed.shape if s > 1
        ]:
            return False
        predicted = predicted.reshape(observed.shape)
    wanted, seen = predicted.double(), observed.double()
    close = (wanted - seen).abs() <= relative * max(size, 1e-30)
    return bool((close | (wanted.isnan() & seen.isnan()) | (wanted == seen)).all())
