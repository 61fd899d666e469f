"""Faults in softmax itself, and in what is done to its result."""

import statistics
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.plain import EMPTY_ROWS, finish, hide, masked_logits, need, open_logits, softmax, wide
from attention_core.faults.situation import Fault, Outcome, Situation

_LEAST_P = 0.01  # below it the factor cannot be told from rounding in half precision
_SIGMAS = 6.0  # how far the share of dropped weights may lie from p


def _along(situation: Situation, axis: int, empty: str, note: dict[str, float | str]) -> Outcome:
    """Softmax along another axis; ``empty`` says what becomes of a line of blocked cells."""
    need(situation.sinks is None, "a sink belongs to a row, so softmax along another axis has none")
    fill = torch.finfo(torch.float32).min if empty == "uniform" else float("-inf")
    logits = hide(open_logits(situation), situation.allowed, fill)
    blocked = torch.isneginf(logits).all(dim=axis, keepdim=True)
    if empty == "nan":
        need(bool(blocked.any()), "no line is blocked wholly, so nothing is to be said about such lines")
    if empty == "uniform":
        full = situation.allowed.expand(logits.shape)
        need(not full.any(dim=axis).all(), "no line is blocked wholly, so nothing is to be said about such lines")
    weights = torch.softmax(logits, dim=axis)
    if empty == "zero":
        weights = weights.masked_fill(blocked, 0.0)
    return finish(situation, weights, {**note, "empty": empty})


def softmax_over_queries(situation: Situation, *, empty: str = "zero") -> Outcome:
    """Softmax along the rows' axis: columns sum to 1."""
    need(situation.query.shape[2] > 0, "there are no queries")
    return _along(situation, -2, empty, {})


def softmax_over_heads(situation: Situation, *, axis: str = "heads", empty: str = "zero") -> Outcome:
    """Softmax along the axis of heads, or of samples; along an axis of size 1 every weight is 1."""
    return _along(situation, 1 if axis == "heads" else 0, empty, {"axis": axis})


def _ways_of_empty(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"empty": empty} for empty in EMPTY_ROWS)


def _ways_of_axis(situation: Situation) -> Iterable[dict[str, Any]]:
    return ({"axis": axis, "empty": empty} for axis in ("heads", "batch") for empty in EMPTY_ROWS)


def double_softmax(situation: Situation, *, mask: str = "forgotten") -> Outcome:
    """Softmax of the weights; ``mask`` "forgotten": blocked cells come back, "kept": they are hidden once more."""
    weights = softmax(masked_logits(situation), situation.sinks)
    if mask == "kept":
        weights = hide(weights, situation.allowed)
    return finish(situation, softmax(weights), {"mask": mask})


def _ways_of_double(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"mask": "forgotten"}, {"mask": "kept"})


def no_max_subtraction(situation: Situation, *, dtype: str = "input") -> Outcome:
    """exp(logits) / sum, in the input dtype or (``dtype`` "float32") before the cast back; empty rows are 0."""
    logits = masked_logits(situation)
    if dtype == "input":
        logits = logits.to(situation.query.dtype)
    empty = torch.isneginf(logits).all(dim=-1, keepdim=True)
    powers = logits.exp()
    total = powers.sum(dim=-1, keepdim=True)
    if situation.sinks is not None:
        total = total + situation.sinks.to(logits.dtype).reshape(-1, 1, 1).exp()
    broken = torch.isinf(total) | ((total == 0) & ~empty)
    need(bool(broken.any()), "exp neither overflows nor vanishes here, so the result is right")
    weights = (powers / total).masked_fill(empty, 0.0)
    return finish(situation, weights, {"dtype": dtype, "rows": float(broken.sum())})


def _ways_of_powers(situation: Situation) -> Iterable[dict[str, str]]:
    yield {"dtype": "input"}
    if situation.query.dtype in (torch.float16, torch.bfloat16):
        yield {"dtype": "float32"}


def dropout_left_on(situation: Situation, *, p: float = 0.1, seed: int = 0, keep: Tensor | None = None) -> Outcome:
    """weights x keep / (1 - p), with a keep mask given or drawn.

    Args:
        situation: the right computation.
        p: the share that is dropped, 0 < p < 1.
        seed: of the draw.
        keep: bool, (batch, heads, q_len, k_len); None: drawn.
    """
    need(0 < p < 1, f"p must lie between 0 and 1: got {p}")
    weights = softmax(masked_logits(situation), situation.sinks)
    if keep is None:
        generator = torch.Generator().manual_seed(seed)
        keep = torch.rand(weights.shape, generator=generator) >= p
    return finish(situation, weights * keep / (1.0 - p), {"p": p})


