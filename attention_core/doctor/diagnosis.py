"""diagnose(): everything that is known about one attention call in, a report out."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_core.doctor.candidates import UNSEEN, candidates
from attention_core.doctor.explain import (
    explained,
    numbers_read_back,
    output_findings,
    overflow,
    severity_of,
)
from attention_core.doctor.forbidden import check_cells, unread_keys
from attention_core.doctor.hypotheses import Verdict, judge
from attention_core.doctor.inputs import Given, read_inputs
from attention_core.doctor.intent import Intent, find_intent
from attention_core.doctor.layout import check_layout
from attention_core.doctor.messages import number
from attention_core.doctor.places import rows_of
from attention_core.doctor.raw_mask import Reading, against_intent, against_weights, read_raw_mask
from attention_core.doctor.report import Check, Finding, Report, finding, sorted_findings
from attention_core.doctor.rows import check_rows
from attention_core.doctor.structure import check_structure


def diagnose(
    *,
    weights: Any = None,
    query: Any = None,
    key: Any = None,
    value: Any = None,
    output: Any = None,
    allowed: Any = None,
    raw_mask: Any = None,
    expect: Any = None,
    bias: Any = None,
    sinks: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    dropout_p: float = 0.0,
    lengths: Any = None,
    position_ids: Any = None,
    document_ids: Any = None,
    tokens: Any = None,
) -> Report:
    """Says what is wrong with an attention call: the name of the fault, the cells, the fix.

    Any subset may be given; what could not be checked for lack of something is listed with the reason. ``query``,
    ``key`` and ``value`` are the right ones, after projection and rotation: the fault lies between them and the
    weights. With them the weights are recomputed, rightly and under each known fault; without, the weights are read by
    their structure.

    Args:
        weights: (batch, heads, q_len, k_len), or fewer leading axes; what the program computed. Tensors, NumPy arrays
            and nested lists are taken everywhere.
        query: (batch, heads, q_len, d_k), or fewer leading axes.
        key: (batch, kv_heads, k_len, d_k).
        value: (batch, kv_heads, k_len, d_v).
        output: (batch, heads, q_len, d_v), or heads merged, (batch, q_len, heads x d_v).
        allowed: bool, broadcastable to (batch, heads, q_len, k_len), True = may attend: the mask that was meant.
        raw_mask: the mask as it was handed to a library, in any convention; the convention is guessed and said.
        expect: the intent in words, where ``allowed`` is None: "causal", "causal+padding", "window=3", "prefix=3",
            "chunk=3", "packed", "cache", "bidirectional" and combinations, or a mapping such as {"window": 3}.
        bias: float, broadcastable likewise, added to the scaled scores.
        sinks: (heads,) float, one extra logit per head.
        scale: factor on the scores that is meant; None means 1 / sqrt(d_k).
        softcap: bound on the scaled scores.
        dropout_p: dropout that is meant to be on, in [0, 1).
        lengths: (batch,) valid keys per sample, or the attention mask (batch, k_len) of a tokenizer.
        position_ids: (batch, len) integers; where they restart, a packed document begins.
        document_ids: (batch, len) integers.
        tokens: labels per key, one list per sample, or {"query": ..., "key": ...}; trailing or leading "[PAD]" count
            as padding.

    Returns:
        Report.

    Raises:
        TypeError: if something is not an array of numbers, or of a dtype that it cannot have.
        ValueError: if shapes do not fit, a mask can be read two ways, or two statements of the intent disagree.
    """
    given = read_inputs(
        weights=weights, query=query, key=key, value=value, output=output, allowed=allowed, raw_mask=raw_mask,
        bias=bias, sinks=sinks, scale=scale, softcap=softcap, dropout_p=dropout_p, lengths=lengths,
        position_ids=position_ids, document_ids=document_ids, tokens=tokens,
    )  # fmt: skip
    with torch.no_grad():
        return _examine(given, expect)


def _examine(given: Given, expect: Any) -> Report:
    found, checks, readable = check_layout(given)
    if not readable:
        return _of_another_shape(given, expect, found, checks)
    intent, reading = _intent_and_reading(given, expect)
    found += _about_intent(given, intent, checks)
    if reading is not None:
        found += _about_mask(given, intent, reading, checks)
    else:
        checks.append(Check("mask as handed over", "not possible", "no raw_mask was given"))
    observed = None if given.weights is None else given.weights.double()
    verdict = _hypotheses(given, intent, checks)
    explained_by: tuple[str, ...] = ()
    estimates: dict[str, float] = {}
    if verdict is not None:
        explained_by = verdict.explained_by
        found += _about_verdict(given, intent, verdict)
    if observed is not None and not given.averaged:
        structural = _about_weights(given, intent, observed, verdict, checks)
        if verdict is None:
            explained_by = candidates(given, intent, observed, structural)
            if explained_by:
                found.append(explained(explained_by, {}, "warning" if not intent.stated else "error", "pattern"))
        found += structural
    if verdict is not None and observed is not None and not given.averaged:
        more, estimates = numbers_read_back(given, intent, observed, verdict)
        found = [_with_fill(f, estimates) for f in found] + more
    if given.query is not None:
        found += overflow(given, observed)
    found += output_findings(given, intent, None if verdict is None else verdict.right.output)
    return Report(
        sorted_findings(found), explained_by, tuple(checks), intent.words, intent.source == "inferred", estimates
    )


def _with_fill(found: Finding, estimates: dict[str, float]) -> Finding:
    """Equal weights of masked keys, with the logit that they show where Q and K tell it."""
    if found.code != "equal-masked-weights" or "implied_fill" not in estimates:
        return found
    evidence = {**found.evidence, "note": f" = exp({number(estimates['implied_fill'])})/Z"}
    return finding(found.code, found.severity, evidence, found.where)


def _of_another_shape(given: Given, expect: Any, found: list[Finding], checks: list[Check]) -> Report:
    """Weights that do not have the shape of this attention: only the faults that change it can be tried."""
    checks = [*checks, Check("weights", "not possible", "they do not have the shape of this attention")]
    if given.query is None:
        return Report(sorted_findings(found), (), tuple(checks))
    intent = find_intent(given, expect)
    verdict = _hypotheses(given, intent, checks)
    if verdict is not None and verdict.explained_by:
        found = found + _about_verdict(given, intent, verdict)
    ids = () if verdict is None else verdict.explained_by
    return Report(sorted_findings(found), ids, tuple(checks), intent.words, intent.source == "inferred")


def _intent_and_reading(given: Given, expect: Any) -> tuple[Intent, Reading | None]:
    """The intent; where nobody stated one, the mask that was handed over says what was meant."""
    intent = find_intent(given, expect)
    if given.raw_mask is None:
        return intent, None
    told = intent.allowed if intent.stated and not intent.by_tokens else None
    fitting = None if given.weights is None or tuple(given.weights.shape) != given.shape else given.weights
    reading = read_raw_mask(given.raw_mask, given.shape, intended=told, weights=fitting)
    if told is None and not intent.by_tokens and reading.convention != "additive bias, no mask":
        intent = find_intent(replace(given, allowed=reading.meant), None)
    return intent, reading


def _about_intent(given: Given, intent: Intent, checks: list[Check]) -> list[Finding]:
    found: list[Finding] = []
    if intent.source == "inferred":
        found.append(finding("inferred", "info", {"intent": intent.words}))
    if intent.allowed is None:
        checks.append(Check("intent", "not possible", "nothing was stated and the support fits no known mask"))
        if given.weights is not None:
            found.append(finding("no-intent", "info", {}))
    else:
        checks.append(Check("intent", "passed", f"{intent.words} ({intent.source})"))
    if intent.padded_queries is not None and bool(intent.padded_queries.any()):
        rows = rows_of(intent.padded_queries)
        where = [(b, None, q, None) for b, q in intent.padded_queries.nonzero().tolist()]
        found.append(finding("padding-queries", "info", {"rows": rows}, where))
    if given.weights is None and intent.allowed is not None:
        empty = ~intent.allowed.any(-1)
        padded = (
            torch.zeros_like(empty)
            if intent.padded_queries is None
            else intent.padded_queries[:, None, :].expand(empty.shape)
        )
        if (empty & ~padded).any():
            evidence = {"rows": rows_of(empty & ~padded), "count": int((empty & ~padded).sum())}
            found.append(finding("empty-rows", "warning", evidence))
        if (empty & padded).any():
            found.append(finding("empty-padding-rows", "info", {"rows": rows_of(empty & padded)}))
    return found


def _about_mask(given: Given, intent: Intent, reading: Reading, checks: list[Check]) -> list[Finding]:
    assert given.raw_mask is not None
    evidence = {"convention": reading.convention, "why": reading.why}
    found = [finding("mask-reading", "info", evidence), *reading.findings]
    if intent.allowed is not None and intent.stated:
        found += against_intent(reading, given.raw_mask, intent.allowed, intent.words, intent.padded_queries)
    if given.weights is not None and tuple(given.weights.shape) == given.shape:
        found += against_weights(reading, given.raw_mask, given.weights.double())
    wrong = any(f.severity != "info" for f in found)
    checks.append(Check("mask as handed over", "failed" if wrong else "passed", reading.convention))
    return found


def _hypotheses(given: Given, intent: Intent, checks: list[Check]) -> Verdict | None:
    """The verdict of recomputing, or None with the reason among the checks."""
    reason = ""
    if given.query is None:
        reason = f"cannot tell without Q and K: {', '.join(UNSEEN)}"
    elif given.weights is None and (given.output is None or given.value is None):
        reason = "needs weights, or value and output"
    elif intent.allowed is None:
        reason = "needs the intended mask"
    if reason:
        checks.append(Check("recomputation", "not possible", reason))
        return None
    verdict = judge(given, intent)
    said = f"largest difference {verdict.difference:.1e} in the {verdict.what}"
    checks.append(Check("recomputation", "passed" if verdict.reproduced else "failed", said))
    return verdict


def _about_verdict(given: Given, intent: Intent, verdict: Verdict) -> list[Finding]:
    if verdict.reproduced:
        return []
    if verdict.explained_by:
        notes = {name: outcome.note for name, outcome in verdict.outcomes.items()}
        return [explained(verdict.explained_by, notes, severity_of(given, intent, verdict), verdict.what)]
    evidence = {"what": verdict.what, "largest": verdict.difference}
    severity = "warning" if intent.source == "inferred" else "error"
    return [finding("output-differs" if verdict.what == "output" else "unexplained", severity, evidence)]


def _about_weights(
    given: Given, intent: Intent, observed: Tensor, verdict: Verdict | None, checks: list[Check]
) -> list[Finding]:
    """Rows, cells and structure; what the right computation does by itself is no finding."""
    right = verdict is not None and verdict.weights_right
    expected = None if verdict is None or verdict.right.weights is None else verdict.right.weights
    if expected is not None and expected.shape != observed.shape:
        expected = None
    found, done = check_rows(given, intent, observed)
    checks += done
    cells, done = check_cells(given, intent, observed, expected)
    checks += done
    found += cells + unread_keys(given, intent, torch.nan_to_num(observed))
    structural, done = check_structure(given, intent, observed)
    if right:
        harmless = {"empty-rows", "empty-padding-rows", "nan-weights", "uniform-empty-rows"}
        found = [f for f in found if f.code in harmless or f.severity == "info"]
        structural = []
    checks += done
    return found + structural
