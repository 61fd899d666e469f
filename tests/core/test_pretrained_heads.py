"""Which models load with a head, and that the way from states to logits is the model's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Model, load

TEXT = "the cat sat on a mat"
TOWER: dict[str, Any] = {
    "hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 37,
    "max_position_embeddings": 19,
}  # fmt: skip
GROUPED = {**TOWER, "num_key_value_heads": 1, "head_dim": 14}
ENDS = {"bos_token_id": 2, "eos_token_id": 3}

SPEAKING: dict[str, tuple[str, dict[str, Any]]] = {  # what stands between states and logits: beside a matrix
    "GPT2LMHeadModel": ("next-token", {"n_embd": 33, "n_head": 3, "n_layer": 1, "n_positions": 19, **ENDS}),  # tied
    "LlamaForCausalLM": ("next-token", GROUPED),
    "Gemma2ForCausalLM": ("next-token", {**GROUPED, "final_logit_softcapping": 3.0}),  # a cap
    "CohereForCausalLM": ("next-token", {**GROUPED, "logit_scale": 0.3, **ENDS}),  # a factor
    "GraniteForCausalLM": ("next-token", {**GROUPED, "logits_scaling": 3.0}),  # a divisor
    "OPTForCausalLM": ("next-token", {**TOWER, "word_embed_proj_dim": 13, "ffn_dim": 37, **ENDS}),  # a projection
    "BertForMaskedLM": ("fill-mask", TOWER),  # a transform and a bias
    "AlbertForMaskedLM": ("fill-mask", {**TOWER, "embedding_size": 13}),
    "DistilBertForMaskedLM": ("fill-mask", {"dim": 33, "n_heads": 3, "n_layers": 1, "hidden_dim": 37}),
}  # fmt: skip


@pytest.mark.parametrize("name", SPEAKING)
def test_the_head_gives_the_logits_of_the_model(tiny_folder: Callable[..., Path], name: str) -> None:
    import transformers

    task, sizes = SPEAKING[name]
    folder = tiny_folder(name, **sizes)
    model = load(folder)
    assert model.task == task
    run = model.run(TEXT)
    whole = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        theirs = whole(input_ids=model.read(TEXT).ids).logits
    assert theirs.std() > 0.3  # so that something is compared
    ours = model.head(run.output)
    assert not ours.is_inference() and not ours.requires_grad
    assert_close(ours, theirs, atol=1e-4, rtol=1e-4)  # sums of some forty terms of size 1 to 10, twice
    assert torch.equal(model.head(run.output[:, -1:]).argmax(-1), ours[:, -1:].argmax(-1))
    assert run.output.shape == (1, 6, model.width)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("BertModel", TOWER),
        ("GPT2Model", {"n_embd": 33, "n_head": 3, "n_layer": 1, "n_positions": 19, **ENDS}),
        ("BertForSequenceClassification", TOWER),
        ("ElectraForPreTraining", TOWER),  # tells real words from invented ones: no word comes out
    ],
)
def test_without_a_head_there_are_states_alone(
    tiny_folder: Callable[..., Path], name: str, sizes: dict[str, Any]
) -> None:
    model = load(tiny_folder(name, **sizes))
    assert model.task == "none"
    with pytest.raises(
        ValueError, match=r"logits need a model with a head: .* has none, it answers with its hidden states"
    ):
        model.head(model.run(TEXT).output)


def test_a_head_that_is_named_and_not_in_the_files(tiny_folder: Callable[..., Path]) -> None:
    folder = tiny_folder("BertModel", **TOWER)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    model = load(folder)
    assert model.task == "none"  # a head of random numbers would talk nonsense
    assert model.run(TEXT).agreement.passed  # pyright: ignore[reportOptionalMemberAccess]


def test_a_weight_missing_from_the_body_is_named(tiny_folder: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    from attention_core.pretrained import LoadError

    folder = tiny_folder("BertForMaskedLM", **TOWER)
    tensors = load_file(folder / "model.safetensors")
    del tensors["bert.encoder.layer.0.attention.self.query.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(LoadError, match=r"1 are missing, first encoder.layer.0.attention.self.query.weight"):
        load(folder)


def test_the_pooled_model_answers_with_vectors(minilm: Model) -> None:
    assert minilm.task == "embedding"
    with pytest.raises(ValueError, match="logits need a model with a head"):
        minilm.head(torch.zeros(1, 2, 384))


def test_states_of_another_model_are_refused(tiny_folder: Callable[..., Path]) -> None:
    model = load(tiny_folder("LlamaForCausalLM", **GROUPED))
    with pytest.raises(ValueError, match=r"hidden states are \(batch, len, 36\): got \(1, 2, 35\); hand in rows of"):
        model.head(torch.zeros(1, 2, 35))
