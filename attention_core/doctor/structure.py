"""What the weights alone give away: the softmax axis, a second softmax, a late mask, dropout, averaged heads."""

import math

import torch
from torch import Tensor

from attention_core.doctor.forbidden import suspicious_zeros
from attention_core.doctor.inputs import Given
from attention_core.doctor.intent import Intent
from attention_core.doctor.messages import number, spans
from attention_core.doctor.places import cell_list, keys_of, row_list, rows_of
from attention_core.doctor.report import Check, Finding, finding
from attention_core.doctor.rows import scatter, tolerance_of

_CHECKS = {
    "softmax axis": ("columns-sum-to-one", "heads-sum-to-one", "all-ones"),
    "double softmax": ("double-softmax", "double-softmax-possible"),
    "dropout": ("dropout-active", "dropout-possible"),
    "heads": ("mask-differs-between-heads", "heads-identical"),
}


def check_structure(given: Given, intent: Intent, weights: Tensor) -> tuple[list[Finding], list[Check]]:
    """Patterns in the weights; each finding names the fault that leaves it.

    Args:
        given: the arguments.
        intent: what was meant.
        weights: (batch, heads, q_len, k_len) float64.
    """
    if given.dropout_p > 0:
        return [], [Check(name, "not possible", "dropout is declared") for name in _CHECKS]
    values = torch.nan_to_num(weights, nan=0.0, posinf=0.0)
    tolerance = tolerance_of(given)
    allowed = torch.ones((), dtype=torch.bool).expand(values.shape) if intent.allowed is None else intent.allowed
    known = intent.allowed is not None
    total = values.sum(-1)
    whole = bool(torch.isfinite(weights).all())
    counted = (total > 0) & allowed.any(-1)
    off = counted & ((total - 1).abs() > tolerance)
    found: list[Finding] = []
    if given.sinks is None and off.any():
        found += (
            _all_ones(values, allowed)
            or _columns(values, allowed, total, tolerance)
            or _over_heads(values, allowed, total, tolerance)
            or (_late_mask(values, allowed, total, tolerance) if known and whole else [])
            or (_dropout(values, allowed, total, tolerance) if whole else [])
        )
    elif whole:  # a sink takes from a row and never adds to it
        found += _dropout(values, allowed, total, tolerance, sinks=True)
    if known:
        found += (
            _second_softmax(values, allowed, tolerance)
            or _second_softmax_kept(values, allowed, tolerance)
            or _equal_masked(values, allowed, tolerance)
        )
    if given.heads_vary:
        found += _heads(values, allowed, given, tolerance)
    names = {f.code for f in found}
    checks = [_check(name, codes, names, known or name != "double softmax") for name, codes in _CHECKS.items()]
    return found, checks


def _check(name: str, codes: tuple[str, ...], found: set[str], possible: bool) -> Check:
    if not possible:
        return Check(name, "not possible", "needs the intended mask")
    return Check(name, "failed" if found & set(codes) else "passed")


def _all_ones(values: Tensor, allowed: Tensor) -> list[Finding]:
    """Every weight is 1, or every one that the mask allows, which rows of several keys cannot be."""
    longest = int(allowed.sum(-1).max())
    if longest > 1 and bool(((values == 1) | (~allowed & (values == 0))).all()) and bool((values == 1)[allowed].all()):
        return [finding("all-ones", "error", {"k_len": longest})]
    return []


def _columns(values: Tensor, allowed: Tensor, total: Tensor, tolerance: float) -> list[Finding]:
    if values.shape[-2] < 2:
        return []
    columns = values.sum(-2)  # (batch, heads, k_len)
    counted = allowed.any(-2)
    slack = tolerance * max(1.0, values.shape[-2] / values.shape[-1])
    if not bool(((columns - 1).abs()[counted] <= slack).all()):
        return []
    smallest, largest = scatter(total)
    return [finding("columns-sum-to-one", "error", {"smallest": smallest, "largest": largest})]


