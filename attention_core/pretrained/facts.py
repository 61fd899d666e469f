"""What a model's attention has beside softmax(Q K^T / sqrt(d)) V, read off what its calls computed from.

Named, not mended: a model without a factor on its scores, or with rows that sum below 1, is that model.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attention_core.runs import Call, CallInputs, Run

Scaling = Literal["scores", "queries", "none", "unknown"]
"""Where a model puts its factor: on the "scores" in the call; on the "queries" before it, undone in what is recorded;
nowhere, "none"; "unknown": a call that was only recorded takes none, and what came before it was not seen."""

FactCode = Literal[
    "pre_scaled", "unscaled", "factor_unseen", "sinks", "softcap", "window", "sparse", "alibi", "relative", "bias"
]

MOST = 256  # last queries and keys that the form of a bias is read from
FEWEST = 4  # keys without which every bias has every form
_TOLERANCE = 1e-4  # relative: a bias is a product or a sum in float32


@dataclass(frozen=True)
class Fact:
    """One peculiarity and the calls that have it.

    Attributes:
        code: "pre_scaled", "unscaled" and "factor_unseen" as in ``Scaling``; "sinks": a logit without a value takes
            part of each row; "softcap": scaled scores are bounded by ``value``; "window": a query reads ``value`` keys,
            its own included (to each side, its own counted once, where it sees what follows), told by texts longer than
            that; "sparse": some keys are closed in another form; "alibi": a bias in proportion to the distance;
            "relative": one that depends on the distance alone; "bias": any other.
        calls: names of the calls, in order.
        value: see there; None where there is none.
    """

    code: FactCode
    calls: tuple[str, ...]
    value: float | None = None


def scaling_of(calls: Collection[CallInputs], *, recorded: bool) -> Scaling:
    """Where a model puts its factor.

    Args:
        calls: of a neutral run; one with a factor of its own decides.
        recorded: the attention is the model's own code and was only read.
    """
    if any(given.pre_scaled for given in calls):
        return "queries"
    if any(given.own_scale != 1.0 for given in calls):
        return "scores"
    return "unknown" if recorded else "none"


def facts_of(run: Run, *, recorded: bool = False) -> tuple[Fact, ...]:
    """The peculiarities of a neutral run, each with its calls, in the order in which they act.

    Args:
        run: with every switch as in the model.
        recorded: as in ``scaling_of``.
    """
    found: dict[tuple[FactCode, float | None], list[str]] = {}
    for call in run.calls:
        for code, value in _facts(run, call, recorded):
            found.setdefault((code, value), []).append(call.name)
    order: tuple[FactCode, ...] = FactCode.__args__
    facts = [Fact(code, tuple(names), value) for (code, value), names in found.items()]
    return tuple(sorted(facts, key=lambda fact: order.index(fact.code)))


def _facts(run: Run, call: Call, recorded: bool) -> Iterable[tuple[FactCode, float | None]]:
    given = run.inputs[call.name]
    if given.pre_scaled:
        yield "pre_scaled", None
    elif given.own_scale == 1.0:
        yield ("factor_unseen" if recorded else "unscaled"), None
    if given.sinks is not None:
        yield "sinks", None
    if given.softcap is not None:
        yield "softcap", given.softcap
    queries, keys = (_real(tokens) for tokens in (run.query_tokens(call), run.key_tokens(call)))
    pairs = queries[:, None, :, None] & keys[:, None, None, :]  # (batch, 1, q_len, k_len)
    if call.kind != "cross":
        yield from _window(given.intended, pairs, call.kind == "decoder")
    if given.bias is not None and given.bias.any():
        yield _form(given.bias, given.intended & pairs), None


def _real(tokens: Iterable[Iterable]) -> Tensor:
    return torch.tensor([[not token.padding for token in sample] for sample in tokens])  # (batch, len)


def _window(intended: Tensor, pairs: Tensor, looks_back: bool) -> Iterable[tuple[FactCode, float | None]]:
    q_len, k_len = pairs.shape[-2:]
    distance = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)  # (q_len, k_len)
    if looks_back:
        pairs, distance = pairs & (distance >= 0), distance.clamp(min=0)
    closed = pairs & ~intended
    if not closed.any():
        return
    distance = distance.abs().expand_as(closed)
    size = int(distance[closed].min())
    if (distance[(pairs & intended).expand_as(closed)] < size).all():
        yield "window", size
    else:
        yield "sparse", None


def _form(bias: Tensor, seen: Tensor) -> FactCode:
    """The form of a bias (batch, heads, q_len, k_len), by broadcasting, where it is seen."""
    if bias.dim() < 4 or int(seen.any(dim=2).sum(dim=-1).max()) < FEWEST:
        return "bias"
    shape = torch.broadcast_shapes(bias.shape, seen.shape)
    bias, seen = (tensor.expand(shape)[..., -MOST:, -MOST:] for tensor in (bias, seen))
    limit = _TOLERANCE * float(bias[seen].abs().max()) if seen.any() else 0.0
    step = (bias[..., 1:] - bias[..., :-1]).abs()  # one key further
    both = seen[..., 1:] & seen[..., :-1]
    lowest, highest = (
        getattr(step.masked_fill(~both, fill), name)(dim=(0, 2, 3))
        for fill, name in ((torch.inf, "amin"), (-torch.inf, "amax"))
    )
    if both.any() and bool((highest - lowest <= limit).all()) and bool((highest > limit).any()):
        return "alibi"
    along = (bias[..., 1:, 1:] - bias[..., :-1, :-1]).abs()
    both = seen[..., 1:, 1:] & seen[..., :-1, :-1]
    return "relative" if both.any() and float(along[both].max()) <= limit else "bias"
