"""The head map equals what switching off one head at a time gives, whether passes start in the middle or not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core.pretrained import Model, Switches, answers, load, resuming
from attention_core.pretrained import head_map as mapping
from attention_core.pretrained.head_map import HeadMapping, Measure, head_map, measures_of

TEXT = "my old dog looked at the red hat"
SIZES = {"hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 3, "intermediate_size": 37}
ROOMS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": {"specials": True, **SIZES},
    "Bert": {"specials": True, **SIZES},
    "LlamaForCausalLM": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 3,
        "intermediate_size": 37,
    },
    "GPT2LMHeadModel": {"n_embd": 33, "n_head": 3, "n_layer": 2, "n_positions": 19, "bos_token_id": 1},
    "Gemma2ForCausalLM": {
        "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 2,
        "intermediate_size": 37,
    },
    "DistilBert": {"specials": True, "dim": 33, "n_heads": 3, "n_layers": 3, "hidden_dim": 37},
    "Albert": {"specials": True, "embedding_size": 11, **SIZES},
}  # fmt: skip


@pytest.fixture(scope="module")
def model_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Model]:
    models: dict[str, Model] = {}

    def find(family: str) -> Model:
        if family not in models:
            models[family] = load(tiny_folder(family, **ROOMS[family]))
        return models[family]

    return find


def one_by_one(model: Model, text: str, effect: Callable[[Tensor], Tensor], switches: Switches) -> Tensor:
    """(calls, heads): a whole run for each head."""
    rows = []
    for call in model.calls:
        row = []
        for head in range(model.heads[call.name]):
            off = switches.heads_off | {(call.name, head)}
            again = Switches(scaling=switches.scaling, ablation=switches.ablation, heads_off=off)
            row.append(effect(model.run(text, switches=again, agreement=False).output))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def relative_change(before: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda after: (after - before).double().norm() / before.double().norm()


@pytest.mark.parametrize("family", list(ROOMS))
@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_a_map_equals_one_run_per_head(model_of: Callable[[str], Model], family: str, ablation: Any) -> None:
    model = model_of(family)
    switches = Switches(ablation=ablation)
    found = head_map(model, TEXT, measure="output", switches=switches)
    before = model.run(TEXT, agreement=False).output
    want = one_by_one(model, TEXT, relative_change(before), switches)
    # float32 roundings of sums in matrices of another height, beside effects of 0.01 to 1
    assert_close(found.values, want, atol=1e-5, rtol=1e-4)
    assert (want > 1e-3).all()
    assert found.calls == model.calls
    assert found.resumed == (family != "Albert")  # whose one block runs for every layer


def test_other_switches_and_heads_stay_as_they_are(model_of: Callable[[str], Model]) -> None:
    model = model_of("Bert")
    switches = Switches(scaling=False, heads_off=frozenset({("encoder.1", 2)}))
    found = head_map(model, TEXT, measure="output", switches=switches)
    before = model.run(TEXT, switches=switches, agreement=False).output
    assert_close(found.values, one_by_one(model, TEXT, relative_change(before), switches), atol=1e-5, rtol=1e-4)
    assert found.values[1, 2] < 1e-6  # it is off already: only float32 roundings are left
    neutral = head_map(model, TEXT, measure="output")
    assert (found.values - neutral.values).abs().max() > 0.01


def effect_on_words(model: Model, text: str, measure: Measure) -> Callable[[Tensor], Tensor]:
    """The measures of a model with a head, written once more over the whole text at once."""
    batch = model.read(text)
    before = model.run(text, agreement=False).output

    def divergence(after: Tensor) -> Tensor:
        first, second = (torch.log_softmax(model.head(hidden).double(), -1) for hidden in (before, after))
        return torch.nn.functional.kl_div(second, first, reduction="none", log_target=True).sum(-1)[0]

    def surprise(hidden: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(model.head(hidden)[0, :-1].double(), batch.ids[0, 1:])

    if measure == "nll":
        return lambda after: surprise(after) - surprise(before)
    if measure == "kl-mean":
        return lambda after: divergence(after).mean()
    places = [i for i, t in enumerate(batch.tokens[0]) if t.label == "[MASK]"] if measure == "kl-masked" else [-1]
    return lambda after: divergence(after)[places].mean()


@pytest.mark.parametrize(
    ("family", "measure", "text"),
    [
        ("LlamaForCausalLM", "kl-last", TEXT),
        ("LlamaForCausalLM", "kl-mean", TEXT),
        ("LlamaForCausalLM", "nll", TEXT),
        ("BertForMaskedLM", "kl-masked", "the [MASK] sat on a [MASK]"),
        ("BertForMaskedLM", "kl-mean", TEXT),
    ],
)
def test_measures_of_words(model_of: Callable[[str], Model], family: str, measure: Measure, text: str) -> None:
    model = model_of(family)
    found = head_map(model, text, measure=measure)
    want = one_by_one(model, text, effect_on_words(model, text, measure), Switches())
    assert_close(found.values, want, atol=2e-5, rtol=1e-3)  # float32 roundings of logits, before the exponential
    assert want.abs().max() > 0.01


def test_the_measure_of_embeddings(minilm: Model) -> None:
    text = "a red hat"
    found = []
    for effects in HeadMapping(minilm, text, measure="embedding"):
        found.append(effects)
        if len(found) == 2:
            break  # cancelled: nothing else runs
    own = minilm.run(text, agreement=False).answer
    assert own is not None
    for layer, effects in enumerate(found):
        assert (effects.call.name, effects.heads) == (f"encoder.{layer}", tuple(range(12)))
        assert (effects.done, effects.total) == (12 * (layer + 1), 72)
    for head in (0, 7):
        off = Switches(heads_off=frozenset({("encoder.1", head)}))
        answer = minilm.run(text, switches=off, agreement=False).answer
        assert answer is not None
        want = 1 - torch.nn.functional.cosine_similarity(own.values.double(), answer.values.double())
        assert found[1].values[head].item() == pytest.approx(want.item(), abs=1e-6)  # float32 roundings
    for part in minilm._module.modules():  # the copy listens, the model itself does not
        assert "forward" not in vars(part)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_heads_in_batches_of_any_size(
    model_of: Callable[[str], Model], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    model = model_of("LlamaForCausalLM")
    whole = head_map(model, TEXT, measure="output")
    monkeypatch.setattr(mapping, "TOKENS_AT_ONCE", at_once * 8)
    told: list[tuple[int, int]] = []
    found = head_map(model, TEXT, measure="output", progress=lambda done, total: told.append((done, total)))
    assert_close(found.values, whole.values, atol=1e-6, rtol=1e-5)  # matrices of another height
    batches = -(-6 // at_once)
    assert len(told) == 3 * batches
    assert told[-1] == (18, 18)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_passes_from_the_middle_run_only_what_is_above(model_of: Callable[[str], Model]) -> None:
    model = model_of("LlamaForCausalLM")
    batch = model.read(TEXT)
    passes = resuming.Resumable(model, model._inputs(batch), batch.real, Switches())
    assert passes.resumes
    ran: list[int] = []
    for index, layer in enumerate(passes._module.layers):
        layer.self_attn.register_forward_pre_hook(lambda *_, index=index: ran.append(index))
    for index, call in enumerate(model.calls):
        ran.clear()
        passes.run(call, torch.zeros(2, 6, dtype=torch.bool))
        assert ran == list(range(index, 3))


def test_what_cannot_be_resumed_runs_whole(model_of: Callable[[str], Model], monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("LlamaForCausalLM")
    resumed = head_map(model, TEXT, measure="output")
    monkeypatch.setattr(resuming, "TOLERANCE", -1.0)  # no two passes are alike
    whole = head_map(model, TEXT, measure="output")
    assert resumed.resumed and not whole.resumed
    assert_close(whole.values, resumed.values, atol=1e-6, rtol=1e-5)  # matrices of another height
    monkeypatch.setattr(resuming, "TOLERANCE", 1e9)  # any two are
    assert not head_map(model_of("Albert"), TEXT, measure="output").resumed  # one block for all layers: not even tried


def test_what_can_be_measured_depends_on_the_model(model_of: Callable[[str], Model], minilm: Model) -> None:
    assert measures_of(model_of("LlamaForCausalLM"))[0] == "kl-last"
    assert measures_of(model_of("BertForMaskedLM"))[0] == "kl-masked"
    assert measures_of(minilm) == ("embedding", "output")
    assert measures_of(model_of("Bert")) == ("output",)
    with pytest.raises(ValueError, match=r"is one of \('output',\): got 'nll'"):
        HeadMapping(model_of("Bert"), TEXT, measure="nll")
    with pytest.raises(ValueError, match="needs one in the text: got none; type the model's mask token"):
        HeadMapping(model_of("BertForMaskedLM"), TEXT, measure="kl-masked")
    with pytest.raises(ValueError, match="needs two tokens, one to foretell: got 1"):
        HeadMapping(model_of("LlamaForCausalLM"), "the", measure="nll")
    with pytest.raises(ValueError, match="heads_off names calls of"):
        HeadMapping(minilm, TEXT, measure="output", switches=Switches(heads_off=frozenset({("decoder.0", 0)})))


def test_words_are_written_as_they_stand_in_a_text(model_of: Callable[[str], Model], minilm: Model) -> None:
    assert minilm.written(2003) == "is"
    assert minilm.written(2075) == "##ing"  # no word of its own, and it says so
    assert minilm.written(10**6) == "[1000000]"
    assert minilm.mask_id == 103
    assert model_of("BertForMaskedLM").mask_id == 4
    assert answers.masked_positions(minilm.read("the [MASK] sat").tokens[0], minilm.mask_id) == [2]
