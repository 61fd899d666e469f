"""What is special to single families: shared modules, grouped heads, queries scaled before, sinks, added bias."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Switches, load
from attention_core.pretrained.backend import IMPLEMENTATION, register

SHORT, LONG = "the cat sat", "my old dog looked at the red hat and a mat there"

FAMILIES: dict[str, dict[str, Any]] = {
    "Bert": {
        "specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 37,
        "max_position_embeddings": 19,
    },
    "Roberta": {
        "specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 37,
        "max_position_embeddings": 23,
    },
    "Albert": {
        "specials": True, "hidden_size": 33, "embedding_size": 13, "num_attention_heads": 3, "num_hidden_layers": 3,
        "intermediate_size": 37, "max_position_embeddings": 19,
    },
    "DistilBert": {
        "specials": True, "dim": 33, "n_heads": 3, "n_layers": 2, "hidden_dim": 37, "max_position_embeddings": 19,
    },
    "GPT2": {"n_embd": 33, "n_head": 3, "n_layer": 2, "n_positions": 19, "scale_attn_by_inverse_layer_idx": True},
    "Llama": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37, "max_position_embeddings": 19,
    },
    "Mistral": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37, "max_position_embeddings": 19, "sliding_window": 4,
    },
    "Gemma2": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37, "max_position_embeddings": 19, "sliding_window": 4, "attn_logit_softcapping": 3.0,
        "query_pre_attn_scalar": 5,
    },
    "GptOss": {  # the grouped matrix product of its experts wants rows of 16 bytes
        "hidden_size": 44, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 16, "max_position_embeddings": 19, "sliding_window": 4, "num_local_experts": 3,
        "num_experts_per_tok": 2, "layer_types": ["sliding_attention", "full_attention"],
    },
    "OPT": {
        "hidden_size": 33, "word_embed_proj_dim": 33, "num_attention_heads": 3, "num_hidden_layers": 2, "ffn_dim": 37,
        "max_position_embeddings": 19,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def folder_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Path]:
    folders: dict[str, Path] = {}

    def find(family: str) -> Path:
        if family not in folders:
            folders[family] = tiny_folder(family, **FAMILIES[family])
        return folders[family]

    return find


def eager_alone(folder: Path) -> Any:
    """The same files under transformers' own eager attention, by a path that shares nothing with ours."""
    from transformers import AutoModel

    return AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def test_c83_positions_count_real_tokens(folder_of: Callable[[str], Path]) -> None:
    batch = load(folder_of("GPT2")).read(["the cat sat", "the cat sat on mat"], padding_side="left")
    assert batch.real.tolist() == [[False, False, True, True, True], [True] * 5]
    assert batch.positions[0][2:].tolist() == [0, 1, 2]
    assert batch.positions[1].tolist() == [0, 1, 2, 3, 4]
    assert int(batch.positions.min()) >= 0


def test_kinds_and_names_of_calls(folder_of: Callable[[str], Path]) -> None:
    albert = load(folder_of("Albert"))
    assert [c.name for c in albert.calls] == ["encoder.0", "encoder.1", "encoder.2"]  # one module, three calls
    llama = load(folder_of("Llama"))
    assert [(c.name, c.kind, c.layer, c.step) for c in llama.calls] == [
        ("decoder.0", "decoder", 0, 0),
        ("decoder.1", "decoder", 1, 0),
    ]
    assert dict(llama.heads) == {"decoder.0": 6, "decoder.1": 6}
    run = llama.run(SHORT)
    assert run.inputs["decoder.0"].key.shape == (1, 2, 3, 14)  # grouped heads are recorded as the model has them


@pytest.mark.parametrize("family", FAMILIES)
def test_scaling_off_means_raw_scores(folder_of: Callable[[str], Path], family: str) -> None:
    model = load(folder_of(family))
    run = model.run(LONG, switches=Switches(scaling=False), agreement=False)
    neutral = model.run(LONG, agreement=False)
    call = run.calls[0]
    given = run.inputs[call.name]
    assert given.scale == 1.0
    assert given.own_scale == neutral.inputs[call.name].scale != 1.0
    group = given.query.shape[1] // given.key.shape[1]
    raw = torch.einsum("bhqd,bhkd->bhqk", given.query, given.key.repeat_interleave(group, dim=1))
    trace = run.trace(call)
    assert_close(trace.scaled, raw, atol=1e-4, rtol=1e-5)  # sums of at most 14 products of size up to 100
    # the first layer has the same queries whatever the scale is: the model's own scores are these times its own factor
    own = neutral.trace(neutral.calls[0]).scaled
    assert_close(raw * given.own_scale, own, atol=1e-4, rtol=1e-4)


def test_a_model_that_scales_its_queries_first_shows_raw_scores(folder_of: Callable[[str], Path]) -> None:
    run = load(folder_of("OPT")).run(LONG, agreement=False)
    given = run.inputs["decoder.0"]
    assert given.scale == pytest.approx(11**-0.5)
    reference = eager_alone(folder_of("OPT"))
    seen = []
    attention = reference.decoder.layers[0].self_attn
    hook = attention.q_proj.register_forward_hook(lambda _, __, out: seen.append(out))
    with torch.inference_mode():
        reference(input_ids=load(folder_of("OPT")).read(LONG).ids)
    hook.remove()
    unscaled = seen[0].view(1, -1, 3, 11).transpose(1, 2)
    assert_close(given.query, unscaled, atol=1e-5, rtol=1e-5)  # undone by a division that rounds once


def test_sinks_leave_a_share_of_each_row(folder_of: Callable[[str], Path]) -> None:
    run = load(folder_of("GptOss")).run(LONG)
    trace = run.trace(run.calls[1])
    assert trace.weights is not None and trace.sink_weight is not None
    assert (trace.sink_weight > 0).all()
    assert_close(trace.weights.sum(-1) + trace.sink_weight, torch.ones(1, 6, 12), atol=1e-6, rtol=0)  # float32 sum


def test_position_bias_of_t5(tiny_folder: Callable[..., Path]) -> None:
    """T5 adds a learned bias and does not scale; it is encoder and decoder, so only the attention itself is tried."""
    from transformers import T5Config, T5EncoderModel

    register()
    config = T5Config(vocab_size=23, d_model=33, d_kv=11, d_ff=37, num_heads=3, num_layers=2)
    theirs = T5EncoderModel(copy.deepcopy(config))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    ours = T5EncoderModel(copy.deepcopy(config))
    ours.load_state_dict(theirs.state_dict())
    theirs.set_attn_implementation("eager")
    ours.set_attn_implementation(IMPLEMENTATION)
    ids = torch.tensor([[1, 5, 7, 2, 9, 4, 8]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 0, 0]])
    with torch.inference_mode():
        want = theirs.eval()(input_ids=ids, attention_mask=mask, output_attentions=True)
        have = ours.eval()(input_ids=ids, attention_mask=mask, output_attentions=True)
    for a, b in zip(have.attentions, want.attentions, strict=True):
        assert_close(a[:, :, :5], b[:, :, :5], atol=1e-5, rtol=0)  # float32 roundings of weights up to 1


def test_c175_a_module_called_three_times_has_three_recordings(folder_of: Callable[[str], Path]) -> None:
    run = load(folder_of("Albert")).run(LONG)
    assert [call.layer for call in run.calls] == [0, 1, 2]
    outputs = [run.trace(call).output for call in run.calls]
    for earlier, later in ((0, 1), (1, 2), (0, 2)):
        assert (outputs[earlier] - outputs[later]).abs().max() > 1e-3
    assert run.agreement is not None and run.agreement.passed  # each against its own call of the model
