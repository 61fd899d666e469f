"""Row by row, from the weights alone: sums, numbers that are none, rows without a key."""

import math

import torch
from torch import Tensor

from attention_core.diagnostics import row_sum_tolerance
from attention_core.doctor.inputs import Given, stored_dtype
from attention_core.doctor.intent import Intent
from attention_core.doctor.places import cell_list, row_list, rows_of
from attention_core.doctor.report import Check, Finding, Severity, finding


def tolerance_of(given: Given) -> float:
    """How far from 1 an honest row may sum: storage, row length, half-precision inputs, rounding of pasted numbers."""
    assert given.weights is not None
    k_len = given.weights.shape[-1]
    dtypes = {given.weights.dtype, stored_dtype(given.weights)}
    if given.query is not None:
        dtypes.add(given.query.dtype)
    if given.decimals is not None:
        dtypes.add(torch.float32)  # printed numbers do not say in which precision they were computed
    rounded = 0.0 if given.decimals is None else 0.5 * 10**-given.decimals * k_len
    return max(row_sum_tolerance(dtype, k_len) for dtype in dtypes) + rounded


def check_rows(given: Given, intent: Intent, weights: Tensor) -> tuple[list[Finding], list[Check]]:
    """Finite, non-negative, sums and empty rows.

    Args:
        given: the arguments.
        intent: what was meant.
        weights: (batch, heads, q_len, k_len) float64.
    """
    found: list[Finding] = []
    checks: list[Check] = []
    empty = None if intent.allowed is None else ~intent.allowed.any(-1)
    padded = padded_rows(intent, weights)
    _finite(weights, empty, padded, found, checks)
    negative = weights < 0
    if negative.any():
        evidence = {"count": int(negative.sum()), "smallest": float(weights[negative].min())}
        found.append(finding("negative-weights", "error", evidence, cell_list(negative)))
    checks.append(Check("non-negative", "failed" if negative.any() else "passed"))
    total = weights.sum(-1)
    _sums(given, intent, total, empty, padded, found, checks)
    if empty is None:
        checks.append(Check("empty rows", "not possible", "needs the intended mask"))
    else:
        _empty(weights, total, empty, padded, found, checks)
    return found, checks


def padded_rows(intent: Intent, weights: Tensor) -> Tensor:
    """(batch, heads, q_len) bool: rows of padding queries."""
    if intent.padded_queries is None or tuple(intent.padded_queries.shape) != (weights.shape[0], weights.shape[2]):
        return torch.zeros((), dtype=torch.bool).expand(weights.shape[:3])
    return intent.padded_queries[:, None, :].expand(weights.shape[:3])


def _finite(weights: Tensor, empty: Tensor | None, padded: Tensor, found: list[Finding], checks: list[Check]) -> None:
    broken = ~torch.isfinite(weights)
    checks.append(Check("finite weights", "failed" if broken.any() else "passed"))
    if not broken.any():
        return
    rows = broken.any(-1)
    note = ""
    if empty is not None and bool((rows <= empty).all()):
        note = "; these rows have no allowed key, and a softmax over -inf alone is 0/0"
    nan = int(weights.isnan().sum())
    evidence = {"rows": rows_of(rows), "nan": nan, "inf": int(broken.sum()) - nan, "note": note}
    severity = "warning" if bool((rows <= padded).all()) else "error"
    found.append(finding("nan-weights", severity, evidence, cell_list(broken)))


def _sums(
    given: Given,
    intent: Intent,
    total: Tensor,
    empty: Tensor | None,
    padded: Tensor,
    found: list[Finding],
    checks: list[Check],
) -> None:
    if given.dropout_p > 0:
        found.append(finding("dropout-declared", "info", {"p": given.dropout_p}))
        checks.append(Check("row sums", "not possible", "dropout is declared"))
        return
    tolerance = tolerance_of(given)
    counted = torch.isfinite(total) & (total != 0)
    if empty is not None:
        counted &= ~empty
    error = total - 1
    wrong = counted & ((error > tolerance) if given.sinks is not None else (error.abs() > tolerance))
    checks.append(Check("row sums", "failed" if wrong.any() else "passed", f"tolerance {tolerance:.1e}"))
    if not wrong.any():
        return
    off = total[wrong]
    worst = float(off[(off - 1).abs().argmax()])
    expected = "1" if given.sinks is None else "at most 1"
    evidence = {
        "worst": worst, "expected": expected, "rows": rows_of(wrong), "count": int(wrong.sum()), "tolerance": tolerance,
    }  # fmt: skip
    severity = "info" if bool((wrong <= padded).all()) else "error"
    found.append(finding("row-sums", severity, evidence, row_list(wrong)))


def _empty(
    weights: Tensor, total: Tensor, empty: Tensor, padded: Tensor, found: list[Finding], checks: list[Check]
) -> None:
    real, harmless = empty & ~padded, empty & padded
    checks.append(Check("empty rows", "failed" if real.any() else "passed"))
    if real.any():
        evidence = {"rows": rows_of(real), "count": int(real.sum())}
        found.append(finding("empty-rows", "warning", evidence, row_list(real)))
    if harmless.any():
        found.append(finding("empty-padding-rows", "info", {"rows": rows_of(harmless)}, row_list(harmless)))
    filled = empty & (torch.nan_to_num(total) > 0)
    if filled.any():
        spread = weights.max(-1).values - weights.min(-1).values
        even = filled & (spread <= 1e-2 * weights.max(-1).values)
        cases: tuple[tuple[Tensor, Severity], ...] = ((even & ~padded, "error"), (even & padded, "info"))
        for rows, severity in cases:
            if rows.any():
                evidence = {"rows": rows_of(rows), "largest": float(weights[rows].max())}
                found.append(finding("uniform-empty-rows", severity, evidence, row_list(rows)))


def uneven_empty_rows(weights: Tensor, empty: Tensor) -> Tensor:
    """Rows without an allowed key whose weight is not the same everywhere: a real leak. (batch, heads, q_len)."""
    values = torch.nan_to_num(weights)
    spread = values.max(-1).values - values.min(-1).values
    return empty & (values.sum(-1) > 0) & (spread > 1e-2 * values.max(-1).values)


def scatter(total: Tensor) -> tuple[float, float]:
    """Smallest and largest finite sum."""
    finite = total[torch.isfinite(total)]
    return (float(finite.min()), float(finite.max())) if finite.numel() else (math.nan, math.nan)
