"""What a fault is committed on, and what comes of it.

A ``Situation`` is the right computation: the tensors, the intended mask and its named parts. An ``Outcome`` is what a
program with one mistake makes of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.mask_conventions import require_bool

PARTS: tuple[str, ...] = ("causal", "prefix", "window", "chunk", "documents", "padding", "cache")


class CannotCommit(ValueError):
    """The fault has nothing to go wrong in here, e.g. a padding fault without padding."""


@dataclass(frozen=True, eq=False)
class Situation:
    """The right computation, and all that a fault needs to know to go wrong in it.

    Attributes:
        query: (batch, heads, q_len, d_k) float.
        key: (batch, kv_heads, k_len, d_k), same dtype; ``heads`` is a multiple of ``kv_heads``.
        value: (batch, kv_heads, k_len, d_v), same dtype; None where only weights are of interest.
        allowed: bool, broadcastable to (batch, heads, q_len, k_len): the intended mask, True = may attend.
        parts: named parts of ``allowed``, bool, broadcastable likewise; names as in ``PARTS``. ``allowed`` lies within
            each part and may be narrower than all of them together. "causal" and "window" hold masks as
            ``masks.causal`` and ``masks.sliding_window`` make them, "prefix" one of ``masks.prefix_lm``, "padding"
            (batch, 1, 1, k_len), "documents" (batch, 1, q_len, k_len), "cache" the slots in use: (batch, 1, 1, k_len),
            or as ``masks.causal_in_cache`` makes them.
        bias: float, broadcastable likewise, added to the capped scores.
        sinks: (heads,) float.
        scale: factor on the scores; None means 1 / sqrt(d_k).
        softcap: bound on the scaled scores; None means no bound.
        lengths: (batch,) integers: real keys per sample, or slots in use of a cache.
        side: where padding stands.
        document_ids: (batch, len) integers.
        window: keys that a query sees, its own included (two-sided: on each side). It may be set without a part
            "window": the model has such a window, but not here.
        chunk: positions per chunk.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if a part is unknown, or forbids a cell that ``allowed`` allows.
    """

    query: Tensor
    key: Tensor
    value: Tensor | None
    allowed: Tensor
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    bias: Tensor | None = None
    sinks: Tensor | None = None
    scale: float | None = None
    softcap: float | None = None
    lengths: Tensor | None = None
    side: Literal["left", "right"] = "right"
    document_ids: Tensor | None = None
    window: int | None = None
    chunk: int | None = None

    def __post_init__(self) -> None:
        require_bool("allowed", self.allowed)
        for name, part in self.parts.items():
            if name not in PARTS:
                raise ValueError(f"a part of the mask is one of {', '.join(PARTS)}: got {name!r}")
            require_bool(name, part)
            if (self.allowed & ~part).any():
                raise ValueError(f"allowed must lie within each of its parts: it allows cells that {name!r} forbids")

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(batch, heads, q_len, k_len)."""
        batch, heads, q_len, _ = self.query.shape
        return batch, heads, q_len, self.key.shape[-2]

    @property
    def right_scale(self) -> float:
        """The factor on the scores, with the default worked out."""
        return self.query.shape[-1] ** -0.5 if self.scale is None else self.scale

    @property
    def rest(self) -> Tensor:
        """What ``allowed`` forbids beyond its named parts: bool, True = may attend as far as no named part forbids."""
        together = self.allowed
        for part in self.parts.values():
            together = together | ~part
        return together

    def with_mask(self, allowed: Tensor) -> "Situation":
        """The same with another intended mask, of which no part is known."""
        return replace(self, allowed=allowed, parts={})

    def with_part(self, name: str, part: Tensor | None) -> "Situation":
        """The same with one part of the mask put in place of what it was, or taken away where None."""
        parts = {other: mask for other, mask in self.parts.items() if other != name}
        if part is not None:
            parts[name] = part
        allowed = self.rest
        for mask in parts.values():
            allowed = allowed & mask
        return replace(self, allowed=allowed, parts=parts)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a program with the fault computes.

    Attributes:
        weights: (batch, heads, q_len, k_len) in the input dtype; another shape where the fault is of that kind (one map
            for all heads, attention over the batch).
        output: (batch, heads, q_len, d_v) in the input dtype, or as the fault leaves it; None without a value.
        note: the parameters it was committed with, and numbers for the message.
        changed: the situation that would make these weights right, where there is one: a fault in the mask, the scale
            or the tensors. Committing a second fault on it gives the pair.
    """

    weights: Tensor | None
    output: Tensor | None
    note: Mapping[str, float | str] = field(default_factory=dict)
    changed: Situation | None = None


def _one_way(situation: Situation) -> Iterable[Mapping[str, Any]]:
    return ({},)


@dataclass(frozen=True)
class Fault:
    """One known way to get attention wrong.

    Attributes:
        id: the name that stays.
        title: a few words.
        explanation: one paragraph: what people write, why it is wrong, how to write it.
        fix: one line.
        symptom: what to look for in the weights or the output.
        sources: public reports, "owner/repo#number".
        act: commits it: (situation, **parameters) -> Outcome; raises CannotCommit.
        ways: the parameters of each way to commit it in a situation.
        estimate: finds a free parameter from observed weights: (situation, weights) -> Outcome | None.
        judged_on: where it shows.
    """

    id: str
    title: str
    explanation: str
    fix: str
    symptom: str
    sources: tuple[str, ...]
    act: Callable[..., Outcome]
    ways: Callable[[Situation], Iterable[Mapping[str, Any]]] = _one_way
    estimate: Callable[[Situation, Tensor], Outcome | None] | None = None
    judged_on: Literal["weights", "output"] = "weights"

    def variants(self, situation: Situation) -> Iterator[Outcome]:
        """Each way to commit the fault here, computed one at a time; none where it cannot be committed."""
        for parameters in self.ways(situation):
            try:
                outcome = self.act(situation, **parameters)
            except CannotCommit:
                continue
            yield outcome

    def fit(self, situation: Situation, observed: Tensor) -> Outcome | None:
        """The fault with its free parameter estimated from the weights; None without one, or where nothing fits.

        Args:
            situation: the right computation.
            observed: (batch, heads, q_len, k_len) weights as a program returned them.
        """
        return None if self.estimate is None else self.estimate(situation, observed)


def correct(situation: Situation) -> AttentionTrace:
    """The right computation, by the core; without a value, ``output`` has width 0.

    Args:
        situation: the tensors and the intended mask.

    Returns:
        AttentionTrace with all stages.
    """
    value = situation.value
    with torch.no_grad():
        return scaled_dot_product_attention(
            situation.query,
            situation.key,
            situation.key[..., :0] if value is None else value,
            allowed=situation.allowed,
            bias=situation.bias,
            sinks=situation.sinks,
            scale=situation.scale,
            softcap=situation.softcap,
            enable_gqa=True,
        )
