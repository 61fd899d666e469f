"""The catalogue of known attention faults, in the order in which they are tried and named."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attention_core.faults import heads, masking, numerics, padding, scaling, sequence, softmax
from attention_core.faults.situation import CannotCommit, Fault, Outcome, Situation

ORDER: tuple[str, ...] = (
    "no-scaling",
    "scaled-by-d-k",
    "scaled-by-d-model",
    "divided-by-inverse",
    "bias-scaled-too",
    "query-key-swapped",
    "heads-split-without-transpose",
    "kv-heads-tiled",
    "head-masks-in-wrong-order",
    "batch-axis-swapped",
    "softmax-over-queries",
    "softmax-over-heads",
    "double-softmax",
    "no-max-subtraction",
    "mask-inverted",
    "causal-mask-missing",
    "padding-mask-missing",
    "mask-ignored",
    "mask-after-softmax",
    "mask-added-as-zero-one",
    "scores-multiplied-by-mask",
    "fill-too-weak",
    "finite-fill-on-empty-row",
    "masks-summed-overflow",
    "half-precision-overflow",
    "padding-on-query-axis",
    "padding-side-swapped",
    "padding-border-off-by-one",
    "padding-or-causal",
    "causal-strict",
    "causal-one-late",
    "causal-transposed",
    "causal-top-left",
    "window-off-by-one",
    "window-on-wrong-layers",
    "chunk-as-window",
    "packing-leak",
    "cache-slots-unmasked",
    "dropout-left-on",
    "heads-averaged",
    "heads-merged-without-transpose",
    "zero-times-nan",
)


def _in_order(*rooms: tuple[Fault, ...]) -> Mapping[str, Fault]:
    known = {fault.id: fault for room in rooms for fault in room}
    return MappingProxyType({name: known[name] for name in ORDER})


CATALOGUE: Mapping[str, Fault] = _in_order(
    scaling.FAULTS,
    heads.FAULTS,
    softmax.FAULTS,
    masking.FAULTS,
    numerics.FAULTS,
    padding.FAULTS,
    sequence.FAULTS,
)


def commit(fault_id: str, situation: Situation, **parameters: Any) -> Outcome:
    """Commits one fault in one way: with the parameters given, else the first way that is possible here.

    Args:
        fault_id: a key of ``CATALOGUE``.
        situation: the right computation.
        **parameters: those of the fault's function, e.g. ``c`` of "fill-too-weak" or ``p`` of "dropout-left-on".

    Returns:
        Outcome.

    Raises:
        KeyError: if there is no such fault.
        CannotCommit: a ValueError; if the fault cannot be committed here.
        TypeError: if the fault has no such parameter.
    """
    if fault_id not in CATALOGUE:
        raise KeyError(f"a fault is one of {', '.join(CATALOGUE)}: got {fault_id!r}")
    fault = CATALOGUE[fault_id]
    if parameters:
        return fault.act(situation, **parameters)
    for outcome in fault.variants(situation):
        return outcome
    raise CannotCommit(f"{fault_id} cannot be committed here: the situation gives it nothing to go wrong in")
