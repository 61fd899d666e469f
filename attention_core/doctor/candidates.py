"""Without query and key: which faults leave this support and these patterns in the weights."""

import math
from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from attention_core.doctor.forbidden import suspicious_zeros
from attention_core.doctor.inputs import Given
from attention_core.doctor.intent import Intent
from attention_core.doctor.report import Finding
from attention_core.faults import CATALOGUE, Situation

UNSEEN = (
    "no-scaling", "scaled-by-d-k", "scaled-by-d-model", "divided-by-inverse", "bias-scaled-too", "query-key-swapped",
    "heads-split-without-transpose", "kv-heads-tiled",
)  # fmt: skip
_BY_FINDING = {
    "columns-sum-to-one": ("softmax-over-queries",),
    "heads-sum-to-one": ("softmax-over-heads",),
    "all-ones": ("softmax-over-heads",),
    "double-softmax": ("double-softmax",),
    "double-softmax-possible": ("double-softmax",),
    "mask-after-softmax": ("mask-after-softmax",),
    "dropout-active": ("dropout-left-on",),
    "dropout-possible": ("dropout-left-on",),
    "heads-identical": ("heads-averaged",),
}
_SOFT = ("mask-added-as-zero-one", "scores-multiplied-by-mask", "fill-too-weak")


def candidates(given: Given, intent: Intent, weights: Tensor, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Faults that leave what is seen, in the order of the catalogue; all of them agree with the weights.

    Args:
        given: the arguments, without query and key.
        intent: what was meant.
        weights: (batch, heads, q_len, k_len) float64.
        findings: what the structure said.
    """
    codes = {f.code for f in findings}
    certain = {fault for code, faults in _BY_FINDING.items() if code in codes for fault in faults}
    if certain:
        return _ordered(certain)
    if intent.allowed is None or not intent.stated or given.dropout_p > 0:
        return ()
    broken = weights.isnan().any(-1)
    values = torch.nan_to_num(weights)
    seen = values > 0
    situations = [_flat(given, intent)]
    if intent.other_parts is not None:
        situations.append(replace(situations[0], parts=dict(intent.other_parts)))
    exact, near = set(), set()
    for name, fault in CATALOGUE.items():
        if fault.judged_on != "weights" or name in UNSEEN or name in _SOFT or name == "dropout-left-on":
            continue
        for outcome in (outcome for situation in situations for outcome in fault.variants(situation)):
            predicted = outcome.weights
            if predicted is None or predicted.shape != seen.shape:
                continue
            if outcome.changed is None and not _is_about_rows(name):
                continue
            fits = _support_fits(predicted, seen, broken, values, intent.allowed)
            if fits:
                (exact if fits == 2 else near).add(name)
                if fits == 2:
                    break
    if bool((broken & intent.allowed.any(-1)).any()) and (not exact or bool(broken.all())):
        return _ordered({"no-max-subtraction", "half-precision-overflow", *exact})  # NaN where a row has keys
    deviates = bool((seen & ~intent.allowed).any()) or bool((broken & ~intent.allowed.any(-1)).any())
    return _ordered((exact or (near if deviates else set())) | _soft(values, intent.allowed, seen, given.sinks))


def _is_about_rows(name: str) -> bool:
    """Faults without a mask of their own that still leave a pattern of zeros, NaN or uniform rows."""
    return name in ("finite-fill-on-empty-row", "masks-summed-overflow", "half-precision-overflow")


def _flat(given: Given, intent: Intent) -> Situation:
    """The situation with all scores 0: what a fault leaves then is its mask."""
    assert intent.allowed is not None and given.weights is not None
    batch, heads, q_len, k_len = intent.allowed.shape
    dtype = given.weights.dtype
    return Situation(
        query=torch.zeros(batch, heads, q_len, 1, dtype=dtype),
        key=torch.zeros(batch, heads, k_len, 1, dtype=dtype),
        value=None,
        allowed=intent.allowed,
        parts=dict(intent.parts),
        lengths=intent.lengths,
        side="left" if intent.side == "left" else "right",
        document_ids=intent.document_ids,
        window=intent.read.window,
        chunk=intent.read.chunk,
    )


def _support_fits(predicted: Tensor, seen: Tensor, broken: Tensor, values: Tensor, allowed: Tensor) -> int:
    """2: the same cells carry weight; 1: some more would, and may have vanished; 0: no."""
    empty = predicted.isnan().any(-1)
    if not torch.equal(empty, broken):
        return 0
    support = (predicted > 0) & ~broken[..., None]
    observed = seen & ~broken[..., None]
    if torch.equal(support, allowed & ~broken[..., None]) and not broken.any():
        return 0  # it changes nothing here
    if torch.equal(support, observed):
        return 2
    if bool((observed & ~support).any()):
        return 0
    missing = support & ~observed
    lost = (support.any(-1) & ~observed.any(-1)).any()
    return 0 if bool(lost) or bool((missing & suspicious_zeros(values, support)).any()) else 1


def _soft(values: Tensor, allowed: Tensor, seen: Tensor, sinks: Tensor | None) -> set[str]:
    """Masked cells that all carry weight: a mask that shifts scores instead of removing keys."""
    rows = (~allowed).any(-1) & allowed.any(-1)
    if not rows.any():
        return set()
    leak = seen & ~allowed & rows[..., None]
    whole = torch.equal(leak, ~allowed & rows[..., None])
    if not leak.any():
        return set()
    if bool(suspicious_zeros(values, allowed).any()):
        return set()
    if not whole:  # one part of the mask may be soft while the rest holds
        return set(_SOFT)
    named = {"mask-added-as-zero-one", "fill-too-weak"}
    low = values.masked_fill(allowed, 2.0).min(-1).values
    high = values.masked_fill(allowed, -1.0).max(-1).values
    if bool(((high - low) <= 2e-2 * high)[rows].all()):
        named.add("scores-multiplied-by-mask")
        flat = values.max(-1).values <= math.e * (1 + 1e-2) * low
        if sinks is not None and bool(flat[rows].all()):  # a sink hides what the weights that went in summed to
            named.add("double-softmax")
    return named


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    wanted = set(names)
    return tuple(name for name in CATALOGUE if name in wanted)
