"""Faults in the axes: which head, which sample, which of query and key."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.plain import (
    attend,
    finish,
    for_each_query_head,
    given,
    masked_logits,
    need,
    part_of,
    softmax,
    weighted_sum,
)
from attention_core.faults.situation import Fault, Outcome, Situation


def query_key_swapped(situation: Situation) -> Outcome:
    """Row i holds the dot products of key i with every query; mask and softmax as they should be."""
    _, _, q_len, k_len = situation.sizes
    need(q_len == k_len, f"K Q^T fits the mask only where q_len equals k_len: got {q_len} and {k_len}")
    value = situation.value
    changed = replace(
        situation,
        query=for_each_query_head(situation, situation.key),
        key=situation.query,
        value=None if value is None else for_each_query_head(situation, value),
    )
    return attend(changed, {})


def repacked(tensor: Tensor) -> Tensor:
    """(batch, heads, len, d) as it comes out where (batch, len, heads x d) is viewed without a transpose."""
    batch, heads, length, width = tensor.shape
    return tensor.transpose(1, 2).reshape(batch, length, heads * width).reshape(batch, heads, length, width)


def heads_split_without_transpose(situation: Situation) -> Outcome:
    """Each head gets a piece of the sequence instead of a piece of the features."""
    need(situation.query.shape[1] > 1, "a single head needs no split")
    value = situation.value
    changed = replace(
        situation,
        query=repacked(situation.query),
        key=repacked(situation.key),
        value=None if value is None else repacked(value),
    )
    return attend(changed, {})


def kv_heads_tiled(situation: Situation) -> Outcome:
    """Key and value heads expanded as a, b, a, b."""
    heads, kv_heads = situation.query.shape[1], situation.key.shape[1]
    need(1 < kv_heads < heads, f"tiling differs only for 1 < kv_heads < heads: got {kv_heads} and {heads}")
    times = (1, heads // kv_heads, 1, 1)
    value = situation.value
    changed = replace(situation, key=situation.key.repeat(times), value=None if value is None else value.repeat(times))
    return attend(changed, {})


def head_masks_in_wrong_order(situation: Situation, *, how: str = "repeat") -> Outcome:
    """Masks folded into batch x heads in one order and read in the other.

    ``how`` "repeat": M0, M1, M0, M1 where sample by sample is expected; "repeat_interleave": M0, M0, M1, M1 where head
    by head is expected.
    """
    batch, heads, q_len, k_len = situation.sizes
    need(batch > 1 and heads > 1, f"the order matters only for several samples and heads: got {batch} and {heads}")
    full = situation.allowed.expand(batch, heads, q_len, k_len)
    if how == "repeat":
        wrong = full.transpose(0, 1).reshape(batch, heads, q_len, k_len)
    else:
        wrong = full.reshape(heads, batch, q_len, k_len).transpose(0, 1)
    return attend(situation.with_mask(wrong), {"how": how})


def _ways_of_order(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"how": "repeat"}, {"how": "repeat_interleave"})


def batch_axis_swapped(situation: Situation, *, what: str = "keys", shift: int = 1) -> Outcome:
    """Another sample's keys or mask.

    ``what`` "keys", "mask" or "both": taken from the sample ``shift`` places before; "first mask": the mask of
    sample 0 for all; "mask rows": padding (batch, k_len) read as (q_len, k_len); "attention over the batch": the batch
    axis read as the sequence, without a mask, which gives weights of shape (len, heads, batch, batch).
    """
    batch, heads, q_len, k_len = situation.sizes
    need(batch > 1, "there is no other sample: got batch 1")
    note = {"what": what}
    if what == "attention over the batch":
        return _over_the_batch(situation)
    if what == "mask rows":
        padding = part_of(situation, "padding")
        need(batch == q_len, f"(batch, k_len) passes for (q_len, k_len) only where they agree: got {batch} and {q_len}")
        return attend(situation.with_part("padding", padding.expand(batch, 1, 1, k_len)[:, 0, 0, :]), note)
    full = situation.allowed.expand(batch, heads, q_len, k_len)
    changed = situation
    if what != "keys":
        differ = situation.allowed.dim() == 4 and situation.allowed.shape[0] > 1
        need(differ, "all samples share one mask, so another sample's is the same")
    if what == "first mask":
        changed = changed.with_mask(full[:1].expand(batch, heads, q_len, k_len))
        return attend(changed, note)
    note = {**note, "shift": shift}
    if what in ("mask", "both"):
        changed = changed.with_mask(full.roll(shift, dims=0))
    if what in ("keys", "both"):
        value = situation.value
        changed = replace(
            changed,
            key=situation.key.roll(shift, dims=0),
            value=None if value is None else value.roll(shift, dims=0),
        )
    return attend(changed, note)


def _over_the_batch(situation: Situation) -> Outcome:
    batch, _, q_len, k_len = situation.sizes
    need(q_len == k_len, f"the axes swap only where q_len equals k_len: got {q_len} and {k_len}")
    need(bool(situation.allowed.all()), "a mask over the sequence does not fit attention over the batch")
    need(situation.bias is None, "a bias over the sequence does not fit attention over the batch")
    value = situation.value
    changed = Situation(
        query=situation.query.transpose(0, 2),
        key=situation.key.transpose(0, 2),
        value=None if value is None else value.transpose(0, 2),
        allowed=torch.ones(batch, batch, dtype=torch.bool),
        sinks=situation.sinks,
        scale=situation.scale,
        softcap=situation.softcap,
    )
    outcome = attend(changed, {"what": "attention over the batch"})
    output = outcome.output
    return replace(outcome, output=None if output is None else output.transpose(0, 2), changed=None)


def _ways_of_batch(situation: Situation) -> Iterable[dict[str, Any]]:
    batch = situation.query.shape[0]
    for what in ("keys", "mask", "both"):
        for shift in range(1, min(batch, 5)):
            yield {"what": what, "shift": shift}
    for what in ("first mask", "mask rows", "attention over the batch"):
        yield {"what": what}


def heads_averaged(situation: Situation, *, shape: str = "every head") -> Outcome:
    """The mean over heads, put in every head, or as one map without a head axis. The output is not touched."""
    heads = situation.query.shape[1]
    need(heads > 1, "the mean of a single head is that head")
    weights = softmax(masked_logits(situation), situation.sinks)
    mean = weights.mean(dim=1, keepdim=True)
    shown = mean.expand_as(weights) if shape == "every head" else mean.squeeze(1)
    note = {"shape": shape, "heads": float(heads)}
    return Outcome(shown.to(situation.query.dtype), weighted_sum(situation, weights), note)


def _ways_of_average(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"shape": "every head"}, {"shape": "one map"})


def heads_merged_without_transpose(situation: Situation, *, shape: str = "per head") -> Outcome:
    """(batch, heads, q_len, d_v) viewed as (batch, q_len, heads x d_v); ``shape`` says in which form it is shown."""
    _, heads, q_len, _ = situation.sizes
    need(heads > 1 and q_len > 1, f"the order matters only for several heads and queries: got {heads} and {q_len}")
    outcome = finish(situation, softmax(masked_logits(situation), situation.sinks), {"shape": shape})
    output = given(outcome.output, "it shows in the output only: got no value")
    batch, heads, q_len, width = output.shape
    merged = output.contiguous().view(batch, q_len, heads * width)
    if shape == "per head":
        merged = merged.view(batch, q_len, heads, width).transpose(1, 2)
    return replace(outcome, output=merged)


def _ways_of_merge(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"shape": "per head"}, {"shape": "merged"})


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="query-key-swapped",
        title="Query and key change places",
        explanation=(
            "The scores are computed as K Q^T, or the two projections are unpacked in the wrong order, while mask and "
            "softmax stay as they are. Row i then says how strongly key i would be sought by the others, not whom "
            "query i seeks. This is not the transposed map, since softmax still runs over the last axis. Write query "
            "@ key.transpose(-2, -1), rows queries, columns keys."
        ),
        fix="scores = query @ key.transpose(-2, -1)",
        symptom="Rows sum to 1 and the mask holds, but the logits are the transpose of what Q and K give.",
        sources=("karpathy/llm.c#531",),
        act=query_key_swapped,
    ),
    Fault(
        id="heads-split-without-transpose",
        title="Heads split by view alone",
        explanation=(
            "(batch, len, heads x d_k) is viewed as (batch, heads, len, d_k) in one step. Memory runs row by row, so "
            "the view cuts the sequence into pieces: head 0 holds whole tokens from the start of the text instead of "
            "the first features of every token. View as (batch, len, heads, d_k) first, then transpose the two middle "
            "axes."
        ),
        fix="x.view(batch, length, heads, d_k).transpose(1, 2)",
        symptom="Changing the last token changes rows of earlier ones in the same head; with one head nothing shows.",
        sources=(
            "reczoo/FuxiCTR#30",
            "649453932/Chinese-Text-Classification-Pytorch#10",
            "649453932/Chinese-Text-Classification-Pytorch#53",
        ),
        act=heads_split_without_transpose,
    ),
    Fault(
        id="kv-heads-tiled",
        title="Shared key heads handed out in turn",
        explanation=(
            "With grouped heads the program expands keys and values by repeat, which gives a, b, a, b. Query heads "
            "stand in groups, so the order must be a, a, b, b: query head h uses key head h // (heads / kv_heads). "
            "Expand with repeat_interleave, or let the attention function do it (enable_gqa=True)."
        ),
        fix="key.repeat_interleave(heads // kv_heads, dim=1)",
        symptom="Some heads are right (the first and the last), the others match another key head.",
        sources=("apple/axlearn#842", "onnx/onnx#7274", "ekzhang/jax-js#180"),
        act=kv_heads_tiled,
    ),
    Fault(
        id="head-masks-in-wrong-order",
        title="Masks of samples spread over heads in the wrong order",
        explanation=(
            "A mask per sample is stretched to (batch x heads, q_len, k_len) with repeat, which gives M0, M1, M0, M1, "
            "while the rows are read sample by sample: M0, M0, M1, M1. Some heads then use a neighbour's padding, and "
            "a sample's result depends on what it is batched with. Use repeat_interleave, or a mask with a head axis "
            "of 1 that broadcasts."
        ),
        fix="mask.repeat_interleave(heads, dim=0), or mask[:, None] that broadcasts over heads",
        symptom="The mask differs between heads of one sample; a batch of one looks fine.",
        sources=("ArrowLuo/CLIP4Clip#22", "line/lighthouse#77"),
        act=head_masks_in_wrong_order,
        ways=_ways_of_order,
    ),
    Fault(
        id="batch-axis-swapped",
        title="Another sample's keys or mask",
        explanation=(
            "The axis of samples is mixed up: keys or masks are out of step with the queries, a (batch, k_len) mask "
            "passes for (q_len, k_len) because the numbers agree, or batch-first data goes into a module that reads "
            "the first axis as the sequence. Each sample must meet only its own keys and its own mask. Say "
            "batch_first=True, and give masks all their axes."
        ),
        fix="nn.MultiheadAttention(..., batch_first=True); mask[:, None, None, :] for a mask per sample",
        symptom="A sample's weights change with its neighbours in the batch, or the map has the size of the batch.",
        sources=(
            "om-ai-lab/OmDet#19",
            "kyegomez/movie-gen#8",
            "pytorch/pytorch#122959",
            "idiap/fast-transformers#101",
        ),
        act=batch_axis_swapped,
        ways=_ways_of_batch,
    ),
    Fault(
        id="heads-averaged",
        title="One map where several heads are meant",
        explanation=(
            "nn.MultiheadAttention returns the mean over heads unless told otherwise. Heads with opposite patterns "
            "then look like one dull head, and whoever spreads that map over all heads shows something that no head "
            "computed. Ask for the single maps: average_attn_weights=False."
        ),
        fix="attention(query, key, value, need_weights=True, average_attn_weights=False)",
        symptom="All heads show the same map, or the head axis is gone.",
        sources=("pytorch/pytorch#34537", "pytorch/pytorch#47583"),
        act=heads_averaged,
        ways=_ways_of_average,
    ),
    Fault(
        id="heads-merged-without-transpose",
        title="Heads merged by view alone",
        explanation=(
            "After attention (batch, heads, q_len, d_v) is reshaped straight to (batch, q_len, heads x d_v). One "
            "output row then mixes features of several tokens of one head instead of one token of all heads. The "
            "weights are right, the output is not. Transpose the two middle axes first, then reshape."
        ),
        fix="output.transpose(1, 2).reshape(batch, q_len, heads * d_v)",
        symptom="The weights are right and the output is not: its rows are shuffled pieces of the right ones.",
        sources=("jsbaan/transformer-from-scratch#6",),
        act=heads_merged_without_transpose,
        ways=_ways_of_merge,
        judged_on="output",
    ),
)
