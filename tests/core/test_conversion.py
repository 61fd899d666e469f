"""A tiny GGUF file, written here, becomes the model that it was made of."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from attention_core.pretrained import load
from attention_core.pretrained.conversion import convert_gguf

LAYERS, HEADS, KV_HEADS, WIDTH, INNER = 2, 6, 2, 96, 160  # rows of whole blocks of 32, as Q4_1 and Q8_0 want them
QUANTIZED = {"attn_q": "Q4_1", "ffn_up": "Q4_1", "token_embd": "Q8_0"}
NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip


def vocabulary() -> tuple[list[str], list[str]]:
    """Two control tokens, every byte as byte-level BPE writes it, and three merges: two spaces, `th`, `the`."""
    from tokenizers.pre_tokenizers import ByteLevel

    return ["<end>", "<start>", *sorted(ByteLevel.alphabet()), "ĠĠ", "th", "the"], ["Ġ Ġ", "t h", "th e"]


def paired(rows: torch.Tensor, heads: int) -> np.ndarray:
    """Rows of a projection as ggml stores them: row 2 i is the i-th of a head's first half, row 2 i + 1 of its second.

    Written out row by row, to share nothing with the code that undoes it.
    """
    half = len(rows) // heads // 2
    order = [head * 2 * half + i + side * half for head in range(heads) for i in range(half) for side in (0, 1)]
    return rows[order].numpy()


def write(file: Path, network: Any, **changes: Any) -> dict[str, np.ndarray]:
    """Writes a tiny Llama as GGUF; returns each tensor as it was put in, by its name there."""
    pieces, merges = vocabulary()
    fields: dict[str, Any] = {"pre": "smollm", "model": "gpt2", "architecture": "llama", **changes}
    writer = gguf.GGUFWriter(file, fields["architecture"])
    writer.add_context_length(53)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(700.0)
    writer.add_tokenizer_model(fields["model"])
    writer.add_tokenizer_pre(fields["pre"])
    writer.add_token_list(pieces)
    writer.add_token_types([3, 3, *[1] * (len(pieces) - 2)])
    writer.add_token_merges(merges)
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id, writer.add_pad_token_id):
        add(int(add == writer.add_bos_token_id))
    writer.add_chat_template("{{ messages[0]['content'] }}!")
    state = network.state_dict()
    tensors = {
        "token_embd": state["model.embed_tokens.weight"].numpy(),
        "output_norm": state["model.norm.weight"].numpy(),
    }
    for layer in range(LAYERS):
        for theirs, ours in NAMES.items():
            rows = state[f"model.layers.{layer}.{ours}.weight"]
            heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(theirs)
            tensors[f"blk.{layer}.{theirs}"] = rows.numpy() if heads is None else paired(rows, heads)
    for name, values in tensors.items():
        kind = QUANTIZED.get(name.rpartition(".")[2])
        if kind is None:
            writer.add_tensor(f"{name}.weight", values)
        else:
            packed = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(f"{name}.weight", gguf.quantize(values, packed), raw_dtype=packed)
    if "extra" in fields:
        writer.add_tensor(fields["extra"], np.zeros(3, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


@pytest.fixture(scope="module")
def tiny() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(vocabulary()[0]), hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=53, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 700.0}, tie_word_embeddings=True,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(11)
    for parameter in model.parameters():
        parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def unpacked_q4_1(packed: np.ndarray) -> np.ndarray:
    """Q4_1 by hand: per 32 values a scale and a minimum in half precision, then 16 bytes, low nibbles first."""
    blocks = packed.reshape(-1, 20)
    scale, least = (blocks[:, i : i + 2].copy().view(np.float16).astype(np.float32) for i in (0, 2))
    nibbles = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return (scale * nibbles + least).reshape(len(packed), -1)


def test_every_tensor_comes_out_as_it_went_in(tiny: Any, tmp_path: Path) -> None:
    put_in = write(tmp_path / "tiny.gguf", tiny)
    steps: list[tuple[int, int]] = []
    convert_gguf(tmp_path / "tiny.gguf", tmp_path / "out", progress=lambda *step: steps.append(step))
    assert steps == [(done, len(put_in)) for done in range(len(put_in) + 1)]
    got, state = load_file(tmp_path / "out" / "model.safetensors"), tiny.state_dict()
    assert got.keys() == state.keys() - {"lm_head.weight"}  # tied to the embeddings
    for name, values in got.items():
        here = {ggml for ggml, ours in {**NAMES, "token_embd": "embed_tokens"}.items() if f".{ours}." in name}
        if not here & QUANTIZED.keys():
            assert torch.equal(values, state[name]), name
        else:  # half a step of the coarser grid: 15 steps across values within 5 standard deviations of 0.3
            assert_close(values, state[name], atol=0.11, rtol=0)
    packed = gguf.quantize(put_in["blk.1.ffn_up"], gguf.GGMLQuantizationType.Q4_1)
    assert np.array_equal(got["model.layers.1.mlp.up_proj.weight"].numpy(), unpacked_q4_1(packed))
    query = unpacked_q4_1(gguf.quantize(put_in["blk.1.attn_q"], gguf.GGMLQuantizationType.Q4_1))
    assert np.array_equal(paired(got["model.layers.1.self_attn.q_proj.weight"], HEADS), query)


def test_the_folder_loads_and_reads_text_as_the_file_says(tiny: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write(tmp_path / "tiny.gguf", tiny)
    convert_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    model = load(tmp_path / "out")
    assert (model.limit, model.heads) == (53, {"decoder.0": HEADS, "decoder.1": HEADS})
    pieces = vocabulary()[0]
    read = [pieces[token.id or 0] for token in model.read("<start>the  77 é").tokens[0]]
    assert read == ["<start>", "the", "ĠĠ", "7", "7", "Ġ", "Ã", "©"]  # with digits cut off later: Ġ, Ġ, 7
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "the"}], tokenize=False) == "the!"
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == ("<start>", "<end>", "<end>")
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert theirs.config.rope_parameters["rope_theta"] == 700.0
    assert (theirs.config.rms_norm_eps, theirs.config.tie_word_embeddings) == (1e-5, True)
    assert (theirs.config.bos_token_id, theirs.config.eos_token_id, theirs.config.pad_token_id) == (1, 0, 0)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"architecture": "qwen2"}, "can be converted where general.architecture is 'llama': got 'qwen2'"),
        ({"model": "llama"}, "can be converted where tokenizer.ggml.model is 'gpt2': got 'llama'"),
        ({"pre": "unheard-of"}, r"rule for cutting text must be one of \['gpt-2', 'smollm'\]: got 'unheard-of'"),
        ({"extra": "blk.0.attn_q.bias"}, "must be one that transformers' Llama has: got 'blk.0.attn_q.bias'"),
        ({"extra": "rope_freqs.weight"}, "must be one that transformers' Llama has: got 'rope_freqs.weight'"),
    ],
)
def test_what_it_cannot_convert_rightly_is_refused(
    tiny: Any, tmp_path: Path, changes: dict[str, Any], match: str
) -> None:
    write(tmp_path / "tiny.gguf", tiny, **changes)
    with pytest.raises(ValueError, match=match):
        convert_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    assert not (tmp_path / "out" / "model.safetensors").exists()
