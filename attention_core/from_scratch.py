"""Attention on any text without a pretrained model: tokens by rule, seeded embeddings, seeded weights.

The numbers carry no meaning, but each step is the real one. Embeddings have zero mean and unit variance and depend on
the token and the seed alone; weights are drawn so that queries and keys have unit variance too. Scores then have
variance d_k before scaling and 1 after, whatever the sizes: the reason for dividing by sqrt(d_k) can be watched.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from attention_core import masks, positions
from attention_core.modules import MultiHeadAttention
from attention_core.runs import Agreement, Answer, Call, CallInputs, Note, Run, Token
from attention_core.scratch_config import (
    DTYPES,
    MASK_PARAMETERS,
    POSITIONS,
    ControlError,
    MaskChoice,
    ScratchConfig,
)
from attention_core.segmentation import TOKEN_RULES, sentence_indices

__all__ = [
    "DTYPES",
    "MASK_PARAMETERS",
    "POSITIONS",
    "TOKEN_RULES",
    "ControlError",
    "MaskChoice",
    "ScratchConfig",
    "embed",
    "run_from_scratch",
    "tokenize",
]

REFERENCE = "torch scaled_dot_product_attention"
_PAD = Token(label="[PAD]", piece="[PAD]", special=True, padding=True)


def tokenize(text: str, rule: str = "words") -> list[Token]:
    """Cuts a text into tokens whose label is the text at their span, numbered by sentence.

    >>> [(t.label, t.span, t.document) for t in tokenize("Go! 你")]
    [('Go', (0, 2), 0), ('!', (2, 3), 0), ('你', (4, 5), 1)]

    Args:
        text: any string.
        rule: a key of ``TOKEN_RULES``.

    Returns:
        One Token each; none for an empty text, or for white space where the rule drops it.

    Raises:
        ControlError: if there is no such rule.
    """
    if rule not in TOKEN_RULES:
        raise ControlError("tokens", f"tokens must be one of {', '.join(TOKEN_RULES)}: got {rule!r}")
    spans = TOKEN_RULES[rule](text)
    documents = sentence_indices(text, spans)
    return [
        Token(label=text[a:b], piece=text[a:b], span=(a, b), document=document)
        for (a, b), document in zip(spans, documents, strict=True)
    ]


def embed(tokens: Sequence[str], d_model: int, *, seed: int = 0) -> Tensor:
    """Standard normal vectors that depend on the token and the seed alone, not on place, sentence or process.

    Args:
        tokens: strings; equal ones get equal vectors.
        d_model: width.
        seed: another one gives other vectors for all tokens.

    Returns:
        (len(tokens), d_model) float64.
    """
    table = {token: _draw((d_model,), seed, "token", token) for token in set(tokens)}
    return torch.stack([table[token] for token in tokens]) if tokens else torch.zeros(0, d_model, dtype=torch.float64)


def run_from_scratch(text: str | Sequence[str], config: ScratchConfig | None = None) -> Run:
    """Runs attention with seeded random weights over a text, or over a batch of texts.

    Texts of different length are filled up with ``[PAD]``, on the side that a padding mask says, else on the right;
    filler is never read, whatever the mask.

    Args:
        text: one text, or one per sample.
        config: what to compute; None means the defaults.

    Returns:
        Run with one call per layer, "encoder.0" and so on, or "decoder.0" where the mask is causal. ``output`` is the
        (batch, len, d_model) output of the last layer; ``agreement`` compares with torch's own attention.

    Raises:
        ControlError: if a text has no tokens, ``control`` is "text"; if a drawn mask has another size, "mask.rows".
        TypeError: if a text is not a string.
    """
    config = ScratchConfig() if config is None else config
    texts = (text,) if isinstance(text, str) else tuple(text)
    if not texts:
        raise ControlError("text", "need at least one text: got none")
    samples, notes = _tokens_of(texts, config)
    layout = _lay_out(samples, config.mask)
    with torch.no_grad():
        allowed = layout.allowed(config.mask)
        place = layout.positions(config.mask)  # (batch, len)
        x = _embeddings(layout.tokens, place, config)  # (batch, len, d_model)
        bias, rotary = _score_bias(place, config), _rotation(place, config)
        kind = "decoder" if config.mask.causal else "encoder"
        calls, inputs, modules = [], {}, []
        output = x
        for layer in range(config.num_layers):
            if layer:
                x = functional.layer_norm(x + output, (config.d_model,))
            module = _attention_module(config, layer)
            query, key, value = module.project(x, rotary=rotary)
            call = Call(name=f"{kind}.{layer}", kind=kind, layer=layer)
            call_inputs = CallInputs(
                query=query,
                key=key,
                value=value,
                allowed=allowed,
                scale=config.factor,
                own_scale=config.own_scale,
                bias=bias,
            )
            output = module.combine(call_inputs.trace(keep=()).output)  # (batch, len, d_model)
            calls.append(call)
            inputs[call.name] = call_inputs
            modules.append(module)
        agreement = _compare(inputs, modules[-1].combine, output, layout.real)
    return Run(
        source="from-scratch",
        texts=texts,
        calls=tuple(calls),
        inputs=inputs,
        tokens={"self": layout.tokens},
        output=output,
        agreement=agreement,
        answer=Answer("output", output),
        notes=(Note("random_weights"), *notes),
    )


def _tokens_of(texts: tuple[str, ...], config: ScratchConfig) -> tuple[list[list[Token]], list[Note]]:
    samples, notes = [], []
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"a text must be a string: got {type(text).__name__}")
        tokens = tokenize(text, config.tokens)
        if not tokens:
            which = f"text {index + 1} of {len(texts)}" if len(texts) > 1 else "the text"
            remedy = (
                "type a word" if not text or config.tokens == "characters" else 'type a word, or cut by "characters"'
            )
            raise ControlError(
                "text", f"need at least one token: {which} has none by the rule {config.tokens}; {remedy}"
            )
        if len(tokens) > config.max_tokens:
            values = {"kept": config.max_tokens, "total": len(tokens), "limit": config.max_tokens, "sample": index}
            notes.append(Note("truncated", values))
        samples.append(tokens[: config.max_tokens])
    return samples, notes


@dataclass(frozen=True, eq=False)
class _Layout:
    """A batch of token rows of one length; ``real`` is (batch, len) bool, False = filler."""

    tokens: tuple[tuple[Token, ...], ...]
    real: Tensor

    @property
    def length(self) -> int:
        return self.real.shape[1]

    def documents(self) -> Tensor:
        """(batch, len) sentence numbers; filler counts to the sentence before it, or to the first one."""
        rows = []
        for sample in self.tokens:
            row, last = [], 0
            for token in sample:
                last = last if token.document is None else token.document
                row.append(last)
            rows.append(row)
        return torch.tensor(rows)

    def positions(self, mask: MaskChoice) -> Tensor:
        """(batch, len) positions that count real tokens, and restart with each sentence where sentences are packed."""
        if mask.kind.startswith("packed"):
            documents = self.documents().masked_fill(~self.real, -1)
            return positions.from_documents(documents).masked_fill(~self.real, 0)
        return masks.position_ids(self.real.long())

    def allowed(self, mask: MaskChoice) -> Tensor:
        """The mask of the run: (len, len), (batch, 1, 1, len) or (batch, 1, len, len) bool."""
        allowed = _BUILDERS[mask.kind](self, mask)
        if mask.causal and mask.kind != "prefix":
            allowed = allowed & masks.causal(self.length)
        return allowed if self.real.all() else allowed & self.real[:, None, None, :]


def _lay_out(samples: list[list[Token]], mask: MaskChoice) -> _Layout:
    filled = mask.kind in ("padding", "causal+padding")
    count = mask.number("count") if filled else 0
    side = mask["side"] if filled else "right"
    length = max(len(sample) for sample in samples) + count
    rows = []
    for sample in samples:
        filler = [_PAD] * (length - len(sample))
        rows.append(tuple(filler + sample if side == "left" else sample + filler))
    real = torch.tensor([[not token.padding for token in row] for row in rows])
    return _Layout(tokens=tuple(rows), real=real)


def _everything(layout: _Layout, mask: MaskChoice) -> Tensor:
    return torch.ones(layout.length, layout.length, dtype=torch.bool)


def _window(layout: _Layout, mask: MaskChoice) -> Tensor:
    reach = mask.number("size") - 1
    return masks.sliding_window(layout.length, left=reach, right=reach)


def _chunked(layout: _Layout, mask: MaskChoice) -> Tensor:
    return masks.chunked(layout.length, size=mask.number("size"))


def _dilated(layout: _Layout, mask: MaskChoice) -> Tensor:
    return masks.dilated(layout.length, window=mask.number("window"), step=mask.number("step"))


def _strided(layout: _Layout, mask: MaskChoice) -> Tensor:
    return masks.strided(layout.length, stride=mask.number("stride"))


def _global_local(layout: _Layout, mask: MaskChoice) -> Tensor:
    first = range(min(mask.number("global_keys"), layout.length))
    local = masks.global_local(layout.length, window=mask.number("window"), global_keys=list(first))
    return local | local.transpose(0, 1)


def _block_sparse(layout: _Layout, mask: MaskChoice) -> Tensor:
    size = min(mask.number("block_size"), layout.length)
    blocks = torch.eye(-(-layout.length // size), dtype=torch.bool)
    blocks[:, 0] = True
    return masks.block_sparse(blocks, block_size=size)[: layout.length, : layout.length]


def _prefix(layout: _Layout, mask: MaskChoice) -> Tensor:
    return masks.prefix_lm(layout.length, prefix=min(mask.number("prefix"), layout.length))


def _packed(layout: _Layout, mask: MaskChoice) -> Tensor:
    return masks.packed(layout.documents())


_BUILDERS: dict[str, Callable[[_Layout, MaskChoice], Tensor]] = {
    "none": _everything,
    "causal": _everything,
    "padding": _everything,
    "causal+padding": _everything,
    "window": _window,
    "chunked": _chunked,
    "dilated": _dilated,
    "strided": _strided,
    "global_local": _global_local,
    "block_sparse": _block_sparse,
    "prefix": _prefix,
    "packed": _packed,
    "packed+causal": _packed,
    "custom": lambda layout, mask: mask.drawn(layout.length),
}


def _embeddings(tokens: tuple[tuple[Token, ...], ...], place: Tensor, config: ScratchConfig) -> Tensor:
    """Token vectors with positions added where these go there: (batch, len, d_model)."""
    flat = ["\0filler" if token.padding else token.label for sample in tokens for token in sample]
    x = embed(flat, config.d_model, seed=config.seed).unflatten(0, tuple(place.shape))  # (batch, len, d_model)
    if config.position == "sinusoidal":
        x = x + positions.sinusoidal(place, config.d_model, dtype=torch.float64)
    elif config.position == "learned":
        # As large as the token vectors, as in BERT where both start at 0.02; here those are 1.
        x = x + _draw((config.max_tokens, config.d_model), config.seed, "positions")[place]
    return x.to(DTYPES[config.dtype])


def _rotation(place: Tensor, config: ScratchConfig) -> positions.Rotation | None:
    if config.position != "rotary":
        return None
    return positions.rotation(positions.rotary_angles(place, config.key_width))


def _score_bias(place: Tensor, config: ScratchConfig) -> Tensor | None:
    """(batch, heads, len, len) for the encodings that are added to the scores."""
    dtype = torch.float64 if config.dtype == "float64" else torch.float32
    if config.position == "alibi":
        return positions.alibi_bias(positions.alibi_slopes(config.num_heads, dtype=dtype), place)
    if config.position == "t5":
        generator = _generator(config.seed, "t5")
        module = positions.T5RelativeBias(
            config.num_heads, bidirectional=not config.mask.causal, generator=generator, dtype=dtype
        )
        return module(place)
    return None


def _attention_module(config: ScratchConfig, layer: int) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.num_heads,
        d_k=config.key_width,
        d_v=config.value_width,
        num_kv_heads=config.num_kv_heads,
        bias=False,
        generator=_generator(config.seed, "weights", str(layer)),
        dtype=DTYPES[config.dtype],
    )


def _generator(seed: int, *purpose: str) -> torch.Generator:
    """A generator of its own for each purpose: Python's hash() differs between processes, SHA-256 does not."""
    text = "\0".join((str(seed), *purpose)).encode("utf-8", "surrogatepass")
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1)


