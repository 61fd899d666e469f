"""Heads replaced by nothing or by their mean, a mask drawn by hand, and rows of a batch with heads of their own off."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import masks
from attention_core.pretrained import Model, Switches, load
from attention_core.pretrained.ablation import heads_off_in, mean_output, without_heads
from attention_core.pretrained.backend import Recording, attention, recording
from attention_core.scratch_config import ControlError

BERT: dict[str, Any] = {
    "specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 37,
    "max_position_embeddings": 19,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 14, "num_hidden_layers": 3,
    "intermediate_size": 37, "max_position_embeddings": 19,
}  # fmt: skip
LONG = "my old dog looked at the red hat and a mat there"
DRAWN = "11000/01000/10100/11010/00001"


@pytest.fixture(scope="module")
def bert(tiny_folder: Callable[..., Path]) -> Model:
    return load(tiny_folder("Bert", **BERT))


@pytest.fixture(scope="module")
def llama(tiny_folder: Callable[..., Path]) -> Model:
    return load(tiny_folder("Llama", **LLAMA))


def output_of(batch: int = 2, heads: int = 3, q_len: int = 5, d_v: int = 7) -> Tensor:
    return torch.randn(batch, heads, q_len, d_v, generator=torch.Generator().manual_seed(1))


# ---------------------------------------------------------------------------------------------------------------------
# the mean


def test_mean_by_hand() -> None:
    output = torch.tensor([1.0, 3.0, 8.0, 100.0]).view(1, 1, 4, 1)
    real = torch.tensor([[True, True, True, False]])
    assert mean_output(output, real=real, looks_back=False).flatten().tolist() == [4.0]
    assert mean_output(output, real=real, looks_back=True).flatten().tolist() == [1.0, 2.0, 4.0, 4.0]
    left = torch.tensor([[False, True, True, True]])
    assert mean_output(output, real=left, looks_back=True).flatten().tolist() == [0.0, 3.0, 5.5, 37.0]
    assert mean_output(output, real=None, looks_back=False).flatten().tolist() == [28.0]


def test_only_the_heads_that_are_off_are_replaced_row_by_row() -> None:
    output = output_of()
    off = torch.tensor([[True, False, False], [False, False, True]])
    found = without_heads(output, off, ablation="mean", real=None, looks_back=False)
    want = output.clone()
    want[0, 0], want[1, 2] = output[0, 0].mean(0, keepdim=True), output[1, 2].mean(0, keepdim=True)
    assert_close(found, want, atol=1e-6, rtol=0)  # the mean is summed in float64 here
    zeroed = without_heads(output, off, ablation="zero", real=None, looks_back=False)
    want[0, 0], want[1, 2] = 0.0, 0.0
    assert torch.equal(zeroed, want)
    assert without_heads(output, None, ablation="mean", real=None, looks_back=True) is output
    assert heads_off_in(Switches(heads_off=frozenset({("encoder.1", 2)})), "encoder.0", 3) is None


def test_what_is_not_a_number_at_padding_does_no_harm() -> None:
    output = output_of()
    output[:, :, 4] = torch.nan
    real = torch.tensor([[True, True, True, True, False]] * 2)
    off = torch.ones(1, 3, dtype=torch.bool)
    found = without_heads(output, off, ablation="mean", real=real, looks_back=True)
    assert found.isfinite().all()
    assert_close(found[:, :, 3], output[:, :, :4].mean(2), atol=1e-6, rtol=0)  # float32 roundings


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_mean_ablated_equals_the_columns_of_the_projection_on_the_mean(
    family: str, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(family)
    name, head, layer = model.calls[1].name, 2, 1
    run = model.run([LONG, "the cat"], switches=Switches(heads_off=frozenset({(name, head)}), ablation="mean"))
    neutral = model.run([LONG, "the cat"])
    real = torch.tensor([[not token.padding for token in sample] for sample in neutral.tokens["self"]])
    by_hand = copy.deepcopy(model._twin)
    path = "encoder.layer.1.attention.output.dense" if family == "bert" else "layers.1.self_attn.o_proj"
    projection = by_hand.get_submodule(path)
    own = neutral.trace(neutral.calls[layer]).output[:, head]  # (batch, q_len, d_v)
    width = own.shape[-1]
    mean = own.clone()
    for sample, kept in enumerate(real):
        for place in range(len(kept)):
            seen = kept.clone()
            if family == "llama":
                seen[place + 1 :] = False
            if seen.any():
                mean[sample, place] = own[sample, seen].mean(0)

    def replace(_: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        states = given[0].clone()
        states[..., head * width : (head + 1) * width] = mean
        return (states, *given[1:])

    projection.register_forward_pre_hook(replace)
    with torch.inference_mode():
        expected = by_hand(**model._inputs(model.read([LONG, "the cat"]))).last_hidden_state
    assert_close(run.output[real], expected[real], atol=1e-4, rtol=1e-4)  # sums of some forty terms of size 1 to 10
    assert (run.output - neutral.output)[real].abs().max() > 0.01
    zeroed = model.run([LONG, "the cat"], switches=Switches(heads_off=frozenset({(name, head)})))
    assert (run.output - zeroed.output)[real].abs().max() > 0.01


def test_a_mean_in_a_decoder_knows_nothing_of_the_future(llama: Model) -> None:
    switches = Switches(heads_off=frozenset((c.name, h) for c in llama.calls for h in (0, 3)), ablation="mean")
    whole = llama.run(LONG, switches=switches).output
    part = llama.run(" ".join(LONG.split()[:5]), switches=switches).output
    assert_close(whole[:, :5], part, atol=1e-4, rtol=1e-4)  # float32 roundings of matrices of another height


def test_padding_changes_no_mean(bert: Model) -> None:
    switches = Switches(heads_off=frozenset({("encoder.0", 1), ("encoder.1", 2)}), ablation="mean")
    alone = bert.run("the cat", switches=switches).output
    for side, place in (("right", slice(0, 4)), ("left", slice(-4, None))):
        padded = bert.run(["the cat", LONG], padding_side=side, switches=switches).output  # type: ignore[arg-type]
        assert_close(padded[:1, place], alone, atol=1e-4, rtol=1e-4)  # float32 roundings of longer sums


# ---------------------------------------------------------------------------------------------------------------------
# a drawn mask


def test_the_mask_that_is_drawn_is_the_mask_that_acts(bert: Model) -> None:
    run = bert.run("the cat sat", switches=Switches(mask="custom", mask_rows=DRAWN))
    for call in run.calls:
        given, weights = run.inputs[call.name], run.trace(call).weights
        assert weights is not None
        assert masks.draw(given.allowed[0, 0]).translate(str.maketrans("■⬚\n", "10/")) == DRAWN
        assert torch.equal(weights > 0, given.allowed.expand_as(weights))
        assert given.intended.all()  # what the model itself allows is still there, so that what is lost shows
    assert run.agreement is not None and run.agreement.passed  # of the neutral run


def test_a_drawn_mask_acts_in_the_chosen_layers_and_below_a_window(llama: Model) -> None:
    rows = "111/111/111"
    run = llama.run("the cat sat", switches=Switches(mask="custom", mask_rows=rows, window=2, layers=frozenset({1})))
    drawn = [masks.draw(run.inputs[call.name].allowed[0, 0]) for call in run.calls]
    assert drawn == ["■⬚⬚\n■■⬚\n■■■", "■⬚⬚\n■■⬚\n⬚■■", "■⬚⬚\n■■⬚\n■■■"]
    opened = llama.run("the cat sat", switches=Switches(mask="custom", mask_rows=rows))
    assert all(given.allowed.all() for given in opened.inputs.values())


def test_a_drawn_mask_of_another_size_is_refused(bert: Model) -> None:
    switches = Switches(mask="custom", mask_rows=DRAWN)
    with pytest.raises(
        ControlError, match=r"it has 5 rows, and encoder.0 has 4 tokens .* draw it at that size"
    ) as found:
        bert.run("the cat", switches=switches)
    assert found.value.control == "mask.rows"
    assert found.value.values == {"size": 5, "tokens": 4}
    with pytest.raises(ControlError, match="has 4 tokens"):
        bert.run(["the cat sat", "the cat"], switches=switches)
    assert bert.run(["the cat sat", "my dog sat"], switches=switches).inputs["encoder.0"].allowed.shape == (2, 1, 5, 5)


def test_a_drawing_and_its_mask_go_together() -> None:
    assert Switches(mask="custom", mask_rows="■⬚\n■■") == Switches(mask="custom", mask_rows="10/11")
    assert Switches(mask="custom", mask_rows="10/11").describe() == [("mask", "custom"), ("mask_rows", "10/11")]
    with pytest.raises(ValueError, match="go together: got mask 'custom' and mask_rows None"):
        Switches(mask="custom")
    with pytest.raises(ValueError, match="go together: got mask 'causal' and mask_rows of its own"):
        Switches(mask="causal", mask_rows="10/11")
    with pytest.raises(ValueError, match="must be square"):
        Switches(mask="custom", mask_rows="101/110")


def test_the_kind_of_ablation_counts_only_with_heads() -> None:
    heads = frozenset({("encoder.0", 1)})
    assert Switches(ablation="mean").neutral
    assert Switches(heads_off=heads, ablation="mean").describe() == [
        ("heads_off", (("encoder.0", 1),)),
        ("ablation", "mean"),
    ]
    assert Switches(heads_off=heads).describe() == [("heads_off", (("encoder.0", 1),))]
    with pytest.raises(ValueError, match=r"ablation must be one of .*: got 'median'"):
        Switches(ablation="median")  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# rows with heads of their own off


def test_each_row_of_a_batch_has_its_own_heads_off() -> None:
    generator = torch.Generator().manual_seed(11)
    query, key, value = (torch.randn(2, 3, 5, 7, generator=generator) for _ in range(3))
    variants = {"encoder.0": torch.tensor([[True, False, False], [False, False, True]])}
    switches = Switches(heads_off=frozenset({("encoder.0", 1)}))
    neutral, changed = Recording(), Recording(switches, variants=variants, keep=False)
    outputs = []
    for record in (neutral, changed):
        with recording(record):
            outputs.append(attention(torch.nn.Identity(), query, key, value, None)[0])
    want = outputs[0].clone()  # (batch, q_len, heads, d_v)
    want[:, :, 1], want[0, :, 0], want[1, :, 2] = 0.0, 0.0, 0.0
    assert torch.equal(outputs[1], want)
    assert set(neutral.inputs) == {"encoder.0"} and not changed.inputs
    assert [call.name for call in changed.calls] == ["encoder.0"]
