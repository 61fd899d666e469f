"""Turns a GGUF file of the Llama family into a folder that transformers loads: config, tokenizer, float32 safetensors.

Transformers can read such files too, but not write what it read, and it forgets how the file says text is to be cut
before its pieces are merged. Nothing in the file is executed; the chat template is kept as text.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

VERSION = 1
"""Of what the conversion writes; a folder written by another version is made anew."""

WEIGHTS = "model.safetensors"

_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL = 3  # the type of tokens that stand for no text


def convert_gguf(file: Path, folder: Path, *, progress: Callable[[int, int], None] | None = None) -> None:
    """Writes config.json, tokenizer.json with its settings and chat template, and model.safetensors into a folder.

    Args:
        file: a GGUF file of architecture "llama" with a byte-level BPE tokenizer.
        folder: made if it is not there.
        progress: called with (tensors decoded, tensors in all); what it raises ends the conversion.

    Raises:
        ValueError: if the file is of another architecture, tokenizer or layout.

    Source:
        Layout and block formats: the ``gguf`` package of ggml-org. Rows of the query and key projections stand there
        in pairs (x0, x_half, x1, ...), as ggml's rotary embedding wants them; transformers rotates halves.
    """
    from gguf import GGUFReader

    reader = GGUFReader(file)
    _require(reader, "general.architecture", "llama")
    _require(reader, "tokenizer.ggml.model", "gpt2")
    folder.mkdir(parents=True, exist_ok=True)
    _write_config(reader, folder)
    _write_tokenizer(reader, folder)
    _write_weights(reader, folder / WEIGHTS, progress)


def _write_weights(reader: Any, file: Path, progress: Callable[[int, int], None] | None) -> None:
    from safetensors.numpy import save_file

    heads = {"attn_q": _field(reader, "llama.attention.head_count")}
    heads["attn_k"] = _field(reader, "llama.attention.head_count_kv")
    tensors = {}
    for done, (name, values) in enumerate(_decoded(reader)):
        if progress is not None:
            progress(done, len(reader.tensors))
        ours, part = _name(name), name.split(".")[-2]
        if part in heads:
            values = _rotate_halves(values, heads[part])
        tensors[ours] = np.ascontiguousarray(values, dtype=np.float32)
    save_file(tensors, file, metadata={"format": "pt"})
    if progress is not None:
        progress(len(reader.tensors), len(reader.tensors))


def _decoded(reader: Any) -> Iterator[tuple[str, np.ndarray]]:
    from gguf import dequantize

    for tensor in reader.tensors:
        yield tensor.name, dequantize(tensor.data, tensor.tensor_type)


def _rotate_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """(heads * d, width) with each head's rows in pairs -> the same with first halves before second halves."""
    return rows.reshape(heads, len(rows) // heads // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def _name(name: str) -> str:
    """A tensor's name in the file as transformers calls it."""
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    block, _, rest = name.partition(".")
    layer, _, rest = rest.partition(".")
    part, _, kind = rest.rpartition(".")
    if block != "blk" or part not in _IN_LAYER or kind != "weight":
        raise ValueError(f"a tensor of a Llama file must be one that transformers' Llama has: got {name!r}")
    return f"model.layers.{layer}.{_IN_LAYER[part]}.{kind}"


def _write_config(reader: Any, folder: Path) -> None:
    from transformers import LlamaConfig

    width, heads = _field(reader, "llama.embedding_length"), _field(reader, "llama.attention.head_count")
    config = LlamaConfig(
        vocab_size=len(reader.fields["tokenizer.ggml.tokens"].data),
        hidden_size=width,
        intermediate_size=_field(reader, "llama.feed_forward_length"),
        num_hidden_layers=_field(reader, "llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=_field(reader, "llama.attention.head_count_kv"),
        head_dim=width // heads,
        max_position_embeddings=_field(reader, "llama.context_length"),
        rms_norm_eps=_decimal(_field(reader, "llama.attention.layer_norm_rms_epsilon")),
        rope_parameters={"rope_type": "default", "rope_theta": _decimal(_field(reader, "llama.rope.freq_base"))},
        tie_word_embeddings=all(tensor.name != "output.weight" for tensor in reader.tensors),
        bos_token_id=_field(reader, "tokenizer.ggml.bos_token_id"),
        eos_token_id=_field(reader, "tokenizer.ggml.eos_token_id"),
        pad_token_id=_field(reader, "tokenizer.ggml.padding_token_id"),
    )
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder)


def _write_tokenizer(reader: Any, folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces: list[str] = _field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ")) for pair in _field(reader, "tokenizer.ggml.merges")]
    backend = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges))  # pyright: ignore[reportArgumentType]
    kinds = _field(reader, "tokenizer.ggml.token_type")
    backend.add_special_tokens(
        [AddedToken(piece, special=True) for piece, kind in zip(pieces, kinds, strict=True) if kind == _CONTROL]
    )
    backend.pre_tokenizer = pre_tokenizers.Sequence(_cuts(_field(reader, "tokenizer.ggml.pre")))  # pyright: ignore[reportAttributeAccessIssue]
    backend.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=pieces[_field(reader, "tokenizer.ggml.bos_token_id")],
        eos_token=pieces[_field(reader, "tokenizer.ggml.eos_token_id")],
        unk_token=pieces[_field(reader, "tokenizer.ggml.unknown_token_id")],
        pad_token=pieces[_field(reader, "tokenizer.ggml.padding_token_id")],
        model_max_length=_field(reader, "llama.context_length"),
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = _field(reader, "tokenizer.chat_template")
    tokenizer.save_pretrained(folder)


def _cuts(rule: str) -> list[Any]:
    """How text is cut before pieces are merged, by the name that the file gives to it."""
    from tokenizers import pre_tokenizers

    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    rules = {"smollm": [pre_tokenizers.Digits(individual_digits=True), words], "gpt-2": [words]}
    if rule not in rules:
        raise ValueError(f"a file's rule for cutting text must be one of {sorted(rules)}: got {rule!r}")
    return rules[rule]


def _require(reader: Any, name: str, wanted: str) -> None:
    found = _field(reader, name)
    if found != wanted:
        raise ValueError(f"a GGUF file can be converted where {name} is {wanted!r}: got {found!r}")


def _field(reader: Any, name: str) -> Any:
    field = reader.get_field(name)
    if field is None:
        raise ValueError(f"a GGUF file must say {name}: it does not")
    return field.contents()


def _decimal(number: float) -> float:
    """The shortest decimal that is this float32: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(number)))
