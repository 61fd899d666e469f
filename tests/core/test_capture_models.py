"""record() around transformers models, on every implementation that runs here: tiny random models of real families."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core.capture import record

SAME = {"rtol": 0.0, "atol": 1e-6}  # the program, recorded and not
REBUILT = {"rtol": 0.0, "atol": 1e-5}  # two orders of the same float32 sums

FAMILIES = {
    "GPT2": ("GPT2LMHeadModel", {"n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 32}),
    "Llama": (
        "LlamaForCausalLM",
        {"hidden_size": 24, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 32},
    ),
    "Bert": (
        "BertModel",
        {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 3,
         "max_position_embeddings": 32},
    ),
    "Bart": (
        "BartModel",
        {"d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
         "decoder_attention_heads": 3, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 32},
    ),
}  # fmt: skip


def tiny(family: str, implementation: str) -> Any:
    import transformers

    name, sizes = FAMILIES[family]
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = getattr(transformers, f"{family}Config")(vocab_size=31, **special, **sizes)
    config._attn_implementation = implementation
    model = getattr(transformers, name)(config).eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.3 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
    return model


IDS = torch.tensor([[5, 3, 9, 4, 7], [6, 8, 11, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def first(out: Any) -> Tensor:
    return out[0]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize(("family", "calls"), [("GPT2", 2), ("Llama", 2), ("Bert", 2), ("Bart", 3)])
def test_every_layer_of_a_real_family(family, calls, implementation, padded):
    model = tiny(family, implementation)
    inputs = {"input_ids": IDS if padded else IDS[:1], "attention_mask": MASK if padded else MASK[:1]}
    if family == "Bart":
        inputs["decoder_input_ids"] = torch.tensor([[1, 4, 9], [1, 7, 3]])[: len(inputs["input_ids"])]
    with torch.no_grad():
        plain = first(model(**inputs))
        with record() as recording:
            out = first(model(**inputs))
    assert torch.equal(out, plain)
    kind = {"sdpa": "sdpa", "eager": "manual"}[implementation]
    assert [found.kind for found in recording] == [kind] * calls
    layers = [found.module for found in recording]
    assert len(set(layers)) == calls and all("Attention" in found.module_class for found in recording)
    for found in recording:
        assert found.reproduces, f"{found}: {found.reproduces}"
        assert found.file.endswith("test_capture_models.py") and "transformers" in found.via
        assert found.best_effort is (implementation == "eager")
    eager = tiny(family, "eager")
    with torch.no_grad():
        theirs = eager(**inputs, output_attentions=True)
    own = (
        theirs.attentions
        if family != "Bart"
        else (*theirs.encoder_attentions, *theirs.decoder_attentions, *theirs.cross_attentions)
    )
    rows = inputs["attention_mask"].bool()
    for found, weights in zip(recording, own, strict=True):
        valid = rows if weights.shape[-2] == rows.shape[1] else torch.ones(weights.shape[0], weights.shape[-2]) > 0
        assert_close(found.weights.movedim(1, 2)[valid], weights.movedim(1, 2)[valid], **REBUILT)
    if family in ("GPT2", "Llama"):
        allowed = recording[0].allowed.expand(len(rows), 1, 5, 5) if recording[0].allowed.dim() == 2 else (
            recording[0].allowed[:, :1]
        )  # fmt: skip
        causal = torch.ones(5, 5, dtype=torch.bool).tril()
        for sample in range(len(rows)):
            assert torch.equal(allowed[sample, 0][rows[sample]], (causal & rows[sample])[rows[sample]])


def test_asking_sdpa_for_attentions_gives_nothing_and_the_recording_has_them():
    model = tiny("GPT2", "sdpa")
    with torch.no_grad(), record() as recording:
        out = model(IDS[:1], output_attentions=True)
    assert not out.attentions  # what a visualiser would index into
    assert [tuple(found.weights.shape) for found in recording] == [(1, 3, 5, 5)] * 2


@pytest.mark.parametrize("family", ["GPT2", "Llama"])
def test_generation_gives_one_square_step_and_then_single_rows(family):
    model, prompt = tiny(family, "sdpa"), torch.tensor([[5, 3, 9, 4, 7, 8]])
    options: dict[str, Any] = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False, "use_cache": True}
    plain = model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    with record() as recording:
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    assert torch.equal(out, plain) and out.shape == (1, 9)
    layer = [found for found in recording if found.module == recording[0].module]
    heads = layer[0].query.shape[1]
    assert [tuple(found.weights.shape) for found in layer] == [(1, heads, 6, 6), (1, heads, 1, 7), (1, heads, 1, 8)]
    assert all(found.reproduces for found in recording)
    stitched = torch.zeros(8, 8)  # rows are tokens 0 to 7: the row of step 1 is that of token 6, the first new one
    for found, row in zip(layer, (slice(0, 6), 6, 7), strict=True):
        weights = found.weights[0, 0]
        stitched[row, : weights.shape[-1]] = weights.squeeze(0)
    assert (stitched.triu(1) == 0).all()
    assert_close(stitched.sum(-1), torch.ones(8), **REBUILT)
    whole = tiny(family, "eager")
    with torch.no_grad():
        expected = whole(out[:, :8], output_attentions=True).attentions[0][0, 0]
    assert_close(stitched, expected, rtol=0.0, atol=1e-5)


def test_the_real_model_layer_by_layer(minilm_folder):
    import transformers

    model = transformers.AutoModel.from_pretrained(minilm_folder, attn_implementation="sdpa").eval()
    ids = torch.tensor([[101, 1996, 4937, 2938, 2006, 1996, 13523, 102]])
    with torch.inference_mode():
        plain = model(ids).last_hidden_state
        with record() as recording:
            out = model(ids).last_hidden_state
    assert torch.equal(out, plain)
    assert [found.module for found in recording] == [f"encoder.layer.{i}.attention.self" for i in range(6)]
    for found in recording:
        assert found.reproduces and found.weights.shape == (1, 12, 8, 8)
        assert found.scale == pytest.approx(1 / math.sqrt(32))
