"""With query and key at hand: which computation reproduces what was observed, the right one or which fault."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.doctor.inputs import Given, stored_dtype
from attention_core.doctor.intent import Intent
from attention_core.doctor.matching import Tolerance, agrees, largest_difference, output_agrees, tolerance
from attention_core.faults import CATALOGUE, Outcome, Situation, correct

_HALF = (torch.float16, torch.bfloat16)
_MOST_PAIRS = 240  # computations; pairs are for small inputs that no single fault explains
_FITTED = ("fill-too-weak", "dropout-left-on")  # their parameter is estimated, not tried
_OF_NUMBERS = ("no-max-subtraction", "finite-fill-on-empty-row", "masks-summed-overflow", "half-precision-overflow")
_ON_THE_WAY_IN = (
    "no-scaling", "scaled-by-d-k", "scaled-by-d-model", "divided-by-inverse", "query-key-swapped",
    "heads-split-without-transpose", "kv-heads-tiled",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Verdict:
    """What came of the hypotheses.

    Attributes:
        reproduced: the right computation gives what was observed.
        explained_by: ids, or "a+b", that give it instead.
        outcomes: id -> the outcome that fits.
        right: the right computation.
        what: "weights" or "output": what was judged last.
        weights_right: the right computation gives the weights, whatever became of the output.
        difference: largest difference between the right computation and what was observed.
        allowance: the tolerance that was used.
    """

    reproduced: bool
    explained_by: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    right: AttentionTrace
    what: str
    difference: float
    allowance: Tolerance
    weights_right: bool = False


def situation_of(given: Given, intent: Intent) -> Situation:
    """The right computation as the faults take it."""
    assert given.query is not None and given.key is not None and intent.allowed is not None
    return Situation(
        query=given.query,
        key=given.key,
        value=given.value,
        allowed=_shrunk(intent.allowed),
        parts=dict(intent.parts),
        bias=given.bias,
        sinks=given.sinks,
        scale=given.scale,
        softcap=given.softcap,
        lengths=intent.lengths,
        side="left" if intent.side == "left" else "right",
        document_ids=intent.document_ids,
        window=intent.read.window,
        chunk=intent.read.chunk,
    )


def _shrunk(allowed: Tensor) -> Tensor:
    """The mask without axes along which it is the same, as a program would hold it; always four axes."""
    for axis in (0, 1):
        if allowed.shape[axis] > 1 and bool((allowed == allowed.narrow(axis, 0, 1)).all()):
            allowed = allowed.narrow(axis, 0, 1)
    return allowed


def judge(given: Given, intent: Intent) -> Verdict:
    """Tries the right computation, every fault of the catalogue, then pairs.

    Args:
        given: with query and key, and weights or output.
        intent: with a mask.
    """
    with torch.no_grad():
        situation = situation_of(given, intent)
        right = correct(situation)
        tiers = _tiers(given, situation)
        if given.weights is not None:
            verdict = _judge_weights(given, intent, situation, right, tiers)
            if verdict.reproduced:
                verdict = _judge_output(given, situation, right, tiers, only_output=True) or verdict
                return replace(verdict, weights_right=True)
            return verdict
        return _judge_output(given, situation, right, tiers, only_output=False) or Verdict(
            True, (), {}, right, "output", 0.0, tiers[0]
        )


def _tiers(given: Given, situation: Situation) -> list[Tolerance]:
    """The tolerance of a computation in float32 or better, then that of one done in half precision throughout."""
    q = situation.query
    key = situation.key
    norms = q.double().norm(dim=-1).nan_to_num(0, 0, 0).max() * key.double().norm(dim=-1).nan_to_num(0, 0, 0).max()
    logits = float(norms) * abs(situation.right_scale)
    if situation.softcap is not None:
        logits = min(logits, situation.softcap)
    stored = q.dtype if given.weights is None else given.weights.dtype
    if stored == torch.float64 and q.dtype == torch.float64 and given.weights is not None:
        stored = stored_dtype(given.weights)  # a float64 copy of float32 numbers, as files and lists make them
        stored = torch.float64 if stored in _HALF else stored
    best = torch.float64 if stored == q.dtype == torch.float64 else torch.float32
    tiers = [tolerance(stored, best, logits=logits, decimals=given.decimals)]
    if given.weights is not None and q.dtype in _HALF and stored not in _HALF:
        tiers.append(tolerance(q.dtype, best, logits=logits, decimals=given.decimals))
    for dtype in {q.dtype, stored} & set(_HALF):
        tiers.append(tolerance(stored, dtype, logits=logits, decimals=given.decimals))
    return tiers


def _judge_weights(
    given: Given, intent: Intent, situation: Situation, right: AttentionTrace, tiers: list[Tolerance]
) -> Verdict:
    assert given.weights is not None
    observed = given.weights.double()
    if given.dropout_p > 0:
        observed = _without_dropout(observed, right, given.dropout_p)
    difference = largest_difference(right.weights, observed) if right.weights is not None else float("nan")
    outcomes: list[tuple[str, Outcome]] | None = None
    only_nan = _broken_only_in_empty_rows(right, observed, intent, tiers[-1])
    for allowance in tiers:
        if agrees(right.weights, observed, allowance):
            return Verdict(True, (), {}, right, "weights", difference, allowance)
        if outcomes is None:
            outcomes = list(_singles(situation, given.weights))
            if intent.other_parts is not None:
                outcomes += _singles(replace(situation, parts=dict(intent.other_parts)), given.weights)
        fitting = _first_of_each((n, o) for n, o in outcomes if agrees(o.weights, observed, allowance))
        if only_nan:  # the mask is right; whoever made an empty row NaN is to be named, or nobody
            fitting = {name: outcome for name, outcome in fitting.items() if name in _OF_NUMBERS}
        if fitting:
            return Verdict(False, tuple(fitting), fitting, right, "weights", difference, allowance)
    if only_nan:
        return Verdict(True, (), {}, right, "weights", difference, tiers[-1])
    pairs = _pairs(situation, outcomes or [], observed, given, tiers[0])
    if pairs:
        return Verdict(False, tuple(pairs), pairs, right, "weights", difference, tiers[0])
    return Verdict(False, (), {}, right, "weights", difference, tiers[-1])


def _without_dropout(observed: Tensor, right: AttentionTrace, p: float) -> Tensor:
    """Declared dropout undone as far as it can be: what is left divided by its factor, what was dropped as it was."""
    assert right.weights is not None
    if right.weights.shape != observed.shape:
        return observed
    dropped = (observed == 0) & (right.weights > 0)
    return torch.where(dropped, right.weights.double(), observed * (1 - p))


def _broken_only_in_empty_rows(right: AttentionTrace, observed: Tensor, intent: Intent, allowance: Tolerance) -> bool:
    """NaN in rows without a key is a finding of its own; elsewhere the weights may still be right."""
    assert intent.allowed is not None and right.weights is not None
    empty = ~intent.allowed.any(-1)
    broken = observed.isnan().any(-1)
    if not broken.any() or observed.shape != right.weights.shape or bool((broken & ~empty).any()):
        return False
    return agrees(right.weights, observed.masked_fill(empty[..., None], 0.0), allowance)


def _singles(situation: Situation, weights: Tensor) -> Iterator[tuple[str, Outcome]]:
    """Every way to commit every fault that shows in the weights, in the order of the catalogue."""
    for name, fault in CATALOGUE.items():
        if fault.judged_on != "weights":
            continue
        if fault.estimate is not None and shape_fits(weights, situation):
            fitted = fault.fit(situation, weights)
            if fitted is not None:
                yield name, fitted
        if name not in _FITTED:
            for outcome in fault.variants(situation):
                yield name, outcome


def shape_fits(weights: Tensor, situation: Situation) -> bool:
    """Whether the weights hold one map per head of the situation."""
    return tuple(weights.shape) == situation.sizes


def _first_of_each(fitting: Iterator[tuple[str, Outcome]]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for name, outcome in fitting:
        found.setdefault(name, outcome)
    return {name: found[name] for name in CATALOGUE if name in found}


def _pairs(
    situation: Situation, outcomes: list[tuple[str, Outcome]], observed: Tensor, given: Given, allowance: Tolerance
) -> dict[str, Outcome]:
    """Two faults at once: first one on the way into softmax, then any other; the first that fits, and what agrees."""
    assert given.weights is not None
    found: dict[str, Outcome] = {}
    order = list(CATALOGUE)
    tried = 0
    if observed.numel() > 200_000:
        return found
    for first_group in (_ON_THE_WAY_IN, tuple(n for n in order if n not in _ON_THE_WAY_IN)):
        for first, outcome in outcomes:
            if first not in first_group or outcome.changed is None:
                continue
            for second, fault in CATALOGUE.items():
                if second == first or fault.judged_on != "weights" or f"{first}+{second}" in found:
                    continue
                if second in _ON_THE_WAY_IN:
                    continue
                for other in _ways(fault, second, outcome.changed, given.weights):
                    tried += 1
                    if agrees(other.weights, observed, allowance):
                        found["+".join(sorted((first, second), key=order.index))] = other
                        break
                    if tried >= _MOST_PAIRS:
                        return found
        if found:
            return found
    return found


def _ways(fault: Any, name: str, situation: Situation, weights: Tensor) -> Iterator[Outcome]:
    if fault.estimate is not None and shape_fits(weights, situation):
        fitted = fault.fit(situation, weights)
        if fitted is not None:
            yield fitted
    if name not in _FITTED:
        yield from fault.variants(situation)


def _judge_output(
    given: Given, situation: Situation, right: AttentionTrace, tiers: list[Tolerance], *, only_output: bool
) -> Verdict | None:
    """Judges by the output; None where nothing is to be said."""
    if given.output is None or given.value is None:
        return None
    finite = given.value[torch.isfinite(given.value)]
    size = float(finite.abs().max()) if finite.numel() else 1.0
    difference = _output_difference(right.output, given.output)
    for allowance in tiers:
        relative = allowance.relative + allowance.absolute
        if output_agrees(right.output, given.output, relative, size):
            return Verdict(True, (), {}, right, "output", difference, allowance)
        fitting: dict[str, Outcome] = {}
        for name, fault in CATALOGUE.items():
            if (only_output and fault.judged_on != "output") or name in _FITTED:
                continue
            for outcome in fault.variants(situation):
                if output_agrees(outcome.output, given.output, relative, size):
                    fitting.setdefault(name, outcome)
                    break
        if fitting:
            return Verdict(False, tuple(fitting), fitting, right, "output", difference, allowance)
    return Verdict(False, (), {}, right, "output", difference, tiers[-1])


def _output_difference(predicted: Tensor, observed: Tensor) -> float:
    if predicted.shape != observed.shape:
        return float("nan")
    error = (predicted.double() - observed.double()).abs()
    finite = error[torch.isfinite(error)]
    return float(finite.max()) if finite.numel() else float("nan")
