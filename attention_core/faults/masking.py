"""Faults in how the mask is applied: lost, inverted, at the wrong stage, with the wrong number."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.faults.plain import (
    EMPTY_ROWS,
    EmptyRows,
    attend,
    capped_scores,
    finish,
    given,
    hide,
    need,
    open_logits,
    part_of,
    soft_targets,
    softmax,
    split_mask,
    wide,
)
from attention_core.faults.sequence import window_reach
from attention_core.faults.situation import CannotCommit, Fault, Outcome, Situation

FILLS: tuple[float, ...] = (-1e-9, -1.0, -3.0, -10.0)  # fills that are too weak, as people write them


def mask_inverted(situation: Situation, *, part: str = "all", empty: EmptyRows = "zero") -> Outcome:
    """not A, or one part of A turned round."""
    if part == "all":
        return attend(situation.with_mask(~situation.allowed), {"part": part}, empty=empty)
    return attend(situation.with_part(part, ~part_of(situation, part)), {"part": part}, empty=empty)


def _ways_of_inversion(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"part": part, "empty": empty} for part in soft_targets(situation) for empty in EMPTY_ROWS)


def causal_mask_missing(situation: Situation, *, part: str = "causal") -> Outcome:
    """The causal part lost; of a prefix mask, all of it; of a cache or a causal window, what holds back the future."""
    old = part_of(situation, part)
    if part == "cache":
        need(old.shape[-2] > 1, "the slots in use do not depend on the query")
        return attend(situation.with_part("cache", old.any(dim=-2, keepdim=True)), {"part": part})
    if part == "window":
        left, right = window_reach(situation)
        need(right == 0, "the window looks ahead already")
        _, _, q_len, k_len = situation.sizes
        behind = masks.sliding_window(q_len, k_len, left=left)
        return attend(situation.with_part("causal", None).with_part("window", behind), {"part": part})
    return attend(situation.with_part(part, None), {"part": part})


def _ways_of_causal(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"part": part} for part in ("causal", "prefix", "cache", "window"))


def padding_mask_missing(situation: Situation) -> Outcome:
    """The padding part lost."""
    part_of(situation, "padding")
    return attend(situation.with_part("padding", None), {})


def mask_ignored(situation: Situation) -> Outcome:
    """Every part lost."""
    need(not situation.allowed.all(), "there is no mask to ignore: every key is allowed")
    return attend(situation.with_mask(torch.ones_like(situation.allowed)), {})


def mask_after_softmax(situation: Situation, *, part: str = "all") -> Outcome:
    """softmax, then weights x A, not renormalised."""
    hard, soft = split_mask(situation, part)
    weights = softmax(hide(open_logits(situation), hard), situation.sinks)
    return finish(situation, weights * soft, {"part": part})


def _ways_of_parts(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"part": part} for part in soft_targets(situation))


def mask_added_as_zero_one(situation: Situation, *, part: str = "all", ones: str = "allowed") -> Outcome:
    """A as a number, added to the logits; ``ones`` says whether 1 stands for allowed or for blocked."""
    hard, soft = split_mask(situation, part)
    logits = open_logits(situation)
    number = (soft if ones == "allowed" else ~soft).to(logits.dtype)
    weights = softmax(hide(logits + number, hard), situation.sinks)
    return finish(situation, weights, {"part": part, "ones": ones})


def _ways_of_numbers(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"part": part, "ones": ones} for part in soft_targets(situation) for ones in ("allowed", "blocked"))


def scores_multiplied_by_mask(situation: Situation, *, part: str = "all", stage: str = "scores") -> Outcome:
    """scaled x A: blocked scores become 0; ``stage`` "logits": the bias is multiplied too."""
    hard, soft = split_mask(situation, part)
    capped = capped_scores(situation)
    if situation.bias is None:
        need(stage == "scores", "without a bias both stages are the same")
        logits = capped * soft
    elif stage == "scores":
        logits = capped * soft + situation.bias.to(capped.dtype)
    else:
        logits = (capped + situation.bias.to(capped.dtype)) * soft
    return finish(situation, softmax(hide(logits, hard), situation.sinks), {"part": part, "stage": stage})


def _ways_of_products(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"part": part, "stage": stage} for part in soft_targets(situation) for stage in ("scores", "logits"))


def fill_too_weak(situation: Situation, *, c: float = -1e-9, part: str = "all", how: str = "replaced") -> Outcome:
    """Blocked logits replaced by a finite c, or c added to them (``how`` "added")."""
    hard, soft = split_mask(situation, part)
    need(not soft.all(), "nothing is blocked, so nothing is filled")
    logits = open_logits(situation)
    filled = hide(logits, soft, c) if how == "replaced" else torch.where(soft, logits, logits + c)
    weights = softmax(hide(filled, hard), situation.sinks)
    return finish(situation, weights, {"c": c, "part": part, "how": how})


def _ways_of_fills(situation: Situation) -> Iterable[dict[str, Any]]:
    return (
        {"c": c, "part": part, "how": how}
        for part in soft_targets(situation)
        for how in ("replaced", "added")
        for c in FILLS
    )


NOTHING_ADDED = 0.05  # logits; bfloat16 weights give c to about 0.02


def estimate_fill(situation: Situation, observed: Tensor) -> Outcome | None:
    """c from the weights of blocked cells against those of the allowed cells of their row; the best of all ways."""
    if observed.shape != torch.Size(situation.sizes):
        return None
    seen = wide(observed)
    logits = open_logits(situation).to(seen.dtype)
    best, least = None, math.inf
    for part in soft_targets(situation):
        hard, soft = split_mask(situation, part)
        hidden = (hard & ~soft).expand(seen.shape) & (seen > 0)
        shown = (hard & soft).expand(seen.shape) & (seen > 0)
        # log of the row's denominator, from the cells that may be read
        total = hide(logits, shown).logsumexp(-1, keepdim=True) - hide(seen.log(), shown).logsumexp(-1, keepdim=True)
        implied = seen.log() + total  # the logit that each cell must have had
        usable = hidden & torch.isfinite(implied)
        if not usable.any():
            continue
        usable = usable & (seen >= seen[usable].median())
        for how in ("replaced", "added"):
            c = float((implied if how == "replaced" else implied - logits)[usable].median())
            if how == "added" and abs(c) < NOTHING_ADDED:
                continue  # that is a mask missing, a fault of its own
            try:
                outcome = fill_too_weak(situation, c=c, part=part, how=how)
            except CannotCommit:
                continue
            error = float((wide(given(outcome.weights, "a fill leaves weights")) - seen).abs().max())
            if error < least:
                best, least = outcome, error
    return best


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="mask-inverted",
        title="The mask means the opposite",
        explanation=(
            "A boolean mask in which True means blocked, as nn.MultiheadAttention reads it, goes to a function that "
            "reads True as may attend, as scaled_dot_product_attention does, or the other way round; or an additive "
            "mask is cast to bool, which turns 0 into False. Nothing fails, and every token reads exactly what it "
            "should not. Name the convention where the mask is made and invert once, at the door."
        ),
        fix="mask = ~mask, or mask == 0 for an additive one",
        symptom="All weight lies on blocked keys; rows that may see everything are empty.",
        sources=("rasbt/LLMs-from-scratch#1061", "pytorch/pytorch#170415", "nishide-dev/unturtle#56"),
        act=mask_inverted,
        ways=_ways_of_inversion,
    ),
    Fault(
        id="causal-mask-missing",
        title="The causal mask is missing",
        explanation=(
            "The flag that makes attention causal is lost on one of two paths: when the weights are asked for, when "
            "dropout is on, or when another mask is passed as well. Each token then reads its own future; the loss "
            "looks wonderful and the model cannot generate. Let one place build the mask, and pass it explicitly on "
            "every path."
        ),
        fix="allowed = allowed & torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
        symptom="Weight above the diagonal in every row but the last.",
        sources=(
            "huggingface/transformers#30652",
            "keras-team/keras#23038",
            "pytorch/pytorch#99282",
            "facebookresearch/xformers#103",
        ),
        act=causal_mask_missing,
        ways=_ways_of_causal,
    ),
    Fault(
        id="padding-mask-missing",
        title="Padding is not masked",
        explanation=(
            "A padded batch is run without its attention mask, or with one made for another pad id, or made and never "
            "passed on. Padding tokens are ordinary keys then, and a sample's result changes with the length of its "
            "neighbours. Take the mask from the tokenizer and pass it to every call."
        ),
        fix="model(input_ids, attention_mask=batch['attention_mask'])",
        symptom="Weight on the filler keys of short samples; full-length samples are right.",
        sources=("huggingface/transformers#2860", "CarryCKW/AES-NPCR#7", "NVIDIA-NeMo/Automodel#3704"),
        act=padding_mask_missing,
    ),
    Fault(
        id="mask-ignored",
        title="The whole mask is ignored",
        explanation=(
            "The mask is computed and then not used: an argument with another name, a masked_fill whose result is "
            "dropped, a branch that passes None. Every query reads every key. Use what masked_fill returns, and let a "
            "function refuse arguments that it does not know."
        ),
        fix="logits = logits.masked_fill(~allowed, float('-inf'))",
        symptom="No weight is 0; each row spreads over all keys.",
        sources=("QwenLM/Qwen#933", "CarryCKW/AES-NPCR#7", "facebookresearch/xformers#103"),
        act=mask_ignored,
    ),
    Fault(
        id="mask-after-softmax",
        title="Masked after softmax, not renormalised",
        explanation=(
            "The finished weights are multiplied by the mask. Blocked cells are 0, but the share that they had taken "
            "is lost, so masked rows sum to less than 1 and their outputs shrink. Mask the logits before softmax, or "
            "divide by what is left, which is the same unless it underflows."
        ),
        fix="torch.softmax(logits.masked_fill(~allowed, float('-inf')), dim=-1)",
        symptom="Row sums below 1 just where cells are blocked; dividing by the row sum repairs them.",
        sources=("huggingface/pytorch-image-models#2236",),
        act=mask_after_softmax,
        ways=_ways_of_parts,
    ),
    Fault(
        id="mask-added-as-zero-one",
        title="A mask of zeros and ones is added",
        explanation=(
            "A float mask is added to the logits, so 1 and 0 mean a small bonus and nothing; no key is hidden. It "
            "happens with torch.tril(torch.ones(...)), and with boolean 4-D masks on a path that adds what it gets. "
            "Pass a boolean mask, or an additive one with 0 for allowed and -inf for blocked."
        ),
        fix="mask = torch.ones(n, n, dtype=torch.bool).tril()",
        symptom="Blocked cells keep weight, smaller by the factor e than without a mask.",
        sources=("pytorch/pytorch#21518", "huggingface/transformers#32195"),
        act=mask_added_as_zero_one,
        ways=_ways_of_numbers,
    ),
    Fault(
        id="scores-multiplied-by-mask",
        title="Scores multiplied by the mask",
        explanation=(
            "scores * mask sets blocked scores to 0 before softmax. 0 is an ordinary score: exp(0) is 1, and a "
            "blocked key can get more weight than an allowed one with a negative score. Put -inf where the mask "
            "blocks."
        ),
        fix="logits.masked_fill(~allowed, float('-inf'))",
        symptom="All blocked cells of a row have the same weight, that of a score of 0.",
        sources=(
            "georg-wolflein/good-features#1",
            "huggingface/transformers#542",
            "huggingface/transformers#32598",
        ),
        act=scores_multiplied_by_mask,
        ways=_ways_of_products,
    ),
    Fault(
        id="fill-too-weak",
        title="The fill is not negative enough",
        explanation=(
            "Blocked scores are filled with a finite number that is too close to the real ones: -1e-12 for -1e12, or "
            "-10 with scores of that size. The blocked keys keep a share of exp(c) each. Fill with -inf, and deal "
            "with empty rows by themselves."
        ),
        fix="logits.masked_fill(~allowed, float('-inf'))",
        symptom="Blocked cells keep weight; all of them point to the same logit c.",
        sources=("hyunwoongko/transformer#10",),
        act=fill_too_weak,
        ways=_ways_of_fills,
        estimate=estimate_fill,
    ),
)
