"""The head map of encoder-decoders: three kinds of calls, one pass of a whole model as its reference."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attention_core.pretrained import Model, Switches, answers, load
from attention_core.pretrained.head_map import HeadMapping, Measure, head_map, measures_of
from tests.core.families import SHORT_TARGET, TWO_STACKS

SOURCE = "my old dog looked at the red hat"
FAMILIES = ("T5ForConditionalGeneration", "BartForConditionalGeneration")


@pytest.fixture(scope="module", params=FAMILIES)
def model(tiny_folder: Callable[..., Path], request: pytest.FixtureRequest) -> Model:
    return load(tiny_folder(request.param, specials=True, **TWO_STACKS[request.param]))


def by_hand(model: Model, target: str | None, measure: Measure, switches: Switches) -> torch.Tensor:
    """Each head off in a run of its own."""
    own = model.run(SOURCE, target=target, switches=switches, agreement=False)
    ids = torch.tensor([[token.id for token in own.tokens["self"][0]]])
    real = torch.ones_like(ids, dtype=torch.bool)
    rows = []
    for call in own.calls:
        row = []
        for head in range(model.heads[call.name]):
            off = Switches(
                heads_off=frozenset({(call.name, head)}), ablation=switches.ablation, scaling=switches.scaling
            )
            other = model.run(SOURCE, target=target, switches=off, agreement=False).output
            change = answers.text_change(model.head, own.output, other, ids, real)
            found = {
                "kl-last": change.kl[0, -1],
                "kl-mean": change.kl.mean(),
                "nll": change.nll_after.nanmean() - change.nll_before.nanmean(),
                "output": (other - own.output).double().norm() / own.output.double().norm(),
            }
            row.append(found[measure])
        rows.append(torch.stack(row))
    return torch.stack(rows)


@pytest.mark.parametrize("measure", ["kl-last", "kl-mean", "nll", "output"])
def test_every_head_of_three_kinds(model: Model, measure: Measure) -> None:
    switches = Switches(ablation="mean" if measure == "kl-mean" else "zero", scaling=measure != "output")
    found = head_map(model, SOURCE, measure=measure, switches=switches, target=SHORT_TARGET)
    assert [call.name for call in found.calls] == [call.name for call in model.calls]
    assert {call.kind for call in found.calls} == {"encoder", "decoder", "cross"}
    want = by_hand(model, SHORT_TARGET, measure, switches)
    assert found.resumed and want.abs().max() > 1e-3
    # KLs and means of float32 logits of sizes up to 10, made in batches of another height
    torch.testing.assert_close(found.values, want, atol=2e-5, rtol=2e-3)


def test_without_a_target_the_model_writes_its_own(model: Model) -> None:
    own = model.run(SOURCE, agreement=False)
    found = head_map(model, SOURCE, measure="output")
    torch.testing.assert_close(found.values, by_hand(model, None, "output", Switches()), atol=2e-5, rtol=2e-3)
    assert HeadMapping(model, SOURCE, measure="output")._ids.shape[1] == len(own.tokens["self"][0])


def test_what_can_be_measured(model: Model) -> None:
    assert measures_of(model) == ("kl-last", "kl-mean", "nll", "output")
    with pytest.raises(ValueError, match=r"is one of .*: got 'embedding'"):
        head_map(model, SOURCE, measure="embedding", target=SHORT_TARGET)


def test_an_empty_target_is_refused_with_a_remedy(tiny_folder: Callable[..., Path]) -> None:
    model = load(tiny_folder(FAMILIES[0], specials=False, **TWO_STACKS[FAMILIES[0]]))
    with pytest.raises(ValueError, match=r"need at least one token: .*; type a word"):
        HeadMapping(model, SOURCE, measure="nll", target="")


def test_a_target_is_for_two_stacks(minilm: Model) -> None:
    with pytest.raises(ValueError, match="a target goes with an encoder-decoder"):
        head_map(minilm, SOURCE, target="a dog")
