"""The same computation written by hand in plain PyTorch, cut into the steps in which programs go wrong.

No step calls the core, so that a fault is committed as a program commits it. Half-precision inputs are computed in
float32 and cast back at the end, as fused kernels do; faults that live in half precision itself cast earlier.
"""

import math
from collections.abc import Mapping
from typing import Literal, TypeVar

import torch
from torch import Tensor

from attention_core.faults.situation import CannotCommit, Outcome, Situation

EmptyRows = Literal["zero", "nan", "uniform"]
_T = TypeVar("_T")
EMPTY_ROWS: tuple[EmptyRows, ...] = ("zero", "nan", "uniform")
_HALF = (torch.float16, torch.bfloat16)


def wide(tensor: Tensor) -> Tensor:
    """The tensor in the precision of the stages: half precision becomes float32."""
    return tensor.float() if tensor.dtype in _HALF else tensor


def for_each_query_head(situation: Situation, tensor: Tensor) -> Tensor:
    """(batch, kv_heads, k_len, d) -> (batch, heads, k_len, d), in the order a, a, b, b."""
    group = situation.query.shape[1] // tensor.shape[1]
    return tensor if group == 1 else tensor.repeat_interleave(group, dim=1)


def raw_scores(situation: Situation) -> Tensor:
    """Q K^T: (batch, heads, q_len, k_len)."""
    key = for_each_query_head(situation, situation.key)
    return wide(situation.query) @ wide(key).transpose(-2, -1)


def cap(scaled: Tensor, softcap: float | None) -> Tensor:
    """The softcap, where there is one."""
    return scaled if softcap is None else softcap * torch.tanh(scaled / softcap)


def capped_scores(situation: Situation) -> Tensor:
    """Scores after scale and softcap, before bias and mask."""
    return cap(raw_scores(situation) * situation.right_scale, situation.softcap)


def open_logits(situation: Situation) -> Tensor:
    """What softmax would see without a mask."""
    capped = capped_scores(situation)
    return capped if situation.bias is None else capped + situation.bias.to(capped.dtype)


def hide(logits: Tensor, allowed: Tensor, fill: float = -math.inf) -> Tensor:
    """The logits with ``fill`` wherever ``allowed`` is False."""
    return torch.where(allowed, logits, torch.tensor(fill, dtype=logits.dtype, device=logits.device))


def masked_logits(situation: Situation) -> Tensor:
    """What softmax should see."""
    return hide(open_logits(situation), situation.allowed)


def softmax(logits: Tensor, sinks: Tensor | None = None, *, empty: EmptyRows = "zero") -> Tensor:
    """Softmax over keys; ``empty`` says what becomes of a row of -inf: zeros, NaN, or uniform through a finite fill."""
    if empty == "uniform":
        logits = logits.masked_fill(torch.isneginf(logits), torch.finfo(logits.dtype).min)
    joint = logits
    if sinks is not None:
        column = sinks.to(logits.dtype).reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
        joint = torch.cat([logits, column], dim=-1)
    weights = torch.softmax(joint, dim=-1)[..., : logits.shape[-1]]
    if empty == "zero":
        weights = weights.masked_fill(torch.isneginf(logits).all(dim=-1, keepdim=True), 0.0)
    return weights


def weighted_sum(situation: Situation, weights: Tensor) -> Tensor | None:
    """weights V in the input dtype; what is not finite in V reaches only rows that give it weight."""
    if situation.value is None:
        return None
    value = wide(for_each_query_head(situation, situation.value))
    broken = ~torch.isfinite(value)
    output = weights.to(value.dtype) @ value
    if broken.any():
        reached = (weights != 0).to(value.dtype) @ broken.to(value.dtype) > 0
        output = torch.where(reached, output, weights.to(value.dtype) @ value.masked_fill(broken, 0.0))
    return output.to(situation.query.dtype)


def finish(
    situation: Situation, weights: Tensor, note: Mapping[str, float | str], changed: Situation | None = None
) -> Outcome:
    """Weights and what they make of V, in the input dtype."""
    return Outcome(weights.to(situation.query.dtype), weighted_sum(situation, weights), note, changed)


def attend(changed: Situation, note: Mapping[str, float | str], *, empty: EmptyRows = "zero") -> Outcome:
    """The whole computation on a situation that the fault has changed.

    Raises:
        CannotCommit: if ``empty`` is not "zero" and no row is empty.
    """
    logits = masked_logits(changed)
    if empty != "zero":
        if changed.allowed.any(dim=-1).all():
            raise CannotCommit("no row is empty, so nothing is to be said about empty rows")
        note = {**note, "empty": empty}
    return finish(changed, softmax(logits, changed.sinks, empty=empty), note, changed)


def need(condition: bool, rule: str) -> None:
    """Raises CannotCommit with the rule unless the condition holds."""
    if not condition:
        raise CannotCommit(rule)


def given(value: _T | None, rule: str) -> _T:
    """The value; raises CannotCommit with the rule where it is None."""
    if value is None:
        raise CannotCommit(rule)
    return value


def part_of(situation: Situation, name: str) -> Tensor:
    """A named part of the mask.

    Raises:
        CannotCommit: if the situation has none of that name.
    """
    if name not in situation.parts:
        raise CannotCommit(f"this fault needs a {name} part of the mask: got {', '.join(situation.parts) or 'none'}")
    return situation.parts[name]


def soft_targets(situation: Situation) -> tuple[str, ...]:
    """What a program may treat wrongly: the whole mask, or one part while the rest of the mask is right."""
    names = tuple(situation.parts)
    return ("all", *names) if len(names) > 1 or (names and not situation.rest.all()) else ("all",)


def split_mask(situation: Situation, part: str) -> tuple[Tensor, Tensor]:
    """(what is still masked rightly, what is treated wrongly), both bool, True = may attend."""
    if part == "all":
        return torch.ones_like(situation.allowed), situation.allowed
    return situation.with_part(part, None).allowed, part_of(situation, part)
