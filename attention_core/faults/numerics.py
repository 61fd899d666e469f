"""Faults of finite numbers: fills, sums of fills, the range of float16, and NaN that a weight of 0 does not stop."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.plain import (
    attend,
    cap,
    finish,
    for_each_query_head,
    given,
    hide,
    masked_logits,
    need,
    open_logits,
    raw_scores,
    softmax,
    wide,
)
from attention_core.faults.situation import Fault, Outcome, Situation

FILLS: tuple[str, ...] = ("min", "-1e9", "-1e4")


def _empty_rows(situation: Situation) -> Tensor:
    return ~situation.allowed.any(dim=-1, keepdim=True)


def finite_fill_on_empty_row(situation: Situation, *, fill: str = "min", how: str = "replaced") -> Outcome:
    """A row without any allowed key, filled with a finite number instead of -inf.

    ``how`` "replaced": all logits are the fill, so the row is uniform. "added": the fill is added in the input
    dtype; what its precision leaves of the differences decides.
    """
    need(bool(_empty_rows(situation).any()), "every query has an allowed key")
    dtype = situation.query.dtype
    number = torch.finfo(dtype).min if fill == "min" else float(fill)
    need(number >= torch.finfo(dtype).min, f"{dtype} cannot hold {fill}")
    logits = open_logits(situation)
    if how == "replaced":
        filled = torch.full_like(logits, number)
    else:
        filled = (logits.to(dtype) + number).to(logits.dtype)
    weights = softmax(torch.where(situation.allowed, logits, filled), situation.sinks)
    return finish(situation, weights, {"fill": fill, "how": how})


def _ways_of_fills(situation: Situation) -> Iterable[dict[str, str]]:
    yield {"fill": "min", "how": "replaced"}
    for fill in FILLS:
        yield {"fill": fill, "how": "added"}


def masks_summed_overflow(situation: Situation, *, part: str = "all") -> Outcome:
    """Additive masks made of the lowest number are summed: doubly blocked is -inf, singly blocked is finite.

    ``part`` "all": one additive mask per part; else that part against all the others together.
    """
    need(len(situation.parts) > 1, "it takes two masks to add")
    need(bool(_empty_rows(situation).any()), "every query has an allowed key, so finite fills vanish beside it")
    dtype = situation.query.dtype
    lowest = torch.tensor(torch.finfo(dtype).min, dtype=dtype)
    if part == "all":
        boolean = [*situation.parts.values(), situation.rest]
    else:
        need(part in situation.parts, f"there is no part {part}")
        boolean = [situation.parts[part], situation.with_part(part, None).allowed]
    additive = sum((torch.where(mask, torch.zeros_like(lowest), lowest) for mask in boolean), torch.zeros_like(lowest))
    logits = open_logits(situation)
    summed = torch.where(situation.allowed, logits, (logits.to(dtype) + additive).to(logits.dtype))
    return finish(situation, softmax(summed, situation.sinks, empty="nan"), {"part": part})


def _ways_of_sums(situation: Situation) -> Iterable[dict[str, str]]:
    yield {"part": "all"}
    if len(situation.parts) > 2:
        yield from ({"part": part} for part in situation.parts)


def half_precision_overflow(situation: Situation, *, what: str = "products") -> Outcome:
    """Beyond 65504 float16 holds inf.

    ``what`` "products": Q K^T is stored in float16 before it is scaled; "fill": the fill -1e9 is cast to float16,
    where it is -inf, so that an empty row is NaN.
    """
    dtype = situation.query.dtype
    if what == "fill":
        need(dtype == torch.float16, f"only float16 turns -1e9 into -inf: got {dtype}")
        return attend(situation, {"what": what}, empty="nan")
    need(dtype in (torch.float16, torch.float32), f"only float16, or float32 run in it, overflows: got {dtype}")
    stored = raw_scores(situation).to(torch.float16)
    need(bool((torch.isinf(stored) & situation.allowed).any()), "every product that may be read fits float16")
    capped = cap(stored * situation.right_scale, situation.softcap).float()
    logits = capped if situation.bias is None else capped + situation.bias.float()
    weights = softmax(hide(logits, situation.allowed), situation.sinks)
    return finish(situation, weights, {"what": what, "largest": float(raw_scores(situation).abs().max())})


def _ways_of_overflow(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"what": "products"}, {"what": "fill"})


def zero_times_nan(situation: Situation) -> Outcome:
    """The weights are right; a plain matrix product carries NaN from a blocked key into the output."""
    value = given(situation.value, "it shows in the output only: got no value")
    value = wide(for_each_query_head(situation, value))
    broken = ~torch.isfinite(value)
    need(bool(broken.any()), "V is finite everywhere")
    weights = softmax(masked_logits(situation), situation.sinks)
    dtype = situation.query.dtype
    keys = broken.any(dim=-1).any(dim=1).any(dim=0).nonzero().flatten()
    note = {"key": float(keys[0]), "keys": float(keys.numel())}
    return Outcome(weights.to(dtype), (weights @ value).to(dtype), note)


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="finite-fill-on-empty-row",
        title="A row without keys becomes uniform",
        explanation=(
            "Blocked logits are filled with -1e9 or the lowest number of the dtype instead of -inf. In a row where "
            "every key is blocked, all logits are then equal and softmax spreads 1/k_len over keys that nobody may "
            "read; the output is the mean of V, which looks plausible. Fill with -inf and set rows without keys to 0."
        ),
        fix="weights.masked_fill(~allowed.any(-1, keepdim=True), 0.0)",
        symptom="Rows that may read nothing are uniform instead of 0.",
        sources=("microsoft/onnxruntime#28904", "huggingface/transformers#26572"),
        act=finite_fill_on_empty_row,
        ways=_ways_of_fills,
    ),
    Fault(
        id="masks-summed-overflow",
        title="Two additive masks are summed",
        explanation=(
            "A causal and a padding mask, each made of the lowest number of the dtype, are added. Where both block, "
            "the sum overflows to -inf; where one blocks, it stays finite, and in a row without any allowed key the "
            "finite cells win: padding rows read the future. Join the masks as booleans, then convert once."
        ),
        fix="allowed = causal & padding, converted to an additive mask at the end",
        symptom="Empty rows put their weight on cells that only one of the masks blocks.",
        sources=("huggingface/transformers#27114", "huggingface/transformers#27050"),
        act=masks_summed_overflow,
        ways=_ways_of_sums,
    ),
    Fault(
        id="half-precision-overflow",
        title="Beyond the range of float16",
        explanation=(
            "float16 ends at 65504. Q K^T exceeds it before the scale can bring it down, and softmax over inf is NaN; "
            "or a fill of -1e9, or float32's lowest number, is cast to float16 and becomes -inf, which makes empty "
            "rows NaN. Scale the query first or accumulate in float32, and take fills from the dtype that is used."
        ),
        fix="scores = (query * scale) @ key.transpose(-2, -1); torch.finfo(scores.dtype).min",
        symptom="NaN in rows with large products, or in rows without keys, in float16 only.",
        sources=(
            "ultralytics/ultralytics#24990",
            "pytorch/pytorch#60939",
            "facebookresearch/fairseq#3575",
            "microsoft/onnxscript#2992",
        ),
        act=half_precision_overflow,
        ways=_ways_of_overflow,
    ),
    Fault(
        id="zero-times-nan",
        title="NaN at a masked key reaches the output",
        explanation=(
            "V holds NaN or inf at a key that no query may read, from an uninitialised cache slot or a padded row. "
            "Its weight is 0, but 0 times NaN is NaN, so the matrix product carries it into every output. Masking the "
            "weights is not enough: blank V where nobody may read."
        ),
        fix="value = value.masked_fill(~readable[..., None], 0.0)",
        symptom="The weights are right; the output is NaN in the features where V is.",
        sources=("pytorch/pytorch#101967",),
        act=zero_times_nan,
        judged_on="output",
    ),
)
