"""The device of a model: chosen, and what travels there and back.

No other hardware than the CPU is here: the choice is tested with devices said to be there, the way with torch's "meta"
device, on which a stray tensor of the CPU is an error like on any other.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.pretrained import LoadError, Switches, ablation, device, load
from attention_core.pretrained.backend import Recording
from attention_core.runs import CallInputs
from tests.core.families import DECODERS, ENCODERS, LONG, SHORT, TWO_STACKS

META = torch.device("meta")


@pytest.mark.parametrize(
    ("cuda", "mps", "wanted", "chosen"),
    [
        (True, True, "", "cuda"), (False, True, "", "mps"), (False, False, "", "cpu"), (True, True, "cpu", "cpu"),
        (True, True, " MPS ", "mps"),
    ],
)  # fmt: skip
def test_the_choice(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, wanted: str, chosen: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setenv("HEADSCOPE_DEVICE", wanted)
    assert device.choose_device() == torch.device(chosen)


@pytest.mark.parametrize("wanted", ["gpu", "cuda", "meta"])
def test_a_device_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, tiny_folder: Callable[..., Path], wanted: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setenv("HEADSCOPE_DEVICE", wanted)
    with pytest.raises(ValueError, match=rf"must name a device of this machine \(cpu\): got '{wanted}'; change it"):
        device.choose_device()
    if wanted == "gpu":
        with pytest.raises(LoadError, match="HEADSCOPE_DEVICE must name a device") as told:
            load(tiny_folder("BertForMaskedLM", **ENCODERS["BertForMaskedLM"]))
        assert told.value.code == "device"


def test_a_model_is_moved_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch, tiny_folder: Callable[..., Path]) -> None:
    moved: list[object] = []
    own = torch.nn.Module.to
    monkeypatch.setattr(torch.nn.Module, "to", lambda module, *a, **k: moved.append(a) or own(module, *a, **k))
    model = load(tiny_folder("BertForMaskedLM", **ENCODERS["BertForMaskedLM"]))
    assert (torch.device("cpu"),) in moved and model.device == torch.device("cpu")


@pytest.mark.parametrize(
    "name", ["BertForMaskedLM", "MistralForCausalLM", "OPTForCausalLM", "BartForConditionalGeneration"]
)
def test_a_whole_pass_is_on_the_device(
    monkeypatch: pytest.MonkeyPatch, tiny_folder: Callable[..., Path], name: str
) -> None:
    """Ids, masks, positions, switches and what is recorded: with one of them left behind the pass would fail."""
    sizes = {**ENCODERS, **DECODERS, **TWO_STACKS}[name]
    model = load(tiny_folder(name, specials=name in TWO_STACKS, **sizes))
    inputs, rows, _ = model._both_sides(model.read([SHORT, LONG]), None)
    far = copy.deepcopy(model._module).to(META)
    monkeypatch.setattr(model, "device", META)
    monkeypatch.setattr(device, "HOME", META)  # numbers cannot come back from there: they stay
    asked = torch.Tensor.__bool__
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda t: False if t.device == META else asked(t))  # and say nothing
    call = model.calls[-1].name
    off = Switches(
        mask="causal", window=3, heads_off=frozenset({(call, 1)}), ablation="mean", temperature=2.0, scaling=False
    )
    for switches in (Switches(), off, Switches(mask="padding-ignored")):
        record = Recording(switches, rows.real)
        outputs = model._forward(far, inputs, record)
        assert outputs.last_hidden_state.device == META
        assert outputs.last_hidden_state.shape == (2, rows.ids.shape[1], model.width)
        assert len(record.inputs) == len(model.calls)
        for given in record.inputs.values():
            assert {given.query.device, given.key.device, given.value.device, given.allowed.device} == {META}


def test_what_a_run_hands_out_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way back, from the CPU to a home elsewhere, since no numbers leave "meta"."""
    cpu = torch.device("cpu")
    monkeypatch.setattr(device, "HOME", META)
    tensor = torch.zeros(1, 2, 3, 5)
    given = CallInputs(tensor, tensor, tensor, tensor > 0, 1.0, 1.0, bias=tensor, sinks=torch.zeros(2))
    record = Recording(inputs={"encoder.0": given})
    outputs = type("Outputs", (), {"last_hidden_state": tensor, "attentions": (tensor, None)})
    back = device.home(outputs, cpu, record)
    assert back.last_hidden_state.device == META and back.attentions[0].device == META
    assert back.attentions[1] is None and not hasattr(back, "logits")
    came = record.inputs["encoder.0"]
    for name in ("query", "key", "value", "allowed", "bias", "sinks"):
        assert getattr(came, name).device == META, name
    assert (came.own_allowed, came.softcap, came.own_scale) == (None, None, 1.0)
    monkeypatch.undo()
    assert device.home(outputs, cpu, record) is outputs  # at home nothing is copied


def test_logits_come_from_the_device_of_the_weights(
    monkeypatch: pytest.MonkeyPatch, tiny_folder: Callable[..., Path]
) -> None:
    from attention_core.pretrained import heads

    model = load(tiny_folder("MistralForCausalLM", **DECODERS["MistralForCausalLM"]))
    head: Any = copy.deepcopy(model._head)
    assert head is not None
    head._rest.to(META)
    monkeypatch.setattr(heads, "HOME", META)
    assert head(torch.zeros(1, 3, model.width)).device == META


def test_means_are_exact_where_a_device_has_no_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mps:
        """Says where it is, and has no float64."""

        device = torch.device("mps")

        def cpu(self) -> torch.Tensor:
            return torch.tensor([1.5])

    assert ablation.exact(Mps()).dtype == torch.float64  # pyright: ignore[reportArgumentType]
    assert ablation.exact(torch.tensor([1.5])).dtype == torch.float64


def test_a_network_for_leak_tests_is_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, tiny_folder: Callable[..., Path]
) -> None:
    model = load(tiny_folder("BertForMaskedLM", **ENCODERS["BertForMaskedLM"]))
    weight = model._twin.get_input_embeddings().weight
    assert dict(model.network().named_parameters())["embeddings.word_embeddings.weight"] is weight
    monkeypatch.setattr(model, "device", META)
    apart = model.network("sdpa")
    assert (
        dict(apart.named_parameters())["embeddings.word_embeddings.weight"] is not weight
    )  # moved, and the model's own stay where they are
    assert {one.device for one in apart.parameters()} == {torch.device("cpu")}
