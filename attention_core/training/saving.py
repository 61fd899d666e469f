"""A trained model as a folder that every reader of transformers models opens: weights, sizes, tokens.

The small transformer with its norm first is GPT-2's architecture, and without the causal mask XLM-RoBERTa-XL's; so the
same weights run there, and everything that can be looked at in a pretrained model can be looked at in this one.
"""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from attention_core.modules import TinyTransformer, TransformerBlock
from attention_core.positions import sinusoidal
from attention_core.training.tasks import Task

UNKNOWN = "[UNK]"
_FILLERS = 2  # XLM-RoBERTa counts positions from here


class NotSaved(ValueError):
    """This model has no counterpart among the pretrained architectures; the message says why."""


def save_model(folder: str | PathLike[str], model: TinyTransformer, task: Task) -> None:
    """Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json; makes the folder.

    Args:
        folder: where; files of those names are replaced.
        model: trained or not, on the CPU.
        task: whose words the tokenizer knows; typed with blanks between them.

    Raises:
        NotSaved: if d_k is not d_model / num_heads, positions are rotary, or an encoder is unscaled.
    """
    config = model.config
    if config.key_width * config.num_heads != config.d_model:
        raise NotSaved(
            f"a saved model needs d_k = d_model / num_heads, which is {config.d_model // config.num_heads} here: "
            f"got {config.key_width}; train with the usual d_k to open it"
        )
    if config.position == "rotary":
        raise NotSaved("a saved model needs positions that are added: got rotary; train with learned ones to open it")
    if not config.causal and not config.scaling:
        raise NotSaved("a saved encoder is scaled: got scaling off; train with it, and switch it off later")
    tensors, described = _decoder(model) if config.causal else _encoder(model)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    kept = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    (target / "model.safetensors").write_bytes(safetensors.torch.save(kept, {"format": "pt"}))
    _write(target / "config.json", described)
    _write(target / "tokenizer.json", _tokenizer(task))
    _write(
        target / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": UNKNOWN,
            "pad_token": UNKNOWN,
            "model_max_length": config.max_len,
            "model_input_names": ["input_ids", "attention_mask"],
        },
    )


def _decoder(model: TinyTransformer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    config = model.config
    tensors = {
        "transformer.wte.weight": _with_unknown(model.embedding),
        "transformer.wpe.weight": _positions(model),
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
    }
    for i, block in enumerate(_blocks(model)):
        at, attention = f"transformer.h.{i}.", block.attention
        joined = [attention.q_proj, attention.k_proj, attention.v_proj]
        tensors |= {
            f"{at}ln_1.weight": block.attention_norm.weight,
            f"{at}ln_1.bias": block.attention_norm.bias,
            f"{at}attn.c_attn.weight": torch.cat([p.weight for p in joined]).T,
            f"{at}attn.c_attn.bias": torch.cat([p.bias for p in joined]),
            f"{at}attn.c_proj.weight": attention.out_proj.weight.T,
            f"{at}attn.c_proj.bias": attention.out_proj.bias,
            f"{at}ln_2.weight": block.feed_forward_norm.weight,
            f"{at}ln_2.bias": block.feed_forward_norm.bias,
            f"{at}mlp.c_fc.weight": block.up_proj.weight.T,
            f"{at}mlp.c_fc.bias": block.up_proj.bias,
            f"{at}mlp.c_proj.weight": block.down_proj.weight.T,
            f"{at}mlp.c_proj.bias": block.down_proj.bias,
        }
    described = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocabulary + 1,
        "n_positions": config.max_len,
        "n_embd": config.d_model,
        "n_layer": config.num_layers,
        "n_head": config.num_heads,
        "n_inner": config.d_ff or 4 * config.d_model,
        "activation_function": "gelu",
        "layer_norm_epsilon": model.norm.eps,
        "scale_attn_weights": config.scaling,
        "tie_word_embeddings": False,
        **_no_dropout("resid_pdrop", "embd_pdrop", "attn_pdrop"),
        **_no_tokens(config.vocabulary),
    }
    if config.classes is None:  # answers are tokens: the last layer says the next one
        tensors["lm_head.weight"] = _with_unknown(model.head.weight)
    else:
        described |= {"architectures": ["GPT2ForTokenClassification"], "num_labels": config.classes}
        tensors |= {"classifier.weight": model.head.weight, "classifier.bias": model.head.bias}
    return tensors, described


def _encoder(model: TinyTransformer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    config = model.config
    tensors = {
        "roberta.embeddings.word_embeddings.weight": _with_unknown(model.embedding),
        "roberta.embeddings.position_embeddings.weight": torch.cat(
            [torch.zeros(_FILLERS, config.d_model), _positions(model)]
        ),
        "roberta.embeddings.token_type_embeddings.weight": torch.zeros(1, config.d_model),
        "roberta.encoder.LayerNorm.weight": model.norm.weight,
        "roberta.encoder.LayerNorm.bias": model.norm.bias,
        "classifier.weight": model.head.weight,
        "classifier.bias": model.head.bias if model.head.bias is not None else torch.zeros(len(model.head.weight)),
    }
    for i, block in enumerate(_blocks(model)):
        at, attention = f"roberta.encoder.layer.{i}.", block.attention
        parts = {
            "attention.self_attn_layer_norm": block.attention_norm,
            "attention.self.query": attention.q_proj,
            "attention.self.key": attention.k_proj,
            "attention.self.value": attention.v_proj,
            "attention.output.dense": attention.out_proj,
            "LayerNorm": block.feed_forward_norm,
            "intermediate.dense": block.up_proj,
            "output.dense": block.down_proj,
        }
        for name, part in parts.items():
            tensors |= {f"{at}{name}.weight": part.weight, f"{at}{name}.bias": part.bias}
    described = {
        "architectures": ["XLMRobertaXLForTokenClassification"],
        "model_type": "xlm-roberta-xl",
        "vocab_size": config.vocabulary + 1,
        "max_position_embeddings": config.max_len + _FILLERS,
        "type_vocab_size": 1,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.d_ff or 4 * config.d_model,
        "hidden_act": "gelu",
        "layer_norm_eps": model.norm.eps,
        "num_labels": len(model.head.weight),  # the words, where a model that says words has lost its causal mask
        **_no_dropout("hidden_dropout_prob", "attention_probs_dropout_prob"),
        **_no_tokens(config.vocabulary),
        "pad_token_id": _FILLERS - 1,
    }
    return tensors, described


def _blocks(model: TinyTransformer) -> list[TransformerBlock]:
    return [block for block in model.blocks if isinstance(block, TransformerBlock)]


def _positions(model: TinyTransformer) -> Tensor:
    config = model.config
    if model.positions is not None:
        return model.positions
    if config.position == "sinusoidal":
        return sinusoidal(torch.arange(config.max_len), config.d_model)
    return torch.zeros(config.max_len, config.d_model)


def _with_unknown(rows: Tensor) -> Tensor:
    """One more row, of zeros, for words that the task does not have."""
    return torch.cat([rows, torch.zeros(1, rows.shape[1])])


def _no_dropout(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 0.0)


def _no_tokens(unknown: int) -> dict[str, int | None]:
    return {"bos_token_id": None, "eos_token_id": None, "pad_token_id": unknown}


def _tokenizer(task: Task) -> dict[str, Any]:
    words = (*task.words, UNKNOWN)
    special = [i for i, word in enumerate(words) if word == UNKNOWN]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": i, "content": words[i], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True,
            }
            for i in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": UNKNOWN},
    }  # fmt: skip


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
