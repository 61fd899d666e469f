"""Which cells carry weight and must not, or carry none and should: by kind, with rows, keys and mass."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.doctor.inputs import Given
from attention_core.doctor.intent import Intent
from attention_core.doctor.messages import spans
from attention_core.doctor.places import cell_list, keys_of, row_list, rows_of
from attention_core.doctor.report import Check, Finding, Severity, finding
from attention_core.doctor.rows import padded_rows, uneven_empty_rows

_CODES = {
    "causal": "future-visible",
    "prefix": "future-visible",
    "padding": "padding-visible",
    "cache": "cache-slots-visible",
    "documents": "document-visible",
    "window": "outside-window-visible",
    "chunk": "outside-chunk-visible",
}


def check_cells(
    given: Given, intent: Intent, weights: Tensor, expected: Tensor | None
) -> tuple[list[Finding], list[Check]]:
    """Forbidden cells with weight, allowed cells without, rows that lost everything.

    Args:
        given: the arguments.
        intent: what was meant.
        weights: (batch, heads, q_len, k_len) float64.
        expected: the weights of the right computation, where query and key are known.
    """
    if intent.allowed is None:
        why = "no intent was stated and none could be inferred"
        return [], [Check("forbidden cells", "not possible", why), Check("blocked cells", "not possible", why)]
    allowed, padded = intent.allowed, padded_rows(intent, weights)
    values = torch.nan_to_num(weights, nan=0.0)
    empty = ~allowed.any(-1)
    leak = (values > 0) & ~allowed & (~empty | uneven_empty_rows(weights, empty))[..., None]
    found = _leaks(given, intent, values, leak & ~padded[..., None])
    if not found and bool((leak & padded[..., None]).any()):
        found = [_softened(f) for f in _leaks(given, intent, values, leak)]
    lost = [] if given.dropout_p > 0 else _lost_rows(values, allowed, empty | weights.isnan().any(-1), padded)
    blocked = _blocked(given, intent, values, expected, padded, weights.isnan().any(-1))
    checks = [
        Check("forbidden cells", "failed" if leak.any() else "passed", f"{int((~allowed).sum())} cells"),
        Check("blocked cells", "failed" if blocked or lost else "passed"),
    ]
    return found + lost + blocked + _alignment(given, intent, values), checks


def _leaks(given: Given, intent: Intent, values: Tensor, leak: Tensor) -> list[Finding]:
    if not leak.any():
        return []
    found, named = [], torch.zeros((), dtype=torch.bool).expand(leak.shape)
    for name, code, cells in _by_kind(intent, leak):
        named = named | cells
        evidence = _measured(values, cells) | _details(name, given, intent, values, cells)
        found.append(finding(code, _severity(intent, evidence), evidence, cell_list(cells)))
    rest = leak & ~named
    if rest.any():
        evidence = _measured(values, rest)
        found.append(finding("forbidden-visible", _severity(intent, evidence), evidence, cell_list(rest)))
    return found


def _by_kind(intent: Intent, leak: Tensor) -> Iterator[tuple[str, str, Tensor]]:
    """(part, code, cells) of the leak that each part of the mask forbids; a cell may be forbidden by several."""
    for name, part in intent.parts.items():
        cells = leak & ~part
        if name == "window" and "causal" in intent.parts:
            cells = cells & intent.parts["causal"]
        if name == "cache":  # it hides the future of each sample as well as the slots beyond
            beyond = ~masks.padding(_lengths(intent), leak.shape[-1])
            if (cells & ~beyond).any():
                yield "causal", "future-visible", cells & ~beyond
            cells = cells & beyond
        if cells.any():
            yield name, _CODES[name], cells


def _lengths(intent: Intent) -> Tensor:
    return torch.zeros(1, dtype=torch.long) if intent.lengths is None else intent.lengths


def _severity(intent: Intent, evidence: dict[str, Any]) -> Severity:
    if intent.source == "inferred" or intent.by_tokens or evidence["largest"] < 1e-12:
        return "warning"
    return "error"


def _softened(found: Finding) -> Finding:
    return finding(found.code, "info", {**found.evidence, "padded": True}, found.where)


def _measured(values: Tensor, cells: Tensor) -> dict[str, Any]:
    mass = values.masked_fill(~cells, 0.0).sum(-1).flatten(0, 1).max(0).values  # (q_len,) the worst map
    rows = rows_of(cells.any(-1))
    return {
        "rows": rows,
        "keys": keys_of(cells),
        "cells": int(cells.flatten(0, 1).any(0).sum()),
        "maps": int(cells.flatten(2).any(-1).sum()),
        "all_maps": cells.shape[0] * cells.shape[1],
        "largest": float(mass.max()),
        "largest_cell": float(values[cells].max()),
        "mass": [round(float(mass[row]), 6) for row in rows],
    }


def _details(name: str, given: Given, intent: Intent, values: Tensor, cells: Tensor) -> dict[str, Any]:
    """What only this kind of cell has to say."""
    if name in ("padding", "cache"):
        return {"note": _padding_note(given, intent, values, cells), "lengths": _lengths(intent).tolist()}
    if name == "documents":
        return {"documents": _documents(intent, cells)}
    if name == "window":
        read = int((values > 0).sum(-1)[cells.any(-1)].max())
        return {"window": intent.read.window or 0, "read": read}
    if name == "chunk":
        size = intent.read.chunk or 1
        return {"borders": sorted({q // size * size for _, _, q, _ in cells.nonzero().tolist() if q >= size})}
    return {}


def _padding_note(given: Given, intent: Intent, values: Tensor, cells: Tensor) -> str:
    keys = keys_of(cells)
    notes = []
    if given.key is not None and bool((given.key[:, :, keys] == 0).all()):
        notes.append("their key vectors are all zero")
    if intent.padded_keys is not None:
        others = sorted(set(intent.padded_keys.any(0).nonzero().flatten().tolist()) - set(keys))
        at_border = (intent.padded_keys & _beside_real(intent.padded_keys)).any(0).nonzero().flatten().tolist()
        if others and set(keys) <= set(at_border):
            notes.append(f"padding keys {spans(others)} have weight 0: off by one at the padding border")
    if intent.by_tokens:
        notes.append("told by the tokens; no mask or lengths were given")
    return "".join(f"; {note}" for note in notes)


def _beside_real(padded: Tensor) -> Tensor:
    """Padding keys that stand next to a real one: (batch, k_len) bool."""
    real = torch.nn.functional.pad(~padded, (1, 1))
    return real[:, :-2] | real[:, 2:]


def _documents(intent: Intent, cells: Tensor) -> str:
    ids = intent.document_ids
    if ids is None:
        return "see the intended mask"
    ids = ids.expand(cells.shape[0], -1)
    said: dict[str, set[int]] = {}
    for b, q, k in cells.any(1).nonzero().tolist():
        said.setdefault(f"document {int(ids[b, k])}", set()).add(q)
        if len(said) > 8:
            break
    readers = "; ".join(f"rows {spans(sorted(rows))} read {name}" for name, rows in said.items())
    first = ids[0].tolist()
    starts = [i for i in range(len(first)) if i == 0 or first[i] != first[i - 1]]
    spans_of = [f"[{a}-{b - 1}]" for a, b in zip(starts, [*starts[1:], len(first)], strict=True)]
    return f"documents {','.join(spans_of[:8])}; {readers}"


def _lost_rows(values: Tensor, allowed: Tensor, skipped: Tensor, padded: Tensor) -> list[Finding]:
    lost = (values.sum(-1) == 0) & ~skipped
    found = []
    cases: tuple[tuple[Tensor, Severity], ...] = ((lost & ~padded, "error"), (lost & padded, "info"))
    for rows, severity in cases:
        if rows.any():
            evidence = {"rows": rows_of(rows), "count": int(rows.sum())}
            found.append(finding("rows-lost", severity, evidence, row_list(rows)))
    return found


def suspicious_zeros(values: Tensor, allowed: Tensor) -> Tensor:
    """Allowed cells of exactly 0 in rows whose other weights, two at least, are far from underflow: bool, all axes."""
    zero = allowed & (values == 0)
    positive = values.masked_fill(values <= 0, 2.0).min(-1).values
    several = (values > 0).sum(-1) > 1  # a single weight of 1 is a saturated row
    return zero & ((positive > 1e-3) & several)[..., None]


def _blocked(
    given: Given, intent: Intent, values: Tensor, expected: Tensor | None, padded: Tensor, skipped: Tensor
) -> list[Finding]:
    assert intent.allowed is not None
    lively = values.sum(-1) > 0
    if expected is not None:
        blocked = intent.allowed & (values == 0) & (expected.double() > 1e-4)
    else:
        blocked = suspicious_zeros(values, intent.allowed)
    blocked = (blocked & lively[..., None]) | (intent.allowed & ~lively[..., None] & ~skipped[..., None])
    blocked = blocked & ~padded[..., None]
    if given.dropout_p > 0 or not blocked.any():
        return []
    evidence = {
        "rows": rows_of(blocked.any(-1)), "keys": keys_of(blocked), "cells": int(blocked.flatten(0, 1).any(0).sum()),
    }  # fmt: skip
    severity = "error" if expected is not None and intent.stated else "warning"
    return [finding("wrongly-blocked", severity, evidence, cell_list(blocked))]


def _alignment(given: Given, intent: Intent, values: Tensor) -> list[Finding]:
    """Causal masks pinned to the wrong corner, and the exact complement of what was meant."""
    assert intent.allowed is not None
    _, _, q_len, k_len = values.shape
    found: list[Finding] = []
    seen = values > 0
    inverse = ~intent.allowed
    if inverse.any() and bool((seen == inverse).all()):
        found.append(finding("complement", "error", {"intent": intent.words or "given"}))
    if q_len < k_len and intent.read.causal and not intent.read.top_left and "cache" not in intent.parts:
        top_left = masks.causal(q_len, k_len, offset=0)
        if not (seen & ~top_left).any() and bool((intent.allowed & ~top_left).any()):
            unread = ~seen.flatten(0, 2).any(0)
            evidence = {
                "read": int(seen[:, :, -1].sum(-1).max()), "k_len": k_len, "keys": unread.nonzero().flatten().tolist(),
            }  # fmt: skip
            found.append(finding("top-left", "error", evidence))
    return found


def unread_keys(given: Given, intent: Intent, values: Tensor) -> list[Finding]:
    """Keys that no query reads where nobody stated an intent: often a causal mask in the wrong corner."""
    _, _, q_len, k_len = values.shape
    unread = ~(values > 0).flatten(0, 2).any(0)
    if q_len >= k_len or intent.stated or not unread.any() or not bool(unread[-1]):
        return []
    return [finding("unread-keys", "warning", {
        "keys": unread.nonzero().flatten().tolist(), "q_len": q_len, "k_len": k_len})]  # fmt: skip