def _draw(shape: tuple[int, ...], seed: int, *purpose: str) -> Tensor:
    """Standard normal float64."""
    return torch.randn(shape, generator=_generator(seed, *purpose), dtype=torch.float64)


def _compare(
    inputs: dict[str, CallInputs], combine: Callable[[Tensor], Tensor], output: Tensor, real: Tensor
) -> Agreement:
    """Our weights per call, and the last layer's output, against torch's attention on the same q, k, v and mask.

    Half-precision q, k and v are handed over in float32, in which we compute as well. Rows of filler and rows that may
    see nothing are left out: torch gives NaN for the latter in some versions.
    """
    differences, largest_logit, reference_output = {}, 0.0, output
    for name, call in inputs.items():
        trace = call.trace(keep=("weights", "scaled"))
        assert trace.weights is not None and trace.scaled is not None
        q, k, v = (_at_least_float32(t) for t in (call.query, call.key, call.value))
        batch, heads, length = trace.weights.shape[:3]
        allowed = call.allowed.expand(batch, heads, length, length)
        mask = allowed
        if call.bias is not None:
            mask = call.bias.to(q.dtype).expand(allowed.shape).masked_fill(~allowed, -torch.inf)
        identity = torch.eye(length, dtype=q.dtype).expand(batch, k.shape[1], length, length)
        rows = allowed.any(dim=-1) & real[:, None, :]  # (batch, heads, len)
        grouped = k.shape[1] != heads

        def attend(values: Tensor, q=q, k=k, mask=mask, scale=call.scale, grouped=grouped) -> Tensor:
            return functional.scaled_dot_product_attention(
                q, k, values, attn_mask=mask, scale=scale, enable_gqa=grouped
            )

        differences[name] = _largest(attend(identity), trace.weights, rows)
        head_outputs = attend(v).masked_fill(~rows[..., None], 0.0)
        reference_output = combine(head_outputs.to(call.query.dtype))
        largest_logit = max(largest_logit, float(trace.scaled.abs().masked_fill(~rows[..., None], 0.0).max()))
    weights_tolerance, output_tolerance = _tolerances(output.dtype, largest_logit)
    return Agreement(
        reference=REFERENCE,
        weights=differences,
        output=_largest(reference_output, output, real),
        weights_tolerance=weights_tolerance,
        output_tolerance=output_tolerance,
    )


def _tolerances(dtype: torch.dtype, largest_logit: float) -> tuple[float, float]:
    """For weights and output. The rounding error of a score grows with its size, and softmax passes it on."""
    if dtype in (torch.float16, torch.bfloat16):
        eps = torch.finfo(dtype).eps
        weights, output = eps, 8 * eps  # one unit in the last place of 1, and of numbers up to 8
    else:
        weights, output = (1e-12, 1e-11) if dtype == torch.float64 else (1e-5, 1e-4)
    growth = max(1.0, largest_logit / 16)
    return weights * growth, output * growth


def _largest(reference: Tensor, ours: Tensor, rows: Tensor) -> float:
    differences = (reference - ours).abs()[rows]
    return float(differences.max()) if differences.numel() else 0.0  # no row may see anything


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
