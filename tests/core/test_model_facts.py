"""What a model runs on by default, and what its attention has of its own, read off its calls."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.diagnostics import row_checks
from attention_core.pretrained import Model, Switches, load
from attention_core.pretrained.agreement import attentions_of
from attention_core.pretrained.facts import Fact, facts_of
from tests.core.families import DECODERS, ENCODERS, LONG, LONG_TARGET, SHORT, SHORT_TARGET, TWO_STACKS

RECORDED: dict[str, dict[str, Any]] = {
    "BloomForCausalLM": {"hidden_size": 36, "n_head": 3, "n_layer": 2, "bos_token_id": 2, "eos_token_id": 3},
    "GPTNeoForCausalLM": {
        "hidden_size": 36, "num_heads": 3, "num_layers": 2, "attention_types": [[["global", "local"], 1]],
        "window_size": 4, "max_position_embeddings": 31, "bos_token_id": 2, "eos_token_id": 3,
    },
    "FalconForCausalLM": {
        "hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2, "bos_token_id": 2, "eos_token_id": 3,
    },
    "SqueezeBertModel": {
        "hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 36,
        "embedding_size": 36, "q_groups": 1, "k_groups": 1, "v_groups": 1, "post_attention_groups": 1,
        "intermediate_groups": 1, "output_groups": 1,
    },
}  # fmt: skip
SIZES: Mapping[str, dict[str, Any]] = {**ENCODERS, **DECODERS, **TWO_STACKS, **RECORDED}


@pytest.fixture(scope="module")
def model(tiny_folder: Callable[..., Path]) -> Callable[[str], Model]:
    made: dict[str, Model] = {}

    def get(name: str) -> Model:
        if name not in made:
            made[name] = load(tiny_folder(name, specials=name in TWO_STACKS, **SIZES[name]))
        return made[name]

    return get


def run(model: Model, text: Any = LONG, **options: Any) -> Any:
    if model.kind == "encoder-decoder":
        options["target"] = LONG_TARGET if isinstance(text, str) else [SHORT_TARGET, LONG_TARGET]
    return model.run(text, **options)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("BertForMaskedLM", "sdpa"), ("OPTForCausalLM", "sdpa"), ("T5ForConditionalGeneration", "sdpa"),
        ("BartForConditionalGeneration", "sdpa"), ("Gemma2ForCausalLM", "eager"), ("GptOssForCausalLM", "eager"),
        ("BloomForCausalLM", "eager"),
    ],
)  # fmt: skip
def test_the_default_is_what_transformers_takes_by_itself(
    model: Callable[[str], Model], tiny_folder: Callable[..., Path], name: str, default: str
) -> None:
    import transformers

    found = model(name)
    folder = Path(found.name)
    alone = getattr(transformers, name).from_pretrained(folder, dtype=torch.float32).eval()
    assert alone.config._attn_implementation == default
    made = run(found, [SHORT, LONG], padding_side="left")
    assert made.agreement is not None and made.agreement.default == default
    apart = made.agreement.default_output
    # the same formulas in another order, a few float32 roundings of outputs up to 10
    assert apart is not None and 0 <= apart < 1e-4
    states = alone.base_model if hasattr(alone, "base_model") else alone
    if found.kind == "encoder-decoder":
        return
    batch = found.read([SHORT, LONG], padding_side="left")
    with torch.inference_mode():
        theirs = states(**found._inputs(batch), use_cache=False) if found.kind == "decoder" else states(
            **found._inputs(batch)
        )  # fmt: skip
    want = float((theirs.last_hidden_state - made.output)[batch.real].abs().max())
    assert apart == pytest.approx(want, abs=2e-6)  # kernels may cut the same sums into other blocks


def test_the_default_is_measured_where_it_differs(model: Callable[[str], Model]) -> None:
    found = model("BertForMaskedLM")
    made = found.run("a red hat")
    assert made.agreement is not None and made.agreement.default_output is not None
    with torch.inference_mode():  # a default that is not the model shows
        found._agreements.default._on_default().encoder.layer[0].attention.self.scaling = 7.0
    other = found.run("a red dog")
    found._agreements.default._on_default().encoder.layer[0].attention.self.scaling = 12**-0.5
    assert other.agreement is not None and other.agreement.passed
    assert other.agreement.default_output is not None and other.agreement.default_output > 1e-2
    assert found.run("a red hat", agreement=False).agreement is None


def test_a_default_that_is_chosen_while_a_model_is_built_is_named_and_not_measured(
    model: Callable[[str], Model],
) -> None:
    agreement = model("FalconForCausalLM").run(LONG).agreement
    assert agreement is not None and agreement.passed
    assert (agreement.default, agreement.default_output) == ("sdpa", None)


def test_scores_under_the_name_of_maps_are_compared_as_what_they_are(model: Callable[[str], Model]) -> None:
    agreement = model("SqueezeBertModel").run([SHORT, LONG]).agreement
    assert agreement is not None and agreement.passed
    scores = torch.tensor([[[[1.0, 2.0, -1.0]]]])
    outputs = type("Outputs", (), {"attentions": (scores,)})
    torch.testing.assert_close(attentions_of(outputs, "SqueezeBertModel")[0], scores.softmax(-1))
    assert attentions_of(outputs, "BertModel")[0] is scores


FACTS: dict[str, list[Fact]] = {
    "BertForMaskedLM": [],
    "BartForConditionalGeneration": [],
    "FalconForCausalLM": [],
    "OPTForCausalLM": [Fact("pre_scaled", ("decoder.0", "decoder.1"))],
    "ModernBertForMaskedLM": [Fact("window", ("encoder.1", "encoder.2"), 3)],  # 2 to each side, and its own
    "MistralForCausalLM": [Fact("window", ("decoder.0", "decoder.1"), 4)],
    "Gemma2ForCausalLM": [
        Fact("softcap", ("decoder.0", "decoder.1"), 3.0), Fact("window", ("decoder.0",), 4),
    ],
    "GptOssForCausalLM": [Fact("sinks", ("decoder.0", "decoder.1")), Fact("window", ("decoder.0",), 4)],
    "T5ForConditionalGeneration": [
        Fact("unscaled", ("encoder.0", "encoder.1", "decoder.0", "cross.0", "decoder.1", "cross.1")),
        Fact("relative", ("encoder.0", "encoder.1", "decoder.0", "decoder.1")),  # nothing is added across
    ],
    "BloomForCausalLM": [Fact("alibi", ("decoder.0", "decoder.1"))],
    "GPTNeoForCausalLM": [Fact("factor_unseen", ("decoder.0", "decoder.1")), Fact("window", ("decoder.1",), 4)],
}  # fmt: skip
SCALING = {
    "OPTForCausalLM": "queries", "T5ForConditionalGeneration": "none", "GPTNeoForCausalLM": "unknown",
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_what_a_model_has_of_its_own(model: Callable[[str], Model], name: str) -> None:
    found = model(name)
    assert found.scaling == SCALING.get(name, "scores")
    recorded = not found.switchable
    for made in (run(found), run(found, [SHORT, LONG]), run(found, [SHORT, LONG], padding_side="left")):
        assert list(facts_of(made, recorded=recorded)) == FACTS[name]


def test_a_text_within_the_window_does_not_show_it(model: Callable[[str], Model]) -> None:
    found = model("MistralForCausalLM")
    assert facts_of(found.run("the cat sat on")) == ()
    assert [fact.code for fact in facts_of(found.run("the cat sat on a"))] == ["window"]


def test_other_forms_are_called_by_no_other_name(model: Callable[[str], Model]) -> None:
    made = model("MistralForCausalLM").run(LONG)
    given = made.inputs["decoder.0"]
    holes = given.allowed.clone()
    holes[..., 6, 5] = False
    bias = torch.randn(1, 6, 12, 12, generator=torch.Generator().manual_seed(3))
    odd = replace(made, inputs={name: replace(given, allowed=holes, bias=bias) for name in made.inputs})
    assert [fact.code for fact in facts_of(odd)] == ["sparse", "bias"]
    two = model("T5ForConditionalGeneration").run("hat", target="hat")
    assert "alibi" not in [fact.code for fact in facts_of(two)]  # three keys of any bias might lie on a line


def test_pre_scaled_queries_are_raw_here_and_scaling_off_removes_the_factor(model: Callable[[str], Model]) -> None:
    found = model("OPTForCausalLM")
    own, off = found.run(LONG), found.run(LONG, switches=Switches(scaling=False))
    given, changed = own.inputs["decoder.0"], off.inputs["decoder.0"]
    assert given.pre_scaled and changed.pre_scaled and not model("BertForMaskedLM").run(LONG).inputs[
        "encoder.0"
    ].pre_scaled  # fmt: skip
    assert given.scale == given.own_scale == changed.own_scale == 12**-0.5 and changed.scale == 1.0
    torch.testing.assert_close(given.query, changed.query)
    assert not torch.allclose(own.output, off.output, atol=1e-2)


def test_scaling_off_changes_nothing_without_a_factor(model: Callable[[str], Model]) -> None:
    found = model("T5ForConditionalGeneration")
    own, off = (run(found, switches=switches) for switches in (Switches(), Switches(scaling=False)))
    assert torch.equal(own.output, off.output)


def test_rows_with_a_sink_pass_the_check_of_their_sums(model: Callable[[str], Model]) -> None:
    made = model("GptOssForCausalLM").run(LONG)
    for call in made.calls:
        trace = made.trace(call)
        assert trace.weights is not None
        assert (trace.weights.sum(-1) < 0.999).any()
        checks = {check.code: check.status for check in row_checks(trace, intended=made.inputs[call.name].intended)}
        assert checks["row_sums"] == "passed" and "failed" not in checks.values()
