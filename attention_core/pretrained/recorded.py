"""Models whose attention does not run through ours: they run as they are, and what their calls computed is read off.

Nothing can be switched in them. Query, key, value, mask, bias and factor of each call are those of the program itself,
found by ``attention_core.capture.record``; the stages are computed from them by our core, as everywhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from attention_core import masks
from attention_core.capture import RebuildError, Record, record
from attention_core.pretrained.backend import Recording
from attention_core.runs import Call, CallInputs, CallKind


class UnreadableError(ValueError):
    """What a model's attention computed from cannot be read off."""


def recorded_pass(
    module: Any, inputs: Mapping[str, Tensor], recording: Recording, calls: Sequence[Call], **options: Any
) -> Any:
    """One forward pass of a model that computes its attention in its own code, read while it runs.

    Args:
        module: the model under transformers' eager attention.
        inputs: what it takes.
        recording: what is filled; it may not ask for a change.
        calls: of an earlier pass, for their names; empty for the first pass.
        options: more arguments.

    Returns:
        The model's outputs.

    Raises:
        UnreadableError: if a call cannot be read whole.
        ValueError: if a change is asked for.
    """
    if recording.variants or not recording.switches.neutral:
        raise ValueError(refusal(type(module).__name__))
    with record() as seen:
        outputs = module(**inputs, **options)
    if calls and len(seen) != len(calls):
        raise UnreadableError(f"a pass must make the {len(calls)} attention calls of every other: got {len(seen)}")
    samples, length = inputs["input_ids"].shape
    for found in seen:
        given = _inputs(found, samples)
        heads = given.query.shape[-3]
        if given.query.shape[:1] != (samples,) or (given.query.shape[-2], given.key.shape[-2]) != (length, length):
            raise UnreadableError(
                f"attention must be between the {length} tokens of {samples} samples: got queries "
                f"{tuple(given.query.shape)} and keys {tuple(given.key.shape)} in {found.module or 'the model'}"
            )
        call = calls[found.index] if calls else _name(recording, given)
        recording.calls.append(call)
        recording.heads[call.name] = heads
        if recording.keep:
            recording.inputs[call.name] = given
        if not calls and found.reproduces.passed is False:
            raise UnreadableError(f"what was read must give what the model computed: {found.reproduces.reason}")
        recording.rebuilt = max(recording.rebuilt, float(found.reproduces.difference))
    return outputs


def refusal(kind: str) -> str:
    """Why nothing can be switched in a model of that class."""
    return (
        f"switches need attention that runs through ours: {kind} computes its own, which can only be recorded; "
        "leave every switch as in the model, or take another model"
    )


def _inputs(found: Record, samples: int) -> CallInputs:
    try:
        given = found.inputs
    except RebuildError as error:
        raise UnreadableError(f"what an attention call computed from must be readable: {error}") from error
    if given.query.dim() == 3 and samples > 0 and given.query.shape[0] % samples == 0:  # heads folded into the batch

        def unfold(tensor: Tensor) -> Tensor:
            return tensor.unflatten(0, (samples, -1)) if tensor.dim() == 3 else tensor

        given = replace(
            given,
            query=unfold(given.query),
            key=unfold(given.key),
            value=unfold(given.value),
            allowed=unfold(given.allowed),
            bias=None if given.bias is None else unfold(given.bias),
        )
    if given.allowed.dim() == 2:
        given = replace(given, allowed=given.allowed[None, None])
    return given


def _name(recording: Recording, given: CallInputs) -> Call:
    length = given.query.shape[-2]
    ahead = given.allowed & ~masks.causal(length).to(given.allowed.device)
    kind: CallKind = "encoder" if ahead.any() or length < 2 else "decoder"
    layer = sum(earlier.kind == kind for earlier in recording.calls)
    return Call(name=f"{kind}.{layer}", kind=kind, layer=layer)
