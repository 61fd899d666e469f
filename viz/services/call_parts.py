"""Parts of an attention call: one sample, a few heads at a time, within a budget of memory."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from attention_core.runs import CallInputs

WORK_BYTES = 48 * 2**20  # of one stage computed at a time, at least one head; what is made of it takes about five times


def one_sample(inputs: CallInputs, sample: int) -> CallInputs:
    """What one sample of a batch was computed from; the batch axis stays, with size 1."""

    def cut(tensor: Tensor) -> Tensor:
        return tensor[sample : sample + 1] if tensor.dim() == 4 and tensor.shape[0] > 1 else tensor

    return replace(
        inputs,
        query=inputs.query[sample : sample + 1],
        key=inputs.key[sample : sample + 1],
        value=inputs.value[sample : sample + 1],
        allowed=cut(inputs.allowed),
        bias=None if inputs.bias is None else cut(inputs.bias),
        own_allowed=None if inputs.own_allowed is None else cut(inputs.own_allowed),
    )


def is_small(inputs: CallInputs) -> bool:
    """Whether all heads are computed at once."""
    return 4 * inputs.query.shape[1] * inputs.query.shape[-2] * inputs.key.shape[-2] <= WORK_BYTES


def some_heads(inputs: CallInputs, heads: slice | None = None) -> Iterator[tuple[slice, CallInputs]]:
    """The heads of a call, or some of them, in parts of as many as the budget ``WORK_BYTES`` holds, at least one."""
    first, stop, _ = (heads or slice(None)).indices(inputs.query.shape[1])
    group = inputs.query.shape[1] // inputs.key.shape[1]
    count = max(1, WORK_BYTES // max(1, 4 * inputs.query.shape[-2] * inputs.key.shape[-2]))

    def cut(tensor: Tensor | None, part: slice) -> Tensor | None:
        if tensor is None or tensor.dim() < 3 or tensor.shape[-3] == 1:
            return tensor
        return tensor[..., part, :, :]

    for start in range(first, stop, count):
        part = slice(start, min(start + count, stop))
        if part.stop - part.start == inputs.query.shape[1]:
            yield part, inputs
            return
        read = torch.arange(part.start, part.stop) // group
        allowed = cut(inputs.allowed, part)
        assert allowed is not None
        yield (
            part,
            replace(
                inputs,
                query=inputs.query[:, part],
                key=inputs.key[:, read],
                value=inputs.value[:, read],
                allowed=allowed,
                own_allowed=cut(inputs.own_allowed, part),
                bias=cut(inputs.bias, part),
                sinks=None if inputs.sinks is None else inputs.sinks[..., part],
            ),
        )
