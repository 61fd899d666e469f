"""Tiny configurations of real families, and the one comparison that all of them must pass."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core.pretrained import load
from attention_core.runs import Run

SHORT, LONG = "the cat sat", "my old dog looked at the red hat and a mat there"
SHORT_TARGET, LONG_TARGET = "a dog", "the cat was on my old mat"

ENDS = {"bos_token_id": 2, "eos_token_id": 3}
_TOWER: dict[str, Any] = {
    "hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 37,
    "max_position_embeddings": 31,
}  # fmt: skip
_GROUPED: dict[str, Any] = {**_TOWER, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, **ENDS}
_PLAIN_HEADS = {**_GROUPED, "hidden_size": 84}  # families that take the size of a head from the width
_WINDOWED = {**_GROUPED, "sliding_window": 4}
_LAYERS = {"layer_types": ["sliding_attention", "full_attention"]}
_STACKS: dict[str, Any] = {
    "d_model": 24, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
    "encoder_ffn_dim": 17, "decoder_ffn_dim": 19, "max_position_embeddings": 37, "decoder_start_token_id": 3, **ENDS,
}  # fmt: skip
_T5: dict[str, Any] = {
    "d_model": 24, "d_kv": 8, "d_ff": 17, "num_heads": 3, "num_layers": 2, "num_decoder_layers": 2,
    "decoder_start_token_id": 0, "eos_token_id": 3,
}  # fmt: skip

ENCODERS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": _TOWER,
    "RobertaForMaskedLM": {**_TOWER, **ENDS},
    "XLMRobertaForMaskedLM": {**_TOWER, **ENDS},
    "DistilBertForMaskedLM": {
        "dim": 36, "n_heads": 3, "n_layers": 2, "hidden_dim": 37, "max_position_embeddings": 31,
    },
    "AlbertForMaskedLM": {**_TOWER, "embedding_size": 13, "num_hidden_layers": 3},  # one module, three times
    "ElectraForMaskedLM": {**_TOWER, "embedding_size": 13},
    "ModernBertForMaskedLM": {
        **_TOWER, **ENDS, "cls_token_id": 2, "sep_token_id": 3, "local_attention": 4, "num_hidden_layers": 3,
    },
}  # fmt: skip

DECODERS: dict[str, dict[str, Any]] = {
    "GPT2LMHeadModel": {
        "n_embd": 36, "n_head": 3, "n_layer": 2, "n_positions": 31, "scale_attn_by_inverse_layer_idx": True, **ENDS,
    },
    "GPTNeoXForCausalLM": {**_TOWER, **ENDS},
    "GPTJForCausalLM": {"n_embd": 36, "n_head": 3, "n_layer": 2, "n_positions": 31, "rotary_dim": 4, **ENDS},
    "CodeGenForCausalLM": {"n_embd": 48, "n_head": 4, "n_layer": 2, "n_positions": 31, "rotary_dim": 4, **ENDS},
    "OPTForCausalLM": {**_TOWER, "word_embed_proj_dim": 36, "ffn_dim": 37, **ENDS},
    "LlamaForCausalLM": _GROUPED,
    "MistralForCausalLM": _WINDOWED,
    "MixtralForCausalLM": {**_WINDOWED, "num_local_experts": 3, "num_experts_per_tok": 2, "hidden_size": 44,
                           "intermediate_size": 16},
    "GemmaForCausalLM": _GROUPED,
    "Gemma2ForCausalLM": {**_WINDOWED, "attn_logit_softcapping": 3.0, "query_pre_attn_scalar": 5},
    "Gemma3ForCausalLM": {**_WINDOWED, **_LAYERS, "query_pre_attn_scalar": 7},
    "Qwen2ForCausalLM": {**_PLAIN_HEADS, **_LAYERS, "sliding_window": 4, "use_sliding_window": True},
    "Qwen3ForCausalLM": _GROUPED,
    "PhiForCausalLM": {**_TOWER, **ENDS},
    "Phi3ForCausalLM": {**_PLAIN_HEADS, "sliding_window": 4},
    "GptOssForCausalLM": {  # the grouped matrix product of its experts wants rows of 16 bytes
        **_WINDOWED, **_LAYERS, "hidden_size": 44, "intermediate_size": 16, "num_local_experts": 3,
        "num_experts_per_tok": 2,
    },
    "DeepseekV3ForCausalLM": {
        **_TOWER, **ENDS, "num_key_value_heads": 3, "q_lora_rank": 11, "kv_lora_rank": 13, "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8, "v_head_dim": 10, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2,
        "topk_group": 1, "moe_intermediate_size": 16, "hidden_size": 44, "first_k_dense_replace": 1,
    },
    "GraniteForCausalLM": {**_PLAIN_HEADS, "attention_multiplier": 0.2, "logits_scaling": 3.0},
    "CohereForCausalLM": _PLAIN_HEADS,
    "Olmo2ForCausalLM": _PLAIN_HEADS,
    "Starcoder2ForCausalLM": {**_PLAIN_HEADS, "sliding_window": 4},
    "StableLmForCausalLM": {**_PLAIN_HEADS, "hidden_size": 48, "head_dim": 8, "partial_rotary_factor": 0.5},
}  # fmt: skip

TWO_STACKS: dict[str, dict[str, Any]] = {
    "T5ForConditionalGeneration": _T5,
    "MT5ForConditionalGeneration": _T5,
    "BartForConditionalGeneration": _STACKS,
    "MBartForConditionalGeneration": _STACKS,
    "MarianMTModel": _STACKS,
    "PegasusForConditionalGeneration": _STACKS,
}


def check_family(folder: Path, name: str) -> None:
    """A model is what it is on transformers' own eager path, loaded by a way that shares nothing with ours.

    Weights of every call and logits of every real token, for a text alone, for several padded on either side, and for
    the short one of these against itself alone, run without a mask and without position numbers of ours.
    """
    import transformers

    model = load(folder)
    assert model.switchable
    two = model.kind == "encoder-decoder"
    eager = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    alone = model.run(LONG, target=LONG_TARGET if two else None)
    _agrees(alone, model.head(alone.output), _eager_run(eager, alone))
    short = model.run(SHORT, target=SHORT_TARGET if two else None)
    theirs = _eager_run(eager, short, bare=True)
    _agrees(short, model.head(short.output), theirs)
    for side in ("left", "right"):
        targets = [SHORT_TARGET, LONG_TARGET] if two else None
        both = model.run([SHORT, LONG], target=targets, padding_side=side)  # pyright: ignore[reportArgumentType]
        logits = model.head(both.output)
        positions = model._inputs(model.read([SHORT, LONG], padding_side=side)).get("position_ids")  # pyright: ignore[reportArgumentType]
        _agrees(both, logits, _eager_run(eager, both, positions))
        if "positions_shifted" not in [note.code for note in both.notes]:
            real = _real(both, "self")[0]
            _close(logits[0][real], theirs.logits[0], name)


def _eager_run(eager: Any, run: Run, positions: Tensor | None = None, *, bare: bool = False) -> Any:
    ids = {side: torch.tensor([[t.id for t in row] for row in rows]) for side, rows in run.tokens.items()}
    given: dict[str, Tensor] = {"input_ids": ids.get("source", ids["self"])}
    if "source" in ids:
        given["decoder_input_ids"] = ids["self"]
    if not bare:
        given["attention_mask"] = _real(run, "source" if "source" in ids else "self").long()
        if "source" in ids:
            given["decoder_attention_mask"] = _real(run, "self").long()
        if positions is not None:
            given["position_ids"] = positions
    with torch.inference_mode():
        return eager(**given, output_attentions=True, use_cache=False)


def _agrees(run: Run, logits: Tensor, theirs: Any) -> None:
    """Whole tensors on rows of real tokens; and the numbers that the run itself states."""
    maps = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    two = "source" in run.tokens
    expected = {
        kind: getattr(theirs, maps[kind] if two else "attentions") for kind in {call.kind for call in run.calls}
    }
    assert sum(map(len, expected.values())) == len(run.calls) >= 2
    unscaled = any(given.own_scale == 1.0 for given in run.inputs.values())
    for call in run.calls:
        ours, weights = run.trace(call).weights, expected[call.kind][call.layer]
        assert ours is not None and ours.shape == weights.shape
        rows = _real(run, "source" if two and call.kind == "encoder" else "self")
        ours, weights = ours.movedim(1, 2)[rows], weights.movedim(1, 2)[rows]  # (real tokens, heads, k_len)
        # the same formulas in another order: a few float32 roundings of numbers up to 1; more where scores are not
        # scaled, and so some times larger
        assert_close(ours, weights, atol=1e-4 if unscaled else 1e-5, rtol=0)
        assert weights.std() > 0.04  # nothing uniform, where a lost factor would not show
    _close(logits[_real(run, "self")], theirs.logits[_real(run, "self")], run.source)
    assert run.agreement is not None and run.agreement.passed, run.agreement
    assert list(run.agreement.weights) == [call.name for call in run.calls]


def _close(ours: Tensor, theirs: Tensor, name: str) -> None:
    """Logits are sums of some forty products, after layers of the same, of sizes up to about 10."""
    assert theirs.std() > 0.1, name
    assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def _real(run: Run, side: str) -> Tensor:
    return torch.tensor([[not t.padding for t in row] for row in run.tokens[side]])
