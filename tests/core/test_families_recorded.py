"""Families that compute attention in code of their own: recorded, named as such, in agreement with their own maps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import LoadError, Model, Switches, load

SHORT, LONG = "the cat sat", "my old dog looked at the red hat"
ENDS = {"bos_token_id": 2, "eos_token_id": 3}
TOWER: dict[str, Any] = {
    "hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 37,
    "max_position_embeddings": 29,
}  # fmt: skip
GPT: dict[str, Any] = {"hidden_size": 36, "n_head": 3, "n_layer": 2, **ENDS}
FALCON: dict[str, Any] = {"hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 2, **ENDS}

RECORDED: dict[str, tuple[str, dict[str, Any]]] = {
    "BLOOM": ("BloomForCausalLM", GPT),  # ALiBi
    "MPT": ("MptForCausalLM", {"d_model": 36, "n_heads": 3, "n_layers": 2, "max_seq_len": 29, "expansion_ratio": 2}),
    "GPT-Neo": (  # no scaling, every second layer a window
        "GPTNeoForCausalLM",
        {"hidden_size": 36, "num_heads": 3, "num_layers": 2, "attention_types": [[["global", "local"], 1]],
         "window_size": 4, "max_position_embeddings": 29, **ENDS},
    ),
    "Falcon": ("FalconForCausalLM", {**FALCON, "multi_query": True}),
    "Falcon, grouped": ("FalconForCausalLM", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "DeBERTa": ("DebertaForMaskedLM", {**TOWER, "relative_attention": True, "pos_att_type": "c2p|p2c"}),
    "DeBERTa-v2": (
        "DebertaV2ForMaskedLM",
        {**TOWER, "relative_attention": True, "position_buckets": 4, "pos_att_type": "c2p|p2c", "share_att_key": True},
    ),
    "MPNet": ("MPNetForMaskedLM", TOWER),
    "XLNet": ("XLNetLMHeadModel", {"d_model": 36, "n_head": 3, "n_layer": 2, "d_inner": 37, **ENDS}),
    "XGLM": (  # heads folded into the batch
        "XGLMForCausalLM",
        {"d_model": 36, "attention_heads": 3, "num_layers": 2, "ffn_dim": 37, "max_position_embeddings": 29, **ENDS},
    ),
    "MegatronBERT": ("MegatronBertForMaskedLM", TOWER),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Path]:
    folders: dict[str, Path] = {}

    def find(family: str) -> Path:
        if family not in folders:
            name, sizes = RECORDED[family]
            folders[family] = tiny_folder(name, **sizes)
        return folders[family]

    return find


@pytest.mark.parametrize("family", RECORDED)
def test_what_is_recorded_is_what_the_model_computes(folder_of: Callable[[str], Path], family: str) -> None:
    import transformers

    model = load(folder_of(family))
    assert not model.switchable and type(model._module).__name__ in (model.reason or "")
    whole = getattr(transformers, RECORDED[family][0])
    eager = whole.from_pretrained(folder_of(family), attn_implementation="eager").eval().base_model
    for side in ("right", "left"):
        run = model.run([SHORT, LONG], padding_side=side)
        batch = model.read([SHORT, LONG], padding_side=side)
        with torch.inference_mode():
            theirs = eager(**model._inputs(batch), output_attentions=True)
        assert len(run.calls) == len(theirs.attentions) == 2
        for call, weights in zip(run.calls, theirs.attentions, strict=True):
            trace = run.trace(call)
            assert trace.weights is not None and trace.logits is not None and trace.scaled is not None
            # the same formulas in another order: a few float32 roundings of numbers up to 1
            rows = batch.real
            assert_close(trace.weights.movedim(1, 2)[rows], weights.movedim(1, 2)[rows], atol=1e-5, rtol=0)
            assert weights.movedim(1, 2)[rows].std() > 0.05  # nothing uniform, where a lost part would not show
            assert not weights.movedim(1, 2)[rows][..., :].isnan().any()
            hidden = ~trace.allowed.expand_as(trace.weights)
            assert (trace.weights[hidden] == 0).all()
            assert hidden[0, :, batch.real[0]][..., ~batch.real[0]].all()  # the filler is told apart from what is far
        assert_close(run.output[batch.real], theirs.last_hidden_state[batch.real], atol=1e-5, rtol=1e-5)
        assert run.agreement is not None and run.agreement.passed


def test_stages_hold_what_each_family_adds(folder_of: Callable[[str], Path]) -> None:
    bloom = load(folder_of("BLOOM")).run(LONG)
    bias = bloom.inputs["decoder.0"].bias
    assert bias is not None
    steps = bias[0, 0, -1].diff()  # ALiBi: one step per key, of the head's own slope
    assert_close(steps, steps[:1].expand_as(steps), atol=1e-5, rtol=0)  # a difference of logits up to 50
    assert steps[0] > 0
    neo = load(folder_of("GPT-Neo")).run(LONG)
    first, second = (neo.inputs[call.name] for call in neo.calls)
    assert (first.scale, first.bias) == (1.0, None)
    causal = torch.ones(8, 8).tril().bool()
    assert torch.equal(first.allowed.expand(1, 3, 8, 8)[0, 0], causal)
    assert torch.equal(second.allowed.expand(1, 3, 8, 8)[0, 0], causal & ~causal.tril(-4))
    mpnet = load(folder_of("MPNet")).run(LONG)
    assert mpnet.inputs["encoder.0"].bias is not None
    assert mpnet.inputs["encoder.0"].scale == pytest.approx(12**-0.5)


def test_kinds_and_tasks(folder_of: Callable[[str], Path]) -> None:
    bloom, xlnet, mpnet = (load(folder_of(family)) for family in ("BLOOM", "XLNet", "MPNet"))
    assert [call.name for call in bloom.calls] == ["decoder.0", "decoder.1"]
    assert bloom.task == "next-token" and bloom.head(bloom.run(SHORT).output).shape == (1, 3, 23)
    assert (xlnet.kind, xlnet.task) == ("encoder", "none")  # its tokens see what follows: there is nothing to foretell
    assert (mpnet.kind, mpnet.task) == ("encoder", "fill-mask")
    assert [call.name for call in bloom.run("the").calls] == ["decoder.0", "decoder.1"]  # one token tells nothing


@pytest.mark.parametrize(
    "switches",
    [
        Switches(scaling=False),
        Switches(mask="none"),
        Switches(temperature=2.0),
        Switches(heads_off=frozenset({("decoder.0", 1)})),
    ],
)
def test_switches_are_refused(folder_of: Callable[[str], Path], switches: Switches) -> None:
    model = load(folder_of("BLOOM"))
    with pytest.raises(ValueError, match="switches need attention that runs through ours: BloomModel computes"):
        model.run(SHORT, switches=switches)
    with pytest.raises(ValueError, match="switches need attention that runs through ours"):
        model.outputs(model.read(SHORT).ids, switches=switches)
    assert torch.equal(model.outputs(model.read(SHORT).ids), model.run(SHORT).output)


def test_models_that_run_ours_say_so(minilm: Model) -> None:
    assert minilm.switchable and minilm.reason is None


def test_a_model_without_a_call_that_can_be_seen_is_refused(tiny_folder: Callable[..., Path]) -> None:
    folder = tiny_folder("MambaForCausalLM", hidden_size=24, num_hidden_layers=1, **ENDS)
    with pytest.raises(LoadError, match=r"must make attention calls that can be seen: .* made none") as caught:
        load(folder)
    assert caught.value.code == "unsupported"


def test_a_model_that_pools_its_tokens_is_refused(tiny_folder: Callable[..., Path]) -> None:
    sizes = {"d_model": 36, "n_head": 3, "d_head": 12, "d_inner": 37, "block_sizes": [1, 1]}
    with pytest.raises(LoadError, match="FunnelModel does not") as caught:
        load(tiny_folder("FunnelForMaskedLM", **sizes))
    assert caught.value.code == "unsupported"


def test_a_model_whose_factors_are_a_matrix_is_refused(tiny_folder: Callable[..., Path]) -> None:
    folder = tiny_folder("OpenAIGPTLMHeadModel", n_embd=36, n_head=3, n_layer=1, n_positions=29)
    with pytest.raises(LoadError, match=r"computed from must be readable: .* a tensor of factors; load another model"):
        load(folder)
