"""The verdict in words: what reproduces the weights, what cannot be told apart, and the numbers read back."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from attention_core.doctor.estimates import estimate_scale, implied_fill, named_scale, raw_scores
from attention_core.doctor.hypotheses import Verdict
from attention_core.doctor.inputs import Given
from attention_core.doctor.intent import Intent
from attention_core.doctor.messages import number
from attention_core.doctor.places import keys_of, rows_of
from attention_core.doctor.report import Finding, Severity, finding
from attention_core.faults import CATALOGUE

DIFFERS: Mapping[str, str] = {
    "no-scaling": "the right scale were not 1",
    "scaled-by-d-k": "d_k were larger than 1",
    "scaled-by-d-model": "the number of heads were another",
    "divided-by-inverse": "d_k were larger than 1",
    "bias-scaled-too": "the bias varied within a row",
    "query-key-swapped": "the scores were not symmetric",
    "heads-split-without-transpose": "there were several heads and tokens",
    "kv-heads-tiled": "the key heads held different keys",
    "head-masks-in-wrong-order": "the number of samples or heads were another, or each sample had a mask of its own",
    "batch-axis-swapped": "the samples held different keys and masks",
    "softmax-over-queries": "the scores were not circulant",
    "softmax-over-heads": "there were another number of heads",
    "double-softmax": "the rows were less flat",
    "no-max-subtraction": "the scores were larger",
    "mask-inverted": "the mask were not its own complement on these rows",
    "causal-mask-missing": "the mask had other parts, e.g. padding",
    "padding-mask-missing": "the mask had other parts, e.g. a causal one",
    "mask-ignored": "the mask had other parts",
    "mask-after-softmax": "a row had masked keys",
    "mask-added-as-zero-one": "masked keys were compared with q and k at hand, where each loses exactly 1",
    "scores-multiplied-by-mask": "the masked scores were not 0",
    "fill-too-weak": "the fill were another number",
    "finite-fill-on-empty-row": "the empty rows had scores that a finite fill does not swallow",
    "masks-summed-overflow": "a row were masked by one part only",
    "half-precision-overflow": "the scores were smaller",
    "padding-on-query-axis": "the lengths of queries and keys were different",
    "padding-side-swapped": "the lengths were other ones",
    "padding-border-off-by-one": "more than one key were padding",
    "padding-or-causal": "both parts hid cells that the other allows",
    "causal-strict": "there were more queries",
    "causal-one-late": "there were more queries",
    "causal-transposed": "there were more queries",
    "causal-top-left": "q_len and k_len differed by another number",
    "window-off-by-one": "the sequence were longer than the window",
    "window-on-wrong-layers": "the sequence were longer than the window",
    "chunk-as-window": "the sequence were longer than a chunk",
    "packing-leak": "the row held other documents",
    "cache-slots-unmasked": "more slots were unused",
    "dropout-left-on": "the run were repeated: dropout changes each time",
    "heads-averaged": "the heads differed",
    "heads-merged-without-transpose": "there were several heads and queries",
    "zero-times-nan": "V were finite",
}


def explained(
    ids: tuple[str, ...], notes: Mapping[str, Mapping[str, float | str]], severity: Severity, what: str
) -> Finding:
    """The finding that names what reproduces the weights; several ids form one class."""
    first = ids[0]
    said = f"{_named(first, notes)} reproduces the {what}"
    if len(ids) > 1:
        differing = "; ".join(f"{name} would differ if {_differs(name)}" for name in ids[1:4])
        said = f"cannot be told apart here: {', '.join(ids)}; {differing}"
    evidence = {
        "said": said,
        "faults": list(ids),
        "parameters": {name: dict(notes.get(name, {})) for name in ids},
        "remedy": _fix(first),
        "what": what,
    }
    return finding("explained", severity, evidence)


def _named(name: str, notes: Mapping[str, Mapping[str, float | str]]) -> str:
    titles = " and ".join(CATALOGUE[part].title.lower() for part in name.split("+"))
    parameters = ", ".join(
        f"{key}={number(value) if isinstance(value, float) else value}" for key, value in notes.get(name, {}).items()
    )
    return f"{name} ({titles}{f'; {parameters}' if parameters else ''})"


def _differs(name: str) -> str:
    return " and ".join(DIFFERS[part] for part in name.split("+"))


def _fix(name: str) -> str:
    return "; then ".join(CATALOGUE[part].fix for part in name.split("+"))


def severity_of(given: Given, intent: Intent, verdict: Verdict) -> Severity:
    """An error, unless only rows of padding queries are touched or the missing scale may be the model's own."""
    right, observed = verdict.right.weights, given.weights
    if verdict.explained_by[0] == "no-scaling" and given.scale is None:
        return "warning"  # T5 and its kin do without; only somebody who knows the model can tell
    if intent.source == "inferred":
        return "warning"
    if verdict.what != "weights" or right is None or observed is None or right.shape != observed.shape:
        return "error"
    if intent.padded_queries is not None:
        other = (right.double() - observed.double()).abs().nan_to_num(nan=1.0) > verdict.allowance.absolute + 1e-6
        if bool((other.any(-1) <= intent.padded_queries[:, None, :]).all()):
            return "info"
    return "error"