def estimate_dropout(situation: Situation, observed: Tensor) -> Outcome | None:
    """p from the ratio of the weights that are left to the right ones; the dropped cells are read off."""
    right = softmax(masked_logits(situation), situation.sinks)
    if observed.shape != right.shape:
        return None
    seen = wide(observed).to(right.dtype)
    meant = right.to(situation.query.dtype) > 0
    left = meant & (seen != 0) & torch.isfinite(seen)
    if not left.any():
        return None
    large = left & (right >= right[left].median())
    factor = statistics.median((seen[large] / right[large]).tolist())
    p = 1.0 - 1.0 / factor if factor > 1.0 else 0.0
    if not _LEAST_P < p < 1.0 - 1e-3:
        return None
    cells = int(meant.sum())
    dropped = cells - int(left.sum())
    sigma = (cells * p * (1.0 - p)) ** 0.5
    if abs(dropped - cells * p) > _SIGMAS * sigma + 1.0:
        return None
    return dropout_left_on(situation, p=p, keep=seen != 0)


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="softmax-over-queries",
        title="Softmax over the queries",
        explanation=(
            "softmax(dim=1) on (batch, q_len, k_len), or softmax(dim=-2), normalises each column: for every key the "
            "attention of all queries sums to 1. The model still trains, so nobody notices. A query must spread its "
            "attention over the keys: softmax over the last axis, dim=-1."
        ),
        fix="torch.softmax(logits, dim=-1)",
        symptom="Columns sum to 1, rows do not. (Where both do, nothing is wrong.)",
        sources=(
            "labmlai/annotated_deep_learning_paper_implementations#146",
            "nerminnuraydogan/vision-transformer#1",
        ),
        act=softmax_over_queries,
        ways=_ways_of_empty,
    ),
    Fault(
        id="softmax-over-heads",
        title="Softmax over heads or samples",
        explanation=(
            "softmax(dim=1) on (batch, heads, q_len, k_len), or dim=0, normalises over the heads or over the samples: "
            "heads compete for each pair of tokens. With one head or one sample every weight is exactly 1, whatever "
            "the input. Write dim=-1, which stays right when an axis is added."
        ),
        fix="torch.softmax(logits, dim=-1)",
        symptom="For each pair of tokens the heads sum to 1; along an axis of size 1 all weights are 1.",
        sources=(
            "PetrochukM/PyTorch-NLP#2",
            "DEEP-PolyU/KEQA_WSDM19#2",
            "CAMMA-public/rendezvous-in-time#3",
        ),
        act=softmax_over_heads,
        ways=_ways_of_axis,
    ),
    Fault(
        id="double-softmax",
        title="Softmax applied twice",
        explanation=(
            "Weights that went through softmax already go through it again, in a later layer or inside a loss. "
            "Numbers between 0 and 1 differ by a factor of e at most after exp, so rows come out almost flat, and "
            "blocked cells, which were 0, come back because exp(0) is 1. Apply softmax once, to the logits."
        ),
        fix="pass logits on, or weights, but never softmax(weights)",
        symptom="The largest weight of a row is at most 2.72 times the smallest; blocked cells hold the smallest.",
        sources=("zyy-2001/DisKT#6",),
        act=double_softmax,
        ways=_ways_of_double,
    ),
    Fault(
        id="no-max-subtraction",
        title="exp without subtracting the maximum",
        explanation=(
            "A hand-written softmax takes exp(logits) / exp(logits).sum(). exp overflows at a logit of 89 in float32 "
            "and at 12 in float16, and inf / inf is NaN; when all logits are very low the sum is 0, and 0 / 0 is NaN "
            "as well. Subtract each row's maximum first, which changes nothing else, or call torch.softmax."
        ),
        fix="torch.softmax(logits, dim=-1), or exp(logits - logits.amax(-1, keepdim=True))",
        symptom="NaN, or zeros, in rows with large logits; every other row is right.",
        sources=("pytorch/executorch#18407", "NVIDIA/FasterTransformer#43", "pyg-team/pytorch_geometric#53"),
        act=no_max_subtraction,
        ways=_ways_of_powers,
    ),
    Fault(
        id="dropout-left-on",
        title="Dropout is still on",
        explanation=(
            "The weights were recorded while the module was in training mode. Dropout sets a share p of them to 0 and "
            "multiplies the rest by 1 / (1 - p), so rows sum to more or less than 1 and no two runs agree. Call "
            "model.eval() before looking; a function that takes dropout_p itself needs dropout_p=0.0."
        ),
        fix="model.eval()",
        symptom="Weights are 0 or the right ones times one factor above 1; row sums scatter around 1.",
        sources=("pytorch/pytorch#42929", "facebookresearch/fairseq#351"),
        act=dropout_left_on,
        estimate=estimate_dropout,
    ),
)
