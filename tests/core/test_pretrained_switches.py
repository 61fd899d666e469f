"""Each switch does what it says, recomputed by hand on tiny random models of real families."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import masks
from attention_core.pretrained import Model, Switches, load
from attention_core.pretrained.backend import IMPLEMENTATION, Recording, attention, recording, register

SHORT, LONG = "the cat sat", "my old dog looked at the red hat and a mat there"

ROOMS: dict[str, dict[str, Any]] = {
    "Bert": {
        "specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 3, "intermediate_size": 37,
        "max_position_embeddings": 19,
    },
    "GPT2": {"n_embd": 33, "n_head": 3, "n_layer": 2, "n_positions": 19},
    "Mistral": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37, "max_position_embeddings": 19, "sliding_window": 4,
    },
    "Gemma2": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37, "max_position_embeddings": 19, "attn_logit_softcapping": 3.0,
    },
    "GptOss": {
        "hidden_size": 44, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 16, "max_position_embeddings": 19, "num_local_experts": 3, "num_experts_per_tok": 2,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def model_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Model]:
    models: dict[str, Model] = {}

    def find(family: str) -> Model:
        if family not in models:
            models[family] = load(tiny_folder(family, **ROOMS[family]))
        return models[family]

    return find


def weights(run: Any, layer: int = 0) -> Tensor:
    kept = run.trace(run.calls[layer]).weights
    assert kept is not None
    return kept


def allowed(run: Any, layer: int = 0) -> Tensor:
    given = run.inputs[run.calls[layer].name]
    return given.allowed.expand(given.query.shape[0], 1, given.query.shape[2], given.key.shape[2])


# ---------------------------------------------------------------------------------------------------------------------
# the value itself


def test_defaults_are_neutral_and_hashable() -> None:
    assert Switches().neutral
    assert Switches().describe() == []
    assert hash(Switches(scaling=False)) == hash(Switches(scaling=False))
    assert Switches(layers=frozenset({1})).neutral  # nothing to restrict
    assert Switches(scaling=False, layers=frozenset()).neutral  # no layer to act on
    assert not Switches(heads_off=frozenset({("encoder.0", 1)}), layers=frozenset()).neutral


def test_describe_names_what_differs() -> None:
    everything = Switches(
        scaling=False, scale_factor=2, mask="causal", window=3, softcap=5, temperature=0.5,
        heads_off=frozenset({("encoder.1", 0), ("encoder.0", 2)}), layers=frozenset({2, 1}),
    )  # fmt: skip
    assert everything.describe() == [
        ("scaling", False),
        ("scale_factor", 2.0),
        ("mask", "causal"),
        ("window", 3),
        ("softcap", 5.0),
        ("temperature", 0.5),
        ("heads_off", (("encoder.0", 2), ("encoder.1", 0))),
        ("layers", (1, 2)),
    ]


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"scaling": 2}, TypeError, "scaling is on .* got 2; scale_factor takes a number"),
        ({"scale_factor": math.nan}, ValueError, "scale_factor must be finite: got nan"),
        ({"scale_factor": True}, TypeError, "scale_factor must be a number: got True"),
        ({"mask": "padding"}, ValueError, "mask must be one of .*padding-ignored.*: got 'padding'"),
        ({"window": 0}, ValueError, "at least 1: got 0; None for no window"),
        ({"window": 2.5}, ValueError, "at least 1: got 2.5"),
        (
            {"softcap": 0},
            ValueError,
            "softcap must be above 0: got 0.0; None leaves the model's own, inf takes it away",
        ),
        ({"temperature": 0}, ValueError, "temperature must be above 0: got 0"),
        ({"temperature": math.inf}, ValueError, "temperature must be finite"),
        ({"heads_off": frozenset({"encoder.0"})}, ValueError, r"pairs such as \(\"encoder.0\", 3\): got 'encoder.0'"),
        ({"heads_off": frozenset({("encoder.0", -1)})}, ValueError, "heads_off takes"),
        ({"layers": frozenset({-1})}, ValueError, r"layer numbers from 0: got \[-1\]"),
    ],
)
def test_wrong_values_are_refused_with_the_remedy(wrong: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        Switches(**wrong)


def test_names_that_the_model_does_not_have(model_of: Callable[[str], Model]) -> None:
    bert = model_of("Bert")
    with pytest.raises(ValueError, match=r"got 'decoder.0'; it has \['encoder.0', 'encoder.1', 'encoder.2'\]"):
        bert.run(SHORT, switches=Switches(heads_off=frozenset({("decoder.0", 0)})))
    with pytest.raises(ValueError, match=r"heads 0 to 2 of encoder.0: got 3"):
        bert.run(SHORT, switches=Switches(heads_off=frozenset({("encoder.0", 3)})))
    with pytest.raises(ValueError, match=r"layers 0 to 2 of .*: got \[3\]"):
        bert.run(SHORT, switches=Switches(scaling=False, layers=frozenset({3})))


# ---------------------------------------------------------------------------------------------------------------------
# masks and windows


def test_window_of_an_encoder(model_of: Callable[[str], Model]) -> None:
    run = model_of("Bert").run("the cat sat", switches=Switches(window=2))  # five tokens with [CLS] and [SEP]
    assert masks.draw(allowed(run)[0, 0]) == "■■⬚⬚⬚\n■■■⬚⬚\n⬚■■■⬚\n⬚⬚■■■\n⬚⬚⬚■■"
    assert (weights(run).masked_select(~allowed(run)) == 0).all()


def test_window_of_a_decoder(model_of: Callable[[str], Model]) -> None:
    run = model_of("GPT2").run("the cat sat on a", switches=Switches(window=2))
    assert masks.draw(allowed(run)[0, 0]) == "■⬚⬚⬚⬚\n■■⬚⬚⬚\n⬚■■⬚⬚\n⬚⬚■■⬚\n⬚⬚⬚■■"


def test_causal_takes_the_future_and_keeps_the_padding_mask(model_of: Callable[[str], Model]) -> None:
    run = model_of("Bert").run(["the", "the cat sat"], switches=Switches(mask="causal"))
    assert masks.draw(allowed(run)[0, 0]) == "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n■■■⬚⬚\n■■■⬚⬚"
    assert masks.draw(allowed(run)[1, 0]) == masks.draw(masks.causal(5))


@pytest.mark.parametrize("side", ["left", "right"])
def test_mask_none_lets_everything_be_read(model_of: Callable[[str], Model], side: Any) -> None:
    for family in ("Bert", "Mistral"):
        run = model_of(family).run([SHORT, LONG], padding_side=side, switches=Switches(mask="none"))
        assert allowed(run).all()
        assert (weights(run) > 0).all()
        neutral = model_of(family).run([SHORT, LONG], padding_side=side)
        for name, given in run.inputs.items():  # what was meant is still there, so that the leak shows as one
            assert torch.equal(given.intended, neutral.inputs[name].allowed)
            assert neutral.inputs[name].intended is neutral.inputs[name].allowed


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_ignored_keeps_the_structure(model_of: Callable[[str], Model], side: Any) -> None:
    texts = ["the", "the cat sat on a mat"]
    for family, structure in (
        ("Bert", torch.ones(8, 8, dtype=torch.bool)),
        ("GPT2", masks.causal(6)),
        ("Mistral", masks.causal(6) & masks.sliding_window(6, left=3, right=0)),
    ):
        neutral = model_of(family).run(texts, padding_side=side)
        assert not torch.equal(allowed(neutral)[0, 0], structure)
        run = model_of(family).run(texts, padding_side=side, switches=Switches(mask="padding-ignored"))
        assert all(torch.equal(allowed(run, layer)[b, 0], structure) for layer in range(2) for b in range(2)), family


def test_padding_ignored_where_the_mask_is_the_callers_own(model_of: Callable[[str], Model]) -> None:
    gpt2 = model_of("GPT2")
    real = torch.tensor([[False, True, True]])
    own = real[:, None, None, :] & masks.causal(3)
    record = Recording(Switches(mask="padding-ignored"), real)
    with torch.inference_mode(), recording(record):
        gpt2._module(input_ids=torch.tensor([[0, 5, 6]]), attention_mask=own)
    assert torch.equal(record.inputs["decoder.0"].allowed[0, 0], masks.causal(3))


# ---------------------------------------------------------------------------------------------------------------------
# numbers


def test_scale_factor_multiplies_on_top(model_of: Callable[[str], Model]) -> None:
    bert = model_of("Bert")
    for scaling, scale in ((True, 11**-0.5), (False, 1.0)):
        given = bert.run(LONG, switches=Switches(scaling=scaling, scale_factor=1.5)).inputs["encoder.0"]
        assert given.scale == pytest.approx(1.5 * scale, rel=1e-12)
        assert given.own_scale == pytest.approx(11**-0.5, rel=1e-12)
    flat = bert.run(SHORT, switches=Switches(scale_factor=0))
    assert_close(weights(flat), torch.full((1, 3, 5, 5), 0.2), atol=1e-7, rtol=0)  # one float32 rounding of 1/5


@pytest.mark.parametrize("temperature", [0.5, 3.0])
@pytest.mark.parametrize("family", ["Bert", "Gemma2", "GptOss"])
def test_temperature_divides_all_that_softmax_sees(
    model_of: Callable[[str], Model], family: str, temperature: float
) -> None:
    model = model_of(family)
    neutral = model.run(LONG)
    call = neutral.calls[0]
    logits, sinks = neutral.trace(call).logits, neutral.inputs[call.name].sinks
    assert logits is not None
    if sinks is not None:
        logits = torch.cat([logits, sinks.view(1, -1, 1, 1).expand(*logits.shape[:-1], 1)], dim=-1)
    expected = torch.softmax(logits.double() / temperature, dim=-1)[..., : logits.shape[-2]]
    run = model.run(LONG, switches=Switches(temperature=temperature))
    # float32 roundings of logits up to about 40 before the exponential
    assert_close(weights(run).double(), expected, atol=1e-5, rtol=0)


def test_temperature_divides_a_position_bias_too() -> None:
    from transformers import T5Config, T5EncoderModel

    register()
    module = T5EncoderModel(T5Config(vocab_size=23, d_model=33, d_kv=11, d_ff=37, num_heads=3, num_layers=1)).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    module.set_attn_implementation(IMPLEMENTATION)
    ids = torch.tensor([[1, 5, 7, 2, 9]])
    records = [Recording(), Recording(Switches(temperature=2.0))]
    for record in records:
        with torch.inference_mode(), recording(record):
            module(input_ids=ids)
    neutral, warm = (record.inputs["encoder.0"] for record in records)
    assert neutral.bias is not None and warm.bias is not None
    assert neutral.scale == 1.0
    assert neutral.bias.abs().max() > 0.3
    logits = neutral.trace().logits
    assert logits is not None
    assert_close(warm.trace().weights, torch.softmax(logits / 2, dim=-1), atol=1e-6, rtol=0)  # float32 roundings


def test_softcap_bounds_the_scaled_scores(model_of: Callable[[str], Model]) -> None:
    bert = model_of("Bert")
    scaled = bert.run(LONG).trace(bert.calls[0]).scaled
    assert scaled is not None
    assert scaled.abs().max() > 0.7  # else the cap would have nothing to bound
    capped = bert.run(LONG, switches=Switches(softcap=0.7))
    expected = torch.softmax(0.7 * torch.tanh(scaled.double() / 0.7), dim=-1)
    assert_close(weights(capped).double(), expected, atol=1e-6, rtol=0)  # float32 roundings of logits below 1


def test_softcap_of_the_model_can_be_replaced_and_taken_away(model_of: Callable[[str], Model]) -> None:
    gemma = model_of("Gemma2")
    assert gemma.run(SHORT).inputs["decoder.0"].softcap == 3.0
    assert gemma.run(SHORT, switches=Switches(softcap=2)).inputs["decoder.0"].softcap == 2.0
    assert gemma.run(SHORT, switches=Switches(softcap=math.inf)).inputs["decoder.0"].softcap is None


def test_layers_restrict_the_switches(model_of: Callable[[str], Model]) -> None:
    bert = model_of("Bert")
    switches = Switches(scaling=False, mask="causal", window=2, temperature=2, softcap=5, layers=frozenset({1}))
    run, neutral = bert.run(LONG, switches=switches), bert.run(LONG)
    assert torch.equal(weights(run, 0), weights(neutral, 0))
    assert run.inputs["encoder.1"].scale == 0.5
    assert run.inputs["encoder.1"].softcap == 2.5
    assert torch.equal(allowed(run, 1)[0, 0], masks.causal(14) & masks.sliding_window(14, left=1, right=1))
    assert run.inputs["encoder.2"].scale == neutral.inputs["encoder.2"].scale
    assert allowed(run, 2).all()
    assert not torch.equal(weights(run, 2), weights(neutral, 2))  # it reads what layer 1 wrote


@pytest.mark.parametrize(
    ("family", "projection"),
    [("Bert", "encoder.layer.1.attention.output.dense"), ("GptOss", "layers.1.self_attn.o_proj")],
)
def test_head_off_equals_zeroed_columns_of_the_output_projection(
    model_of: Callable[[str], Model], family: str, projection: str
) -> None:
    model = model_of(family)
    name, heads = model.calls[1].name, (0, 2)
    run = model.run(LONG, switches=Switches(heads_off=frozenset((name, head) for head in heads)))
    by_hand = copy.deepcopy(model._twin)
    matrix = by_hand.get_submodule(projection).weight  # (d_model, heads * d_v)
    width = matrix.shape[1] // model.heads[name]
    with torch.no_grad():
        for head in heads:
            matrix[:, head * width : (head + 1) * width] = 0
    with torch.inference_mode():
        expected = by_hand(**model._inputs(model.read(LONG))).last_hidden_state
    assert_close(run.output, expected, atol=1e-4, rtol=1e-4)  # sums of some forty terms of size 1 to 10
    assert (run.output - model.run(LONG).output).abs().max() > 0.01
    assert torch.equal(weights(run, 1), weights(model.run(LONG), 1))  # the weights of a head that is off stay on show
    assert run.heads_off == {(name, 0), (name, 2)}


def test_recorded_tensors_are_nobody_elses() -> None:
    generator = torch.Generator().manual_seed(11)
    query, key, value = (torch.randn(2, 3, 5, 7, generator=generator).requires_grad_() for _ in range(3))
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    record = Recording()
    with recording(record):
        attention(torch.nn.Identity(), query, key, value, mask)
    given = record.inputs["encoder.0"]
    before = given.trace().weights
    with torch.no_grad():
        for tensor in (query, key, value):
            tensor.zero_()
    mask.zero_()
    after = given.trace().weights
    assert before is not None and after is not None
    assert torch.equal(before, after)
    assert given.allowed.all()
    assert not any(t.requires_grad for t in (given.query, given.key, given.value))


def test_training_is_refused() -> None:
    x = torch.ones(1, 1, 2, 3)
    with pytest.raises(RuntimeError, match=r"dropout must be 0: got 0.1; call model.eval\(\)"):
        attention(torch.nn.Identity(), x, x, x, None, dropout=0.1)