def _over_heads(values: Tensor, allowed: Tensor, total: Tensor, tolerance: float) -> list[Finding]:
    """Sums over the heads, or over the samples of the batch."""
    for axis, name in ((1, "heads"), (0, "samples")):
        size = values.shape[axis]
        counted = allowed.any(axis)
        if size > 1 and counted.any() and bool(((values.sum(axis) - 1).abs()[counted] <= tolerance).all()):
            return [finding("heads-sum-to-one", "error", {"count": size, "axis": name})]
    return []


def _late_mask(values: Tensor, allowed: Tensor, total: Tensor, tolerance: float) -> list[Finding]:
    """Zeros exactly on the masked cells, and only rows that have some fall short of 1."""
    partial = (~allowed).any(-1) & allowed.any(-1)
    short = partial & (total < 1 - tolerance)
    whole = allowed.all(-1)
    if not short.any() or bool((values > 0)[~allowed].any()):
        return []
    if bool(((total - 1).abs() > tolerance)[whole].any()) or bool((total > 1 + tolerance).any()):
        return []
    if suspicious_zeros(values, allowed).any():
        return []
    b, h, _ = short.nonzero()[0].tolist()
    rows = short[b, h].nonzero().flatten().tolist()[:4]
    repaired = [[round(float(v), 4) for v in values[b, h, r] / total[b, h, r]] for r in rows]
    said = "; ".join(
        f"row {r} [{', '.join(number(v) for v in row[:8])}]" for r, row in zip(rows, repaired, strict=True)
    )
    evidence = {
        "rows": rows_of(short), "sums": [round(float(total[b, h, r]), 6) for r in rows], "repaired": said,
        "repaired_rows": repaired,
    }  # fmt: skip
    return [finding("mask-after-softmax", "error", evidence, row_list(short))]


def _dropout(values: Tensor, allowed: Tensor, total: Tensor, tolerance: float, *, sinks: bool = False) -> list[Finding]:
    """Rows above 1 among allowed weights of exactly 0; rows of one key give the factor, unless a sink has a share."""
    smallest, largest = scatter(total)
    single = allowed.sum(-1) == 1
    kept = values[single & (total > 0)].sum(-1) if single.any() else values.new_zeros(0)
    if (
        not sinks
        and kept.numel()
        and bool((kept > 1 + tolerance).all())
        and float(kept.max() - kept.min()) <= 4 * tolerance
    ):
        factor = float(kept.mean())
        evidence = {"smallest": smallest, "largest": largest, "factor": factor, "p": 1 - 1 / factor}
        return [finding("dropout-active", "error", evidence)]
    zeros = allowed & (values == 0)
    share = float(zeros.sum()) / max(int(allowed.sum()), 1)
    if 0.005 < share < 0.9 and largest > 1 + tolerance and not (values > 0)[~allowed].any():
        return [finding("dropout-possible", "warning", {"smallest": smallest, "largest": largest, "share": share})]
    return []


def _second_softmax(values: Tensor, allowed: Tensor, tolerance: float) -> list[Finding]:
    """A softmax of weights: a masked cell holds 1/Z, so the logarithms over it are weights again and sum to 1."""
    rows = (~allowed).any(-1) & allowed.any(-1) & (values.sum(-1) > 0)
    if not rows.any() or bool((values[rows] <= 0).any()):
        return []
    masked = values.masked_fill(allowed, 2.0).min(-1).values  # (batch, heads, q_len)
    once = torch.log(values.clamp_min(1e-300) / masked[..., None])
    inner = once.masked_fill(~allowed, 0.0).sum(-1)
    slack = (tolerance + 1e-5) * values.shape[-1] * 4
    ratio = values.max(-1).values / values.min(-1).values.clamp_min(1e-300)
    fits = ((inner - 1).abs() <= slack) & (ratio <= math.e * (1 + slack)) & (once >= -slack).all(-1)
    if not bool(fits[rows].all()):
        return []
    evidence = {"ratio": float(ratio[rows].max()), "rows": rows_of(rows)}
    return [finding("double-softmax", "error", evidence, row_list(rows))]


