"""Where each fault of the zoo is shown: the right computation on a text, with a mask in which it can go wrong.

Queries, keys and values come from the from-scratch core; the masks are built here by the core's builders, so that each
part of them is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.faults import CATALOGUE, Outcome, Situation, correct
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch, tokenize
from attention_core.runs import Token

HEADS = 4
D_MODEL = 64
D_K = D_MODEL // HEADS
MOST_TOKENS = 32  # of a text: what can still be read side by side
WINDOW = 3
SLOTS = 4  # of a cache, beyond those in use
CHANGES = 1e-3  # of a weight or an output: what can be seen, and far above rounding
_FACTORS = tuple(float(2**power) for power in range(10))  # on queries and keys, for faults of large numbers


class ZooError(ValueError):
    """A text on which a fault cannot be shown.

    Attributes:
        code: "no_tokens", or "no_change" where the text is too short or its words are all the same.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Scene:
    """What a fault needs to go wrong in.

    Attributes:
        code: names the mask for the interface.
        samples: texts in the batch, 1 or 2; the second is the first half of the first.
        side: where the filler of the second stands.
        kv_heads: key/value heads.
        position: position encoding of the from-scratch core.
        dtype: of queries, keys and values.
    """

    code: str
    samples: int = 1
    side: str = "right"
    kv_heads: int = HEADS
    position: str = "none"
    dtype: str = "float32"


_CAUSAL = Scene("causal")
_RIGHT = Scene("causal_padding", samples=2)
_LEFT = Scene("causal_left_padding", samples=2, side="left")
_PADDED = Scene("padding", samples=2)
_WINDOW = Scene("window")
_LARGE = Scene("large", dtype="float16")

