"""Run and Call: what every source of attention returns.

A run holds what each attention call was given (query, key, value, mask, factors), not the score matrices: the stages
are recomputed on request by the same function that produced the output, so what is shown is what was computed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from attention_core.attention import ALL_STAGES, AttentionTrace, scaled_dot_product_attention

CallKind = Literal["encoder", "decoder", "cross"]
Span = tuple[int, int]


@dataclass(frozen=True, order=True)
class Call:
    """One attention call of a run.

    Attributes:
        name: unique in its run, ``"{kind}.{layer}"`` (with ``"@{step}"`` appended for steps after the first).
        kind: "encoder", "decoder" (both self-attention) or "cross".
        layer: 0-based.
        step: 0 for the first forward pass; generation adds one step per new token.
    """

    name: str
    kind: CallKind
    layer: int
    step: int = 0


@dataclass(frozen=True)
class Token:
    """One token as it is shown.

    Attributes:
        label: the text of this token exactly as it stands in the input, or the tokenizer's own word for a special
            token; where several tokens share one character, the character with its part, ``"你·1/2"``.
        piece: the tokenizer's own string for it.
        span: (start, end) offsets into the sample's text; None for tokens that are not in the text.
        id: vocabulary id; None where there is no vocabulary.
        special: added by the tokenizer or a rule, not typed.
        typed_special: a special-token string that stands in the typed text.
        padding: a filler token.
        unknown: the model has no entry for it.
        document: index of the sentence or document it belongs to; None where not split.
    """

    label: str
    piece: str = ""
    span: Span | None = None
    id: int | None = None
    special: bool = False
    typed_special: bool = False
    padding: bool = False
    unknown: bool = False
    document: int | None = None


@dataclass(frozen=True, eq=False)
class CallInputs:
    """What one attention call computed from; tensors are (batch, heads, len, d), read-only by agreement.

    Attributes:
        query, key, value: after position rotation; key and value may have fewer heads (grouped).
        allowed: bool, broadcastable to (batch, heads, q_len, k_len), the mask that was applied.
        bias, sinks, scale, softcap: as given to ``scaled_dot_product_attention``.
        own_scale: the factor the model itself uses for this call, whatever the switches say.
        own_allowed: bool, broadcastable likewise, the mask the model itself uses; None where that is ``allowed``.
        pre_scaled: the model put ``own_scale`` on its queries before the call, which then took no factor; here the
            query is as it was before that.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    allowed: Tensor
    scale: float
    own_scale: float
    bias: Tensor | None = None
    sinks: Tensor | None = None
    softcap: float | None = None
    own_allowed: Tensor | None = None
    pre_scaled: bool = False

    @property
    def intended(self) -> Tensor:
        """The mask that was meant, whatever the switches made of it: (batch, heads, q_len, k_len) by broadcasting."""
        return self.allowed if self.own_allowed is None else self.own_allowed

    def trace(self, keep: Collection[str] = ALL_STAGES) -> AttentionTrace:
        """Recomputes the call."""
        with torch.inference_mode():
            return scaled_dot_product_attention(
                self.query,
                self.key,
                self.value,
                allowed=self.allowed,
                bias=self.bias,
                sinks=self.sinks,
                scale=self.scale,
                softcap=self.softcap,
                enable_gqa=self.query.dim() > 2 and self.query.shape[-3] != self.key.shape[-3],
                keep=keep,
            )


@dataclass(frozen=True)
class Agreement:
    """How far a neutral run is from a reference that we did not write, on valid rows.

    Attributes:
        reference: what it was compared with, e.g. "transformers eager" or "torch scaled_dot_product_attention".
        weights: call name -> largest absolute difference of weights.
        output: largest absolute difference of the final output.
        weights_tolerance, output_tolerance: what counts as agreement.
        default: what the reference's library runs the model on where nobody chooses, "sdpa" or "eager"; None where
            there is no such choice.
        default_output: largest absolute difference of the final output from a run on that; it has no weights to compare
            where it is fused. None where it was not measured. It has no part in ``passed``.
    """

    reference: str
    weights: Mapping[str, float]
    output: float
    weights_tolerance: float
    output_tolerance: float
    default: str | None = None
    default_output: float | None = None

    @property
    def largest_weight_difference(self) -> float:
        return max(self.weights.values(), default=float("nan"))

    @property
    def passed(self) -> bool:
        """True when both differences are finite and within tolerance; False when nothing was compared."""
        return self.largest_weight_difference <= self.weights_tolerance and self.output <= self.output_tolerance


