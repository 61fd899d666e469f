"""SmolLM2 out of its package: converted rightly, read rightly, and with our attention inside the same model."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Model, fetching

pytestmark = pytest.mark.model

TEXTS = ["The capital of France is Paris and the capital of Japan is", "12,345 cats came back to my old house."]


@pytest.fixture(scope="module")
def theirs(smollm2_folder: Path) -> tuple[Any, Any]:
    """transformers' own model and tokenizer, loaded by a path that shares nothing with ours."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(smollm2_folder, attn_implementation="eager", dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(smollm2_folder)


def test_the_weights_are_those_that_transformers_reads_from_the_package(smollm2_folder: Path) -> None:
    # Once compared with from_pretrained(gguf_file=...) of transformers 5.24, which needs accelerate: 272 of 272 tensors
    # bit for bit. Since then the file's hash stands for it.
    manifest = json.loads((smollm2_folder / fetching.MANIFEST).read_text(encoding="utf-8"))
    expected = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
    assert manifest["sha256"]["model.safetensors"] == expected
    assert set(manifest["files"]) == set(manifest["sha256"]) == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("x  4", ["x", "ĠĠ", "4"]),  # digits are cut off first, so the two spaces stay together
        ("One\n\n2.", ["One", "ĊĊ", "2", "."]),
        ("  7", ["ĠĠ", "7"]),
        ("12,345", ["1", "2", ",", "3", "4", "5"]),
        ("<|im_start|>user\nHi<|im_end|>", ["<|im_start|>", "user", "Ċ", "Hi", "<|im_end|>"]),
        ("你", ["ä½", "ł"]),
    ],
)
def test_how_text_is_cut(smollm2: Model, theirs: tuple[Any, Any], text: str, pieces: list[str]) -> None:
    tokenizer = theirs[1]
    ids = tokenizer.convert_tokens_to_ids(pieces)
    assert tokenizer(text)["input_ids"] == ids
    assert [token.id for token in smollm2.read(text).tokens[0]] == ids
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("side", ["right", "left"])
def test_neutral_smollm2_is_transformers_eager(smollm2: Model, theirs: tuple[Any, Any], side: Any) -> None:
    reference, tokenizer = theirs
    tokenizer.padding_side = side
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    real = encoded["attention_mask"].bool()
    positions = (encoded["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    with torch.inference_mode():
        own = reference(**encoded, position_ids=positions, output_attentions=True, output_hidden_states=True)
        run = smollm2.run(TEXTS, padding_side=side)
        logits = reference.lm_head(run.output)
    assert [[t.id for t in sample] for sample in run.tokens["self"]] == encoded["input_ids"].tolist()
    assert [call.name for call in run.calls] == [f"decoder.{layer}" for layer in range(30)]
    rows = ~real[:, None, :, None]
    for call, weights in zip(run.calls, own.attentions, strict=True):
        ours = run.trace(call).weights
        assert ours is not None
        assert ours.shape == (2, 9, real.shape[1], real.shape[1])
        # float32 roundings of scores up to about 100, seen through softmax
        assert_close(ours.masked_fill(rows, 0), weights.masked_fill(rows, 0), atol=1e-5, rtol=0)
    # Hidden states reach 43 and logits 20 after 30 layers: 5e-4 is 1e-5 of that, a hundred float32 roundings.
    assert_close(run.output[real], own.hidden_states[-1][real], atol=5e-4, rtol=0)
    assert_close(logits[real], own.logits[real], atol=5e-4, rtol=0)
    assert run.agreement is not None and run.agreement.passed


def test_its_sizes_are_those_of_the_catalog(smollm2: Model) -> None:
    entry = smollm2.entry
    assert entry is not None and entry.source is not None
    assert (smollm2.kind, len(smollm2.calls), set(smollm2.heads.values())) == (
        entry.family,
        entry.layers,
        {entry.heads},
    )
    assert smollm2.parameters == entry.parameters
    assert smollm2.limit == 8192
    assert (fetching.model_folder(entry) / "model.safetensors").stat().st_size == entry.size_bytes


def test_it_answers_a_question_put_as_its_chat_template_says(theirs: tuple[Any, Any]) -> None:
    model, tokenizer = theirs
    question = [{"role": "user", "content": "What is the capital of France?"}]
    asked = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    said = model.generate(**asked, max_new_tokens=12, do_sample=False)[0, asked["input_ids"].shape[1] :]
    assert tokenizer.decode(said) == "The capital of France is Paris.<|im_end|>"  # wrong by a transposition: babble
