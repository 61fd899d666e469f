"""Two settings, texts, heads or models of the explore page beside each other, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from attention_core.compare import signed_difference
from attention_core.from_scratch import MaskChoice
from attention_core.runs import Call, Token
from attention_core.testing import attention_tolerance
from viz.services.attention import (
    SCRATCH,
    ModelRequest,
    Request,
    ScratchRequest,
    model_switches,
    run,
    samples_of,
    scratch_config,
    targets_of,
    typed,
)
from viz.services.head_stages import head_stages
from viz.services.views import SOFTMAX_NUMBERS, statistics

LISTED = 8
NUMBERS = ("raw_variance", *SOFTMAX_NUMBERS)


@dataclass(frozen=True, eq=False)
class Side:
    """One head of one call and sample.

    Attributes:
        request, call, sample, head: what it is of.
        weights, allowed, intended: (q_len, k_len); float32 and bool.
        query_tokens, key_tokens: of rows and columns.
        numbers: name of ``NUMBERS`` -> of this head; NaN where there is none.
    """

    request: Request
    call: Call
    sample: int
    head: int
    weights: np.ndarray
    allowed: np.ndarray
    intended: np.ndarray
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Change:
    """One cell of both: weight in A and B, and B - A; NaN where one alone is no number."""

    query: int
    key: int
    first: float
    second: float
    difference: float


@dataclass(frozen=True, eq=False)
class Pair:
    """A and B.

    Attributes:
        alignment: "tokens" (the same tokens on both axes), "positions" (as many, but not the same: compared by place),
            or "none" (another number of tokens: no cell belongs to another).
        unlike: how many tokens differ at their place, on both axes together where these differ; 0 unless "positions".
        difference: (q_len, k_len) float32, B - A; None for "none".
        cells, total: how many cells differ by more than rounding, of how many.
        largest: the largest differences, that first; without those of rounding alone.
    """

    first: Side
    second: Side
    alignment: str
    unlike: int
    difference: np.ndarray | None
    cells: int
    total: int
    largest: tuple[Change, ...]

    def number_differences(self) -> Mapping[str, float]:
        """B - A of the summary numbers."""
        return {name: self.second.numbers[name] - self.first.numbers[name] for name in NUMBERS}


def request_of(values: Mapping[str, Any]) -> Request:
    """What a whole state of the page asks for.

    Args:
        values: every setting by name.

    Raises:
        ValueError: if a setting is out of range, or some do not go together.
    """
    if values["source"] == SCRATCH:
        return ScratchRequest(typed(values["text"], lines=False).text, scratch_config(values))
    samples = samples_of(values["source"], values)
    targets = targets_of(values["source"], values["target"], lines=values["lines"])
    return ModelRequest(values["source"], samples, values["side"], model_switches(values), targets)


def as_it_is(request: Request) -> Request:
    """The same input with the model's own attention; from scratch: the usual scaling and no mask."""
    if isinstance(request, ModelRequest):
        return request.neutral
    return replace(request, config=replace(request.config, scale="default", mask=MaskChoice("none")))


def with_text(request: Request, text: str) -> Request:
    """The same settings on one other text."""
    written = typed(text, lines=False)
    if isinstance(request, ModelRequest):
        return replace(request, texts=written.samples, targets=())
    return replace(request, text=written.text)


def side(request: Request, layer: int, sample: int, head: int) -> Side:
    """One head as the core computed it; a layer, sample or head that is not there becomes the last there is.

    Raises:
        ValueError, LoadError, BusyError: as ``run``.
    """
    made = run(request)
    call = made.calls[min(layer, len(made.calls) - 1)]
    inputs = made.inputs[call.name]
    sample, head = min(sample, inputs.query.shape[0] - 1), min(head, inputs.query.shape[1] - 1)
    found = head_stages(request, call.name, sample, head)
    shape = (1, 1, *found.stages["weights"].shape)
    allowed, intended = (mask.expand(shape)[0, 0].numpy() for mask in (found.inputs.allowed, found.inputs.intended))
    numbers = statistics(request, call.name, sample).numbers
    return Side(
        request, call, sample, head, found.stages["weights"], allowed, intended, made.query_tokens(call)[sample],
        made.key_tokens(call)[sample], MappingProxyType({name: float(numbers[name][head]) for name in NUMBERS}),
    )  # fmt: skip


def size_of(request: Request) -> tuple[int, tuple[int, ...]]:
    """Layers of a request's run, and heads of each."""
    made = run(request)
    return len(made.calls), tuple(made.inputs[call.name].query.shape[1] for call in made.calls)


def pair(first: Side, second: Side) -> Pair:
    """Both beside each other, cell by cell where cells belong together."""
    axes = [(_labels(getattr(first, name)), _labels(getattr(second, name))) for name in ("query_tokens", "key_tokens")]
    if any(len(one) != len(other) for one, other in axes):
        return Pair(first, second, "none", 0, None, 0, 0, ())
    apart = axes[:1] if axes[0] == axes[1] else axes  # self-attention has one text on both axes
    unlike = sum(a != b for one, other in apart for a, b in zip(one, other, strict=True))
    difference = signed_difference(torch.tensor(first.weights), torch.tensor(second.weights)).numpy()
    size = np.where(np.isnan(difference), np.inf, np.abs(difference))
    order = np.argsort(-size, axis=None, kind="stable")[:LISTED]
    tolerance = attention_tolerance(torch.float32)
    largest = []
    for place in order:
        query, key = (int(n) for n in np.unravel_index(place, size.shape))
        if size[query, key] > tolerance:
            numbers = (first.weights[query, key], second.weights[query, key], difference[query, key])
            largest.append(Change(query, key, *(float(n) for n in numbers)))
    return Pair(
        first, second, "positions" if unlike else "tokens", unlike, difference.astype(np.float32),
        int((size > tolerance).sum()), size.size, tuple(largest),
    )  # fmt: skip


def _labels(tokens: tuple[Token, ...]) -> list[str]:
    return [token.label for token in tokens]