def numbers_read_back(
    given: Given, intent: Intent, observed: Tensor, verdict: Verdict
) -> tuple[list[Finding], dict[str, float]]:
    """Effective scale, strength of the bias, implied fill and half-precision overflow, as findings and numbers."""
    assert given.query is not None and intent.allowed is not None
    found: list[Finding] = []
    d_k, heads = given.query.shape[-1], given.query.shape[1]
    expected = d_k**-0.5 if given.scale is None else given.scale
    numbers: dict[str, float] = {"expected_scale": expected}
    scores = raw_scores(given)
    if scores.shape == observed.shape and given.softcap is None:
        estimate = estimate_scale(scores, observed, intent.allowed, given.bias, expected)
        if estimate is not None and estimate.clean:
            numbers["scale"] = estimate.scale
            off = abs(estimate.scale - expected) > 1e-2 * abs(expected)
            if not estimate.joint and "bias-scaled-too" in verdict.explained_by:
                off = False
            wrong = off and not verdict.reproduced
            if wrong or (given.scale is not None and abs(given.scale - d_k**-0.5) > 1e-9 and not off):
                evidence = {
                    "estimated": estimate.scale,
                    "estimated_as": named_scale(estimate.scale, d_k=d_k, heads=heads),
                    "expected": expected,
                    "expected_as": named_scale(expected, d_k=d_k, heads=heads),
                }
                severity = "info" if not wrong else "warning" if abs(estimate.scale - 1) < 1e-2 else "error"
                found.append(finding("scale", severity, evidence))
            share = estimate.share
            if share is not None and abs(share - 1) > 2e-2 and not verdict.reproduced and not off:
                as_scale = abs(share - d_k**-0.5) <= 2e-2 * d_k**-0.5
                note = f" = the 1/sqrt({d_k}) factor" if as_scale else ""
                found.append(finding("bias-factor", "error", {"percent": 100 * share, "share": share, "note": note}))
    logits = verdict.right.capped
    if logits is not None and not verdict.reproduced and scores.shape == observed.shape:
        if given.bias is not None:
            logits = logits + given.bias
        fill = implied_fill(logits.double(), observed, intent.allowed)
        if fill is not None:
            offset, (b, h, q, k) = fill
            offset = 0.0 if abs(offset) < 1e-4 else offset
            evidence = {"offset": offset, "key": k, "row": q, "weight": float(observed[b, h, q, k])}
            found.append(finding("mask-offset", "warning", evidence, [(b, h, q, k)]))
            numbers["implied_fill"] = offset
    return found, numbers


def overflow(given: Given, observed: Tensor | None) -> list[Finding]:
    """Dot products beyond the range of the dtype of query and key."""
    assert given.query is not None
    if given.query.dtype != torch.float16:
        return []
    limit = torch.finfo(given.query.dtype).max
    scores = raw_scores(given).abs()
    largest = float(scores[torch.isfinite(scores)].max()) if torch.isfinite(scores).any() else math.nan
    if not largest > limit:
        return []
    d_k = given.query.shape[-1]
    scaled = largest * (d_k**-0.5 if given.scale is None else abs(given.scale))
    evidence = {
        "largest": largest, "dtype": "float16", "limit": limit, "scaled": scaled,
        "fits": "fits" if scaled <= limit else "does not fit either",
    }  # fmt: skip
    broken = observed is not None and not bool(torch.isfinite(observed).all())
    severity = "error" if broken else "info" if observed is not None else "warning"
    return [finding("score-overflow", severity, evidence)]


def output_findings(given: Given, intent: Intent, right_output: Tensor | None) -> list[Finding]:
    """NaN in the output, and whether it comes from values that no query may read."""
    output, value = given.output, given.value
    if output is None:
        return []
    broken = ~torch.isfinite(output)
    if not broken.any():
        return []
    found: list[Finding] = []
    if value is not None and intent.allowed is not None:
        bad = ~torch.isfinite(value)  # (batch, kv_heads, k_len, d_v)
        unread = ~intent.allowed.flatten(1, 2).any(1)  # (batch, k_len)
        hidden = bad & unread[:, None, :, None]
        if hidden.any() and (right_output is None or bool(torch.isfinite(right_output).all())):
            features = hidden.flatten(0, 2).any(0).nonzero().flatten().tolist()
            evidence = {"keys": keys_of(hidden.transpose(-1, -2)), "features": features}
            found.append(finding("nan-from-masked-value", "error", evidence))
    if not found:
        rows = broken.any(-1)
        evidence = {"rows": rows_of(rows.reshape(-1, rows.shape[-1])), "cells": int(broken.sum())}
        found.append(finding("nan-output", "error", evidence))
    return found
