"""Public bug reports about reading attention out of running programs, each reduced to a small input."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core.capture import record

ROUNDING: dict[str, Any] = {"rtol": 0.0, "atol": 1e-6}  # float32, weights up to 1, other order of sums


def tiny_bart(implementation: str) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=31, d_model=12, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=32, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
    )  # fmt: skip
    config._attn_implementation = implementation
    model = BartForConditionalGeneration(config).eval()
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.2 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
    return model


def test_c116_beam_search_has_one_row_per_step_and_one_slice_per_beam() -> None:
    source = torch.tensor([[5, 3, 9, 4, 7]])
    options: dict[str, Any] = {
        "num_beams": 3, "do_sample": False, "min_new_tokens": 4, "max_new_tokens": 4, "use_cache": True,
        "return_dict_in_generate": True, "output_scores": True,
    }  # fmt: skip
    model = tiny_bart("sdpa")
    with torch.no_grad(), record() as recording:
        out = model.generate(source, attention_mask=torch.ones_like(source), **options)
    cross = [found for found in recording if found.module.endswith("encoder_attn")]
    assert [tuple(found.weights.shape) for found in cross] == [(3, 2, 1, 5)] * 4  # beams, heads, one row, source
    assert all(found.reproduces for found in cross)
    beams = out.beam_indices[0, :4]
    assert len(set(beams.tolist())) > 1  # the beams change places, so that a fixed slice would be another sentence
    stitched = torch.cat([found.weights[beam] for found, beam in zip(cross, beams, strict=True)], dim=1)
    assert stitched.shape == (2, 4, 5)
    assert_close(stitched.sum(-1), torch.ones(2, 4), **ROUNDING)
    with torch.no_grad():  # the sentence that won, read at once: rows are the tokens that were read, start included
        whole = tiny_bart("eager")(input_ids=source, decoder_input_ids=out.sequences[:, :4], output_attentions=True)
    assert_close(stitched, whole.cross_attentions[0][0], **ROUNDING)
    wrong = torch.cat([found.weights[0] for found in cross], dim=1)
    assert (wrong - stitched).abs().max() > 1e-3


@pytest.mark.parametrize("training", [True, False])
def test_c123_an_encoder_layer_gives_its_hooks_nothing(training: bool) -> None:
    torch_layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).train(training)
    x = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(3))
    seen: list[Tensor | None] = []
    outputs: list[Tensor] = []

    def look(_: nn.Module, __: Any, said: tuple[Tensor, Tensor | None]) -> None:
        outputs.append(said[0])
        seen.append(said[1])

    hook = torch_layer.self_attn.register_forward_hook(look)
    with torch.no_grad(), record() as recording:
        torch_layer(x)
    hook.remove()
    assert seen == [None]  # the trap
    (found,) = recording
    assert found.weights.shape == (1, 2, 3, 3) and found.reproduces
    assert_close(found.weights.sum(-1), torch.ones(1, 2, 3), **ROUNDING)
    # the weights are the module's own: with V and its output projection they give what it returned
    attention = torch_layer.self_attn
    value = (x @ attention.in_proj_weight[16:].T + attention.in_proj_bias[16:]).view(1, 3, 2, 4).transpose(1, 2)
    merged = (found.weights @ value).transpose(1, 2).reshape(1, 3, 8)
    with torch.no_grad():
        assert_close(attention.out_proj(merged), outputs[0], **ROUNDING)


def test_c124_rows_of_a_generation_belong_to_the_token_that_asked() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=31, n_embd=12, n_layer=1, n_head=2, n_positions=32, bos_token_id=1, eos_token_id=2)
    config._attn_implementation = "sdpa"
    model: Any = GPT2LMHeadModel(config).eval()
    prompt = torch.tensor([[5, 3, 9, 4, 7, 8]])
    with torch.no_grad(), record() as recording:
        out = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=3, min_new_tokens=3, do_sample=False
        )
    assert out.shape == (1, 9)
    assert [tuple(found.weights.shape) for found in recording] == [(1, 2, 6, 6), (1, 2, 1, 7), (1, 2, 1, 8)]
    stitched = torch.zeros(2, 8, 8)  # token 8 was never a query
    row = 0
    for found in recording:
        weights = found.weights[0]
        stitched[:, row : row + weights.shape[1], : weights.shape[2]] = weights
        row += weights.shape[1]
    assert row == 8 and torch.equal(stitched.triu(1), torch.zeros(2, 8, 8))
    assert_close(stitched.sum(-1), torch.ones(2, 8), **ROUNDING)
    model.set_attn_implementation("eager")
    with torch.no_grad():  # row 6, of the second step, is that of token 6, the first new one
        whole = model(out[:, :8], output_attentions=True).attentions[0][0]
    assert_close(stitched, whole, **ROUNDING)