@dataclass(frozen=True, eq=False)
class Answer:
    """What the model says.

    Attributes:
        kind: "embedding" or "output".
        values: (batch, d) sentence embeddings of unit length, or (batch, len, d_model) outputs.
    """

    kind: Literal["embedding", "output"]
    values: Tensor


@dataclass(frozen=True)
class Note:
    """Something the reader must know about a run: a code for the interface, and its numbers.

    Codes: ``truncated`` (kept, total, limit, sample), ``unknown_tokens`` (count, total, sample), ``typed_special``
    (index, label, sample), ``random_weights`` (), ``positions_shifted`` (): padding on the left moved the positions of
    shorter texts, which this model counts by itself. ``sample`` is the index of the text in its batch.
    """

    code: str
    values: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Run:
    """One forward pass: its calls, its tokens, what it answered.

    Attributes:
        source: catalog name of the model, or "from-scratch".
        texts: the input, one string per sample; the source where there is a target.
        targets: what the target's stack of an encoder-decoder read, one string per sample; else empty.
        calls: in the order they ran.
        inputs: call name -> CallInputs.
        tokens: "self" -> one tuple of tokens per sample; runs of an encoder-decoder also have "source": there "self" is
            the target, and "source" stands on both sides of the encoder and on the keys of cross-attention.
        output: final hidden states (batch, len, d_model), of the target in an encoder-decoder.
        heads_off: (call name, head) pairs whose output was set to zero.
        agreement: of the neutral run on the same input; None if it was not asked for.
        answer, notes: see there.
    """

    source: str
    texts: tuple[str, ...]
    calls: tuple[Call, ...]
    inputs: Mapping[str, CallInputs]
    tokens: Mapping[str, tuple[tuple[Token, ...], ...]]
    output: Tensor
    heads_off: frozenset[tuple[str, int]] = frozenset()
    agreement: Agreement | None = None
    answer: Answer | None = None
    notes: tuple[Note, ...] = ()
    targets: tuple[str, ...] = ()

    def call(self, name: str) -> Call:
        """The call of that name; KeyError names those that exist."""
        for call in self.calls:
            if call.name == name:
                return call
        raise KeyError(f"no attention call {name!r} in this run: it has {[c.name for c in self.calls]}")

    def trace(self, call: Call, keep: Collection[str] = ALL_STAGES) -> AttentionTrace:
        """All stages of one call, recomputed from what it was given."""
        return self.inputs[call.name].trace(keep)

    def query_tokens(self, call: Call) -> tuple[tuple[Token, ...], ...]:
        """Tokens of the rows, one tuple per sample."""
        return self.tokens["source" if call.kind == "encoder" and "source" in self.tokens else "self"]

    def key_tokens(self, call: Call) -> tuple[tuple[Token, ...], ...]:
        """Tokens of the columns, one tuple per sample."""
        return self.tokens["source" if call.kind != "decoder" and "source" in self.tokens else "self"]

    def query_labels(self, call: Call) -> list[list[str]]:
        return [[token.label for token in sample] for sample in self.query_tokens(call)]

    def key_labels(self, call: Call) -> list[list[str]]:
        return [[token.label for token in sample] for sample in self.key_tokens(call)]

    def query_spans(self, call: Call) -> list[list[Span | None]]:
        return [[token.span for token in sample] for sample in self.query_tokens(call)]

    def key_spans(self, call: Call) -> list[list[Span | None]]:
        return [[token.span for token in sample] for sample in self.key_tokens(call)]