def _second_softmax_kept(values: Tensor, allowed: Tensor, tolerance: float) -> list[Finding]:
    """The same with the mask applied again: what went in was never negative, summed to 1 and was not flat itself."""
    count = allowed.sum(-1)
    rows = (count >= 3) & (values.sum(-1) > 0)
    if int(rows.sum()) < 4 or bool((values <= 0)[allowed & rows[..., None]].any()):
        return []
    log = torch.where(allowed, torch.log(values.clamp_min(1e-300)), 0.0)
    size = count.clamp_min(1)
    inner = log + ((1 - log.sum(-1)) / size)[..., None]  # the one shift that makes them sum to 1
    slack = (tolerance + 1e-5) * 4
    lowest = inner.masked_fill(~allowed, 1.0).min(-1).values[rows]
    peak = (inner.masked_fill(~allowed, 0.0).max(-1).values * size)[rows]
    if bool((lowest < -slack).any()) or float(peak.median()) < 1.8:
        return []
    ratio = values.max(-1).values / values.masked_fill(~allowed, 2.0).min(-1).values
    evidence = {"ratio": float(ratio[rows].max()), "rows": rows_of(rows)}
    return [finding("double-softmax-possible", "warning", evidence)]


def _equal_masked(values: Tensor, allowed: Tensor, tolerance: float) -> list[Finding]:
    """Every masked cell of a row holds the same weight, and the others do not."""
    forbidden = ~allowed
    rows = (forbidden.sum(-1) >= 2) & allowed.any(-1) & (values.sum(-1) > 0)
    if not rows.any() or bool((values[forbidden & rows[..., None]] <= 0).any()):
        return []
    if suspicious_zeros(values, allowed).any():
        return []
    low = values.masked_fill(allowed, 2.0).min(-1).values
    high = values.masked_fill(allowed, -1.0).max(-1).values
    slack = 4 * tolerance
    same = high - low <= slack * high
    uneven = values.max(-1).values - values.min(-1).values > 2 * slack * high
    if not bool(same[rows].all()) or not bool(uneven[rows].any()):
        return []
    b, h, q = (rows & uneven).nonzero()[0].tolist()
    evidence = {"keys": keys_of(forbidden & rows[..., None]), "example": float(low[b, h, q]), "row": q, "note": ""}
    return [finding("equal-masked-weights", "warning", evidence, cell_list(forbidden & rows[..., None]))]


def _heads(values: Tensor, allowed: Tensor, given: Given, tolerance: float) -> list[Finding]:
    heads = values.shape[1]
    if heads < 2:
        return []
    found: list[Finding] = []
    seen = values > 0
    firm = suspicious_zeros(values, torch.ones_like(seen)) | seen  # cells whose zero or weight is no accident
    differ = (seen != seen[:, :1]) & firm & firm[:, :1] & (allowed == allowed[:, :1])
    alive = (values.sum(-1, keepdim=True) > 0) & allowed.any(-1, keepdim=True)
    differ = differ | ((seen != seen[:, :1]) & ~allowed & ~allowed[:, :1] & alive & alive[:, :1])
    if differ.any():
        said = []
        for b, h in differ.flatten(2).any(-1).nonzero()[:4].tolist():
            more = (differ[b, h] & seen[b, h]).any(0).nonzero().flatten().tolist()
            less = (differ[b, h] & ~seen[b, h]).any(0).nonzero().flatten().tolist()
            words = [f"attends keys {spans(more)} that head 0 does not"] if more else []
            words += [f"does not attend keys {spans(less)} that head 0 does"] if less else []
            said.append(f"sample {b} head {h} {' and '.join(words)}")
        leaking = bool((seen & ~allowed).any())
        evidence = {"heads_by_sample": "; ".join(said)}
        found.append(
            finding("mask-differs-between-heads", "error" if leaking else "warning", evidence, cell_list(differ))
        )
    largest = values.max(-1).values
    lowest = values.masked_fill(values <= 1e-3, 2.0).min(-1).values  # saturated rows are alike by themselves
    varied = bool((largest - lowest > 1e-3).any())
    if varied and bool(((values - values[:, :1]).abs() <= tolerance * 1e-2).all()):
        said_heads = f"all {heads} heads of each sample hold the same map"
        found.append(finding("heads-identical", "warning", {"said": said_heads, "heads": heads}))
    return found