SCENES: Mapping[str, Scene] = {
    "bias-scaled-too": Scene("bias", position="alibi"),
    "kv-heads-tiled": Scene("grouped", kv_heads=2),
    "head-masks-in-wrong-order": _PADDED,
    "batch-axis-swapped": _PADDED,
    "no-max-subtraction": _LARGE,
    "causal-mask-missing": _RIGHT,
    "padding-mask-missing": _LEFT,
    "mask-ignored": _LEFT,
    "finite-fill-on-empty-row": _LEFT,
    "masks-summed-overflow": _LEFT,
    "half-precision-overflow": _LARGE,
    "padding-on-query-axis": _PADDED,
    "padding-side-swapped": _PADDED,
    "padding-border-off-by-one": _LEFT,
    "padding-or-causal": _RIGHT,
    "causal-top-left": Scene("continued"),
    "window-off-by-one": _WINDOW,
    "window-on-wrong-layers": _WINDOW,
    "chunk-as-window": _WINDOW,
    "packing-leak": Scene("packed"),
    "cache-slots-unmasked": Scene("cache"),
    "zero-times-nan": Scene("broken_value", samples=2),
}
"""Fault -> its scene; those that need nothing of their own are shown under a causal mask."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "fill-too-weak": {"c": -3.0},
    "dropout-left-on": {"p": 0.25},
}
"""Free parameters, where the first way to commit a fault does not show it well."""


@dataclass(frozen=True, eq=False)
class Staged:
    """A fault committed on a text.

    Attributes:
        situation: the right computation.
        outcome: what the program with the fault makes of it.
        tokens: one row of keys per sample; the queries are the last ``q_len`` of the first ``used`` of them.
        used: keys that are no empty slots of a cache.
        factor: what queries and keys were multiplied by, to make large numbers; 1 as a rule.
        total: tokens of the text, before it was cut to ``MOST_TOKENS``.
    """

    situation: Situation
    outcome: Outcome
    tokens: tuple[tuple[Token, ...], ...]
    used: int
    factor: float
    total: int

    @property
    def query_tokens(self) -> tuple[tuple[Token, ...], ...]:
        q_len = self.situation.sizes[2]
        return tuple(row[self.used - q_len : self.used] for row in self.tokens)


@dataclass(frozen=True, eq=False)
class _Projected:
    """Queries, keys and values of a text, and what each of their rows is."""

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    tokens: tuple[tuple[Token, ...], ...]
    lengths: Tensor
    total: int
    documents: Tensor = field(default_factory=lambda: torch.zeros(0))


def scene_of(fault_id: str) -> Scene:
    """The scene of a fault."""
    return SCENES.get(fault_id, _CAUSAL)


def stage(fault_id: str, text: str, seed: int) -> Staged:
    """Commits a fault on a text in its scene, in the first way that changes something.

    Raises:
        ZooError: if the text has no tokens, or is too short for the fault to change anything.
    """
    scene = scene_of(fault_id)
    made = _project(scene, text, seed)
    for factor in _FACTORS if scene is _LARGE else (1.0,):
        situation = _SITUATIONS[scene.code](scene, _enlarged(made, factor))
        for outcome in outcomes(fault_id, situation):
            if differs(fault_id, situation, outcome):
                used = made.query.shape[2]
                return Staged(
                    situation, outcome, _with_slots(made.tokens, situation.sizes[3]), used, factor, made.total
                )
    raise ZooError(
        "no_change", f"need a text with more, or with different tokens: {fault_id} changes nothing on this one"
    )


def outcomes(fault_id: str, situation: Situation) -> tuple[Outcome, ...]:
    """Each way to commit a fault, those with the parameters of the zoo first."""
    fault = CATALOGUE[fault_id]
    if fault_id in PARAMETERS:
        return (fault.act(situation, **PARAMETERS[fault_id]),)
    return tuple(fault.variants(situation))


def differs(fault_id: str, situation: Situation, outcome: Outcome) -> bool:
    """Whether a fault can be seen: in the weights, or in the output where it is judged on that."""
    trace = correct(situation)
    on_output = CATALOGUE[fault_id].judged_on == "output"
    right, wrong = (trace.output, outcome.output) if on_output else (trace.weights, outcome.weights)
    return right is not None and wrong is not None and right.shape == wrong.shape and not alike(right, wrong)


def alike(one: Tensor, other: Tensor) -> bool:
    """Whether two results look the same, NaN for NaN."""
    return one.shape == other.shape and torch.allclose(
        one.double(), other.double(), rtol=0.0, atol=CHANGES, equal_nan=True
    )


def _project(scene: Scene, text: str, seed: int) -> _Projected:
    tokens = tokenize(text)
    if not tokens:
        raise ZooError("no_tokens", "need a text with at least one token: got none; type a word")
    kept = tokens[:MOST_TOKENS]
    texts = [text]
    if scene.samples == 2:
        if len(kept) < 2:
            raise ZooError("no_change", "need at least 2 tokens to make a shorter second sample: got 1")
        span = kept[len(kept) // 2 - 1].span
        assert span is not None  # a token of a text stands somewhere in it
        texts.append(text[: span[1]])
    config = ScratchConfig(
        num_heads=HEADS, d_model=D_MODEL, num_kv_heads=scene.kv_heads, position=scene.position, seed=seed,
        dtype=scene.dtype, max_tokens=MOST_TOKENS, mask=MaskChoice("padding", count=0, side=scene.side),
    )  # fmt: skip
    run = run_from_scratch(texts, config)
    inputs = run.inputs[run.calls[0].name]
    rows = run.tokens["self"]
    lengths = torch.tensor([sum(not token.padding for token in row) for row in rows])
    documents = torch.tensor([[token.document or 0 for token in row] for row in rows])
    return _Projected(
        inputs.query, inputs.key, inputs.value, inputs.bias, rows, lengths, len(tokens), documents
    )  # fmt: skip


def _enlarged(made: _Projected, factor: float) -> _Projected:
    return _Projected(
        made.query * factor, made.key * factor, made.value, made.bias, made.tokens, made.lengths, made.total,
        made.documents,
    )  # fmt: skip


def _with_slots(tokens: tuple[tuple[Token, ...], ...], k_len: int) -> tuple[tuple[Token, ...], ...]:
    empty = Token(label="∅", special=True, padding=True)
    return tuple((*row, *[empty] * (k_len - len(row))) for row in tokens)


def _situation(made: _Projected, parts: Mapping[str, Tensor], **more: Any) -> Situation:
    allowed = torch.ones(1, 1, dtype=torch.bool)
    for part in parts.values():
        allowed = allowed & part
    given = {"query": made.query, "key": made.key, "value": made.value, "bias": made.bias} | more
    return Situation(allowed=allowed, parts=parts, **given)


def _causal(scene: Scene, made: _Projected) -> Situation:
    return _situation(made, {"causal": masks.causal(made.key.shape[2])})


def _padding(scene: Scene, made: _Projected) -> Situation:
    k_len = made.key.shape[2]
    side = "left" if scene.side == "left" else "right"
    parts = {"padding": masks.padding(made.lengths, k_len, side=side)}
    if scene.code.startswith("causal"):
        parts = {"causal": masks.causal(k_len), **parts}
    return _situation(made, parts, lengths=made.lengths, side=side)


def _window(scene: Scene, made: _Projected) -> Situation:
    k_len = made.key.shape[2]
    parts = {
        "causal": masks.causal(k_len),
        "window": masks.sliding_window(k_len, left=WINDOW - 1, right=0),
    }
    return _situation(made, parts, window=WINDOW)


def _continued(scene: Scene, made: _Projected) -> Situation:
    k_len = made.key.shape[2]
    q_len = max(1, k_len // 2)
    query = made.query[:, :, k_len - q_len :]
    return _situation(made, {"causal": masks.causal(q_len, k_len)}, query=query)


def _packed(scene: Scene, made: _Projected) -> Situation:
    """Each sentence is a document; a text of one sentence is cut in the middle."""
    k_len = made.key.shape[2]
    documents = made.documents
    if not documents.any():
        documents = (torch.arange(k_len) >= (k_len + 1) // 2).long()[None]
    parts = {"causal": masks.causal(k_len), "documents": masks.packed(documents)}
    return _situation(made, parts, document_ids=documents)


def _cache(scene: Scene, made: _Projected) -> Situation:
    used = made.key.shape[2]
    q_len = max(1, used // 2)
    slots = torch.zeros(*made.key.shape[:2], SLOTS, D_K, dtype=made.key.dtype)
    cache = masks.causal_in_cache(q_len, used + SLOTS, valid_lengths=made.lengths)
    return _situation(
        made, {"cache": cache}, query=made.query[:, :, used - q_len :], key=torch.cat([made.key, slots], dim=2),
        value=torch.cat([made.value, slots], dim=2), lengths=made.lengths,
    )  # fmt: skip


def _broken_value(scene: Scene, made: _Projected) -> Situation:
    """V holds NaN where the shorter sample has filler."""
    k_len = made.key.shape[2]
    padding = masks.padding(made.lengths, k_len)
    value = made.value.masked_fill(~padding[:, 0, 0, :][:, None, :, None], float("nan"))
    return _situation(made, {"padding": padding}, value=value, lengths=made.lengths)


_SITUATIONS = {
    "causal": _causal,
    "bias": _causal,
    "grouped": _causal,
    "large": _causal,
    "causal_padding": _padding,
    "causal_left_padding": _padding,
    "padding": _padding,
    "window": _window,
    "continued": _continued,
    "packed": _packed,
    "cache": _cache,
    "broken_value": _broken_value,
}
