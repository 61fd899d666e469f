"""Our attention with the weights of tiny random models of the real families, on each layer's real inputs.

The models come from transformers, run eagerly, and give their own attentions; nothing is downloaded. Matrices are drawn
three times as wide as usual, so that attention is far from uniform.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import (
    AutoModel,
    BertConfig,
    BloomConfig,
    GPT2Config,
    GPTJConfig,
    LlamaConfig,
    PretrainedConfig,
    T5Config,
)

from attention_core import masks, positions
from attention_core.attention import AttentionTrace
from attention_core.modules import MultiHeadAttention, merge_heads

# float32 on both sides with another order of sums; Llama's rotary angles are float32 too. Scores go up to about 50.
WEIGHTS: dict[str, Any] = {"rtol": 0.0, "atol": 1e-5}
OUTPUTS: dict[str, Any] = {"rtol": 0.0, "atol": 1e-4}

BATCH, LENGTH, LAYERS = 2, 7, 2
LEFT_PADDED = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
RIGHT_PADDED = LEFT_PADDED.flip(-1)


def tiny(config: PretrainedConfig) -> Any:
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = torch.randn(parameter.shape, generator=generator)
            if "norm" in name.lower() or ".ln_" in name:
                parameter.copy_(values * 0.3 + (1.0 if name.endswith("weight") else 0.0))
            else:
                parameter.copy_(values * 3 / max(parameter.shape) ** 0.5)
    return model


def token_ids() -> Tensor:
    return torch.randint(0, 23, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))


@contextmanager
def calls_of(*modules: nn.Module) -> Iterator[list[tuple[tuple[Any, ...], dict[str, Any], Any]]]:
    """Positional arguments, keyword arguments and result of each call of the modules, in the order of the calls."""
    seen: list[tuple[tuple[Any, ...], dict[str, Any], Any]] = []
    hooks = [
        module.register_forward_hook(lambda _, args, kwargs, out: seen.append((args, kwargs, out)), with_kwargs=True)
        for module in modules
    ]
    try:
        with torch.no_grad():
            yield seen
    finally:
        for hook in hooks:
            hook.remove()


def fill(linear: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    with torch.no_grad():
        linear.weight.copy_(weight)
        if linear.bias is not None and bias is not None:
            linear.bias.copy_(bias)


def check_layer(
    trace: AttentionTrace, output: Tensor, weights: Tensor, expected: Tensor, *, rows: Tensor | None = None
) -> None:
    """Weights and outputs on the given rows, (batch, q_len) bool; without any, on all."""
    rows = torch.ones(weights.shape[0], weights.shape[2], dtype=torch.bool) if rows is None else rows
    assert trace.weights is not None
    assert_close(trace.weights.transpose(1, 2)[rows], weights.transpose(1, 2)[rows], **WEIGHTS)
    assert_close(output[rows], expected[rows], **OUTPUTS)
    assert weights.max() > 0.9, "weights close to uniform would hide a mistake"


def test_bert():
    heads, width = 3, 33
    model = tiny(
        BertConfig(
            vocab_size=23,
            hidden_size=width,
            num_hidden_layers=LAYERS,
            num_attention_heads=heads,
            intermediate_size=37,
            max_position_embeddings=11,
        )
    )
    blocks = [layer.attention for layer in model.encoder.layer]
    with calls_of(*(block.output.dense for block in blocks)) as dense:
        result = model(token_ids(), attention_mask=RIGHT_PADDED, output_attentions=True, output_hidden_states=True)
    for layer, block in enumerate(blocks):
        ours = MultiHeadAttention(width, heads)
        for linear, theirs in (
            (ours.q_proj, block.self.query),
            (ours.k_proj, block.self.key),
            (ours.v_proj, block.self.value),
            (ours.out_proj, block.output.dense),
        ):
            fill(linear, theirs.weight, theirs.bias)
        output, trace = ours(result.hidden_states[layer], allowed=masks.from_attention_mask(RIGHT_PADDED))
        arguments, _, after_dense = dense[layer]
        assert_close(merge_heads(trace.output), arguments[0], **OUTPUTS)
        check_layer(trace, output, result.attentions[layer], after_dense)


def test_gpt2():
    heads, width = 3, 33
    model = tiny(GPT2Config(vocab_size=23, n_embd=width, n_layer=LAYERS, n_head=heads, n_positions=11))
    ids = masks.position_ids(LEFT_PADDED)
    with calls_of(*(block.attn for block in model.h)) as calls:
        result = model(token_ids(), attention_mask=LEFT_PADDED, position_ids=ids, output_attentions=True)
    for layer, block in enumerate(model.h):
        ours = MultiHeadAttention(width, heads)
        packed_weight, packed_bias = block.attn.c_attn.weight.T, block.attn.c_attn.bias  # (3 x width, width)
        linears = (ours.q_proj, ours.k_proj, ours.v_proj)
        for linear, weight, bias in zip(linears, packed_weight.chunk(3), packed_bias.chunk(3), strict=True):
            fill(linear, weight, bias)
        fill(ours.out_proj, block.attn.c_proj.weight.T, block.attn.c_proj.bias)
        arguments, keywords, attended = calls[layer]
        x = arguments[0] if arguments else keywords["hidden_states"]
        output, trace = ours(x, allowed=masks.causal(LENGTH) & masks.from_attention_mask(LEFT_PADDED))
        # Rows of padding may see nothing: zero here, uniform under the model's finite fill.
        check_layer(trace, output, result.attentions[layer], attended[0], rows=LEFT_PADDED.bool())
        assert_close(trace.weights[0, :, :2], torch.zeros(heads, 2, LENGTH), rtol=0, atol=0)


def tiny_llama(*, head_dim: int = 14, base: float = 10000.0) -> Any:
    return tiny(
        LlamaConfig(
            vocab_size=23,
            hidden_size=30,
            intermediate_size=37,
            num_hidden_layers=LAYERS,
            num_attention_heads=6,
            num_key_value_heads=2,
            head_dim=head_dim,
            attention_bias=True,
            rope_parameters={"rope_type": "default", "rope_theta": base},
        )
    )


def ours_of_llama(attention: Any, head_dim: int = 14) -> MultiHeadAttention:
    ours = MultiHeadAttention(30, 6, d_k=head_dim, num_kv_heads=2)
    for name in ("q", "k", "v"):
        theirs = getattr(attention, f"{name}_proj")
        fill(getattr(ours, f"{name}_proj"), theirs.weight, theirs.bias)
    fill(ours.out_proj, attention.o_proj.weight, attention.o_proj.bias)
    return ours


@pytest.mark.parametrize("base", [10000.0, 500000.0])
@pytest.mark.parametrize("attention_mask", [LEFT_PADDED, RIGHT_PADDED, torch.ones_like(LEFT_PADDED)])
def test_llama_with_grouped_heads_and_rotary_positions(base: float, attention_mask: Tensor):
    model = tiny_llama(base=base)
    ids = masks.position_ids(attention_mask)
    attentions = [layer.self_attn for layer in model.layers]
    with calls_of(*attentions) as calls:
        result = model(token_ids(), attention_mask=attention_mask, position_ids=ids, output_attentions=True)
    turn = positions.rotation(positions.rotary_angles(ids, 14, base=base))
    allowed = masks.causal(LENGTH) & masks.from_attention_mask(attention_mask)
    for layer, attention in enumerate(attentions):
        _, keywords, attended = calls[layer]
        output, trace = ours_of_llama(attention)(keywords["hidden_states"], allowed=allowed, rotary=turn)
        # Padding on the left sees nothing: zero here, uniform under the model's finite fill.
        check_layer(trace, output, result.attentions[layer], attended[0], rows=attention_mask.bool())


@pytest.mark.parametrize(
    "options, isolated",
    [
        ({"use_cache": False}, True),
        ({"use_cache": False, "attention_mask": torch.ones(1, 5, dtype=torch.long)}, False),
        ({"use_cache": True}, False),
    ],
)
def test_c107_llama_forgets_the_documents_when_a_mask_or_a_cache_comes_along(options: dict[str, Any], isolated: bool):
    model, position_ids = tiny_llama(), torch.tensor([[0, 1, 2, 0, 1]])
    attentions = [layer.self_attn for layer in model.layers]
    with calls_of(*attentions) as calls:
        result = model(torch.tensor([[1, 2, 3, 4, 5]]), position_ids=position_ids, output_attentions=True, **options)
    allowed = masks.causal(5)
    if isolated:
        allowed = allowed & masks.packed(masks.document_ids_from_positions(position_ids))
    turn = positions.rotation(positions.rotary_angles(position_ids, 14))
    for layer, attention in enumerate(attentions):
        _, keywords, attended = calls[layer]
        output, trace = ours_of_llama(attention)(keywords["hidden_states"], allowed=allowed, rotary=turn)
        check_layer(trace, output, result.attentions[layer], attended[0])
        assert bool((trace.weights[:, :, 3:, :3] == 0).all()) == isolated


def test_bloom_with_alibi_for_six_heads():
    heads, width = 6, 30
    model = tiny(BloomConfig(vocab_size=23, hidden_size=width, n_layer=LAYERS, n_head=heads))
    attentions = [block.self_attention for block in model.h]
    with (
        calls_of(*(a.query_key_value for a in attentions)) as inputs,
        calls_of(*(a.dense for a in attentions)) as dense,
    ):
        result = model(token_ids(), attention_mask=LEFT_PADDED, output_attentions=True)
    bias = positions.alibi_bias(positions.alibi_slopes(heads), masks.position_ids(LEFT_PADDED))
    for layer, attention in enumerate(attentions):
        ours = MultiHeadAttention(width, heads)
        # One matrix holds q, k and v of head 0, then of head 1, ...: (heads, 3, d_k, ...).
        weight = attention.query_key_value.weight.unflatten(0, (heads, 3, -1))
        offset = attention.query_key_value.bias.unflatten(0, (heads, 3, -1))
        for i, linear in enumerate((ours.q_proj, ours.k_proj, ours.v_proj)):
            fill(linear, weight[:, i].flatten(0, 1), offset[:, i].flatten())
        fill(ours.out_proj, attention.dense.weight, attention.dense.bias)
        allowed = masks.causal(LENGTH) & masks.from_attention_mask(LEFT_PADDED)
        output, trace = ours(inputs[layer][0][0], allowed=allowed, bias=bias)
        check_layer(trace, output, result.attentions[layer], dense[layer][2], rows=LEFT_PADDED.bool())


def test_gpt_j_with_interleaved_rotary_positions_on_a_part_of_the_features():
    heads, width, rotated = 3, 42, 6
    model = tiny(
        GPTJConfig(vocab_size=23, n_embd=width, n_layer=LAYERS, n_head=heads, n_positions=11, rotary_dim=rotated)
    )
    ids = masks.position_ids(LEFT_PADDED)
    with calls_of(*(block.attn for block in model.h)) as calls:
        result = model(token_ids(), attention_mask=LEFT_PADDED, position_ids=ids, output_attentions=True)
    turn = positions.rotation(positions.rotary_angles(ids, rotated), apply=positions.apply_rotary_interleaved)
    for layer, block in enumerate(model.h):
        ours = MultiHeadAttention(width, heads, bias=False)
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            fill(getattr(ours, name), getattr(block.attn, name).weight, None)
        arguments, keywords, attended = calls[layer]
        x = arguments[0] if arguments else keywords["hidden_states"]
        allowed = masks.causal(LENGTH) & masks.from_attention_mask(LEFT_PADDED)
        output, trace = ours(x, allowed=allowed, rotary=turn)
        check_layer(trace, output, result.attentions[layer], attended[0], rows=LEFT_PADDED.bool())


def test_t5_unscaled_with_relative_bias_and_cross_attention():
    heads, d_kv, width, source_length = 3, 5, 17, 11
    model = tiny(
        T5Config(
            vocab_size=23,
            d_model=width,
            d_kv=d_kv,
            d_ff=19,
            num_layers=LAYERS,
            num_heads=heads,
            relative_attention_num_buckets=8,
            relative_attention_max_distance=9,
        )
    )
    is_source = torch.arange(source_length) < torch.tensor([[8], [11]])
    source = torch.randint(0, 23, (BATCH, source_length), generator=torch.Generator().manual_seed(2))

    def ours_of(attention: Any) -> MultiHeadAttention:
        ours = MultiHeadAttention(width, heads, d_k=d_kv, bias=False)
        for linear, theirs in zip(ours.children(), (attention.q, attention.k, attention.v, attention.o), strict=True):
            assert isinstance(linear, nn.Linear)
            fill(linear, theirs.weight, None)
        return ours

    def bias_of(stack: Any, length: int, *, bidirectional: bool) -> Tensor:
        bias = positions.T5RelativeBias(heads, bidirectional=bidirectional, num_buckets=8, max_distance=9)
        with torch.no_grad():
            bias.table.copy_(stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight)
        return bias(torch.arange(length))

    encoder = [block.layer[0].SelfAttention for block in model.encoder.block]
    decoder = [block.layer[0].SelfAttention for block in model.decoder.block]
    cross = [block.layer[1].EncDecAttention for block in model.decoder.block]
    with calls_of(*encoder, *decoder, *cross) as calls:
        result = model(
            input_ids=source, attention_mask=is_source.long(), decoder_input_ids=token_ids(), output_attentions=True
        )
    read_source = masks.from_attention_mask(is_source.long())
    encoder_bias = bias_of(model.encoder, source_length, bidirectional=True)
    decoder_bias = bias_of(model.decoder, LENGTH, bidirectional=False)
    # The calls come as they ran: the encoder's, then self- and cross-attention of each decoder layer.
    for layer in range(LAYERS):
        (x, *_), _, attended = calls[layer]
        output, trace = ours_of(encoder[layer])(x, allowed=read_source, bias=encoder_bias, scale=1.0)
        check_layer(trace, output, result.encoder_attentions[layer], attended[0])

        (x, *_), _, attended = calls[LAYERS + 2 * layer]
        output, trace = ours_of(decoder[layer])(x, allowed=masks.causal(LENGTH), bias=decoder_bias, scale=1.0)
        check_layer(trace, output, result.decoder_attentions[layer], attended[0])

        (x, *_), keywords, attended = calls[LAYERS + 2 * layer + 1]
        output, trace = ours_of(cross[layer])(x, keywords["key_value_states"], allowed=read_source, scale=1.0)
        check_layer(trace, output, result.cross_attentions[layer], attended[0])
