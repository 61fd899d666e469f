"""Checks of one attention call that stand over every picture: what was checked, what failed, and where."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace

CheckStatus = Literal["passed", "failed", "info", "not possible"]
Cell = tuple[int, int, int, int | None]

CHECK_CODES = ("row_sums", "finite", "non_negative", "forbidden_weight", "empty_rows", "padded_columns")
LISTED = 20  # cells named per check; the count is of all


@dataclass(frozen=True)
class RowCheck:
    """The verdict of one check.

    Attributes:
        code: one of ``CHECK_CODES``.
        status: "passed", "failed", "info" (found, but not a fault) or "not possible" (a stage or a mask is missing).
        count: how many rows or cells were found.
        where: the first of them, at most 20, as (batch, head, query, key); key is None for a whole row.
        largest: the largest deviation or weight among them; 0 where nothing was found, NaN where it has no size.
        parts: the count by kind, and what else the sentence needs. ``row_sums``: tolerance. ``finite``: nan_weights,
            inf_weights, nan_scores, inf_scores, nan_output, inf_output. ``forbidden_weight``: rows, forbidden_cells.
            ``empty_rows``: real, padded. ``padded_columns``: rows.
    """

    code: str
    status: CheckStatus
    count: int = 0
    where: tuple[Cell, ...] = ()
    largest: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)


def row_checks(
    trace: AttentionTrace,
    *,
    intended: Tensor | None = None,
    padded_keys: Tensor | None = None,
    padded_queries: Tensor | None = None,
) -> tuple[RowCheck, ...]:
    """Row sums, finite numbers, sign, forbidden weight, empty rows and padded columns of one call.

    Args:
        trace: with ``weights`` (batch, heads, q_len, k_len), fewer leading axes count as size 1; ``scores`` and
            ``logits`` are used where they were kept.
        intended: bool, broadcastable to the weights, True = may attend: the mask that was meant. None: the one applied.
        padded_keys: (batch, k_len) bool, True = padding. None: not known.
        padded_queries: (batch, q_len) bool, True = padding. None: every query counts as real.

    Returns:
        One RowCheck per code, in the order of ``CHECK_CODES``.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if a mask does not fit the weights.
    """
    if trace.weights is None:
        return tuple(RowCheck(code, "not possible") for code in CHECK_CODES)
    weights = _four_axes(trace.weights)
    shape = weights.shape
    sink = None if trace.sink_weight is None else trace.sink_weight.reshape(shape[:3])
    allowed = _mask("allowed", trace.allowed, shape)
    if trace.logits is None:
        readable, empty = allowed, ~allowed.any(dim=-1)
    else:
        logits = _four_axes(trace.logits)
        readable = logits != -math.inf
        empty = ~readable.any(dim=-1)
        readable = readable & allowed
    permitted = readable if intended is None else _mask("intended", intended, shape)
    keys = None if padded_keys is None else _padded("padded_keys", padded_keys, shape[0], shape[3])
    queries = None if padded_queries is None else _padded("padded_queries", padded_queries, shape[0], shape[2])
    positive = weights > 0
    return (
        _row_sums(weights, sink, empty),
        _finite(trace, weights, readable),
        _non_negative(weights),
        _forbidden(weights, positive, permitted),
        _empty_rows(empty, queries),
        _padded_columns(weights, positive, keys, queries),
    )


def joined_checks(parts: Sequence[tuple[int, Sequence[RowCheck]]]) -> tuple[RowCheck, ...]:
    """The checks of all heads of a call from those of groups of its heads, as if they had been looked at together.

    Args:
        parts: index of the first head of a group, and the result of ``row_checks`` for it; the groups in order.

    Returns:
        One RowCheck per code, in the order of ``CHECK_CODES``; ``where`` names heads as the whole call counts them.

    Raises:
        ValueError: if there is no part.
    """
    if not parts:
        raise ValueError("checks are joined from at least one group of heads: got none")
    moved = [[_moved(check, first) for check in checks] for first, checks in parts]
    return tuple(_joined(list(same)) for same in zip(*moved, strict=True))


def _moved(check: RowCheck, first: int) -> RowCheck:
    return replace(check, where=tuple((b, h + first, q, k) for b, h, q, k in check.where))


def _joined(checks: list[RowCheck]) -> RowCheck:
    """The same check of several groups of heads."""
    if len(checks) == 1:
        return checks[0]
    found = [check for check in checks if check.count]
    worst: CheckStatus = next(
        status for status in ("failed", "info", "passed", "not possible") if any(c.status == status for c in checks)
    )
    names = dict.fromkeys(name for check in checks for name in check.parts)
    join = {name: max if name == "tolerance" else sum for name in names}
    parts = {name: join[name](check.parts.get(name, 0) for check in checks) for name in names}
    sizes = [check.largest for check in found if not math.isnan(check.largest)]
    largest = max(sizes, default=math.nan if found else 0.0)
    # Rows of real tokens first, as in each group.
    first = [cell for check in found for cell in check.where[: int(check.parts.get("real", len(check.where)))]]
    rest = [cell for check in found for cell in check.where[int(check.parts.get("real", len(check.where))) :]]
    return RowCheck(checks[0].code, worst, sum(c.count for c in checks), (*first, *rest)[:LISTED], largest, parts)


def row_sum_tolerance(dtype: torch.dtype, k_len: int) -> float:
    """How far from 1 an honest softmax row may sum.

    Storing rounds every weight by at most eps / 2 of itself, so the sum by eps / 2, plus half the smallest number of
    the dtype per key where weights are that small; softmax itself, at best in float32, adds its own rounding, which
    grows with the square root of the row length.

    Args:
        dtype: of the weights.
        k_len: row length.

    Returns:
        Absolute tolerance: about 2e-3 for float16, 1.6e-2 for bfloat16, 1e-5 for 100 keys in float32.
    """
    info = torch.finfo(dtype)
    softmax_eps = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    smallest = info.smallest_normal * info.eps
    return 2 * info.eps + k_len * smallest / 2 + 8 * softmax_eps * math.sqrt(max(k_len, 1))


def _row_sums(weights: Tensor, sink: Tensor | None, empty: Tensor) -> RowCheck:
    tolerance = row_sum_tolerance(weights.dtype, weights.shape[-1])
    total = weights.sum(dim=-1, dtype=torch.float64)  # (batch, heads, q_len)
    expected = torch.where(empty, 0.0, 1.0).to(total.dtype)
    if sink is not None:
        total, expected = total + sink, torch.ones_like(expected)  # a sink takes all of an empty row
    error = (total - expected).abs()
    return _rows("row_sums", ~(error <= tolerance), error, {"tolerance": tolerance})


def _finite(trace: AttentionTrace, weights: Tensor, readable: Tensor) -> RowCheck:
    parts: dict[str, float] = {}
    where: list[Cell] = []
    stages: list[tuple[str, Tensor, Tensor | None]] = [("weights", weights, None)]
    if trace.scores is not None:
        stages.append(("scores", _four_axes(trace.scores), readable))
    stages.append(("output", _four_axes(trace.output), None))
    for name, stage, cells in stages:
        nan = inf = 0
        broken = ~torch.isfinite(stage)
        if cells is not None:
            broken = broken & cells
        if broken.any():
            nan = int((broken & stage.isnan()).sum())
            inf = int(broken.sum()) - nan
            if name == "output":
                where += _first_rows(broken.any(dim=-1))
            else:
                where += _first_cells(broken)
        parts[f"nan_{name}"], parts[f"inf_{name}"] = nan, inf
    count = int(sum(parts.values()))
    cells_once = tuple(dict.fromkeys(where))[:LISTED]
    return RowCheck("finite", "failed" if count else "passed", count, cells_once, math.nan if count else 0.0, parts)


def _non_negative(weights: Tensor) -> RowCheck:
    negative = weights < 0
    count = int(negative.sum())
    if not count:
        return RowCheck("non_negative", "passed")
    return RowCheck("non_negative", "failed", count, _first_cells(negative), float(-weights[negative].min()))


def _forbidden(weights: Tensor, positive: Tensor, permitted: Tensor) -> RowCheck:
    forbidden = ~permitted
    parts: dict[str, float] = {"rows": 0, "forbidden_cells": int(forbidden.sum())}
    return _weight_in(forbidden & positive, weights, "forbidden_weight", parts)


def _empty_rows(empty: Tensor, padded: Tensor | None) -> RowCheck:
    count = int(empty.sum())
    if not count:
        return RowCheck("empty_rows", "passed", parts={"real": 0, "padded": 0})
    padding = 0 if padded is None else int((empty & padded[:, None, :]).sum())
    status: CheckStatus = "info" if padding == count else "failed"
    listed = empty if padded is None or padding == count else empty & ~padded[:, None, :]  # real ones first
    where = _first_rows(listed) + (_first_rows(empty & ~listed))
    return RowCheck("empty_rows", status, count, where[:LISTED], 0.0, {"real": count - padding, "padded": padding})


def _padded_columns(weights: Tensor, positive: Tensor, keys: Tensor | None, queries: Tensor | None) -> RowCheck:
    if keys is None:
        return RowCheck("padded_columns", "not possible")
    cells = keys[:, None, None, :].expand(weights.shape)
    if queries is not None:
        cells = cells & ~queries[:, None, :, None]
    return _weight_in(cells & positive, weights, "padded_columns", {"rows": 0})


def _weight_in(found: Tensor, weights: Tensor, code: str, parts: dict[str, float]) -> RowCheck:
    count = int(found.sum())
    if not count:
        return RowCheck(code, "passed", parts=parts)
    parts = {**parts, "rows": int(found.any(dim=-1).sum())}
    return RowCheck(code, "failed", count, _first_cells(found), float(weights[found].max()), parts)


def _rows(code: str, found: Tensor, size: Tensor, parts: Mapping[str, float]) -> RowCheck:
    count = int(found.sum())
    if not count:
        return RowCheck(code, "passed", parts=parts)
    sizes = size[found]
    sizes = sizes[~sizes.isnan()]
    largest = float(sizes.max()) if sizes.numel() else math.nan
    return RowCheck(code, "failed", count, _first_rows(found), largest, parts)


def _first_cells(found: Tensor) -> tuple[Cell, ...]:
    """The first cells of a bool (batch, heads, q_len, k_len) that are True."""
    return tuple((b, h, q, k) for b, h, q, k in found.nonzero()[:LISTED].tolist())


def _first_rows(found: Tensor) -> tuple[Cell, ...]:
    """The first rows of a bool (batch, heads, q_len) that are True."""
    return tuple((b, h, q, None) for b, h, q in found.nonzero()[:LISTED].tolist())


def _four_axes(tensor: Tensor) -> Tensor:
    """(..., q_len, k_len) as (batch, heads, q_len, k_len)."""
    missing = 4 - tensor.dim()
    return tensor.reshape((1,) * missing + tuple(tensor.shape)) if missing > 0 else tensor.flatten(0, -4)


def _mask(name: str, mask: Tensor, shape: torch.Size) -> Tensor:
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must be bool with True = may attend: got {mask.dtype}; convert it, see masks.from_...")
    try:
        return mask.expand(shape)
    except RuntimeError:
        raise ValueError(f"{name} must broadcast to the weights, {tuple(shape)}: got {tuple(mask.shape)}") from None


def _padded(name: str, mask: Tensor, batch: int, length: int) -> Tensor:
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must be bool with True = padding: got {mask.dtype}")
    if tuple(mask.shape) != (batch, length):
        raise ValueError(f"{name} must be (batch, len) = {(batch, length)}: got {tuple(mask.shape)}")
    return mask
