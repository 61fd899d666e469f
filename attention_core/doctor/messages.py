"""The doctor's sentences: one template per code, filled from the evidence of the finding.

The interface holds a translation for each code and fills it from the same evidence by ``fill``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """Title, sentence and remedy of one code; names in braces are keys of the evidence."""

    title: str
    text: str
    remedy: str = ""


_LEAK = "rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})"

MESSAGES: Mapping[str, Message] = {
    # forbidden cells that carry weight, by what they are
    "future-visible": Message(
        "Future keys visible", f"future keys {{keys}} visible: {_LEAK}", "apply the causal mask before softmax"
    ),
    "padding-visible": Message(
        "Padding visible",
        f"padding keys {{keys}} are attended: {_LEAK}{{note}}",
        "hide padding keys with a (batch, 1, 1, k_len) mask before softmax",
    ),
    "cache-slots-visible": Message(
        "Unused cache slots visible",
        f"keys {{keys}} are beyond the valid length {{lengths}} and carry weight: {_LEAK}{{note}}",
        "mask the slots that are not filled yet; a zero key has score 0, which is an ordinary score",
    ),
    "document-visible": Message(
        "Other documents visible",
        f"packed documents read each other ({{documents}}), keys {{keys}}: {_LEAK}",
        "add a block-diagonal mask over documents; restarting position ids does not isolate them",
    ),
    "outside-window-visible": Message(
        "Keys outside the window visible",
        f"rows {{rows}} read up to {{read}} keys, the window is {{window}}; keys {{keys}} lie outside: {_LEAK}",
        "a causal window of W keys, the query's own included, is 0 <= query - key < W",
    ),
    "outside-chunk-visible": Message(
        "Keys of another chunk visible",
        f"attention crosses the chunk border at {{borders}}, keys {{keys}}: {_LEAK}",
        "chunked attention: key j is visible to query i only where j // size == i // size",
    ),
    "forbidden-visible": Message(
        "Forbidden keys visible",
        f"forbidden keys {{keys}} are attended: {_LEAK}",
        "apply the intended mask before softmax",
    ),
    "wrongly-blocked": Message(
        "Allowed keys blocked",
        "keys that may be read have weight exactly 0: rows {rows}, keys {keys}, {cells} cells",
        "compare the mask that was applied with the one that was meant",
    ),
    "complement": Message(
        "Mask inverted",
        "the support of the weights is exactly the complement of the intended {intent} mask",
        "invert the mask: here True was read as the opposite of what was meant",
    ),
    "top-left": Message(
        "Causal mask top-left aligned",
        "last query reads {read} of {k_len} keys although it is the newest token: the causal mask is top-left aligned; "
        "keys {keys} are read by nobody",
        "with a cache or chunked prefill align to the bottom right: offset = k_len - q_len",
    ),
    "unread-keys": Message(
        "Keys that nobody reads",
        "keys {keys} are read by nobody; the map has {q_len} queries and {k_len} keys",
        "if this is decoding or chunked prefill, the causal mask should be bottom-right aligned",
    ),
    # rows
    "empty-rows": Message(
        "Rows without a key",
        "rows {rows} have no allowed key ({count} rows in all)",
        "weights and output of such a row must be 0; check whether the mask means it",
    ),
    "empty-padding-rows": Message(
        "Empty rows of padding queries", "rows {rows} have no allowed key; harmless, these queries are padding"
    ),
    "rows-lost": Message(
        "Rows that attend to nothing",
        "rows {rows} carry no weight although they have allowed keys ({count} rows)",
        "the mask that was applied hides every key of these rows; padding masks act on keys, not on queries",
    ),
    "uniform-empty-rows": Message(
        "Uniform rows from a finite mask value",
        "rows {rows} have no allowed key, but spread over all keys evenly ({largest} each): uniform row from a finite "
        "mask value, no real leak",
        "fill with -inf and set rows without a key to 0",
    ),
    "padding-queries": Message(
        "Rows of padding queries", "rows {rows} are padding queries; their weights are computed and never used"
    ),
    "row-sums": Message(
        "Rows do not sum to 1",
        "row sum {worst}, expected {expected}: rows {rows}, {count} rows (tolerance {tolerance})",
        "normalise over the keys, in float32 at least",
    ),
    "nan-weights": Message(
        "NaN or infinity in the weights",
        "weights are not finite in rows {rows}: {nan} NaN and {inf} infinite cells{note}",
        "look for rows whose every logit is -inf, for overflow before softmax and for NaN in the inputs",
    ),
    "negative-weights": Message(
        "Negative weights",
        "{count} weights are negative, down to {smallest}: this is not the output of a softmax",
        "pass weights, not scores",
    ),
    # what the structure says
    "columns-sum-to-one": Message(
        "Softmax over queries",
        "columns sum to 1, rows do not (row sums {smallest} to {largest}): softmax over queries, or the matrix is "
        "transposed",
        "take softmax over the last axis, the keys",
    ),
    "heads-sum-to-one": Message(
        "Softmax over heads",
        "each cell sums to 1 over the {count} {axis}, rows do not: softmax over the wrong axis",
        "take softmax over the last axis, the keys",
    ),
    "all-ones": Message(
        "Every weight is 1",
        "all weights equal 1; row sum = number of keys = {k_len}: softmax over a size-1 axis (batch or head)",
        "take softmax over the last axis, the keys",
    ),
    "double-softmax": Message(
        "Softmax applied twice",
        "max/min ratio inside each row <= e (largest {ratio}) and masked cells hold the row minimum > 0 (rows {rows}): "
        "looks like softmax applied twice",
        "drop the second softmax; it also brings masked keys back",
    ),
    "double-softmax-possible": Message(
        "Looks like a second softmax",
        "max/min ratio inside each row <= e (largest {ratio}), and undoing one softmax leaves weights that sum to 1 "
        "and are never negative: looks like softmax applied twice",
        "drop the second softmax",
    ),
    "mask-after-softmax": Message(
        "Mask applied after softmax",
        "row sums < 1 in rows {rows} ({sums}), zeros sit on the masked cells: mask applied after softmax; dividing by "
        "the row sum repairs it: {repaired}",
        "mask the scores before softmax, or divide each row by its sum afterwards",
    ),
    "equal-masked-weights": Message(
        "Masked keys share one weight",
        "masked keys {keys} have equal weight in each row (e.g. {example}{note} in row {row}): scores were "
        "replaced by a finite number or zeroed, not removed",
        "fill masked scores with -inf",
    ),
    "dropout-active": Message(
        "Dropout left on",
        "row sums differ from 1 ({smallest} to {largest}), but the entries that are not 0 are the softmax values times "
        "{factor}: dropout p={p} active",
        "switch to eval()",
    ),
    "dropout-possible": Message(
        "Looks like dropout",
        "row sums scatter around 1 ({smallest} to {largest}) and {share} of the allowed cells are exactly 0: looks "
        "like dropout",
        "switch to eval()",
    ),
    "dropout-declared": Message(
        "Dropout declared", "dropout p={p} is declared: row sums are not compared with 1, and weights are random"
    ),
    "mask-differs-between-heads": Message(
        "Heads of one sample use different masks",
        "mask differs between heads of the same sample: {heads_by_sample}",
        "masks folded into batch x heads need repeat_interleave, order b * heads + h",
    ),
    "heads-identical": Message(
        "Already averaged over heads",
        "{said}: already averaged over heads",
        "ask for per-head weights (average_attn_weights=False)",
    ),
    "axes-swapped": Message(
        "Axes look swapped",
        "axes look swapped: {maps} maps of {q_len}x{columns}, expected {samples} maps of {tokens}x{tokens}; was "
        "batch_first set?",
        "build the module with batch_first=True, or pass (len, batch, features)",
    ),
    "banded-layout": Message(
        "Banded layout",
        "weights are {q_len}x{columns} but there are {k_len} keys: banded layout?",
        "unroll with masks.square_from_banded before looking at single keys",
    ),
    "token-count": Message(
        "Token count differs",
        "weights have {columns} {axis} but there are {tokens} tokens{note}",
        "pass one token per query and key; crop block padding that carries no mass",
    ),
    "weights-shape": Message(
        "Weights of another shape",
        "weights are {columns}, expected {tokens}{note}",
        "pass the weights of this call, with axes (batch, heads, q_len, k_len)",
    ),
    "typed-special": Message(
        "Special token typed", "special-token string {label!r} typed in the text at index {index}"
    ),
    "rounded-numbers": Message(
        "Rounded numbers", "the weights look rounded to {decimals} decimals; tolerances are widened to match"
    ),
    # the mask as handed over
    "mask-reading": Message("How the mask was read", "mask read as {convention} ({why})"),
    "mask-integer": Message("Integer mask", "integer mask, values {values}, converted: 1 = may attend"),
    "mask-float-zero-one": Message(
        "Float mask of 0 and 1",
        "mask is float with only {{0, 1}} values and blocks nothing when it is added to the scores",
        "did you mean a boolean mask, or {{0, -inf}}?",
    ),
    "mask-bool-added": Message(
        "Boolean mask was added",
        "mask dtype bool was added as 0/1: every key that it forbids carries weight (at least {smallest})",
        "pass an additive mask (0 and -inf) where the code adds it",
    ),
    "mask-weak-fill": Message(
        "Fill too weak",
        "mask fills {count} cells with {fill}: too close to 0 to hide anything",
        "fill with -inf",
    ),
    "mask-nan": Message(
        "NaN in the mask",
        "NaN at visible positions {positions}: built by multiplying with infinity (0 * inf is NaN)",
        "build it with torch.where or masked_fill",
    ),
    "mask-mixed-fill": Message(
        "Two kinds of fill",
        "mask mixes -inf and finfo.min{note}: two finite masks were added, and -inf beats min",
        "combine boolean masks with & before converting",
    ),
    "mask-cast": Message(
        "Fill lost in a cast",
        "mask holds -inf after a cast to {dtype}; built from the float32 minimum? Rows {rows} are masked wholly",
        "take the fill from the dtype of the scores, or combine booleans and handle empty rows",
    ),
    "mask-followed-inverted": Message(
        "Mask read the wrong way round",
        "all attention mass is on keys whose mask value says hidden (keys {keys}){note}",
        "test the additive mask with value >= 0; a plain cast to bool turns it round",
    ),
    "mask-query-axis": Message(
        "Padding mask on the query axis",
        "mask is constant along keys; it hides rows {rows} and no key: looks like a padding mask on the wrong axis",
        "shape it [batch, 1, 1, k_len]",
    ),
    "mask-differs": Message(
        "Mask handed over is not the one meant",
        "the mask as read ({convention}) allows {extra} cells that are not meant and hides {missing} that are "
        "(rows {rows})",
        "compare both masks cell by cell",
    ),
    "mask-complement": Message(
        "Mask is the exact complement",
        "read as {convention}, the mask is exactly the complement of the intended {intent} mask",
        "invert it, or hand it to a library that reads True the other way round",
    ),
    # with Q and K
    "explained": Message("Explained", "{said}", "{remedy}"),
    "unexplained": Message(
        "Not explained",
        "neither the right computation nor a known fault reproduces the {what}: largest difference {largest}",
        "check that query and key are the ones after rotation and projection, and that scale, bias and mask are stated",
    ),
    "scale": Message(
        "Effective scale",
        "estimated scale {estimated}{estimated_as}, expected {expected}{expected_as}",
        "multiply the scores by {expected}",
    ),
    "bias-factor": Message(
        "Bias at the wrong strength",
        "bias is applied at {percent}% of its value{note}",
        "add the bias after scaling",
    ),
    "mask-offset": Message(
        "Implied fill",
        "masked key {key} has weight {weight} (row {row}); implied mask offset is about {offset}, not a large negative "
        "number",
        "fill with -inf",
    ),
    "score-overflow": Message(
        "Scores overflow half precision",
        "max |q.k| = {largest} exceeds {dtype} range {limit}; scaled value {scaled} {fits}",
        "scale q before the product, or accumulate in float32",
    ),
    # output
    "nan-from-masked-value": Message(
        "NaN from a value nobody may read",
        "V holds NaN or inf at keys {keys} (features {features}), which no query may read; output is NaN only through "
        "0*NaN",
        "zero masked V first",
    ),
    "nan-output": Message("NaN in the output", "output is not finite in rows {rows} ({cells} cells)", ""),
    "output-differs": Message(
        "Output differs",
        "weights x V is not the output that was given: largest difference {largest}",
        "check value, head merging and dropout",
    ),
    "inferred": Message("Intent inferred", "no intent was stated; the weights look {intent}: taken as meant"),
    "no-intent": Message(
        "No intent",
        "no intent was stated and the support of the weights fits no known mask",
        "state allowed=... or expect=...",
    ),
    "recording-empty": Message("Nothing recorded", "the recording holds no attention call"),
    "window-on-layers": Message(
        "Layers with different masks",
        "masks differ between layers: {said}",
        "check which layers should have a window",
    ),
}

CODES: tuple[str, ...] = tuple(MESSAGES)


def fill(template: str, evidence: Mapping[str, Any]) -> str:
    """A template with its evidence: lists of whole numbers become ranges, other numbers four significant digits."""
    return template.format_map({name: said(value) for name, value in evidence.items()})


def sentence_of(code: str, evidence: Mapping[str, Any]) -> str:
    """The English sentence of a code with the numbers of its evidence."""
    return fill(MESSAGES[code].text, evidence)


def remedy_of(code: str, evidence: Mapping[str, Any]) -> str:
    """What to do about it, filled likewise; empty where nothing is to be done."""
    return fill(MESSAGES[code].remedy, evidence)


def said(value: Any) -> Any:
    """One value of the evidence as words."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            return spans(value)
        return ", ".join(str(said(v)) for v in value) if len(value) <= 12 else f"{len(value)} values"
    return str(value)


def number(value: float) -> str:
    """Four significant digits; a number that is not 0 never reads 0."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.4f}".rstrip("0").rstrip(".") if 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"


def spans(values: list[int] | tuple[int, ...]) -> str:
    """Whole numbers as ranges: [0, 1, 2, 5] -> "0-2, 5"."""
    ordered = sorted(set(values))
    runs: list[list[int]] = []
    for value in ordered:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    return ", ".join(words[:12]) + (f", ... ({len(ordered)} in all)" if len(words) > 12 else "")
