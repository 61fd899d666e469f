"""Faults in the padding mask: which axis, which side, which border, joined how."""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from attention_core import masks
from attention_core.faults.plain import EMPTY_ROWS, EmptyRows, attend, need, part_of
from attention_core.faults.situation import Fault, Outcome, Situation


def padding_on_query_axis(situation: Situation, *, empty: EmptyRows = "zero") -> Outcome:
    """(batch, 1, k_len, 1) where (batch, 1, 1, k_len) is meant."""
    padding = part_of(situation, "padding")
    _, _, q_len, k_len = situation.sizes
    need(q_len == k_len, f"a padding mask fits the query axis only where q_len equals k_len: got {q_len} and {k_len}")
    need(padding.shape[-2] == 1, "the padding part differs from query to query already")
    return attend(situation.with_part("padding", padding.transpose(-2, -1)), {}, empty=empty)


def _ways_of_empty(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"empty": empty} for empty in EMPTY_ROWS)


def real_keys(situation: Situation) -> Tensor:
    """(batch,) real keys per sample, as they were given or counted in the padding part."""
    padding = part_of(situation, "padding")
    if situation.lengths is not None:
        return situation.lengths
    return padding[:, 0, 0, :].sum(dim=-1)


def padding_side_swapped(situation: Situation, *, empty: EmptyRows = "zero") -> Outcome:
    """The filler is sought on the other side."""
    other = "left" if situation.side == "right" else "right"
    padding = masks.padding(real_keys(situation), situation.sizes[3], side=other)
    return attend(situation.with_part("padding", padding), {"side": other}, empty=empty)


def padding_border_off_by_one(situation: Situation, *, by: int = 1, empty: EmptyRows = "zero") -> Outcome:
    """One padded key readable (``by`` 1), or one real key lost (-1)."""
    k_len = situation.sizes[3]
    lengths = (real_keys(situation) + by).clamp(0, k_len)
    padding = masks.padding(lengths, k_len, side=situation.side)
    return attend(situation.with_part("padding", padding), {"by": by}, empty=empty)


def _ways_of_border(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"by": by, "empty": empty} for by in (1, -1) for empty in EMPTY_ROWS)


def padding_or_causal(situation: Situation) -> Outcome:
    """The union of both parts instead of the cells that lie in both."""
    causal, padding = part_of(situation, "causal"), part_of(situation, "padding")
    return attend(situation.with_part("padding", None).with_part("causal", causal | padding), {})


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="padding-on-query-axis",
        title="The padding mask lies along the queries",
        explanation=(
            "The flags (batch, len) are unsqueezed to (batch, 1, len, 1) instead of (batch, 1, 1, len). Rows of "
            "padding are hidden, which nobody reads anyway, and real queries read the padding; with a fill of -inf "
            "the hidden rows are NaN, with -1e4 nothing is to be seen. Padding hides keys: its flags belong on the "
            "last axis."
        ),
        fix="padding[:, None, None, :]",
        symptom="The mask is constant along keys: rows of padding are empty, and real rows hold weight on padding.",
        sources=("hyunwoongko/transformer#40",),
        act=padding_on_query_axis,
        ways=_ways_of_empty,
    ),
    Fault(
        id="padding-side-swapped",
        title="Padding is sought on the wrong side",
        explanation=(
            "The batch is padded on the left, as generation needs it, and the mask is built from lengths as if it "
            "were padded on the right, or the other way round. Real tokens at one end are hidden and as many padding "
            "tokens at the other are read. Take the mask from the tokenizer that padded; do not rebuild it from "
            "lengths."
        ),
        fix="attention_mask from the tokenizer, with tokenizer.padding_side set before tokenizing",
        symptom="In short samples the keys at one end get no weight and the padding at the other end does.",
        sources=("flowersteam/lamorel#53", "huggingface/transformers#26569"),
        act=padding_side_swapped,
        ways=_ways_of_empty,
    ),
    Fault(
        id="padding-border-off-by-one",
        title="The border of the padding is off by one",
        explanation=(
            "The hidden range starts at length + 1, so one padding token per sample is readable; or the length "
            "forgets the start or end token and one real key is lost. The error is small and constant and shows only "
            "in short samples. Compare key positions with the length: key < length is real."
        ),
        fix="torch.arange(k_len) < lengths[:, None]",
        symptom="Exactly one padding key per sample has weight, or exactly one real key has none.",
        sources=("ajhalthor/Transformer-Neural-Network#15",),
        act=padding_border_off_by_one,
        ways=_ways_of_border,
    ),
    Fault(
        id="padding-or-causal",
        title="Causal and padding mask joined by or",
        explanation=(
            "Two masks in which True means may attend are joined with |, as is right for masks in which True means "
            "blocked. A key is then readable as soon as one of the two allows it: real keys of the future, and "
            "padding of the past. Join what is allowed with &, what is blocked with |."
        ),
        fix="allowed = causal & padding",
        symptom="Future keys are readable if they are real, padding keys are readable if they lie in the past.",
        sources=("lucidrains/local-attention#5",),
        act=padding_or_causal,
    ),
)
